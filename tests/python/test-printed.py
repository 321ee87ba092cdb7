#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-printed.py [--write] LOCKBENCH - what README.md and docs/ print stands in results/: their tables are what their commands print, and each verdict is a cell of a run there.

A claim has one of three forms: `scenario`, `scenario`: verdict; `guard`: verdict in `scenario`; and `lock`: verdict, which is of the museum. In a table, the locks in the
first cell of the row are meant. Of a run whose sources were not committed, and of a cell that did not come out as expected, nothing may be printed. `./bench` of a command
is LOCKBENCH. Speaks TAP. With `--write` it writes the tables into the pages instead.
"""
import itertools
import json
import pathlib
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

sys.path.insert(1, str(tap.ROOT / "plots"))
import run_folder  # noqa: E402

TABLE = re.compile(r"<!-- table of (\w+): (.*?) -->\n(.*?)<!-- end of \1 -->", re.S)
NAME = r"`(?:peer:)?[a-z0-9-]+`"
NAMES = rf"{NAME}(?:(?:, | and ){NAME})*"
CLAIM = re.compile(rf"({NAMES})(?: \([^)]*\))?: \*{{0,2}}([a-z]+)\*{{0,2}}(?: in ({NAMES}))?")
GUARDS = ("none", "deadline", "signal", "recheck", "claim", "fence")
VERDICTS = ("safe", "violated", "stuck", "delayed", "mixed")


def names(text):
    return re.findall(r"`(?:peer:)?([a-z0-9-]+)`", text or "")


def pages(root):
    """The pages of the user, with their paths in ROOT."""
    return ["README.md", *sorted(f"docs/{path.name}" for path in root.glob("docs/*.md"))]


def statements(text):
    """(line number, text) of each row of a table, item of a list and paragraph: a claim may go on in the next line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if found and line and not line.startswith(("| ", "- ")) and last and not last.startswith("| "):
            found[-1][1] += " " + line.strip()
        elif line:
            found.append([number, line])
        last = line
    return found


def protocol_of(cell):
    return cell["system"].partition("@")[0].removeprefix("peer:")


def runs(root):
    """{folder: the cells of its run that may be quoted}"""
    found = {}
    for path in sorted(root.glob("results/reference*/run.json")):
        run = run_folder.load_run(path.parent)
        found[path.parent.name] = [] if run["tool"]["commit"].endswith("-dirty") else [c for c in run["cells"] if c["as_expected"]]
    return found


def claims_of(line, scenarios, protocols):
    """(folders in which it may stand, what a cell has to be, in words) of each claim of a line."""
    locks = []
    if line.startswith("| "):
        locks, line = names(line.split(" | ")[0]), line.split(" | ", 1)[1]
    for left, verdict, right in CLAIM.findall(line):
        if verdict not in VERDICTS:
            continue
        guard = next((n for n in names(left) if n in GUARDS), "none")
        for name in names(right) or names(left):
            if name in scenarios:
                yield "reference", {"scenario": [name], "guard": [guard], "verdict": [verdict], **({"protocol": locks} if locks else {})}
            elif name in protocols:
                yield "reference-museum", {"protocol": [name], "guard": ["none"], "verdict": [verdict]}


def shows(cell, wanted):
    return all((protocol_of(cell) if key == "protocol" else cell[key]) in values for key, values in wanted.items())


def wrong_claims(root):
    published = runs(root)
    cells = list(itertools.chain(*published.values()))
    scenarios = {c["scenario"] for c in cells} | {p.stem for p in root.glob("scenarios/*/*.ini")}
    protocols, count = {protocol_of(c) for c in cells}, 0
    for page in pages(root):
        for number, line in statements((root / page).read_text()):
            for folder, wanted in claims_of(line, scenarios, protocols):
                count += 1
                if not any(shows(c, wanted) for name, of in published.items() if name.startswith(folder) for c in of):
                    yield f"{page}:{number}: no run in results/ has " + " ".join(f"{key}={'/'.join(values)}" for key, values in wanted.items())
    if not count:
        yield "no claim was found"


def printed_by(command, lockbench, root):
    """What a command above a table prints; None if it fails."""
    words = [lockbench if word == "./bench" else word for word in command.split()]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "LOCKBENCH_VERSIONS": "etcd 3.4.23"})  # whatever is installed here
    return None if done.returncode else done.stdout


def printed(root):
    return [*pages(root), *(str(path.relative_to(root)) for path in root.glob("results/*/README.md"))]


def wrong_tables(root, lockbench):
    found = 0
    for page in printed(root):
        path = root / page
        for name, command, table in TABLE.findall(path.read_text() if path.exists() else ""):
            found += page in pages(root)
            if printed_by(command, lockbench, root) != table:
                yield f"{page}: its table of {name} is not what this prints: {command}"
    if not found:
        yield "README.md: no table was found"


def write_tables(root, lockbench):
    for page in printed(root):
        path = root / page
        path.write_text(TABLE.sub(lambda m: f"<!-- table of {m[1]}: {m[2]} -->\n{printed_by(m[2], lockbench, root) or m[3]}<!-- end of {m[1]} -->", path.read_text()))


# What stands on a page of its own, or is held against another run by the paper. All others stand side by side, so they have to be of the same protocols.
ALONE = ("reference-speed", "reference-museum", "reference-peers", "reference-locks")


def wrong_digests(root):
    found = {}
    for path in [*root.glob("results/reference-*/run.json"), *root.glob("results/reference-hunt/*/hunt.json")]:
        said = json.loads(path.read_text())
        for tool in [said["tool"]] if "tool" in said else [s["tool"] for s in said["sittings"]]:
            if tool["commit"].endswith("-dirty"):
                yield f"{path.parent.name} was made of sources that were not committed"
            folder = path.parent if path.name == "run.json" else path.parent.parent
            if folder.name not in ALONE:
                found.setdefault(tool["protocols"], []).append(folder.name)
    if len(found) > 1:
        yield from (f"protocols {digest}: {', '.join(folders)}" for digest, folders in found.items())


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    root = tap.ROOT
    lockbench = str(pathlib.Path(words[0]).resolve())
    if "--write" in sys.argv:
        return write_tables(root, lockbench)
    tap.check("each verdict in README.md and docs/ is a cell of a published run", list(wrong_claims(root)))
    tap.check("each table is what its command prints", list(wrong_tables(root, lockbench)))
    tap.check("the published runs are of the same protocols, all committed", list(wrong_digests(root)))
    return tap.end()


sys.exit(main())
