# SPDX-License-Identifier: MIT
"""scale.py RUN_DIR - how a lock grows with its clients, by what runs them (`driver`): grants per second where each client has a lock of its
own, the same divided by the floor's (floor-redis, floor-pg, floor-zk), hand-off time where all want one lock, and memory per client.

It is drawn for a run in which a load of the driver `coroutine` has several numbers of clients, as the suite `scale` has. Every load with
one lock or own locks counts that holds a lock and rests between two as long as that one does, but campaigns and loads with a round trip. A repeat without its floor has no ratio. figures/scale.csv has a row per
system, driver, `keys` (1, or 0 = own) and number of clients: medians over `repeats` repeats, with the ends of their 95 % bootstrap interval
(bootstrap.py). A trial that a self-check voided is none, and a system with a violated trial is left out. client_kb is per client.
"""

import sys

import figure
import style
from bootstrap import LEAST_REPEATS, median_interval
from scaling import COUNTS, TIMES, label_axis, legend, legend_room
from speed import POLLS, TAIL_SAMPLES, counted, has_tail, loads, measured, trials_of

METRICS = ("grants_per_s", "of_floor", "handoff_p50_us", "handoff_p99_us", "client_kb")
COLUMNS = ("system", "style", "driver", "keys", "clients", "repeats", *(f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")))
OWN, ONE = 0, 1
PANELS = (("grants_per_s", OWN, "Grants per second, own locks"), ("of_floor", OWN, "… divided by the floor's"), ("handoff_p50_us", ONE, "Hand-off of one lock, median"),
          ("handoff_p99_us", ONE, "Hand-off of one lock, p99"), ("client_kb", OWN, "Memory per client, own locks"))
SIZES = ((0.01, "10 B"), (0.1, "0.1 kB"), (1, "1 kB"), (10, "10 kB"), (100, "100 kB"), (1e3, "1 MB"), (1e4, "10 MB"), (1e5, "100 MB"))
ACROSS = 3


def _settings(scenario):
    """(driver, keys), and how long a client holds and rests, of a load that counts; or None."""
    load = scenario.get("workload") or {}
    if load.get("round_trip_ms") is not None or load.get("keys") not in (OWN, ONE):
        return None
    return (load.get("driver", "process"), load["keys"]), (load.get("hold_ms"), load.get("think_ms"))


def rows_of(run_dir, run):
    trials = [t for t in measured(trials_of(run_dir)) if t["guard"] == "none"]
    found = {s["name"]: _settings(s) for s in loads(run, trials)}
    work = next((work for settings, work in filter(None, found.values()) if settings[0] == "coroutine"), None)
    of = {name: settings[0] for name, settings in found.items() if settings and settings[1] == work}
    trials = [t for t in trials if of.get(t["scenario"])]
    if len({t["clients"] for t in trials if of[t["scenario"]][0] == "coroutine"}) < 2:
        raise figure.NotDrawn("no load of this run has several numbers of clients as coroutines")
    violated = {t["system"] for t in trials if t["verdict"] == "violated"}
    groups, rows = {}, []
    for t in trials:
        if t["system"] not in violated:
            t["client_kb"] = t["client_kb"] / t["clients"] if t["client_kb"] else None
            t["handoff_p99_us"] = t["handoff_p99_us"] if has_tail(t) else None
            groups.setdefault((t["system"], *of[t["scenario"]], int(t["clients"])), []).append(t)
    for (system, driver, keys, clients), repeats in sorted(groups.items()):
        row = {"system": system, "driver": driver, "keys": keys, "clients": clients, "repeats": len(repeats)}
        for metric in METRICS:
            values = counted(t[metric] for t in repeats)
            if values:
                row |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), median_interval(values)))
        rows.append(row)
    return style.Styles(run, style.rows_in_order(r["system"] for r in rows)).mark(rows)


