# SPDX-License-Identifier: MIT
"""style.py - one look for all figures: a colour, marker and dash per system, a colour and glyph per verdict.

The hue belongs to the protocol, marker and dash to the topology it runs on, so that a system is recognised without
colour. Hues are those of Okabe and Ito, which people with colour-blindness tell apart; vermilion is for violations.
`python3 plots/style.py` prints the same table for gnuplot; plots/style.gp is that output, and a test compares the two.
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, DARK_GREY, LIGHT_GREY = "#8C8C8C", "#595959", "#D9D9D9"

# name in matplotlib, number in gnuplot
CIRCLE, CIRCLE_OPEN, PENTAGON = ("o", True, 7), ("o", False, 6), ("p", True, 15)
SQUARE, SQUARE_OPEN = ("s", True, 5), ("s", False, 4)
DIAMOND, DIAMOND_OPEN = ("D", True, 13), ("D", False, 12)
UP, UP_OPEN, DOWN, DOWN_OPEN = ("^", True, 9), ("^", False, 8), ("v", True, 11), ("v", False, 10)
PLUS, CROSS, STAR = ("+", True, 1), ("x", True, 2), ("*", True, 3)

SOLID, DASHED, DOTTED, DASH_DOT = 1, 2, 3, 4  # gnuplot's dashtypes

SYSTEMS = {  # grey: not locks one would deploy, but the harness's own cost and the floor
    "null@none": (GREY, CROSS, DOTTED),
    "local@none": (DARK_GREY, PLUS, DASHED),
    "broken@none": (BLACK, STAR, DASH_DOT),
    "redis-token@redis": (ORANGE, CIRCLE, SOLID),
    "redis-token@redis-aof": (ORANGE, CIRCLE_OPEN, DASHED),
    "redis-token@sentinel": (ORANGE, PENTAGON, DOTTED),
    "redlock@redis-x5": (PURPLE, UP, SOLID),
    "zk-sequential@zk": (GREEN, SQUARE, SOLID),
    "zk-sequential@zk-x3": (GREEN, SQUARE_OPEN, DASHED),
    "pg-row@pg": (BLUE, DIAMOND, SOLID),
    "pg-row@pg-async": (BLUE, DIAMOND_OPEN, DASHED),
    "pg-row@pg-sync": (BLUE, DOWN, DOTTED),
}
# For systems this table does not know (plugins): by their rank by name among the unknown ones of a run.
OTHERS = [(SKY, DOWN, SOLID), (SKY, DOWN_OPEN, DASHED), (SKY, UP_OPEN, DOTTED), (SKY, PENTAGON, DASH_DOT)]

# verdict: (fill, hatch, glyph, colour of text). Fills are light tints, except for the one thing nobody may overlook.
VERDICTS = {
    "safe": ("#B8E2D5", None, "✓", BLACK),
    "violated": (VERMILION, None, "✗", BLACK),
    "stuck": ("#BFE0F5", None, "■", BLACK),
    "undecided": ("#FAF5B5", None, "?", BLACK),
    "skipped": ("#F2F2F2", "////", "–", DARK_GREY),
}


def unknown_ranks(systems):
    """{system: rank by name among those the table does not know, else 0}; the same in all figures of a run."""
    unknown = sorted(set(systems) - set(SYSTEMS))
    return {s: unknown.index(s) if s in unknown else 0 for s in systems}


def of_system(system, unknown_rank=0):
    """(colour, (matplotlib marker, filled, gnuplot pointtype), dashtype) of a system."""
    return SYSTEMS.get(system) or OTHERS[unknown_rank % len(OTHERS)]


def matplotlib_deterministic():
    """A matplotlib that gives the same bytes for the same input: no user settings, no random ids (the date in a file is
    left out where it is saved)."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "svg.hashsalt": "lockbench", "font.family": "DejaVu Sans", "font.size": 9, "hatch.linewidth": 0.5,
        "hatch.color": "#BDBDBD", "figure.facecolor": "white", "text.parse_math": False,
    })
    return matplotlib


def as_gnuplot():
    """The text of style.gp."""
    names = list(SYSTEMS)
    lines = [
        "# SPDX-License-Identifier: MIT",
        "# style.gp - the look of plots/style.py for gnuplot. Made by: python3 plots/style.py > plots/style.gp",
        "# lb_style(SYSTEM, I) is the line style of a system; I, a rank from 0, picks one where it is not known.",
        'LB_SYSTEMS = "' + " ".join(names[:7]) + '"',
        'LB_SYSTEMS = LB_SYSTEMS." ' + " ".join(names[7:]) + '"',
        f"LB_OTHERS = {len(OTHERS)}",
        "lb_known(system) = sum [k=1:words(LB_SYSTEMS)] (word(LB_SYSTEMS, k) eq system ? k : 0)",
        "lb_style(system, i) = lb_known(system) ? lb_known(system) : 1 + words(LB_SYSTEMS) + i % LB_OTHERS",
    ]
    names += [f"other {i + 1}" for i in range(len(OTHERS))]
    for number, (name, style) in enumerate(zip(names, list(SYSTEMS.values()) + OTHERS), start=1):
        colour, (_, _, pointtype), dash = style
        lines.append(f'set style line {number} lc rgb "{colour}" pt {pointtype} dt {dash} lw 1.6 ps 0.8 # {name}')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_gnuplot(), end="")
