# SPDX-License-Identifier: MIT
"""violation.py RUN_DIR [CELL] - one violation as a timeline: clients as lanes, holds as bars, faults above them.

The events are those that `lockbench explain RUN_DIR CELL --json` prints, one JSON object per line
(results/SCHEMA.md); the program is $LOCKBENCH_BIN, and CELL is as it wants it: SCENARIO.SYSTEM[.GUARD]. Without CELL
it is the first violated cell of pause-holder, else of failover, else of any other timeline; one without a guard if
there is one. A hold lasts from its grant to the release sent, the loss learned, the crash or the end of the history.
Where two clients hold at once for a small part of the time, that part is drawn once more, enlarged. Times are in ms
from the first event.
"""

import json
import os
import subprocess
import sys

import figure
import run_folder
from timeline import Story, paint

COLUMNS = ("kind", "who", "from_ms", "to_ms", "text", "value", "refused", "lease_ends_ms")
FIRST = ("pause-holder", "failover")


def default_cell(run):
    timelines = [s["name"] for s in run["scenarios"] if s.get("steps")]
    for scenario in dict.fromkeys([*FIRST, *timelines]):
        cells = [c for c in run["cells"] if c["scenario"] == scenario and c["verdict"] == "violated"]
        cells.sort(key=lambda c: c["system"].endswith("@none"))  # the liar is on board to be caught, not to be shown
        for guard in run_folder.guards_in_order(c["guard"] for c in cells):
            return next(c for c in cells if c["guard"] == guard)
    raise figure.NotDrawn("no timeline of this run was violated")


def lockbench(words, given, exits):
    """What it prints, if it ends with one of these."""
    program = os.environ.get("LOCKBENCH_BIN")
    if not program:
        raise figure.NotDrawn("LOCKBENCH_BIN does not say which lockbench reads the history")
    try:
        done = subprocess.run([program, *words], input=given, capture_output=True, text=True, check=False)
    except OSError as error:
        raise figure.NotDrawn(f"{program}: {error.strerror}") from error
    if done.returncode not in exits or not done.stdout:
        raise figure.NotDrawn(f"lockbench {words[0]}: {(done.stderr.splitlines() or ['it printed nothing'])[0]}")
    return done.stdout


def episodes_of(events):
    """The double holds as the judge of histories counts them."""
    lines = [json.dumps(event) for event in [{"format": 2}, *events]]
    try:
        return json.loads(lockbench(["check", "-", "--json"], "\n".join(lines), (0, 3, 4)))["episodes"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise run_folder.BadInput("lockbench check: no episodes") from error


def events_of(run_dir, cell):
    lines = lockbench(["explain", run_dir, cell, "--json"], None, (0,)).splitlines()
    try:
        events = [json.loads(line) for line in lines if line]
    except json.JSONDecodeError as error:
        raise run_folder.BadInput(f"lockbench explain {cell}: {error.msg}") from error
    if not isinstance(events[0], dict) or events.pop(0) != {"format": 2}:
        raise run_folder.BadInput(f"lockbench explain {cell}: not a history of format 2")
    if not events:
        raise run_folder.BadInput(f"lockbench explain {cell}: no events")
    for i, event in enumerate(events):
        if not isinstance(event, dict) or not isinstance(event.get("t"), int) or not isinstance(event.get("e"), str):
            raise run_folder.BadInput(f"lockbench explain {cell}: line {i + 2} is no event")
    return sorted(events, key=lambda e: (e["t"], e.get("s", 0)))


def make(run_dir, run, words):
    if words:
        cell = name = words[0]
    else:
        chosen = default_cell(run)
        cell = f"{chosen['scenario']}.{chosen['system']}.{chosen['guard']}"
        name = f"{chosen['scenario']}, {chosen['system']}, guard {chosen['guard']}"
    events = events_of(run_dir, cell)
    story = Story(events, episodes_of(events))
    said = f"{name}: {len(story.clients)} clients, {len(story.holds)} holds, {len(story.overlaps)} overlaps"
    return figure.Picture(COLUMNS, story.rows(), lambda _: paint(run, story, name), said)


if __name__ == "__main__":
    sys.exit(figure.main("violation", make))
