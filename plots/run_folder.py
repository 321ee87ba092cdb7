# SPDX-License-Identifier: MIT
"""run_folder.py - reads what a figure needs from a run folder (results/SCHEMA.md); one line says what does not fit."""

import calendar
import csv
import io
import json
import operator
import os
import time

import ending

VERDICTS = ("safe", "violated", "stuck", "delayed", "mixed", "undecided", "skipped", "n/a")
GUARDS = ("none", "deadline", "signal", "recheck", "claim", "fence")
TEXTS = ("reason", "why")  # of a cell; a published one may have the number of a text instead
WORST = ("violated", "stuck", "delayed")  # what a lock did wrong, the worst first
BadInput = ending.BadInput


def _read(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start} is not UTF-8") from error


def _member(place, record, key, kind, default=None):
    value = record.get(key, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        wanted = " or ".join(k.__name__ for k in kind) if isinstance(kind, tuple) else kind.__name__
        raise BadInput(f"{place}: '{key}' is {json.dumps(value)[:60]}, expected {wanted}")
    return value


def _check_scenario(place, scenario):
    if not isinstance(scenario, dict):
        raise BadInput(f"{place}: is no object")
    _member(place, scenario, "name", str)
    for key in ("title", "question"):
        _member(place, scenario, key, (str, type(None)))


def _check_cell(place, cell):
    if not isinstance(cell, dict):
        raise BadInput(f"{place}: is no object")
    for key in ("scenario", "system", "guard", "verdict"):
        _member(place, cell, key, str)
    if cell["verdict"] not in VERDICTS:
        raise BadInput(f"{place}: verdict '{cell['verdict']}', expected one of {', '.join(VERDICTS)}")
    for key in ("trials", "violated", "undecided"):
        _member(place, cell, key, int)
    if cell["verdict"] == "safe":
        _member(place, cell, "upper95", (int, float))
    _member(place, cell, "note", (int, type(None)))
    _member(place, cell, "why", (str, type(None)))


def whole(run):
    """Gives the cells of a published run, which have only what differs from `usual`, and numbers for `texts` (results/SCHEMA.md), all their members."""
    usual, texts = run.pop("usual", {}), dict(enumerate(run.pop("texts", [])))
    run["cells"] = [usual.get(cell["verdict"], {}) | {key: texts.get(x, x) if key in TEXTS else x for key, x in cell.items()} for cell in run["cells"]]
    return run


def load_any(run_dir):
    """run.json of a run of any version: only that it has cells is looked at, and these have all their members. The folder comes first, as the usual mistake is a path
    that is no run. BadInput."""
    path = os.path.join(run_dir, "run.json")
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
    except OSError as error:
        raise BadInput(f"{run_dir}: expected a results folder with run.json: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: {error}") from error
    if not isinstance(run, dict) or not isinstance(run.get("cells"), list):
        raise BadInput(f"{path}: expected an object with a list 'cells'")
    run["cells"] = [cell for cell in run["cells"] if isinstance(cell, dict) and isinstance(cell.get("verdict"), str)]
    return whole(run)


def load_run(run_dir):
    """run.json as a dict, its parts that figures use checked."""
    path = os.path.join(run_dir, "run.json")
    try:
        run = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: {error.msg}") from error
    if not isinstance(run, dict):
        raise BadInput(f"{path}: no JSON object")
    if run.get("schema_version") != 1:
        raise BadInput(f"{path}: schema_version {json.dumps(run.get('schema_version'))}, expected 1")
    _member(path, run, "id", str)
    for key in ("scenarios", "cells"):
        _member(path, run, key, list)
    for key in ("tool", "machine"):
        _member(path, run, key, dict)
    _member(path, run, "usual", dict, {})
    _member(path, run, "texts", list, [])
    for i, scenario in enumerate(run["scenarios"]):
        _check_scenario(f"{path}: scenario {i + 1}", scenario)
    if "usual" in run:
        run = whole(run)
    if run.get("partial"):  # it was stopped, or its budget ended
        run["cells"] = [cell for cell in run["cells"] if not isinstance(cell, dict) or cell.get("verdict") != "none"]
    for i, cell in enumerate(run["cells"]):
        _check_cell(f"{path}: cell {i + 1}", cell)
    return run


def _at(path, reader):
    """The file and its line; of an empty one the first, which is missing."""
    return f"{path}:{max(1, reader.line_num)}"


def typed(run):
    """The words with which the run was asked for, and its seed, which it may have drawn."""
    argv = run.get("argv")
    words = [word if isinstance(word, str) else "" for word in argv] if isinstance(argv, list) else []
    if isinstance(run.get("seed"), int) and not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(run["seed"])]
    return words


def how_bad(verdict):
    """0 is the worst; what is not wrong, or not known, is all the same."""
    return WORST.index(verdict) if verdict in WORST else len(WORST)


def only_verdicts(run_dir):
    """True of a folder that was published without its trials (publish.py --verdicts)."""
    run = os.path.join(run_dir, "run.json")
    return not os.path.exists(os.path.join(run_dir, "trials.csv")) and os.path.exists(run) and "\"usual\"" in _read(run)


