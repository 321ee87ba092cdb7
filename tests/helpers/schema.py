# SPDX-License-Identifier: MIT
"""schema.py - results/SCHEMA.md as JSON schemas, and what a run folder breaks of them.

Each table of the page becomes a schema of JSON Schema's draft 7, which a library checks: names, types, words of closed
lists. Beyond it: the order of members and columns, cells that are the sums of their trials, files that rows name. A
fresh run has all that the page names; one that is kept may be older, and has few histories.
"""
import collections
import csv
import json
import os
import re

import fastjsonschema

import run_folder

WORDS = {
    "verdict": ["safe", "violated", "stuck", "delayed", "mixed", "undecided", "skipped", "n/a", "none"],
    "expectation": ["safe", "violated", "stuck", "delayed", "mixed", "skipped", "n/a", "any", "race"],
    "guard": ["none", "deadline", "signal", "recheck", "claim", "fence"],
}
TYPES = {"whole": {"type": "integer", "minimum": 0}, "number": {"type": "number", "minimum": 0}, "truth": {"type": "boolean"},
         "list": {"type": "array"}, "object": {"type": "object"}, "text": {"type": "string"}}
ONLY_OF_CELLS = ("mixed", "skipped", "n/a", "none")
COUNTED = ("violated", "stuck", "delayed", "undecided")

Key = collections.namedtuple("Key", "name type optional unit meaning")


class Section:
    """A table of the page."""

    def __init__(self, title):
        self.title, self.keys, self.header = title, {}, ""

    def take(self, line):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        name = re.fullmatch(r"`([a-z0-9_]+)`(?: †)?", cells[0])
        if name and len(cells) > 1:
            unit, meaning = (cells[2], cells[3]) if self.title == "trials.csv" else ("", " ".join(cells[2:]))
            kind, *more = re.split(r",? or ", cells[1])
            self.keys[name[1]] = Key(name[1], kind, bool({"null", "empty"} & set(more)), unit, meaning)

    def kind(self, key):
        known = TYPES.get(key.type) or {"enum": WORDS[key.type]}
        return {"anyOf": [known, {"type": "null"}]} if key.optional else known

    def schema(self, whole):
        """Of an object with these members and no other; of a whole one, with all of them."""
        return {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": False,
                "properties": {key.name: self.kind(key) for key in self.keys.values()}, "required": list(self.keys) if whole else []}


class Page:
    def __init__(self, path):
        self.sections = collections.OrderedDict()
        section = None
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("## "):
                    section = self.sections.setdefault(line[3:].strip(), Section(line[3:].strip()))
                elif section and line.startswith("| `"):
                    section.take(line)
                elif section and line.startswith("`") and not section.header:
                    section.header = line.split("`")[1]
        self.compiled = {}

    def validator(self, title, whole):
        if (title, whole) not in self.compiled:
            self.compiled[title, whole] = fastjsonschema.compile(self.sections[title].schema(whole))
        return self.compiled[title, whole]

    def breach(self, title, whole, value):
        """What is wrong with the object, or None."""
        section = self.sections[title]
        try:
            self.validator(title, whole)(value)
        except fastjsonschema.JsonSchemaException as error:
            unknown = [name for name in value if name not in section.keys] if isinstance(value, dict) else []
            missing = [name for name in section.keys if name not in value] if whole and isinstance(value, dict) else []
            if unknown or missing:
                return f"'{unknown[0]}' is not on the page" if unknown else f"has no '{missing[0]}'"
            key = section.keys.get(error.path[1]) if len(error.path) > 1 else None
            if not key:
                return error.message
            return f"{key.name} is {json.dumps(value[key.name])[:60]}, expected {key.type}{' or null' if key.optional else ''}"
        wanted = [name for name in section.keys if name in value]
        return next((f"'{found}' stands before '{name}'" for found, name in zip(value, wanted) if found != name), None)


def counters(page, rows):
    """Breaches of the page against the table of counters (tests/programs/counter_rows.c), of which it repeats names, types and units."""
    last = None
    for title, name, kind, unit, optional, _, help_text in rows:
        section = page.sections[title]
        key = section.keys.get(name)
        if not key:
            yield f"{title}: no row for {name}"
            continue
        if (key.type, key.optional) != (kind, optional == "1"):
            yield f"{title}: {name} is {key.type}{', or nothing' * key.optional}, the table of counters says {kind}{', or nothing' * (optional == '1')}"
        if key.unit != unit:
            yield f"{title}: the unit of {name} is '{key.unit}', expected '{unit}'"
        if help_text in key.meaning:
            yield f"{title}: {name} repeats what the table of counters says"
        if title == "trials.csv":
            names = list(section.keys)
            if last and names.index(name) != names.index(last) + 1:
                yield f"{title}: {name} is not behind {last}"
            last = name


def value_of(key, text):
    """A field of CSV as JSON has it; text that is no number stays text, and breaks the schema."""
    if key.optional and not text:
        return None
    pattern = {"whole": r"[0-9]+", "number": r"-?[0-9.]+(e[-+]?[0-9]+)?"}.get(key.type)
    return json.loads(text) if pattern and re.fullmatch(pattern, text) else text


