# SPDX-License-Identifier: MIT
"""beside.py - what the paper says of other published runs: of other versions of servers, and of libraries. FOLDER has a folder reference-NAME for each.

Keys   beside.NAME.systems, .scenarios, .cells, .each, .violated, .safe, ...   of the cells that were decided without a guard
       beside.NAME.versions                                                  how many versions of servers stated themselves
       beside.NAME.differing                                                 questions to a lock that came out otherwise on another version
       beside.NAME.both, .alike                                              questions that a lock was asked on servers of a user's own and on ours, and how many came out alike
       beside.NAME.libraries                                                 how many libraries it asked (systems called peer:)
       beside.NAME.SCENARIO.lost                                             of so many of their systems that were asked this
       beside.NAME.SCENARIO.SYSTEM                                           what that cell came to, and in how many trials
       beside.NAME.server.TOPOLOGY                                           what its servers stated
"""
import collections
import glob
import json
import os

import hunted  # finds ../plots
from hunted import BadInput, run_folder
from written import integer, listing, tex

VERDICTS = ("violated", "safe", "stuck", "delayed", "mixed", "undecided")


def read(folder):
    """{NAME: its cells and servers}; {} of a folder without runs. BadInput."""
    runs = {}
    for path in sorted(glob.glob(os.path.join(folder, "reference-*", "run.json"))) if folder else ():
        try:
            with open(path, encoding="utf-8") as file:
                run = run_folder.whole(json.load(file))
            runs[path.split(os.sep)[-2].removeprefix("reference-")] = run
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise BadInput(f"{path}: {error}") from error
    return runs


def names(runs):
    return {f"beside.{name}" for name in runs}


def of_any_version(system):
    """redis-token@sentinel of redis-token@sentinel:trixie. The colon of peer:NAME stands before the @."""
    lock, at, servers = system.partition("@")
    return lock + at + servers.split(":")[0]


def outcome(cell):
    count = {"violated": cell.get("violated"), "stuck": cell.get("stuck"), "delayed": cell.get("delayed")}.get(cell["verdict"])
    return tex(cell["verdict"]) + (f" {count} of {cell['decided']}" if count is not None else f" in {cell['decided']} of {cell['trials']}")


def is_library(cell):
    return cell["system"].startswith("peer:") and not cell["system"].startswith("peer:reference@")  # that is an example of an adapter


def lost(cells):
    decided = [c for c in cells if is_library(c) and c["decided"]]
    asked, violated = (collections.Counter(c["scenario"] for c in some) for some in (decided, [c for c in decided if c["violated"]]))
    return {f"{scenario}.lost": f"{integer(violated[scenario])} of {integer(count)}" for scenario, count in asked.items()}


def on_own(cells):
    came = collections.defaultdict(dict)
    for cell in cells:
        lock, _, topology = cell["system"].partition("@")
        came[cell["scenario"], lock][topology.startswith("own-")] = cell["verdict"]
    both = [verdicts for verdicts in came.values() if len(verdicts) == 2]
    return {"both": integer(len(both)), "alike": integer(sum(verdicts[True] == verdicts[False] for verdicts in both))}


def keys_of(run):
    cells = [c for c in run["cells"] if c["guard"] == "none" and c["verdict"] in VERDICTS]
    came = collections.defaultdict(set)
    for cell in cells:
        if cell["verdict"] != "undecided":
            came[cell["scenario"], of_any_version(cell["system"])].add(cell["verdict"])
    each = sorted({c["trials"] for c in cells})
    differing = sorted({lock for (_, lock), verdicts in came.items() if len(verdicts) > 1})
    counts = collections.Counter(c["verdict"] for c in cells)
    return {"systems": integer(len({c["system"] for c in cells})), "libraries": integer(len({c["system"].split("@")[0] for c in cells if is_library(c)})), "scenarios": integer(len({c["scenario"] for c in cells})),
            "locks": integer(len({of_any_version(c["system"]) for c in cells})), "cells": integer(len(cells)), "questions": integer(len(came)), "each": listing(integer(n) for n in each), "versions": integer(len(set(run["servers"].values()))),
            "differing": integer(sum(len(verdicts) > 1 for verdicts in came.values())), "differing_locks": listing(rf"\sys{{{lock}}}" for lock in differing),
            "unexpected": integer(sum(c["as_expected"] is False for c in cells)), "commit": tex(run["tool"]["commit"]), "started": tex(run["started_utc"][:10]),
            **lost(cells), **on_own(cells), **{f"server.{topology}": tex(run_folder.versions_of(text)[0]) for topology, text in run["servers"].items()},
            **{verdict: integer(counts[verdict]) for verdict in VERDICTS}, **{f"{c['scenario']}.{c['system']}": outcome(c) for c in cells}}


def keys(runs):
    return {f"beside.{name}.{key}": text for name, run in runs.items() for key, text in keys_of(run).items()}
