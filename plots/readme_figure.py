# SPDX-License-Identifier: MIT
"""readme_figure.py RUN_DIR OUT.png - the picture of README.md: a row per timeline, a column per lock, the verdict without a guard.

GitHub shows it 830 pixels wide; it has twice as many, and every text is at least 11 pixels high when it is shown. Timelines and locks
that the run does not have are left out; of a lock with several topologies the first that the run has is drawn. A cell in which two held the lock
has two halves: in how many trials they did within a lease (the lock failed), and in how many after it (the holder did not stop). trials.csv says
so; of a run that does not say which (without within_lease) it is one word.
"""

import os
import sys

import ending
import run_folder
import style

SHOWN, WIDTH, DPI = 830, 8.3, 200  # pixels on GitHub, inches, pixels per inch in the file
FAULTS = {  # each names all faults of its timeline; FAULT_VERBS counts them
    "failover": "replicas cut off, then the primary dies",
    "failover-confirmed": "client cut from all but one, which dies",
    "failover-slow-link": "the same, its link slow and then cut",
    "split-brain": "client cut from all but one; it pauses",
    "restart-node": "client cut from minority, one restarts",
    "majority-lost": "minority cut off, majority restarts",
    "partition": "the holder is cut off",
    "pause-holder": "the holder is paused",
    "crash-holder": "the holder dies",
    "slow-holder": "work outlasts the lease",
    "clock-jump": "client cut from minority, a clock jumps",
    "clock-drift-10": "the same, a clock runs 10 % fast",
}
FAULT_VERBS = ("cut", "slow", "drop", "hold", "kill", "pause", "restart", "clock")
OTHER_VERBS = ("client", "wait", "await", "let", "observe", "heal", "resume", "release")
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
FILLS = {"stuck": "#8FC3E8", "delayed": "#B9C0EA", "mixed": "#F0B267", "no stop": "#E58E4E", "n/a": "#FFFFFF", "skipped": "#FFFFFF"}  # where grey has to tell them from "safe"
LEGEND = {"within": "trials in which two held it within a lease: the lock failed", "after": "two held it after the lease: the holder did not stop",
          "BOTH": "two held it at once, within a lease or after it", "DATA": "one at a time, but data or numbers went wrong", "safe": "one at a time", "stuck": "nobody else got it", "late": "others got it late",
          "mixed": "differs from trial to trial", "race": "timing decides", "?": "undecided", NO_QUESTION: "not asked of this lock"}
HALVES = ("within", "after")
LEFT, ROW, HEAD, LINE = 2.72, 0.31, 1.02, 0.2  # inches


def table_of(run):
    """(faults, [(words, system)], {(system, fault): cell}): what the run has of FAULTS and LOCKS."""
    at = {(c["system"], c["scenario"]): c for c in run["cells"] if c["guard"] == "none"}
    there = {system for system, fault in at if fault in FAULTS}
    locks = [(words, next(s for s in systems if s in there)) for words, *systems in LOCKS if there.intersection(systems)]
    faults = [fault for fault in FAULTS if any((system, fault) in at for _, system in locks)]
    return faults, locks, at


def faults_of(run, name):
    """How many steps of that timeline are faults. A run without steps (older ones) says nothing."""
    steps = next((s.get("steps") for s in run["scenarios"] if s["name"] == name), None)
    verbs = [step.split()[0] for step in steps or ()]
    unknown = [verb for verb in verbs if verb not in (*FAULT_VERBS, *OTHER_VERBS)]
    if unknown:
        raise ending.BadInput(f"{name}: step '{unknown[0]}', expected a verb that readme_figure.py knows as a fault or none")
    return sum(verb in FAULT_VERBS for verb in verbs) if steps else None


def is_race(cell):
    """Few trials of what timing decides say nothing of the next one. `any` is the word of older runs."""
    return cell["verdict"] != "undecided" and cell["expected"] in ("race", "any")


def halves_of(cell, trials):
    """("4/5", "0"): in how many trials two held it within a lease, in how many after it; None of a cell that is one word."""
    if trials is None or cell is None or cell["verdict"] not in ("violated", "mixed") or is_race(cell) or not cell["double_holds"] or cell.get("within_lease") is None:
        return None
    decided = cell["trials"] - cell["undecided"]
    mine = [t for t in trials if all(t[key] == cell[key] for key in ("scenario", "system", "guard")) and t["verdict"] != "undecided"]
    counts = (sum(t["within_lease"] > 0 for t in mine), sum(t["double_holds"] > t["within_lease"] for t in mine))
    return tuple(f"{count}/{decided}" if count else "0" for count in counts)


def word_of(cell):
    """Of a cell without halves."""
    if cell is None or cell["verdict"] not in WORDS:
        return NO_QUESTION
    if is_race(cell):
        return "race"
    if cell["verdict"] != "violated":
        return WORDS[cell["verdict"]]
    return "BOTH" if cell["double_holds"] else "DATA"


def look_of(word, cell):
    """The key of its fill."""
    return "mixed" if word == "race" else cell["verdict"] if cell else "n/a"


def title_of(run, fault):
    count = faults_of(run, fault)
    return FAULTS[fault] if count is None else f"{FAULTS[fault]} ({count})"


