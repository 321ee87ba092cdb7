# SPDX-License-Identifier: MIT
"""hunt.py HUNT_DIR OUT - which faults break which lock: a row per mechanism, a column per system, from the hunt.csv of each.

A mechanism is what is done to whom, whenever; one fault, or two together. A cell is filled where a minimal set of it breaks
the lock within a lease, open where it does so sometimes only, and small where only after the lease. A dash: no timeline of
it was run there. HUNT_DIR has a folder per system, as `lockbench hunt -o HUNT_DIR` leaves it. OUT is an .svg or a .png; beside it the .csv of that name has what is drawn.
"""

import csv
import os
import re
import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import style

WORDS = {"restart": "restart", "kill": "kill", "pause": "stop", "isolate": "cut off from all servers", "part": "cut off from its replicas",
         "cut": "cut off from some servers", "cutoff": "cut off", "ahead": "wall clock ahead", "behind": "wall clock back", "fast": "clock twice as fast",
         "slow": "clock half as fast"}
HOSTS = {"P": "primary", "f": "minority", "all": "all servers", "c1": "holder", "c2": "waiter"}
MARKS = {"minimal": ("s", True, 90), "sometimes": ("s", False, 90), "late": (".", True, 60)}
LEGEND = {"minimal": "breaks within a lease, n of n", "sometimes": "breaks within a lease, k of n", "late": "breaks after the lease only"}


def mechanism_of(timeline):
    """"L2.kill-P@H-gone+cut-c1@B" -> (("cut", "c1"), ("kill", "P"))."""
    faults = timeline.partition(".")[2]
    return tuple(sorted(re.match(r"([a-z]+)-([A-Za-z0-9]+)@", fault).groups() for fault in faults.split("+") if fault))


def say(mechanism):
    return " + ".join(f"{HOSTS.get(host, host)}: {WORDS.get(kind, kind)}" for kind, host in mechanism) or "nothing at all"


def kind_of(row):
    if row["set"] == "minimal":
        return "minimal" if int(row["lease"]) else "late"
    return "sometimes" if row["set"] and int(row["lease"]) else None


def read(path):
    """What breaks in a hunt: {mechanism: mark}, and the mechanisms that were run."""
    broke, ran = {}, set()
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            mechanism, kind = mechanism_of(row["timeline"]), kind_of(row)
            if any(int(row[came]) for came in ("safe", "lease", "expired", "blocked")):
                ran.add(mechanism)
            if kind and list(MARKS).index(kind) < list(MARKS).index(broke.get(mechanism, "late")) + (mechanism not in broke):
                broke[mechanism] = kind
    return broke, ran


def hunts_of(folder):
    found = {name: os.path.join(folder, name, "hunt.csv") for name in sorted(os.listdir(folder))}
    found = {name: read(path) for name, path in found.items() if os.path.exists(path)}
    if not found:
        sys.exit(f"{folder}: found no SYSTEM/hunt.csv, expected the folder of a `lockbench hunt -o`")
    order = style.rows_in_order(found)
    return {name: found[name] for name in order}


def draw(hunts, mechanisms, out):
    figure, axes = plt.subplots(figsize=(1.2 + 0.095 * max(len(say(m)) for m in mechanisms) + 0.62 * len(hunts), 1.9 + 0.27 * len(mechanisms)))
    for x, (broke, ran) in enumerate(hunts.values()):
        for y, mechanism in enumerate(mechanisms):
            if mechanism not in broke:
                axes.text(x, y, "–" if mechanism not in ran else "·", ha="center", va="center", color=style.GREY, fontsize=8)
                continue
            marker, filled, size = MARKS[broke[mechanism]]
            axes.scatter(x, y, marker=marker, s=size, facecolors=style.VERMILION if filled else "none", edgecolors=style.VERMILION)
    for kind, (marker, filled, size) in MARKS.items():
        axes.scatter([], [], marker=marker, s=size, facecolors=style.VERMILION if filled else "none", edgecolors=style.VERMILION, label=LEGEND[kind])
    axes.scatter([], [], marker="$\\cdot$", color=style.GREY, label="run, and it kept exclusion")
    axes.scatter([], [], marker="$-$", color=style.GREY, label="not run there")
    axes.set_xticks(range(len(hunts)), list(hunts), rotation=35, ha="left", fontsize=8)
    axes.set_yticks(range(len(mechanisms)), [say(m) for m in mechanisms], fontsize=8)
    axes.xaxis.tick_top()
    axes.set_xlim(-0.6, len(hunts) - 0.4)
    axes.set_ylim(len(mechanisms) - 0.4, -0.6)
    ones = sum(len(m) < 2 for m in mechanisms)
    if 0 < ones < len(mechanisms):
        axes.axhline(ones - 0.5, color=style.DARK_GREY, linewidth=0.8)
    axes.grid(color=style.GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2, frameon=False, fontsize=8)
    figure.savefig(out, bbox_inches="tight", dpi=130, metadata={"Date": None} if out.endswith(".svg") else None)


def write(hunts, mechanisms, out):
    with open(out, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("mechanism", "faults", "system", "breaks"))
        for mechanism in mechanisms:
            for system, (broke, ran) in hunts.items():
                rows.writerow((say(mechanism), len(mechanism), system, broke.get(mechanism) or ("no" if mechanism in ran else "not run")))


def main():
    if len(sys.argv) != 3 or not sys.argv[2].endswith((".svg", ".png")):
        print("usage: hunt.py HUNT_DIR OUT.svg|OUT.png", file=sys.stderr)
        sys.exit(2)
    hunts = hunts_of(sys.argv[1])
    # Those that break something within a lease; what comes after it only is the same for every lease.
    found = {m for broke, _ in hunts.values() for m, kind in broke.items() if len(m) < 2 or kind == "minimal"}
    mechanisms = sorted(found, key=lambda m: (len(m), -sum(m in broke for broke, _ in hunts.values()), m))
    if not mechanisms:
        sys.exit(f"{sys.argv[1]}: no set breaks any of these locks, so there is nothing to draw")
    write(hunts, mechanisms, sys.argv[2][:-4] + ".csv")
    draw(hunts, mechanisms, sys.argv[2])


if __name__ == "__main__":
    main()
