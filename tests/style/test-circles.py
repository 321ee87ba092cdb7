#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-circles.py - within a room, no files call each other in a circle. Speaks TAP.

A file is the .c and .h of one name. It depends on another one whose functions it uses; a table that the other one exports is data, and
types are headers, which layers.sh looks at."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import c_code  # noqa: E402
import tap  # noqa: E402

TAG = re.compile(r"\b(struct|enum|union) \w+\b")  # a type may have the name of a function
IN_SOURCE = re.compile(r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w ]*[ *](\w+)\([^;{}]*\) \{", re.M)
IN_HEADER = re.compile(r"^static inline [\w ]*[ *](\w+)\([^;{}]*\) \{", re.M)


def functions(file, text):
    return (IN_SOURCE if file.suffix == ".c" else IN_HEADER).findall(text)


def arrows(folder):
    """Which file uses functions of which others: {name: {name: {functions}}}."""
    code = {file: TAG.sub(r"\1", c_code.only(file.read_text())) for file in sorted(folder.glob("*.[ch]"))}
    home = {function: file.stem for file, text in code.items() for function in functions(file, text)}
    to = {file.stem: {} for file in code}
    for file, text in code.items():
        for word in set(re.findall(r"\w+", text)) if file.suffix == ".c" else set(re.findall(r"\w+", "".join(re.findall(r"\{.*?^\}", text, re.S | re.M)))):
            if home.get(word, file.stem) != file.stem:
                to[file.stem].setdefault(home[word], set()).add(word)
    return to


def reached(to, start):
    found, open_ = set(), [start]
    while open_:
        for name in to[open_.pop()]:
            if name not in found:
                found.add(name)
                open_.append(name)
    return found


def circles(folder):
    """Each largest set of files that reach one another, and what they use of each other."""
    to = arrows(folder)
    reach = {name: reached(to, name) for name in to}
    for members in sorted({tuple(sorted(b for b in reach[a] if a in reach[b])) for a in to if a in reach[a]}):
        uses = [f"{a} uses of {b}: {' '.join(sorted(words))}" for a in members for b, words in sorted(to[a].items()) if b in members]
        yield " ".join(members), uses


def rooms(root):
    return [folder for folder in [root / "backends", *sorted((root / "backends").iterdir()), *sorted((root / "harness").iterdir())] if folder.is_dir()]


def wrong_circles(root):
    for folder in rooms(root):
        for members, uses in circles(folder):
            yield f"{folder.relative_to(root)}: {members} call each other in a circle"
            yield from ("  " + use for use in uses)


def not_found():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        room = root / "harness" / "room"
        room.mkdir(parents=True)
        (root / "backends").mkdir()

        def write(**files):
            for file, text in files.items():
                (room / file.replace("_dot_", ".")).write_text(text)
            return list(wrong_circles(root))

        if write(a_dot_c="int lb_a(void) {\n  return lb_b();\n}\n", b_dot_c='int lb_b(void) {\n  return puts("lb_a()"); /* lb_a() */\n  struct lb_a x;\n}\nstatic int lb_c(void) {\n}\n', b_dot_h="int lb_a(void);\n"):
            yield "that a call one way, a text, a comment, a type and a prototype make no circle"
        if write(b_dot_c="int lb_b(void) {\n  return lb_c(1);\n}\n", c_dot_h="static inline int lb_c(int x) {\n  return lb_a();\n}\n")[:1] != ["harness/room: a b c call each other in a circle"]:
            yield "a circle of three files, one of them a header"


def main():
    tap.check("a planted circle is found", list(not_found()))
    tap.check("no files of a room call each other in a circle", list(wrong_circles(tap.ROOT)))
    return tap.end()


sys.exit(main())
