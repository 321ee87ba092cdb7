# SPDX-License-Identifier: MIT
"""style.py - one look for all figures: a colour, marker and dash per system, a colour and glyph per verdict.

The hue belongs to the protocol. No two systems have the same marker and dash, so that each is recognised without
colour. In a chart no two curves have the same colour or marker either: those that would share one get the next free ones. Hues are those of Okabe and Ito, which people with colour-blindness tell apart, and two dark ones that differ
from them by lightness, too; vermilion is for violations. `python3 plots/style.py` prints the same table for gnuplot;
plots/style.gp is that output, and a test compares the two.
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
WINE, INDIGO, BROWN, OLIVE = "#882255", "#332288", "#8C510A", "#999933"  # where those eight run out
GREY, DARK_GREY, LIGHT_GREY, GRID = "#8C8C8C", "#595959", "#D9D9D9", "#E5E5E5"

# name in matplotlib, filled, number in gnuplot
CIRCLE, CIRCLE_OPEN = ("o", True, 7), ("o", False, 6)
PENTAGON, PENTAGON_OPEN = ("p", True, 15), ("p", False, 14)
SQUARE, SQUARE_OPEN = ("s", True, 5), ("s", False, 4)
DIAMOND, DIAMOND_OPEN = ("D", True, 13), ("D", False, 12)
UP, UP_OPEN, DOWN, DOWN_OPEN = ("^", True, 9), ("^", False, 8), ("v", True, 11), ("v", False, 10)
PLUS, CROSS, STAR = ("+", True, 1), ("x", True, 2), ("*", True, 3)
# gnuplot has no more points than those above: in its figures the dash tells these from the ones they share a number with.
LEFT, BOLD_PLUS = ("<", True, 9), ("P", True, 1)

SOLID, DASHED, DOTTED, DASH_DOT = 1, 2, 3, 4  # gnuplot's dashtypes
DASHES = {SOLID: (0, ()), DASHED: (0, (5, 2)), DOTTED: (0, (1.2, 1.6)), DASH_DOT: (0, (6, 2, 1.2, 2))}  # matplotlib's


# Inches, in which the paper (paper/style.tex) shows a figure: nothing is scaled there, and no text is smaller than TEXT points.
TEXT_WIDTH, COLUMN_WIDTH, TEXT = 178 / 25.4, 86 / 25.4, 8


def _postgres(filled, opened, last=(DOTTED, DASH_DOT)):
    return {"pg": (filled, SOLID), "pg-async": (opened, DASHED), "pg-sync": (filled, last[0]), "pg-nosync": (opened, last[1])}


_PROTOCOLS = {  # colour, topologies; grey: not locks one would deploy, but the harness's own cost and the floor
    "null": (GREY, {"none": (CROSS, DOTTED)}),
    "local": (DARK_GREY, {"none": (PLUS, DASHED)}),
    "broken": (BLACK, {"none": (STAR, DASH_DOT)}),
    "redis-token": (ORANGE, {"redis": (CIRCLE, SOLID), "redis-aof": (CIRCLE_OPEN, DASHED),
                             "redis-aof-everysec": (BOLD_PLUS, DASH_DOT), "sentinel": (PENTAGON, DOTTED),
                             "sentinel-minreplicas": (PENTAGON_OPEN, DASH_DOT), "cluster": (SQUARE, DASHED)}),
    "redlock": (PURPLE, {"redis-x5": (UP, SOLID), "redis-x3": (UP_OPEN, DASHED), "redis-x5-aof": (LEFT, DOTTED)}),
    "zk-sequential": (GREEN, {"zk": (SQUARE, SOLID), "zk-x3": (SQUARE_OPEN, DASHED)}),
    "pg-row": (BLUE, _postgres(DIAMOND, DIAMOND_OPEN)),
    "pg-lease": (SKY, _postgres(DOWN, DOWN_OPEN)),
    "pg-lease-client": (WINE, _postgres(PENTAGON, PENTAGON_OPEN, (DASH_DOT, DOTTED))),
    "floor-redis": (GREY, {"redis": (CROSS, SOLID)}),
    "floor-zk": (GREY, {"zk": (STAR, SOLID), "zk-x3": (STAR, DASHED)}),
    "floor-pg": (GREY, {"pg": (PLUS, SOLID)}),
}
SYSTEMS = {f"{protocol}@{topology}": (colour, marker, dash) for protocol, (colour, topologies) in _PROTOCOLS.items()
           for topology, (marker, dash) in topologies.items()}
# For systems this table does not know (plugins): by their rank by name among the unknown ones of a run.
# A curve that would share its colour or marker with another one of its chart takes the first of these that shares neither.
_COLOURS = (INDIGO, BROWN, WINE, BLUE, OLIVE, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
_MARKERS = (SQUARE_OPEN, UP, CIRCLE, DOWN_OPEN, DIAMOND, PENTAGON_OPEN, CROSS, SQUARE, UP_OPEN, STAR, CIRCLE_OPEN, DOWN, PLUS, DIAMOND_OPEN, PENTAGON)
_DASHES = (SOLID, DASHED, DOTTED, DASH_DOT)
OTHERS = [(_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)], _DASHES[i % len(_DASHES)]) for i in range(len(_COLOURS) * len(_MARKERS))]

# verdict: (fill, hatch, glyph, colour of text). Fills are light tints, except for the one thing nobody may overlook.
VERDICTS = {
    "safe": ("#B8E2D5", None, "✓", BLACK),
    "violated": (VERMILION, None, "✗", BLACK),
    "stuck": ("#BFE0F5", None, "■", BLACK),
    "delayed": ("#DFE3F8", None, "□", BLACK),
    "mixed": ("#F3D3E3", None, "±", BLACK),
    "undecided": ("#FAF5B5", None, "?", BLACK),
    "skipped": ("#F2F2F2", "////", "–", DARK_GREY),
    "n/a": ("#FFFFFF", None, "·", DARK_GREY),
}


def _apart(curves):
    """{curve: its number}: no two of them have one colour, or one marker, as long as there are some."""
    looks, given = [*SYSTEMS.values(), *OTHERS], {}
    free = lambda i, part: looks[i][part] not in {looks[n][part] for n in given.values()}  # noqa: E731
    own = {c: list(SYSTEMS).index(name) for c in curves if (name := c.split("+")[0]) in SYSTEMS}
    for curve, i in own.items():
        if free(i, 0) and free(i, 1):
            given[curve] = i
    for curve in (c for c in curves if c not in given):
        rest = [i for i in range(len(SYSTEMS), len(looks)) if i not in given.values()]
        given[curve] = next((i for wanted in ((0, 1), (1,), (0,), ()) for i in rest if all(free(i, part) for part in wanted)), rest[0])
    return {curve: i + 1 for curve, i in given.items()}


class Styles:
    """The styles of the systems of a run: the same in all its tables. Of a chart: those of its curves, which are systems, or a system and behind a + its
    setting."""

    def __init__(self, run, curves=()):
        self.unknown = sorted({cell["system"] for cell in run["cells"]} - set(SYSTEMS))
        self.curves = _apart(list(curves))

    def number(self, system):
        """Of the line style in style.gp."""
        if system in self.curves:
            return self.curves[system]
        if system in SYSTEMS:
            return 1 + list(SYSTEMS).index(system)
        return 1 + len(SYSTEMS) + (self.unknown.index(system) if system in self.unknown else 0) % len(OTHERS)

    def mark(self, rows):
        """Gives each row of a CSV the number of its system."""
        return [row | {"style": self.number(row["system"])} for row in rows]

    def of(self, system):
        """(colour, (matplotlib marker, filled, gnuplot pointtype), dashtype)."""
        return [*SYSTEMS.values(), *OTHERS][self.number(system) - 1]

    def marker(self, system, size=5.5):
        """For matplotlib's plot()."""
        colour, (marker, filled, _), _ = self.of(system)
        scale = {"D": 0.87, "*": 1.2, "x": 1.05, "+": 1.2}.get(marker, 1)
        return {"marker": marker, "markersize": size * scale, "color": colour, "markeredgecolor": colour,
                "markerfacecolor": colour if filled else "white", "markeredgewidth": 1.2}

    def line(self, system):
        colour, _, dash = self.of(system)
        return {"color": colour, "linestyle": DASHES[dash], "linewidth": 1.4}


