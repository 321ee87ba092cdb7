# SPDX-License-Identifier: MIT
"""hunt_speed.py RUN_DIR HUNT_DIR - what safety costs, the second way: the faults that break a lock against its speed, a dot per system.

RUN_DIR is a run that measured speed, HUNT_DIR what `lockbench hunt -o HUNT_DIR` left; the dots are of the systems that both have. Across: of the
timelines with one fault that every system with servers has (the common core), the share that broke exclusion within a lease, of those that
were decided. To the right fewer do. The label says how many faults it takes and how many of the core broke it. Up: as in safety_speed.py. Locks without servers have
no core and are not drawn.
"""

import sys

import figure
import hunt_folder
import labels
import scaling
import style
from bootstrap import median_interval
from safety_speed import BODY, CLIENTS, dots
from speed import Speed

COLUMNS = ("system", "style", "core", "core_broke", "share", "smallest", "clients", "repeats", "handoffs_per_s", "handoffs_per_s_low", "handoffs_per_s_high")


def rows_of(run, speed, hunts):
    clients, styles = max([c for c in speed.clients if c <= CLIENTS] or speed.clients[:1]), style.Styles(run)
    for system in (s for s in hunts if s in speed.systems and not s.endswith("@none")):
        values, (broke, core) = speed.values(system, clients, "handoffs_per_s"), hunts[system].core()
        if values and core:
            yield {"system": system, "style": styles.number(system), "core": core, "core_broke": broke, "share": broke / core,
                   "smallest": hunts[system].smallest(), "clients": clients, "repeats": len(values)} | dict(zip(COLUMNS[-3:], median_interval(values)))


def label_of(row):
    least = f"{row['smallest']} fault{'' if row['smallest'] == 1 else 's'}" if row["smallest"] is not None else "no set found"
    return f"{row['system']}  {row['core_broke']} of {row['core']}, {least}"


def paint(run, speed, hunts, rows, missing):
    styles = style.Styles(run)
    notes = [f"k of m: of the timelines with one fault that all systems with servers have, those that broke exclusion within a lease; then the least "
             f"number of faults that broke it every time · hunts: {'; '.join(dict.fromkeys(h.said for h in hunts.values()))} · {speed.note()} · median over "
             f"repeats with 95 % bootstrap interval"]
    if missing:
        notes.append(f"hunted, speed not measured: {', '.join(missing)}")
    fig, foot = figure.canvas(style.TEXT_WIDTH, BODY, "What does safety cost? The faults that break it", notes, run)
    height = fig.get_size_inches()[1]
    ax = fig.add_axes((0.08, (foot + 0.42) / height, 0.9, (BODY - 0.42) / height))
    dots(ax, styles, rows)
    most = max(0.2, 1.25 * max(r["share"] for r in rows))
    ax.set_xlim(most, -0.06 * most)
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
    ax.set_yscale("log")
    scaling.label_axis(ax.yaxis, scaling.COUNTS, [r[k] for r in rows for k in COLUMNS[-3:] if r[k]])
    ax.set_xlabel("so much of the common core of single faults broke exclusion within a lease, without a guard")
    ax.set_ylabel(f"hand-offs/s, {rows[0]['clients']} {'client' if rows[0]['clients'] == 1 else 'clients'}, {speed.locks()}")
    labels.beside_points(fig, ax, [(r["share"], r["handoffs_per_s"], label_of(r), styles.of(r["system"])[0]) for r in rows])
    return fig


def make(run_dir, run, words):
    if len(words) != 1:
        raise figure.NotDrawn(f"expected one folder of a hunt, found {len(words)} words")
    speed, hunts = Speed(run_dir, run), hunt_folder.hunts_of(words[0])
    rows = list(rows_of(run, speed, hunts))
    if not rows:
        raise figure.NotDrawn(f"no system of {words[0]} handed over in '{speed.scenario}'")
    missing = [s for s in hunts if s not in {r["system"] for r in rows} and not s.endswith("@none")]
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, speed, hunts, rows, missing), f"{len(rows)} systems, {rows[0]['clients']} clients")


if __name__ == "__main__":
    sys.exit(figure.main("hunt-speed", make))