def draw_panel(ax, rows, styles, metric):
    """A full sign for coroutines, a hollow one for processes."""
    for system, driver in sorted({(r["system"], r["driver"]) for r in rows}):
        mine = [r for r in rows if (r["system"], r["driver"]) == (system, driver) and r.get(metric)]
        colour, name = styles.of(system)[0], f"{metric} {system} {driver}"
        sure = [r for r in mine if r[f"{metric}_low"] is not None]
        ax.vlines([r["clients"] for r in sure], [r[f"{metric}_low"] for r in sure], [r[f"{metric}_high"] for r in sure], color=colour, linewidth=1.2, gid=f"intervals {name}")
        ax.plot([r["clients"] for r in mine], [r[metric] for r in mine], **styles.line(system))
        look = styles.marker(system) | ({} if driver == "coroutine" else {"markerfacecolor": "white", "markeredgecolor": colour})
        ax.plot([r["clients"] for r in mine], [r[metric] for r in mine], linestyle="none", **look, gid=f"medians {name}")


def _labels(counts):
    """Of the largest, and of each that is far enough from the next one that has a label."""
    said = []
    for count in reversed(counts):
        said += [count] if not said or 3 * count <= said[-1] else []
    return [str(c) if c in said else "" for c in counts]


def _axes_of(ax, metric, values, counts):
    ax.set_xscale("log", base=2)
    ax.set_xticks(counts, _labels(counts))
    ax.set_xticks([], minor=True)
    ax.set_xlim(counts[0] / 1.5, counts[-1] * 1.5)
    ax.set_xlabel("clients")
    if metric == "of_floor":
        ax.axhline(1, color=style.DARK_GREY, linewidth=1)
        ax.set_ylim(0, 1.1 * max(*values, 1))
        return
    ax.set_yscale("log")
    label_axis(ax.yaxis, COUNTS if metric == "grants_per_s" else SIZES if metric == "client_kb" else TIMES, values)


def paint(run, rows):
    systems = style.rows_in_order(r["system"] for r in rows)
    styles = style.Styles(run, systems)
    counts = sorted({r["clients"] for r in rows})
    panels = [(metric, keys, title) for metric, keys, title in PANELS if any(r.get(metric) and r["keys"] == keys for r in rows)]
    deep, below, each = -(-len(panels) // ACROSS), legend_room(systems) + 0.42, 1.85
    repeats = sorted({r["repeats"] for r in rows})
    known = any(r.get("grants_per_s_low") for r in rows)
    fig, foot = figure.canvas(style.TEXT_WIDTH, 0.2 + deep * each + (deep - 1) * 0.6 + below, "How does a lock grow with its clients?", [
        "full signs: clients are coroutines in a process for each core; hollow: a process for each client · floor: the same commands without a lock around them, in the same round",
        f"medians over {' to '.join(str(n) for n in repeats[:1] + repeats[1:][-1:])} repeat{'' if repeats == [1] else 's'} {'with 95 % bootstrap interval' if known else f'(no interval: fewer than {LEAST_REPEATS})'}"
        f" · hand-off: first released by the holder before, while a client waits → granted to it; {POLLS}; a p99 has at least {TAIL_SAMPLES} samples beyond it · memory: heaps and stacks of the clients' processes, divided by the clients"], run)
    height = fig.get_size_inches()[1]
    axes = fig.subplots(deep, ACROSS, squeeze=False, gridspec_kw={
        "left": 0.075, "right": 0.985, "wspace": 0.32, "hspace": 0.6 / each, "bottom": (foot + below) / height, "top": 1 - (figure.HEAD + 0.2) / height})
    for ax, panel in zip(axes.flat, panels + [None] * (deep * ACROSS - len(panels))):
        if not panel:
            ax.set_visible(False)
            continue
        metric, keys, title = panel
        mine = [r for r in rows if r["keys"] == keys and r.get(metric)]
        draw_panel(ax, mine, styles, metric)
        ax.set_title(title)
        _axes_of(ax, metric, [r[m] for r in mine for m in (metric, f"{metric}_low", f"{metric}_high") if r.get(m)], counts)
    legend(fig, systems, styles, (foot + 0.02) / height)
    return fig


def make(run_dir, run, _):
    rows = rows_of(run_dir, run)
    said = f"{len({r['system'] for r in rows})} systems, {min(r['clients'] for r in rows)} to {max(r['clients'] for r in rows)} clients"
    return figure.Picture(COLUMNS, rows, lambda _: paint(run, rows), said)


if __name__ == "__main__":
    sys.exit(figure.main("scale", make))