class Folder:
    """A run folder against the page: `breaches` has a line for each thing that is wrong."""

    def __init__(self, page, path, summed, fresh):
        self.page, self.path, self.summed, self.fresh, self.breaches = page, path, summed, fresh, []
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            self.run = json.load(file)
        self.published = not fresh and "usual" in self.run
        self.run = run_folder.whole(self.run)
        self.check_run()
        if not self.published or os.path.exists(os.path.join(path, "trials.csv")):
            self.check_trials()
            self.check_table("latency.csv")
        if not self.published:
            self.check_table("series.csv")

    def say(self, text):
        self.breaches.append(f"{self.path}/{text}")

    def object(self, title, place, value):
        wrong = self.page.breach(title, self.fresh, value)
        if wrong:
            self.say(f"run.json: {place}: {wrong}")

    def check_run(self):
        self.object("run.json", "the run", self.run)
        self.object("run.json: machine", "machine", self.run.get("machine"))
        for name in ("settings", "scenarios", "cells"):
            for number, item in enumerate(self.run.get(name) or (), 1):
                self.object(f"run.json: {name}", f"{name} {number}", item)
        if self.run.get("control"):
            self.object("run.json: control", "control", self.run["control"])
        known = {scenario["name"] for scenario in self.run.get("scenarios") or ()}
        for cell in self.run.get("cells") or ():
            if cell["scenario"] not in known:
                self.say(f"run.json: scenario '{cell['scenario']}' of a cell is not described")
            if (cell["verdict"] == "safe") != (cell.get("upper95") is not None):
                self.say(f"run.json: {cell['scenario']} {cell['system']}: upper95 is for safe cells, and for all of them")

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8", newline="") as file:
            yield from csv.reader(file, strict=True)

    def check_table(self, name):
        """A table whose columns the page names in one line."""
        header = next(self.read(name), [])
        wanted = self.page.sections[name].header
        if ",".join(header) != wanted:
            self.say(f"{name}:1: {','.join(header)}, expected {wanted}")
        for number, row in enumerate(self.read(name), 1):
            if len(row) != len(header):
                self.say(f"{name}:{number}: {len(row)} fields, expected {len(header)}")

    def check_columns(self, header):
        keys = self.page.sections["trials.csv"].keys
        unknown = [name for name in header if name not in keys]
        wanted = [name for name in keys if self.fresh or name in header]
        for number, (found, name) in enumerate(zip(header + ["nothing"], wanted), 1):
            if found in unknown:
                break
            if found != name:
                self.say(f"trials.csv:1: column {number} is '{found}', expected '{name}'")
                return False
        if unknown:
            self.say(f"trials.csv:1: column '{unknown[0]}' is not on the page")
        return not unknown

    def check_trials(self):
        header, *rows = self.read("trials.csv")
        if not self.check_columns(header):
            return
        keys = self.page.sections["trials.csv"].keys
        sums = {(cell["scenario"], cell["system"], cell["guard"]): collections.Counter(dict.fromkeys(("trials", *COUNTED, *self.summed), 0))
                for cell in self.run["cells"]}
        for line, fields in enumerate(rows, 2):
            row = dict(zip(header, fields))
            wrong = "another number of fields" if len(fields) != len(header) else self.page.breach(
                "trials.csv", False, {name: value_of(keys[name], text) for name, text in row.items()})
            if wrong:
                self.say(f"trials.csv:{line}: {wrong}")
                continue
            self.check_files(line, row)
            self.add(line, row, sums)
        for cell in self.run["cells"]:
            for name, count in sums[cell["scenario"], cell["system"], cell["guard"]].items():
                if cell.get(name) is not None and cell[name] != count:
                    self.say(f"run.json: {cell['scenario']} {cell['system']} {cell['guard']}: {name} is {cell[name]}, its trials say {count}")

    def check_files(self, line, row):
        names = [row["history"]] if row.get("history") else []
        if row.get("faults"):
            names.append("schedules/{scenario}.{system}.{guard}.c{clients}.t{trial}.txt".format(**row))
        for name in names if not self.published else []:
            if not os.path.exists(os.path.join(self.path, name)):
                self.say(f"trials.csv:{line}: {name} is not in the folder")

    def add(self, line, row, sums):
        cell = sums.get((row["scenario"], row["system"], row["guard"]))
        if row["verdict"] in ONLY_OF_CELLS:
            self.say(f"trials.csv:{line}: verdict is '{row['verdict']}', which only a cell has")
        elif cell is None:
            self.say(f"trials.csv:{line}: no such cell in run.json")
        else:
            cell.update({"trials": 1, **{name: int(row["verdict"] == name) for name in COUNTED}})
            cell.update({name: int(row[name]) for name in self.summed if row.get(name)})


def object_of(page, path, title, lists):
    """Breaches of what a command printed with --json: an object, and the objects of its lists."""
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    places = [(title, "", value)] + [(f"{title}: {name}", f"{name} {number}: ", item) for name in lists for number, item in enumerate(value.get(name, ()), 1)]
    return [place + wrong for section, place, item in places for wrong in [page.breach(section, True, item)] if wrong]
