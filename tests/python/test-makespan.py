#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-makespan.py - the simulated makespan lies between what no schedule can beat and what the rule of the longest first guarantees. TAP."""
import pathlib
import random
import sys

sys.path[1:1] = [str(pathlib.Path(__file__).resolve().parents[1] / "helpers")]
import tap  # noqa: E402

sys.path.insert(1, str(tap.ROOT / "plots"))
import makespan  # noqa: E402


def of_cases():
    draw = random.Random(7)
    for case in range(300):
        alone = [draw.uniform(1, 60) for _ in range(draw.randrange(4))]
        others = [draw.uniform(0.5, 30) for _ in range(draw.randrange(1, 80))]
        overlap, machines = draw.uniform(1, 8), draw.randrange(1, 40)
        took = makespan.makespan(alone, others, overlap, machines)
        least = max([(sum(alone) + sum(others) / overlap) / machines, *alone, *others])
        if not least - 1e-9 <= took <= sum(alone) + max(sum(others) / overlap, *others) + 1e-9:
            yield f"case {case}: {took}, at least {least} is possible"


def of_what_measures():
    """Two loads of 10 s cannot overlap, ten timelines of 1 s can."""
    if makespan.makespan([10, 10], [], 8, 1) != 20 or makespan.makespan([10, 10], [], 8, 2) != 10:
        yield "loads overlap"
    if makespan.makespan([], [1] * 10, 5, 1) != 2:
        yield "timelines do not overlap"


def of_units():
    run = {"scenarios": [{"name": "load~x=1", "base": "load", "steps": [], "campaign": None}, {"name": "load", "base": "load", "steps": [], "campaign": None},
                         {"name": "steps", "base": "steps", "steps": ["heal"], "campaign": None}]}
    rows = [{"scenario": name, "trial_ms": ms} for name, ms in (("load", 1000), ("load~x=1", 2000), ("steps", 500), ("steps", 700))]
    if makespan.units(run, rows) != ([3], [0.7, 0.5]):
        yield f"{makespan.units(run, rows)}"


tap.check("it is between the bounds", list(of_cases()))
tap.check("what measures speed runs alone", list(of_what_measures()))
tap.check("variants of a load stay together", list(of_units()))
sys.exit(tap.end())
