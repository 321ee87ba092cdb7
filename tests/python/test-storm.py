# test: beside
# SPDX-License-Identifier: MIT
#
# The table of random faults: its counts are those of the published run, and no interval is too narrow. Speaks TAP.
# (test-printed.py holds the table in docs/choose.md against its command.)
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(ROOT, "results", "reference")
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tests", "helpers"))
sys.path.insert(0, os.path.join(ROOT, "plots"))
import run_folder  # noqa: E402
import storm  # noqa: E402
import tap  # noqa: E402

# What stands in the run, by hand: two at once, within the lease, the most faults that can have been tested.
KNOWN = {"redis-token@redis": (24, 5, 84), "redis-token@sentinel": (25, 13, 83), "redlock@redis-x5": (19, 0, 84), "pg-lease@pg": (20, 1, 84),
         "zk-sequential@zk-x3": (9, 0, 75), "pg-row@pg": (0, 0, 9)}
SERVERS = {"redis-token@redis": 1, "redis-token@sentinel": 3, "redlock@redis-x5": 5, "pg-lease@pg": 1, "zk-sequential@zk-x3": 3}


def wilson(k, n):
    """The 95 % interval of independent events."""
    z, p = 1.959963984540054, k / n
    middle, half = (p + z * z / n / 2) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / n / (4 * n)) / (1 + z * z / n)
    return middle - half if 0 < p < 1 else 0.05 ** (1 / n) if p else 0, middle + half if 0 < p < 1 else 1 if p else 1 - 0.05 ** (1 / n)


def of_counts(cells):
    wrong, storms = [], {c["system"]: c for c in cells if c["scenario"] == "storm" and c["guard"] == "none"}
    for system, (both, within, tested) in KNOWN.items():
        c = storms[system]
        found = round(c["overlapped_per_fault"] * c["decided_faults"]), round(c["within_lease_per_fault"] * c["decided_faults"]), c["decided_faults"]
        wrong += ["%s: %s, expected %s" % (system, found, (both, within, tested))] if found != (both, within, tested) else []
    for system, n in SERVERS.items():
        wrong += ["%s: %d servers" % (system, storms[system]["data_servers"])] if storms[system]["data_servers"] != n else []
        wrong += ["%s: by server" % system] if abs(storms[system]["within_lease_per_server_hour"] - n * storms[system]["within_lease_per_fault"]) > 1e-9 else []
    return wrong


def of_overlaps(cells):
    """No fault is both overlapped and without a grant; no interval is inside the one of independent events."""
    wrong = []
    for c in cells:
        n = c.get("decided_faults")
        if not n:
            continue
        k = round(c["overlapped_per_fault"] * n)
        low, high = wilson(k, n)
        if not (k <= n and c["overlapped_per_fault_low"] <= low + 1e-9 and c["overlapped_per_fault_high"] >= high - 1e-9):
            wrong.append("%s %s %s: %d of %d" % (c["scenario"], c["system"], c["guard"], k, n))
    return wrong


def of_naming(cells):
    said = storm.under_deadline(storm.chosen(cells, "deadline", list(KNOWN)[:5]), storm.chosen(cells, "none", list(KNOWN)[:5]))
    bad = said.partition("Violated")[2].partition("Safe")[0]
    if "`redlock@redis-x5` 1 of 35" not in said.partition("Within the lease")[2]:
        return [said]
    return [] if all("`%s`" % s in bad for s in ("redis-token@redis", "redis-token@sentinel", "redlock@redis-x5", "pg-lease@pg")) and "zk-" not in bad else [said]


def of_ranking(cells):
    """The first column ranks nobody; within the lease the one that is above others is named, and nobody else is."""
    both, within = storm.apart(storm.chosen(cells, "none", list(KNOWN)))
    first, _, others = within.partition("lies above")
    return [] if both.endswith("any two overlap.") and "`redis-token@sentinel`" in first and "`redlock@redis-x5`" in others and "redis-token" not in others else [both, within]


def of_stuck(cells):
    said = list(storm.stuck([*storm.chosen(cells, "none", list(KNOWN)[:1]), cells[0] | {"system": "a@b", "stuck": 2, "trials": 5, "undecided": 1}]))
    return [] if said == ["Stuck, so that fewer faults could tell: `a@b` (2 of 4)."] else said or ["nobody"]


def main():
    cells = run_folder.load_run(RUN)["cells"]
    tap.check("the published run has these counts, faults and servers", of_counts(cells))
    tap.check("no effective number is above the number counted", of_overlaps(cells))
    tap.check("who is violated under deadline is named", of_naming(cells))
    tap.check("who stood still is named", of_stuck(cells))
    tap.check("whose intervals do not overlap is named", of_ranking(cells))
    sys.exit(tap.end())


main()
