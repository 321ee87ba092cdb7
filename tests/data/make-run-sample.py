#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make-run-sample.py FOLDER - writes a run folder as in results/SCHEMA.md, every number invented: no speed, no verdict and no machine was measured.

For tests of figures and report only. It holds each case they must get right: all verdicts, differences from the
expectation in both directions, cells that were not run, nothing expected, two guards, text that needs quoting.
"""

import csv
import json
import os
import random
import sys

SEED = 7

SCENARIOS = [
    ("contention", "16 clients, one lock, no fault", "Does the lock exclude, and what does it cost?",
     "one double hold of any system but broken, without a fault",
     {"clients": [1, 4, 16], "keys": 1, "hold_ms": 0, "think_ms": 0, "ttl_ms": 10000, "wait_ms": 5000, "duration_s": 5,
      "warmup_s": 1}, []),
    ("failover", "primary dies before it replicated", "Does a lock survive the loss of the server that granted it?",
     "no double hold on sentinel in 20 trials, or one on redis-x5, zk-x3 or pg-sync",
     {"clients": [2], "keys": 1, "ttl_ms": 30000},
     ["cut primary from replicas", "client 1 acquire within 5s", "kill primary", "await failover within 30s",
      "client 2 acquire within 10s"]),
    ("pause", "holder sleeps past its lease", "Does a stopped client still write after another one was let in?",
     "no dirty write without a guard & one with fencing", {"clients": [2], "keys": 1, "ttl_ms": 1000},
     ["client 1 acquire within 5s", "pause client 1", "client 2 acquire within 10s", "client 2 write",
      "resume client 1", "client 1 write"]),
    ("clock-jump", "server clock jumps ahead", "Does a lease end early when a server's wall clock jumps <ttl> ahead?",
     "no double hold on redis", {"clients": [2], "keys": 1, "ttl_ms": 10000},
     ["client 1 acquire within 5s", "wait 100ms", "client 2 acquire within 2s"]),
    ("minority", "fewer than half are cut off", "Is the lock still served when a minority of the servers is gone?",
     "a quorum system that does not grant within 30 s", {"clients": [4], "keys": 1, "ttl_ms": 2000},
     ["cut minority from all", "client 1 acquire within 30s", "heal"]),
]

# system: (pairs per second of one client, hand-off in us with two or more, what 16 clients make of it)
SPEED = {
    "null@none": None,
    "local@none": (310000, 9, 0.55),
    "broken@none": (240000, 4, 0.9),
    "redis-token@redis": (5200, 210, 0.62),
    "redis-token@redis-aof": (2300, 480, 0.66),
    "redis-token@sentinel": (4900, 260, 0.60),
    "redlock@redis-x5": (2100, 1900, 0.14),
    "zk-sequential@zk": (820, 1150, 0.85),
    "zk-sequential@zk-x3": (140, 7200, 0.9),
    "pg-row@pg": (2000, 640, 0.45),
    "pg-row@pg-sync": (900, 1400, 0.5),
}
LEASED_ALONE = ("redis-token@redis", "redis-token@redis-aof")


def verdicts():
    """(scenario, system, guard): (verdict, violated, undecided, trials, expected, why)."""
    out = {}
    for system in SPEED:
        if system != "null@none":
            out["contention", system, "none"] = ("safe", 0, 0, 9, "safe", None)
    out["contention", "broken@none", "none"] = ("violated", 9, 0, 9, "violated", None)
    out["contention", "redlock@redis-x5", "none"] = ("safe", 0, 1, 9, None, None)
    for system, verdict, expected in (
            ("redis-token@sentinel", "violated", "violated"), ("redlock@redis-x5", "safe", "safe"),
            ("zk-sequential@zk-x3", "safe", "safe"), ("pg-row@pg-sync", "violated", "safe"),
            ("local@none", "safe", "safe")):
        hits = {"redis-token@sentinel": 20, "pg-row@pg-sync": 3}.get(system, 0)
        out["failover", system, "none"] = (verdict, hits, 0, 20, expected, None)
    for system in SPEED:
        if system in ("null@none", "local@none", "broken@none"):
            continue
        for guard in ("none", "fence"):
            fenced = guard == "fence" and system.split("@")[0] in ("zk-sequential", "pg-row")
            if guard == "fence" and not fenced:
                out["pause", system, guard] = ("skipped", 0, 0, 0, None, f"{system.split('@')[0]} grants no fence")
            else:
                out["pause", system, guard] = ("safe", 0, 0, 20, "safe", None) if fenced else (
                    "violated", 20, 0, 20, "violated", None)
    out["pause", "local@none", "none"] = ("stuck", 0, 0, 20, "stuck", "client 2 was not granted within 10 s")
    out["pause", "redlock@redis-x5", "none"] = ("safe", 0, 0, 20, "violated", None)
    for system in LEASED_ALONE:
        out["clock-jump", system, "none"] = ("violated", 17, 3, 20, "violated", None)
    out["clock-jump", "pg-row@pg", "none"] = (
        "undecided", 0, 20, 20, "violated", "the clock was not seen to jump: 'now()' moved 0.1 s, expected > 10 s")
    out["clock-jump", "zk-sequential@zk", "none"] = ("safe", 0, 0, 20, "safe", None)
    for system in ("redlock@redis-x5", "zk-sequential@zk-x3"):
        out["minority", system, "none"] = ("skipped", 0, 0, 0, "safe", "no permission to make network namespaces")
    return out


def cell(key, value):
    scenario, system, guard = key
    verdict, violated, undecided, trials, expected, why = value
    decided = trials - undecided
    times = {"unavailable_ms": 2140.5, "orphan_ms": None, "blind_ms": None} if scenario == "failover" else {
        "unavailable_ms": None, "orphan_ms": None, "blind_ms": 812.25 if scenario == "pause" else None}
    return {
        "scenario": scenario, "system": system, "guard": guard, "seed": SEED, "trials": trials, "verdict": verdict,
        "expected": expected, "as_expected": None if expected is None or verdict in ("skipped", "undecided") else
        verdict == expected, "reason": reason(scenario, system) if expected else None, "why": why, "violated": violated,
        "undecided": undecided, "stuck": trials if verdict == "stuck" else 0,
        "upper95": 1 - 0.05 ** (1 / decided) if verdict == "safe" else None,
        "double_holds": violated, "double_hold_ms": violated * 250.5, "depth": 2 if violated else (1 if trials else 0),
        "dirty_accesses": 2 * violated, "lost_updates": violated,
        "fenced_off": 20 if guard == "fence" and decided else 0, "token_regressions": 0, **times, "grants": 40 * trials,
        "handoffs": 30 * trials, "max_stall_ms": 3.5 if trials else None,
    }


def reason(scenario, system):
    return {
        "contention": "without a fault every lock has to exclude" if system != "broken@none"
        else "made to fail: the negative control",
        "failover": "replication is asynchronous: \"OK\" reaches the client before the replica" if "sentinel" in system
        else "a majority, or the standby, has seen the grant",
        "pause": "nothing tells a stopped process that its lease is over",
        "clock-jump": "the server decides by its wall clock when a lease is over", "minority": "a majority is left",
    }[scenario]


def bucket(value_ns):
    """Bounds of the histogram bucket of a value: 64 per power of two."""
    step = max(1, 1 << max(0, value_ns.bit_length() - 7))
    low = value_ns // step * step
    return low, low + step - 1


def histogram(rng, median_us, samples):
    """{(low, high): count}: a bell on a log scale with a long tail, over few buckets to keep the file small."""
    shape = [(0.6, 3), (0.8, 12), (0.93, 22), (1.0, 26), (1.1, 18), (1.35, 10), (1.9, 5), (3.2, 2.4), (6.0, 1.2),
             (14.0, 0.4)]
    total = sum(weight for _, weight in shape)
    out = {}
    for factor, weight in shape:
        at = bucket(int(1000 * median_us * factor * rng.uniform(0.97, 1.03)))
        out[at] = out.get(at, 0) + max(1, round(samples * weight / total))
    return dict(sorted(out.items()))


def quantile_us(hist, q):
    rank, seen = -(-int(q * 1000000) * sum(hist.values()) // 1000000), 0
    for (low, high), count in hist.items():
        seen += count
        if seen >= rank:
            return round((low + high) / 2000, 3)
    return ""


TRIAL_COLUMNS = """scenario system guard clients trial seed verdict why double_holds double_hold_ms depth
dirty_accesses lost_updates fenced_off token_regressions grants handoffs busy timeouts unknowns unavailable_ms
orphan_ms blind_ms measured_s grants_per_s jain client_min client_max wait_p50_us wait_p99_us wait_p999_us
hold_p50_us hold_p99_us hold_p999_us handoff_p50_us handoff_p99_us handoff_p999_us start_ms trial_ms stall_ms
storage history""".split()


def blank_trial(scenario, system, guard, clients, number, seed, verdict):
    row = dict.fromkeys(TRIAL_COLUMNS, "")
    row.update(scenario=scenario, system=system, guard=guard, clients=clients, trial=number, seed=seed, verdict=verdict,
               depth=1, grants=40, handoffs=30, start_ms=410, trial_ms=2600, stall_ms=3.5, storage="memory")
    for name in TRIAL_COLUMNS[8:20]:
        row[name] = row[name] or 0
    if verdict == "violated":
        row.update(double_holds=1, double_hold_ms=250.5, depth=2, dirty_accesses=2, lost_updates=1,
                   history=f"histories/{scenario}.{system}.{guard}.c{clients}.t{number}.hist")
    return row


def measure(rng, row, latency, series):
    """Invents the speed of a trial of `contention`."""
    rate, handoff, at16 = SPEED[row["system"]]
    clients = row["clients"]
    factor = {1: 1.0, 4: (1 + at16) / 2, 16: at16}[clients]
    per_s = rate * factor * rng.uniform(0.9, 1.1)
    seconds = 5.0
    hists = {"wait": histogram(rng, 1e6 * clients / per_s, per_s * seconds),
             "hold": histogram(rng, 2.5, per_s * seconds)}
    if clients > 1:
        hists["handoff"] = histogram(rng, handoff * (1 + 0.1 * clients) * rng.uniform(0.9, 1.1), per_s * seconds * 0.9)
    row.update(measured_s=seconds, grants_per_s=round(per_s, 2), jain=0.98 if clients > 1 else 1, storage="disk",
               grants=round(per_s * seconds * 1.2), handoffs=round(per_s * seconds) if clients > 1 else 0,
               client_min=round(per_s * seconds / clients * 0.8), client_max=round(per_s * seconds / clients * 1.2))
    for metric, hist in hists.items():
        for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
            row[f"{metric}_{name}_us"] = quantile_us(hist, q)
        place = [row[c] for c in ("scenario", "system", "guard", "clients", "trial")]
        latency.extend([*place, metric, low, high, count] for (low, high), count in hist.items())
    for second in range(int(seconds)):
        series.append([row["scenario"], row["system"], row["guard"], clients, row["trial"], second,
                       round(per_s * rng.uniform(0.95, 1.05)), 0, 0, 0, row["wait_p50_us"], row["wait_p99_us"]])


def trials(rng, cells):
    rows, latency, series = [], [], []
    for (scenario, system, guard), value in cells.items():
        verdict, violated, undecided, count, _, why = value
        client_counts = (1, 4, 16) if scenario == "contention" else (4 if scenario == "minority" else 2,)
        for clients in client_counts:
            for i in range(count // len(client_counts)):
                own = "undecided" if i < undecided and clients == client_counts[-1] else verdict
                if verdict == "violated" and own == "violated" and i - undecided >= violated:
                    own = "safe"
                row = blank_trial(scenario, system, guard, clients, i + 1, rng.randrange(2 ** 32), own)
                if own in ("undecided", "stuck"):
                    row["why"] = why or "stalled for 61 ms, longer than the double hold"
                if scenario == "contention":
                    measure(rng, row, latency, series)
                rows.append(row)
    return rows, latency, series


def write(name, text):
    path = os.path.join(sys.argv[1], name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def write_csv(name, header, rows):
    with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


HISTORY = """{"format":2}
{"t":1000000,"s":1,"c":"client-1","k":"lock-a","e":"acquire"}
{"t":2000000,"s":2,"c":"client-1","k":"lock-a","e":"granted","until":30002000000}
{"t":3000000,"s":3,"e":"fault","what":"kill primary","step":1,"verb":"kill","role":"primary"}
{"t":4000000,"s":4,"c":"client-2","k":"lock-a","e":"acquire"}
{"t":9000000,"s":5,"c":"client-2","k":"lock-a","e":"granted","until":30009000000}
{"t":259500000,"s":6,"c":"client-1","k":"lock-a","e":"release"}
{"t":260000000,"s":7,"c":"client-2","k":"lock-a","e":"release"}
"""

def main():
    cells = verdicts()
    rows, latency, series = trials(random.Random(SEED), cells)
    os.makedirs(sys.argv[1], exist_ok=True)
    run = {
        "schema_version": 1, "id": "run-sample", "tool": {"version": "0.0.0-invented", "commit": "0123456789ab-dirty"},
        "argv": ["suite", "sample & invented", "-s", "note=it's made up"],
        "started_utc": "2000-01-01T00:00:00Z", "seconds": 0, "seed": SEED, "jobs": 1, "trials": len(rows),
        "machine": {"hostname": "sample", "kernel": "invented", "cpu": "invented", "cores": 2, "memory_mib": 1024,
                    "load_before": 0.1, "load_after": 0.2, "filesystem": "invented", "namespaces": "none: invented"},
        "servers": {"redis": "redis, invented", "zk": "zookeeper, invented", "pg": "postgres, invented"},
        "scenarios": [{"name": n, "title": t, "question": q, "refuted": r, "file": f"scenarios/{i + 1:02}-{n}.ini",
                       "workload": w, "steps": s} for i, (n, t, q, r, w, s) in enumerate(SCENARIOS)],
        "cells": [cell(k, v) for k, v in cells.items()],
        "verdict": "invented numbers: 2 cells differ from the expectation, 1 is undecided", "exit_code": 3,
    }
    write("run.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n")
    write("histories/failover.redis-token@sentinel.none.c2.t1.hist", HISTORY)
    write_csv("trials.csv", TRIAL_COLUMNS, [[r[c] for c in TRIAL_COLUMNS] for r in rows])
    write_csv("latency.csv", "scenario system guard clients trial metric low_ns high_ns count".split(), latency)
    write_csv("series.csv", "scenario system guard clients trial second grants busy timeouts unknowns wait_p50_us "
              "wait_p99_us".split(), series)


if __name__ == "__main__":
    main()
