# SPDX-License-Identifier: MIT
"""load.py RUN_DIR - how long an acquire takes, by how many are asked for: an open loop at several rates.

It is drawn for the first load of the run that has variants of its rate (`rate_per_s`), for its largest number of clients.
`wait` counts from when an acquire was due, `service` from when it was sent. A knee is the last rate, from the least on, at
which at least SHARE of the acquires asked for were sent and the p99 of the wait is at most TIMES that of the least rate.
figures/load.csv has a row per system and rate: medians over `repeats` repeats, `knee` 1 at the knee. A trial that a
self-check voided is none. A p99 of fewer than 1000 samples is not there.
"""

import statistics
import sys

import figure
import run_folder
import style
from scaling import COUNTS, TIMES as TICKS, label_axis

SHARE, TIMES = 0.95, 10
CURVES = {"wait_p99_us": ("wait, p99", style.VERMILION, style.SOLID), "wait_p50_us": ("wait, median", style.ORANGE, style.SOLID),
          "service_p99_us": ("service, p99", style.BLUE, style.DASHED), "service_p50_us": ("service, median", style.SKY, style.DASHED)}
COLUMNS = ("scenario", "system", "clients", "rate_per_s", "repeats", "starts_per_s", "saturated", *CURVES, "knee")
NUMBERS = ("starts_per_s", "saturated", *CURVES)
ACROSS = 3


def swept(run):
    """The variants of one load with several rates: its name, {name of a variant: rate}."""
    by_base = {}
    for scenario in run["scenarios"]:
        rate = (scenario.get("workload") or {}).get("rate_per_s")
        if rate and not scenario.get("campaign"):
            by_base.setdefault(scenario.get("base") or scenario["name"], {})[scenario["name"]] = rate
    for base, rates in by_base.items():
        if len(set(rates.values())) > 1:
            return base, rates
    raise figure.NotDrawn("no load of this run has several rates")


def knee_of(rows):
    """The row of the knee, of the rows of one system from the least rate on; None: even the least is too much, or too short for a p99."""
    unloaded, knee = rows[0]["wait_p99_us"], None
    for row in rows:
        if row["starts_per_s"] < SHARE * row["rate_per_s"] or unloaded and (row["wait_p99_us"] or 0) > TIMES * unloaded:
            break
        knee = row
    return knee if unloaded else None


def _median(trials, column):
    values = [t[column] for t in trials if t[column] is not None]
    return statistics.median(values) if values else None


def rows_of(run_dir, run):
    base, rates = swept(run)
    trials = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), ("clients", "wait_p50_us"), newer_numbers=(*NUMBERS, "wait_p50_us"))
    trials = [t for t in trials if t["scenario"] in rates and t["wait_p50_us"] and t["starts_per_s"] and t["verdict"] == "safe" and t["guard"] == "none"]
    if not trials:
        raise figure.NotDrawn(f"no trial of '{base}' has a speed")
    clients, rows = max(t["clients"] for t in trials), []
    for system in style.rows_in_order(t["system"] for t in trials):
        mine = []
        for name, rate in sorted(rates.items(), key=lambda item: item[1]):
            repeats = [t for t in trials if (t["scenario"], t["system"], t["clients"]) == (name, system, clients)]
            if repeats:
                mine.append({"scenario": base, "system": system, "clients": int(clients), "rate_per_s": rate, "repeats": len(repeats), "knee": 0}
                            | {column: _median(repeats, column) for column in NUMBERS})
        knee = knee_of(mine)
        if knee:
            knee["knee"] = 1
        rows += mine
    return rows


def draw_system(ax, system, rows):
    """Hollow: fewer were sent than asked for."""
    for column, (_, colour, dash) in CURVES.items():
        there = [r for r in rows if r[column]]
        ax.plot([r["rate_per_s"] for r in there], [r[column] for r in there], color=colour, linestyle=style.DASHES[dash], linewidth=1.3,
                gid=f"curve {column} {system}")
        for full in (True, False):
            some = [r for r in there if (r["starts_per_s"] >= SHARE * r["rate_per_s"]) == full]
            ax.plot([r["rate_per_s"] for r in some], [r[column] for r in some], linestyle="none", marker="o", markersize=3.4, color=colour,
                    markerfacecolor=colour if full else "white")
    knee = next((r for r in rows if r["knee"]), None)
    if knee:
        ax.axvline(knee["rate_per_s"], color=style.DARK_GREY, linewidth=1, linestyle=style.DASHES[style.DOTTED], gid=f"knee {system}")
    ax.set_title(f"{system}\n{'knee at %g/s' % knee['rate_per_s'] if knee else 'no knee in this range'}")


def paint(run, rows):
    from matplotlib.lines import Line2D

    systems = list(dict.fromkeys(r["system"] for r in rows))
    across = min(ACROSS, len(systems))
    deep = -(-len(systems) // across)
    below, each = 0.72, 2.25
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.3 + each * deep + below, "How much load can a lock carry?", [
        f"scenario {rows[0]['scenario']} · {rows[0]['clients']} clients, open loop · medians over {max(r['repeats'] for r in rows)} repeats · hollow: fewer than {SHARE:.0%} of the acquires were sent",
        f"knee: the last rate with {SHARE:.0%} of the acquires sent and a p99 of the wait of at most {TIMES} times that of the least rate · wait: from when it was due; service: from when it was sent"], run)
    height = fig.get_size_inches()[1]
    axes = fig.subplots(deep, across, squeeze=False, sharex=True, sharey=True, gridspec_kw={
        "left": 0.08, "right": 0.985, "wspace": 0.1, "hspace": 0.42, "bottom": (foot + below) / height, "top": 1 - (figure.HEAD + 0.3) / height})
    times = [r[c] for c in CURVES for r in rows if r[c]]
    rates = [r["rate_per_s"] for r in rows]
    for place, ax in enumerate(axes.flat):
        if place >= len(systems):
            ax.set_visible(False)
            continue
        ax.set_xscale("log")
        ax.set_yscale("log")
        draw_system(ax, systems[place], [r for r in rows if r["system"] == systems[place]])
        ax.tick_params(labelbottom=place + across >= len(systems))
        if place + across >= len(systems):
            ax.set_xlabel("acquires asked for per second")
    label_axis(axes[0][0].yaxis, TICKS, times)
    label_axis(axes[0][0].xaxis, COUNTS, rates)
    axes[0][0].set_xlim(min(rates) / 1.4, max(rates) * 1.4)
    handles = [Line2D([], [], label=label, color=colour, linestyle=style.DASHES[dash], linewidth=1.3) for label, colour, dash in CURVES.values()]
    fig.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, (foot + 0.02) / height), ncol=4, handlelength=3.2)
    return fig


def make(run_dir, run, _):
    rows = rows_of(run_dir, run)
    said = f"{len({r['system'] for r in rows})} systems, {len({r['rate_per_s'] for r in rows})} rates, {sum(r['knee'] for r in rows)} knees"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("load", make))
