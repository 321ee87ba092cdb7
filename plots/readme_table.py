#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readme_table.py RUN_DIR [SCENARIO...] - the table of README.md, as Markdown: a row for each fault, a column for each kind of verdict, in it the locks that came out so.

A cell is the verdict of run.json without a guard. A lock that the run did not put to a scenario, or that stayed undecided, is an error: nobody is left out in silence.
"""

import sys

import ending
import run_folder

LOCKS = {"redis-token@redis": "Redis", "redis-token@sentinel": "Sentinel", "redlock@redis-x5": "Redlock", "zk-sequential@zk-x3": "ZooKeeper", "pg-row@pg-sync": "PostgreSQL"}
FAULTS = ("failover", "restart-node", "server-lost", "majority-lost", "partition", "pause-holder", "crash-holder", "slow-holder", "hung-holder", "clock-jump")
COLUMNS = {"two hold it": ("violated", "mixed"), "nobody gets it": ("stuck", "delayed"), "safe": ("safe",), "not asked": ("n/a",)}


def row(where, title, scenario, verdicts):
    """`verdicts`: of each lock in LOCKS that has one."""
    found = {column: [] for column in COLUMNS}
    for system, name in LOCKS.items():
        column = next((c for c, words in COLUMNS.items() if verdicts.get(system) in words), None)
        if not column:
            raise ending.BadInput(f"{where}: {scenario} of {system} is {verdicts.get(system, 'not there')}, expected a verdict")
        found[column].append(name)
    return [f"{title}: `{scenario}`", *(", ".join(names) or "–" for names in found.values())]


def main():
    if len(sys.argv) < 2:
        raise ending.BadInput("usage: readme_table.py RUN_DIR [SCENARIO...]")
    run, faults = run_folder.load_run(sys.argv[1]), sys.argv[2:] or FAULTS
    titles = {s["name"]: s.get("title") or s["name"] for s in run["scenarios"]}
    cells = {(c["scenario"], c["system"]): c for c in run["cells"] if c["guard"] == "none"}
    rows = [row(f"{sys.argv[1]}/run.json", titles.get(f, f), f, {s: cells[f, s]["verdict"] for s in LOCKS if (f, s) in cells}) for f in faults]
    for line in [["fault", *COLUMNS], ["---"] * (len(COLUMNS) + 1), *rows]:
        print("| " + " | ".join(line) + " |")
    trials = [cells[f, s]["trials"] for f in faults for s in LOCKS if cells[f, s]["trials"]]
    low, high = min(trials, default=0), max(trials, default=0)
    print(f"\n({sys.argv[1]}, {low if low == high else f'{low} to {high}'} trial{'' if high == 1 else 's'} of each; "
          + ", ".join(f"{name}: `{system}`" for system, name in LOCKS.items()) + ".)")
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
