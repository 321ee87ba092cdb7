#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""carries.py RUN_DIR SYSTEM... - the table of docs/speed.md, as Markdown: what a lock asks of its servers, which another machine repeats, beside the rate, which it does not.

Of the load `contention`: the medians of all repeats that have a speed. Alone, a grant is never refused, so its requests and commits are the protocol's.
"""
import statistics
import sys

import ending
import run_folder
import speed

LOAD, ALONE, CONTENDED = "contention", 1, (8, 16)
TEXTS = ("scenario", "system", "guard", "verdict", "speed_void")
NUMBERS = ("clients", "grants_per_s", "measured_s", "requests", "commits", "requests_per_handoff", "commits_per_handoff", "handoffs_per_s")


def text_of(values, digits=1):
    found = [value for value in values if value is not None]
    return f"{statistics.median(found):,.{digits}f}" if found else "–"


def pause_of(run, system):
    cell = next(c for c in run["cells"] if (c["scenario"], c["system"], c["guard"]) == (LOAD, system, "none"))
    if cell.get("waits") != "polls":
        return "is told of a release"
    first, last = cell["poll_first_ms"], cell["poll_last_ms"]
    return f"polls, pause {first:g} ms" if first == last else f"polls, pause {first:g} to {last:g} ms"


def row(run, rows, system):
    mine = [r for r in rows if (r["scenario"], r["system"], r["guard"]) == (LOAD, system, "none") and r["speed_void"] != "1" and r["verdict"] == "safe"]
    alone = [r for r in mine if r["clients"] == ALONE and r["grants_per_s"] and r["measured_s"]]
    if not alone:
        raise ending.BadInput(f"carries.py: {system}: expected a system that {LOAD} measured with one client")

    def each(key):
        return text_of([r[key] / (r["grants_per_s"] * r["measured_s"]) if r[key] is not None else None for r in alone])

    cells = [f"{each('requests')}; {each('commits')}"]
    for clients in CONTENDED:
        of = [r for r in mine if r["clients"] == clients]
        cells.append("; ".join(text_of([r[f"{key}_per_handoff"] for r in of]) for key in ("requests", "commits")))
    rates = ["{}".format(text_of([r["handoffs_per_s"] for r in mine if r["clients"] == clients], 0)) for clients in CONTENDED]
    return [f"`{system}`: {pause_of(run, system)}", *cells, "; ".join(rates)]


def main():
    if len(sys.argv) < 3:
        raise ending.BadInput("usage: carries.py RUN_DIR SYSTEM...")
    folder, systems = sys.argv[1], sys.argv[2:]
    run = run_folder.load_run(folder)
    rows = run_folder.load_csv(folder, "trials.csv", TEXTS, NUMBERS)
    unknown = [system for system in systems if not any((c["system"], c["scenario"], c["guard"]) == (system, LOAD, "none") for c in run["cells"])]
    if unknown:
        raise ending.BadInput(f"carries.py: {folder}: {unknown[0]}: expected a system that played {LOAD}")
    head = ["lock", "alone: requests; commits of a grant and its release", *(f"{clients} clients: requests; commits per hand-off" for clients in CONTENDED),
            f"hand-offs per second here: {' and '.join(map(str, CONTENDED))} clients"]
    for cells in (head, ["---"] * len(head), *(row(run, rows, system) for system in systems)):
        print("| " + " | ".join(cells) + " |")
    print(f"\n({folder}; –: the server does not count it; {speed.POLLS}.) {run_folder.versions_line(run, systems)}")
    return 0


sys.exit(ending.of(main))
