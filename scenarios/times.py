#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Prints scenarios/times.csv: how long trials took, out of run folders. `lockbench` estimates with it how long a run will take.
# Usage: scenarios/times.py RUN... >scenarios/times.csv. Of a scenario on a system that several runs have, the last one counts.
# scenarios/times.py --add RUN... writes that file, and keeps its rows where no run has others.
import contextlib
import csv
import json
import os
import statistics
import sys


def number(text):
    return float(text) if text else 0.0


# The start competes for processors with others that start; what is nearest to its time alone is the quick quarter.
def quick(values):
    return sorted(values)[len(values) // 4]


def rows_of(run):
    with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
        info = json.load(file)
    asked = {}
    for scenario in info["scenarios"]:
        workload = scenario["workload"]
        asked[scenario["name"]] = 0 if scenario["steps"] else workload["duration_s"] + workload["warmup_s"]
    groups = {}
    with open(os.path.join(run, "trials.csv"), encoding="utf-8", newline="") as file:
        for trial in csv.DictReader(file):
            if trial["trial_ms"] and trial["verdict"] != "undecided":
                key = trial["scenario"], trial["system"], int(trial["clients"])
                groups.setdefault(key, []).append((number(trial["start_ms"]), number(trial["trial_ms"])))
    for key, times in groups.items():
        start = quick([start for start, _ in times])
        rest = statistics.median(whole - start for start, whole in times)
        yield key, (asked[key[0]], start / 1e3, rest / 1e3)


def rows_of_table(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield (row["scenario"], row["system"], int(row["clients"])), tuple(float(row[name]) for name in ("asked_s", "start_s", "rest_s"))


def main(words):
    runs = [word for word in words if word != "--add"]
    if not runs:
        sys.exit("usage: scenarios/times.py RUN... >scenarios/times.csv, or scenarios/times.py --add RUN...")
    path, add = os.path.join(os.path.dirname(__file__), "times.csv"), "--add" in words
    table = dict(rows_of_table(path)) if add else {}
    for run in runs:
        table.update(rows_of(run))
    lines = [f"{scenario},{system},{clients},{asked:.1f},{start:.2f},{rest:.2f}\n" for (scenario, system, clients), (asked, start, rest) in sorted(table.items())]
    with open(path, "w", encoding="utf-8") if add else contextlib.nullcontext(sys.stdout) as out:
        out.writelines(["scenario,system,clients,asked_s,start_s,rest_s\n", *lines])


main(sys.argv[1:])
