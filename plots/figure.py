# SPDX-License-Identifier: MIT
"""figure.py - what all figures share: from a run folder to figures/NAME.csv and NAME.svg, .png, .pdf in it.

A script calls main(NAME, make). make(run_dir, run, words) reads the run and returns a Picture: the numbers that are
drawn, and how. The CSV is written from the same rows; it comes first, and also where matplotlib is missing. The PDF
is for papers: what is SCREEN_ONLY (title, origin) is not in it, because a caption says it there.

Usage of every script: NAME.py RUN_DIR [words]. Exit: 0 drawn, or there is nothing to draw (one line says why, and no
older figure stays), 1 failed, 2 bad input, 5 the CSV is written, but matplotlib is missing. Files get their names
when complete. How else it ends: ending.py.
"""

import csv
import os
import re
import shutil
import signal
import sys
import tempfile
import textwrap

import ending
import run_folder
import style

SCREEN_ONLY = "screen-only"
ENDINGS = ("csv", "svg", "png", "pdf")
HEAD = 0.45  # inches, of the title


class NotDrawn(Exception):
    """This run has nothing for the figure; one line says what is missing."""


class Picture:
    def __init__(self, columns, rows, paint, said):
        """rows: dicts of text, int, float or None; paint(matplotlib) -> matplotlib figure, which may have an attribute
        paper_box (left, bottom, right, top in inches) where the PDF is not to be cropped to what is seen."""
        self.columns, self.rows, self.paint, self.said = columns, rows, paint, said


def file_name(scenario):
    """Its name as part of a file's: a shell, a URL and LaTeX each take ~ or = for something else."""
    return re.sub("[~=]+", "-", scenario)


def number(value):
    """A cell of a CSV: what a reader needs to draw the same picture, no more digits than that."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def write_csv(path, picture):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(picture.columns)
        out.writerows([number(row.get(column)) for column in picture.columns] for row in picture.rows)


def save(figure, stem):
    figure.savefig(f"{stem}.svg", format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(f"{stem}.png", format="png", dpi=160, metadata={"Software": None})
    for artist in figure.findobj(lambda a: a.get_gid() == SCREEN_ONLY):
        artist.set_visible(False)
    figure.savefig(f"{stem}.pdf", format="pdf", bbox_inches=paper_box(figure), pad_inches=0.02,
                   metadata={"CreationDate": None, "Creator": None, "Producer": None})


def paper_box(figure):
    """As wide as the figure, as high as what is seen: the paper shows it without scaling it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    if hasattr(figure, "paper_box"):
        return Bbox.from_extents(*figure.paper_box)
    seen = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    return Bbox.from_extents(0.02, seen.y0, figure.get_size_inches()[0] - 0.02, seen.y1)


def screen_text(figure, x, y, text, **more):
    """Text for the screen at x, y in inches from the top left corner."""
    width, height = figure.get_size_inches()
    return figure.text(x / width, 1 - y / height, text, gid=SCREEN_ONLY, va="top", **more)


def canvas(width, body, title, notes, run):
    """A figure `width` inches wide with `body` inches of height to draw in, between the title and, at the foot, notes and the origin of
    the numbers. Returns it and the height of the foot."""
    from matplotlib.figure import Figure

    room = int((width - 0.3) / 0.054)
    lines = [line for note in (*notes, run_folder.footer(run)) for line in textwrap.wrap(note, room, break_on_hyphens=False)]
    foot = 0.145 * len(lines) + 0.08
    height = HEAD + body + foot
    fig = Figure(figsize=(width, height))
    screen_text(fig, 0.15, 0.12, title, size=11.5, weight="bold")
    screen_text(fig, 0.15, height - foot, "\n".join(lines), size=7, color=style.DARK_GREY, linespacing=1.35)
    return fig, foot


def _forget(folder, name):
    for suffix in ENDINGS:
        if os.path.exists(f"{folder}/{name}.{suffix}"):
            os.remove(f"{folder}/{name}.{suffix}")


def _remedy():
    """What the package would change: only something for Debian's own Python."""
    return ": install python3-matplotlib" if sys.executable.startswith("/usr/bin/") else f", for {sys.executable}"


def _draw(run_dir, name, make, words):
    folder = os.path.join(run_dir, "figures")
    run = run_folder.load_run(run_dir)
    try:
        picture = make(run_dir, run, words)
    except NotDrawn as why:
        _forget(folder, name)
        print(f"not drawn: {why}")
        return 0
    os.environ["SOURCE_DATE_EPOCH"] = str(run_folder.epoch(run))
    os.makedirs(folder, exist_ok=True)
    work = tempfile.mkdtemp(prefix=".drawing-", dir=folder)
    try:
        endings = ENDINGS
        try:
            with ending.naming(folder):
                write_csv(f"{work}/{name}.csv", picture)
                matplotlib = style.matplotlib_deterministic()
                save(picture.paint(matplotlib), f"{work}/{name}")
        except ModuleNotFoundError as error:
            if error.name != "matplotlib":
                raise
            endings = ENDINGS[:1]
            print(f"{name}.csv is written, the figure is not drawn: matplotlib is missing{_remedy()}", file=sys.stderr)
        for suffix in endings:
            os.replace(f"{work}/{name}.{suffix}", f"{folder}/{name}.{suffix}")
    finally:
        shutil.rmtree(work)
    if endings != ENDINGS:
        return 5
    print(picture.said)
    return 0


def _interrupted(number, _):
    sys.exit(128 + number)  # so that `finally` is done


def main(name, make):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        print(f"usage: {os.path.basename(sys.argv[0])} RUN_DIR", file=sys.stderr)
        return 2
    return ending.of(lambda: _draw(words[0], name, make, words[1:]))
