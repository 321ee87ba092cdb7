#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-hunt-order.py LOCKBENCH PLUGINS - where the order of a hunt has the first timeline that breaks each planted lock (tests/data/planted.csv): by lineage, and by the seed alone.

The locks of tests/plugins/plugin-planted.c are those with every pair of five conditions that no single fault brings about. The author of those of plugin-planted-blind.c had not seen the order. tests/live/hunt/live-hunt-planted.sh plays them. Speaks TAP."""
import csv
import functools
import pathlib
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

WITHIN = 0.05
KNOWN, BLIND = 12, 5  # so many are found within that share


@functools.cache
def places_of(plugin, system, seed, *words):
    """{timeline: its place in the order}."""
    call = [sys.argv[1], "hunt", system, "--plugin", f"{sys.argv[2]}/plugin-{plugin}.so", "--list", "--seed", seed, *words]
    lines = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split("\t")[0]: int(line.rsplit("place ", 1)[1]) for line in lines if "\tplace " in line}


def looks_at(locks, seed, least):
    """The locks that the order has not found within that share, if fewer than `least` are."""
    late = []
    for lock in locks:
        near, seeded = (places_of(lock["plugin"], lock["system"], seed, *words) for words in ((), ("--without", "lineage")))
        first, later = (min(order[way] for way in lock["timelines"].split()) for order in (near, seeded))
        said = f"{lock['system']} {lock['lock']}: {first} of {len(near)}, {first / len(near):.1%}; by the seed alone {later}, {later / len(near):.1%}"
        print(f"# {said}")
        late += [said] * (first > WITHIN * len(near))
    return late if len(locks) - len(late) < least else []


def main():
    with open(tap.ROOT / "tests/data/planted.csv", encoding="utf-8") as file:
        locks = list(csv.DictReader(file))
    known = [lock for lock in locks if lock["plugin"] == "planted"]
    blind = [lock for lock in locks if lock["plugin"] != "planted"]
    for seed in ("1", "7", "20261127"):
        tap.check(f"seed {seed}: {KNOWN} of {len(known)} planted locks are found within the first twentieth", looks_at(known, seed, KNOWN))
        tap.check(f"seed {seed}: {BLIND} of {len(blind)} that were planted blindly are", looks_at(blind, seed, BLIND))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
