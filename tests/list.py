#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""list.py tests|plugins|programs|conform - the rows that tests/meson.build makes tests and helpers of, a tab between columns.

What a test needs stands in its first line, behind `test:`, with a comma between words. One of these says beside what it runs:
  compute     it asks no server, waits for nothing and has no deadline: `./bench test` runs it at idle class
  beside      it waits for servers, processes or a clock, and misses no deadline beside other tests
  alone       it measures, or puts a fault into a short time
More words:
  memory      valgrind looks at it
  threads     the sanitizer of threads looks at it
  addresses   the sanitizer of addresses does so, though it is no unit test
  table       it walks over every cell there is, or simulates: a sanitizer would find there what it finds elsewhere
  all         only `./bench test --all` runs it
  exit        its exit code alone says how it went; the others speak TAP
  wraps F G   it has functions of its own in place of these
  bare        (programs) built without sanitizers, whose memory would be in the way of what it shows
A plugin has a line `plugin: NAME -DMACRO ...` for each variant of it. conform/systems.txt lists the systems of the conformance tests:
of TOPOLOGY:ORIGIN the servers of this machine are asked where there is no such origin, and what they are too old for is skipped.
Exit: 0; 1 a line is wrong.
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ORIGINS = pathlib.Path(os.environ.get("LOCKBENCH_SERVERS") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "lockbench/servers"))
LANES = ("compute", "beside", "alone")
SUITES = ("compute", "memory", "threads", "addresses", "table", "all")
WORDS = {"tests": (*LANES, *SUITES[1:], "exit", "wraps"), "programs": ("bare",), "conform": ("addresses", "threads", "all")}
TESTS = ("unit", "conform", "live", "cli", "python", "style")
BESIDE = {"style/layers.sh", "conform/systems.txt"}  # style/test-layers.sh plays the one, conform() reads the other


def refuse(where, text):
    sys.exit(f"{where}: {text}")  # meson shows it, and stops


def files(*folders, ends=""):
    found = (path for folder in folders for path in (HERE / folder).rglob("*.*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.relative_to(HERE) for path in found if path.name.endswith(ends) and str(path.relative_to(HERE)) not in BESIDE)


def head(path):
    """The text of the first lines, where such a line may stand: the first one, or behind #!."""
    with open(HERE / path, encoding="utf-8") as file:
        return [file.readline().rstrip("\n") for _ in range(2)]


def words_of(path, kind):
    """{word: [its arguments]} of the line `test:`, or None without one."""
    for number, line in enumerate(head(path), 1):
        found = re.fullmatch(r"(?:/\*|#) test:(.*?)(?:\*/)?", line)
        if found:
            return {word: rest for word, *rest in check(f"{path}:{number}", found[1], kind)}
    return None


def check(where, text, kind):
    for item in filter(None, (part.split() for part in text.split(","))):
        if item[0] not in WORDS[kind] or (len(item) > 1) != (item[0] == "wraps"):
            refuse(where, f"found '{' '.join(item)}', expected: {', '.join(WORDS[kind])}")
        yield item


def name_of(path):
    return path.name.split(".")[0].removeprefix("test-")


def tests():
    """FILE NAME SUITES LANE PROTOCOL WRAPS"""
    for path in files(*TESTS):
        words = words_of(path, "tests")
        lanes = [word for word in LANES if word in (words or ())]
        if len(lanes) != 1:
            refuse(path, f"expected a first line `test:` with one of {', '.join(LANES)} (tests/list.py), found {' and '.join(lanes) or 'none'}")
        suites = [path.parts[0]] + [word for word in SUITES if word in words]
        yield path, name_of(path), ",".join(suites), lanes[0], "exitcode" if "exit" in words else "tap", ",".join(words.get("wraps", ["-"]))


def plugins():
    """FILE NAME [-DMACRO ...]"""
    for path in files("plugins", ends=".c"):
        yield path, path.stem.removeprefix("plugin-")
        for line in (HERE / path).read_text(encoding="utf-8").splitlines():
            found = re.fullmatch(r"/\* plugin: (\S+) (-D.*) \*/", line)
            if found:
                yield path, found[1], *re.split(r" (?=-D)", found[2])


def programs():
    """FILE NAME bare or -"""
    for path in files("programs", ends=".c"):
        yield path, path.stem.replace("_", "-"), "bare" if "bare" in (words_of(path, "programs") or {}) else "-"


def conform():
    """SYSTEM SUITES"""
    for number, line in enumerate((HERE / "conform/systems.txt").read_text(encoding="utf-8").splitlines(), 1):
        system, _, text = line.partition(" : ")
        if system and system[0] != "#":
            words = [item[0] for item in check(f"conform/systems.txt:{number}", text, "conform")]
            system = re.sub(r":(\S+)", lambda origin: origin[0] if (ORIGINS / origin[1]).is_dir() else "", system)
            yield system.strip(), ",".join(["conform"] + words)


if __name__ == "__main__":
    ROWS = {"tests": tests, "plugins": plugins, "programs": programs, "conform": conform}
    if len(sys.argv) != 2 or sys.argv[1] not in ROWS:
        sys.exit(__doc__)
    for row in ROWS[sys.argv[1]]():
        print(*row, sep="\t")
