# SPDX-License-Identifier: MIT
"""gaps.py RUN_DIR plant | RUN_DIR - a run with holes in its speed, and whether both pictures of scaling own up to them.

`plant` makes the sample run one in which a system lacks its p99 and is slower than every p99, one lacks hand-offs and is
faster in grants than all, one has a single number of clients, one was not granted anything and one did not exclude. Then,
in the pictures of both programs: each number of scaling.csv is drawn, inside its frame; and each system of the load that a
panel lacks is named below, with as many signs in the panel as there are holes.
"""

import csv
import re
import sys

import drawn_points

NO_P99, NO_HANDOFFS, ONE_COUNT, NO_GRANT, BROKEN = "redlock@redis-x5", "pg-row@pg", "redis-token@redis", "zk-sequential@zk", "pg-row@pg-sync"
GAP = "∅"
TITLES = dict(zip(drawn_points.METRICS, ("hand-offs per second", "grants per second", "hand-off, median", "hand-off, p99")))


def plant(run_dir):
    path = f"{run_dir}/trials.csv"
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names, trials = reader.fieldnames, list(reader)
    for t in trials:
        if t["scenario"] != "contention":
            continue
        if t["system"] == NO_P99:
            t["handoff_p99_us"] = ""
            t["handoff_p50_us"] = t["handoff_p50_us"] and f"7{t['trial']}000000"
        if t["system"] == NO_HANDOFFS:
            t["handoffs"], t["handoff_p50_us"], t["handoff_p99_us"] = "0", "", ""
            t["grants_per_s"] = f"7{t['trial']}000000"
        if t["system"] == NO_GRANT:
            t["grants_per_s"] = ""
        if t["system"] == BROKEN:
            t["verdict"] = "violated"
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, names, lineterminator="\n")
        out.writeheader()
        out.writerows(t for t in trials if t["scenario"] != "contention" or t["system"] != ONE_COUNT or t["clients"] == "16")


def texts(path):
    """All that is written in a picture, each line of gnuplot and each text of matplotlib."""
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    found = re.findall(r"<!-- (.*?) -->", svg, re.S) if "matplotlib" in svg else [re.sub("<[^>]+>", "", t) for t in re.findall(r"<text>(.*?)</text>", svg, re.S)]
    return [re.sub(r"\s+", " ", text).strip() for text in found]


def frames(path):
    """(left, top, right, bottom) of each panel of matplotlib."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r'<g id="axes_\d+">', file.read())[1:]
    for part in parts:
        numbers = [float(n) for n in re.findall(r"[\d.]+", re.search(r'<path d="(.*?)"', part, re.S)[1])]
        yield min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def check_frames(path):
    for (left, top, right, bottom), (_, _, found) in zip(frames(path), drawn_points.matplotlib_panels(path)):
        for what, points in found.items():
            for x, y in points:
                if not (left <= x <= right and top <= y <= bottom):
                    drawn_points.fail(f"{' '.join(what)} at {x}, {y} is outside of its frame")


def lacking(run_dir):
    """{metric: {system: holes}}: at what number of clients it has no number, and another system has one."""
    medians = [r for r in drawn_points.rows(f"{run_dir}/figures/scaling.csv") if r["repeat"] == "median"]
    found = {}
    for metric in drawn_points.METRICS:
        there = {r["clients"] for r in medians if r[metric]}
        for r in medians:
            if r["clients"] in there and not r[metric]:
                found.setdefault(metric, {}).setdefault(r["system"], []).append(r["clients"])
    return found


def check_named(run_dir, name, undrawn):
    said = texts(f"{run_dir}/figures/{name}")
    below = " ".join(said)
    for metric, systems in lacking(run_dir).items():
        sentence = re.search(rf"{GAP} no {TITLES[metric]}: (.*?) clients", below, re.I)
        for system, counts in systems.items():
            if not sentence or f"{system} ({', '.join(counts)})" not in sentence[1]:
                drawn_points.fail(f"{name}: it is not said that {system} has no {metric} with {counts} clients")
    signs, wanted = said.count(GAP), sum(len(c) for systems in lacking(run_dir).values() for c in systems.values())
    if signs != wanted:
        drawn_points.fail(f"{name}: {signs} signs of a gap, {wanted} wanted")
    for system in undrawn:
        if not re.search(rf"not drawn, for [^:]*: [^:]*{re.escape(system)}([, ]|$)", below):
            drawn_points.fail(f"{name}: it is not said that {system} is not drawn")


def main(run_dir):
    drawn, _ = drawn_points.check_scaling(run_dir)
    tried = {t["system"] for t in drawn_points.rows(f"{run_dir}/trials.csv") if t["scenario"] == "contention" and t["guard"] == "none"}
    if not {NO_GRANT, BROKEN} <= tried - set(drawn):
        drawn_points.fail(f"without a speed are {tried - set(drawn)}")
    if set(lacking(run_dir)["handoff_p99_us"]) < {NO_P99, NO_HANDOFFS}:
        drawn_points.fail("the run has not the gaps that are asked about")
    check_frames(f"{run_dir}/figures/scaling.svg")
    for name in ("scaling.svg", "scaling-gnuplot.svg"):
        check_named(run_dir, name, tried - set(drawn))


if __name__ == "__main__":
    plant(sys.argv[1]) if sys.argv[2:] == ["plant"] else main(sys.argv[1])
