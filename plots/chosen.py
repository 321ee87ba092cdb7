# SPDX-License-Identifier: MIT
"""chosen.py - from a results folder and a few words to the trial that is worth telling, and to the command that makes it once more.

    chosen.py NUMBER DIR [WORD...]   the cell that the words name, and of it the first of the worst trials, if it can be one with a history;
                                     NUMBER > 0: among the trials of that number
    chosen.py each DIR               the same of every cell that has a trial, in the order of trials.csv

Each is printed as a line of JSON: `cell` and `scenario` as run.json has them, `trial` as trials.csv has it (null = the cell was skipped), `trials` =
how many there are with as many clients, `head` = the lines above the story, `again` = the words of the command. `lockbench explain` and
`lockbench hunt --from` call it. Nothing is decided anew here: the verdict is what the files say.
"""

import itertools
import json
import os
import re
import shlex
import sys

import ending
import run_folder

COLUMNS = ("scenario", "system", "guard", "clients", "trial", "seed", "verdict", "why", "history")
FEW_CELLS, LISTED = 12, 420  # a run of so few cells is listed whole; so many letters of a list are shown


def text(record, key):
    """A member that is a text, else ""."""
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""


# ---- the cell: by its name, or by as much of it as only one has -----------------------------------------------------------
#
# A user knows a protocol and a scenario, not the exact spelling of a cell, so any part may be left out, and the order is free. Guessing ends there: if two
# cells fit, none is chosen, because a story about the wrong cell would be believed.


def key_of(record):
    """What a cell and a trial of it have in common."""
    return tuple(text(record, key) for key in ("scenario", "system", "guard"))


def name_of(cell):
    """The short name; it means the guard `none`."""
    return ".".join(key_of(cell)).removesuffix(".none")


def fields(cell):
    """What a word may name. Not the topology: "none" is a guard."""
    scenario, system, guard = key_of(cell)
    return (scenario, system, system.partition("@")[0], guard)


def with_parts(cells, parts):
    """The cells that have every part."""
    return [cell for cell in cells if all(part in fields(cell) for part in parts)]


def take_apart(cells, words):
    """Words, at their dots where no cell has the whole of it: a dot also stands in names, as in that of a variant of 0.5."""
    known, parts = {field for cell in cells for field in fields(cell)}, []
    for word in words:
        while word:
            ends = [at for at in range(len(word), 0, -1) if at == len(word) or word[at] == "."]
            end = next((at for at in ends if word[:at] in known), word.find(".") if "." in word else len(word))
            parts += [word[:end]] if end else []
            word = word[end + 1:]
    return parts


def listed(names):
    """"a, b and 7 more"."""
    shown = []
    for name in names:
        if shown and sum(len(n) + 2 for n in (*shown, name)) > LISTED:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown) or "no cells"


def all_of(cells):
    """All cells if they are few, else the scenarios: for a user who has named none."""
    if len(cells) <= FEW_CELLS:
        return listed([name_of(cell) for cell in cells])
    return "cells of " + listed(list(dict.fromkeys(text(cell, "scenario") for cell in cells)))


def unknown(cells, wanted, parts):
    """From the most helpful answer to the least: the cell that was probably meant, the word that was, then the cells that fit as many words as possible."""
    words = [field for cell in cells for field in fields(cell)]
    near = ending.near(wanted, [name_of(cell) for cell in cells], least=0.85) or (len(parts) == 1 and ending.near(parts[0], words, least=0.75))
    if near:
        return f"unknown cell '{wanted}', did you mean '{near}'?"
    kept = []
    for part in parts:
        near = part not in words and ending.near(part, words, least=0.75)
        if near:
            return f"unknown cell '{wanted}': there is no '{part}', did you mean '{near}'?"
        kept += [part] if with_parts(cells, [*kept, part]) else []  # one that leaves no cell is dropped
    return f"unknown cell '{wanted}', this run has {listed([name_of(cell) for cell in with_parts(cells, kept)]) if kept else all_of(cells)}"


def named(cells, words):
    """The cell. A whole name goes first, so that it is found even where its words would fit others. BadInput."""
    wanted = ".".join(words)
    for cell in cells:
        if wanted in (".".join(key_of(cell)), name_of(cell)):
            return cell
    parts = take_apart(cells, words)
    found = with_parts(cells, parts)
    asked = [cell for cell in found if cell["verdict"] != "n/a"]
    violated = [cell for cell in cells if isinstance(cell.get("violated"), int) and cell["violated"] > 0]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ending.BadInput(unknown(cells, wanted, parts))
    if parts and len(asked) == 1:  # the others have no record
        return asked[0]
    if not words and violated:
        return violated[0]
    if not words:
        raise ending.BadInput(f"expected a cell, as none was violated; this run has {all_of(cells)}")
    raise ending.BadInput(f"'{wanted}' could be any of {len(found)} cells: {listed([name_of(cell) for cell in found]) if parts else all_of(cells)}")


# ---- the trial ----------------------------------------------------------------------------------------------------------------


def trials_of(folder):
    """The lines of trials.csv. A history's name comes from a file that somebody may have been sent, so it must not lead out of the folder. BadInput."""
    rows = run_folder.load_csv(folder, "trials.csv", COLUMNS, ())
    for row in rows:
        if row["history"] and not re.fullmatch("histories/[^/]+", row["history"]):
            raise ending.BadInput(f"{folder}/trials.csv: history is '{row['history'][:60]}', expected histories/NAME, or nothing")
        path = os.path.join(folder, row["history"]) if row["history"] else ""
        row |= {"history": path, "is_there": bool(path) and os.path.exists(path)}
    return rows


