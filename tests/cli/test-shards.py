#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-shards.py LOCKBENCH PLUGIN_FOLDER - shards, merged, are the run that one process would have played; what does not fit is refused.

Only locks without servers are played. Speaks TAP.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
STEPS = """[scenario]
title = one lock, asked twice
question = Who plays it?
refuted = A cell is told otherwise.
min_handoffs = 0
[workload]
clients = 2
ttl_ms = 2000
[timeline]
step = client 1 acquire within 5s
step = client 2 acquire within 5s
step = client 1 release within 2s
step = client 2 release within 2s
[expect]
local@none = safe
null@none = violated
"""
ENGINES = ("SLURM_", "OMPI_", "PMI_", "PMIX_")


def call(*words, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ENGINES)}
    return subprocess.run([LOCKBENCH, *words], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env={**clean, **more})


def run(*words, **more):
    return call("run", "./steps.ini", "./again.ini", "-b", "local@none,null@none", "-n", "4", *words, **more)


def cells(name):
    data = json.loads((folder / name / "run.json").read_text())
    return sorted((c["scenario"], c["system"], c["guard"], c["verdict"], c["trials"]) for c in data["cells"])


def trials(name):
    with open(folder / name / "trials.csv", encoding="utf-8") as file:
        return [[row[key] for key in ("scenario", "system", "guard", "trial", "seed", "verdict")] for row in csv.DictReader(file)]


def refused(done, text):
    return [f"exit {done.returncode}, {done.stderr!r}"] * (done.returncode != 2 or done.stderr.count("\n") != 1 or text not in done.stderr)


def merged():
    whole = run("--seed", "7", "-o", "whole")
    for index in range(1, 5):
        done = run("--seed", "7", "--shard", f"{index}/4", "-o", "parts")
        if done.returncode:
            yield f"shard {index}: exit {done.returncode}: {done.stderr}"
    done = call("merge", "parts", "-o", "merged")
    if (done.returncode, done.stdout.split("\n")[0]) != (whole.returncode, whole.stdout.split("\n")[0]):
        yield f"exit {done.returncode}, {done.stdout[:200]!r}, {done.stderr!r}"
    if cells("merged") != cells("whole") or trials("merged") != trials("whole"):
        yield "cells or trials differ"
    if (folder / "merged/resume.json").exists():
        yield "the merged run is not whole"


def of_another_machine():
    """The folder where the first shard was started is not here. Its own JUnit file is not that of the whole."""
    away = folder / "away"
    away.mkdir()
    for index in "12":
        subprocess.run([LOCKBENCH, "run", "contention", "spread", "-b", "local@none", "-n", "1", "-s", "duration_s=1", "--seed", "7", "--shard", f"{index}/2", "-o", folder / "collected", "--junit", folder / f"{index}.xml"],
                       cwd=away, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    shutil.rmtree(away)
    before = (folder / "1.xml").read_text()
    said = json.loads((folder / "collected/shard-1-of-2/run.json").read_text())["exit_meaning"]
    done = call("merge", "collected", "-o", "together", "--junit", "all.xml")
    if not (folder / "all.xml").exists() or not (folder / "together").exists():
        yield f"exit {done.returncode}: {done.stderr}"
    done = call("merge", "collected/shard-1-of-2", "-o", "part", "--junit", "part.xml")
    (folder / "part.xml").unlink(missing_ok=True)
    call("run", "--resume", "part")
    if not (folder / "part.xml").exists():
        yield "a merged run that goes on does not write its own file"
    if (folder / "1.xml").read_text() != before:
        yield "the file of a shard was written"
    if "shard" not in said:
        yield f"exit_meaning of a shard: {said}"


def engine():
    for rank in "01":
        done = run("-o", "mpi", OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE="2", PMIX_NAMESPACE="job-9")
        if done.returncode or f"shard {int(rank) + 1} of 2" not in done.stderr:
            yield f"rank {rank}: exit {done.returncode}: {done.stderr}"
    done = call("merge", "mpi", "-o", "of-mpi")
    if done.returncode or len(trials("of-mpi")) != 16:
        yield f"exit {done.returncode}: {done.stderr}"
    yield from refused(run(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"), "--seed")


def a_missing_one():
    done = call("merge", *(f"parts/shard-{index}-of-4" for index in (1, 2, 4)), "-o", "gap")
    if done.returncode != 130 or "shard 3 of 4 is missing" not in done.stderr:
        yield f"exit {done.returncode}: {done.stderr}"
    if not json.loads((folder / "gap/run.json").read_text())["partial"]:
        yield "it is said to be whole"
    done = call("run", "--resume", "gap")
    if done.returncode or trials("gap") != trials("whole"):
        yield f"resumed: exit {done.returncode}: {done.stderr}"


def what_does_not_fit():
    run("--seed", "8", "--shard", "2/4", "-o", "others")
    run("--seed", "7", "--shard", "1/3", "-o", "thirds")
    call("run", "./steps.ini", "-b", "local@none,null@none", "-n", "4", "--seed", "7", "--shard", "2/4", "-o", "fewer")
    one = "parts/shard-1-of-4"
    yield from refused(call("merge", one, one), "twice")
    yield from refused(call("merge", one, "others"), "seed 8, expected 7")
    yield from refused(call("merge", one, "thirds"), "one of 3 shards, expected one of 4")
    yield from refused(call("merge", one, "fewer"), "fewer/shard-2-of-4: scenarios, options")
    yield from refused(call("merge", "whole"), "is a whole run, expected the folder of a shard")
    yield from refused(call("merge"), "expected the folders")
    yield from refused(call("merge", "nowhere"), "nowhere")
    yield from refused(run("--shard", "5/4", "--seed", "1"), "5/4")
    yield from refused(run("--shard", "1/4"), "--seed")
    left = [path.name for path in folder.glob("results/*")] + [path.name for path in folder.glob(".*.partial")]
    yield from [f"left behind: {left}"] * bool(left)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    os.environ["LOCKBENCH_RESULTS"] = str(folder / "results")
    (folder / "steps.ini").write_text(STEPS)
    (folder / "again.ini").write_text(STEPS)
    tap.check("shards, merged, are the run of one process", list(merged()))
    tap.check("shards from elsewhere are merged, and a shard's own files stay", list(of_another_machine()))
    tap.check("an engine's variables make shards of one seed", list(engine()))
    tap.check("a missing shard is named, and the run can go on", list(a_missing_one()))
    tap.check("what does not fit is refused in one line", list(what_does_not_fit()))
    sys.exit(tap.end())
