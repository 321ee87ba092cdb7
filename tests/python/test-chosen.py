# test: compute
# SPDX-License-Identifier: MIT
"""test-chosen.py - plots/chosen.py: which cell is meant by a few words, what is said when it is none or more than one, which of its trials is told, and the command
that makes it once more. TAP."""

import json
import os
import shlex
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "plots"), os.path.join(HERE, "..", "helpers")]
sys.dont_write_bytecode = True
import chosen  # noqa: E402
import ending  # noqa: E402
import run_folder  # noqa: E402
import tap  # noqa: E402

RUN = ("failover token@sentinel none", "failover token@sentinel fence", "failover row@pg none", "failover row@pg-sync none", "control token@redis none",
       "control row@pg none", "storm.v2 token@redis none")


def cells(names):
    """"scenario system guard [verdict]" """
    return [dict(zip(("scenario", "system", "guard", "verdict"), (*name.split(), "safe"))) | {"violated": int("violated" in name)} for name in names]


def said(call, *arguments):
    """What it returns, or complains of."""
    try:
        return call(*arguments)
    except ending.BadInput as error:
        return str(error)


def named(words, names=RUN):
    found = said(chosen.named, cells(names), words.split())
    return found if isinstance(found, str) else chosen.name_of(found)


def all_are(title, pairs):
    tap.check(title, [f"{words}: {got!r}, expected {wanted!r}" for words, got, wanted in pairs if got != wanted])


def each(title, wanted, names=RUN):
    all_are(title, [(words, named(words, names), name) for words, name in wanted.items()])


each("a whole name is that cell", {
    "failover.token@sentinel": "failover.token@sentinel", "failover.token@sentinel.none": "failover.token@sentinel",
    "failover token@sentinel fence": "failover.token@sentinel.fence", "storm.v2 token@redis": "storm.v2.token@redis"})
each("what only one cell has is that cell", {
    "fence": "failover.token@sentinel.fence", "row@pg-sync": "failover.row@pg-sync", "control token": "control.token@redis", "control.row": "control.row@pg",
    "token.control": "control.token@redis", "storm.v2": "storm.v2.token@redis"})
ONE = ("load broken none violated", "load broken fence n/a", "load broken claim n/a")
TWO = ("load broken none violated", "load broken fence safe", "load broken claim n/a")
each("cells without a question stand in nobody's way", {"load": "load.broken", "claim": "load.broken.claim"}, ONE)
all_are("unless two have one, or none has", [("two", named("load", TWO)[:34], "'load' could be any of 3 cells: lo"),
                                           ("none", named("load", ONE[1:])[:34], "'load' could be any of 2 cells: lo")])
each("a name is cut at the dots that are not its own", {
    "load~hold_ms=0.6.token@redis": "load~hold_ms=0.6.token@redis", "load~hold_ms=0.5.token@redis.fence": "load~hold_ms=0.5.token@redis.fence",
    "load~hold_ms=0.6.token": "load~hold_ms=0.6.token@redis", "fence.load~hold_ms=0.5.token": "load~hold_ms=0.5.token@redis.fence",
    "token.load~hold_ms=0.6": "load~hold_ms=0.6.token@redis", "load.row": "load.row@pg"},
     ("load~hold_ms=0.5 token@redis none", "load~hold_ms=0.5 token@redis fence", "load~hold_ms=0.6 token@redis none", "load row@pg none"))
each("none is a guard and no topology", {"a local@none": "a.local@none.fence", "none": "a.row@pg"}, ("a local@none fence", "a row@pg none"))
each("what several have is answered with these", {
    "failover": "'failover' could be any of 4 cells: failover.token@sentinel, failover.token@sentinel.fence, failover.row@pg, failover.row@pg-sync",
    "failover row": "'failover.row' could be any of 2 cells: failover.row@pg, failover.row@pg-sync",
    "row@pg": "'row@pg' could be any of 2 cells: failover.row@pg, control.row@pg"})
