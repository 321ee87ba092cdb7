#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-schema.py LOCKBENCH TESTS - results/SCHEMA.md against the runs that are kept and against fresh ones, and planted errors are found.

A library of JSON Schema checks them (helpers/schema.py makes schemas of the tables). TAP.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests/helpers"), str(ROOT / "plots")]
import tap  # noqa: E402

try:
    import schema  # noqa: E402
except ModuleNotFoundError as missing:
    sys.exit(print(f"1..0 # SKIP no module {missing.name}"))

BIN, TESTS = map(os.path.abspath, sys.argv[1:3])
PAGE = ROOT / "results/SCHEMA.md"
ROWS = [line.split("\t") for line in subprocess.run([TESTS + "/counter-rows"], capture_output=True, text=True, check=True).stdout.splitlines()]
SUMMED = [row[1] for row in ROWS if row[0] == "trials.csv" and row[5] == "1"]
SHORT = ["-s", "clients=2", "-s", "duration_s=0.2", "-s", "warmup_s=0.1"]
FRESH = {  # verdicts do not matter here; 3, 4 and 5 are runs, too
    "guards": ["pause-holder", "-b", "local,broken", "-g", "none,deadline,recheck,fence", "-n", "1"],
    "load": ["contention", "-b", "local,broken", "-n", "2", *SHORT],
    "variants": ["contention", "-b", "local", "-n", "5", "-s", "hold_ms=0,0.5", *SHORT],
    "campaign": ["storm", "-b", "local", "-g", "none", "-n", "1", "-s", "duration_s=2"],
}


def expect(title, pattern, found):
    """`pattern` is in what was found."""
    tap.check(title, [] if any(re.search(pattern, line) for line in found) else [f"expected: {pattern}", *found[:5]])


def breaches(page, path, fresh):
    return schema.Folder(page, str(path), SUMMED, fresh).breaches[:20]


def on_page(title, pattern, edit, text):
    """With this edit of the page, what it repeats of the table of counters is found wrong."""
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as file:
        changed = re.sub(*edit, text, flags=re.M)
        file.write(changed)
        file.flush()
        expect(title, pattern, list(schema.counters(schema.Page(file.name), ROWS)) if changed != text else ["nothing was planted"])


def in_folder(title, pattern, run, name, plant):
    """With this edit of a file of the run, it is found wrong."""
    with tempfile.TemporaryDirectory() as bad:
        shutil.copytree(run, bad, dirs_exist_ok=True)
        path = pathlib.Path(bad, name)
        text = path.read_text(encoding="utf-8")
        changed = plant(text)
        path.write_text(changed, encoding="utf-8")
        expect(title, pattern, breaches(schema.Page(PAGE), bad, True) if changed != text else ["nothing was planted"])


def of_cell(number, change):
    """An edit of run.json: of one of its cells."""
    def plant(text):
        run = json.loads(text)
        change(run["cells"][number])
        return json.dumps(run, indent=1)
    return plant


def of_table(change):
    """An edit of trials.csv: of its rows, as lists of fields."""
    def plant(text):
        rows = list(csv.reader(text.splitlines()))
        change(rows)
        return "\n".join(",".join(f'"{field}"' if re.search('[",]', field) else field for field in row) for row in rows) + "\n"
    return plant


def column(rows, name):
    return rows[0].index(name)


def test_page():
    text = PAGE.read_text(encoding="utf-8")
    tap.check("the page repeats the table of counters as it is", list(schema.counters(schema.Page(PAGE), ROWS)))
    on_page("a counter without a row", "trials.csv: no row for jain", (r"^\| `jain` .*\n", ""), text)
    on_page("a counter of another type", "check --json: depth is number, the table of counters says whole", (r"^\| `depth` \| whole \|\s*\|$", "| `depth` | number | |"), text)
    on_page("a counter that may be missing, and does not", "cells: grants is whole, the table of counters says whole, or nothing", (r"^\| `grants` \| whole or null", "| `grants` | whole"), text)
    on_page("a counter in another unit", "the unit of stall_ms is 's', expected 'ms'", (r"^\| `stall_ms` \| number \| ms", "| `stall_ms` | number | s"), text)
    twice = next(row[6] for row in ROWS if row[:2] == ["trials.csv", "busy"])
    on_page("a counter explained twice", "trials.csv: busy repeats what the table of counters says", (r"^(\| `busy` \| whole \|[^|]*\|)[^|]*\|$", lambda row: f"{row[1]} {twice} |"), text)


def test_kept():
    page = schema.Page(PAGE)
    for run in sorted(ROOT.glob("results/reference*/run.json")):
        tap.check(f"kept run {run.parent.name}", breaches(page, run.parent, False))


