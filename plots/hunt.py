# SPDX-License-Identifier: MIT
"""hunt.py HUNT_DIR OUT - which faults break which lock: a row per mechanism, a column per system, from the hunt.csv of each.

A mechanism is what is done to whom, whenever; one fault, or two together. A square is filled where a minimal set of it breaks
the lock within a lease, open where it does so sometimes only; a triangle is for what comes after the lease only, a diamond for damage or numbers without a double hold. A cross: no timeline of
it was run there. HUNT_DIR has a folder per system, as `lockbench hunt -o HUNT_DIR` leaves it. OUT is an .svg, .png or .pdf; beside it the .csv of that name has what is drawn.
"""

import csv
import sys

import ending
import hunt_folder
import style

MARKS = {"minimal": ("s", True, 50), "unreal": ("P", False, 45), "sometimes": ("s", False, 50), "late": ("v", True, 30), "other": ("d", False, 40)}
LEGEND = {"minimal": "breaks within a lease, n of n", "unreal": "the same, only with a clock that no machine has", "sometimes": "breaks within a lease, k of n", "late": "breaks after the lease only", "other": "no double hold: damage or numbers only"}
ROW, FOOT, CHAR = 0.145, 0.65, 0.057  # inches: a mechanism, the four lines below them, a letter
QUIET = {"smaller": {"marker": "s", "s": 16, "facecolors": "none", "edgecolors": style.GREY, "linewidths": 0.7},
         "kept": {"marker": ".", "s": 26, "color": style.GREY},
         "not run": {"marker": "x", "s": 14, "color": style.GREY, "linewidths": 0.7}}
# Nothing of the day or of the program, so that the same hunt gives the same bytes.
SAVED = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None},
         ".pdf": {"CreationDate": None, "Creator": None, "Producer": None}}


def kind_of(timeline):
    """Its mark; None of what is no set."""
    if not timeline.standing:
        return None
    if timeline.of != "lease":
        return "late" if timeline.of == "expired" else "other"
    return "sometimes" if timeline.standing != "minimal" else "unreal" if timeline.unreal else "minimal"


def read(hunt):
    """{mechanism: what came of it}: a mark, or one of QUIET. What is not there was not run."""
    ranks, broke, ran = list(MARKS), {}, {t.faults for t in hunt.timelines if t.decided}
    for timeline in hunt.timelines:
        kind = kind_of(timeline)
        if kind:
            broke[timeline.faults] = min(kind, broke.get(timeline.faults, kind), key=ranks.index)
    smaller = [faults for faults, _ in hunt.sets()]
    quiet = {t.faults: "smaller" if any(hunt_folder.is_part(s, t.faults) for s in smaller) else "kept" if t.faults in ran else "not run" for t in hunt.timelines}
    return quiet | broke


def breaks(found, mechanism):
    return found.get(mechanism) in MARKS


def draw(hunts, mechanisms, out):
    style.matplotlib_deterministic()
    import matplotlib.pyplot as plt

    names, rows = CHAR * max(len(hunt_folder.say(m)) for m in mechanisms) + 0.1, ROW * len(mechanisms)
    heads, width = CHAR * max(map(len, hunts)) * 0.87 + 0.2, style.TEXT_WIDTH  # they lean by 60 degrees
    height = heads + rows + FOOT
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((names / width, FOOT / height, min(0.45 * len(hunts), width - names - 0.6 * heads) / width, rows / height))
    for x, found in enumerate(hunts.values()):
        for y, mechanism in enumerate(mechanisms):
            if not breaks(found, mechanism):
                axes.scatter(x, y, **QUIET[found.get(mechanism, "not run")])
                continue
            marker, filled, size = MARKS[found[mechanism]]
            axes.scatter(x, y, marker=marker, s=size, facecolors=style.VERMILION if filled else "none", edgecolors=style.VERMILION)
    for kind, (marker, filled, size) in MARKS.items():
        axes.scatter([], [], marker=marker, s=size, facecolors=style.VERMILION if filled else "none", edgecolors=style.VERMILION, label=LEGEND[kind])
    for kind, text in (("smaller", "a part of it does it alone"), ("kept", "run, and it kept exclusion"), ("not run", "not run there")):
        axes.scatter([], [], **QUIET[kind], label=text)
    axes.set_xticks(range(len(hunts)), list(hunts), rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(mechanisms)), [hunt_folder.say(m) for m in mechanisms])
    axes.xaxis.tick_top()
    axes.set_xlim(-0.6, len(hunts) - 0.4)
    axes.set_ylim(len(mechanisms) - 0.4, -0.6)
    ones = sum(len(m) < 2 for m in mechanisms)
    if 0 < ones < len(mechanisms):
        axes.axhline(ones - 0.5, color=style.DARK_GREY, linewidth=0.8)
    axes.grid(visible=True, axis="y", color=style.GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    figure.legend(loc="lower left", bbox_to_anchor=(0, 0), ncols=2, labelspacing=0.2, borderpad=0, columnspacing=1)
    figure.savefig(out, dpi=130, metadata=SAVED[out[-4:]])


def write(hunts, mechanisms, out):
    with open(out, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("mechanism", "faults", "system", "breaks"))
        for mechanism in mechanisms:
            for system, found in hunts.items():
                rows.writerow((hunt_folder.say(mechanism), len(mechanism), system, found.get(mechanism, "not run")))


def main():
    if len(sys.argv) != 3 or sys.argv[2][-4:] not in SAVED:
        print("usage: hunt.py HUNT_DIR OUT.svg|OUT.png|OUT.pdf", file=sys.stderr)
        return 2
    hunts = {system: read(hunt) for system, hunt in hunt_folder.hunts_of(sys.argv[1]).items()}
    # Those that break something within a lease; what comes after it only is the same for every lease.
    drawn = {m for found in hunts.values() for m, kind in found.items() if kind in ("minimal", "unreal") or len(m) < 2 and kind in MARKS}
    mechanisms = sorted(drawn, key=lambda m: (len(m), -sum(breaks(found, m) for found in hunts.values()), m))
    if not mechanisms:
        print(f"{sys.argv[1]}: no set breaks any of these locks, so there is nothing to draw", file=sys.stderr)
        return 1
    with ending.naming(sys.argv[2]):
        write(hunts, mechanisms, sys.argv[2][:-4] + ".csv")
        draw(hunts, mechanisms, sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
