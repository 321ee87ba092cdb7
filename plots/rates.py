# SPDX-License-Identifier: MIT
"""rates.py - the rates of a campaign, out of its trials: what harness/run/tally.c and harness/base/interval.c reckon, in Python.

A run that has recorded them (`lost_per_1000` in its cells) keeps what it recorded. An older one counted as tested each fault after
which anything was granted, ever. Of such a run, a fault is left out here if nothing can have been granted before the next one: series.csv
has no grant in any second that it touches, or the sequence numbers in faults/ have no event of a client in between. What is left is the
most that can have been tested. A published run has neither file, and instead of them what was counted: tested.csv.
"""

import csv
import json
import math
import os
import re
from collections import defaultdict

TRIAL = ("scenario", "system", "guard", "clients", "trial")  # the names of one
Z = 1.959963984540054
ONE_SIDED, LEAST_EFFECT = 0.05, 0.25
STUDENT = (math.inf, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
RATES = {"overlapped_per_fault": "faults_overlapped", "within_lease_per_fault": "faults_within_lease", "damaged_per_fault": "faults_damaged"}

# ---- intervals: see harness/base/interval.c ----


def student(freedom):
    if freedom < len(STUDENT):
        return STUDENT[freedom]
    return Z + (Z ** 3 + Z) / (4 * freedom) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2)


def effect_of(parts, share):
    """How many events are worth one independent one, at least 1. A part is (events, exposure)."""
    events, exposure, used = sum(e for e, _ in parts), sum(x for _, x in parts), sum(x > 0 for _, x in parts)
    rate = events / exposure
    spread = events * (1 - rate if share else 1)
    if used < 2 or spread <= 0:
        return 1
    squares = sum((e - rate * x) ** 2 for e, x in parts)
    return max(max(used / (used - 1) * squares / spread, LEAST_EFFECT) * (student(used - 1) / Z) ** 2, 1)


def share(parts):
    """(value, low, high), or None without exposure."""
    events, exposure = sum(e for e, _ in parts), sum(x for _, x in parts)
    if exposure <= 0:
        return None
    p, n = events / exposure, exposure / effect_of(parts, True)
    middle, half = (p + Z * Z / n / 2) / (1 + Z * Z / n), Z * math.sqrt(p * (1 - p) / n + Z * Z / n / (4 * n)) / (1 + Z * Z / n)
    bound = ONE_SIDED ** (1 / exposure)
    return p, 0 if events <= 0 else middle - half if p < 1 else bound, 1 if p >= 1 else middle + half if events > 0 else 1 - bound


def per(parts, unit):
    """The same of events that may be more than one of each exposure, per `unit` of it."""
    events, exposure = sum(e for e, _ in parts), sum(x for _, x in parts)
    if exposure <= 0:
        return None
    effect = effect_of(parts, False)
    k, scale = events / effect, unit / exposure
    half = Z * math.sqrt(k + Z * Z / 4)
    high = (k + Z * Z / 2 + half) * effect if events > 0 else -math.log(ONE_SIDED)
    return events * scale, (k + Z * Z / 2 - half) * effect * scale if events > 0 else 0, high * scale


# ---- of an older run: which faults can have been tested ----


def facts_of(folder, trial):
    name = "{scenario}.{system}.{guard}.c{clients}.t{trial}.jsonl".format(**trial)
    try:
        with open(os.path.join(folder, "faults", name), encoding="utf-8") as file:
            return [json.loads(line) for line in file][1:]
    except FileNotFoundError:
        return None