each("a misspelt word is answered with the nearest", {
    "failover.tokn@sentinel": "unknown cell 'failover.tokn@sentinel', did you mean 'failover.token@sentinel'?",
    "failovr": "unknown cell 'failovr', did you mean 'failover'?",
    "token@sentinel failovr": "unknown cell 'token@sentinel.failovr': there is no 'failovr', did you mean 'failover'?"})
each("what no cell has is answered with what there is", {
    "control fence": "unknown cell 'control.fence', this run has control.token@redis, control.row@pg",
    "control qqqqqqqqqq": "unknown cell 'control.qqqqqqqqqq', this run has control.token@redis, control.row@pg"})
each("of a run with one cell", {"qqqqqq": "unknown cell 'qqqqqq', this run has a.b@c", "": "a.b@c"}, ("a b@c none",))
each("of a run with none", {"x": "unknown cell 'x', this run has no cells"}, ())
each("without a word it is the first that was violated", {"": "b.y@t"}, ("a x@t none", "b y@t none violated", "c z@t none violated"))
each("or there is everything", {
    "": "expected a cell, as none was violated; this run has control.token@redis, control.row@pg, storm.v2.token@redis"}, RUN[4:])
each("of many cells the scenarios", {
    "": "expected a cell, as none was violated; this run has cells of a, b, c, d", "qqqq": "unknown cell 'qqqq', this run has cells of a, b, c, d"},
     [f"{s} {p}@t none" for s in "abc" for p in "xyzu"] + ["d x@u none"])
MANY = named("failover", [f"failover lock-{i:02}@sentinel none" for i in range(80)])
LAST = MANY.rpartition(", failover.lock-")[2]
tap.check("a list of many cells ends with how many more there are", [] if LAST == f"{LAST[:2]}@sentinel and {79 - int(LAST[:2])} more" else [MANY])
tap.check("words without end are of no cell", [] if "unknown cell" in named(".".join(["fence"] * 17) + " " + "x" * 300) else ["found"])


# ---- the trial ------------------------------------------------------------------------------------------------------------------


def trial(number, verdict, clients="2", there=True):
    return {"clients": clients, "trial": str(number), "seed": "7", "verdict": verdict, "why": "", "history": "h", "is_there": there}


def of(rows, number=0):
    found = said(chosen.chosen, rows, number)
    return found if isinstance(found, str) else (found[0] and found[0]["trial"] + "/" + found[0]["clients"], found[1])


all_are("of the trials the one with most to tell", [
    ("the first violated", of([trial(1, "safe"), trial(2, "violated"), trial(3, "violated")]), ("2/2", 3)),
    ("with a history", of([trial(1, "violated", there=False), trial(2, "violated")]), ("2/2", 2)),
    ("violated before there", of([trial(1, "safe"), trial(2, "violated", there=False)]), ("2/2", 2)),
    ("stuck before late before safe", of([trial(1, "safe"), trial(2, "delayed"), trial(3, "stuck")]), ("3/2", 3)),
    ("late before undecided", of([trial(1, "undecided"), trial(2, "delayed")]), ("2/2", 2)),
    ("else the first there", of([trial(1, "safe", there=False), trial(2, "safe")]), ("2/2", 2)),
    ("counted with as many clients", of([trial(1, "safe", "4"), trial(1, "violated", "8"), trial(2, "safe", "8")]), ("1/8", 2)),
    ("of one number", of([trial(1, "violated"), trial(2, "safe", "4"), trial(2, "violated", "8")], 2), ("2/8", 1)),
    ("a skipped cell", of([]), (None, 0)),
    ("no such number", of([trial(1, "safe")], 3), "--trial 3: this cell has 1 trials"),
    ("nor in a skipped cell", of([], 1), "--trial 1: this cell has 0 trials, it was skipped")])

# ---- a folder -----------------------------------------------------------------------------------------------------------------

