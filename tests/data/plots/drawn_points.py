# SPDX-License-Identifier: MIT
"""drawn_points.py RUN_DIR - holds what the figures show against the CSV files of the run, in both directions.

For scaling: works the repeats, medians and p99 rule out of trials.csv once more (from the description, not with the
code of plots/), wants figures/scaling.csv to say the same, then reads the markers and intervals of each system back
from both pictures, that of matplotlib and that of gnuplot, and wants each number of the file in its place by the
labelled ticks, and nothing else. For latency and safety-speed: points of the CSV worked out once more, and as many of
them drawn.
"""

import collections
import csv
import math
import re
import statistics
import sys

METRICS = ("handoffs_per_s", "grants_per_s", "handoff_p50_us", "handoff_p99_us")
UNITS = {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6, "k": 1e3, "M": 1e6, None: 1}
LABEL_DROP = 3.9  # gnuplot: pixels from a tick down to the base line of its label


def fail(text):
    sys.exit(f"drawn_points: {text}")


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def same(what, wanted, found, tolerance=1e-6):
    wanted, found = sorted(wanted), sorted(found)
    if len(wanted) != len(found):
        fail(f"{what}: {len(found)} found, {len(wanted)} wanted")
    for want, have in zip(wanted, found):
        if abs(want - have) > tolerance * max(1, abs(want)):
            fail(f"{what}: found {have}, wanted {want}")


# ---- scaling.csv against trials.csv ----------------------------------------------------------------------------------


def measured(run_dir):
    """{(system, clients): [trial]} of contention, without systems that failed to exclude."""
    trials = [t for t in rows(f"{run_dir}/trials.csv") if t["scenario"] == "contention" and t["guard"] == "none"]
    bad = {t["system"] for t in trials if t["verdict"] == "violated"}
    found = collections.defaultdict(list)
    for t in trials:
        if t["grants_per_s"] and t["verdict"] == "safe" and t["system"] not in bad:
            found[t["system"], int(t["clients"])].append(t)
    return found


def numbers_of(trial):
    """{metric: number} of a repeat."""
    found = {m: float(trial[m]) for m in METRICS if float(trial.get(m) or 0)}
    if not trial.get("handoffs_per_s") and float(trial["handoffs"]):  # a run of before
        found["handoffs_per_s"] = float(trial["handoffs"]) / float(trial["grants"]) * float(trial["grants_per_s"])
    window = float(trial["grants_per_s"]) * float(trial["measured_s"]) / float(trial["grants"])
    if float(trial["handoffs"]) * min(1, window) < 1000:
        found.pop("handoff_p99_us", None)
    return found


def check_file(trials, drawn):
    for at in {(r["system"], int(r["clients"])) for r in drawn} ^ set(trials):
        fail(f"{at} is only in one of trials.csv and scaling.csv")
    for (system, clients), repeats in trials.items():
        mine = [r for r in drawn if r["system"] == system and int(r["clients"]) == clients]
        medians = [r for r in mine if r["repeat"] == "median"]
        if len(medians) != 1 or len(mine) != len(repeats) + 1 or int(medians[0]["repeats"]) != len(repeats):
            fail(f"{system}, {clients} clients: {len(mine)} rows of {len(repeats)} repeats")
        for metric in METRICS:
            wanted = [n[metric] for n in map(numbers_of, repeats) if metric in n]
            same(f"{metric} of {system}", wanted, [float(r[metric]) for r in mine if r[metric] and r != medians[0]])
            same(f"median {metric} of {system}", [statistics.median(wanted)] if wanted else [],
                 [float(medians[0][metric])] if medians[0][metric] else [])
            if len(wanted) in (3, 4, 5):  # where the interval is known without drawing lots
                same(f"interval of {metric} of {system}", [min(wanted), max(wanted)],
                     [float(medians[0][f"{metric}_low"]), float(medians[0][f"{metric}_high"])])


# ---- the pictures ----------------------------------------------------------------------------------------------------


def number_of(label):
    match = re.fullmatch(r"([0-9.]+)(?: (ns|µs|ms|s|k|M))?", label)
    return float(match[1]) * UNITS[match[2]] if match else None


