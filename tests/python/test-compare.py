# test: compute
# SPDX-License-Identifier: MIT
"""test-compare.py - plots/compare.py on run folders that are written by hand: which cells meet, which trials count, which word a metric gets, and what of machine and
settings is found to differ. How often its interval is wrong is counted. Run with a Python that has numpy. TAP."""

import contextlib
import csv
import io
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "plots"), os.path.join(HERE, "..", "helpers")]
sys.dont_write_bytecode = True
import compare  # noqa: E402
import ending  # noqa: E402
import tap  # noqa: E402

COLUMNS = ("scenario", "system", "guard", "clients", "verdict", "grants", "handoffs", "measured_s", "grants_per_s", "wait_p50_us", "wait_p99_us", "handoff_p50_us")
CELL = ("load", "x@y", "none", "4")
VARIANTS = ("load~hold_ms=0", "load~hold_ms=7")


def row(cell=CELL, rate=1000, wait=50, verdict="safe"):
    return (*cell, verdict, 4000, 2000, 2, rate, wait, 3 * wait, wait)


def five(cell=CELL, rate=1000, wait=50):
    return [row(cell, rate * (1 + 0.01 * i), wait * (1 + 0.01 * i)) for i in range(-2, 3)]


def load(name="load", hold_ms=0, **more):
    return {"name": name, "title": None, "question": None, "steps": [], "campaign": None, "workload": {"clients": [4], "hold_ms": hold_ms}} | more


def variants():
    return [load(name, int(name[-1]), base="load", varied={"hold_ms": name[-1]}) for name in VARIANTS]


