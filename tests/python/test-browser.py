#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-browser.py LOCKBENCH FOLDER - report.html in Chromium, by Playwright (tests/browser/report.mjs).

The pages are made of the committed runs. Playwright comes from the npm registry, in the version of package-lock.json,
into FOLDER, once. Skipped without Chromium, node, Jinja2 or the registry. Speaks TAP.
"""
import csv
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

ROOT = tap.ROOT
sys.path.insert(0, str(ROOT / "plots"))
sys.dont_write_bytecode = True
import report  # noqa: E402

MOST = 3_000_000  # bytes of a page


def install(folder):
    """Why Playwright is not there, or None."""
    if not shutil.which("npm"):
        return "npm is missing"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (ROOT / "tests/browser/package-lock.json").read_bytes()
        kept = folder / "package-lock.json"
        if kept.exists() and kept.read_bytes() == wanted and (folder / "node_modules/playwright-core").is_dir():
            return None
        shutil.copy(ROOT / "tests/browser/package.json", folder)
        kept.write_bytes(wanted)
        try:
            done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode:
            kept.unlink()
            return f"npm has no playwright-core: {(done.stderr.splitlines() or ['?'])[0] if done else 'no answer in 120 s'}"
    return None


def page_of(name, work):
    """A copy of a committed run, with its page, and what the page got."""
    made = work / name
    shutil.copytree(ROOT / "results" / name, made, ignore=shutil.ignore_patterns("figures"))
    run, trials = report.load(str(made))
    report.write(str(made), run, trials)
    return made, run, report.data_of(str(made), run, trials)


def expected(work, modules, chromium):
    made, run, data = page_of("reference", work)
    cell, story = next(iter(data["told"].items()))
    with open(made / "trials.csv", encoding="utf-8", newline="") as file:
        row = next(r for r in csv.DictReader(file) if f"{r['scenario']}.{r['system']}.{r['guard']}" == cell and r["trial"] == story["trial"])
    pages = [made / "report.html", page_of("reference-museum", work)[0] / "report.html"]
    begin, end = story["span"]
    whole = report.script_json(data)
    killed = {"faults": [["cut links", begin, end, [0], "cut"], ["kill node 1", begin, end, [0], "kill"]],
              "asks": [[len(story["lanes"]) - 1, begin, end, 4]]}
    data_killed = report.script_json(data | {"told": {cell: story | killed}})
    (made / "killed.html").write_text((made / "report.html").read_text(encoding="utf-8").replace(whole, data_killed), encoding="utf-8")
    tap.check("a page of a whole suite is below 3 MB", [f"{page}: {page.stat().st_size}" for page in pages if page.stat().st_size >= MOST])
    return {"modules": str(modules), "chromium": chromium, "page": pages[0].as_uri(), "killed": (made / "killed.html").as_uri(),
            "verdict": report.headline(run),
            "cells": sum(c["g"] == "none" and c["v"] != "n/a" for c in data["cells"]), "cell": cell, "length": float(row["double_hold_ms"]),
            "lanes": story["lanes"], "holds": len(story["holds"]), "wrong": [line[3] for line in story["story"] if line[3]],
            "sum": story["end"], "again": story["again"], "changing": data["changing"]}


def main():
    lockbench, built = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        import jinja2  # noqa: F401
        why = None if chromium and shutil.which("node") else f"{'node' if chromium else 'chromium'} is missing"
    except ModuleNotFoundError:
        why = "jinja2 is missing"
    modules = built / "browser"
    why = why or install(modules)
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    os.environ.pop("LOCKBENCH_CALLED_AS", None)
    os.environ["LOCKBENCH_BIN"] = lockbench
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "expected.json").write_text(json.dumps(expected(work, modules, chromium)), encoding="utf-8")
        sys.stdout.flush()
        done = subprocess.run(["node", ROOT / "tests/browser/report.mjs", work / "expected.json"], capture_output=True, text=True, timeout=600,
                              env=os.environ | {"HOME": str(work)}, check=False)
    lines = done.stdout.splitlines()
    for line in lines:  # behind our own statement
        if line.startswith(("ok ", "not ok ")):
            name = line.partition(" - ")[2]
            at = lines.index(line)
            tap.check(name, [] if line.startswith("ok ") else [lines[at + 1].removeprefix("# ") if at + 1 < len(lines) else "?"])
    tap.check("the browser's test came to its end", [] if lines and lines[-1].startswith("1..") else (done.stderr.splitlines()[-5:] or ["it said nothing"]))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
