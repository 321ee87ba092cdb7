# SPDX-License-Identifier: MIT
"""drawn-points.py RUN_DIR - holds what throughput.svg shows against the CSV files, in both directions.

Reads the markers and whiskers of each system back from the picture, works out from the labelled ticks where each number of
the CSV files belongs, and wants the two to agree: as many, and each in its place. The numbers are worked out here once
more, from the description in plots/throughput.py and not with its code.
"""

import collections
import csv
import math
import os
import re
import statistics
import sys

TOLERANCE = 0.03  # pixels; gnuplot writes hundredths
LABEL_DROP = 3.9  # pixels from a tick down to the base line of its label
SYSTEM = re.compile(r"[\w-]+@[\w-]+")
UNITS = {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6, "k": 1e3, "M": 1e6, None: 1}


def fail(text):
    sys.exit(f"drawn-points: {text}")


# ---- the CSV files ---------------------------------------------------------------------------------------------------


def rows(run_dir, name):
    with open(f"{run_dir}/{name}", encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["scenario"] == "contention" and row["guard"] == "none"]


def quantile(buckets, q):
    rank = math.ceil(q * sum(count for _, count in buckets))
    for value, count in sorted(buckets):
        rank -= count
        if rank <= 0:
            return value
    return fail("empty histogram")


def numbers_of(run_dir):
    """{kind: {system: {clients: numbers that have to be drawn}}}, times in us."""
    trials = [t for t in rows(run_dir, "trials.csv") if t["grants_per_s"]]
    bad = {t["system"] for t in trials if t["verdict"] == "violated"}
    rates, p50s, buckets = (collections.defaultdict(list) for _ in range(3))
    for t in trials:
        if t["system"] not in bad:
            at = t["system"], int(t["clients"])
            rates[at].append(float(t["grants_per_s"]))
            p50s[at].append(float(t["wait_p50_us" if at[1] == 1 else "handoff_p50_us"]))
    for b in rows(run_dir, "latency.csv"):
        at = b["system"], int(b["clients"])
        if at in rates and b["metric"] == ("wait" if at[1] == 1 else "handoff"):
            buckets[at].append(((int(b["low_ns"]) + int(b["high_ns"])) / 2000, int(b["count"])))
    most = max(clients for _, clients in rates)
    out = collections.defaultdict(lambda: collections.defaultdict(dict))
    for (system, clients), values in rates.items():
        median = statistics.median(values)
        out["rates"][system][clients] = values
        out["rate"][system][clients] = [median]
        out["times"][system][clients] = p50s[system, clients]
        out["time"][system][clients] = [quantile(buckets[system, clients], 0.5)]
        if sum(count for _, count in buckets[system, clients]) >= 1000:
            out["whisker"][system][clients] = [quantile(buckets[system, clients], 0.99)]
        if clients == most:
            out["spread"][system][clients] = [value / median for value in values]
    return out



# ---- the picture -----------------------------------------------------------------------------------------------------


def read_svg(path):
    """Labels as (text, x, y), and the plots in order as (gnuplot's title of it, its part of the file)."""
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    label = r'<g transform="translate\(([\d.]+),([\d.]+)\)"[^>]*>\s*<text>(.*?)</text>'
    labels = [(re.sub("<[^>]+>", "", text).strip(), float(x), float(y)) for x, y, text in re.findall(label, svg, re.S)]
    parts = re.split(r'<g id="gnuplot_plot_\w+" ><title>(.*?)</title>', svg)
    return labels, list(zip(parts[1::2], parts[2::2]))


def markers(part):
    """(x, y) of each; the white ones only clear the line below a marker."""
    found = re.findall(r"<use xlink:href='#gpPt\d+' transform='translate\(([\d.]+),([\d.]+)\)[^>]*color='([^']*)'", part)
    return [(float(x), float(y)) for x, y, colour in found if colour != "#FFFFFF"]


def whisker_ends(part):
    """(x, y) of the upper end of each vertical line."""
    lines = re.findall(r"M([\d.]+),([\d.]+) L([\d.]+),([\d.]+)", re.sub(r"\s+", " ", part))
    return [(float(x1), float(y1)) for x0, _, x1, y1 in lines if x0 == x1]


def kind_of(title):
    """Which numbers a plot shows, from the title gnuplot gives it: its own words in throughput.gp."""
    match = re.match(r'data index (?:"|&quot;)(\w+) ', title)
    if not match:
        return None
    return "whisker" if match[1] == "time" and ":2:2:3" in title else match[1]


def number_of(label):
    match = re.fullmatch(r"([0-9.]+)(?: (ns|µs|ms|s|k|M))?", label)
    return float(match[1]) * UNITS[match[2]] if match else None


