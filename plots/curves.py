# SPDX-License-Identifier: MIT
"""curves.py - the numbers of the speed charts in report.html: rates over clients, and how long an acquire takes over
percentiles. They are those of the figures scaling and latency, with fewer points a curve."""

import figure
import latency
import run_folder
import speed
import style

THINNED = 4  # of the points for each nine
DASH = {style.SOLID: "", style.DASHED: "6 3", style.DOTTED: "1.5 3", style.DASH_DOT: "7 3 1.5 3"}
METRICS = (*speed.METRICS, "of_floor")


def _short(value):
    return None if value is None else float(f"{value:.4g}")


def _load(run_dir, run, name):
    load = speed.Speed(run_dir, run, [name])
    styles = style.Styles(run, load.systems)
    rates, waits = {}, {}
    for system in load.systems:
        for clients in load.clients:
            rows = load.rows(system, clients, METRICS, {})
            if rows:
                rates.setdefault(load.label(system), {})[clients] = [
                    [_short(rows[-1].get(key)) for key in (metric, f"{metric}_low", f"{metric}_high")] for metric in METRICS] + [len(rows) - 1]
    try:
        merged = latency.histograms(run_dir, load, load.clients)
    except run_folder.BadInput:  # there is none, or an older one
        merged = {}
    for (system, clients), buckets in merged.items():
        points = latency.curve(buckets)
        kept = [p for i, p in enumerate(points) if i % THINNED == 0 or i == len(points) - 1]
        waits.setdefault(clients, {})[load.label(system)] = [[_short(1 / (1 - p)), _short(us)] for p, _, us in kept]
    looks = {load.label(s): [colour, DASH[dash], marker, filled] for s in load.systems for colour, (marker, filled, _), dash in [styles.of(s)]}
    return {"name": load.scenario, "note": load.note(), "locks": load.locks(), "systems": list(looks), "looks": looks,
            "clients": load.clients, "rates": rates, "waits": waits}


def of(run_dir, run):
    """One for each load that measured speed."""
    try:
        trials = speed.trials_of(run_dir)
    except run_folder.BadInput:
        return []  # an older run, or a made one, without these columns
    loads, drawn = [], set()
    for scenario in speed.loads(run, speed.measured(trials)):
        if scenario["name"] in drawn:
            continue
        drawn |= set(speed.settings_of(run, scenario))
        try:
            loads.append(_load(run_dir, run, scenario["name"]))
        except figure.NotDrawn:
            pass
    return loads
