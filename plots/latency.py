# SPDX-License-Identifier: MIT
"""latency.py RUN_DIR [SYSTEM...] - how long an acquire takes, over percentiles: one client alone, and the most clients of the
run.

The histograms of all repeats in latency.csv are added up; percentiles are never averaged. The horizontal axis is
1/(1-p) on a logarithmic scale, so that each nine gets as much room. A curve stops where fewer than 10 samples remain.
figures/latency.csv has a row per point: 20 for each nine, each the middle of the bucket that holds the percentile.
"""

import itertools
import math
import sys

import figure
import run_folder
import scaling
import style
from speed import TAIL_SAMPLES, Speed

COLUMNS = ("system", "style", "clients", "samples", "percentile", "beyond", "wait_us")
STEPS = 20  # points for each nine
NINES = ((1, "0 %"), (2, "50 %"), (10, "90 %"), (100, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %"), (1e5, "99.999 %"),
         (1e6, "99.9999 %"), (1e7, "99.99999 %"))


def drawn(total):
    """[(p from 0 to 1, the number of the sample that is drawn there)] of so many samples."""
    points = []
    for step in itertools.count():
        p = 1 - 10 ** (-step / STEPS)
        if total * (1 - p) < TAIL_SAMPLES:
            return points
        points.append((p, max(1, math.ceil(p * total - 1e-9))))


def curve(buckets):
    """[(p from 0 to 1, samples beyond, us)] of a histogram."""
    total, points = sum(buckets.values()), []
    ordered, seen = iter(sorted(buckets.items())), 0
    (low, high), seen = next(ordered)
    for p, rank in drawn(total):
        while seen < rank:
            (low, high), count = next(ordered)
            seen += count
        points.append((p, total * (1 - p), (low + high) / 2000))
    return points


def histograms(run_dir, speed, clients):
    """{(system, clients): buckets} of the waits."""
    def wanted(row):
        if row["scenario"] not in speed.names or row["guard"] != speed.guard or row["metric"] != "wait":
            return None
        at = (speed.curve_of(row), int(row["clients"]))
        return at if at[1] in clients and at in speed.repeats else None

    return run_folder.load_histograms(run_dir, wanted)


def rows_of(run, speed, merged, clients):
    styles, rows = style.Styles(run, speed.systems), []
    for system in speed.systems:
        for count in clients:
            buckets = merged.get((system, count), {})
            points = curve(buckets) if buckets else ()
            for p, beyond, wait_us in points if len(points) > 1 else ():
                rows.append({"system": system, "style": styles.number(system), "clients": count, "wait_us": wait_us,
                             "samples": sum(buckets.values()), "percentile": 100 * p, "beyond": beyond})
    return rows


def with_room(ticks, inches):
    """Of these ticks of a logarithmic axis with so many inches for each decade, those whose texts have room, the ends first and 50 % last."""
    kept = []
    for at, text in sorted(ticks, key=lambda tick: (tick[0] == 2, tick[0] not in (ticks[0][0], ticks[-1][0]), tick[0])):
        if all(abs(math.log10(at / other)) * inches > scaling.LETTER * (len(text) + len(said)) / 2 + 0.08 for other, said in kept):
            kept.append((at, text))
    return kept


def draw_panel(ax, rows, styles, clients, locks):
    for system in dict.fromkeys(r["system"] for r in rows):
        mine = [r for r in rows if r["system"] == system and r["clients"] == clients]
        if not mine:
            continue
        x, y = [r["samples"] / r["beyond"] for r in mine], [r["wait_us"] for r in mine]
        marked = range(0, len(mine), STEPS)
        ax.plot(x, y, **styles.line(system), gid=f"curve {clients} {system}")
        ax.plot([x[i] for i in marked], [y[i] for i in marked], linestyle="none", **styles.marker(system, 4.5))
    ax.set_title("1 client, alone" if clients == 1 else f"{clients} clients, {locks}")
    ax.set_xlabel("percentile of acquires (sent → granted)")


def paint(run, speed, rows, clients):
    styles = style.Styles(run, speed.systems)
    systems = [s for s in speed.systems if any(r["system"] == s for r in rows)]
    below = scaling.legend_room([speed.label(s) for s in systems]) + 0.42
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.2 + 1.9 + below, "How long does an acquire take?", [
        f"{speed.note()} · repeats added up · curves stop where fewer than {TAIL_SAMPLES} samples remain"
        " · closed loop: a client asks again when it has released"], run)
    height = fig.get_size_inches()[1]
    axes = fig.subplots(1, len(clients), squeeze=False, sharey=True, gridspec_kw={
        "left": 0.105, "right": 0.97, "wspace": 0.1, "bottom": (foot + below) / height, "top": 1 - (figure.HEAD + 0.2) / height})[0]
    most = max(r["samples"] / r["beyond"] for r in rows)
    for ax, count in zip(axes, clients):
        draw_panel(ax, rows, styles, count, speed.locks())
        ax.set_xscale("log")
        shown = with_room([nine for nine in NINES if nine[0] <= most], 0.865 * style.TEXT_WIDTH / len(clients) / math.log10(1.2 * most / 0.9))
        ax.set_xticks([at for at, _ in shown], [label for _, label in shown])
        ax.set_xticks([], minor=True)
        ax.set_xlim(0.9, most * 1.2)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("time")
    scaling.label_axis(axes[0].yaxis, scaling.TIMES, [r["wait_us"] for r in rows])
    for ax in axes[1:]:
        ax.tick_params(axis="y", which="both", length=0, labelleft=False)
    scaling.legend(fig, systems, styles, (foot + 0.02) / height, speed.label)
    return fig


def make(run_dir, run, words):
    speed = Speed(run_dir, run, words)
    clients = sorted({1, speed.clients[-1]} & set(speed.clients))
    merged = histograms(run_dir, speed, clients)
    rows = rows_of(run, speed, merged, clients)
    if not rows:
        raise figure.NotDrawn(f"no wait of '{speed.scenario}' in latency.csv")
    clients = [c for c in clients if any(r["clients"] == c for r in rows)]
    said = f"{len({r['system'] for r in rows})} systems, {' and '.join(map(str, clients))} clients, {len(rows)} points"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, speed, rows, clients), said)


if __name__ == "__main__":
    sys.exit(figure.main("latency", make))
