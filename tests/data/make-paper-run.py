#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An invented run folder, for the tests of paper/: every scenario of the suite `paper` on every system of it under every
guard, each cell as `lockbench list expectations` has it, and figures of speed drawn from a seed. Or the same of
another suite, on the same machine. Nothing in it was measured.

Usage: make-paper-run.py LOCKBENCH SCENARIOS OUT [SUITE]
"""
import csv
import glob
import json
import os
import pathlib
import random
import re
import subprocess
import sys

TRIALS = 20
GUARDS = ["none", "deadline", "signal", "recheck", "claim", "fence"]
SPEED = {"local": 1e6, "redis-token": 6e3, "redlock": 3e3, "pg-row": 2e3, "pg-lease": 1.9e3, "zk-sequential": 300}
FIGURES = {"violation": (504, 250), "scaling": (504, 210), "latency": (504, 230), "safety-speed": (504, 235), "lagging-follower": (243, 200)}  # points, about as they are drawn
SWEEP, LIMIT_MS = "lagging-follower-sweep", 1600
RATE = """faults decided_handoffs violations violations_per_1000 violations_per_1000_low
  violations_per_1000_high decided_faults decided_hours""".split()
SHARES = ["overlapped_per_fault", "within_lease_per_fault", "damaged_per_fault"]
COUNTS = """double_holds double_hold_ms depth dirty_accesses lost_updates stale_writes fenced_off
  token_regressions""".split()
TRIAL_COLUMNS = """scenario system guard clients trial seed verdict why double_holds double_hold_ms depth dirty_accesses
  lost_updates stale_writes fenced_off token_regressions grants handoffs busy timeouts unknowns unavailable_ms orphan_ms
  blind_ms measured_s grants_per_s jain client_min client_max wait_p50_us wait_p99_us wait_p999_us hold_p50_us hold_p99_us
  hold_p999_us handoff_p50_us handoff_p99_us handoff_p999_us servers_left start_ms trial_ms stall_ms faults storage history handoffs_per_s regranted
  commits_per_handoff warmup_ms heated_ms unsettled""".split()
LATENCY_COLUMNS = "scenario,system,guard,clients,trial,metric,low_ns,high_ns,count".split(",")


def read(path):
    """Sections as lists of (key, value)."""
    sections, section = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip()
            if line.startswith("["):
                section = sections.setdefault(line.strip("[]"), [])
            elif re.match(r"[^#;\s][^=]*=", line):
                key, value = line.split("=", 1)
                section.append((key.strip(), value.strip()))
    base = dict(sections.get("scenario", ())).get("like")
    return like(sections, base, path) if base else sections


def like(sections, base, path):
    """With each key that the file does not have taken from its base, a list as a whole."""
    (found,) = pathlib.Path(path).parent.parent.glob(f"*/{base}.ini")
    for section, pairs in read(found).items():
        own = {key for key, _ in sections.setdefault(section, [])}
        sections[section] += [pair for pair in pairs if pair[0] not in own]
    return sections


def rate_of(trials, violations):
    handoffs = trials * 2500
    per = 1000 * violations / handoffs
    rate = dict(zip(RATE, [trials * 6, handoffs, violations, per, per / 2, per * 2 + 0.01, trials * 6, trials / 100]))
    hourly = violations / rate["decided_hours"]
    rate |= {"violations_per_hour": hourly, "violations_per_hour_low": hourly / 2, "violations_per_hour_high": hourly * 2 + 300}
    for name in SHARES:
        rate |= {name: 0.25 if violations else 0, name + "_low": 0.11 if violations else 0, name + "_high": 0.45}
    return rate | {"above_control": violations > 200 if violations else None, "faults_of": {"pause holder": trials * 6, "kill holder": 0}}


def cell(rng, scenario, system, guard, expected, reason, campaign, load, premised):
    n = TRIALS * 3 if load else TRIALS
    verdict = rng.choice(["safe", "violated"]) if expected == "race" else expected
    hit = verdict == "violated"
    k = {"violated": n - rng.choice([0, 0, 0, 1]), "mixed": n // 2}.get(verdict, 0)
    if load and hit:
        k = TRIALS * 2
    none = verdict == "n/a"
    if none:
        counts = dict.fromkeys(COUNTS + RATE)
    else:
        held = k * rng.randint(1, 40 if campaign else 1)
        refused = n if guard == "fence" else 0
        counts = dict(zip(COUNTS, [held, k * rng.uniform(0.2, 900), 2 if hit else 1, 2 * k, k, k, refused, 0]))
        counts |= rate_of(n, held) if campaign else dict.fromkeys(RATE)
    busy = campaign or load
    return {"scenario": scenario, "system": system, "guard": guard, "seed": 7, "trials": 0 if none else n,
            "verdict": verdict, "expected": expected, "as_expected": None if none else True,
            "reason": reason, "why": reason or None if none else None, "violated": k,
            "undecided": 0, "premises_observed": n if premised and not none else None, "stuck": n if verdict == "stuck" else 0,
            "upper95": 1 - 0.05 ** (1 / n) if verdict == "safe" else None, **counts,
            "unavailable_ms": None, "orphan_ms": None, "blind_ms": None, "grants": n * (3000 if busy else 3),
            "handoffs": n * (2500 if busy else 1), "useful_handoffs": n * (2500 if busy else 1), "max_stall_ms": rng.uniform(1, 30)}


def expectations(lockbench, systems):
    """{(scenario, system, guard): (verdict, reason)}"""
    out = subprocess.run([lockbench, "list", "expectations", ",".join(systems)], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=5) for line in out.splitlines())
    return {tuple(row[:3]): (row[3], row[5]) for row in rows}


def systems_of(suite):
    return [s for key, names in suite["suite"] if key == "systems" for s in re.split(r",\s*", names)]


def named(folder, suite):
    """(name, file, what the suite sets) of its scenarios, in its order."""
    for name in list(suite)[1:]:
        file, = glob.glob(f"*/{name}.ini", root_dir=folder)
        yield name, file, dict(suite[name])


def speed_rows(rng, scenario, system, clients, settled):
    slow = (0.5 if "x5" in system else 1) * (0.7 if scenario == "contention-1ms" else 0.1 if "10ms" in scenario else 1)
    base = SPEED.get(system.split("@")[0], 1000) * (0.8 if clients > 1 else 1) * slow
    for trial in range(1, 6):
        rate = base * rng.uniform(0.85, 1.15)
        row = {"scenario": scenario, "system": system, "guard": "none", "clients": clients, "trial": trial,
               "seed": rng.getrandbits(60), "verdict": "safe", "grants": int(rate * 3), "handoffs": int(rate * 2),
               "measured_s": 3, "grants_per_s": f"{rate:.3f}", "jain": f"{rng.uniform(0.8, 1):.5f}", "stall_ms": 3,
               "storage": "disk"}
        if settled:
            row |= {"handoffs_per_s": f"{rate * 0.6 if clients > 1 else 0:.3f}", "regranted": "0.4", "commits_per_handoff": "2.25",
                    "warmup_ms": f"{rng.uniform(1500, 14000):.3f}", "heated_ms": f"{60000 + 1000 * trial if '@zk' in system else 0:.3f}", "unsettled": int(trial == 2), "handoff_p50_us": 9e5 / rate}
        middle = 1e9 / rate
        place = [scenario, system, "none", clients, trial]
        buckets = [dict(zip(LATENCY_COLUMNS, place + [metric, int(middle * f), int(middle * f * 1.01), count]))
                   for metric in ("wait", "hold", "handoff", *(["release"] if settled else []))
                   for f, count in ((0.7, 300), (1.0, 500), (2.0, 190), (6.0, 10))]
        yield row, buckets


def sweep(changed):
    """The variants that a suite makes of the sweep: (name, session, delay)."""
    values = {key: [int(v) for v in changed[key].split(",")] for key in ("ttl_ms", "delay_ms")}
    return [(f"{SWEEP}~ttl_ms={t}~delay_ms={d}", t, d) for t in values["ttl_ms"] for d in values["delay_ms"]]


def sweep_trials(name, session, delay):
    """Two hold between the session and the limit, and nowhere else."""
    for trial in (1, 2, 3):
        hit = session < delay < LIMIT_MS
        yield {"scenario": name, "system": "zk-sequential@zk-x3", "guard": "none", "clients": 3, "trial": trial, "seed": 7,
               "verdict": "violated" if hit else "safe", "servers_left": int(delay > LIMIT_MS), "grants": 5, "handoffs": 4, "storage": "memory"}


def figure(path, name, run):
    """A small PDF of one frame with the name in it, and that of the run."""
    wide, high = FIGURES[name]
    stream = f"0 0 {wide} {high} re S BT /F1 24 Tf 40 100 Td ({name}: {run}) Tj ET".encode()
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 4 0 R"
               b" /Resources << /Font << /F1 5 0 R >> >> >>" % (wide, high),
               b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    out, places = b"%PDF-1.4\n", []
    for i, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i, body)
    table = b"".join(b"%010d 00000 n \n" % p for p in places)
    out += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, table, len(objects) + 1, len(out))
    with open(os.path.join(path, name + ".pdf"), "wb") as file:
        file.write(out)


OF_FAULTS = {"topology": "zk-x3", "measured": False, "storage": "memory", "differs": ["tickTime=200 (else 2000)", "syncLimit=8 (else 5)"]}


def settings(topology):
    return {"topology": topology, "measured": True, "storage": "disk", "differs": ["maxClientCnxns=0 (else 60)", 'save ""']}


def main(lockbench, folder, out, suite_name="paper"):
    rng = random.Random(8)  # with it a campaign's row does not separate from its control, which the notes have to say
    os.makedirs(os.path.join(out, "figures"))
    suite = read(os.path.join(folder, "suites", suite_name + ".ini"))
    guards = GUARDS if suite_name == "paper" else GUARDS[:1]
    expected_of = expectations(lockbench, systems_of(suite))
    scenarios, cells, trials, latency = [], [], [], []
    for short, name, changed in named(folder, suite):
        sections = read(os.path.join(folder, name))
        head, work = dict(sections["scenario"]), dict(sections["workload"]) | (changed if short != SWEEP else {})
        steps = [v for k, v in sections.get("timeline", []) if k == "step"]
        faults = [v for k, v in sections.get("campaign", []) if k == "fault"]
        counts = [int(c) for c in work["clients"].split(",")]
        load = not steps and not faults
        premised = any(key == "premise" for key, _ in sections.get("proof", []))
        figures = {k: float(work.get(k, 0)) for k in ("hold_ms", "think_ms", "duration_s", "warmup_s", "settle_s")}
        scenarios.append({
            "name": short, **{k: head[k] for k in ("title", "question", "refuted")}, "file": "scenarios/" + name,
            "workload": {"clients": counts, "keys": 1, "ttl_ms": int(work.get("ttl_ms", 10000)), "delay_ms": int(work.get("delay_ms", 0)),
                         "wait_ms": int(work.get("wait_ms", 5000)), "storage": "memory", **figures},
            "steps": steps, "campaign": {"faults": faults} if faults else None})
        if short == SWEEP:
            whole = scenarios.pop()
            for variant, session, delay in sweep(changed):
                scenarios.append(whole | {"name": variant, "base": short, "varied": {"ttl_ms": str(session), "delay_ms": str(delay)},
                                          "workload": whole["workload"] | {"ttl_ms": session, "delay_ms": delay}})
                trials += sweep_trials(variant, session, delay)
            continue
        for system in systems_of(suite):
            for guard in guards:
                expected, reason = expected_of.get((short, system, guard), ("n/a", "nothing is stated"))
                cells.append(cell(rng, short, system, guard, expected, reason, faults, load and len(counts) > 1, premised))
                cells[-1] |= {"options": {"wake": "wake" in short}, "poll_first_ms": 1, "poll_last_ms": 20}
                if load and guard == "none" and cells[-1]["verdict"] == "safe":
                    for clients in counts:
                        for row, buckets in speed_rows(rng, short, system, clients, suite_name == "speed"):
                            trials.append(row)
                            latency += buckets
    run = {"schema_version": 1, "id": "invented" if suite_name == "paper" else "fast", "tool": {"version": "0.0.0", "commit": "0123456789ab", "protocols": "ba9876543210"},
           "argv": ["suite", suite_name, "-o", "results/invented"], "started_utc": "2000-01-02T03:04:05Z",
           "seconds": 4321.5, "seed": 7, "jobs": 4, "trials": sum(c["trials"] for c in cells),
           "machine": {"hostname": "host", "kernel": "Linux 6.1.0 x86_64", "cpu": "Imaginary(R) 100% CPU_1 @ 3 GHz",
                       "cores": 2, "memory_mib": 8192, "load_before": 0.5, "load_after": 2.5, "filesystem": "ext4",
                       "namespaces": "root"},
           "servers": {"redis": "redis 7.0.15", "zk-x3": "zookeeper 3.8.0, java 17.0.15", "pg": "postgresql 15.20"},
           "settings": [settings(topology) for topology in dict.fromkeys(system.split("@")[1] for system in systems_of(suite))] + [OF_FAULTS], "scenarios": scenarios, "cells": cells,
           "control": {"trials": 240, "undecided": 0, "handoffs": 123456, "violations": 0, "max_stall_ms": 9.5},
           "verdict": "as expected", "exit_code": 0}
    with open(os.path.join(out, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
    for name, columns, rows in (("trials", TRIAL_COLUMNS, trials), ("latency", LATENCY_COLUMNS, latency)):
        with open(os.path.join(out, name + ".csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    for name in FIGURES:
        figure(os.path.join(out, "figures"), name, run["id"])


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: make-paper-run.py LOCKBENCH SCENARIOS OUT [SUITE]")
    main(*sys.argv[1:])
