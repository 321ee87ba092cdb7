#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-prototypes.py - a public function has one address: its name says the file, and its prototype stands in the header of that file. Speaks TAP.

The name begins with lb_ and the words of its file's name, or the first of them, or the name of a type that the header of the file declares; the
room may stand before (lb_hunt_journal_open). An interface in several files has one header: step.h is that of step.c and step_parse.c."""
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import c_code  # noqa: E402
import tap  # noqa: E402

# Headers of several files, with the reason.
OTHERS = {
    "harness/conform/conform_calls.h": "each of the two runners of statements says what a system has",
    "harness/history/history_form.h": "the parser of each form, among which history_load.c chooses",
    "harness/hunt/space.h": "prune.c says of each timeline that space.c makes why it need not be run: apart they were a circle",
    "harness/scenario/reader.h": "what the readers of scenarios and suites share, private to the room",
}
# Names that are not of their file, with the reason: a function, or a header with all of its functions.
OTHER_NAMES = {
    "backends/backend.h": "plug-ins are written against these names",
    "backends/registry.h": "lb_protocol_*: the registry is the list of what backend.h defines",
    "lb_complain": "each refusal of a command calls it",
    "lb_refuse": "each refusal of the harness calls it",
}
NAMED = r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w ]*[ *](\w+)\([^;{}]*\)"
DEFINED = re.compile(NAMED + r" \{", re.M)
DECLARED = re.compile(NAMED + r"(?: __attribute__\(\([^;]*\)\))*;", re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) lb_(\w+) \{|^\} lb_(\w+);", re.M)


def files(root, ending):
    return [file for folder in ("backends", "harness") for file in sorted((root / folder).rglob("*" + ending))]


def named(root, ending, pattern):
    """{function: file} of all files with this ending."""
    return {name: file.relative_to(root) for file in files(root, ending) for name in pattern.findall(c_code.only(file.read_text()))}


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
    for header in sorted({*found} - {*others}):
        yield f"{header} has prototypes of files of another name: {', '.join(found[header])}"
    yield from (f"{header} of OTHERS is no exception any more" for header in sorted({*others} - {*found}))


def wrong_names(root, others):
    types = {file.relative_to(root): {a or b for a, b in TYPE.findall(c_code.only(file.read_text()))} for file in files(root, ".h")}
    defined, used = named(root, ".c", DEFINED), set()
    for name, header in sorted(named(root, ".h", DECLARED).items()):
        if name not in defined:
            continue
        file, bare = defined[name], name.removeprefix("lb_")
        words = file.stem.replace("-", "_").split("_")
        own = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
        own |= {kind for stem in own for kind in types.get(file.with_name(stem + ".h"), ())}
        if not any((text + "_").startswith(prefix + "_") for text in (bare, bare.removeprefix(file.parent.name + "_")) for prefix in own):
            known = {name, str(header)} & set(others)
            used |= known
            if not known:
                yield f"{file}: {name}() has neither the prefix of its file nor that of a type of its header"
    yield from (f"{name} of OTHER_NAMES is no exception any more" for name in sorted(set(others) - used))


def not_found():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for folder in ("backends", "harness/room"):
            (root / folder).mkdir(parents=True)
        (root / "harness/room/a.c").write_text("int lb_a(void) {\n}\nstatic int b(void) {\n}\nconst char *lb_c(int x,\n  int y) {\n}\n")
        (root / "harness/room/a.h").write_text("/* int lb_no(void); */\nint lb_a(void);\nconst char *lb_c(int x,\n  int y) __attribute__((pure));\n")
        if list(wrong_prototypes(root, {})):
            yield "that prototypes in the header of their own name are fine"
        if len(list(wrong_names(root, {}))) != 1 or list(wrong_names(root, {"lb_c": ""})) or list(wrong_names(root, {"harness/room/a.h": ""})):
            yield "a function without the prefix of its file"
        if len(list(wrong_names(root, {"lb_c": "", "lb_gone": ""}))) != 1:
            yield "an exception that is none any more"
        (root / "harness/room/a_part.c").write_text("int lb_a_part(void) {\n}\n")
        (root / "harness/room/a.h").write_text("int lb_a_part(void);\n")
        if list(wrong_prototypes(root, {})) or list(wrong_names(root, {})):
            yield "that a header serves the files whose names continue its own"
        (root / "harness/room/b.h").write_text("int lb_d(void);\n")
        if list(wrong_prototypes(root, {})) != ["harness/room/b.h: lb_d() is defined nowhere"]:
            yield "a prototype without a function"
        (root / "harness/room/d.c").write_text("int lb_d(void) {\n}\n")
        if len(list(wrong_prototypes(root, {}))) != 1 or list(wrong_prototypes(root, {"harness/room/b.h": ""})):
            yield "a prototype in the header of another file"
        if len(list(wrong_prototypes(root, {"harness/room/b.h": "", "harness/room/a.h": ""}))) != 1:
            yield "a header that is no exception any more"
        (root / "harness/room/e.h").write_text("struct lb_kind {\n  int x;\n};\nint lb_kind_x(void);\nint lb_room_e_x(void);\nint lb_kinds(void);\n")
        (root / "harness/room/e.c").write_text("int lb_kind_x(void) {\n}\nint lb_room_e_x(void) {\n}\nint lb_kinds(void) {\n}\n")
        if [line.split("()")[0] for line in wrong_names(root, {})] != ["harness/room/e.c: lb_kinds"]:
            yield "that the types of a header and the room are prefixes, and what only looks like them is not"


def main():
    tap.check("a planted prototype or name is found", list(not_found()))
    tap.check("prototypes stand in the header of their own file", list(wrong_prototypes(tap.ROOT, OTHERS)))
    tap.check("public functions have the prefix of their file", list(wrong_names(tap.ROOT, OTHER_NAMES)))
    return tap.end()


sys.exit(main())
