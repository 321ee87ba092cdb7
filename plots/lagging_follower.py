# SPDX-License-Identifier: MIT
"""lagging_follower.py RUN_DIR - what becomes of a lock behind a server that follows its leader late: each trial a mark,
by how late it follows and how long a session lasts.

It is drawn for the first timeline of the run that has variants of its delay (`delay_ms`), with a session for each
`ttl_ms`, without a guard, and one system. The right edge is syncLimit ticks, after which the server leaves the leader. The
left one is a band: the leader may end a session between those two times after the delay has set in. Its latest news of it
may be a third of the session and half a tick old by then, or new, and it ends sessions on ticks. A line in the band is the
length of the session. What the servers were set to is read from `settings` of run.json; runs that do not say have no band.
figures/lagging-follower.csv has a row per trial; `outcome` is its verdict, or `left` if it is safe and a step saw the
server leave. Columns without a unit in their name: servers_left, as in trials.csv.
"""

import re
import sys

import figure
import run_folder
import style

COLUMNS = ("scenario", "system", "session_ms", "delay_ms", "ends_from_ms", "ends_to_ms", "limit_ms", "trial", "verdict", "servers_left", "outcome")
OUTCOMES = {  # marker, colour, filled, label
    "violated": ("X", style.VERMILION, True, "two clients held"),
    "safe": ("o", style.GREEN, False, "safe"),
    "left": ("s", style.BLUE, False, "safe: its server had left"),
    "stuck": ("D", style.BLACK, False, "stuck"),
    "delayed": ("d", style.BLACK, False, "delayed"),
    "undecided": ("+", style.DARK_GREY, True, "undecided"),
}
BAND = 0.62  # of the height of a row, that its trials take
BAND_ALPHA = 0.12


def swept(run):
    """The variants of one timeline with several delays, by name; else nothing is drawn."""
    by_base = {}
    for scenario in run["scenarios"]:
        workload = scenario.get("workload") or {}
        if scenario.get("steps") and workload.get("delay_ms"):
            by_base.setdefault(scenario.get("base") or scenario["name"], {})[scenario["name"]] = workload
    for base, variants in by_base.items():
        if len({workload["delay_ms"] for workload in variants.values()}) > 1:
            return base, variants
    raise figure.NotDrawn("no timeline of this run has several delays")


def set_to(run, topology, name):
    """A whole number that servers were set to in trials of faults; None where run.json does not say."""
    for settings in run.get("settings") or ():
        if settings.get("topology") == topology and not settings.get("measured"):
            # What a topology says itself stands last, and counts.
            found = [m for line in settings.get("differs") or () if (m := re.match(rf"{name}=(\d+)\b", line))]
            if found:
                return int(found[-1].group(1))
    return None


def outcome_of(row):
    return "left" if row["verdict"] == "safe" and row["servers_left"] else row["verdict"]


def ends(session_ms, tick_ms):
    """When the leader ends a session at the earliest and at the latest, counted from when the delay sets in."""
    return (round(2 * session_ms / 3 - tick_ms / 2), session_ms + tick_ms) if tick_ms else (None, None)


def rows_of(run_dir, run):
    base, variants = swept(run)
    trials = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), ("trial",), newer=("servers_left",))
    trials = [t for t in trials if t["scenario"] in variants and t["guard"] == "none"]
    if not trials:
        raise figure.NotDrawn(f"no trial of '{base}' without a guard")
    system, rows = trials[0]["system"], []
    tick, ticks = (set_to(run, system.split("@")[-1], name) for name in ("tickTime", "syncLimit"))
    for trial in (t for t in trials if t["system"] == system):
        workload = variants[trial["scenario"]]
        ends_from, ends_to = ends(workload["ttl_ms"], tick)
        rows.append({"scenario": base, "system": system, "session_ms": workload["ttl_ms"], "delay_ms": workload["delay_ms"],
                     "ends_from_ms": ends_from, "ends_to_ms": ends_to, "limit_ms": tick * ticks if tick and ticks else None, "trial": int(trial["trial"] or 0), "verdict": trial["verdict"],
                     "servers_left": int(trial["servers_left"]) if trial["servers_left"] else None})
        rows[-1]["outcome"] = outcome_of(rows[-1])
    return sorted(rows, key=lambda r: (r["session_ms"], r["delay_ms"], r["trial"]))


