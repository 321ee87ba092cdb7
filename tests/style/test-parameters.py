#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-parameters.py - no function, and no pointer to one, takes more than six parameters: what belongs together is a struct. Speaks TAP."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import c_code  # noqa: E402
import tap  # noqa: E402

MOST = 6
DECLARED = re.compile(r"^[ \t]*(?!return\b|else\b|case\b)(?:[A-Za-z_]\w*[ \t*]+)+(?:\(\*(\w+)\)|(\w+))\((?=[^()]*\w[ *]+\w+[ \[\]]*[,)(])", re.M)


def parameters(text, at):
    """How many stand in the bracket that opens before `at`."""
    depth, count = 1, 1
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        count += text[at] == "," and depth == 1
        at += 1
    return count


def long_lists(text):
    text = c_code.only(text)
    return {m.group(1) or m.group(2) for m in DECLARED.finditer(text) if parameters(text, m.end()) > MOST}


def not_found():
    six = "int a, char *b, int c, int d, void (*e)(int x, int y), const char *const f[]"
    if long_lists(f'int f({six});\n/* int g({six}, int g); */\nputs("int h({six}, int g)");'):
        yield "that six are allowed, and that texts and comments do not count"
    if long_lists(f"static int f({six},\n  int g) {{\nstruct s {{\n  int (*hook)({six}, int g);\n") != {"f", "hook"}:
        yield "a seventh parameter of a function and of a pointer to one"


def wrong_lists(root):
    files = subprocess.run(["git", "-C", root, "ls-files", "*.c", "*.h"], capture_output=True, text=True).stdout.split()
    for file in files or [path.relative_to(root) for folder in ("backends", "harness", "tests") for path in (root / folder).rglob("*.[ch]")]:
        for name in sorted(long_lists((root / file).read_text())):
            yield f"{file}: {name}() has more than {MOST} parameters"


def main():
    tap.check("a planted seventh parameter is found", list(not_found()))
    tap.check("no function has more than six parameters", list(wrong_lists(tap.ROOT)))
    return tap.end()


sys.exit(main())
