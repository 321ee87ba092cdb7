# SPDX-License-Identifier: MIT
"""Prints the header with the digest of the protocols: their sources without comments, white space and facts (which say what a lock is, not what it does), so
that a better comment does not date a published run."""
import hashlib
import pathlib
import re

FACTS = re.compile(r'\.facts = "[^"]*",|const char \*facts;')
TOKEN = re.compile(r'''("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?:/\*.*?\*/|//[^\n]*|\s)+''', re.S)

code = hashlib.sha256()
for path in sorted(pathlib.Path(__file__).parent.rglob("*.[ch]")):
    code.update(TOKEN.sub(lambda m: m[1] or " ", FACTS.sub("", path.read_text())).encode())
print(f'#define LB_PROTOCOLS "{code.hexdigest()[:12]}"')
