# SPDX-License-Identifier: MIT
"""guard_table.py RUN_DIR - what each guard changes: rows are systems, columns the guards of each scenario that ran
under more than one. A frame marks a verdict that differs from the one without a guard; a cell that means nothing (a lock
without a fencing token has nothing to fence with) has the number of its reason. Everything comes from run.json.
"""

import math
import sys

import figure
import run_folder
import style
import table
from table import HEAD_LINE, MARGIN, TITLE

COLUMNS = (*table.COLUMNS, *table.STOPPED, "changed", "why")
GUARD_HEAD, SCENARIO_HEAD, GAP, BLOCK_GAP = 0.2, 0.24, 0.14, 0.3
MANY = 20  # systems
NOTE = ("guards, by what a client does before it touches the resource: none; deadline: it looks at its own clock; signal: whether its library or "
        "connection reported a loss; recheck: it asks the server; claim and fence: the resource compares unique tokens or fencing tokens (refused). "
        "Below a verdict: what stopped clients, the most frequent")
JUDGED = ("a verdict is about who held the lock without a guard, and about lost updates and stale writes with one; with fence also about "
          "numbers that went backwards")
UNANSWERED = ("no answer: nobody, too few servers, or the question failed; that alone makes nothing safe, unless the client was proved to be cut "
              "off, stood still while it asked, or had not been overtaken")


class Guards:
    """The cells to draw, and which of them differ from guard none."""

    def __init__(self, run):
        self.columns, self.left_out = {}, []
        for name in table.scenarios_of(run):
            guards = run_folder.guards_in_order(c["guard"] for c in run["cells"] if c["scenario"] == name)
            asked = any(c["scenario"] == name and c["guard"] != "none" and c["verdict"] != "n/a" for c in run["cells"])
            if len(guards) > 1 and asked:
                self.columns[name] = guards
            elif len(guards) > 1:
                self.left_out.append(name)
        self.cells = [c for c in run_folder.lock_cells(run) if c["scenario"] in self.columns]
        self.at = {(c["system"], c["scenario"], c["guard"]): c for c in self.cells}

    def changed(self, cell):
        bare = self.at.get((cell["system"], cell["scenario"], "none"))
        decided = ("safe", "violated", "stuck", "delayed", "mixed")
        return (bare is not None and cell["verdict"] != bare["verdict"]
                and cell["verdict"] in decided and bare["verdict"] in decided)

    def row(self, cell):
        more = {**{key: cell.get(key) for key in table.STOPPED}, "changed": self.changed(cell), "why": cell.get("why")}
        return table.row_of(cell) | more

    def blocks(self):
        """Scenarios that stand side by side: as few blocks as there is room for, of about the same width. Many systems make a block high,
        so there it may be wider."""
        total = sum(map(len, self.columns.values()))
        room = table.NARROW * max(1, round(len({c["system"] for c in self.cells}) / MANY))
        at_most = math.ceil(len(self.columns) / math.ceil(total / room))
        blocks, used = [[]], 0
        for name, guards in self.columns.items():
            if blocks[-1] and (len(blocks[-1]) == at_most or used + len(guards) > room):
                blocks.append([])
                used = 0
            blocks[-1].append(name)
            used += len(guards)
        return blocks

    def systems(self, block):
        """Those of the block for which some guard means something: the others have nothing to compare."""
        return style.rows_in_order(c["system"] for c in self.cells
                                   if c["scenario"] in block and c["guard"] != "none" and c["verdict"] != "n/a")

    def rows_left_out(self):
        return any(set(self.systems(block)) < {c["system"] for c in self.cells} for block in self.blocks())


def draw_block(t, guards, block, left, y):
    """Returns y below the block."""
    sizes, x = t.sizes, left
    systems, top = guards.systems(block), y + SCENARIO_HEAD + GUARD_HEAD
    for r, system in enumerate(systems):
        t.row_label(left - 0.04, top + sizes.row * (r + 0.5), system)
    for name in block:
        wide = sizes.column * len(guards.columns[name])
        t.ax.text(x + wide / 2, y + 0.08, name, ha="center", va="center", weight="bold", size=9)
        t.ax.plot([x + 0.03, x + wide - 0.03], [y + 0.21] * 2, color=style.DARK_GREY, linewidth=0.8)
        for guard in guards.columns[name]:
            t.ax.text(x + sizes.column / 2, y + SCENARIO_HEAD + 0.09, guard, ha="center", va="center", size=7.5)
            for r, system in enumerate(systems):
                cell = guards.at.get((system, name, guard))
                t.cell(x, top + sizes.row * r, cell, cell is not None and guards.changed(cell))
            x += sizes.column
        x += GAP
    return top + sizes.row * len(systems)


def paint(run, guards):
    blocks = guards.blocks()
    most = max(sum(len(guards.columns[name]) for name in block) for block in blocks)
    sizes, left = table.Sizes(most), table.left_of([c["system"] for c in guards.cells])
    wide = max(sum(sizes.column * len(guards.columns[n]) + GAP for n in block) for block in blocks)
    width = max(left + wide + MARGIN, 7.4)
    whys = sorted({c["why"] for c in guards.cells if c["verdict"] == "skipped" and c.get("why")})
    notes = [NOTE, JUDGED, UNANSWERED] + ([f"skipped: {'; '.join(whys[:3])}{' …' if len(whys) > 3 else ''}"] if whys else [])
    drawn = {(name, system) for block in blocks for name in block for system in guards.systems(block)}
    notes += table.reasons_of([c for c in guards.cells if (c["scenario"], c["system"]) in drawn])
    if guards.rows_left_out():
        notes.append("a lock for which no guard means anything in either of two scenarios side by side has no row there; guard-table.csv has it, and why")
    if guards.left_out:
        notes.append(f"no guard has anything to stop, so not drawn: {', '.join(guards.left_out)}")
    legend = table.legend_height(width, style.VERDICTS, changed=True)
    rows = sum(len(guards.systems(block)) for block in blocks)
    below = TITLE + sizes.row * rows + (SCENARIO_HEAD + GUARD_HEAD) * len(blocks) + BLOCK_GAP * (len(blocks) - 1)
    height = below + legend + HEAD_LINE * len(table.notes_lines(notes, run, width)) + 0.12

    t = table.Table(run, width, height, sizes)
    t.title("What does a guard change?")
    y = TITLE
    for block in blocks:
        y = draw_block(t, guards, block, left, y) + BLOCK_GAP
    t.legend(MARGIN, below + 0.2, style.VERDICTS, changed=True)
    t.notes(below + legend, notes, run)
    return t.paper(TITLE - 0.05, below + legend - 0.1)


def make(_, run, words):
    guards = Guards(run)
    if not guards.columns:
        raise figure.NotDrawn("no scenario ran under more than one guard")
    changed = sum(map(guards.changed, guards.cells))
    said = f"{len(guards.columns)} scenarios, {len(guards.cells)} cells, {changed} changed by a guard"
    return figure.Picture(COLUMNS, [guards.row(c) for c in guards.cells], lambda _: paint(run, guards), said)


if __name__ == "__main__":
    sys.exit(figure.main("guard-table", make))