def can_be_tested(facts, grants):
    """For each proved fault that was used, in order: whether anything can have been granted before the next one. `grants`: by second."""
    steps = {kind: {f["step"] for f in facts if f["e"] == kind} for kind in ("proved", "unused")}
    phase = {f["phase"]: f for f in facts if f["e"] == "phase"}
    faults = [f for f in facts if f["e"] == "fault" and f["step"] not in steps["unused"]]
    own, begin = [f["s"] for f in facts], phase["measure"]["t"]
    able = []
    for fault, after in zip(faults, faults[1:] + [phase["end"]]):
        if fault["step"] not in steps["proved"]:
            continue
        seconds = range((fault["t"] - begin) // 10 ** 9, math.ceil((after["t"] - begin) / 1e9))
        clients = after["s"] - fault["s"] - 1 - sum(fault["s"] < s < after["s"] for s in own)
        able.append(clients > 0 and any(grants.get(second) for second in seconds))
    return able


def tested_at_most(folder, trial, grants):
    """An older version counted the first `faults_tested` of the proved ones: those before the last grant."""
    facts, counted = facts_of(folder, trial), int(trial["faults_tested"])
    return sum(can_be_tested(facts, grants)[:counted]) if facts else counted


def data_servers(trials, folder):
    """Servers that hold the lock: the largest number that a schedule names."""
    facts = [f for t in trials for f in facts_of(folder, t) or ()]
    numbers = [int(m.group(1)) for f in facts if (m := re.match(r"node (\d+)$", f.get("role", "")))]
    return max(numbers, default=0)


# ---- cells ----


def violations_of(trial):
    return max(int(trial["stale_writes"]), trial["verdict"] == "violated")


def members(cell, trials, servers):
    """What a cell says of its decided trials, by the names that it has in run.json."""
    kept = [t for t in trials if t["verdict"] != "undecided"]
    faults, hours = [int(t["faults_tested"]) for t in kept], [float(t["measured_s"] or 0) / 3600 for t in kept]
    grants, handoffs = [int(t["grants"]) for t in kept], [int(t["useful_handoffs"]) for t in kept]
    lost, violations = [int(t["lost_updates"]) for t in kept], [violations_of(t) for t in kept]
    found = {name: share([(int(t[column]), n) for t, n in zip(kept, faults)]) for name, column in RATES.items()}
    within = found["within_lease_per_fault"]
    found["within_lease_per_server_hour"] = tuple(x * servers for x in within) if within and servers else None
    found["lost_per_1000"] = per(list(zip(lost, grants)), 1000)
    still = cell["verdict"] in ("stuck", "delayed")
    found["violations_per_hour"] = None if still else per(list(zip(violations, hours)), 1)
    found["violations_per_1000"] = None if still else per(list(zip(violations, handoffs)), 1000)
    ret = {"decided_faults": sum(faults), "data_servers": servers, "decided_grants": sum(grants)}
    for name, rate in found.items():
        ret |= dict(zip((name, name + "_low", name + "_high"), rate or (None,) * 3))
    return ret


def by_second(folder):
    """The grants of each second, by what names a trial."""
    grants = defaultdict(dict)
    with open(os.path.join(folder, "series.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            grants[trial_of(row)][int(row["second"])] = int(row["grants"])
    return grants


def trial_of(row):
    return tuple(row[k] for k in TRIAL)


def renew(folder, cells, trials):
    """Gives each campaign's cell of an older run what a run records today; `trials` are the rows of trials.csv. Of a run without
    `faults_tested` in them nothing is known. They are changed, too: faults_tested is what can have been tested. Whether it did."""
    if not is_older(cells, trials):
        return False
    of_cell, counted = defaultdict(list), {trial_of(row): row for row in counted_in(folder, trials)}
    for t in trials:
        if t["faults"]:
            t["faults_tested"] = int(counted[trial_of(t)]["faults_tested"])
            of_cell[t["scenario"], t["system"], t["guard"]].append(t)
    for c in cells:
        rows = of_cell.get((c["scenario"], c["system"], c["guard"]))
        if rows:
            c.update(members(c, rows, int(counted[trial_of(rows[0])]["data_servers"])))
    compare(cells)
    return True


def is_older(cells, trials):
    return not any("lost_per_1000" in c for c in cells) and bool(trials) and "faults_tested" in trials[0]


def counted_in(folder, trials):
    """The rows of tested.csv, out of that file or, where it is not, out of series.csv and faults/."""
    path = os.path.join(folder, "tested.csv")
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    played, grants, of_topology = [t for t in trials if t["faults"]], by_second(folder), defaultdict(list)
    for t in played:
        of_topology[t["system"].partition("@")[2]].append(t)
    servers = {name: data_servers(rows, folder) for name, rows in of_topology.items()}
    return [dict(zip(TRIAL, trial_of(t))) | {"faults_tested": tested_at_most(folder, t, grants[trial_of(t)]), "data_servers": servers[t["system"].partition("@")[2]]}
            for t in played]


def keep(folder, cells, target):
    """Writes tested.csv of an older run into the folder `target`."""
    with open(os.path.join(folder, "trials.csv"), encoding="utf-8", newline="") as file:
        trials = list(csv.DictReader(file))
    if is_older(cells, trials):
        with open(os.path.join(target, "tested.csv"), "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, [*TRIAL, "faults_tested", "data_servers"], lineterminator="\n")
            table.writeheader()
            table.writerows(counted_in(folder, trials))


def compare(cells):
    """above_control anew, where it was known: the interval of violations per hour against that of the same load without faults."""
    of = {(c["scenario"], c["system"], c["guard"]): c for c in cells}
    for c in cells:
        control = of.get((c["scenario"] + "-control", c["system"], c["guard"])) or of.get((c["scenario"] + "-control", c["system"], "none"))
        if c.get("above_control") is not None and control:
            c["above_control"] = c["violations_per_hour_low"] > control["violations_per_hour_high"]
