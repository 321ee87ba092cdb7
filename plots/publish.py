#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""publish.py RUN FOLDER - a copy of a run folder for results/: its cells, trials, histories and schedules, without logs, figures and page.

Cells that were n/a or skipped are left out of run.json, as they are most of it. A run that is dirty is refused. A cell that is not as expected is named:
nobody may quote it (tests/test-printed.py).
"""

import json
import os
import shutil
import sys

import ending


def look_at(run, path):
    if run["tool"]["commit"].endswith("-dirty"):
        raise ending.BadInput(f"{path}: it was made of sources that were not committed")
    for cell in run["cells"]:
        if cell["as_expected"] is False:
            print(f"{path}: {cell['scenario']}.{cell['system']}.{cell['guard']}: expected {cell['expected']}, found {cell['verdict']}", file=sys.stderr)


def main():
    if len(sys.argv) != 3:
        raise ending.BadInput("usage: publish.py RUN FOLDER")
    source, target = sys.argv[1:]
    try:
        with open(os.path.join(source, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
    except (OSError, ValueError) as error:
        raise ending.BadInput(f"{source}: expected a run folder ({error})") from error
    look_at(run, source)
    if os.path.exists(target):
        raise ending.BadInput(f"{target} is there already")
    run["cells"] = [cell for cell in run["cells"] if cell["verdict"] not in ("n/a", "skipped")]
    os.makedirs(target)
    with open(os.path.join(target, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1, ensure_ascii=False)
        file.write("\n")
    for name in ("trials.csv", "series.csv", "latency.csv"):
        shutil.copy(os.path.join(source, name), target)
    for name in ("histories", "schedules", "faults"):
        if os.path.isdir(os.path.join(source, name)):
            shutil.copytree(os.path.join(source, name), os.path.join(target, name))


if __name__ == "__main__":
    sys.exit(ending.of(main))
