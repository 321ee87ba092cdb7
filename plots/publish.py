#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""publish.py [--all-cells | --verdicts] [--histories] RUN FOLDER - what results/ keeps of a run or of a hunt (results/SCHEMA.md, "Published folders"): what README, docs/ and the paper read.

Of a run: run.json, in which a cell has only what differs from `usual`, and the number of a text that others have, too; trials.csv; of latency.csv the buckets that percentiles are read off; and the history that the
figure `violation` shows. Of a hunt: an archive of each system's folder.

With --histories the first history of each cell that was violated, stuck, late or mixed is kept, too: `explain` and report.html open it.

With --verdicts only run.json is kept, and of a cell what it came to: of a run with thousands of trials, of which a page shows that.

Cells that were n/a or skipped are left out, as they are most of it; with --all-cells they stay, for the paper counts them. A run that is dirty is refused. A cell that
is not as expected is named: nobody may quote it (tests/python/test-printed.py).
"""

import collections
import csv
import glob
import json
import math
import os
import shutil
import sys
import tarfile
import tempfile

import curves
import ending
import figure
import hunt_folder
import latency
import run_folder
import speed
import violation

PLACE = ("scenario", "system", "guard")
NAMES = ("scenario", "system", "verdict")  # of a cell: always there
BAD = (*run_folder.WORST, "mixed")
CAME_TO = {*NAMES, *run_folder.TEXTS, "guard", "trials", "decided", "violated", "stuck", "delayed", "undecided", "upper95", "double_holds", "within_lease",
           "premises_observed", "expected", "as_expected", "predicted", "rule", "note"}
READ_OFF = (0.5, 0.99)  # of every histogram, by paper/numbers


def look_at(run, path):
    if run["tool"]["commit"].endswith("-dirty"):
        raise ending.BadInput(f"{path}: it was made of sources that were not committed")
    for cell in run["cells"]:
        if cell["as_expected"] is False:
            print(f"{path}: {cell['scenario']}.{cell['system']}.{cell['guard']}: expected {cell['expected']}, found {cell['verdict']}", file=sys.stderr)


# ---- run.json -----------------------------------------------------------------------------------------------------------


def usual_of(cells):
    """{verdict: the most frequent value of each member}: run_folder.whole() undoes short()."""
    by_verdict, usual = collections.defaultdict(list), {}
    for cell in cells:
        by_verdict[cell["verdict"]].append(cell)
    for verdict, alike in by_verdict.items():
        values = {key: collections.Counter(json.dumps(cell[key]) for cell in alike) for key in alike[0]}
        usual[verdict] = {key: json.loads(counts.most_common(1)[0][0]) for key, counts in values.items()}
    return usual


def asked(cell):
    """Options are of who was asked."""
    return cell if cell["verdict"] not in ("n/a", "skipped") else {**cell, "options": {}}


def short(cell, usual):
    return {key: x for key, x in cell.items() if key in NAMES or json.dumps(x) != json.dumps(usual[key])}


def repeated(cells):
    """The texts that more than one cell has, in their order."""
    counts = collections.Counter(cell[key] for cell in cells for key in run_folder.TEXTS if isinstance(cell.get(key), str))
    return [text for text, count in counts.items() if count > 1]


def numbered(cell, numbers):
    return {key: numbers.get(x, x) if key in run_folder.TEXTS else x for key, x in cell.items()}


def one_line(x):
    return json.dumps(x, ensure_ascii=False)


def write_run(run, target):
    """A line for each cell, so that a difference of two runs can be read."""
    cells = [asked(cell) for cell in run["cells"]]
    usual = usual_of(cells)
    shorter = [short(cell, usual[cell["verdict"]]) for cell in cells]
    texts = repeated(shorter)
    numbers = {text: number for number, text in enumerate(texts)}
    lists = {"usual": ",\n".join(f"  {one_line(verdict)}: {one_line(members)}" for verdict, members in usual.items()),
             "texts": ",\n".join(f"  {one_line(text)}" for text in texts),
             "cells": ",\n".join(f"  {one_line(numbered(cell, numbers))}" for cell in shorter)}
    members = []
    for key, x in run.items():
        if key == "cells":
            members += [f' "usual": {{\n{lists["usual"]}\n }}', f' "texts": [\n{lists["texts"]}\n ]', f' "cells": [\n{lists["cells"]}\n ]']
        else:
            members.append(f' "{key}": ' + json.dumps(x, indent=1, ensure_ascii=False).replace("\n", "\n "))
    with open(os.path.join(target, "run.json"), "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(members) + "\n}\n")


# ---- latency.csv --------------------------------------------------------------------------------------------------------


def read_off(buckets, ranks, widest):
    """[(low, high, count)]: the buckets in which these samples lie, the first, the last and the widest; count is that of the samples since the one before."""
    kept, seen, since = [], 0, 0
    ranks = sorted({1, *ranks, sum(buckets.values())}, reverse=True)
    for bounds, count in sorted(buckets.items()):
        seen, since, wanted = seen + count, since + count, bounds == widest
        while ranks and ranks[-1] <= seen:
            wanted = bool(ranks.pop())
        if wanted:
            kept.append((*map(int, bounds), since))
            since = 0
    return kept


def width(bounds):
    return (bounds[1] - bounds[0]) / bounds[0] if bounds[0] else 0


def curves_of(run, source):
    """{(scenario, guard, system, clients): every how many of the points are drawn}: all by the figure `latency`, fewer by the report, which has the curves of each load."""
    found = {}
    for scenario in speed.loads(run, speed.measured(speed.trials_of(source))):
        try:
            load = speed.Speed(source, run, (scenario["name"],))
        except figure.NotDrawn:
            continue
        in_figure = (1, load.clients[-1]) if not found else ()
        found |= {(scenario["name"], load.guard, system, clients): 1 if clients in in_figure else curves.THINNED for system, clients in load.repeats}
    return found


def write_latency(run, source, target):
    names = ("scenario", "system", "guard", "clients", "trial", "metric")
    merged = run_folder.load_histograms(source, lambda row: tuple("" if name == "trial" else row[name] for name in names))
    widest, thinned = max((bounds for buckets in merged.values() for bounds in buckets), key=width, default=None), curves_of(run, source)
    with open(os.path.join(target, "latency.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*names, "low_ns", "high_ns", "count"])
        for key, buckets in merged.items():
            scenario, system, guard, clients, _, metric = key
            total = sum(buckets.values())
            ranks = {math.ceil(q * total) for q in READ_OFF}
            every = thinned.get((scenario, guard, system, int(clients))) if metric == "wait" else None
            points = [rank for _, rank in latency.drawn(total)] if every else []
            ranks |= {*points[::every or 1], *points[-1:]}
            table.writerows([*key, *row] for row in read_off(buckets, ranks, widest))


# ---- the rest of a run --------------------------------------------------------------------------------------------------


def copy_histories(run, source, target, each):
    """That of the first violated trial of the cell that the figure `violation` shows; with `each` that of the trial of each cell that `explain` tells."""
    try:
        shown = violation.default_cell(run)
    except figure.NotDrawn:
        shown = {}
    cells = {tuple(cell[name] for name in PLACE) for cell in run["cells"] if each and cell["verdict"] in BAD}
    cells.add(tuple(shown.get(name) for name in PLACE))
    found = {}
    with open(os.path.join(source, "trials.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = tuple(row[name] for name in PLACE)
            if place in cells and row["verdict"] in BAD and row["history"] and os.path.exists(os.path.join(source, row["history"])):
                found.setdefault(place, []).append(row)
    if found:
        os.makedirs(os.path.join(target, "histories"))
    for rows in found.values():
        worst = min(rows, key=lambda row: run_folder.how_bad(row["verdict"]))
        shutil.copy(os.path.join(source, worst["history"]), os.path.join(target, worst["history"]))


def publish_run(source, target, options):
    run = run_folder.load_run(source)
    look_at(run, source)
    if "--all-cells" not in options:
        run["cells"] = [cell for cell in run["cells"] if cell["verdict"] not in ("n/a", "skipped")]
    if "--verdicts" in options:
        run["cells"] = [{key: x for key, x in cell.items() if key in CAME_TO} for cell in run["cells"]]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(target))) as beside:
        begun = os.path.join(beside, "run")
        os.makedirs(begun)
        write_run(run, begun)
        if "--verdicts" not in options:
            shutil.copy(os.path.join(source, "trials.csv"), begun)
            write_latency(run, source, begun)
            copy_histories(run, source, begun, "--histories" in options)
        os.rename(begun, target)


# ---- a hunt -------------------------------------------------------------------------------------------------------------


def plain(member):
    """The same files make the same archive, whoever makes it and when."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def publish_hunt(source, target):
    """Of one system: all of it, so that the same command goes on from a copy."""
    with tarfile.open(target + hunt_folder.ARCHIVE, "w:xz") as archive:
        for path in sorted(glob.glob(os.path.join(glob.escape(source), "**"), recursive=True)):
            if os.path.isfile(path):
                archive.add(path, os.path.join(os.path.basename(source), os.path.relpath(path, source)), filter=plain)


def main():
    options = {"--all-cells", "--verdicts", "--histories"} & set(sys.argv[1:])
    words = [word for word in sys.argv[1:] if word not in options]
    if len(words) != 2:
        raise ending.BadInput("usage: publish.py [--all-cells | --verdicts] [--histories] RUN FOLDER")
    source, target = words
    if os.path.exists(target):
        raise ending.BadInput(f"{target} is there already")
    if os.path.exists(os.path.join(source, "run.json")) or not glob.glob(os.path.join(glob.escape(source), "*", "hunt.csv")):
        publish_run(source, target, options)
        return
    hunt_folder.hunts_of(source)  # what cannot be read is not published
    os.makedirs(target)
    for system in hunt_folder.systems_in(source):
        publish_hunt(os.path.join(source, system), os.path.join(target, system))


if __name__ == "__main__":
    sys.exit(ending.of(main))