HEADER = "scenario,system,guard,clients,trial,seed,verdict,why,history\n"


def folder(run, csv):
    path = tempfile.mkdtemp(dir=everything.name)
    for name, content in (("run.json", run), ("trials.csv", csv)):
        if content is not None:
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def refused(title, run, csv, wanted):
    place = folder(run, csv)
    answer = said(lambda: (run_folder.load_any(place), chosen.trials_of(place)))
    tap.check(title, [] if isinstance(answer, str) and wanted in answer else [f"{answer}, expected {wanted}"])


with tempfile.TemporaryDirectory(prefix="test-chosen-") as name:
    everything = type("", (), {"name": name})
    GOOD = {"cells": cells(RUN)}
    refused("a folder that is no run", None, HEADER, "expected a results folder with run.json")
    refused("a run.json that is broken", '{"cells": [\n}', HEADER, "run.json:2: ")
    refused("a run.json without cells", {"a": 1}, HEADER, "expected an object with a list 'cells'")
    refused("nested without end", "[" * 100000, HEADER, "run.json")
    refused("no trials.csv", GOOD, None, "trials.csv: No such file")
    refused("a column that is missing", GOOD, HEADER.replace("seed,", ""), "no column 'seed'")
    refused("a history that leads out of the folder", GOOD, HEADER + "failover,row@pg,none,2,1,7,safe,,../../etc/passwd\n", "history is '../../etc/passwd', expected histories/NAME")
    refused("a field too few", GOOD, HEADER + "failover,row@pg,none\n", "expected 9 fields")

# ---- what is said of it ----------------------------------------------------------------------------------------------------------

CELL = cells(["load token@redis none violated"])[0] | {"trials": 3, "expected": "safe", "as_expected": False, "reason": "so"}
WORKLOAD = {"name": "load", "title": "t", "file": "scenarios/speed/load.ini", "steps": [], "workload": {"duration_s": 0.5, "warmup_s": 0, "settle_s": 1}}
HEAD = "\n".join(chosen.head(CELL, WORKLOAD, trial(2, "violated"), 3))
all_are("the verdict, the scenario, the trial and what was expected stand above the story", [
    ("head", HEAD, "violated: 1 of 3 trials of this cell were violated\n  load: t\n  token@redis, guard none, 2 clients, trial 2 of 3, seed 7\n"
                   "  NOT AS EXPECTED, which was safe: so"),
    ("skipped", "\n".join(chosen.head(CELL | {"verdict": "skipped", "why": "no server", "expected": None}, None, None, 0)),
     "skipped: no server\n  load\n  token@redis, guard none\n  expected: nothing is stated for this cell")])
ARGV = ["lockbench", "run", "-s", "local.x=a b", "--plugin", "p\x1b.so", "-s", "clients=1,4", "--set", "ttl_ms=9", "-j", "2"]
AGAIN = chosen.again({"argv": ARGV, "seed": 5}, CELL, WORKLOAD, trial(2, "violated", "4"))
all_are("the command says what the run says of itself, as words of a shell", [
    ("load", shlex.split(AGAIN), ["load", "-b", "token@redis", "-g", "none", "-n", "2", "-s", "clients=4", "-s", "duration_s=0.5", "-s", "settle_s=1",
                                  "-s", "local.x=a b", "--plugin", "p?.so", "-s", "ttl_ms=9", "--seed", "5"]),
    ("a variant", chosen.again({}, CELL, WORKLOAD | {"base": "all", "steps": [1]}, trial(1, "safe")).split()[0], "all"),
    ("a file", chosen.again({}, CELL, WORKLOAD | {"file": "/x/my load.ini", "steps": [1]}, trial(1, "safe")), "'/x/my load.ini' -b token@redis -g none -n 1 "
                                                                                                              "-s duration_s=0.5 -s settle_s=1")])
sys.exit(tap.end())
