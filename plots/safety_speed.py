# SPDX-License-Identifier: MIT
"""safety_speed.py RUN_DIR - safety against speed, a dot per system.

Across: the share of directed fault scenarios (a timeline with at least one fault) that the system came through safe,
without a guard; a scenario in which it was violated or stuck counts against it, one that decided nothing is not
counted. A system is not put to every scenario, so the label says k of m. Up: grants per second in the scenario
`contention` at 16 clients, or at the most there are below; the median over repeats with its 95 % bootstrap interval.
"""

import re
import sys

import figure
import labels
import run_folder
import scaling
import style
from bootstrap import median_interval
from speed import Speed

COLUMNS = ("system", "style", "scenarios", "safe", "violated", "stuck", "share", "clients", "repeats", "grants_per_s",
           "grants_per_s_low", "grants_per_s_high")
CLIENTS = 16
NO_FAULT = re.compile(r"client \d+ |await |wait |observe ")


def directed_scenarios(run, trials):
    """Names of the timelines with a fault; a workload measures time, a campaign counts its faults."""
    drawn = {t["scenario"] for t in trials if t["faults"] or t["measured_s"]}
    return {s["name"] for s in run["scenarios"] if s["name"] not in drawn
            and any(not NO_FAULT.match(str(step)) for step in s.get("steps") or ())}


def outcomes_of(run, run_dir):
    """{system: {scenario: safe, violated or stuck}}, from the trials of each cell as the harness decides it."""
    trials = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), ("measured_s",),
                                 newer=("faults",))
    directed, seen = directed_scenarios(run, trials), {}
    for t in trials:
        if t["scenario"] in directed and t["guard"] == "none":
            seen.setdefault(t["system"], {}).setdefault(t["scenario"], set()).add(t["verdict"])
    return {system: {scenario: next(v for v in ("violated", "stuck", "safe") if v in verdicts)
                     for scenario, verdicts in scenarios.items() if verdicts & {"violated", "stuck", "safe"}}
            for system, scenarios in seen.items()}


def rows_of(run, speed, outcomes):
    clients = max([c for c in speed.clients if c <= CLIENTS] or speed.clients[:1])
    styles, rows = style.Styles(run), []
    for system in speed.systems:
        values, verdicts = speed.values(system, clients, "grants_per_s"), list(outcomes.get(system, {}).values())
        if values and verdicts:
            counts = {v: verdicts.count(v) for v in ("safe", "violated", "stuck")}
            median = dict(zip(("grants_per_s", "grants_per_s_low", "grants_per_s_high"), median_interval(values)))
            rows.append({"system": system, "style": styles.number(system), "clients": clients,
                         "scenarios": len(verdicts), "share": counts["safe"] / len(verdicts),
                         "repeats": len(values)} | counts | median)
    return rows


def paint(run, speed, rows, missing):
    from matplotlib.figure import Figure

    styles = style.Styles(run)
    fig = Figure(figsize=(8.2, 5.9))
    notes = [f"safe k of m: directed fault scenarios whose every decided trial was safe, guard none; violated and "
             f"stuck count against it · {speed.note()} · median over repeats with 95 % bootstrap interval"]
    if missing:
        notes.append(f"safety known, speed not measured: {', '.join(missing)}")
    foot = figure.title_and_foot(fig, "What does safety cost?", notes, run)[1]
    ax = fig.add_axes((0.09, (foot + 0.55) / 5.9, 0.88, 1 - (foot + 0.55 + 0.6) / 5.9))
    for r in rows:
        if r["grants_per_s_low"] is not None:
            ax.vlines(r["share"], r["grants_per_s_low"], r["grants_per_s_high"], linewidth=1.2,
                      color=styles.of(r["system"])[0])
        marker = styles.marker(r["system"], 7.5)
        if marker["markerfacecolor"] != "white" and marker["marker"] not in "x+":
            # a white edge, to be seen where two dots meet
            marker |= {"markeredgecolor": "white", "markersize": marker["markersize"] + 1.8}
        ax.plot([r["share"]], [r["grants_per_s"]], linestyle="none", **marker, gid=f"dot {r['system']}")
    ax.set_xlim(-0.06, 1.06)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.set_yscale("log")
    scaling.label_axis(ax.yaxis, scaling.COUNTS, [r[k] for r in rows for k in COLUMNS[-3:] if r[k]])
    ax.set_xlabel("directed fault scenarios that ended safe, without a guard")
    ax.set_ylabel(f"grants/s, {rows[0]['clients']} {'client' if rows[0]['clients'] == 1 else 'clients'}, one lock")
    labels.beside_points(fig, ax, [(r["share"], r["grants_per_s"], f"{r['system']}  {r['safe']} of {r['scenarios']}",
                                    styles.of(r["system"])[0]) for r in rows])
    return fig


def make(run_dir, run, _):
    speed, outcomes = Speed(run_dir), outcomes_of(run, run_dir)
    rows = rows_of(run, speed, outcomes)
    if not rows:
        raise figure.NotDrawn("no system has both a measured trial of 'contention' and a decided fault scenario")
    missing = style.rows_in_order(set(outcomes) - {r["system"] for r in rows} - set(speed.left_out))
    said = f"{len(rows)} systems, {rows[0]['clients']} clients, {max(r['scenarios'] for r in rows)} scenarios at most"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, speed, rows, missing), said)


if __name__ == "__main__":
    sys.exit(figure.main("safety-speed", make))
