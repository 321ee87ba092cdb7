#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-hunt-order.py LOCKBENCH PLUGINS - where the order of a hunt has the first timeline that breaks each planted lock (tests/data/planted.csv): by lineage, and by the seed alone.

The locks are tests/plugins/plugin-planted.c with every pair of five conditions that no single fault brings about. tests/live/hunt/live-hunt-planted.sh plays them. Speaks TAP."""
import csv
import pathlib
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

FOUND, WITHIN = 10, 0.05


def places_of(system, seed, *words):
    """{timeline: its place in the order}."""
    call = [sys.argv[1], "hunt", system, "--plugin", f"{sys.argv[2]}/plugin-planted.so", "--list", "--seed", seed, *words]
    lines = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split("\t")[0]: int(line.rsplit("place ", 1)[1]) for line in lines if "\tplace " in line}


def looks_at(locks, seed):
    """How many locks the order has not found within that share, as far as that is too many."""
    late = []
    orders = {(lock["system"], words): places_of(lock["system"], seed, *words) for lock in locks for words in ((), ("--without", "lineage"))}
    for lock in locks:
        near, seeded = (orders[lock["system"], words] for words in ((), ("--without", "lineage")))
        first, later = (min(order[way] for way in lock["timelines"].split()) for order in (near, seeded))
        said = f"{lock['system']} {lock['first']} {lock['second']}: {first} of {len(near)}, {first / len(near):.1%}; by the seed alone {later}, {later / len(near):.1%}"
        print(f"# {said}")
        late += [said] * (first > WITHIN * len(near))
    return late if len(locks) - len(late) < FOUND else []


def main():
    with open(tap.ROOT / "tests/data/planted.csv", encoding="utf-8") as file:
        locks = list(csv.DictReader(file))
    for seed in ("1", "7", "20261127"):
        tap.check(f"seed {seed}: {FOUND} of {len(locks)} planted locks are found within the first twentieth", looks_at(locks, seed))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
