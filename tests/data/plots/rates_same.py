# SPDX-License-Identifier: MIT
"""rates_same.py RUN_DIR - whether plots/rates.py reckons out of the trials of a fresh run what its cells have recorded, and whether it takes none
of the faults that were tested for one that cannot have been. Prints what differs; exit 1 if anything does."""

import csv
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "plots"))
import rates  # noqa: E402


def differs(found, recorded):
    if found is None or recorded is None:
        return (found is None) != (recorded is None)
    return abs(found - recorded) > 1e-3 * max(abs(recorded), 1e-6)  # measured_s has three digits


def main(folder):
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
        cells = [c for c in json.load(file)["cells"] if c.get("lost_per_1000") is not None]
    with open(os.path.join(folder, "trials.csv"), encoding="utf-8", newline="") as file:
        trials = list(csv.DictReader(file))
    grants, wrong = rates.by_second(folder), [] if cells else ["no cell has rates"]
    for c in cells:
        mine = [t for t in trials if (t["scenario"], t["system"], t["guard"]) == (c["scenario"], c["system"], c["guard"])]
        found = rates.members(c, mine, c["data_servers"])
        wrong += [f"{c['system']}: {name} is {x}, the cell has {c[name]}" for name, x in found.items() if differs(x, c[name])]
        for t in mine:
            most = rates.tested_at_most(folder, t | {"faults_tested": t["faults"]}, grants[rates.trial_of(t)])
            wrong += [f"{c['system']}, trial {t['trial']}: {t['faults_tested']} tested, at most {most}"] if int(t["faults_tested"]) > most else []
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
