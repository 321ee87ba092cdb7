# SPDX-License-Identifier: MIT
"""truth_table.py RUN_DIR OUT.svg OUT.png - the truth table of a run: a row per system, a column per scenario and guard.

A cell says its verdict three times, by fill, by glyph and by word, so that it reads in grey and in print. A black
corner marks a verdict that differs from the expectation the scenario states. Everything comes from run.json; the clock
is never asked.
"""

import sys
import textwrap

import run_folder
import style

# All lengths in inches; the axes cover the whole figure and count in inches from its top left corner.
MARGIN, ROW, HEAD_LINE, LABEL_CHAR, COLUMN = 0.2, 0.44, 0.145, 0.082, 1.3
TITLE, LEGEND, FOOT = 0.5, 0.42, 0.26


def columns_of(run):
    """(scenario name, guard) in the order of the run; only pairs that have a cell."""
    names = [s["name"] for s in run["scenarios"]]
    names += [c["scenario"] for c in run["cells"] if c["scenario"] not in names]
    pairs = []
    for name in dict.fromkeys(names):
        guards = run_folder.guards_in_order(c["guard"] for c in run["cells"] if c["scenario"] == name)
        pairs += [(name, guard) for guard in guards]
    return pairs


def rows_of(run):
    """Systems by first appearance, the references and the negative control first, as in the style table."""
    known = list(style.SYSTEMS)
    names = dict.fromkeys(c["system"] for c in run["cells"])
    return sorted(names, key=lambda s: known.index(s) if s in known else len(known))


def cell_lines(cell):
    """The two lines of text of a cell: verdict, count."""
    verdict, trials, undecided = cell["verdict"], cell["trials"], cell["undecided"]
    decided = trials - undecided
    more = f" (+{undecided} ?)" if undecided else ""
    count = {
        "safe": lambda: f"0/{decided} (≤ {100 * cell['upper95']:.1f} %){more}",
        "violated": lambda: f"{cell['violated']}/{decided}{more}",
        "stuck": lambda: f"{cell['stuck']}/{decided}{more}" if "stuck" in cell else "",
        "undecided": lambda: f"{undecided}/{trials}",
        "skipped": lambda: "",
    }[verdict]()
    return f"{style.VERDICTS[verdict][2]} {verdict}", count


def question_of(run):
    if len(run["scenarios"]) == 1 and run["scenarios"][0].get("question"):
        return run["scenarios"][0]["question"]
    return "Which lock can be trusted, under which fault?"


def heads_of(run, columns):
    """For each column its name and the small lines below it: the title, and the guard where that is worth a word."""
    titles = {s["name"]: s.get("title") for s in run["scenarios"]}
    guarded = {name for name, guard in columns if guard != "none"}
    heads = []
    for name, guard in columns:
        title = textwrap.wrap(titles.get(name) or "", 20, max_lines=3, placeholder=" …")
        heads.append((name, title + ([f"guard: {guard}"] if name in guarded else [])))
    return heads


def draw_cell(ax, x, y, cell):
    from matplotlib.patches import Polygon, Rectangle

    if cell is None:
        ax.add_patch(Rectangle((x + 0.02, y + 0.02), COLUMN - 0.04, ROW - 0.04, facecolor="white",
                               edgecolor=style.LIGHT_GREY, linewidth=0.6))
        return
    fill, hatch, _, ink = style.VERDICTS[cell["verdict"]]
    ax.add_patch(Rectangle((x, y), COLUMN, ROW, facecolor=fill, linewidth=0, hatch=hatch))
    ax.add_patch(Rectangle((x, y), COLUMN, ROW, facecolor="none", edgecolor="white", linewidth=2))
    word, count = cell_lines(cell)
    weight = "bold" if cell["verdict"] == "violated" else "normal"
    middle = x + COLUMN / 2
    ax.text(middle, y + ROW * (0.34 if count else 0.5), word, ha="center", va="center", color=ink, weight=weight)
    ax.text(middle, y + ROW * 0.72, count, ha="center", va="center", color=ink, size=7)
    if cell.get("as_expected") is False:
        corner = [(x + COLUMN - 0.17, y + 0.02), (x + COLUMN - 0.02, y + 0.02), (x + COLUMN - 0.02, y + 0.17)]
        ax.add_patch(Polygon(corner, closed=True, facecolor="black", linewidth=0))


