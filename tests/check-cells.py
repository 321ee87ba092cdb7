#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-cells.py RUN_DIR - walks over every cell of a run (run.json) and fails for one that says nothing.

The table scenarios x systems x guards of the run has no hole and no cell twice. A cell is decided, with trials that add up
to its verdict, or undecided with a cause, or n/a or skipped with a reason and without a trial. One line for each that is not.
"""

import itertools
import json
import sys

DECIDED = ("safe", "violated", "stuck", "delayed", "mixed")


def wrong_with(cell, directed):
    """What a cell lacks, or None."""
    verdict, trials, reason = cell["verdict"], cell["trials"], (cell.get("why") or "").strip()
    if verdict in ("n/a", "skipped"):
        if not reason:
            return f"{verdict} without a reason"
        return f"{verdict}, but it has {trials} trials" if trials else None
    if verdict == "undecided":
        return None if reason else "undecided without a cause"
    if verdict not in DECIDED:
        return f"verdict '{verdict}'"
    counts = {"violated": cell["violated"], "stuck": cell["stuck"], "delayed": cell.get("delayed", 0)}
    decided = trials - cell["undecided"]
    counts["safe"] = decided - sum(counts.values())
    kinds = [v for v, n in counts.items() if n]
    if decided <= 0 or min(counts.values()) < 0:
        return f"{verdict}, but {decided} trials were decided"
    if directed and verdict != (kinds[0] if len(kinds) == 1 else "mixed"):
        return f"{verdict}, but its trials were {counts}"
    if verdict != "mixed" and not counts[verdict]:
        return f"{verdict}, but none of its trials was"
    if verdict == "safe" and decided <= cell["undecided"]:
        return f"safe, but {decided} of {trials} trials were decided"
    return None


def walk(run):
    """The complaints, in the order of the cells; those about the table as a whole last."""
    directed, cells = {s["name"] for s in run["scenarios"] if s["steps"]}, {}
    for cell in run["cells"]:
        place = cell["scenario"], cell["system"], cell["guard"]
        wrong = wrong_with(cell, cell["scenario"] in directed)
        if place in cells:
            wrong = "it is there twice"
        cells[place] = cell
        if wrong:
            yield f"{'.'.join(place)}: {wrong}"
    for place in itertools.product(*(dict.fromkeys(p[i] for p in cells) for i in range(3))):
        if place not in cells:
            yield f"{'.'.join(place)}: there is no such cell"


def main():
    if len(sys.argv) != 2:
        print("usage: check-cells.py RUN_DIR", file=sys.stderr)
        return 2
    with open(f"{sys.argv[1]}/run.json", encoding="utf-8") as file:
        run = json.load(file)
    complaints = list(walk(run))
    print("\n".join(complaints) if complaints else f"{len(run['cells'])} cells, and every one says something")
    return 1 if complaints or not run["cells"] else 0


if __name__ == "__main__":
    sys.exit(main())
