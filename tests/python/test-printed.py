#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-printed.py [--write] LOCKBENCH - what README.md and docs/ print stands in results/: their tables are what their commands print, and each verdict is a cell of a run there.

A claim has one of four forms: `scenario`, `system`: verdict, which is a whole cell; `scenario`, `scenario`: verdict; `guard`: verdict in `scenario`; and `lock`: verdict, which is of the museum. In a table, the locks in the
first cell of the row are meant. Of a run whose sources were not committed, and of a cell that did not come out as expected, nothing may be printed. `./bench` of a command
is LOCKBENCH. Speaks TAP. With `--write` it writes the tables into the pages instead.
"""
import csv
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

sys.path[1:1] = [str(tap.ROOT / "plots"), str(tap.ROOT / "backends")]
import digest  # noqa: E402
import hunt_folder  # noqa: E402
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


CELL = re.compile(r"`([a-z0-9-]+)`, `((?:peer:)?[a-z0-9-]+@[a-z0-9.:-]+)`(?: under `([a-z]+)`)?: \*{0,2}([a-z]+)")


def played_nowhere(text, cells):
    """Each `scenario`, `system`: verdict of TEXT that is not among CELLS, with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for scenario, system, guard, verdict in CELL.findall(line):
            if verdict in VERDICTS and (scenario, system, guard or "none", verdict) not in cells:
                yield f"{number}: no run in results/ has {scenario} {system} {guard or 'none'} {verdict}"


def wrong_cells(root):
    """A cell that a page names whole was played: that it is expected is not enough."""
    if len(list(played_nowhere("`a`, `b@c`: safe; `a`, `b@c` under `fence`: safe", {("a", "b@c", "fence", "safe")}))) != 1:
        yield "a planted cell that no run has was not found"
    if not list(played_nowhere((root / "docs/claims.md").read_text(), ())):
        yield "docs/claims.md: no cell was found"
    cells = {(c["scenario"].partition("~")[0], c["system"], c["guard"], c["verdict"]) for of in runs(root).values() for c in of}
    for page in pages(root):
        yield from (f"{page}:{what}" for what in played_nowhere((root / page).read_text(), cells))


def printed_by(command, lockbench, root):
    """What a command above a table prints; None if it fails. Runs that differ (3) are no failure."""
    words = [lockbench if word == "./bench" else word for word in command.split()]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "LOCKBENCH_VERSIONS": "etcd 3.4.23"})  # whatever is installed here
    return done.stdout if done.returncode in (0, 3) else None


def printed(root):
    return [*pages(root), "scenarios/theory/README.md", "peers/README.md", *(str(path.relative_to(root)) for path in root.glob("results/*/README.md"))]


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


def without_versions(text):
    """The names of the tables out of results/ in a page that no line below names the servers' versions of."""
    return [name for name, command, table in TABLE.findall(text) if "results/" in command and not re.search(r"^\(?.*Servers: [a-z-]+ [0-9]", table, re.M)]


PAPER_TABLE = re.compile(r"\\begin\{(table\*?)\}(?:(?!\\end\{table).)*?\\input\{table-(truth|campaign|speed|wake|hunt|rests)\}.*?\\end\{\1\}", re.S)


def wrong_captions(root):
    """The tables of the paper that are measured, and the caption of the one in several parts."""
    texts = {path.name: path.read_text() for path in root.glob("paper/*.tex")}
    found = {match[2]: match[0] for text in texts.values() for match in PAPER_TABLE.finditer(text)}
    found["guard"] = "".join(re.findall(r"\\GuardCaption\}\{(.*?)\}\n\n", texts["lockbench.tex"], re.S))
    if len(found) != 7:
        yield f"paper: found the tables {', '.join(sorted(found))}, expected seven"
    yield from (f"paper: the caption of its table {name} does not name the servers' versions" for name, text in found.items()
                if not re.search(r"Servers: \\LB\{(?:(?:speed\.)?server\.all|hunt\.servers)\}", text))


def wrong_versions(root):
    planted = "<!-- table of a: x results/y -->\n| a |\n<!-- end of a -->\n<!-- table of b: x results/y -->\n| a |\n\nServers: redis 7.0.15.\n<!-- end of b -->\n"
    if without_versions(planted) != ["a"]:
        yield "a planted table without versions was not found"
    for page in printed(root):
        path = root / page
        yield from (f"{page}: its table of {name} does not name the servers' versions" for name in without_versions(path.read_text() if path.exists() else ""))


CHART = "results/reference-speed/figures/readme.csv"


def wrong_chart(root):
    """README's command for a chart gives what its picture shows: the same load, systems and numbers of clients."""
    asked = re.search(r"^\./bench run (\S+) -b (\S+) -s clients=(\S+) .*-o results/chart$", (root / "README.md").read_text(), re.M)
    with open(root / CHART, encoding="utf-8", newline="") as file:
        drawn = list(csv.DictReader(file))
    found = tuple(sorted({row[name] for row in drawn}) for name in ("scenario", "system", "clients"))
    said = asked and tuple(sorted(text.split(",")) for text in asked.groups())
    if said != found:
        yield f"README.md: its command gives {said}, expected what {CHART} has: {found}"


def wrong_handoffs(root):
    """A page, or the paper, that has times or rates of hand-offs says what those of a lock that polls are."""
    figures = re.compile(r"hand-off (?:ms|time)|hand-offs per second|hand-off p50", re.I)
    told = re.compile(r"hand-off\s+of\s+a\s+lock\s+that\s+polls|lock\s+that\s+polls\s+it\s+is\s+the\s+pause", re.I)
    for page in [*printed(root), *(str(path.relative_to(root)) for path in root.glob("paper/*.tex"))]:
        text = (root / page).read_text() if (root / page).exists() else ""
        if page not in ("docs/columns.md", "docs/scenarios.md") and figures.search(text) and not told.search(text):
            yield f"{page}: it has figures of hand-offs, and does not say what the hand-off of a lock that polls is"


