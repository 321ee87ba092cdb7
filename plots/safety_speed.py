# SPDX-License-Identifier: MIT
"""safety_speed.py RUN_DIR [SPEED_RUN_DIR] - safety against speed, a dot per system. With a second run the speed is that of
it, and the dots are of the systems that both have.

Across: the share of directed fault scenarios (a timeline with at least one fault) that the system came through safe,
without a guard. Every system is counted over the same set, the core: the scenarios that were decided for each system
drawn. A question that means nothing somewhere (a failover where there is one server) is not in the core; the label
has those of the system in brackets. Violated, stuck, delayed and mixed count against it. Locks without servers
(PROTOCOL@none) meet no fault of a server, so they are not drawn. Up: hand-offs per second in the load of speed.py at 16
clients, or at the most there are below; the median over repeats with its 95 % bootstrap interval.
"""

import re
import sys

import figure
import labels
import run_folder
import scaling
import style
from bootstrap import median_interval
from speed import POLLS, Speed

COLUMNS = ("system", "style", "scenarios", "safe", "violated", "stuck", "delayed", "mixed", "share", "more_scenarios", "more_safe",
           "clients", "repeats", "handoffs_per_s", "handoffs_per_s_low", "handoffs_per_s_high")
DECIDED = ("safe", "violated", "stuck", "delayed", "mixed")
BODY = 3.1  # inches, of the axes and what stands below them
CLIENTS = 16
NO_FAULT = re.compile(r"client \d+ |await |wait |observe ")


def directed_scenarios(run, trials):
    """Names of the timelines with a fault; a workload measures time, a campaign counts its faults, and variants of a timeline have a figure of their own."""
    drawn = {t["scenario"] for t in trials if t["faults"] or t["measured_s"]}
    return {s["name"] for s in run["scenarios"] if s["name"] not in drawn and not (s.get("steps") and s.get("varied"))
            and any(not NO_FAULT.match(str(step)) for step in s.get("steps") or ())}


def outcomes_of(run, run_dir):
    """{system: {scenario: verdict}} of the decided cells without a guard; nothing of locks without servers."""
    trials = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), ("measured_s",),
                                 newer=("faults",))
    directed, seen = directed_scenarios(run, trials), {}
    for c in run["cells"]:
        if c["scenario"] in directed and c["guard"] == "none" and c["verdict"] in DECIDED and not c["system"].endswith("@none"):
            seen.setdefault(c["system"], {})[c["scenario"]] = c["verdict"]
    return seen


def rows_of(run, speed, outcomes):
    """A row per system, and the core: the scenarios that all of these were decided in."""
    clients = max([c for c in speed.clients if c <= CLIENTS] or speed.clients[:1])
    rates = {s: speed.values(s, clients, "handoffs_per_s") for s in speed.systems}
    drawn, rows = [s for s in speed.systems if rates[s] and median_interval(rates[s])[0] and outcomes.get(s)], []
    styles = style.Styles(run, drawn)
    core = set.intersection(*(set(outcomes[s]) for s in drawn)) if drawn else set()
    for system in drawn if core else ():
        values = rates[system]
        verdicts = [v for scenario, v in outcomes[system].items() if scenario in core]
        more = [v for scenario, v in outcomes[system].items() if scenario not in core]
        counts = {v: verdicts.count(v) for v in DECIDED}
        median = dict(zip(COLUMNS[-3:], median_interval(values)))
        rows.append({"system": system, "style": styles.number(system), "clients": clients, "scenarios": len(core),
                     "share": counts["safe"] / len(core), "more_scenarios": len(more), "more_safe": more.count("safe"),
                     "repeats": len(values)} | counts | median)
    return rows, [s["name"] for s in run["scenarios"] if s["name"] in core]


def label_of(row):
    more = f" (+ {row['more_safe']} of {row['more_scenarios']})" if row["more_scenarios"] else ""
    return f"{row['system']}  {row['safe']} of {row['scenarios']}{more}"


def dots(ax, styles, rows):
    """One per row, with the interval of its speed."""
    for r in rows:
        if r["handoffs_per_s_low"] is not None:
            ax.vlines(r["share"], r["handoffs_per_s_low"], r["handoffs_per_s_high"], linewidth=1.2,
                      color=styles.of(r["system"])[0])
        marker = styles.marker(r["system"], 7.5)
        if marker["markerfacecolor"] != "white" and marker["marker"] not in "x+":
            # a white edge, to be seen where two dots meet
            marker |= {"markeredgecolor": "white", "markersize": marker["markersize"] + 1.8}
        # a dot at the end of the axis is drawn whole
        ax.plot([r["share"]], [r["handoffs_per_s"]], linestyle="none", clip_on=False, **marker, gid=f"dot {r['system']}")


def paint(run, fast, speed, rows, core, missing):
    styles = style.Styles(run, [r["system"] for r in rows])
    notes = [f"safe k of m: of the directed fault scenarios that were decided for every system drawn, guard none; violated, "
             f"stuck, delayed and mixed count against it · {speed.note()} · median over repeats with 95 % bootstrap interval",
             *([] if fast is run else [f"speed: run {fast['id']}"]),
             f"the same for all: {', '.join(core)}; (+ k of m): the others that mean something for this system; locks "
             f"without servers are not drawn · {POLLS}"]
    if missing:
        notes.append(f"safety known, speed not measured: {', '.join(missing)}")
    fig, foot = figure.canvas(style.TEXT_WIDTH, BODY, "What does safety cost?", notes, run)
    height = fig.get_size_inches()[1]
    ax = fig.add_axes((0.08, (foot + 0.42) / height, 0.9, (BODY - 0.42) / height))
    dots(ax, styles, rows)
    ax.set_xlim(-0.06, 1.06)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.set_yscale("log")
    scaling.label_axis(ax.yaxis, scaling.COUNTS, [r[k] for r in rows for k in COLUMNS[-3:] if r[k]])
    ax.set_xlabel(f"safe in so many of the {len(core)} fault scenarios that every system met, without a guard")
    ax.set_ylabel(f"hand-offs/s, {rows[0]['clients']} {'client' if rows[0]['clients'] == 1 else 'clients'}, {speed.locks()}")
    labels.beside_points(fig, ax, [(r["share"], r["handoffs_per_s"], label_of(r),
                                    styles.of(r["system"])[0]) for r in rows])
    return fig


def make(run_dir, run, words):
    fast = run_folder.load_run(words[0]) if words else run
    speed, outcomes = Speed(words[0] if words else run_dir, fast), outcomes_of(run, run_dir)
    rows, core = rows_of(run, speed, outcomes)
    if not rows:
        raise figure.NotDrawn(f"no directed fault scenario was decided for every system that handed over in '{speed.scenario}'")
    if len(rows) < 2:
        raise figure.NotDrawn(f"one lock, {rows[0]['system']}, is no comparison")
    missing = style.rows_in_order(set(outcomes) - {r["system"] for r in rows} - set(speed.left_out))
    said = f"{len(rows)} systems, {rows[0]['clients']} clients, {len(core)} scenarios"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, fast, speed, rows, core, missing), said)


if __name__ == "__main__":
    sys.exit(figure.main("safety-speed", make))
