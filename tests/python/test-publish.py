#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-publish.py - what plots/publish.py leaves out changes no number: cells, percentiles, curves, tested faults, and the counts of a hunt. Speaks TAP."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

ROOT = tap.ROOT
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "plots"))
import hunt_folder  # noqa: E402
import curves  # noqa: E402
import latency  # noqa: E402
import publish  # noqa: E402
import run_folder  # noqa: E402

NAMES = ("scenario", "system", "guard", "clients", "metric")


def publishing(*words):
    return subprocess.run([sys.executable, ROOT / "plots/publish.py", *words], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})


def make_run(folder, commit="0123456789ab"):
    subprocess.run([sys.executable, ROOT / "tests/data/make-run-sample.py", folder], check=True)
    path = folder / "run.json"
    path.write_text(path.read_text().replace("0123456789ab-dirty", commit))
    return folder


def percentiles(folder):
    """{histogram: (samples, the buckets with the percentiles that the paper takes)}"""
    found = {}
    for key, buckets in run_folder.load_histograms(folder, lambda row: tuple(row[name] for name in NAMES)).items():
        total, ordered = sum(buckets.values()), [bounds for bounds, n in sorted(buckets.items()) for _ in range(n)]
        found[key] = total, [ordered[max(1, -(-total * q // 100)) - 1] for q in (50, 99)]
    return found


def kept(folder):
    """What is asked of nobody has no options when it is published."""
    run = run_folder.load_run(folder)
    for cell in run["cells"]:
        if cell["verdict"] in ("n/a", "skipped"):
            cell["options"] = {}
    return run


def differing(run, published):
    wrong = [] if kept(run) == run_folder.load_run(published) else ["the cells are others"]
    wrong += [] if percentiles(run) == percentiles(published) else ["the percentiles are others"]
    rows = [latency.make(folder, run_folder.load_run(folder), []).rows for folder in (run, published)]
    shown = [curves.of(folder, run_folder.load_run(folder)) for folder in (run, published)]
    return wrong + ([] if rows[0] == rows[1] and rows[0] else ["the curves of latency are others"]) + ([] if shown[0] == shown[1] and shown[0] else ["the curves of the report are others"])


def left(run, published):
    """What is not smaller, or not there."""
    files = sorted(str(path.relative_to(published)) for path in published.rglob("*") if path.is_file())
    wanted = ["histories/failover.redis-token@sentinel.none.c2.t1.hist", "latency.csv", "run.json", "trials.csv"]
    return ([] if files == wanted else files) + [name for name in ("latency.csv", "run.json") if 2 * (published / name).stat().st_size > (run / name).stat().st_size]


def of_texts(published):
    """A text that cells share stands there once, and a number in them."""
    run = json.loads((published / "run.json").read_text())
    said = [cell[key] for cell in run["cells"] for key in run_folder.TEXTS if cell.get(key) is not None]
    texts = [text for text in said if isinstance(text, str)]
    numbers = {text for text in said if isinstance(text, int)}
    return [] if numbers == set(range(len(run["texts"]))) and numbers and len(texts) == len(set(texts)) and not set(texts) & set(run["texts"]) else [str(run["texts"]), str(said)]


def of_histories(run, folder):
    """With --histories those of one bad trial of each cell, if the run has it."""
    rows = run_folder.load_csv(run, "trials.csv", ("scenario", "system", "guard", "verdict", "history"), ())
    for row in rows:
        if row["verdict"] in publish.BAD and row["history"] and not (run / row["history"]).exists():
            write(run / row["history"], "of the trial\n")
    first = {(row["scenario"], row["system"], row["guard"]): row["history"] for row in reversed(rows) if row["verdict"] in publish.BAD and row["history"] and (run / row["history"]).exists()}
    done = publishing("--histories", run, folder)
    found = sorted(str(path.relative_to(folder)) for path in folder.glob("histories/*"))
    return [] if done.returncode == 0 and len(first) > 1 and found == sorted(first.values()) else [f"{found}, expected {sorted(first.values())}", *done.stderr.splitlines()]


def of_buckets():
    """Samples 5 and 8 are asked for; the second bucket and the fifth are not, and (40, 49) is the widest."""
    buckets = {(10, 10): 2, (20, 20): 1, (30, 30): 3, (40, 49): 1, (50, 50): 1, (60, 60): 1, (70, 70): 1}
    found = publish.read_off(buckets, [5, 9], (40, 49))
    return [] if found == [(10, 10, 2), (30, 30, 4), (40, 49, 1), (60, 60, 2), (70, 70, 1)] else [str(found)]


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def said_of(hunt):
    return [[(faults, t.id) for faults, t in hunt.sets(standing, hunt_folder.CLASSES)] for standing in (("minimal",), ("sometimes", "open", "not replayed"))] + \
        [hunt.ran(count) for count in hunt.counts()] + [hunt.counts(), [t.id for t in hunt.sample()], hunt.core(), hunt.smallest(), hunt.trials, hunt.number_of("undecided")]


def of_hunts(folder):
    source = folder.parent / "hunted"
    shutil.copytree(ROOT / "tests/data/hunt-sample", source)
    for system in source.iterdir():
        write(system / "hunt/01.ini", "")
        write(system / "hunt.json", json.dumps({"sets": [{"file": "hunt/01.ini", "standing": "minimal"}]}))
    done = publishing(source, folder)
    wrong = [] if done.returncode == 0 else done.stderr.splitlines()
    again = folder.parent / "hunted-again"
    wrong += [] if publishing(source, again).returncode == 0 and all(a.read_bytes() == (again / a.name).read_bytes() for a in folder.iterdir()) else ["published twice, it differs"]
    for system, hunt in hunt_folder.hunts_of(source).items():
        published = hunt_folder.Hunt(folder, system)
        wrong += [] if said_of(hunt) == said_of(published) else [f"{system}: {said_of(hunt)}, published {said_of(published)}"]
        with tarfile.open(folder / f"{system}{hunt_folder.ARCHIVE}") as archive:
            found = {member.name for member in archive}
        expected = {str(path.relative_to(source)) for path in (source / system).rglob("*") if path.is_file()}
        wrong += [] if found == expected else [f"{system}: {found ^ expected} differ"]
    return wrong


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = make_run(folder / "run")
        done = publishing("--all-cells", run, folder / "published")
        tap.check("a run is published", [] if done.returncode == 0 else done.stderr.splitlines())
        tap.check("cells, percentiles and curves are those of the run", differing(run, folder / "published"))
        tap.check("its folder is small, and has the history of the figure", left(run, folder / "published"))
        tap.check("a reason that cells share stands there once", of_texts(folder / "published"))
        publishing("--all-cells", folder / "published", folder / "again")
        tap.check("published again it is the same", [n for n in ("run.json", "latency.csv") if (folder / "published" / n).read_bytes() != (folder / "again" / n).read_bytes()])
        publishing(run, folder / "ran")
        cells = [[c for c in run_folder.load_run(path)["cells"] if c["verdict"] not in ("n/a", "skipped")] for path in (run, folder / "ran")]
        tap.check("without --all-cells those that ran stay", [] if cells[0] == cells[1] == run_folder.load_run(folder / "ran")["cells"] else ["others are there"])
        publishing("--verdicts", run, folder / "told")
        came_to = [[{key: c.get(key) for key in ("system", "verdict", "why", "reason", "trials")} for c in run_folder.load_run(folder / name)["cells"]] for name in ("told", "ran")]
        alone = [p.name for p in (folder / "told").iterdir()] == ["run.json"] and not any("grants" in c for c in run_folder.load_run(folder / "told")["cells"])
        tap.check("with --verdicts what the cells came to stays, and nothing else", [] if came_to[0] == came_to[1] and alone else ["others, or more, are there"])
        tap.check("with --histories the first bad trial of each cell stays", of_histories(run, folder / "kept"))
        tap.check("a bucket has the samples since the one before", of_buckets())
        tap.check("a hunt is published without a change of what is counted", of_hunts(folder / "hunts"))
        refused = [publishing(make_run(folder / "dirty", "0123456789ab-dirty"), folder / "dirtily"), publishing(run, folder / "published")]
        tap.check("a dirty run, and a folder that is there, are refused", [str(r) for r in refused if r.returncode != 2 or r.stderr.count("\n") != 1])
    return tap.end()


sys.exit(main())