ALIKE = re.compile(r"(\d+) of (\d+) questions came out as on ours")
OWN_PAGES = ("README.md", "docs/own-servers.md")


def wrong_own(root):
    """Of what a lock was asked on servers of a user's own and on ours, in the runs reference-own*, these pages say how much came out alike. Undecided trials say nothing."""
    came = {}
    for path in root.glob("results/reference-own*/run.json"):
        for cell in run_folder.load_run(path.parent)["cells"]:
            own = cell["system"].partition("@")[2].startswith("own-")
            came.setdefault((cell["scenario"], protocol_of(cell)), {})[own] = (cell["verdict"], cell["decided"] == cell["trials"])
    both = [one for one in came.values() if len(one) == 2]
    alike = [one for one in both if one[True] == one[False] and one[True][1]]
    for page in OWN_PAGES:
        said = ALIKE.findall((root / page).read_text())
        if said != [(str(len(alike)), str(len(both)))]:
            yield f"{page}: it says {said} of the questions that came out alike, the runs have {len(alike)} of {len(both)}"


def write_tables(root, lockbench):
    for page in printed(root):
        path = root / page
        path.write_text(TABLE.sub(lambda m: f"<!-- table of {m[1]}: {m[2]} -->\n{printed_by(m[2], lockbench, root) or m[3]}<!-- end of {m[1]} -->", path.read_text()))


# What was measured before its protocol changed, as folder: protocols. Each goes from here when it is played again.
BEFORE = {"reference-peers-python": ("zk-rw",)}


def played(root):
    """(folder, commit, systems) of each sitting whose figures are published."""
    for path in sorted(root.glob("results/reference*/run.json")):
        run = json.loads(path.read_text())
        yield path.parent.name, run["tool"]["commit"], [cell["system"] for cell in run["cells"]]
    for system, hunt in hunt_folder.hunts_of(root / "results/reference-hunt").items():
        yield from (("reference-hunt", sitting["tool"]["commit"], [system]) for sitting in hunt.sittings)


def unlike(sittings, sources, before):
    """Of SITTINGS without what is BEFORE, each protocol whose SOURCES {commit: texts} differ between two of their folders, with the digests."""
    found = {}
    for folder, commit, systems in sittings:
        for name in {digest.FOREIGN if system.startswith("peer:") else system.partition("@")[0] for system in systems} - set(before.get(folder, ())):
            found.setdefault(name, {}).setdefault(digest.of_protocol(sources[commit], name), set()).add(folder)
    for name, of in sorted(found.items()):
        if None in of:
            yield f"{name}: {', '.join(sorted(of[None]))} has it, its commit has no source of it"
        elif len(of) > 1:
            yield f"{name}: " + "; ".join(f"{made} in {', '.join(sorted(folders))}" for made, folders in sorted(of.items()))


def wrong_digests(sittings, sources):
    """A protocol is of the same sources wherever its figures stand, in whatever run. What was not committed has no sources to compare."""
    yield from (f"{folder} was made of sources that were not committed" for folder, commit, _ in sittings if commit.endswith("-dirty"))
    planted = {"a": {"x.c": '.name = "x" 1'}, "b": {"x.c": '.name = "x" 2'}}
    two = [("one", "a", ["x@none"]), ("two", "b", ["x@none"])]
    if not list(unlike(two, planted, {})):
        yield "a planted protocol of two digests was not found"
    if list(unlike(two, planted, {"one": ("x",)})):
        yield "a planted protocol that was measured before was found"
    yield from unlike([one for one in sittings if not one[1].endswith("-dirty")], sources, BEFORE)


MOST_FILES, MOST_BYTES = 200, 8_000_000


def too_much(root):
    """What results/ keeps, without runs of the user's own."""
    sizes = [path.stat().st_size for path in [root / "results/SCHEMA.md", *root.glob("results/reference*/**/*")] if path.is_file()]
    return [f"{len(sizes)} files, {sum(sizes)} bytes"] if len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES else []


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    root = tap.ROOT
    lockbench = str(pathlib.Path(words[0]).resolve())
    if "--write" in sys.argv:
        return write_tables(root, lockbench)
    tap.check("each verdict in README.md and docs/ is a cell of a published run", list(wrong_claims(root)))
    tap.check("each cell that a page names whole was played", list(wrong_cells(root)))
    tap.check("each table is what its command prints", list(wrong_tables(root, lockbench)))
    tap.check("each table out of results/, and of the paper, names the versions of the servers", [*wrong_versions(root), *wrong_captions(root)])
    tap.check("who compares hand-offs says what that of a lock that polls is", list(wrong_handoffs(root)))
    tap.check("what came out on own servers as on ours is counted", list(wrong_own(root)))
    tap.check("README's command for a chart gives what its picture shows", list(wrong_chart(root)))
    sittings = list(played(root))
    sources = {commit: digest.sources(commit) for _, commit, _ in sittings if not commit.endswith("-dirty")}
    unknown = None if all(sources.values()) else "git does not know the commits of the runs here"
    tap.check("each protocol is of the same sources in all published runs, all committed", [] if unknown else list(wrong_digests(sittings, sources)), unless=unknown)
    tap.check(f"results/ has at most {MOST_FILES} files and {MOST_BYTES // 1000000} MB", too_much(root))
    return tap.end()


sys.exit(main())
