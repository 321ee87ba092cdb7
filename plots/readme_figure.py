# SPDX-License-Identifier: MIT
"""readme_figure.py RUN_DIR OUT.png - the picture of README.md: a row per fault, a column per lock, the verdict without a guard.

GitHub shows it 830 pixels wide; it has twice as many, and every text is at least 11 pixels high when it is shown. Faults and locks
that the run does not have are left out; of a lock with several topologies the first that the run has is drawn.
"""

import os
import sys

import ending
import run_folder
import style

SHOWN, WIDTH, DPI = 830, 8.3, 200  # pixels on GitHub, inches, pixels per inch in the file
FAULTS = {
    "failover": "failover, replica not yet told",
    "failover-confirmed": "failover, replica told",
    "failover-slow-link": "failover, replication is slow",
    "split-brain": "the old primary wakes up",
    "restart-node": "one server restarts",
    "majority-lost": "most servers restart",
    "partition": "the holder is cut off",
    "pause-holder": "the holder is paused",
    "crash-holder": "the holder crashes",
    "slow-holder": "work outlasts the lease",
    "clock-jump": "a server's clock jumps",
    "clock-drift-10": "a server's clock runs 10 % fast",
}
LOCKS = (  # words, and the systems that they stand for
    ("Redis\n1 server", "redis-token@redis"),
    ("Redis\nSentinel", "redis-token@sentinel"),
    ("Redlock\nmajority", "redlock@redis-x5", "redlock@redis-x3"),
    ("ZooKeeper\nmajority", "zk-sequential@zk-x3"),
    ("Postgres\nrow lock", "pg-row@pg-sync", "pg-row@pg"),
    ("Postgres\nlease", "pg-lease@pg-sync", "pg-lease@pg"),
    ("etcd\nmajority", "etcd-lease@etcd-x3"),
)
WORDS = {"safe": "safe", "violated": "LOST", "stuck": "stuck", "delayed": "late", "mixed": "mixed", "undecided": "?"}  # others: NO_QUESTION
NO_QUESTION = "–"
FILLS = {"stuck": "#8FC3E8", "delayed": "#B9C0EA", "mixed": "#F0B267", "n/a": "#FFFFFF", "skipped": "#FFFFFF"}  # where grey has to tell them from "safe"
LEGEND = {"safe": "one holder at a time", "LOST": "two clients held it at once", "DATA": "one at a time, but data or numbers went wrong", "stuck": "nobody else got it", "late": "others got it late",
          "mixed": "differs from trial to trial", "race": "timing decides", "?": "undecided", NO_QUESTION: "not asked of this lock"}
LEFT, ROW, HEAD, FOOT = 2.3, 0.31, 0.86, 0.5  # inches


def table_of(run):
    """(faults, [(words, system)], {(system, fault): cell}): what the run has of FAULTS and LOCKS."""
    at = {(c["system"], c["scenario"]): c for c in run["cells"] if c["guard"] == "none"}
    there = {system for system, fault in at if fault in FAULTS}
    locks = [(words, next(s for s in systems if s in there)) for words, *systems in LOCKS if there.intersection(systems)]
    faults = [fault for fault in FAULTS if any((system, fault) in at for _, system in locks)]
    return faults, locks, at


def is_race(cell):
    """Few trials of what timing decides say nothing of the next one. `any` is the word of older runs."""
    return cell["verdict"] != "undecided" and cell["expected"] in ("race", "any")


def word_of(cell):
    """"LOST 4/5" where some trials kept exclusion."""
    if cell is None or cell["verdict"] not in WORDS:
        return NO_QUESTION
    if is_race(cell):
        return "race"
    decided = cell["trials"] - cell["undecided"]
    if cell["verdict"] == "violated" and not cell["double_holds"]:
        return "DATA"
    some = cell["verdict"] == "violated" and cell["violated"] < decided
    return WORDS[cell["verdict"]] + (f" {cell['violated']}/{decided}" if some else "")


def paint(run, name):
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    faults, locks, at = table_of(run)
    height = HEAD + ROW * len(faults) + FOOT
    fig, wide = Figure(figsize=(WIDTH, height)), (WIDTH - LEFT - 0.05) / len(locks)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, WIDTH), ylim=(height, 0))
    ax.text(0.1, HEAD - 0.3, "What happens", size=10, weight="bold", va="center")
    for i, (words, system) in enumerate(locks):
        middle = LEFT + wide * (i + 0.5)
        ax.text(middle, 0.06, words, size=9.5, weight="bold", ha="center", va="top", linespacing=1.1)
        ax.text(middle, HEAD - 0.06, system.replace("@", "\n@"), size=8, ha="center", va="bottom", color=style.DARK_GREY, linespacing=1.1)
    for r, fault in enumerate(faults):
        y = HEAD + ROW * r
        ax.text(0.1, y + ROW / 2, FAULTS[fault], size=10, va="center")
        for i, (_, system) in enumerate(locks):
            cell = at.get((system, fault))
            word = word_of(cell)
            verdict = "mixed" if word == "race" else cell["verdict"] if cell else "n/a"
            ax.add_patch(Rectangle((LEFT + wide * i, y), wide, ROW, facecolor=FILLS.get(verdict, style.VERDICTS[verdict][0]), edgecolor="white", linewidth=2,
                                   gid=f"cell {system} {fault}"))
            ax.text(LEFT + wide * (i + 0.5), y + ROW / 2, word, size=10, ha="center", va="center", weight="bold" if verdict == "violated" else "normal")
    drawn = {word_of(at.get((system, fault))).split(" ")[0] for _, system in locks for fault in faults}
    ax.text(0.1, height - 0.35, "    ".join(f"{word}: {LEGEND[word]}" for word in LEGEND if word in drawn), size=8.5, va="center")
    ax.text(0.1, height - 0.13, f"Guard none: the holder writes without a check of its own. Run {name}.", size=8, va="center", color=style.DARK_GREY)
    return fig


def draw(run_dir, out):
    run = run_folder.load_run(run_dir)
    faults, locks, _ = table_of(run)
    if not faults:
        raise ending.BadInput(f"{run_dir}/run.json: none of the faults and locks of the picture")
    style.matplotlib_deterministic()
    with ending.naming(out):
        paint(run, os.path.basename(os.path.abspath(run_dir))).savefig(out, dpi=DPI, metadata={"Software": None})
    print(f"{out}: {len(faults)} faults, {len(locks)} locks")
    return 0


def main():
    if len(sys.argv) != 3 or not sys.argv[2].endswith(".png"):
        print("usage: readme_figure.py RUN_DIR OUT.png", file=sys.stderr)
        return 2
    return draw(*sys.argv[1:])


if __name__ == "__main__":
    sys.exit(ending.of(main))
