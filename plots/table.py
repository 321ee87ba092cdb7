# SPDX-License-Identifier: MIT
"""table.py - verdicts as a table: a row per system, a column per scenario or guard.

A cell says its verdict three times, by fill, by glyph and by word, so that it reads in grey and in print. A black
corner marks a verdict that differs from the expectation the scenario states, and the expected one is written below
it; a small ring marks a cell nothing is expected of. With many columns the cells get narrow and the heads lean.
"""

import textwrap

import figure
import run_folder
import style

# Inches. The axes cover the whole figure and count from its top left corner.
MARGIN, LABEL_CHAR, HEAD_LINE, LEGEND, LEGEND_LINE, TITLE = 0.2, 0.082, 0.145, 0.42, 0.23, 0.5
ROOMY, NARROW = 8, 16  # up to so many columns the cells have room for words; so many fit side by side


def stopped_of(cell):
    """"3 told no", most frequent first; nothing without a guard."""
    if cell["guard"] == "none":
        return []
    counts = {key: cell.get(key) or 0 for key in STOPPED}
    if "refused" in cell or cell["guard"] != "fence":
        counts["fenced_off"] = 0
    often = sorted((key for key in counts if counts[key]), key=counts.get, reverse=True)
    return [f"{counts[key]} {STOPPED[key]}" for key in often]


class Sizes:
    def __init__(self, columns):
        self.roomy = columns <= ROOMY
        self.column, self.row = (1.3, 0.5) if self.roomy else (0.72, 0.5)
        self.word, self.count, self.corner = (9, 7, 0.15) if self.roomy else (7, 6.2, 0.1)


def counts_of(cell, roomy):
    """Lines: k/n of decided trials, and how far a 0 reaches."""
    verdict, trials, undecided = cell["verdict"], cell["trials"], cell["undecided"]
    if verdict in ("skipped", "n/a"):
        return [f"({cell['note']})"] if cell.get("note") else []
    if verdict == "undecided":
        return [f"{undecided} of {trials}"]
    bad = cell.get("violated", 0) + (cell.get("stuck") or 0) + (cell.get("delayed") or 0) if verdict == "mixed" else cell.get(verdict, 0)
    count = f"{0 if verdict == 'safe' else bad}/{trials - undecided}"
    more = f" (+{undecided} ?)" if undecided else ""
    if verdict != "safe":
        return [count + more]
    bound = f"≤ {100 * cell['upper95']:.1f} %"
    return [f"{count} ({bound}){more}"] if roomy else [count + more, bound]


def row_of(cell):
    """A cell as a row of the CSV."""
    return {key: cell.get(key) for key in COLUMNS} | {"decided": cell["trials"] - cell["undecided"]}


# What stopped a client under a guard, the words as on the terminal. The last is all that older runs know.
STOPPED = {"stopped_lease_over": "lease over", "stopped_in_doubt": "in doubt", "stopped_told_no": "told no",
           "stopped_no_majority": "no majority", "stopped_no_answer": "no answer", "refused": "refused", "fenced_off": "refused"}
COLUMNS = ("system", "scenario", "guard", "verdict", "expected", "as_expected", "trials", "decided", "violated",
           "stuck", "delayed", "undecided", "upper95")


