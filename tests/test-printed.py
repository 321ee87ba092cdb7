#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-printed.py [ROOT] - every verdict that README.md prints is a cell of a run in results/, and these runs can be trusted.

A claim has one of two forms: `scenario`, `scenario`: verdict, and `guard`: verdict in `scenario`. In a table, the locks in the first cell of the row are meant.
Of a run whose sources were not committed, and of a cell that did not come out as expected, nothing may be printed.
"""
import itertools
import json
import pathlib
import re
import sys

NAMES = r"`[a-z0-9-]+`(?:(?:, | and )`[a-z0-9-]+`)*"
CLAIM = re.compile(rf"({NAMES}): \*{{0,2}}([a-z]+)\*{{0,2}}(?: in ({NAMES}))?")
GUARDS = ("none", "deadline", "signal", "recheck", "claim", "fence")


def names(text):
    return re.findall(r"`([a-z0-9-]+)`", text or "")


def claims_of(line, scenarios, verdicts):
    """(locks or nothing, scenario, guard or None, verdict) of a line."""
    locks = []
    if line.startswith("| "):
        locks, line = names(line.split(" | ")[0]), line.split(" | ", 1)[1]
    for left, verdict, right in CLAIM.findall(line):
        if verdict not in verdicts:
            continue
        guards = [n for n in names(left) if n in GUARDS] or [None]
        for scenario, guard in itertools.product(names(right) or names(left), guards):
            if scenario in scenarios:
                yield locks, scenario, guard, verdict


def shows(cell, locks, scenario, guard, verdict):
    protocol = cell["system"].partition("@")[0].removeprefix("peer:")
    return cell["scenario"] == scenario and cell["verdict"] == verdict and cell["guard"] == (guard or "none") and (not locks or protocol in locks)


def cells_of(path):
    run = json.loads(path.read_text())
    return [] if run["tool"]["commit"].endswith("-dirty") else [c for c in run["cells"] if c["as_expected"]]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    wrong, cells = [], [c for path in root.glob("results/reference*/run.json") for c in cells_of(path)]
    scenarios, verdicts = {c["scenario"] for c in cells} | {p.stem.partition("-")[2] for p in root.glob("scenarios/*.ini")}, {"safe", "violated", "stuck", "delayed", "mixed"}
    count = 0
    for number, line in enumerate((root / "README.md").read_text().splitlines(), 1):
        for claim in claims_of(line, scenarios, verdicts):
            count += 1
            if not any(shows(cell, *claim) for cell in cells):
                locks, scenario, guard, verdict = claim
                wrong.append(f"README.md:{number}: no run in results/ has {scenario} {verdict}{f' under {guard}' if guard else ''}{' of ' + ', '.join(locks) if locks else ''}")
    if not count:
        wrong.append("README.md: no claim was found")
    print(*[f"# {w}" for w in wrong], f"{'not ' if wrong else ''}ok - {count} verdicts in README.md stand in the published runs", sep="\n")
    return 1 if wrong else 0


sys.exit(main())
