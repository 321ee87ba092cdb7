# SPDX-License-Identifier: MIT
"""truth_table.py RUN_DIR - the truth table of a run: a row per system, a column per scenario, without a guard.

Everything comes from run.json. A run that asked for guards only is drawn with the first of them; what guards change
is in the figure guard-table. Scenarios that are n/a on every system have no column, and a table that would be wider than a
page is broken into panels, one below the other. The CSV has every cell.
"""

import sys
import textwrap

import figure
import run_folder
import style
import table
from table import HEAD_LINE, MARGIN, TITLE

WIDEST = 18.5  # inches: 2,960 pixels of the PNG
NOTE = ("k/n: violated (or stuck, or delayed) of decided trials; ≤ p %: 95 % upper bound of the violation rate; "
        "(+m ?): trials that stayed undecided; m of n: of all trials")


def question_of(run):
    if len(run["scenarios"]) == 1 and run["scenarios"][0].get("question"):
        return run["scenarios"][0]["question"]
    return "Which lock can be trusted, under which fault?"


def columns_of(run, cells):
    """(columns to draw, columns in which nobody was asked anything)"""
    names = [name for name in table.scenarios_of(run) if any(c["scenario"] == name for c in cells)]
    asked = {c["scenario"] for c in cells if c["verdict"] != "n/a"}
    return [n for n in names if n in asked or not asked], [n for n in names if asked and n not in asked]


def panels_of(columns, room):
    """As many columns side by side as there is room for (inches), spread evenly."""
    sizes = table.Sizes(len(columns))
    count = max(1, -(-len(columns) // max(1, int(room / sizes.column))))
    each = -(-len(columns) // count)
    return sizes, [columns[i:i + each] for i in range(0, len(columns), each)]


def paint(run, cells, guard):
    columns, unasked = columns_of(run, cells)
    rows = style.rows_in_order(c["system"] for c in cells)
    at = {(c["system"], c["scenario"]): c for c in cells}
    titles, left = table.titles_of(run), table.left_of(rows)
    reach = 0.059 * max(map(len, columns))  # how far a leaning head reaches, each way
    sizes, panels = panels_of(columns, WIDEST - left - MARGIN - reach)
    lean = 0 if sizes.roomy else reach
    head = 0.12 + HEAD_LINE * (max(len(titles.get(c, ())) for c in columns) + 1) if sizes.roomy else 0.25 + 0.85 * lean
    width = max(left + sizes.column * len(panels[0]) + MARGIN + max(0, lean - 0.2), 7.4)
    title = textwrap.wrap(question_of(run), int((width - 2 * MARGIN) / 0.105))
    top = TITLE + 0.2 * (len(title) - 1)
    panel = head + sizes.row * len(rows)
    below = top + panel * len(panels)
    legend = table.legend_height(width, style.VERDICTS)
    notes = [f"guard {guard} · {NOTE}", *table.reasons_of(c for c in cells if c["scenario"] in columns)]
    if unasked:
        notes.append(f"n/a on every system, and not drawn: {', '.join(unasked)}")
    height = below + legend + HEAD_LINE * len(table.notes_lines(notes, run, width)) + 0.12

    t = table.Table(run, width, height, sizes)
    t.title("\n".join(title))
    for p, names in enumerate(panels):
        y = top + panel * p + head
        for i, name in enumerate(names):
            t.head(left + sizes.column * i, y, name, titles.get(name, ()))
        for system in rows:
            t.row_label(left - 0.04, y + sizes.row / 2, system)
            for i, scenario in enumerate(names):
                t.cell(left + sizes.column * i, y, at.get((system, scenario)))
            y += sizes.row
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
