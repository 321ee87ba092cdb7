#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-comments.py - comments stand where they belong, and use the field's words. Speaks TAP.

A file says at its top what it is for, and not once more below line HEAD; no comment follows another one; and none has the words of this project
alone, or begins in the middle of a sentence that nobody wrote.
"""
import pathlib
import re
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

HEAD = 40
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
OWN_WORDS = re.compile(r"\b(nobody|whoever|whomever|in vain|a volley|gives? way|take(s|n)? over from|are wanted of)\b", re.I)
OPENING = re.compile(r"(Of|That|Whose|Whoever|Nobody|Who|Whom)\b(?! all\b)")
# A comment that says nothing of its own: it may stand before or behind another one.
MARK = re.compile(r"/\* (-{4}|clang-format |SPDX-|test: |plugin: )|//")


def comments(text):
    """(line, whole comment, where it begins, where it ends)"""
    for found in TOKEN.finditer(text):
        if found[0].startswith("/"):
            yield text.count("\n", 0, found.start()) + 1, found[0], found.start(), found.end()


def words(comment):
    return " ".join(re.sub(r"^/\*+|\*/$|^\s*\*(?!/)", " ", comment, flags=re.M).split())


def breaches(text):
    """(line, kind)"""
    before = None  # where the last comment ended that stood alone on its lines
    for line, comment, begin, end in comments(text):
        alone = not text[text.rfind("\n", 0, begin) + 1:begin].strip()
        mark = MARK.match(comment)
        if before is not None and alone and not mark and not text[before:begin].strip():
            yield line, "a comment after a comment"
        before = end if alone and not mark else None
        if OWN_WORDS.search(words(comment)):
            yield line, "a word of ours: " + OWN_WORDS.search(words(comment))[0]
        if OPENING.match(words(comment)):
            yield line, "an opening without a subject: " + words(comment)[:50]
        if line > HEAD and comment.count("\n") >= 3 and text.startswith("\n\n", end) and not mark:
            yield line, "a head comment in the middle"


def not_found():
    top = "/* SPDX-License-Identifier: MIT\n *\n * What for. */\n\n"
    cases = ((top + "/* a */\n/* b */\nint a;\n", ["after"]), (top + "/* a */\n\n/* b */\nint a;\n", ["after"]), (top + "int a; /* a */\n/* b */\nint b;\n", []),
             (top + "/* ---- part ---- */\n\n/* b */\nint a;\n", []), (top + 'char *a = "/* nobody */";\n', []), (top + "/* Nobody knows. */\nint a;\n", ["ours", "opening"]),
             (top + "/* Of three, one. */\nint a;\n", ["opening"]), ("\n" * HEAD + "/* a\n * b\n * c\n */\n\nint a;\n", ["head"]), (top + "/* a\n * b\n * c\n */\nint a;\n", []))
    for text, wanted in cases:
        found = [kind for _, kind in breaches(text)]
        if len(found) != len(wanted) or not all(any(want in kind for kind in found) for want in wanted):
            yield f"{text!r}: {found}, expected {wanted}"


def main():
    tap.check("what is planted is found, and nothing else", list(not_found()))
    for folder in ("backends", "harness"):
        files = sorted((tap.ROOT / folder).rglob("*.[ch]"))
        for room in sorted({str(file.parent.relative_to(tap.ROOT)) for file in files}):
            found = [f"{file.relative_to(tap.ROOT)}:{line}: {kind}" for file in files if str(file.parent.relative_to(tap.ROOT)) == room for line, kind in breaches(file.read_text())]
            tap.check(f"comments of {room}", found)
    return tap.end()


sys.exit(main())
