# SPDX-License-Identifier: MIT
"""throughput.py RUN_DIR DATA OUT.svg - what a lock costs: numbers for throughput.gp out of the CSV files, and its call.

Rates are those of trials.csv, one per repeat, and their median. Percentiles come from the histograms in latency.csv,
those of all repeats added up; percentiles of repeats are never averaged. A system that failed to exclude has no speed
and is left out.

DATA gets blocks of numbers that gnuplot finds by name, N counting systems from 1:
  rate N     clients, median of grants/s                rates N    clients, grants/s of a repeat
  time N     group, p50 in us, p99 in us or nan         times N    group, p50 in us of a repeat
  spread N   grants/s of a repeat at the most clients, over the median
A group is the position of a client count on the axis, from 0.
"""

import math
import os
import statistics
import subprocess
import sys
import textwrap

import run_folder
import style

SCENARIO = "contention"
TAIL_SAMPLES = 10  # a percentile with fewer samples beyond it is noise


def metric_of(clients):
    """Alone, a client waits for nobody but the service. With others, the hand-off is what a lock adds."""
    return "wait" if clients == 1 else "handoff"


def quantile_ns(buckets, q):
    """Middle of the bucket with the ceil(q * count)-th smallest value; buckets: {(low, high): count}."""
    rank, seen = math.ceil(q * sum(buckets.values())), 0
    for (low, high), count in sorted(buckets.items()):
        seen += count
        if seen >= rank:
            return (low + high) / 2
    raise ValueError("no samples")


def load_trials(run_dir):
    rows = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"),
                               ("clients", "measured_s", "grants_per_s", "wait_p50_us", "handoff_p50_us"))
    rows = [r for r in rows if r["scenario"] == SCENARIO and r["measured_s"] and r["grants_per_s"] and r["clients"]]
    guards = run_folder.guards_in_order(r["guard"] for r in rows)
    rows = [r for r in rows if r["guard"] == guards[0]]
    return rows, guards[0] if guards else None


def load_histograms(run_dir, guard):
    """{(system, clients): buckets} of the metric that is drawn for that many clients."""
    merged = {}
    for r in run_folder.load_csv(run_dir, "latency.csv", ("scenario", "system", "guard", "metric"),
                                 ("clients", "low_ns", "high_ns", "count")):
        if r["scenario"] == SCENARIO and r["guard"] == guard and r["metric"] == metric_of(r["clients"]):
            buckets = merged.setdefault((r["system"], r["clients"]), {})
            bounds = (r["low_ns"], r["high_ns"])
            buckets[bounds] = buckets.get(bounds, 0) + r["count"]
    return merged


def decades(values):
    """The powers of ten that enclose the positive ones of `values`."""
    logs = [math.log10(v) for v in values if v > 0]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (0, 1)
    return 10.0 ** low, 10.0 ** max(high, low + 1)


def around_one(ratios):
    """From, to and step of a linear axis that encloses 1 and `ratios` with at most five ticks."""
    low, high = min([0.95, *ratios]), max([1.05, *ratios])
    for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 100, 1000):
        start, end = math.floor(low / step), math.ceil(high / step)
        if end - start <= 4:
            break
    return start * step, end * step, step


