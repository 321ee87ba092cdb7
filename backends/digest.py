# SPDX-License-Identifier: MIT
"""Prints the header with the digest of the protocols: their sources without comments and white space, so that a better comment does not date a published run."""
import hashlib
import pathlib
import re

TOKEN = re.compile(r'''("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?:/\*.*?\*/|//[^\n]*|\s)+''', re.S)

code = hashlib.sha256()
for path in sorted(pathlib.Path(__file__).parent.glob("*.[ch]")):
    code.update(TOKEN.sub(lambda m: m[1] or " ", path.read_text()).encode())
print(f'#define LB_PROTOCOLS "{code.hexdigest()[:12]}"')