# How the name of a protocol begins, in the order of the rows: those of one server stand together.
_FAMILIES = ("null", "floor", "local", "broken", "redis", "redlock", "zk", "pg", "etcd")


def rows_in_order(systems):
    """The references and the negative control first, then server after server, plugins last. Of one server first the systems of the table
    above, in its order, then others as they appear."""
    known = list(SYSTEMS)

    def place(system):
        family = system.split("@")[0].split("-")[0]
        return (_FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES),
                known.index(system) if system in known else len(known))

    return sorted(dict.fromkeys(systems), key=place)


def matplotlib_deterministic():
    """A matplotlib that gives the same bytes for the same input: no user settings, no random ids (the date in a file is
    left out where it is saved). Fonts in a PDF are embedded as TrueType."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "svg.hashsalt": "lockbench", "pdf.fonttype": 42, "font.family": "DejaVu Sans", "font.size": TEXT,
        "hatch.linewidth": 0.5, "hatch.color": "#BDBDBD", "figure.facecolor": "white", "text.parse_math": False,
        "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": DARK_GREY, "axes.axisbelow": True,
        "axes.titlesize": 8.5, "axes.titlepad": 6, "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.8,
        "xtick.color": DARK_GREY, "ytick.color": DARK_GREY, "xtick.labelcolor": BLACK, "ytick.labelcolor": BLACK,
        "xtick.labelsize": TEXT, "ytick.labelsize": TEXT, "legend.frameon": False, "legend.fontsize": TEXT,
    })
    return matplotlib


def as_gnuplot():
    """The text of style.gp."""
    lines = [
        "# SPDX-License-Identifier: MIT",
        "# style.gp - the look of plots/style.py for gnuplot. Made by: python3 plots/style.py > plots/style.gp",
    ]
    names = [*SYSTEMS, *(f"other {i + 1}" for i in range(len(OTHERS)))]
    for number, (name, style) in enumerate(zip(names, [*SYSTEMS.values(), *OTHERS]), start=1):
        colour, (_, _, pointtype), dash = style
        lines.append(f'set style line {number} lc rgb "{colour}" pt {pointtype} dt {dash} lw 1.6 ps 0.8 # {name}')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    import ending

    sys.exit(ending.of(lambda: print(as_gnuplot(), end="")))