class Figures:
    """What is drawn: systems from the fastest to the slowest at the most clients, and their numbers."""

    def __init__(self, run_dir):
        rows, self.guard = load_trials(run_dir)
        self.left_out = sorted({r["system"] for r in rows if r["verdict"] == "violated"})
        rows = [r for r in rows if r["system"] not in self.left_out]
        self.clients = sorted({int(r["clients"]) for r in rows})
        self.rates, self.p50s = {}, {}
        for r in rows:
            at = (r["system"], int(r["clients"]))
            self.rates.setdefault(at, []).append(r["grants_per_s"])
            p50 = r[metric_of(at[1]) + "_p50_us"]
            if p50:
                self.p50s.setdefault(at, []).append(p50)
        self.histograms = load_histograms(run_dir, self.guard) if rows else {}
        names = {r["system"] for r in rows}
        self.systems = sorted(names, key=self.place)

    def median(self, system, clients):
        return statistics.median(self.rates[system, clients])

    def place(self, system):
        """Sort key: fastest first at the most clients; those without a figure there last."""
        most = (system, self.clients[-1])
        return (0, -self.median(*most), system) if most in self.rates else (1, 0, system)

    def blocks(self, number, system):
        """The five blocks of one system as (name, rows)."""
        rate, rates, time, times, spread = [], [], [], [], []
        for group, clients in enumerate(self.clients):
            at = (system, clients)
            if at in self.rates:
                rate.append((clients, self.median(*at)))
                rates += [(clients, value) for value in self.rates[at]]
            buckets = self.histograms.get(at)
            if buckets and sum(buckets.values()):
                enough = 0.01 * sum(buckets.values()) >= TAIL_SAMPLES
                p99_us = quantile_ns(buckets, 0.99) / 1000 if enough else math.nan
                time.append((group, quantile_ns(buckets, 0.5) / 1000, p99_us))
                times += [(group, value) for value in self.p50s.get(at, [])]
        most = (system, self.clients[-1])
        spread = [(value / self.median(*most),) for value in self.rates.get(most, [])]
        named = {"rate": rate, "rates": rates, "time": time, "times": times, "spread": spread}
        # gnuplot wants no empty block: a row of nan draws nothing
        return [(f"{name} {number}", rows or [(math.nan,) * 3]) for name, rows in named.items()]

    def write(self, path):
        """Writes DATA; returns the ranges of the axes: rates, times, spread."""
        drawn = {"rates": [], "time": [], "times": [], "spread": []}
        with open(path, "w", encoding="utf-8") as out:
            for number, system in enumerate(self.systems, start=1):
                for name, rows in self.blocks(number, system):
                    kind = name.split()[0]
                    if kind in drawn:
                        drawn[kind] += [v for row in rows for v in row[kind != "spread":] if not math.isnan(v)]
                    lines = (" ".join(f"{v:.10g}" for v in row) + "\n" for row in rows)
                    out.write(f"# {name}\n" + "".join(lines) + "\n\n")

        return [*decades(drawn["rates"]), *decades(drawn["time"] + drawn["times"]), *around_one(drawn["spread"])]

    def footer(self, run):
        repeats = sorted({len(values) for values in self.rates.values()})
        count = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
        notes = f"{count} {'repeat' if count == '1' else 'repeats'} each · guard {self.guard}"
        notes += f" · p99 of at least {100 * TAIL_SAMPLES} samples"
        if self.left_out:
            notes += f" · not drawn, for it did not exclude: {', '.join(self.left_out)}"
        return "\n".join(textwrap.wrap(notes, 190, max_lines=2, placeholder=" …") + [run_folder.footer(run)])


def draw(run, figures, data_path, svg_path):
    ranges = figures.write(data_path)
    here = os.path.dirname(os.path.abspath(__file__))
    ranks = style.unknown_ranks({*figures.systems, *(cell["system"] for cell in run["cells"])})
    command = ["gnuplot", "-d", "-c", "throughput.gp", os.path.abspath(data_path), os.path.abspath(svg_path),
               " ".join(figures.systems), " ".join(map(str, figures.clients)), figures.footer(run),
               " ".join(f"{v:.10g}" for v in ranges),
               " ".join(str(ranks[s]) for s in figures.systems)]
    done = subprocess.run(command, cwd=here, stderr=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
    if done.returncode != 0 or done.stderr.strip():
        raise OSError(0, f"gnuplot failed: {' '.join(done.stderr.split())}", svg_path)
    points = sum(len(values) for values in figures.rates.values())
    return f"{len(figures.systems)} systems, {', '.join(map(str, figures.clients))} clients, {points} repeats"


def from_arguments(argv):
    if len(argv) != 3:
        raise run_folder.BadInput("usage: throughput.py RUN_DIR DATA OUT.svg")
    run = run_folder.load_run(argv[0])
    figures = Figures(argv[0])
    if not figures.systems:
        return f"not drawn, no measured trial of '{SCENARIO}' in this run"
    return draw(run, figures, argv[1], argv[2])


if __name__ == "__main__":
    sys.exit(run_folder.main(from_arguments))