class Table:
    """Draws on one axes; x and y are inches from the top left corner of the figure."""

    def __init__(self, run, width, height, sizes):
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(width, height))
        self.width, self.height, self.sizes, self.styles = width, height, sizes, style.Styles(run)
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set_axis_off()
        self.ax.set_xlim(0, width)
        self.ax.set_ylim(height, 0)

    def box(self, x, y, w, h, **more):
        from matplotlib.patches import Rectangle

        self.ax.add_patch(Rectangle((x, y), w, h, **more))

    def corner(self, right, top, size):
        from matplotlib.patches import Polygon

        points = [(right - size, top), (right, top), (right, top + size)]
        self.ax.add_patch(Polygon(points, closed=True, facecolor="black", linewidth=0))

    def ring(self, x, y):
        self.ax.plot([x], [y], marker="o", markersize=3.6, markerfacecolor="none", markeredgecolor="black",
                     markeredgewidth=0.8)

    def cell(self, x, y, cell, changed=False):
        w, h = self.sizes.column, self.sizes.row
        if cell is None:
            self.box(x + 0.02, y + 0.02, w - 0.04, h - 0.04, facecolor="white", edgecolor=style.LIGHT_GREY,
                     linewidth=0.6)
            return
        fill, hatch, glyph, ink = style.VERDICTS[cell["verdict"]]
        self.box(x, y, w, h, facecolor=fill, linewidth=0, hatch=hatch)
        self.box(x, y, w, h, facecolor="none", edgecolor="white", linewidth=2)
        if changed:
            self.box(x + 0.03, y + 0.03, w - 0.06, h - 0.06, facecolor="none", edgecolor="black", linewidth=1.4)
        lines = self._lines(cell)
        word = f"{glyph} {cell['verdict']}" if self.sizes.roomy or len(cell["verdict"]) < 9 else cell["verdict"]
        tops = {1: (0.5,), 2: (0.33, 0.7), 3: (0.24, 0.55, 0.82)}[1 + len(lines)]
        self.ax.text(x + w / 2, y + h * tops[0], word, ha="center", va="center", color=ink, size=self.sizes.word,
                     weight="bold" if cell["verdict"] == "violated" else "normal")
        for line, top in zip(lines, tops[1:]):
            self.ax.text(x + w / 2, y + h * top, line, ha="center", va="center", color=ink, size=self.sizes.count)
        if cell.get("as_expected") is False:
            self.corner(x + w - 0.02, y + 0.02, self.sizes.corner)
        elif cell.get("expected") is None and cell["verdict"] not in ("skipped", "n/a"):
            self.ring(x + w - 0.08, y + h - 0.08)

    def _lines(self, cell):
        """At most two: what is counted, and what is most worth a word beside it."""
        lines = counts_of(cell, self.sizes.roomy)
        if cell.get("as_expected") is False and cell.get("expected"):
            return lines[:1] + [("expected " if self.sizes.roomy else "exp. ") + cell["expected"]]
        stopped = stopped_of(cell)
        if stopped:
            return lines[:1] + stopped[:1]
        return lines

    def row_label(self, right, y, system):
        self.ax.plot([right - 0.1], [y], **self.styles.marker(system))
        self.ax.text(right - 0.24, y, system, ha="right", va="center")

    def head(self, x, bottom, name, title):
        """Above a column whose left edge is x."""
        if not self.sizes.roomy:
            self.ax.text(x + self.sizes.column / 2 - 0.05, bottom - 0.05, name, ha="left", va="bottom", rotation=38,
                         rotation_mode="anchor", weight="bold", size=8.5)
            return
        middle = x + self.sizes.column / 2
        for i, line in enumerate(reversed(title)):
            self.ax.text(middle, bottom - 0.11 - HEAD_LINE * i, line, ha="center", va="center", size=7,
                         color=style.DARK_GREY)
        size = min(9, 9 * 15 / len(name or "-"))  # a long name shrinks to its column
        self.ax.text(middle, bottom - 0.13 - HEAD_LINE * len(title), name, ha="center", va="center", weight="bold",
                     size=size)

    def legend(self, x, y, verdicts, changed=False):
        """What the marks mean; verdicts: those to explain. As many lines as legend_height() has room for."""
        for line, row in enumerate(_legend_lines(self.width, verdicts, changed)):
            for left, text, mark in row:
                self._mark(x + left, y + LEGEND_LINE * line, mark)
                self.ax.text(x + left + 0.27, y + LEGEND_LINE * line, text, ha="left", va="center", size=8, gid="legend")

    def _mark(self, x, y, mark):
        if mark in style.VERDICTS:
            fill, hatch, glyph, ink = style.VERDICTS[mark]
            self.box(x, y - 0.08, 0.22, 0.16, facecolor=fill, linewidth=0, hatch=hatch)
            self.ax.text(x + 0.11, y, glyph, ha="center", va="center", color=ink, size=8)
        elif mark == "empty":
            self.box(x, y - 0.08, 0.22, 0.16, facecolor="white", edgecolor=style.LIGHT_GREY, linewidth=0.6)
        elif mark == "corner":
            self.corner(x + 0.2, y - 0.08, 0.15)
        elif mark == "ring":
            self.ring(x + 0.14, y)
        else:
            self.box(x, y - 0.08, 0.22, 0.16, facecolor="none", edgecolor="black", linewidth=1.4)

    def notes(self, y, notes, run):
        """Small print to the foot, the origin last; for the screen."""
        for line in notes_lines(notes, run, self.width):
            self.ax.text(MARGIN, y, line, va="center", size=7, color=style.DARK_GREY, gid=figure.SCREEN_ONLY)
            y += HEAD_LINE

    def title(self, text):
        self.ax.text(MARGIN, 0.16, text, size=12.5, weight="bold", va="top", gid=figure.SCREEN_ONLY)

    def paper(self, top, bottom):
        """Crops the PDF to what lies between top and bottom."""
        self.figure.paper_box = (0.05, self.height - bottom, self.width - 0.05, self.height - top)
        return self.figure


def _legend_lines(width, verdicts, changed):
    """[[(inches from the left, text, mark)]], a list for each line: nothing is cut off at the right."""
    marks = [(v, v) for v in verdicts] + [("not run", "empty"), ("not as expected", "corner"), ("nothing expected", "ring")]
    lines, x = [[]], 0
    for text, mark in marks + [("another verdict than with guard none", "frame")] * changed:
        wide = 0.42 + 0.068 * len(text)
        if lines[-1] and x + wide > width - 2 * MARGIN:
            lines.append([])
            x = 0
        lines[-1].append((x, text, mark))
        x += wide
    return lines


def legend_height(width, verdicts, changed=False):
    return LEGEND + LEGEND_LINE * (len(_legend_lines(width, verdicts, changed)) - 1)


def notes_lines(notes, run, width):
    texts = (*notes, run_folder.footer(run))
    return [line for text in texts for line in textwrap.wrap(text, int((width - 2 * MARGIN) / 0.056), break_on_hyphens=False)]


def reasons_of(cells):
    """What the numbers in cells without a question stand for, as one note; nothing if there are none."""
    reasons = {c["note"]: c.get("why") for c in cells if c.get("note")}
    return [f"n/a: {'; '.join(f'({number}) {reasons[number]}' for number in sorted(reasons))}"] if reasons else []


def left_of(systems):
    return MARGIN + 0.3 + LABEL_CHAR * max(len(s) for s in systems)


def titles_of(run):
    """{scenario: its title in short lines}"""
    return {s["name"]: textwrap.wrap(s.get("title") or "", 20, max_lines=3, placeholder=" …") for s in run["scenarios"]}


def scenarios_of(run):
    """In the order of the run; only those that have a cell."""
    ran = {c["scenario"] for c in run["cells"]}
    names = [s["name"] for s in run["scenarios"]] + [c["scenario"] for c in run["cells"]]
    return [name for name in dict.fromkeys(names) if name in ran]