def draw_marks(ax, rows, sessions):
    """A band for each session, its trials below one another."""
    repeats = max(r["trial"] for r in rows)
    for outcome, (marker, colour, filled, _) in OUTCOMES.items():
        mine = [r for r in rows if r["outcome"] == outcome]
        heights = [sessions.index(r["session_ms"]) - ((r["trial"] - 0.5) / repeats - 0.5) * BAND for r in mine]
        ax.plot([r["delay_ms"] for r in mine], heights, linestyle="none", marker=marker, markersize=6, color=colour,
                markerfacecolor=colour if filled else "white", markeredgecolor=colour,
                markeredgewidth=0.5 if marker == "X" else 1.2, gid=f"outcome {outcome}", zorder=3)


def draw_edges(ax, rows, sessions):
    bands = {r["session_ms"]: (r["ends_from_ms"], r["ends_to_ms"]) for r in rows if r["ends_to_ms"]}
    for at, session in enumerate(sessions):
        if session in bands:
            ax.fill_betweenx([at - 0.45, at + 0.45], *bands[session], color=style.BLACK, alpha=BAND_ALPHA, linewidth=0, gid=f"ends {session}", zorder=1)
        ax.vlines(session, at - 0.45, at + 0.45, color=style.BLACK, linewidth=1.4, gid=f"session {session}", zorder=2)
    limit = rows[0]["limit_ms"]
    if limit:
        ax.axvline(limit, color=style.BLACK, linewidth=1.4, linestyle=style.DASHES[style.DASHED], gid="limit", zorder=2)


def legend(fig, rows, bottom):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [o for o in OUTCOMES if any(r["outcome"] == o for r in rows)]
    handles = [Line2D([], [], linestyle="none", marker=OUTCOMES[o][0], color=OUTCOMES[o][1], markersize=6, label=OUTCOMES[o][3],
                      markerfacecolor=OUTCOMES[o][1] if OUTCOMES[o][2] else "white") for o in shown]
    handles.append(Line2D([], [], color=style.BLACK, linewidth=1.4, label="length of the session"))
    if rows[0]["ends_to_ms"]:
        handles.append(Patch(color=style.BLACK, alpha=BAND_ALPHA, linewidth=0, label="leader may end it"))
    if rows[0]["limit_ms"]:
        handles.append(Line2D([], [], color=style.BLACK, linewidth=1.4, linestyle=style.DASHES[style.DASHED], label="syncLimit × tickTime"))
    fig.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, bottom), ncol=2, handlelength=1.6,
               columnspacing=1, labelspacing=0.25)


def paint(run, rows):
    sessions = sorted({r["session_ms"] for r in rows})
    lanes, below = 0.5 * len(sessions), 1.0
    fig, foot = figure.canvas(style.COLUMN_WIDTH, lanes + below, "How late may a follower be?", [
        f"scenario {rows[0]['scenario']} · {rows[0]['system']} · each mark is a trial · late is what the leader sends to the server of the waiter"], run)
    height = fig.get_size_inches()[1]
    ax = fig.subplots(gridspec_kw={"left": 0.25, "right": 0.97, "bottom": (foot + below) / height, "top": (foot + below + lanes) / height})
    draw_marks(ax, rows, sessions)
    draw_edges(ax, rows, sessions)
    ax.set_yticks(range(len(sessions)), [f"{s:g} ms" for s in sessions])
    ax.set_ylabel("session")
    ax.set_ylim(-0.5, len(sessions) - 0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlim(0, 1.05 * max([*sessions, *(r["delay_ms"] for r in rows), *(r["ends_to_ms"] or 0 for r in rows), rows[0]["limit_ms"] or 0]))
    ax.set_xlabel("what the leader sends arrives later by (ms)")
    legend(fig, rows, (foot + 0.02) / height)
    return fig


def make(run_dir, run, _):
    rows = rows_of(run_dir, run)
    said = f"{len({r['delay_ms'] for r in rows})} delays, {len({r['session_ms'] for r in rows})} sessions, {len(rows)} trials"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("lagging-follower", make))
