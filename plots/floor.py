# SPDX-License-Identifier: MIT
"""floor.py RUN_DIR - how near each lock comes to the bare cost of its commands: its grants per second divided by those of the
floor (floor-redis, floor-zk, floor-pg) on the same servers, with as many clients, in the same round of the run.

It is drawn for the first load of the run that has a floor. figures/floor.csv has a row per repeat (`repeat` is its trial) and a
row per system and number of clients (`repeat` is `median`): the median over `repeats` repeats, with the ends of its 95 %
bootstrap interval (bootstrap.py). A repeat without its floor is left out. grants_per_s and floor_grants_per_s: in 1/s.
"""

import sys

import figure
import style
from bootstrap import LEAST_REPEATS, median_interval
from scaling import draw_panel, legend, legend_room
from speed import loads, measured, trials_of

COLUMNS = ("scenario", "system", "style", "clients", "repeat", "repeats", "grants_per_s", "floor_grants_per_s",
           "of_floor", "of_floor_low", "of_floor_high")


def rows_of(run_dir, run):
    every = trials_of(run_dir)
    trials = [t for t in measured(every) if t["of_floor"] and t["verdict"] == "safe"]
    scenario = next((s["name"] for s in loads(run, trials)), None)
    violated = {t["system"] for t in every if t["verdict"] == "violated" and t["scenario"] == scenario}
    trials = [t for t in trials if t["system"] not in violated]
    groups, rows = {}, []
    for t in trials:
        if t["scenario"] == scenario:
            groups.setdefault((t["system"], int(t["clients"])), []).append(t)
    for (system, clients), repeats in sorted(groups.items()):
        named = {"scenario": scenario, "system": system, "clients": clients, "repeats": len(repeats)}
        rows += [named | {"repeat": int(t["trial"] or 0), "grants_per_s": t["grants_per_s"], "of_floor": t["of_floor"],
                          "floor_grants_per_s": t["grants_per_s"] / t["of_floor"]} for t in repeats]
        rows.append(named | {"repeat": "median"}
                    | dict(zip(("of_floor", "of_floor_low", "of_floor_high"), median_interval([t["of_floor"] for t in repeats]))))
    if not rows:
        raise figure.NotDrawn("no load of this run has both a lock and the floor of its servers")
    return style.Styles(run, style.rows_in_order(r["system"] for r in rows)).mark(rows)


def paint(run, rows):
    systems = style.rows_in_order(r["system"] for r in rows)
    styles = style.Styles(run, systems)
    counts = sorted({r["clients"] for r in rows})
    known = any(r.get("of_floor_low") for r in rows)
    below, body = legend_room(systems) + 0.42, 2.6
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.1 + body + below, "How near does a lock come to its bare commands?", [
        f"scenario {rows[0]['scenario']} · 1: as many grants/s as a loop of the same commands without a lock around them, on the same "
        "servers, with as many clients, in the same round",
        "repeats as dots, medians over repeats with 95 % bootstrap interval" + ("" if known else f" (none: fewer than {LEAST_REPEATS} repeats)")], run)
    height = fig.get_size_inches()[1]
    ax = fig.add_axes((0.08, (foot + below) / height, 0.9, body / height))
    ax.axhline(1, color=style.DARK_GREY, linewidth=1)
    step = 0.8 / len(systems)
    beside = {s: (i - (len(systems) - 1) / 2) * step for i, s in enumerate(systems)}  # side by side, or the intervals would hide each other
    draw_panel(ax, rows, systems, styles, "of_floor", lambda r: counts.index(r["clients"]) + beside[r["system"]], lambda x: x + 0.25 * step)
    ax.set_xticks(range(len(counts)), [f"{c} client{'' if c == 1 else 's'}" for c in counts])
    ax.set_xlim(-0.5, len(counts) - 0.5)
    ax.set_ylim(0, 1.1 * max(r.get("of_floor_high") or r["of_floor"] for r in rows))
    ax.set_ylabel("grants/s of the lock ÷ of the floor")
    legend(fig, systems, styles, (foot + 0.02) / height)
    return fig


def make(run_dir, run, _):
    rows = rows_of(run_dir, run)
    said = (f"{len({r['system'] for r in rows})} systems, {len({r['clients'] for r in rows})} numbers of clients, "
            f"{sum(r['repeat'] != 'median' for r in rows)} repeats")
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("floor", make))
