#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bare.py FILE.csv - the table of docs/speed.md, as Markdown: how near our locks come to the bare commands, from what tests/bench/bench-floor.py --out wrote.

A pair is a turn of the lock and one of the commands, one behind the other on the same server, so each has its own ratio. The median and quartiles are of those.
"""
import csv
import statistics
import sys

import ending

NUMBERS = ("clients", "ours_per_s", "floor_per_s", "ratio")
LEAST_PAIRS = 2


def read(path):
    """The rows, and what the calls said above them: the builds, the versions, the least and most load."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeError) as error:
        raise ending.BadInput(f"{path}: {error}") from error
    said = {key: [text.removeprefix(f"# {key}: ") for text in lines if text.startswith(f"# {key}: ")] for key in ("lockbench", "servers", "load")}
    rows = list(csv.DictReader(text for text in lines if not text.startswith("#")))
    try:
        for row in rows:
            row |= {key: float(row[key]) for key in NUMBERS}
        loads = [float(load) for text in said["load"] for load in text.split(" to ")]
    except (KeyError, TypeError, ValueError):
        rows = []
    if not rows or not all(said.values()):
        raise ending.BadInput(f"{path}: expected what bench-floor.py --out writes")
    if any("-dirty" in text for text in said["lockbench"]):
        raise ending.BadInput(f"{path}: expected builds of committed sources, found {', '.join(said['lockbench'])}")
    return rows, sorted(set(said["lockbench"])), sorted({name for text in said["servers"] for name in text.split(", ")}), (min(loads), max(loads))


def line(key, rows):
    system, beside, driver, clients = key
    ratios = [row["ratio"] for row in rows]
    if len(ratios) < LEAST_PAIRS:
        raise ending.BadInput(f"bare.py: {system}, {clients:.0f} clients: expected at least {LEAST_PAIRS} pairs")
    low, middle, high = statistics.quantiles(ratios, n=4)
    ours, floor = (statistics.median(row[name] for row in rows) for name in ("ours_per_s", "floor_per_s"))
    by = {"process": "processes", "coroutine": "coroutines"}[driver]
    return [f"`{system}`, {clients:.0f} {by}", beside if beside.startswith(("redis-", "pg")) else f"`{beside}`", f"**{middle:.2f}** ({low:.2f} to {high:.2f}; {len(rows)})",
            f"{ours:,.0f}; {floor:,.0f}"]


def main():
    if len(sys.argv) != 2:
        raise ending.BadInput("usage: bare.py FILE.csv")
    rows, builds, servers, loads = read(sys.argv[1])
    groups = {}
    for row in rows:
        groups.setdefault((row["system"], row["beside"], row["driver"], row["clients"]), []).append(row)
    heading = ["lock", "beside", "lock / bare: median (quartiles; pairs)", "pairs per second here: lock; bare"]
    for cells in (heading, ["---"] * len(heading), *(line(key, of) for key, of in sorted(groups.items()))):
        print("| " + " | ".join(cells) + " |")
    print(f"\n({sys.argv[1]}; lockbench {' and '.join(builds)}; load {loads[0]:.0f} to {loads[1]:.0f}.) Servers: {', '.join(servers)}.")
    return 0


sys.exit(ending.of(main))