def best(rows):
    """The first of those with most to tell, None of none. A violated trial without its history still goes before a safe one with it, and so does one that
    was stuck or late: to show that one instead would be misleading."""
    return min(rows, key=lambda row: (run_folder.how_bad(row["verdict"]), not row["is_there"]), default=None)


def chosen(rows, number):
    """(trial, how many there are with as many clients). BadInput for a number that the cell does not have."""
    trial = best([row for row in rows if number == 0 or row["trial"] == str(number)])
    if trial is None and number:
        raise ending.BadInput(f"--trial {number}: this cell has {len(rows)} trials{'' if rows else ', it was skipped'}")
    return trial, sum(row["clients"] == trial["clients"] for row in rows) if trial else 0


# ---- what stands above the story --------------------------------------------------------------------------------------------


def head(cell, scenario, trial, trials):
    """The verdict in the first line, with its reason or how usual it is in the cell; the scenario, the trial, what was expected and why."""
    of = trial or cell
    violated, all_trials, title = cell.get("violated") or 0, cell.get("trials") or 0, text(scenario, "title")
    why = text(of, "why") or (f"{violated} of {all_trials} trials of this cell were violated" if violated
                              else f"no trial of this cell was violated, of {all_trials}")
    which = f", {trial['clients']} client{'' if trial['clients'] == '1' else 's'}, trial {trial['trial']} of {trials}, seed {trial['seed']}" if trial else ""
    expected = text(cell, "expected")
    said = "  NOT AS EXPECTED, which was " if cell.get("as_expected") is False else "  expected "
    return [f"{of['verdict']}: {why}",
            f"  {text(cell, 'scenario')}{': ' if title else ''}{title}",
            f"  {text(cell, 'system')}, guard {text(cell, 'guard')}{which}",
            f"{said}{expected}: {text(cell, 'reason')}" if expected else "  expected: nothing is stated for this cell"]


# ---- the command that makes it once more --------------------------------------------------------------------------------------
#
# It is put together from what the run says of itself: the cell, the workload of its scenario, and the options that the run was started with. What only a
# suite of somebody's own has changed is not known here; of the shipped ones, everything is in the workload.

SAID = ("clients=", "duration_s=", "warmup_s=", "settle_s=", "trials=")


def options(run):
    """Each -s and --plugin that the run was started with, but for what the workload says exactly."""
    argv = run.get("argv")
    words, given = iter([word if isinstance(word, str) else "" for word in argv] if isinstance(argv, list) else []), []
    for word in words:
        if word in ("-s", "--set", "--plugin"):
            value = next(words, "")
            given += [] if word != "--plugin" and value.startswith(SAID) else ["--plugin" if word == "--plugin" else "-s", value]
    return given


def again(run, cell, scenario, trial):
    """The words of a shell. Trials are numbered from 1, so -n makes all up to this one, with the same seeds. A shipped scenario is known by its name, any other
    by its file; a variant comes back with the others of its base, as the list of values draws its trials."""
    scenario = scenario or {}
    workload, file = scenario.get("workload") or {}, text(scenario, "file")
    shipped = not file or file.startswith("scenarios/")
    words = [text(scenario, "base") or text(cell, "scenario") if shipped else file,
             "-b", text(cell, "system"), "-g", text(cell, "guard"), "-n", trial["trial"] if trial else ""]
    if not scenario.get("steps"):  # a timeline's file states how many clients it has
        words += ["-s", f"clients={trial['clients'] if trial else ''}"]
    for key in ("duration_s", "warmup_s", "settle_s"):  # keys that suites change
        if isinstance(workload.get(key), (int, float)) and workload[key] > 0:
            words += ["-s", f"{key}={workload[key]:.15g}"]
    words += options(run)
    if isinstance(run.get("seed"), int):
        words += ["--seed", str(run["seed"])]
    return " ".join(shlex.quote(re.sub(r"[\x00-\x1f\x7f]", "?", word)) for word in words)  # nothing in a file may move a terminal's cursor


def tell(run, cell, trial, trials):
    """The line of JSON."""
    scenario = next((s for s in run.get("scenarios") or () if text(s, "name") == text(cell, "scenario")), None)
    print(json.dumps({"cell": cell, "scenario": scenario, "trial": trial, "trials": trials, "head": head(cell, scenario, trial, trials),
                      "again": again(run, cell, scenario, trial)}))


def main():
    """See the head of this file."""
    if len(sys.argv) < 3:
        raise ending.BadInput("usage: chosen.py NUMBER|each DIR [WORD...]")
    what, folder, *words = sys.argv[1:]
    run = run_folder.load_any(folder)
    if what == "each":
        cells = {key_of(cell): cell for cell in run["cells"]}
        for key, rows in itertools.groupby(trials_of(folder), key_of):
            if key in cells:
                tell(run, cells[key], *chosen(list(rows), 0))
        return
    cell = named(run["cells"], words)
    rows = [row for row in trials_of(folder) if key_of(row) == key_of(cell)]
    tell(run, cell, *chosen(rows, int(what)))


if __name__ == "__main__":
    sys.exit(ending.of(main))