def origin(run, name, drawn, systems):
    """The lines at the foot: how many trials, the bound, the versions."""
    asked = [c for c in drawn if c["verdict"] in WORDS]
    low, high = min(c["trials"] for c in asked), max(c["trials"] for c in asked)
    bound = max((c["upper95"] for c in asked if c["verdict"] == "safe" and c["upper95"]), default=None)
    trials = f"{low} trial{'' if high == 1 else 's'}" if low == high else f"{low} to {high} trials"
    safe = f" safe: the rate is below {100 * bound:.1f} % (95 % confidence)." if bound else ""
    unreal = " No real clock runs 10 % fast." if any(c["scenario"] == "clock-drift-10" for c in asked) else ""
    return [f"Run {name}: {trials} of each.{safe} No guard: the holder writes without a check of its own.",
            f"In brackets: steps of the timeline that harm. Where there is one server, the client is cut from none.{unreal}",
            run_folder.versions_line(run, systems)]


def legend_lines(words):
    lines = [[]]
    for word in words:
        entry = f"{word}: {LEGEND[word]}"
        if sum(len(x) + 4 for x in lines[-1]) + len(entry) > 118:
            lines.append([])
        lines[-1].append(entry)
    return ["    ".join(line) for line in lines]


def write(ax, x, y, text, size, **how):
    ax.text(x, y, text, size=size, **{"va": "center", **how})


def box(ax, left, y, width, look, gid):
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((left, y), width, ROW, facecolor=FILLS.get(look) or style.VERDICTS[look][0], edgecolor="white", linewidth=2, gid=gid))


def paint_head(ax, locks, wide, halved):
    write(ax, 0.1, HEAD - 0.1, "What happens (number of faults)", 9, weight="bold")
    for i, (head, system) in enumerate(locks):
        middle = LEFT + wide * (i + 0.5)
        write(ax, middle, 0.06, head, 8.8, weight="bold", ha="center", va="top", linespacing=1.1)
        write(ax, middle, HEAD - 0.22, system.replace("@", "\n@"), 8, ha="center", va="bottom", color=style.DARK_GREY, linespacing=1.1)
        for k, half in enumerate(HALVES if halved else ()):
            write(ax, middle + wide * (k - 0.5) / 2, HEAD - 0.1, half, 8, ha="center", color=style.DARK_GREY)


def paint_word(ax, left, y, wide, word, look, gid):
    box(ax, left, y, wide, look, f"cell {gid}")
    write(ax, left + wide / 2, y + ROW / 2, word, 10, ha="center", weight="bold" if look == "violated" else "normal")


def paint_halves(ax, left, y, wide, counts, gid):
    box(ax, left, y, wide, "safe", f"cell {gid}")
    for k, (count, bad) in enumerate(zip(counts, ("violated", "no stop"))):
        look = "safe" if count == "0" else bad
        box(ax, left + wide * k / 2, y, wide / 2, look, f"half {gid}")
        write(ax, left + wide * (k + 0.5) / 2, y + ROW / 2, count, 8.1 if len(count) > 4 else 9, ha="center", weight="bold" if look == "violated" else "normal")


def paint(run, trials, name):
    from matplotlib.figure import Figure

    faults, locks, at = table_of(run)
    halves = {(s, f): halves_of(at.get((s, f)), trials) for _, s in locks for f in faults}
    words = {key: word_of(at.get(key)) for key in halves if not halves[key]}
    drawn = {*words.values(), *(HALVES if any(halves.values()) else ())}
    foot = [(line, 8.5, {}) for line in legend_lines([word for word in LEGEND if word in drawn])]
    foot += [(line, 8, {"color": style.DARK_GREY}) for line in origin(run, name, [at[key] for key in halves if key in at], [s for _, s in locks])]
    height = HEAD + ROW * len(faults) + LINE * len(foot) + 0.12
    fig, wide = Figure(figsize=(WIDTH, height)), (WIDTH - LEFT - 0.05) / len(locks)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, WIDTH), ylim=(height, 0))
    paint_head(ax, locks, wide, any(halves.values()))
    for r, fault in enumerate(faults):
        y = HEAD + ROW * r
        write(ax, 0.1, y + ROW / 2, title_of(run, fault), 8.8)
        for i, (_, system) in enumerate(locks):
            key, left = (system, fault), LEFT + wide * i
            if halves[key]:
                paint_halves(ax, left, y, wide, halves[key], f"{system} {fault}")
            else:
                paint_word(ax, left, y, wide, words[key], look_of(words[key], at.get(key)), f"{system} {fault}")
    for k, (line, size, how) in enumerate(foot):
        write(ax, 0.1, HEAD + ROW * len(faults) + 0.16 + LINE * k, line, size, **how)
    return fig


def trials_of(run_dir, run):
    """Nothing of a run that does not say which double holds were within a lease, nor of one that was published with its verdicts alone."""
    said = any(cell.get("within_lease") is not None for cell in run["cells"]) and os.path.exists(os.path.join(run_dir, "trials.csv"))
    return run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), ("double_holds", "within_lease")) if said else None


def draw(run_dir, out):
    run = run_folder.load_run(run_dir)
    faults, locks, _ = table_of(run)
    trials = trials_of(run_dir, run)
    if not faults:
        raise ending.BadInput(f"{run_dir}/run.json: none of the faults and locks of the picture")
    style.matplotlib_deterministic()
    with ending.naming(out):
        paint(run, trials, os.path.basename(os.path.abspath(run_dir))).savefig(out, dpi=DPI, metadata={"Software": None})
    print(f"{out}: {len(faults)} faults, {len(locks)} locks")
    return 0


def main():
    if len(sys.argv) != 3 or not sys.argv[2].endswith(".png"):
        print("usage: readme_figure.py RUN_DIR OUT.png", file=sys.stderr)
        return 2
    return draw(*sys.argv[1:])


if __name__ == "__main__":
    sys.exit(ending.of(main))
