# SPDX-License-Identifier: MIT
"""scaling.py RUN_DIR [SCENARIO] [SYSTEM...] - throughput and hand-off time of a load (speed.py) against its number of clients. Of a
load that is named the figure is scaling-SCENARIO. Settings of one lock (a run with `-s PROTOCOL.OPTION=A,B`) are curves of one figure.

figures/scaling.csv has a row per repeat (`repeat` is its trial) and a row per system and number of clients (`repeat`
is `median`): the median over `repeats` repeats, with the ends of its 95 % bootstrap interval (bootstrap.py). `style`
is the number of the system's line style in style.gp; scaling.gp draws the same file with gnuplot. Columns without a
unit in their name: handoffs_per_s and grants_per_s in 1/s. A system that has no speed is a row with nothing but its name
and why (`repeat` is `violated` or `unmeasured`).

A system that has a number for so many clients and lacks it in one panel, where another system has it, gets the sign GAP at
the lower edge there, in its colour, and is named below the panels. scaling.gp does the same.
"""

import sys

import figure
import style
from bootstrap import LEAST_REPEATS
from speed import METRICS, POLLS, TAIL_SAMPLES, Speed

COLUMNS = ("system", "style", "clients", "repeat", "repeats",
           *(f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")))
WANTED = {1: "All clients want the same lock", 0: "Every client has a lock of its own"}
TITLES = {"handoffs_per_s": "Hand-offs per second", "grants_per_s": "Grants per second",
          "handoff_p50_us": "Hand-off, median", "handoff_p99_us": "Hand-off, p99"}
TIMES = ((1e-3, "1 ns"), (0.01, "10 ns"), (0.1, "100 ns"), (1, "1 µs"), (10, "10 µs"), (100, "100 µs"), (1e3, "1 ms"),
         (1e4, "10 ms"), (1e5, "100 ms"), (1e6, "1 s"), (1e7, "10 s"), (1e8, "100 s"))
COUNTS = ((0.01, "0.01"), (0.1, "0.1"), (1, "1"), (10, "10"), (100, "100"), (1e3, "1 k"), (1e4, "10 k"), (1e5, "100 k"),
          (1e6, "1 M"), (1e7, "10 M"), (1e8, "100 M"))


GAP, GAP_COMMA = "∅", ", "


def rows_of(run, speed):
    styles, rows = style.Styles(run, speed.systems), []
    for system in speed.systems:
        for clients in speed.clients:
            rows += speed.rows(system, clients, METRICS, {"system": system, "style": styles.number(system), "clients": clients})
    return rows + [{"system": s, "style": styles.number(s), "repeat": why} for why, systems in (("violated", speed.left_out), ("unmeasured", speed.unmeasured))
                   for s in systems]


def gaps(rows, metric):
    """[(clients, system)] of the medians that lack what another system has for as many clients."""
    medians = [r for r in rows if r["repeat"] == "median"]
    there = {r["clients"] for r in medians if r.get(metric)}
    return sorted(((r["clients"], r["system"]) for r in medians if r["clients"] in there and not r.get(metric)), key=lambda gap: gap[0])


def say_gaps(rows, metric):
    """"NAME: A (2, 16), B (8)", by clients; or nothing."""
    found = {}
    for clients, system in gaps(rows, metric):
        found.setdefault(system, []).append(str(clients))
    return [f"{GAP} no {TITLES[metric].lower()}: {', '.join(f'{system} ({GAP_COMMA.join(at)})' for system, at in found.items())} clients"] if found else []


def mark_gaps(ax, rows, metric, styles):
    """One above the other where several systems lack it."""
    last, height = None, 0
    for clients, system in gaps(rows, metric):
        last, height = clients, height + 1 if clients == last else 0
        ax.text(clients, 0.015 + 0.075 * height, GAP, transform=ax.get_xaxis_transform(), ha="center", va="bottom", color=styles.of(system)[0],
                gid=f"gap {metric} {system}")


def label_axis(axis, ticks, values):
    """A logarithmic axis with units that are read, not counted, over whole decades."""
    axis.set_ticks([at for at, _ in ticks], [label for _, label in ticks])
    axis.set_ticks([], minor=True)
    low = max((at for at, _ in ticks if at <= min(values)), default=min(values))
    high = min((at for at, _ in ticks if at >= max(values)), default=max(values))
    axis.axes.set(**{f"{axis.axis_name}lim": (low * 0.95, (high if high > low else low * 10) * 1.05)})


def draw_panel(ax, rows, systems, styles, metric, at, beside):
    """Large markers and lines: medians, with their intervals; small dots, a little to the right: repeats. at(row) is a place on the axis across, beside(place)
    one a little to the right of it."""
    for system in systems:
        mine = [r for r in rows if r["system"] == system and r.get(metric)]
        medians = [r for r in mine if r["repeat"] == "median"]
        repeats = [r for r in mine if r["repeat"] != "median"]
        colour = styles.of(system)[0]
        ax.plot([beside(at(r)) for r in repeats], [r[metric] for r in repeats], linestyle="none", marker="o",
                markersize=1.7, color=colour, markeredgewidth=0, gid=f"repeats {metric} {system}")
        sure = [r for r in medians if r[f"{metric}_low"] is not None]
        ax.vlines([at(r) for r in sure], [r[f"{metric}_low"] for r in sure], [r[f"{metric}_high"] for r in sure],
                  color=colour, linewidth=1.2, gid=f"intervals {metric} {system}")
        ax.plot([at(r) for r in medians], [r[metric] for r in medians], **styles.line(system))
        ax.plot([at(r) for r in medians], [r[metric] for r in medians], linestyle="none",
                **styles.marker(system), gid=f"medians {metric} {system}")


HANDLE, LETTER = 0.62, 0.069  # inches, of a line with its marker and of a letter beside it


def _legend_columns(texts):
    """As many as have room side by side: up to three."""
    return max(1, min(3, int(style.TEXT_WIDTH / (HANDLE + LETTER * max(map(len, texts), default=1)))))


def legend_room(texts):
    """Inches."""
    return 0.15 * -(-len(texts) // _legend_columns(texts)) + 0.1


def legend(fig, systems, styles, bottom, label=str):
    """label(curve): its text."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label(s), **(styles.marker(s) | styles.line(s))) for s in systems]
    fig.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, bottom), ncol=_legend_columns([label(s) for s in systems]), handlelength=3.2,
               labelspacing=0.25)


def paint(run, speed, rows):
    styles = style.Styles(run, speed.systems)
    metrics = [m for m in METRICS if any(r.get(m) for r in rows)]
    below = legend_room([speed.label(s) for s in speed.systems]) + 0.42
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.2 + 1.75 + below, f"What does a lock cost?  {WANTED.get(speed.keys, f'{speed.keys} locks, chosen at random')}", [
        f"{speed.note()} · repeats as dots, medians over repeats with 95 % bootstrap interval"
        f"{'' if any(r.get('grants_per_s_low') for r in rows) else f' (none: fewer than {LEAST_REPEATS} repeats)'}"
        f" · hand-off: first released by the holder before, while a client waits → granted to it; {POLLS} · a p99 has at least {TAIL_SAMPLES} samples beyond it", *(line for m in metrics for line in say_gaps(rows, m))], run)
    height = fig.get_size_inches()[1]
    axes = fig.subplots(1, len(metrics), squeeze=False, gridspec_kw={
        "left": 0.065, "right": 0.99, "wspace": 0.42, "bottom": (foot + below) / height, "top": 1 - (figure.HEAD + 0.2) / height})[0]
    rates = [r[m] for m in METRICS[:2] for r in rows if r.get(m)]
    times = [r[m] for m in METRICS[2:] for r in rows if r.get(m)]
    for ax, metric in zip(axes, metrics):
        draw_panel(ax, rows, speed.systems, styles, metric, lambda r: r["clients"], lambda x: 1.07 * x)
        mark_gaps(ax, rows, metric, styles)
        ax.set_title(TITLES[metric])
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xlabel("clients")
        ax.set_xticks(speed.clients, [str(c) for c in speed.clients])
        ax.set_xticks([], minor=True)
        ax.set_xlim(speed.clients[0] / 1.3, speed.clients[-1] * 1.3)
        if metric.endswith("_per_s"):
            label_axis(ax.yaxis, COUNTS, rates)
        else:
            label_axis(ax.yaxis, TIMES, times)
    legend(fig, speed.systems, styles, (foot + 0.02) / height, speed.label)
    return fig


def make(run_dir, run, words):
    speed = Speed(run_dir, run, words)
    if len(speed.clients) < 2:
        raise figure.NotDrawn(f"one number of clients makes no curve; report.html has bars ('{speed.scenario}')")
    rows = rows_of(run, speed)
    said = (f"{len(speed.systems)} systems, {', '.join(map(str, speed.clients))} clients, "
            f"{sum(map(len, speed.repeats.values()))} repeats")
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, speed, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("-".join(["scaling", *(figure.file_name(w) for w in sys.argv[2:] if "@" not in w)]), make))