def write(folder, rows, scenarios=None, machine=None, cells=(), **more):
    os.makedirs(folder)
    run = {"schema_version": 1, "id": folder, "tool": {"commit": folder}, "machine": machine or {"cpu": "c", "load_before": len(folder)},
           "scenarios": scenarios or [load()], "cells": list(cells)} | more
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file)
    with open(os.path.join(folder, "trials.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return folder


everything = tempfile.TemporaryDirectory(prefix="test-compare-")


class Place:
    """Two folders, or one, and their comparison."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(dir=everything.name)

    def two(self, a, b, a_more=None, b_more=None):
        sides = [compare.Side(write(os.path.join(self.dir, name), rows, **(more or {}))) for name, rows, more in (("a", a, a_more), ("bb", b, b_more))]
        return compare.compare(*sides)

    def one(self, rows, scenarios):
        side = compare.Side(write(os.path.join(self.dir, "a"), rows, scenarios))
        return compare.compare(side, side)

    def rounds(self, a, b):
        """Each round a list of rows."""
        for name, rounds in (("a", a), ("b", b)):
            for i, rows in enumerate(rounds):
                write(os.path.join(self.dir, name, str(i + 1)), rows)
        return compare.compare(compare.Side(os.path.join(self.dir, "a")), compare.Side(os.path.join(self.dir, "b")))


def is_(c, **wanted):
    found = {r.metric: r.difference for r in c.rows}
    return [f"{name} is {found.get(name)}, expected {word}" for name, word in wanted.items() if found.get(name) != word]


def equal(found, expected):
    return [] if found == expected else [f"{found}, expected {expected}"]


def of(c, metric="grants_per_s"):
    return next(r for r in c.rows if r.metric == metric)


# Fast and slow rounds that no median tells apart: B is 2 % slower in each.
ROUNDS = 8
def rate_of(i, slower):  # noqa: E302
    return (1000 + 150 * (i % 4)) * (0.98 if slower else 1)



def versions():
    """One run of three versions: verdicts that differ, those that are the same, and speed beside the first."""
    def cell(scenario, system, verdict, decided=5):
        return {"scenario": scenario, "system": system, "guard": "none", "verdict": verdict, "trials": 5, "decided": decided, "undecided": 5 - decided, "upper95": 0.45, "violated": decided if verdict == "violated" else 0}

    cells = [cell("load", "x@y", "safe"), cell("load", "x@y:new", "safe"), cell("fault", "x@y", "violated"), cell("fault", "x@y:new", "safe"), cell("fault", "x@y:odd", "undecided", 0)]
    rows = [*five(), *five(("load", "x@y:new", "none", "4"), 2000)]
    side = compare.Side(write(os.path.join(Place().dir, "a"), rows, [load(), {"name": "fault", "steps": ["kill primary"]}], cells=cells, servers={"y": "s 1", "y:new": "s 2"}))
    c = compare.compare(side, side)
    tap.check("a verdict that a version changes is named with both versions, an undecided cell is not", equal(
        [(r["scenario"], r["a"]["servers"], r["a"]["verdict"], r["a"]["count"], r["b"]["servers"], r["b"]["verdict"], r["b"]["count"]) for r in c.verdicts], [("fault", "s 1", "violated", 5, "s 2", "safe", 5)]))
    tap.check("those that agree are counted", equal(c.same_verdicts, 1))
    faster = [("x@y", "x@y:new", "faster")]
    tap.check("the speed of a version stands beside that of the first", equal([(r.a_cell[1], r.b_cell[1], r.difference) for r in c.rows if r.metric == "grants_per_s"], faster))
    steps = [load(), {"name": "fault", "steps": ["kill primary"]}]
    a = compare.Side(write(os.path.join(Place().dir, "a"), five(), steps, cells=[cells[0], cells[2]], servers={"y": "s 1"}))
    b = compare.Side(write(os.path.join(Place().dir, "b"), five(("load", "x@y:new", "none", "4"), 2000), steps, cells=[cells[1], cells[3]], servers={"y:new": "s 2"}))
    c = compare.compare(a, b)
    tap.check("a run on servers of another origin is compared with the one on those of the machine", equal(
        ([(r["scenario"], r["a"]["servers"], r["b"]["servers"]) for r in c.verdicts], c.same_verdicts, [(r.a_cell[1], r.b_cell[1], r.difference) for r in c.rows if r.metric == "grants_per_s"], list(c.left_out)),
        ([("fault", "s 1", "s 2")], 1, faster, [])))


def origins():
    """Servers of another origin are matched cell by cell, and their settings are compared."""
    def side(name, system, setting, more=()):
        cells = [{"scenario": "fault", "system": each, "guard": "none", "verdict": "safe", "trials": 5, "decided": 5, "undecided": 0, "upper95": 0.45, "violated": 0} for each in (system, *more)]
        settings = [{"topology": system.partition("@")[2], "measured": True, "differs": [setting], "storage": "disk"}]
        scenarios = [load(), {"name": "fault", "steps": ["kill primary"]}]
        return compare.Side(write(os.path.join(Place().dir, name), five(("load", system, "none", "4")), scenarios, cells=cells, servers={system.partition("@")[2]: "s"}, settings=settings))

    c = compare.compare(side("a", "x@y", "fsync=off"), side("b", "x@y:new", "fsync=on"))
    tap.check("another setting of servers of another origin is said", equal(list(c.differs), ['settings.y.differs: ["fsync=off"] in A, ["fsync=on"] in B']))
    a = side("c", "x@y", "fsync=on")
    a.systems["x@y:new"] = None  # asked of another scenario
    c = compare.compare(a, side("d", "x@y:new", "fsync=on"))
    tap.check("a cell is matched though the origin was asked something else there", equal((c.same_verdicts, bool(c.rows), list(c.left_out)), (1, True, [])))


def verdicts():
    """What a second run of the same cells reproduced, on a machine with other servers and without a file of trials."""
    def cells(**verdict_of):
        return [{"scenario": "fault", "system": f"{lock}@y", "guard": "none", "verdict": verdict, "trials": 5, "decided": 0 if verdict == "undecided" else 5, "undecided": 0,
                 "expected": "race" if lock == "lucky" else "safe", "upper95": 0.45, "violated": 2 if verdict == "mixed" else 0, "stuck": 5 if verdict == "stuck" else 0}
                for lock, verdict in verdict_of.items()]

    def side(name, servers, steps="kill primary", **verdict_of):
        return compare.Side(write(os.path.join(place.dir, name), [], [{"name": "fault", "steps": [steps]}], cells=cells(**verdict_of), servers={"y": servers}))

    place = Place()
    c = compare.compare(side("a", "s 1", x="safe", y="stuck", lucky="safe", late="undecided", gone="safe"), side("bb", "s 2", x="mixed", y="stuck", lucky="mixed", late="safe", new="safe"))
    tap.check("a verdict that the other run does not have is named with both", equal(
        [(r["a"]["system"], r["a"]["servers"], r["a"]["verdict"], r["a"]["count"], r["b"]["servers"], r["b"]["verdict"], r["b"]["count"]) for r in c.verdicts],
        [("x@y", "s 1", "safe", 5, "s 2", "mixed", 2)]))
    tap.check("the others are counted: the same, and races; not what one of them has not decided or not played", equal((c.same_verdicts, c.races), (1, 1)))
    c = compare.compare(side("c", "s 1", x="safe"), side("dd", "s 1", "wait 1s", x="stuck"))
    tap.check("nor what was asked otherwise, which is said", equal((c.verdicts, list(c.left_out)), ([], ['verdict of fault.x@y.none: fault.steps: ["kill primary"] in A, ["wait 1s"] in B'])))


def floors():
    """Two runs of which the machine of the second is half as fast: the lock is as near to its floor as before."""
    def side(rate, share):
        return [(s, f"{p}@y", "none", "4", "safe", 4000, 0, 2, r, "", "", "", t) for t in range(1, 6) for s, p, r in
                (("load", "floor-x", rate + t), ("load", "x", share * (rate + t)), ("other", "x", rate))]

    global COLUMNS
    COLUMNS, before = (*COLUMNS, "trial"), COLUMNS
    c = Place().two(side(1000, 0.9), side(500, 0.9), *[{"scenarios": [load(), load("other")]}] * 2)
    COLUMNS = before
    rows = [(r.b_cell[:2], round(r.a, 6), r.difference) for r in c.rows if r.metric == "of_floor"]
    tap.check("grants beside those of the floor in the same round, where there is one", equal(rows, [(("load", "x@y"), 0.9, "same")]))


def words():
    c = Place().two(five(), five(rate=1100, wait=60))
    tap.check("more grants are faster, longer waits slower", is_(c, grants_per_s="faster", wait_p50_us="slower", handoff_p50_us="slower"))
    tap.check("the ratio is that of the medians, of all repeats", equal((round(of(c).ratio, 6), of(c).a_repeats, c.count("slower"), c.count("faster")), (1.1, 5, 3, 1)))
    tap.check("load, id and commit are of a run", equal(list(c.differs), []))
    tap.check("fewer grants are slower, shorter waits faster", is_(Place().two(five(), five(rate=900, wait=40)), grants_per_s="slower", wait_p50_us="faster"))
    tap.check("what overlaps cannot be told apart", is_(Place().two(five(), five(rate=1005, wait=50.2)), grants_per_s="same", wait_p50_us="same"))
    c = Place().two(five(), [row(rate=5000, wait=5)] * 4)
    tap.check("too few repeats are unknown", is_(c, grants_per_s="unknown") + equal((of(c).low, of(c).too_few), (None, True)))
    c = Place().two(five(rate=100), five(rate=100))
    tap.check("a quantile of few samples is no metric", equal([r.metric for r in c.rows], ["grants_per_s", "wait_p50_us", "handoff_p50_us"]))
    c = Place().two(five(rate=15), five(rate=15))
    tap.check("the samples of a hand-off are hand-offs", equal([r.metric for r in c.rows], ["grants_per_s", "wait_p50_us"]))
    tap.check("a value of 0 has no ratio", equal(of(Place().two(five(), [row(rate=0)] * 5)).ratio, None))


def which_trials():
    c = Place().two(five(), five() + [row(rate=1, verdict="undecided")])
    tap.check("an undecided trial does not count", equal(of(c).b_repeats, 5))
    c = Place().two(five(), five(rate=9000) + [row(rate=9000, verdict="violated")])
    tap.check("a lock that did not exclude has no speed", equal((c.rows, list(c.left_out)), ([], ["load.x@y.none, 4 clients: violated in B"])))
    one, other = CELL[:3] + ("1",), ("load", "x@z", "none", "1")
    c = Place().two(five() + five(one, 2000), five(one, 2000) + five(other, 3000))
    tap.check("cells meet by scenario, system, guard and clients",
              equal(({r.b_cell for r in c.rows}, list(c.left_out)), ({one}, ["load.x@z.none, 1 client: A did not measure it", "load.x@y.none, 4 clients: B did not measure it"])))
    measures_nothing = {"scenarios": [load(steps=["wait 1s"]), load("storm", campaign={"faults": []})]}
    c = Place().two(five() + five(("storm",) + CELL[1:]), five(), measures_nothing, measures_nothing)
    tap.check("timelines and campaigns measure nothing", equal((c.rows, list(c.left_out)), ([], [])))


def what_differs():
    def entry(topology, measured, differs, **more):
        return {"topology": topology, "measured": measured, "differs": [differs]} | more

    def cell(wake):
        return {"scenario": "load", "system": "x@y", "guard": "none", "verdict": "safe", "upper95": 1, "trials": 1, "violated": 0, "undecided": 0, "options": {"wake": wake}}

    c = Place().two(five(), five(),
                    {"machine": {"cpu": "c", "cores": 2}, "cells": [cell(False)], "servers": {"y": "1.0", "z": "1"}, "jit": "full",
                     "settings": [entry("y", True, "a"), entry("y", False, "a"), entry("z", True, "a")]},
                    {"machine": {"cpu": "d", "cores": 2}, "cells": [cell(True)], "servers": {"y": "1.1", "z": "2"}, "jit": "fast", "scenarios": [load(hold_ms=7, settle=3)],
                     "settings": [entry("z", True, "b"), entry("y", False, "b"), entry("y", True, "b")]})
    tap.check("another machine or setting is named, that of what is not compared is not", equal(set(c.differs), {
        'machine.cpu: "c" in A, "d" in B', 'servers.y: "1.0" in A, "1.1" in B', 'settings.y.differs: ["a"] in A, ["b"] in B', 'jit: "full" in A, "fast" in B',
        "load.hold_ms: 0 in A, 7 in B", "load.settle: nothing in A, 3 in B", "x@y.wake: false in A, true in B"}))
    tap.check("and it is compared all the same: the user decides", is_(c, grants_per_s="same"))
    coroutines, poisson = ([load(workload={"clients": [4], "hold_ms": 0} | more)] for more in ({"driver": "coroutine"}, {"arrivals": "poisson", "rate_per_s": 9}))
    c = Place().two(five(), five(), {"scenarios": coroutines}, {"scenarios": poisson})
    tap.check("nor are other clients alike: what runs them, and when they ask", equal(list(c.differs), [
        'load.driver: "coroutine" in A, nothing in B', 'load.arrivals: nothing in A, "poisson" in B', "load.rate_per_s: nothing in A, 9 in B"]))
    c = Place().two(five(), five(), {"scenarios": [load(), load("other", settle=1)]}, {"scenarios": [load(), load("other", settle=2)]})
    tap.check("nor that of another scenario", equal(list(c.differs), []))
    stored = lambda disk, memory: [entry("y", True, disk, storage="disk"), entry("y", True, memory, storage="memory")]  # noqa: E731
    c = Place().two(five(), five(), {"settings": stored("a", "b")}, {"settings": stored("c", "b")[::-1]})
    tap.check("settings are compared with those of the same storage", equal(list(c.differs), ['settings.y.differs: ["a"] in A, ["c"] in B']))
    c = Place().two(five(), five(), {"scenarios": [load(settle=0.3, list=[0.1])]}, {"scenarios": [load(settle=1.7, list=[0.7])]})
    tap.check("what differs is said in the digits that were typed", equal(list(c.differs), ["load.settle: 0.3 in A, 1.7 in B", "load.list: [0.1] in A, [0.7] in B"]))


def one_run():
    first, second = ((name,) + CELL[1:] for name in VARIANTS)
    c = Place().one(five(first) + five(second, 500) + five(("other",) + CELL[1:]), [*variants(), load("other", base="other", varied={})])
    tap.check("a variant is compared with the first of its scenario, and what it varies is no difference",
              equal(({(r.a_cell, r.b_cell) for r in c.rows}, list(c.differs), list(c.left_out)), ({(first, second)}, [], [])))
    c = Place().one(five(), [load()])
    tap.check("a run without variants has nothing to compare", equal((c.rows, list(c.left_out)), ([], [])))
    c = Place().one([row(first, rate_of(i, False)) for i in range(ROUNDS)] + [row(second, rate_of(i, True)) for i in range(ROUNDS)], variants())
    tap.check("in one run the repeats of a round are pairs", is_(c, grants_per_s="slower") + equal(of(c).paired, True))


def in_turn():
    sides = [[row(rate=rate_of(i, slower)) for i in range(ROUNDS)] for slower in (False, True)]
    c = Place().two(*sides)
    tap.check("two runs one after the other have no pairs", is_(c, grants_per_s="same") + equal(of(c).paired, False))
    other = ("load", "z@y", "none", "4")
    rounds = [[[r, row(other, rate_of(i, False))] for i, r in enumerate(side)] for side in sides]
    c = Place().rounds(*rounds)
    tap.check("rounds of two builds are pairs, cell by cell", equal(
        [(r.b_cell[1], r.paired, r.a_repeats, r.difference) for r in c.rows if r.metric == "grants_per_s"], [("x@y", True, ROUNDS, "slower"), ("z@y", True, ROUNDS, "same")]))
    bad = [[row(verdict="undecided")] if i < 2 else rows for i, rows in enumerate(rounds[0])]
    c = Place().rounds(bad, rounds[1])
    tap.check("a round that is undecided on one side is no pair", equal((of(c).a_repeats, of(c).paired), (ROUNDS - 2, False)))
    tap.check("rounds of another number are no pairs", equal(of(Place().rounds(rounds[0], rounds[1][:-1])).paired, False))
    drifting = [[row(rate=1000 * 2**i)] for i in range(ROUNDS + 2)]
    gaps = [[[] if i == gap else rows for i, rows in enumerate(drifting)] for gap in (0, ROUNDS + 1)]
    tap.check("where either side lacks a round, the others are pairs all the same", is_(Place().rounds(*gaps), grants_per_s="same"))
    lost = [[r, row(other, verdict="violated" if i == 3 else "safe")] for i, (r, _) in enumerate(rounds[1])]
    tap.check("a build that loses exclusion in one round has another verdict", equal(
        [(r["a"]["system"], r["a"]["verdict"], r["b"]["verdict"], r["b"]["count"]) for r in Place().rounds(rounds[0], lost).verdicts], [(other[1], "safe", "violated", 1)]))
    tap.check("what one of two runs did not measure is said of either", equal(
        [[line.split(": ")[1] for line in Place().two(*sides).left_out] for sides in ((five() + five(other), five()), (five(), five() + five(other)))],
        [["B did not measure it"], ["A did not measure it"]]))
    near = [[row(rate=1000 + i) for i in side] for side in ((0, 1, 2, 3, 5), (4, 6, 7, 8, 9))]
    tap.check("five that overlap five cannot be told apart", is_(Place().two(*near), grants_per_s="same"))


def bad_folders():
    def refused(expected, trials=None, **more):
        place = write(os.path.join(Place().dir, "a"), five(), **more)
        if trials is not None:
            with open(os.path.join(place, "trials.csv"), "w", encoding="utf-8") as file:
                file.write(trials)
        try:
            compare.Side(place)
        except ending.BadInput as error:
            return [] if expected in str(error) else [f"{error}, expected {expected}"]
        return ["was read"]

    head = ",".join(COLUMNS) + "\n"
    tap.check("a folder that is no run is refused with the place", refused("run.json: 'scenarios' is", scenarios="load")
              + refused("trials.csv:1: no column 'guard'", "scenario,system\n") + refused("trials.csv:2: expected 12 fields", head + "load,x@y\n")
              + refused("trials.csv:2: grants_per_s is '-5'", head + "load,x@y,none,4,safe,1,1,1,-5,1,1,1\n")
              + refused("trials.csv:2: wait_p50_us is 'x'", head + "load,x@y,none,4,safe,1,1,1,5,x,1,1\n"))


def intervals():
    import numpy

    rng, pairs = numpy.random.default_rng(7), 400
    apart = lambda low, high: low > 1 or high < 1  # noqa: E731
    wrong = sum(apart(*compare.interval(rng.normal(1, 0.02, 5), rng.normal(1, 0.02, 5))) for _ in range(pairs))
    found = sum(apart(*compare.interval(rng.normal(1, 0.02, 5), rng.normal(0.9, 0.02, 5))) for _ in range(pairs))
    print(f"# of {pairs} pairs of runs of the same build {wrong} are told apart; of as many with 10 % planted {found}")
    tap.check("two runs of the same build are told apart in at most 3 % of cases", [] if wrong <= 0.03 * pairs else [f"{wrong} of {pairs}"])
    tap.check("a planted 10 % is found in nine of ten", [] if found >= 0.9 * pairs else [f"{found} of {pairs}"])
    again = [compare.interval(values, [2, 3, 4, 5, 6]) for values in ([1, 2, 3, 4, 5, 6], [6, 2, 5, 4, 1, 3])]
    ends = [compare.interval_of_pairs(range(n, 0, -1)) for n in (8, 15)]
    tap.check("an interval of pairs covers 99 %: of 8 from the least to the greatest, of 15 from the third", equal(ends, [(1, 8), (3, 13)]))
    tap.check("the same values in another order give the same interval", equal(again[0], again[1]))


def main():
    for part in (versions, origins, verdicts, floors, words, which_trials, what_differs, one_run, in_turn, bad_folders, intervals):
        with contextlib.redirect_stderr(io.StringIO()):
            part()
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
