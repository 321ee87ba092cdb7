#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-pages.py - the form of pages and messages: every relative link and anchor leads somewhere; README.md and docs/ are short, their tables narrow, their sentences too;
messages of the C program (its string literals), `./bench help` and the reasons of rules have short sentences; neither has a word that docs/glossary.md replaces (the last column of its tables).

A sentence is what stands between two of . ? ! in a paragraph, an item of a list, a cell of a table or a message. Code, quotations and printed tables do not count. Speaks TAP.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.S | re.M)
# A table that a script prints out of results; what the tool prints out of its own tables has messages like any other.
PRINTED = re.compile(r"(<!-- table of \w+: (?!\./bench).*? -->\n)(?:\|.*\n)*")
LITERALS = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|^[ \t]*\#[ \t]*(?:include|error)[^\n]*|((?:"(?:[^"\\\n]|\\.)*"\s*)+)""", re.S | re.M)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SQL = re.compile(r"(?:CREATE|SELECT|INSERT|UPDATE|DELETE|WITH) ")
QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
# The most of each that a page may have: lines, columns of a table, words of a sentence.
MOST = {"README.md": (150, 5, 30), "ARCHITECTURE.md": (120, 5, 30), "CONTRIBUTING.md": (199, 5, 30), "CHANGELOG.md": (199, 5, 30), "scenarios/README.md": (199, 5, 30),
        "peers/README.md": (199, 5, 30), "results/SCHEMA.md": (700, 5, 30), "docs": (199, 6, 30), "paper": (199, 6, 30)}
WORDS_MOST = 30
WORDS_ALL = 17000  # of README.md and docs/ together, as `wc -w` counts, without generated tables: those grow with what there is to run
GENERATED = re.compile(r"<!-- table of .*?<!-- end of \S+ -->", re.S)


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


def pages_of(root):
    return [*(page for page in MOST if page.endswith(".md")), *(str(path.relative_to(root)) for folder in ("docs", "paper/findings") for path in sorted((root / folder).glob("*.md")))]


def replaced(root):
    """{a word that the glossary replaces: by what}"""
    found = {}
    for line in (root / "docs/glossary.md").read_text().split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[2] and cells[2] != "not":
            found.update((word.strip().lower(), cells[0]) for word in cells[2].split(","))
    return found


def messages(path):
    """(line, text) of each string of a C file that is a text: adjacent literals are one, as the compiler takes them."""
    text = path.read_text()
    for match in LITERALS.finditer(text):
        said = "".join(LITERAL.findall(match[1] or ""))
        said = said.replace("\\n", "\n\n").replace("\\t", " ").replace('\\"', '"')
        if said.count(" ") > 2 and not SQL.match(said):
            yield text.count("\n", 0, match.start()) + 1, said


def help_of_bench(root):
    """The same of `./bench help`: an entry begins at the left."""
    text = re.search(r"<<'END'\n(.*?)^END$", (root / "setup/help").read_text(), re.S | re.M)[1]
    return [(1, entry) for entry in re.split(r"\n(?! )", text)]


def reasons(root):
    """The reasons of the rules: what a cell says of its expectation."""
    for number, line in enumerate((root / "scenarios/theory/rules.ini").read_text().split("\n"), 1):
        if line.startswith("rule =") and ": " in line:
            yield number, line.partition(": ")[2]


def sources(root):
    return sorted(path for folder in ("harness", "backends") for path in (root / folder).rglob("*.[ch]"))


def wrong_words(text, words):
    """Each of these words in the text, but in quotations."""
    plain = QUOTED.sub(" ", FENCE.sub("", text)).lower()
    return [f"'{found[0]}', expected '{words[found[0]]}'" for found in re.finditer(r"\b(?:" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + r")\b(?!=)", " ".join(plain.split()))]


def wrong_words_of_pages(root):
    words = replaced(root)
    for page in pages_of(root):
        text = PRINTED.sub("", (root / page).read_text())
        if page == "docs/glossary.md":
            text = re.sub(r"\|[^|\n]*\|$", "|", text, flags=re.M)
        yield from (f"{page}: {wrong}" for wrong in wrong_words(text, words))


def wrong_messages(root):
    words, count = replaced(root), 0
    others = {root / "setup/help": help_of_bench, root / "scenarios/theory/rules.ini": reasons}
    for path in [*sources(root), *others]:
        for line, said in others[path](root) if path in others else messages(path):
            count += 1
            place = f"{path.relative_to(root)}:{line}"
            yield from (f"{place}: {wrong}" for wrong in wrong_words(said, words))
            for sentence in sentences(QUOTED.sub("x", said)):
                if len(sentence.split()) > WORDS_MOST:
                    yield f"{place}: {len(sentence.split())} words, expected at most {WORDS_MOST}: {sentence[:100]}"
    if count < 1000:
        yield f"only {count} messages were found"


def wrong_themes(root):
    """A theme of the changelog is a heading, or a line in bold."""
    for theme in re.split(r"^(?=###? |\*\*)", (root / "CHANGELOG.md").read_text(), flags=re.M):
        items = len(re.findall(r"^- ", theme, re.M))
        if items > 10:
            yield f"CHANGELOG.md: {theme.splitlines()[0]}: {items} items, expected at most 10"


def not_found(root):
    """What is planted and not found."""
    word = next(iter(replaced(root)))
    if not wrong_words(f"It is {word} again.", replaced(root)):
        yield f"the word {word}"
    if wrong_words(f'`{word}` and "{word}"', replaced(root)):
        yield "that a quotation does not count"
    if max(len(s.split()) for s in sentences("Short. " + "long " * 31 + ". Short.")) <= WORDS_MOST:
        yield "a long sentence"


def wrong_total(root):
    words = sum(len(GENERATED.sub("", (root / page).read_text()).split()) for page in pages_of(root) if page == "README.md" or page.startswith("docs/"))
    if words > WORDS_ALL:
        yield f"README.md and docs/ have {words} words, expected at most {WORDS_ALL}: cut what is said twice"


def wrong_forms(root):
    for page in pages_of(root):
        text, (lines, columns, words) = (root / page).read_text(), MOST.get(page) or MOST[page.partition("/")[0]]
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
    tap.check("README.md and docs/ are short", [*wrong_forms(root), *wrong_total(root)])
    tap.check("a theme of the changelog has ten items at most", list(wrong_themes(root)))
    tap.check("a planted word and a planted sentence are found", list(not_found(root)))
    tap.check("no page has a word that the glossary replaces", list(wrong_words_of_pages(root)))
    tap.check("messages have short sentences, and no such word", list(wrong_messages(root)))
    return tap.end()


sys.exit(main())
