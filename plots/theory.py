# SPDX-License-Identifier: MIT
"""theory.py [RUN_DIR...] <EXPECTATIONS - how far expectations follow from rules, and what the exceptions are, as JSON for the paper.

EXPECTATIONS is what `lockbench list expectations --json` prints. Of the runs that are named it counts the cells that were decided: how many of
them follow from rules, and which rules were tried on one protocol alone. Such a rule may say no more than what that lock does.
"""

import collections
import glob
import json
import os
import sys

import ending
import predict


def stated(table):
    """What a file states with the same verdict and reason is one exception, whatever the systems and guards."""
    exceptions = []
    for scenario in table["scenarios"]:
        found = {}
        for number, line in enumerate(scenario["stated"]):
            e = found.setdefault((line["verdict"], line["reason"]), {"scenario": scenario["scenario"], "attack": scenario["attack"], "systems": [], "guards": [], "predicted": [],
                                                                     "stated": line["verdict"], "reason": line["reason"], "cells": 0})
            cells = [cell for cell in scenario["cells"] if cell.get("stated") == number and cell["source"] == "exception"]
            for key, values in (("systems", [line["system"]]), ("guards", [line["guard"]]), ("predicted", [cell["predicted"] for cell in cells])):
                e[key] += [value for value in dict.fromkeys(values) if value not in e[key]]
            e["cells"] += len(cells)
        exceptions += found.values()
    return exceptions


def measured(table, runs):
    """Of the cells that these runs have decided."""
    decided = {key for folder in runs for key, cell in predict.measured_in(folder).items() if cell["verdict"] in predict.DECIDED}
    told = [cell for s in table["scenarios"] for cell in s["cells"] if cell["verdict"] != "none" and (s["scenario"], cell["system"], cell["guard"]) in decided]
    ruled, rules = [cell for cell in told if cell["rule"]], collections.defaultdict(collections.Counter)
    for cell in ruled:
        rules[cell["rule"]][cell["system"].partition("@")[0]] += 1
    race, narrow = sum(cell["verdict"] == "race" for cell in ruled), {line: protocols for line, protocols in rules.items() if len(protocols) == 1}
    return {"cells": len(told), "by_rules": len(ruled) - race, "share_by_rules": (len(ruled) - race) / len(told) if told else 0, "race": race, "stated": len(told) - len(ruled),
            "rules": len(rules), "cells_of_one_protocol": sum(sum(protocols.values()) for protocols in narrow.values()),
            "rules_of_one_protocol": [{"attack": rule["attack"], "line": rule["line"], "text": rule["text"], "protocols": narrow[rule["line"]]} for rule in table["rules"] if rule["line"] in narrow]}


def lines_of(root):
    """How many lines the files of scenarios have, and how many of them state a verdict."""
    lines = expects = 0
    for path in glob.glob(os.path.join(glob.escape(root), "scenarios", "*", "*.ini")):
        if os.path.basename(os.path.dirname(path)) in ("suites", "theory"):
            continue
        inside = False
        with open(path, encoding="utf-8") as file:
            for line in file:
                lines += 1
                inside = line.startswith("[expect") if line.startswith("[") else inside
                expects += inside and "=" in line and line[0] not in "[#;"
    return lines, expects


def main():
    table, runs = predict.table_of(sys.stdin), sys.argv[1:]
    exceptions, (lines, expects) = stated(table), lines_of(predict.ROOT)
    attacks = [{"attack": name, "what": next(r["what"] for r in table["rules"] if r["attack"] == name), "rules": [r for r in table["rules"] if r["attack"] == name]}
               for name in dict.fromkeys(r["attack"] for r in table["rules"])]
    print(json.dumps({"coverage": {"scenarios": len(table["scenarios"]), "systems": len(table["systems"]), "by_exceptions": sum(e["cells"] for e in exceptions if e["stated"] != "n/a"),
                                   "expect_lines": expects, "scenario_lines": lines, "measured": measured(table, runs) if runs else None},
                      "facts": table["facts"], "attacks": attacks, "exceptions": exceptions}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
