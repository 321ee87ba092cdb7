#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-browser.py LOCKBENCH FOLDER - report.html in Chromium, by Playwright (tests/browser/report.mjs).

The pages are made of the committed runs. Playwright comes from the npm registry, in the version of package-lock.json,
into FOLDER, once. Skipped without Chromium, node, Jinja2 or the registry. Speaks TAP.
"""
import csv
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import browser  # noqa: E402
import tap  # noqa: E402

ROOT = tap.ROOT
sys.path.insert(0, str(ROOT / "plots"))
sys.dont_write_bytecode = True
import report  # noqa: E402

MOST = 3_000_000  # bytes of a page


def page_of(name, work, plant=lambda run: None):
    """A copy of a committed run, with its page, and what the page got. `plant` may change the copy first."""
    made = work / name
    shutil.copytree(ROOT / "results" / name, made, ignore=shutil.ignore_patterns("figures"))
    planted = json.loads((made / "run.json").read_text(encoding="utf-8"))
    plant(planted)
    (made / "run.json").write_text(json.dumps(planted), encoding="utf-8")
    run, trials = report.load(str(made))
    report.write(str(made), run, trials)
    return made, run, report.data_of(str(made), run, trials)


def one_undecided(run):
    """A trial of its first violated cell stays undecided."""
    cell = next(cell for cell in run["cells"] if cell["verdict"] == "violated")
    cell |= {"undecided": 1, "decided": 9, "violated": 9, "trials": 10}


def expected(work, modules, chromium):
    made, run, data = page_of("reference", work)
    cell, story = next(iter(data["told"].items()))
    with open(made / "trials.csv", encoding="utf-8", newline="") as file:
        row = next(r for r in csv.DictReader(file) if f"{r['scenario']}.{r['system']}.{r['guard']}" == cell and r["trial"] == story["trial"])
    pages = [made / "report.html", page_of("reference-museum", work, one_undecided)[0] / "report.html"]
    begin, end = story["span"]
    whole = report.script_json(data)
    killed = {"faults": [["cut links", begin, end, [0], "cut"], ["kill node 1", begin, end, [0], "kill"]],
              "asks": [[len(story["lanes"]) - 1, begin, end, 4]]}
    data_killed = report.script_json(data | {"told": {cell: story | killed}})
    (made / "killed.html").write_text((made / "report.html").read_text(encoding="utf-8").replace(whole, data_killed), encoding="utf-8")
    tap.check("a page of a whole suite is below 3 MB", [f"{page}: {page.stat().st_size}" for page in pages if page.stat().st_size >= MOST])
    return {"modules": str(modules), "chromium": chromium, "page": pages[0].as_uri(), "killed": (made / "killed.html").as_uri(), "undecided": pages[1].as_uri(),
            "verdict": report.headline(run),
            "cells": sum(c["g"] == "none" and c["v"] != "n/a" for c in data["cells"]), "cell": cell, "length": float(row["double_hold_ms"]),
            "lanes": story["lanes"], "holds": len(story["holds"]), "wrong": [line[3] for line in story["story"] if line[3]],
            "sum": story["end"], "again": story["again"], "telling": data["telling"]}


def main():
    lockbench, built = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    modules = built / "browser"
    chromium, why = browser.found(modules)
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    os.environ.pop("LOCKBENCH_CALLED_AS", None)
    os.environ["LOCKBENCH_BIN"] = lockbench
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "expected.json").write_text(json.dumps(expected(work, modules, chromium)), encoding="utf-8")
        browser.read("report.mjs", work)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