def axis(ticks, scale):
    """number -> pixel, from [(number, pixel)]; all ticks have to agree."""
    (low, at_low), (high, at_high) = min(ticks), max(ticks)
    per_unit = (at_high - at_low) / (scale(high) - scale(low))
    for value, at in ticks:
        if abs((scale(value) - scale(low)) * per_unit + at_low - at) > TOLERANCE:
            fail(f"the tick {value} is off its axis")
    return lambda number: (scale(number) - scale(low)) * per_unit + at_low


def axes_of(labels):
    """The two vertical axes by their labels (which end at one x each), and the horizontal one of the last panel."""
    columns = collections.defaultdict(list)
    for text, x, y in labels:
        if number_of(text) is not None:
            columns[x].append((number_of(text), y - LABEL_DROP))
    vertical = [ticks for _, ticks in sorted(columns.items()) if len(ticks) > 1][:2]
    last_x = next(x for text, x, _ in labels if SYSTEM.fullmatch(text))
    row = max(y for text, x, y in labels if number_of(text) is not None and x > last_x)
    ratio = [(number_of(text), x) for text, x, y in labels if y == row and x > last_x]
    return axis(vertical[0], math.log10), axis(vertical[1], math.log10), axis(ratio, float)


# ---- the two together ------------------------------------------------------------------------------------------------


def compare(what, wanted, found):
    if len(wanted) != len(found):
        fail(f"{what}: {len(found)} drawn, {len(wanted)} in the CSV files")
    for want, at in zip(sorted(wanted), sorted(found)):
        if abs(want - at) > TOLERANCE:
            fail(f"{what}: drawn at {at}, the number of the CSV files belongs at {want:.2f}")


def compare_plot(what, wanted, found, to_pixel, along):
    """wanted: {clients: numbers}; found: (x, y) of each point. Along y, points of one client count share their x."""
    groups = collections.defaultdict(list)
    for at in found:
        groups[at[0] if along == 1 else 0].append(at[along])
    if len(groups) != len(wanted):
        fail(f"{what}: drawn for {len(groups)} numbers of clients, {len(wanted)} in the CSV files")
    for (clients, numbers), (_, positions) in zip(sorted(wanted.items()), sorted(groups.items())):
        compare(f"{what} at {clients} clients", [to_pixel(n) for n in numbers], positions)


def check_style(what, part, style, with_marker):
    """One colour, that of the system; one marker, too, where a marker is more than a dot."""
    colour, marker = style
    for name, rgb in set(re.findall(r"<use xlink:href='#gpPt(\d+)'[^>]*color='rgb\(([^)]*)\)'", part)):
        if [int(v) for v in rgb.split(",")] != colour or (with_marker and int(name) != marker):
            fail(f"{what}: colour {rgb}, marker {name}, expected {colour}, {marker}")


def read_styles():
    """{system: ([red, green, blue], number of the marker in the picture)} from plots/style.gp."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plots", "style.gp")
    with open(path, encoding="utf-8") as file:
        found = re.findall(r'^set style line \d+ lc rgb "#(\w+)" pt (\d+) .*# (\S+)$', file.read(), re.M)
    return {system: (list(bytes.fromhex(colour)), int(marker) - 1) for colour, marker, system in found}


def main(run_dir):
    numbers, styles = numbers_of(run_dir), read_styles()
    labels, plots = read_svg(f"{run_dir}/throughput.svg")
    rate, time, ratio = axes_of(labels)
    named = [text for text, _, _ in labels if SYSTEM.fullmatch(text)]
    systems = named[:len(named) // 2]  # first the rows of the last panel, then the legend, in the same order
    if sorted(systems) != sorted(numbers["rates"]) or named != systems * 2:
        fail(f"systems drawn: {named}, in the CSV files: {sorted(numbers['rates'])}")
    places = {"rates": (rate, 1), "rate": (rate, 1), "times": (time, 1), "time": (time, 1), "whisker": (time, 1),
              "spread": (ratio, 0)}
    seen, points = collections.Counter(), 0
    for title, part in plots:
        kind = kind_of(title)
        found = whisker_ends(part) if kind == "whisker" else markers(part)
        if kind not in places or not found:
            continue
        what = f"{kind} of {systems[seen[kind]]}"
        check_style(what, part, styles[systems[seen[kind]]], kind in ("rate", "time", "spread"))
        compare_plot(what, numbers[kind][systems[seen[kind]]], found, *places[kind])
        seen[kind] += 1
        points += len(found)
    for kind in places:
        if seen[kind] != len(systems):
            fail(f"{kind}: {seen[kind]} plots of {len(systems)} systems")
    print(f"{points} points of {len(systems)} systems agree with the CSV files")


if __name__ == "__main__":
    main(sys.argv[1])
