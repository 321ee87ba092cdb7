# SPDX-License-Identifier: MIT
"""readme_chart.py RUN_DIR OUT.png SYSTEM... - the speed chart of README.md: hand-offs per second and the median hand-off of some systems over the clients.

GitHub shows it 830 pixels wide; no text is lower than 11 pixels there. README.md has the command that gives the same systems and numbers of clients;
tests/python/test-printed.py compares it with OUT.csv. With one client nothing changes hands, so its grants are drawn. The legend says how the waiters of each
lock come to ask again, because the hand-off of a lock that polls is its pause.
"""

import csv
import os
import sys

import ending
import run_folder
import scaling
import style
from speed import POLLS, Speed

WIDTH, DPI, METRICS = 8.3, 200, ("handoffs_per_s", "handoff_p50_us")
TITLES = {"handoffs_per_s": "Hand-offs per second (with one client: grants)", "handoff_p50_us": "Hand-off, median"}
HEIGHT, TOP, FOOT, SIZE = 3.7, 0.35, 1.1, 8.5  # inches, points


def how_asked(run, load, system):
    """"polls after 1 to 16 ms", or "is told"; of an older run nothing."""
    cell = next((c for c in run["cells"] if (c["scenario"], c["system"], c["guard"]) == (load.scenario, system, load.guard)), {})
    if cell.get("waits") == "polls":
        return f": polls, pause {cell['poll_first_ms']:g} to {cell['poll_last_ms']:g} ms"
    return ": is told of a release" if cell.get("waits") == "told" else ""


def paint(run, name, load, rows, systems):
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    styles, fig = style.Styles(run), Figure(figsize=(WIDTH, HEIGHT))
    axes = fig.subplots(1, len(METRICS), gridspec_kw={"left": 0.07, "right": 0.985, "wspace": 0.2, "bottom": FOOT / HEIGHT + 0.1, "top": 1 - TOP / HEIGHT})
    for ax, metric, ticks in zip(axes, METRICS, (scaling.COUNTS, scaling.TIMES)):
        scaling.draw_panel(ax, rows, systems, styles, metric, lambda r: r["clients"], lambda x: 1.07 * x)
        ax.set_title(TITLES[metric], size=10)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xlabel("clients on one lock", size=SIZE)
        ax.set_xticks(load.clients, [str(c) for c in load.clients])
        ax.set_xticks([], minor=True)
        ax.set_xlim(load.clients[0] / 1.3, load.clients[-1] * 1.3)
        ax.tick_params(labelsize=SIZE)
        scaling.label_axis(ax.yaxis, ticks, [r[metric] for r in rows if r.get(metric)])
    handles = [Line2D([], [], label=s + how_asked(run, load, s), **(styles.marker(s) | styles.line(s))) for s in systems]
    fig.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.03, 0.45 / HEIGHT), ncol=2, handlelength=3.2, fontsize=SIZE)
    repeats = sorted({len(r) for (s, _), r in load.repeats.items() if s in systems})
    counts = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    foot = [f"Run {name}, {load.scenario}: {counts} repeats (dots) and their medians. {run_folder.versions_line(run, systems)}", f"{POLLS[0].upper()}{POLLS[1:]}."]
    for i, line in enumerate(foot):
        fig.text(0.012, (0.32 - 0.2 * i) / HEIGHT, line, size=8, va="center", color=style.DARK_GREY)
    return fig


def draw(run_dir, out, systems):
    run = run_folder.load_run(run_dir)
    load = Speed(run_dir, run)
    missing = [s for s in systems if s not in load.systems]
    if missing:
        raise ending.BadInput(f"{run_dir}: {load.scenario} has no speed of {missing[0]}, expected {', '.join(load.systems)}")
    rows = [r for r in scaling.rows_of(run, load) if r["system"] in systems and r["repeat"] not in ("violated", "unmeasured")]
    for row in rows:
        if row["clients"] == 1:
            row.update({f"handoffs_per_s{end}": row.get(f"grants_per_s{end}") for end in ("", "_low", "_high")})
    style.matplotlib_deterministic()
    with ending.naming(out):
        paint(run, os.path.basename(os.path.abspath(run_dir)), load, rows, systems).savefig(out, dpi=DPI, metadata={"Software": None})
        with open(f"{out.removesuffix('.png')}.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("scenario", "system", "clients", "repeats", *METRICS))
            table.writerows([load.scenario, r["system"], r["clients"], r["repeats"], *(f"{r[m]:.6g}" if r.get(m) else "" for m in METRICS)] for r in rows if r["repeat"] == "median")
    print(f"{out}: {len(systems)} systems, {', '.join(map(str, load.clients))} clients")
    return 0


def main():
    if len(sys.argv) < 4 or not sys.argv[2].endswith(".png"):
        print("usage: readme_chart.py RUN_DIR OUT.png SYSTEM...", file=sys.stderr)
        return 2
    return draw(sys.argv[1], sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(ending.of(main))