def load_csv(run_dir, name, texts, numbers, newer=(), newer_numbers=()):
    """Rows as dicts: `texts` columns as they are, `numbers` as float, or None where empty. Columns in `newer` are texts
    that runs of before do not have: empty there; those in `newer_numbers` are numbers."""
    path = os.path.join(run_dir, name)
    if only_verdicts(run_dir):
        raise BadInput(f"{run_dir}: its verdicts are published, no trial of it; `argv` in its run.json makes the run again")
    reader = csv.DictReader(io.StringIO(_read(path), newline=""), restkey="", strict=True)
    rows = []
    try:
        missing = [c for c in (*texts, *numbers) if c not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(f"{path}:1: no column '{missing[0]}'")
        for row in reader:
            where = _at(path, reader)
            if "" in row or None in row.values():
                raise BadInput(f"{where}: expected {len(reader.fieldnames)} fields, as in the header line")
            rows.append({c: row[c] for c in texts} | {c: _number(where, c, row[c]) for c in numbers}
                        | {c: row.get(c, "") for c in newer} | {c: _number(where, c, row.get(c)) for c in newer_numbers})
    except csv.Error as error:
        raise BadInput(f"{_at(path, reader)}: {error}") from error
    return rows


def _number(where, column, text):
    try:
        value = float(text) if text else None
    except ValueError:
        value = float("nan")
    if value is not None and not 0 <= value < float("inf"):
        raise BadInput(f"{where}: {column} is '{text}', expected a number of at least 0, or nothing")
    return value


def load_histograms(run_dir, wanted):
    """{key: {(low_ns, high_ns): count}}, the buckets of all trials added up; wanted(row) is the key a row of
    latency.csv counts for, or None. A row is a dict of texts, made anew only where the file begins a new histogram: it
    is a long file."""
    path, merged, texts, buckets = os.path.join(run_dir, "latency.csv"), {}, None, None
    reader = csv.reader(io.StringIO(_read(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        missing = [c for c in ("clients", "metric", "low_ns", "high_ns", "count") if c not in header]
        if missing:
            raise BadInput(f"{path}:1: no column '{missing[0]}'")
        low, high, count = (header.index(c) for c in ("low_ns", "high_ns", "count"))
        words = operator.itemgetter(*(i for i in range(len(header)) if i not in (low, high, count)))
        for row in reader:
            if len(row) != len(header):
                raise BadInput(f"{_at(path, reader)}: expected {len(header)} fields, as in the header line")
            if words(row) != texts:
                texts = words(row)
                key = wanted(dict(zip(header, row)))
                buckets = None if key is None else merged.setdefault(key, {})
            if buckets is not None:
                where = _at(path, reader)
                bounds = _number(where, "low_ns", row[low]), _number(where, "high_ns", row[high])
                buckets[bounds] = buckets.get(bounds, 0) + int(_number(where, "count", row[count]) or 0)
    except csv.Error as error:
        raise BadInput(f"{_at(path, reader)}: {error}") from error
    return merged


FLOOR = "floor-"  # how the names begin of what is no lock: the bare commands of one


def lock_cells(run):
    """Without those of floors, whose verdicts say nothing."""
    return [cell for cell in run["cells"] if not cell["system"].startswith(FLOOR)]


def only_after(cell):
    """Two held the lock at once, and never within a lease: the holder did not stop. Of a run that does not say so, False."""
    return bool(cell.get("double_holds")) and cell.get("within_lease") == 0


def beside_floors(rows):
    """Gives each row of trials.csv `of_floor`: its grants/s divided by those of the floor on the same servers in the same round; None without one."""
    def place(row):
        return row["scenario"], row["system"].partition("@")[2], row["clients"], row["trial"]

    bare = {place(row): row["grants_per_s"] for row in rows if row["system"].startswith(FLOOR)}
    for row in rows:
        floor = None if row["system"].startswith(FLOOR) else bare.get(place(row))
        row["of_floor"] = row["grants_per_s"] / floor if floor and row["grants_per_s"] else None


def tabled_cells(run):
    """The cells for a table. Variants of a timeline, of which there may be many, have the figure lagging-follower."""
    variants = {s["name"] for s in run["scenarios"] if s.get("steps") and s.get("varied")}
    return [cell for cell in lock_cells(run) if cell["scenario"] not in variants]


def epoch(run):
    """Begin of the run in seconds since 1970; 0 if it does not say."""
    try:
        return calendar.timegm(time.strptime(str(run.get("started_utc", ""))[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0


def footer(run):
    """Where the numbers come from, in one line for the foot of a figure; nothing but what the run says."""
    tool, machine = run["tool"], run["machine"]
    cores = f" ({machine['cores']} cores)" if machine.get("cores") else ""
    trials = sum(cell["trials"] for cell in run["cells"])
    parts = [f"run {run['id']}", f"{trials} trials", f"seed {run.get('seed', '?')}",
             f"machine {machine.get('hostname', '?')}{cores}",
             f"lockbench {tool.get('version', '?')} {tool.get('commit') or ''}".rstrip(),
             str(run.get("started_utc", "")).split("T")[0], versions_line(run).rstrip(".") if run.get("servers") else ""]
    return " · ".join(p for p in parts if p)


def versions_of(text):
    """["zookeeper 3.8.0", "java 17.0.15"] of what run.json says of a topology's servers; of a user's own it adds their addresses."""
    return [part.strip() for part in text.partition(" at ")[0].split(",")]


def versions_line(run, systems=None):
    """The versions of the servers below a printed table, as Markdown; of a run that does not say them it says so. `systems`: of their servers only."""
    found, wanted = {}, systems and {system.partition("@")[2] for system in systems}
    for topology, version in (run.get("servers") or {}).items():
        if wanted is None or topology in wanted:
            found.update(dict.fromkeys(versions_of(version)))
    return f"Servers: {', '.join(sorted(found)) or 'their versions are not in the run'}."


def guards_in_order(names):
    """The usual guards in their usual order, then any others by name."""
    return sorted(set(names), key=lambda g: (GUARDS.index(g) if g in GUARDS else len(GUARDS), g))