def draw_row_label(ax, right, y, system, unknown_rank):
    colour, (marker, filled, _), _ = style.of_system(system, unknown_rank)
    ax.plot([right - 0.1], [y], marker=marker, markersize=4.8 if marker == "D" else 5.5, color=colour,
            markerfacecolor=colour if filled else "white", markeredgecolor=colour)
    ax.text(right - 0.24, y, system, ha="right", va="center")


def draw_legend(ax, x, y):
    from matplotlib.patches import Polygon, Rectangle

    for verdict, (fill, hatch, glyph, ink) in style.VERDICTS.items():
        ax.add_patch(Rectangle((x, y - 0.08), 0.22, 0.16, facecolor=fill, linewidth=0, hatch=hatch))
        ax.text(x + 0.11, y, glyph, ha="center", va="center", color=ink, size=8)
        ax.text(x + 0.27, y, verdict, ha="left", va="center", size=8)
        x += 0.42 + 0.068 * len(verdict)
    ax.add_patch(Rectangle((x, y - 0.08), 0.22, 0.16, facecolor="white", edgecolor=style.LIGHT_GREY, linewidth=0.6))
    ax.text(x + 0.27, y, "not run", ha="left", va="center", size=8)
    x += 0.9
    corner = [(x, y - 0.08), (x + 0.15, y - 0.08), (x + 0.15, y + 0.07)]
    ax.add_patch(Polygon(corner, closed=True, facecolor="black", linewidth=0))
    ax.text(x + 0.21, y, "not as expected", ha="left", va="center", size=8)


def note_lines(width):
    text = ("k/n: violated (or stuck) of decided trials; (≤ p %): 95 % upper bound of the violation rate; "
            "(+m ?): trials that stayed undecided")
    return textwrap.wrap(text, int(width / 0.056))


def draw(run, svg_path, png_path):
    matplotlib = style.matplotlib_deterministic()
    from matplotlib.figure import Figure

    rows, columns = rows_of(run), columns_of(run)
    heads = heads_of(run, columns)
    cells = {(c["system"], c["scenario"], c["guard"]): c for c in run["cells"]}
    left = MARGIN + 0.3 + LABEL_CHAR * max(len(s) for s in rows)
    width = max(left + COLUMN * len(columns) + MARGIN, 7.4)
    title = textwrap.wrap(question_of(run), int((width - 2 * MARGIN) / 0.105))
    top = TITLE + 0.2 * (len(title) - 1)
    head = HEAD_LINE * (max(len(t) for _, t in heads) + 1) + 0.1
    below = top + head + ROW * len(rows)
    notes, foot = note_lines(width), textwrap.wrap(run_folder.footer(run), int((width - 2 * MARGIN) / 0.056))
    height = below + LEGEND + HEAD_LINE * (len(notes) + len(foot)) + 0.12

    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.text(MARGIN, 0.16, "\n".join(title), size=12.5, weight="bold", va="top")
    for i, (name, lines) in enumerate(heads):
        middle = left + COLUMN * (i + 0.5)
        size = min(9, 9 * 15 / len(name or "-"))  # a long name shrinks to its column
        ax.text(middle, top + 0.05, name, ha="center", va="center", weight="bold", size=size)
        for k, line in enumerate(lines):
            ax.text(middle, top + 0.07 + HEAD_LINE * (k + 1), line, ha="center", va="center", size=7,
                    color=style.DARK_GREY)
    ranks = style.unknown_ranks(rows)
    for r, system in enumerate(rows):
        y = top + head + ROW * r
        draw_row_label(ax, left - 0.04, y + ROW / 2, system, ranks[system])
        for i, (scenario, guard) in enumerate(columns):
            draw_cell(ax, left + COLUMN * i, y, cells.get((system, scenario, guard)))
    draw_legend(ax, MARGIN, below + 0.2)
    for k, line in enumerate(notes + foot):
        ax.text(MARGIN, below + LEGEND + HEAD_LINE * k, line, va="center", size=7, color=style.DARK_GREY)
    figure.savefig(svg_path, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png_path, format="png", dpi=160, metadata={"Software": None})
    return f"{len(rows)} systems, {len(columns)} columns, {len(run['cells'])} cells"


def from_arguments(argv):
    if len(argv) != 3:
        raise run_folder.BadInput("usage: truth_table.py RUN_DIR OUT.svg OUT.png")
    run = run_folder.load_run(argv[0])
    if not run["cells"]:
        raise run_folder.BadInput(f"{argv[0]}/run.json: no cells, nothing to draw")
    return draw(run, argv[1], argv[2])


if __name__ == "__main__":
    sys.exit(run_folder.main(from_arguments))