def test_fresh(home):
    page = schema.Page(PAGE)
    runs = [subprocess.Popen([BIN, "run", *words, "-o", f"{home}/{name}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name, words in FRESH.items()]  # nor do speeds, so they run side by side
    for run in runs:
        run.wait()
    for name in FRESH:
        tap.check(f"a fresh run: {name}", breaches(page, f"{home}/{name}", True))
    with open(f"{home}/compare.json", "w", encoding="utf-8") as file:
        subprocess.run([BIN, "compare", "--json", f"{home}/variants"], stdout=file, check=False)
    tap.check("compare --json", schema.object_of(page, f"{home}/compare.json", "compare --json", ["rows"]))
    schedules = pathlib.Path(home, "campaign/schedules")
    if schedules.exists():  # no namespaces: no cuts, no campaign
        shutil.rmtree(schedules)
        expect("a schedule that is not there", r"schedules/storm.* is not in", breaches(page, f"{home}/campaign", True))


def test_planted(run):
    def swap(rows, one, other):
        at, to = column(rows, one), column(rows, other)
        for row in rows:
            row[at], row[to] = row[to], row[at]

    def remove(rows, name):
        at = column(rows, name)
        for row in rows:
            del row[at]

    def put(rows, name, value):
        rows[1][column(rows, name)] = value

    def more(rows):
        for row in rows:
            row.append("more" if row is rows[0] else "1")

    def repeat(cell):
        cell["grants"] = (cell["grants"] or 0) + 100

    in_folder("a missing column", "is 'fenced_off', expected 'stale_writes'", run, "trials.csv", of_table(lambda rows: remove(rows, "stale_writes")))
    in_folder("a column that is not on the page", "column 'more' is not on the page", run, "trials.csv", of_table(more))
    in_folder("columns in another order", "expected 'wait_p50_us'", run, "trials.csv", of_table(lambda rows: swap(rows, "wait_p50_us", "wait_p99_us")))
    in_folder("an unknown verdict", 'verdict is "fine"', run, "trials.csv", of_table(lambda rows: put(rows, "verdict", "fine")))
    in_folder("a verdict of a trial that was not run", "verdict is 'none', which only a cell has", run, "trials.csv", of_table(lambda rows: put(rows, "verdict", "none")))
    in_folder("text where a number belongs", 'grants is "many", expected whole', run, "trials.csv", of_table(lambda rows: put(rows, "grants", "many")))
    in_folder("a missing key", "has no 'stale_writes'", run, "run.json", of_cell(0, lambda cell: cell.pop("stale_writes")))
    in_folder("an unknown key", "'more' is not on the page", run, "run.json", of_cell(0, lambda cell: cell.update(more=1)))
    in_folder("keys in another order", "'trials' stands before 'seed'|'verdict' stands before", run, "run.json", of_cell(0, lambda cell: cell.update(trials=cell.pop("trials"))))
    in_folder("a key of another type", 'trials is "1", expected whole', run, "run.json", of_cell(0, lambda cell: cell.update(trials="1")))
    in_folder("an unknown guard", 'guard is "fense", expected guard', run, "run.json", of_cell(0, lambda cell: cell.update(guard="fense")))
    in_folder("a cell that is not the sum of its trials", "grants is [0-9]*, its trials say", run, "run.json", of_cell(0, repeat))
    in_folder("a history that is not there", "histories/x.* is not in the folder", run, "trials.csv", lambda text: text.replace(",histories/", ",histories/x"))
    in_folder("another header", "latency.csv:1: .* expected scenario,system", run, "latency.csv", lambda text: text.replace("low_ns", "low", 1))


def test_judgements(home):
    page = schema.Page(PAGE)
    for history in ("paused-holder", "three-at-once", "never-released"):  # what `check --json` prints, against its tables
        path = f"{home}/{history}.json"
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([BIN, "check", "--json", ROOT / f"tests/data/histories/bad/{history}.jsonl"], stdout=file, check=False)
        tap.check(f"check --json: {history}", schema.object_of(page, path, "check --json", ["episodes"]))
    path = pathlib.Path(home, "paused-holder.json")
    judged = json.loads(path.read_text(encoding="utf-8"))
    del judged["episodes"][0]["depth"]
    judged["episodes"][0]["more"] = 1
    path.write_text(json.dumps(judged), encoding="utf-8")
    expect("a member of an episode that is not on the page", "episodes 1: 'more' is not on the page", schema.object_of(page, str(path), "check --json", ["episodes"]))


def main():
    test_page()
    test_kept()
    with tempfile.TemporaryDirectory() as home:
        test_fresh(home)
        test_planted(f"{home}/guards")
        test_judgements(home)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
