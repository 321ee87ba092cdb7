# SPDX-License-Identifier: MIT
"""Prints the header with the digest of all protocols. of_protocol() has that of one: its file, what it includes here, and the sources of that.

Comments, white space and facts (which say what a lock is, not what it does) do not count, so that a better comment does not date a published run.
"""
import hashlib
import io
import pathlib
import re
import subprocess
import tarfile

HERE = pathlib.Path(__file__).parent
FACTS = re.compile(r'\.facts = "[^"]*",|const char \*facts;')
TOKEN = re.compile(r'''("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?:/\*.*?\*/|//[^\n]*|\s)+''', re.S)
INCLUDE = re.compile(r'#include "([^"]+)"')
LISTS = ("registry.h",)  # names every protocol: one more of them changes none
FOREIGN = "foreign"  # what a lock that is a program of its own is reached through


def digest_of(texts):
    return hashlib.sha256(b"".join(TOKEN.sub(lambda m: m[1] or " ", FACTS.sub("", text)).encode() for text in texts)).hexdigest()[:12]


def sources(commit):
    """{path in backends/: its text} at COMMIT; None where git does not know it."""
    try:
        made = subprocess.run(["git", "-C", str(HERE.parent), "archive", commit, "backends"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as tar:
        return {m.name.partition("/")[2]: tar.extractfile(m).read().decode() for m in tar if re.search(r"\.[ch]$", m.name)}


def included(texts, path):
    """The files in backends/ that PATH includes, and beside each header its source."""
    for name in INCLUDE.findall(texts[path]):
        header = next((p for p in (name.removeprefix("backends/"), str(pathlib.PurePath(path).parent / name)) if p in texts), None)
        if header and pathlib.PurePath(header).name not in LISTS:
            yield from (p for p in (header, re.sub("h$", "c", header)) if p in texts)


def of_protocol(texts, protocol):
    """The digest of what PROTOCOL is made of in TEXTS; None where there is no such protocol."""
    left = [path for path in sorted(texts) if path.endswith(".c") and (pathlib.PurePath(path).stem == protocol or f'.name = "{protocol}"' in texts[path])][:1]
    found = set()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += included(texts, path)
    by_name = sorted(found, key=lambda path: pathlib.PurePath(path).name)  # a file that only moves changes nothing
    return digest_of(INCLUDE.sub("", texts[path]) for path in by_name) if found else None


if __name__ == "__main__":
    print(f'#define LB_PROTOCOLS "{digest_of(path.read_text() for path in sorted(HERE.rglob("*.[ch]")))}"')
