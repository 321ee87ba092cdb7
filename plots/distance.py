# SPDX-License-Identifier: MIT
"""distance.py RUN_DIR - hand-offs and grants per second of one lock, by how far its clients and servers are apart.

It is drawn for the first load of the run that has variants of its round trip (`round_trip_ms`), for its largest number of
clients. A round trip of 0 is the links of separate hosts alone. figures/distance.csv has a row per repeat (`repeat` is its
trial) and a row per system and round trip (`repeat` is `median`): the median over `repeats` repeats, with the ends of its
95 % bootstrap interval (bootstrap.py). Columns without a unit in their name: handoffs_per_s and grants_per_s in 1/s.
"""

import sys

import figure
import style
from bootstrap import LEAST_REPEATS
from scaling import COUNTS, draw_panel, label_axis, legend, legend_room
from speed import POLLS, Speed

METRICS = ("handoffs_per_s", "grants_per_s")
COLUMNS = ("scenario", "system", "style", "clients", "round_trip_ms", "repeat", "repeats",
           *(f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")))
TITLES = {"handoffs_per_s": "Hand-offs per second", "grants_per_s": "Grants per second"}


def swept(run):
    """The variants of one load with several round trips, by their round trip; else nothing is drawn."""
    by_base = {}
    for scenario in run["scenarios"]:
        apart = (scenario.get("workload") or {}).get("round_trip_ms")
        if apart is not None:
            by_base.setdefault(scenario.get("base") or scenario["name"], {})[apart] = scenario["name"]
    for base, variants in by_base.items():
        if len(variants) > 1:
            return base, dict(sorted(variants.items()))
    raise figure.NotDrawn("no load of this run has several round trips")


def rows_of(run_dir, run):
    base, variants = swept(run)
    rows = []
    for apart, name in variants.items():
        try:
            speed = Speed(run_dir, run, [name])
        except figure.NotDrawn:
            continue
        clients = speed.clients[-1]
        for system in speed.systems:
            rows += speed.rows(system, clients, METRICS, {"scenario": base, "system": system, "clients": clients, "round_trip_ms": apart})
    if not rows:
        raise figure.NotDrawn(f"no system excluded in every trial of '{base}'")
    return style.Styles(run, by_speed(rows)).mark(rows)


def by_speed(rows):
    """Fastest first where they are nearest to each other."""
    nearest = min(r["round_trip_ms"] for r in rows)
    first = {r["system"]: -(r.get("handoffs_per_s") or 0) for r in rows if r["repeat"] == "median" and r["round_trip_ms"] == nearest}
    return sorted({r["system"] for r in rows}, key=lambda s: (first.get(s, 0), s))


def paint(run, rows):
    systems = by_speed(rows)
    styles = style.Styles(run, systems)
    apart = sorted({r["round_trip_ms"] for r in rows})
    below = legend_room(systems) + 0.42
    counts = sorted({r["repeats"] for r in rows if r["repeat"] == "median"})
    known = any(r.get("grants_per_s_low") for r in rows if r["repeat"] == "median")
    interval = "with 95 % bootstrap interval" if known else f"(no interval: fewer than {LEAST_REPEATS})"
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.2 + 2.4 + below, "What does distance cost a lock?", [
        f"scenario {rows[0]['scenario']} · {rows[0]['clients']} clients want one lock · every link between two hosts is late by half of the round trip",
        f"repeats as dots, medians over {' to '.join(str(n) for n in counts[:1] + counts[1:][-1:])} repeats {interval} · the axis of round trips is not to scale · {POLLS}"], run)
    height = fig.get_size_inches()[1]
    axes = fig.subplots(1, len(METRICS), squeeze=False, gridspec_kw={
        "left": 0.07, "right": 0.985, "wspace": 0.25, "bottom": (foot + below) / height, "top": 1 - (figure.HEAD + 0.2) / height})[0]
    rates = [r[m] for m in METRICS for r in rows if r.get(m)]
    for ax, metric in zip(axes, METRICS):
        draw_panel(ax, rows, systems, styles, metric, lambda r: apart.index(r["round_trip_ms"]), lambda x: x + 0.07)
        ax.set_title(TITLES[metric])
        ax.set_yscale("log")
        ax.set_xlabel("round trip between hosts (ms)")
        ax.set_xticks(range(len(apart)), [f"{a:g}" for a in apart])
        ax.set_xlim(-0.4, len(apart) - 0.6)
        label_axis(ax.yaxis, COUNTS, rates)
    legend(fig, systems, styles, (foot + 0.02) / height)
    return fig


def make(run_dir, run, _):
    rows = rows_of(run_dir, run)
    said = (f"{len({r['system'] for r in rows})} systems, {len({r['round_trip_ms'] for r in rows})} round trips, "
            f"{sum(r['repeat'] != 'median' for r in rows)} repeats")
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("distance", make))
