#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-pages.py - the form of the pages: every relative link and anchor leads somewhere; README.md and docs/ are short, their tables narrow, their sentences too.

A sentence is what stands between two of . ? ! in a paragraph, an item of a list or a cell of a table. Code and printed tables do not count. Speaks TAP.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.S | re.M)
PRINTED = re.compile(r"(<!-- table of \w+: .*? -->\n)(?:\|.*\n)*")
# The most of each that a page may have: lines, columns of a table, words of a sentence.
MOST = {"README.md": (150, 5, 30), "docs": (199, 6, 30)}


def committed(root):
    """Every page of the tree, but for the results of runs that stay on this machine."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True, check=False).stdout.split("\n")
    return [path for path in listed if path and (root / path).exists()] or [str(p.relative_to(root)) for p in root.rglob("*.md")]


def anchors_of(text):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ +(.*?) *$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_links(root):
    count = 0
    for page in committed(root):
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", (root / page).read_text()))):
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            name, _, anchor = target.partition("#")
            path = (root / page).parent / name if name else root / page
            if not path.exists():
                yield f"{page}: {target}: no such file"
            elif anchor and anchor not in anchors_of(path.read_text()):
                yield f"{page}: {target}: no such heading"
    if not count:
        yield "no link was found"


def sentences(text):
    """Of paragraphs, items and cells; a name in backquotes and a link count as they are read."""
    text = LINK.sub(lambda m: m.group(0)[:m.group(0).index("](")].lstrip("!["), re.sub(r"<!--.*?-->", "", PRINTED.sub("", FENCE.sub("", text)), flags=re.S))
    for block in re.split(r"\n\s*\n|\n(?=- |\d+\. |#|\|)|\|", text):
        yield from re.split(r"(?<=[.?!])[\s)*]+", " ".join(block.split()))


def wrong_forms(root):
    pages = ["README.md", *(f"docs/{path.name}" for path in sorted(root.glob("docs/*.md")))]
    for page in pages:
        text, (lines, columns, words) = (root / page).read_text(), MOST[page.partition("/")[0]]
        if text.count("\n") > lines:
            yield f"{page}: {text.count(chr(10))} lines, expected at most {lines}"
        for line in FENCE.sub("", text).split("\n"):
            found = len(re.findall(r"(?<!\\)\|", line)) - 1
            if line.startswith("|") and found > columns:
                yield f"{page}: a table of {found} columns, expected at most {columns}: {line[:60]}"
        for sentence in sentences(text):
            if len(sentence.split()) > words:
                yield f"{page}: {len(sentence.split())} words, expected at most {words}: {sentence[:100]}"


def main():
    root = tap.ROOT
    tap.check("every relative link and anchor of a page leads somewhere", list(wrong_links(root)))
    tap.check("README.md and docs/ are short", list(wrong_forms(root)))
    return tap.end()


sys.exit(main())
