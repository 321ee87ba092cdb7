#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-claims.py LOCKBENCH - every cell of docs/claims.md exists, and is expected to come out as the page says.

A cell is written "`SCENARIO`, `SYSTEM` under `GUARD`: VERDICT", without `under` for the guard none. Speaks TAP.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

CELL = re.compile(r"`([a-z0-9-]+)`, `([^`]+@[^`]+)`(?: under `(\w+)`)?: (\S+?)(?=[;|,]|\s*\|)")
VERDICTS = ("safe", "violated", "stuck", "delayed", "mixed", "n/a", "race")


def lines(page):
    """The rows of tables that name cells: all with three columns, but for heads."""
    return [line for line in page.splitlines() if line.startswith("|") and line.count("|") == 4 and not line.startswith(("|---", "| claim |"))]


def wrong_forms(page):
    for line in lines(page):
        found, parts = CELL.findall(line), line.split("|")[2].split(";")
        if len(found) != len(parts):
            yield f"{len(parts)} cells, {len(found)} that can be read: {line}"
        yield from (f"no verdict '{verdict}': {line}" for *_, verdict in found if verdict not in VERDICTS)
    if len(lines(page)) < 40:
        yield f"only {len(lines(page))} claims"


def wrong_cells(page, lockbench):
    cells = [(scenario, system, guard or "none", verdict) for line in lines(page) for scenario, system, guard, verdict in CELL.findall(line)]
    systems = ",".join(dict.fromkeys(system for _, system, _, _ in cells))
    done = subprocess.run([lockbench, "list", "expectations", systems], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        return [f"list expectations {systems}: {done.stderr}"]
    rows = (line.split(None, 4) for line in done.stdout.splitlines())
    said = {tuple(row[:3]): row[3] for row in rows}
    return [f"{scenario} {system} {guard}: {verdict}, expected as `list expectations` says: {said.get((scenario, system, guard), 'no such cell')}"
            for scenario, system, guard, verdict in cells if said.get((scenario, system, guard)) != verdict]


def main():
    page = (tap.ROOT / "docs/claims.md").read_text()
    tap.check("every claim names its cells in the same form", list(wrong_forms(page)))
    tap.check("every cell exists, with this verdict", list(wrong_cells(page, sys.argv[1])))
    return tap.end()


sys.exit(main())
