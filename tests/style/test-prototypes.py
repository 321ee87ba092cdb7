#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-prototypes.py - the prototype of a function of f.c stands in f.h, or in the header that its name continues. Speaks TAP.

An interface in several files has one header: step.h is that of step.c and step_parse.c. OTHERS counts the prototypes that stand in any other
header. A count may only become smaller, and then its line follows."""
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import c_code  # noqa: E402
import tap  # noqa: E402

OTHERS = {
    "harness/client/driver.h": 1,
    "harness/conform/conform_calls.h": 2,
    "harness/history/history_form.h": 7,
    "harness/hunt/directed.h": 3,
    "harness/hunt/space.h": 5,
    "harness/hunt/tell.h": 2,
    "harness/run/results.h": 1,
    "harness/scenario/reader.h": 12,
    "harness/scenario/scenario.h": 3,
    "harness/scenario/step.h": 8,
    "harness/show/campaign_text.h": 7,
    "harness/show/explain_cell.h": 1,
}
NAMED = r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w ]*[ *](\w+)\([^;{}]*\)"
DEFINED = re.compile(NAMED + r" \{", re.M)
DECLARED = re.compile(NAMED + r"(?: __attribute__\(\([^;]*\)\))*;", re.M)


def named(root, ending, pattern):
    """{function: file} of all files with this ending."""
    files = [file for folder in ("backends", "harness") for file in sorted((root / folder).rglob("*" + ending))]
    return {name: file.relative_to(root) for file in files for name in pattern.findall(c_code.only(file.read_text()))}


def elsewhere(root):
    """{header: functions of files of another name}, and functions that are nowhere defined."""
    defined, found, lost = named(root, ".c", DEFINED), collections.defaultdict(list), []
    for name, header in sorted(named(root, ".h", DECLARED).items()):
        if name not in defined:
            lost.append(f"{header}: {name}() is defined nowhere")
        elif defined[name].parent != header.parent or not (defined[name].stem + "_").startswith(header.stem + "_"):
            found[str(header)].append(f"{name}() of {defined[name].name}")
    return found, lost


def wrong_prototypes(root, others):
    found, lost = elsewhere(root)
    yield from lost
    for header in sorted({*found, *others}):
        count, most = len(found[header]), others.get(header, 0)
        if count > most:
            yield f"{header} has {count} prototypes of files of another name, at most {most} are known: {', '.join(found[header])}"
        if count < most:
            yield f"{header} has {count} prototypes of files of another name, so say so in OTHERS of tests/style/test-prototypes.py"


def not_found():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for folder in ("backends", "harness/room"):
            (root / folder).mkdir(parents=True)
        (root / "harness/room/a.c").write_text("int lb_a(void) {\n}\nstatic int b(void) {\n}\nconst char *lb_c(int x,\n  int y) {\n}\n")
        (root / "harness/room/a.h").write_text("/* int lb_no(void); */\nint lb_a(void);\nconst char *lb_c(int x,\n  int y) __attribute__((pure));\n")
        if list(wrong_prototypes(root, {})):
            yield "that prototypes in the header of their own name are fine"
        (root / "harness/room/a_part.c").write_text("int lb_a_part(void) {\n}\n")
        (root / "harness/room/a.h").write_text("int lb_a_part(void);\n")
        if list(wrong_prototypes(root, {})):
            yield "that a header serves the files whose names continue its own"
        (root / "harness/room/b.h").write_text("int lb_d(void);\n")
        if list(wrong_prototypes(root, {})) != ["harness/room/b.h: lb_d() is defined nowhere"]:
            yield "a prototype without a function"
        (root / "harness/room/d.c").write_text("int lb_d(void) {\n}\n")
        if len(list(wrong_prototypes(root, {}))) != 1 or list(wrong_prototypes(root, {"harness/room/b.h": 1})):
            yield "a prototype in the header of another file"
        if len(list(wrong_prototypes(root, {"harness/room/b.h": 2}))) != 1:
            yield "a count that has become smaller"


def main():
    tap.check("a planted prototype is found", list(not_found()))
    tap.check("prototypes stand in the header of their own file", list(wrong_prototypes(tap.ROOT, OTHERS)))
    return tap.end()


sys.exit(main())
