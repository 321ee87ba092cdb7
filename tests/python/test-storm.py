# test: beside
# SPDX-License-Identifier: MIT
#
# The table of random faults: an older run's faults are counted by the rule of today, and the intervals are those of harness/base/interval.c. Speaks TAP.
# (test-printed.py holds the table in docs/choose.md against its command.)
import csv
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(ROOT, "results", "reference")
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tests", "helpers"))
sys.path.insert(0, os.path.join(ROOT, "plots"))
import rates  # noqa: E402
import run_folder  # noqa: E402
import storm  # noqa: E402
import tap  # noqa: E402

# What stands in the run, by hand: two at once, within the lease, the most faults that can have been tested.
KNOWN = {"redis-token@redis": (23, 4, 84), "redis-token@sentinel": (26, 14, 84), "redlock@redis-x5": (19, 0, 84), "pg-lease@pg": (22, 3, 83),
         "zk-sequential@zk-x3": (11, 0, 80), "pg-row@pg": (0, 0, 9)}
SERVERS = {"redis-token@redis": 1, "redis-token@sentinel": 3, "redlock@redis-x5": 5, "pg-lease@pg": 1, "zk-sequential@zk-x3": 3}


def read(name):
    with open(os.path.join(RUN, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def reference():
    cells = run_folder.load_run(RUN)["cells"]
    rates.renew(RUN, cells, read("trials.csv"))
    return cells


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
        _, low, high = rates.share([(k, n)])
        if not (k <= n and c["overlapped_per_fault_low"] <= low + 1e-9 and c["overlapped_per_fault_high"] >= high - 1e-9):
            wrong.append("%s %s %s: %d of %d" % (c["scenario"], c["system"], c["guard"], k, n))
    return wrong


def fault(s, step, second):
    return [{"t": second * 10 ** 9, "s": s, "e": "fault", "step": step}, {"t": second * 10 ** 9 + 1, "s": s + 1, "e": "proved", "step": step}]


def of_rule():
    """Granted in its second; nothing granted; granted, but no client's event in between; a cut that nobody used; the last one."""
    facts = [{"t": 0, "s": 0, "e": "phase", "phase": "measure"}, *fault(10, 1, 1), *fault(20, 2, 3), *fault(30, 3, 5), *fault(32, 4, 5),
             {"t": 6 * 10 ** 9, "s": 40, "e": "unused", "step": 4}, *fault(42, 5, 7), {"t": 9 * 10 ** 9, "s": 60, "e": "phase", "phase": "end"}]
    able = rates.can_be_tested(facts, {1: 5, 5: 2, 8: 1})
    expected = [True, False, True, True]
    alone = rates.can_be_tested(facts[:5] + [{"t": 5 * 10 ** 9, "s": 22, "e": "phase", "phase": "end"}], {1: 5, 3: 4})
    return [] if able == expected and alone == [True, False] else ["%s, expected %s; %s" % (able, expected, alone)]


def of_intervals():
    """Reckoned by hand, as in test-interval.c: 0, 4, 2, 2 and 2 of 20 each are an effect of 10/9, and t of 4 is 2.7764."""
    parts = [(k, 20) for k in (0, 4, 2, 2, 2)]
    found = [*rates.share(parts), *rates.per([(k, 1) for k, _ in parts], 1), *rates.share([(0, 60)]), *rates.per([(10, 1)], 1), rates.student(20)]
    t = 2.7764
    tt, half = t * t / 90, t * (0.09 / 90 + t * t / (4 * 90 * 90)) ** 0.5
    wide = t * (10 + t * t / 4) ** 0.5
    known = [0.1, (0.1 + tt / 2 - half) / (1 + tt), (0.1 + tt / 2 + half) / (1 + tt), 2, (10 + t * t / 2 - wide) / 5, (10 + t * t / 2 + wide) / 5,
             0, 0, 0.0487, 10, 5.4319, 18.4096, 2.0860]
    return ["%.6g, expected %.6g" % (x, y) for x, y in zip(found, known) if abs(x - y) > 5e-4]


def of_naming(cells):
    said = storm.under_deadline(storm.chosen(cells, "deadline", list(KNOWN)[:5]), storm.chosen(cells, "none", list(KNOWN)[:5]))
    bad = said.partition("Violated")[2].partition("Safe")[0]
    return [] if all("`%s`" % s in bad for s in ("redis-token@redis", "redis-token@sentinel", "pg-lease@pg")) and "redlock" not in bad else [said]


def main():
    cells = reference()
    tap.check("the published run has these counts, faults and servers", of_counts(cells))
    tap.check("no effective number is above the number counted", of_overlaps(cells))
    tap.check("a fault that nobody can have been granted the lock after is not tested", of_rule())
    tap.check("the intervals are those reckoned by hand", of_intervals())
    tap.check("who is violated under deadline is named", of_naming(cells))
    sys.exit(tap.end())


main()
