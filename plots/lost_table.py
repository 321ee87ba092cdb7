#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""lost_table.py RUN_DIR SCENARIO... - how many trials were violated, and how many updates each lock lost, without a guard in these scenarios, as Markdown.

The call stands above the table in docs/museum.md.
"""

import sys

import ending
import run_folder


def main():
    if len(sys.argv) < 3:
        raise ending.BadInput("usage: lost_table.py RUN_DIR SCENARIO...")
    run = run_folder.load_run(sys.argv[1])
    cells = [c for c in run["cells"] if c["guard"] == "none" and c["scenario"] in sys.argv[2:] and c.get("grants")]
    missing = [s for s in sys.argv[2:] if s not in {c["scenario"] for c in cells}]
    if missing:
        raise ending.BadInput(f"{sys.argv[1]}/run.json: no grants in {missing[0]} without a guard")
    print("| experiment | lock | violated trials | lost updates | of grants | share |\n|---|---|---|---|---|---|")
    for c in sorted(cells, key=lambda c: sys.argv.index(c["scenario"])):
        violated = f"{c['violated']} of {c['trials'] - c['undecided']}" + (", after the lease" if run_folder.only_after(c) else "")
        print(f"| `{c['scenario']}` | `{c['system']}` | {violated} | {c['lost_updates']} | {c['grants']} | {100 * c['lost_updates'] / c['grants']:.1f} % |")
    print(f"\n({sys.argv[1]}. {run_folder.versions_line(run, [c['system'] for c in cells])})")


if __name__ == "__main__":
    sys.exit(ending.of(main))
