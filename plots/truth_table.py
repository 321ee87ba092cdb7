# SPDX-License-Identifier: MIT
"""truth_table.py RUN_DIR - the truth table of a run: a row per system, a column per scenario, without a guard.

Everything comes from run.json. A run that asked for guards only is drawn with the first of them; what guards change
is in the figure guard-table.
"""

import sys
import textwrap

import figure
import run_folder
import style
import table
from table import HEAD_LINE, LEGEND, MARGIN, TITLE

NOTE = ("k/n: violated (or stuck, or delayed) of decided trials; ≤ p %: 95 % upper bound of the violation rate; "
        "(+m ?): trials that stayed undecided; m of n: of all trials")


def question_of(run):
    if len(run["scenarios"]) == 1 and run["scenarios"][0].get("question"):
        return run["scenarios"][0]["question"]
    return "Which lock can be trusted, under which fault?"


def paint(run, cells, guard):
    columns = [name for name in table.scenarios_of(run) if any(c["scenario"] == name for c in cells)]
    rows = style.rows_in_order(c["system"] for c in cells)
    at = {(c["system"], c["scenario"]): c for c in cells}
    sizes, titles, left = table.Sizes(len(columns)), table.titles_of(run), table.left_of(rows)
    lean = 0 if sizes.roomy else 0.059 * max(map(len, columns))  # how far a leaning head reaches, each way
    head = 0.12 + HEAD_LINE * (max(len(titles.get(c, ())) for c in columns) + 1) if sizes.roomy else 0.25 + 0.85 * lean
    width = max(left + sizes.column * len(columns) + MARGIN + max(0, lean - 0.2), 7.4)
    title = textwrap.wrap(question_of(run), int((width - 2 * MARGIN) / 0.105))
    top = TITLE + 0.2 * (len(title) - 1)
    below = top + head + sizes.row * len(rows)
    legend = LEGEND + (0.23 if width < 9.4 else 0)
    notes = [f"guard {guard} · {NOTE}", *table.reasons_of(cells)]
    height = below + legend + HEAD_LINE * len(table.notes_lines(notes, run, width)) + 0.12

    t = table.Table(run, width, height, sizes)
    t.title("\n".join(title))
    for i, name in enumerate(columns):
        t.head(left + sizes.column * i, top + head, name, titles.get(name, ()))
    for r, system in enumerate(rows):
        y = top + head + sizes.row * r
        t.row_label(left - 0.04, y + sizes.row / 2, system)
        for i, scenario in enumerate(columns):
            t.cell(left + sizes.column * i, y, at.get((system, scenario)))
    t.legend(MARGIN, below + 0.2, style.VERDICTS)
    t.notes(below + legend, notes, run)
    return t.paper(top, below + legend - 0.1)


def make(run_dir, run, _):
    if not run["cells"]:
        raise run_folder.BadInput(f"{run_dir}/run.json: no cells, nothing to draw")
    tabled = run_folder.tabled_cells(run) or run["cells"]  # a run of nothing else
    guard = run_folder.guards_in_order(c["guard"] for c in tabled)[0]
    cells = [c for c in tabled if c["guard"] == guard]
    systems, scenarios = {c["system"] for c in cells}, {c["scenario"] for c in cells}
    said = f"{len(systems)} systems, {len(scenarios)} scenarios, {len(cells)} cells"
    return figure.Picture(table.COLUMNS, [table.row_of(c) for c in cells], lambda _: paint(run, cells, guard), said)


if __name__ == "__main__":
    sys.exit(figure.main("truth-table", make))
