# SPDX-License-Identifier: MIT
"""makespan.py RUN_DIR - how long the trials of a run would take on 1 to 1000 machines like the one that played them.

A simulation from measured times, not a measurement. Jobs are dealt out as `--shard` does it (harness/run/shard.c): the longest first, each to the machine
with the least to do; what measures speed in one scenario stays together, and runs alone. The others overlap on a machine as they did in
this run: its length, less the trials that ran alone, over the sum of their times. Starting the tool and merging are not in it. How it is called
and ends: figure.py.
"""

import heapq
import sys

import figure
import run_folder
import style

MOST = 1000
COLUMNS = ("machines", "makespan_s", "ideal_s", "efficiency")


def units(run, rows):
    """Seconds of what may not be taken apart: (of trials that measure, of others), each longest first."""
    kinds = {s["name"]: s for s in run["scenarios"]}
    alone, others = {}, []
    for row in rows:
        scenario = kinds[row["scenario"]]
        seconds = row["trial_ms"] / 1000
        if scenario["steps"] or scenario["campaign"]:
            others.append(seconds)
        else:
            alone[scenario["base"]] = alone.get(scenario["base"], 0) + seconds
    return sorted(alone.values(), reverse=True), sorted(others, reverse=True)


def makespan(alone, others, overlap, machines):
    """Seconds until the last machine has done. `overlap`: of trials that do not measure, those played side by side."""
    jobs = sorted([(seconds, True) for seconds in alone] + [(seconds, False) for seconds in others], reverse=True)
    busy = [(0, 0, 0, i) for i in range(machines)]  # all of it; of trials that measure; the longest of the others
    for seconds, measures in jobs:
        done, apart, longest, i = heapq.heappop(busy)
        heapq.heappush(busy, (done + seconds, apart + seconds * measures, max(longest, seconds * (not measures)), i))
    return max(apart + max((done - apart) / overlap, longest) for done, apart, longest, _ in busy)


def counts():
    """1 to MOST, ten to a decade."""
    return sorted({round(10 ** (i / 10)) for i in range(31)} | {MOST})


def make(run_dir, run, _words):
    rows = run_folder.load_csv(run_dir, "trials.csv", ("scenario",), ("trial_ms",))
    alone, others = units(run, [row for row in rows if row["trial_ms"]])
    if not others:
        raise figure.NotDrawn("no trial of this run can be played beside another one")
    overlap = max(1, sum(others) / max(run["seconds"] - sum(alone), 1e-3))
    one = makespan(alone, others, overlap, 1)
    table = []
    for machines in counts():
        seconds = makespan(alone, others, overlap, machines)
        table.append({"machines": machines, "makespan_s": seconds, "ideal_s": one / machines, "efficiency": one / machines / seconds})

    def paint(_matplotlib):
        fig, foot = figure.canvas(style.TEXT_WIDTH, 2.9, "How long would this take on more machines?", [
            "a simulation from the times of this run; jobs are dealt out as --shard does it",
            f"{len(others)} trials of {sum(others):.0f} s in all, {overlap:.1f} of them side by side on a machine; {sum(alone):.0f} s of trials that measure speed"], run)
        height = fig.get_size_inches()[1]
        axes = fig.subplots(gridspec_kw={"left": 0.1, "right": 0.98, "bottom": (foot + 0.45) / height, "top": 1 - (figure.HEAD + 0.1) / height})
        x = [row["machines"] for row in table]
        axes.plot(x, [row["ideal_s"] for row in table], linestyle=":", color="0.5", label="all machines busy to the end")
        axes.plot(x, [row["makespan_s"] for row in table], marker="o", markersize=3, label="simulated")
        axes.set(xscale="log", yscale="log", xlabel="machines", ylabel="seconds until the last trial")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(True, which="major", linewidth=0.4)
        axes.legend(frameon=False)
        return fig

    best = table[-1]["makespan_s"]
    return figure.Picture(COLUMNS, table, paint, f"1 machine {one:.0f} s, {MOST} machines {best:.0f} s")


if __name__ == "__main__":
    sys.exit(figure.main("makespan", make))
