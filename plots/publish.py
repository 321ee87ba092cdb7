#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""publish.py [--all-cells] RUN FOLDER - a copy of a run folder for results/: its cells, trials, schedules and a few histories, without logs, figures and page.

Of the histories, that of the first violated trial of each scenario is there; histories/left-out.txt says how to make the others again.
Cells that were n/a or skipped are left out of run.json, as they are most of it; with --all-cells they stay, for the paper counts them. A run that is dirty is refused. A cell that is not as expected is named:
nobody may quote it (tests/test-printed.py).
"""

import csv
import json
import os
import shlex
import shutil
import sys

import ending
import run_folder


def look_at(run, path):
    if run["tool"]["commit"].endswith("-dirty"):
        raise ending.BadInput(f"{path}: it was made of sources that were not committed")
    for cell in run["cells"]:
        if cell["as_expected"] is False:
            print(f"{path}: {cell['scenario']}.{cell['system']}.{cell['guard']}: expected {cell['expected']}, found {cell['verdict']}", file=sys.stderr)


def again(run):
    """The command that makes the run once more, in a folder of its own."""
    words = run_folder.typed(run)
    if "-o" in words:
        del words[words.index("-o") : words.index("-o") + 2]
    return shlex.join(["lockbench", *words])


def copy_histories(run, source, target):
    shown = {}
    with open(os.path.join(source, "trials.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["verdict"] == "violated" and row["history"] and os.path.exists(os.path.join(source, row["history"])):
                shown.setdefault(row["scenario"], row["history"])
    os.makedirs(os.path.join(target, "histories"))
    for history in shown.values():
        shutil.copy(os.path.join(source, history), os.path.join(target, history))
    with open(os.path.join(target, "histories", "left-out.txt"), "w", encoding="utf-8") as file:
        file.write(f"*: one violated trial of each scenario is published; this makes all of them again: {again(run)}\n")


def main():
    words = [word for word in sys.argv[1:] if word != "--all-cells"]
    if len(words) != 2:
        raise ending.BadInput("usage: publish.py [--all-cells] RUN FOLDER")
    source, target = words
    run = run_folder.load_run(source)
    look_at(run, source)
    if os.path.exists(target):
        raise ending.BadInput(f"{target} is there already")
    if "--all-cells" not in sys.argv:
        run["cells"] = [cell for cell in run["cells"] if cell["verdict"] not in ("n/a", "skipped")]
    os.makedirs(target)
    with open(os.path.join(target, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1, ensure_ascii=False)
        file.write("\n")
    for name in ("trials.csv", "series.csv", "latency.csv"):
        shutil.copy(os.path.join(source, name), target)
    copy_histories(run, source, target)
    for name in ("schedules", "faults"):
        if os.path.isdir(os.path.join(source, name)):
            shutil.copytree(os.path.join(source, name), os.path.join(target, name))


if __name__ == "__main__":
    sys.exit(ending.of(main))
