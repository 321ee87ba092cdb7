# SPDX-License-Identifier: MIT
"""legible.py - are pictures legible where they are read?

    legible.py paper SOURCE_DIR FOLDER...  the figures that the paper includes, as PDFs in these folders: included without scaling, no wider than the
                                           column or page they are set in, and no text below 8 points
    legible.py readme SOURCE_DIR RUN_DIR   the picture of README: at most 12 x 8 cells, each text inside its cell and at least 11 pixels high
                                           at the 830 pixels it is shown in; verdicts differ in grey
    legible.py styles SOURCE_DIR           no two systems share marker and dash, in either program, and no two curves of a chart colour or marker
    legible.py drawn SOURCE_DIR RUN_DIR    figures of a run: no text is cut off at the edge, and no two texts at ticks of an axis touch
"""

import glob
import os
import re
import sys
import zlib

sys.dont_write_bytecode = True
TEXT_POINTS, SHOWN_PIXELS, LEAST_PIXELS, MOST_ROWS, MOST_COLUMNS, GREYS_APART = 8, 830, 11, 12, 8, 0.08


def text_sizes(pdf):
    """The sizes in points of the texts of a PDF of matplotlib's."""
    sizes = set()
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            content = zlib.decompressobj().decompress(stream)  # its last byte may be the one that looks like the end of a line
        except zlib.error:
            continue
        sizes |= {float(size) for size in re.findall(rb"/F\S+ ([0-9.]+) Tf", content)}
    return sizes