def axis(ticks):
    """number -> pixel on a logarithmic axis, from [(number, pixel)]; all ticks have to agree."""
    (low, at_low), (high, at_high) = min(ticks), max(ticks)
    per_unit = (at_high - at_low) / (math.log(high) - math.log(low))

    def pixel(number):
        return (math.log(number) - math.log(low)) * per_unit + at_low

    for value, at in ticks:
        if abs(pixel(value) - at) > 0.05:
            fail(f"the tick {value} is off its axis")
    return pixel


def matplotlib_panels(path):
    """[(x axis, y axis, {(kind, metric, system): [(x, y)]})], intervals by both ends."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r'<g id="axes_\d+">', file.read())[1:]
    panels = []
    for part in parts:
        tick = r'<g id="{}tick_\d+">.*?<use xlink:href="[^"]*" x="([\d.]+)" y="([\d.]+)".*?<!-- (.*?) -->'
        x_axis = axis([(number_of(t), float(x)) for x, _, t in re.findall(tick.format("x"), part, re.S)])
        y_axis = axis([(number_of(t), float(y)) for _, y, t in re.findall(tick.format("y"), part, re.S)])
        found = {}
        for kind, metric, system, body in re.findall(
                r'<g id="(repeats|intervals|medians) (\w+) (\S+)">(.*?)\n   </g>', part, re.S):
            if kind == "intervals":
                points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", body)
            else:
                points = re.findall(r'<use xlink:href="#\w+" x="([\d.]+)" y="([\d.]+)"', body)
            found[kind, metric, system] = [(float(x), float(y)) for x, y in points]
        panels.append((x_axis, y_axis, found))
    return panels


def gnuplot_labels(svg):
    label = r'<g transform="translate\(([\d.]+),([\d.]+)\)"[^>]*>\s*<text>(.*?)</text>'
    return [(number_of(re.sub("<[^>]+>", "", text).strip()), float(x), float(y))
            for x, y, text in re.findall(label, svg, re.S)]


def gnuplot_panels(path, systems, metrics):
    """The same; plots are numbered within a panel: repeats, intervals, medians, each of all systems."""
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    columns, lines = collections.defaultdict(list), collections.defaultdict(list)
    for number, x, y in gnuplot_labels(svg):
        if number is not None:
            columns[x].append((number, y - LABEL_DROP))
            lines[y].append((number, x))
    vertical = [axis(ticks) for _, ticks in sorted(columns.items()) if len(ticks) > 1]
    clients = sorted(max(lines.items())[1], key=lambda tick: tick[1])
    each = len(clients) // len(metrics)
    panels = [(axis(clients[i * each:(i + 1) * each]), vertical[i], {}) for i in range(len(metrics))]
    parts = re.split(r'<g id="gnuplot_plot_(\d+)([a-z])"[^>]*>', svg)
    for number, letter, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        panel, plot = ord(letter) - ord("a"), int(number) - 1
        if panel >= len(metrics):
            continue  # the legend
        kind, system = ("repeats", "intervals", "medians")[plot // len(systems)], systems[plot % len(systems)]
        if kind == "intervals":
            flat = re.findall(r"M([\d.]+),([\d.]+) L([\d.]+),([\d.]+)", re.sub(r"\s+", " ", body))
            points = [(x, y) for a, b, c, d in flat if a == c for x, y in ((a, b), (c, d))]
        else:
            mark = r"<use xlink:href='#gpPt\d+' transform='translate\(([\d.]+),([\d.]+)\)[^>]*color='([^']*)'"
            found = re.findall(mark, body)
            points = [(x, y) for x, y, colour in found if colour != "#FFFFFF"]  # white ones only clear the line below
        panels[panel][2][kind, metrics[panel], system] = [(float(x), float(y)) for x, y in points]
    return panels


def check_picture(name, panels, drawn, metrics):
    points = 0
    for metric, (x_axis, y_axis, found) in zip(metrics, panels):
        for system in dict.fromkeys(r["system"] for r in drawn):
            mine = [r for r in drawn if r["system"] == system and r[metric]]
            wanted = {
                "repeats": [(r["clients"], r[metric]) for r in mine if r["repeat"] != "median"],
                "medians": [(r["clients"], r[metric]) for r in mine if r["repeat"] == "median"],
                "intervals": [(r["clients"], r[metric + end]) for r in mine for end in ("_low", "_high")
                              if r[metric + end]],
            }
            for kind, numbers in wanted.items():
                shift = 1.07 if kind == "repeats" else 1
                have = found.get((kind, metric, system), [])
                what = f"{name}: {kind} of {metric} of {system}"
                same(f"{what}, across", [x_axis(int(c) * shift) for c, _ in numbers], [x for x, _ in have], 0.001)
                same(f"{what}, up", [y_axis(float(v)) for _, v in numbers], [y for _, y in have], 0.001)
                points += len(have)
    return points


# ---- latency, safety-speed -------------------------------------------------------------------------------------------


def check_latency(run_dir):
    drawn, buckets = rows(f"{run_dir}/figures/latency.csv"), collections.defaultdict(list)
    for b in rows(f"{run_dir}/latency.csv"):
        if b["scenario"] == "contention" and b["guard"] == "none" and b["metric"] == "wait":
            buckets[b["system"], b["clients"]].append(((int(b["low_ns"]) + int(b["high_ns"])) / 2000, int(b["count"])))
    checked = 0
    for r in drawn:
        waits = sorted(buckets[r["system"], r["clients"]])
        total = sum(count for _, count in waits)
        if int(r["samples"]) != total or float(r["beyond"]) < 10:
            fail(f"latency: {r}, of {total} samples")
        if abs(float(r["percentile"]) - 99) < 1e-6 or float(r["percentile"]) == 0:
            rank = max(1, math.ceil(float(r["percentile"]) / 100 * total - 1e-9))
            for wait, count in waits:
                rank -= count
                if rank <= 0:
                    break
            same(f"latency: {r['percentile']} % of {r['system']}", [wait], [float(r["wait_us"])])
            checked += 1
    with open(f"{run_dir}/figures/latency.svg", encoding="utf-8") as file:
        curves = re.findall(r'<g id="curve (\d+) (\S+)">\s*<path d="(.*?)"', file.read(), re.S)
    if {(s, c) for c, s, _ in curves} != {(r["system"], r["clients"]) for r in drawn}:
        fail("latency: other curves are drawn than the file has")
    if not checked:
        fail("latency: no p99 in the file")


def check_safety(run_dir, wanted):
    """wanted: {system: (safe, scenarios)}, counted by hand in the sample."""
    drawn = rows(f"{run_dir}/figures/safety-speed.csv")
    found = {r["system"]: (int(r["safe"]), int(r["scenarios"])) for r in drawn}
    if found != wanted:
        fail(f"safety-speed: {found}, wanted {wanted}")
    with open(f"{run_dir}/figures/safety-speed.svg", encoding="utf-8") as file:
        dots = re.findall(r'<g id="dot (\S+)">', file.read())
    if sorted(dots) != sorted(wanted):
        fail(f"safety-speed: dots of {dots}")


# Only `pause` was put to every lock with servers.
SAMPLE = {"redis-token@sentinel": (0, 1), "redis-token@redis": (0, 1), "redis-token@redis-aof": (0, 1), "pg-row@pg": (0, 1),
          "zk-sequential@zk": (0, 1), "pg-row@pg-sync": (0, 1), "redlock@redis-x5": (1, 1), "zk-sequential@zk-x3": (0, 1)}


def check_scaling(run_dir):
    """Systems that have a speed, and how many points both pictures have."""
    trials = measured(run_dir)
    drawn = [r for r in rows(f"{run_dir}/figures/scaling.csv") if r["clients"]]
    check_file(trials, drawn)
    systems = list(dict.fromkeys(r["system"] for r in drawn))
    metrics = [m for m in METRICS if any(r[m] for r in drawn)]
    both = [check_picture(name, panels, drawn, metrics) for name, panels in (
        ("scaling.svg", matplotlib_panels(f"{run_dir}/figures/scaling.svg")),
        ("scaling-gnuplot.svg", gnuplot_panels(f"{run_dir}/figures/scaling-gnuplot.svg", systems, metrics)))]
    if both[0] != both[1] or not both[0]:
        fail(f"{both[0]} points by matplotlib, {both[1]} by gnuplot")
    return systems, both[0]


def main(run_dir):
    systems, points = check_scaling(run_dir)
    check_latency(run_dir)
    check_safety(run_dir, SAMPLE)
    print(f"{points} points of {len(systems)} systems, drawn twice")


if __name__ == "__main__":
    main(sys.argv[1])
