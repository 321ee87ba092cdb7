#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readme_table.py RUN_DIR [SCENARIO...] - the table of README.md, as Markdown: a row for each fault, a column for each kind of verdict, in it the locks that came out so.

A cell is the verdict of run.json without a guard. A published run has no cells that are n/a. So a lock without a cell was not asked, if the run has the lock and the
scenario. A lock or a scenario that the run lacks is an error, and so is a cell that is undecided or not as expected: nobody is left out in silence.
"""

import sys

import ending
import run_folder

LOCKS = {"redis-token@redis": "Redis", "redis-token@sentinel": "Sentinel", "redlock@redis-x5": "Redlock", "zk-sequential@zk-x3": "ZooKeeper", "pg-row@pg-sync": "PostgreSQL"}
FAULTS = ("failover", "restart-node", "server-lost", "majority-lost", "partition", "pause-holder", "crash-holder", "slow-holder", "hung-holder", "clock-jump")
COLUMNS = {"two hold it": ("violated", "mixed"), "nobody gets it": ("stuck", "delayed"), "safe": ("safe",), "not asked": ("n/a",)}


def row(where, title, scenario, cells):
    """`cells`: of each lock in LOCKS, or None where it was not asked."""
    found = {column: [] for column in COLUMNS}
    for system, name in LOCKS.items():
        verdict = cells[system]["verdict"] if cells[system] else "n/a"
        if verdict == "violated" and not cells[system]["double_holds"]:
            raise ending.BadInput(f"{where}: {scenario} of {system} is violated, but no two held at once: the table has no column for that")
        column = next((c for c, words in COLUMNS.items() if verdict in words), None)
        if not column or (cells[system] and cells[system].get("as_expected") is False):
            raise ending.BadInput(f"{where}: {scenario} of {system} is {verdict}, expected a verdict that is as expected")
        found[column].append(name)
    return [f"{title}: `{scenario}`", *(", ".join(names) or "–" for names in found.values())]


def main():
    if len(sys.argv) < 2:
        raise ending.BadInput("usage: readme_table.py RUN_DIR [SCENARIO...]")
    run, faults, where = run_folder.load_run(sys.argv[1]), sys.argv[2:] or FAULTS, f"{sys.argv[1]}/run.json"
    titles = {s["name"]: s.get("title") or s["name"] for s in run["scenarios"]}
    cells = {(c["scenario"], c["system"]): c for c in run["cells"] if c["guard"] == "none"}
    missing = [f for f in faults if f not in {s for s, _ in cells}] + [s for s in LOCKS if s not in {s for _, s in cells}]
    if missing:
        raise ending.BadInput(f"{where}: no cell of {missing[0]} without a guard")
    rows = [row(where, titles.get(f, f), f, {s: cells.get((f, s)) for s in LOCKS}) for f in faults]
    for line in [["fault", *COLUMNS], ["---"] * (len(COLUMNS) + 1), *rows]:
        print("| " + " | ".join(line) + " |")
    trials = [c["trials"] for (f, s), c in cells.items() if f in faults and s in LOCKS and c["trials"]]
    low, high = min(trials, default=0), max(trials, default=0)
    print(f"\n({sys.argv[1]}, {low if low == high else f'{low} to {high}'} trial{'' if high == 1 else 's'} of each; "
          + ", ".join(f"{name}: `{system}`" for system, name in LOCKS.items()) + ".)")
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