def included(source):
    """{name: widest it may be, in points} of the figures in the paper's text."""
    import style

    found = {}
    for path in glob.glob(f"{source}/paper/*.tex"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for star, body in re.findall(r"\\begin\{figure(\*?)\}(.*?)\\end\{figure\*?\}", text, re.DOTALL):
            for scaled, name in re.findall(r"\\includegraphics(\[[^]]*\])?\{([^}]*)\}", body):
                assert not scaled, f"{path}: {name} is scaled: {scaled}"
                found[name] = 72 * (style.TEXT_WIDTH if star else style.COLUMN_WIDTH)
    assert len(found) > 4, found
    return found


def check_paper(source, folders):
    for name, most in included(source).items():
        paths = [path for path in (f"{folder}/{name}.pdf" for folder in folders) if os.path.exists(path)]
        assert paths, f"no {name}.pdf in {folders}"
        for path in paths:
            with open(path, "rb") as file:
                pdf = file.read()
            left, _, right, _ = map(float, re.search(rb"/MediaBox \[([^]]*)\]", pdf).group(1).split())
            sizes = text_sizes(pdf)
            print(f"{path}: {right - left:.1f} of {most:.1f} points wide, texts of {sorted(sizes)}")
            assert sizes and min(sizes) >= TEXT_POINTS, f"{path}: text of {min(sizes, default=None)} points"
            assert right - left <= most + 0.1, f"{path}: wider than the place it is set in"


def grey(colour):
    from matplotlib.colors import to_rgb

    return sum(share * part for share, part in zip((0.299, 0.587, 0.114), to_rgb(colour)))


def check_readme(run_dir):
    import readme_figure
    import run_folder
    import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    style.matplotlib_deterministic()
    run = run_folder.load_run(run_dir)
    fig = readme_figure.paint(run, readme_figure.trials_of(run_dir, run), "a-run")
    renderer = FigureCanvasAgg(fig).get_renderer()
    ax = fig.axes[0]
    cells = [patch.get_window_extent(renderer) for patch in ax.patches if (patch.get_gid() or "").startswith("cell ")]
    rows, columns = ({round(edge) for edge in edges} for edges in ([c.y0 for c in cells], [c.x0 for c in cells]))
    print(f"{len(rows)} rows, {len(columns)} columns, {len(cells)} cells")
    assert cells and len(cells) == len(rows) * len(columns), "cells are missing"
    assert len(rows) <= MOST_ROWS and len(columns) <= MOST_COLUMNS, "too many cells"
    race = dict(next(iter(run_folder.load_run(run_dir)["cells"])), verdict="safe", undecided=0)
    assert [readme_figure.word_of(dict(race, expected=e)) for e in ("race", "any", "safe")] == ["race", "race", "safe"], "one trial of a race is no verdict"
    overtaken = dict(race, verdict="violated", expected="violated", violated=3, trials=4, double_holds=4, within_lease=1)
    of_trials = [{key: race[key] for key in ("scenario", "system", "guard")} | {"verdict": v, "double_holds": d, "within_lease": w} for v, d, w in
                 (("violated", 1, 1), ("violated", 2, 0), ("violated", 1, 0), ("safe", 0, 0))]
    assert readme_figure.halves_of(overtaken, of_trials) == ("1/4", "2/4"), "a holder that did not stop is no failure of the lock"
    assert readme_figure.halves_of(dict(overtaken, within_lease=None), of_trials) is None and readme_figure.word_of(overtaken) == "BOTH"
    assert readme_figure.halves_of(dict(overtaken, expected="race"), of_trials) is None and readme_figure.halves_of(dict(overtaken, verdict="safe"), of_trials) is None
    said = {s["name"]: s.get("steps") for s in run_folder.load_run(run_dir)["scenarios"]}
    counts = {name: readme_figure.faults_of(run_folder.load_run(run_dir), name) for name in readme_figure.FAULTS if said.get(name)}
    assert counts == {name: sum(step.startswith(readme_figure.FAULT_VERBS) for step in said[name]) for name in counts}, counts
    for name in counts if "results/" in run_dir else ():
        label = readme_figure.FAULTS[name].replace("the same", "client cut to")
        assert ("cut" in label) == any(step.startswith("cut") for step in said[name]), f"{name}: '{label}' does not name its cuts: {said[name]}"
    halves = [patch for patch in ax.patches if (patch.get_gid() or "").startswith("half ")]
    assert all(abs(2 * half.get_window_extent(renderer).width - cells[0].width) < 2 for half in halves), "halves that are none"
    wide = {True: cells[0].width, False: cells[0].width / 2}
    for text in ax.texts:
        box, pixels = text.get_window_extent(renderer), text.get_size() / 72 * SHOWN_PIXELS / fig.get_size_inches()[0]
        assert pixels >= LEAST_PIXELS, f"'{text.get_text()}' is {pixels:.1f} pixels high"
        assert 0 <= box.x0 and box.x1 <= fig.bbox.x1 and 0 <= box.y0 and box.y1 <= fig.bbox.y1, f"'{text.get_text()}' is cut off"
        counted = re.fullmatch(r"\d+/\d+|0|within|after", text.get_text())
        assert text.get_ha() != "center" or box.width <= wide[not counted], f"'{text.get_text()}' is wider than its column"
        assert text.get_ha() == "center" or box.x1 <= min(c.x0 for c in cells) or box.y1 <= min(c.y0 for c in cells), f"'{text.get_text()}' reaches into the cells"
    fills = {v: grey(readme_figure.FILLS.get(v) or style.VERDICTS[v][0]) for v in ("safe", "violated", "no stop", "stuck", "n/a")}
    apart = [abs(a - b) for v, a in fills.items() for w, b in fills.items() if v < w]
    assert min(apart) >= GREYS_APART, fills


def check_styles():
    import style

    looks = [(name, marker, dash) for name, (_, marker, dash) in style.SYSTEMS.items()]
    for of in (lambda m: m[:2], lambda m: m[2]):  # matplotlib's, gnuplot's
        seen = {}
        for name, marker, dash in looks:
            other = seen.setdefault((of(marker), dash), name)
            assert other == name, f"{name} looks like {other} without colour"
    charts = [["redis-token@" + t for t in ("redis", "redis-aof", "sentinel", "cluster", "redis-aof-everysec")],
              ["redis-token@redis+wake=no", "redis-token@redis+wake=yes", "pg-row@pg", "mine@redis", "peer:a@redis", "peer:b@redis"],
              ["pg-lease@pg", "pg-lease@pg-nosync", "pg-lease@pg-sync", "redis-token@redis", "redis-token@redis-aof", "redlock@redis-x5", "redlock@redis-x5-aof",
               "zk-sequential@zk", "zk-sequential@zk-nosync", "zk-sequential@zk-x3"]]
    for curves in charts:
        styles = style.Styles({"cells": []}, curves)
        for part in (0, 1):
            found = [styles.of(c)[part] for c in curves]
            assert len(set(found)) == len(curves), f"{curves} share one of {found}"
    whole = [f"{name}{i}@redis" for i in range(40) for name in "ab"]
    styles = style.Styles({"cells": []}, whole)
    assert len({styles.of(c)[:2] for c in whole}) == len(whole), "of very many curves two have one colour and marker"


def check_drawn(run_dir):
    import figure
    import guard_table
    import latency
    import run_folder
    import scaling
    import style
    import truth_table
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    matplotlib, seen = style.matplotlib_deterministic(), 0
    for script in (truth_table, guard_table, scaling, latency):
        try:
            fig = script.make(run_dir, run_folder.load_run(run_dir), []).paint(matplotlib)
        except figure.NotDrawn:
            continue
        renderer, seen = FigureCanvasAgg(fig).get_renderer(), seen + 1
        fig.draw(renderer)
        for text in fig.findobj(lambda a: hasattr(a, "get_text") and a.get_visible() and a.get_text()):
            box = text.get_window_extent(renderer)
            assert box.x0 >= -1 and box.x1 <= fig.bbox.x1 + 1, f"{script.__name__}: '{text.get_text()}' is cut off: {box.x0:.0f} to {box.x1:.0f} of {fig.bbox.x1:.0f}"
        for ax in fig.axes:
            low, high = ax.get_xlim()
            ticks = [(at, label.get_window_extent(renderer)) for at, label in zip(ax.get_xticks(), ax.get_xticklabels()) if low <= at <= high and label.get_text()]
            for (_, a), (_, b) in zip(sorted(ticks, key=lambda t: t[0]), sorted(ticks, key=lambda t: t[0])[1:]):
                assert a.x1 + 2 < b.x0, f"{script.__name__}: two texts at ticks touch"
    assert seen >= 2, "nothing was drawn"


def main():
    what, source, *more = sys.argv[1:]
    sys.path.insert(0, f"{source}/plots")
    if what == "paper":
        check_paper(source, more)
    elif what == "readme":
        check_readme(*more)
    elif what == "drawn":
        check_drawn(*more)
    else:
        check_styles()


if __name__ == "__main__":
    main()
