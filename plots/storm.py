# SPDX-License-Identifier: MIT
"""storm.py RUN_DIR [SYSTEM...] - the table of random faults in docs/choose.md: what each lock lost without a guard, as Markdown.

Without SYSTEM all locks with servers that RUN_DIR played `storm` on. The lines behind the table say how many faults were tested, and what
the guard `deadline` left of it. Everything comes from run.json. docs/choose.md has the call in a
comment above the table; tests/python/test-storm.py compares.
"""

import math
import os
import sys

import ending
import run_folder

HEAD = ["lock, without a guard", "faults after which two worked at once", "within the lease: the lock's own failure",
        "lost updates of 1000 sections"]
LIARS = ("broken", "null")


def two_digits(x):
    if x >= 100:
        return f"{x:.0f}"
    return f"{x:.{max(0, 1 - math.floor(math.log10(x)))}f}" if x > 0 else "0"


def decided(cell):
    return cell["trials"] - cell["undecided"]


def interval(cell, name, scale=1, show=two_digits):
    value, low, high = (cell[name + end] * scale for end in ("", "_low", "_high"))
    return f"{show(value)} ({show(low)} to {show(high)})" if value > 0 else f"0 (below {show(high)})"


def percent(share):
    return round(100 * share)


def of_faults(cell, name):
    """"15 of 87: 17 % (10 to 28)". What was counted is of decided trials: the share of them."""
    n, k = cell["decided_faults"], round((cell[name] or 0) * cell["decided_faults"])
    value, low, high = (percent(cell[name + end]) for end in ("", "_low", "_high"))
    return f"{k} of {n}: {value} % ({low} to {high})" if k else f"none of {n} (below {math.ceil(100 * cell[name + '_high'])} %)"  # no bound becomes less


def row(cell):
    return [f"`{cell['system']}`", of_faults(cell, "overlapped_per_fault"), of_faults(cell, "within_lease_per_fault"), interval(cell, "lost_per_1000")]


def range_of(numbers):
    low, high = min(numbers), max(numbers)
    return f"{low} to {high}" if low < high else f"{low}"


def listing(words):
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def counted(run_dir, cells):
    trials, faults = [decided(c) for c in cells], [c["decided_faults"] for c in cells]
    return f"({run_dir}, {range_of(trials)} trials each, 95 % intervals; a fault counts if the lock was granted to somebody before the next one: {range_of(faults)}. Each lock met the faults that mean something there, of one client or server at a time.)"


def apart(cells):
    """Whose interval lies above whose, as they are printed: intervals that overlap rank no locks."""
    for name, head in (("overlapped_per_fault", "The intervals of two at once"), ("within_lease_per_fault", "Those within the lease")):
        above = {a["system"]: [f"`{b['system']}`" for b in cells if percent(a[f"{name}_low"]) > percent(b[f"{name}_high"])] for a in cells}
        said = [f"`{system}` lies above {listing(others)}" for system, others in above.items() if others]
        yield f"{head}: {'; '.join(said) or 'any two overlap'}."


def stuck(cells):
    """Who stood still for good in some trials: nobody was granted there after the faults that followed."""
    found = [f"`{c['system']}` ({c['stuck']} of {decided(c)})" for c in cells if c["stuck"]]
    if found:
        yield f"Stuck, so that fewer faults could tell: {listing(found)}."


def under_deadline(cells, plain):
    """Who was violated though the clock was looked at, and who was not."""
    bad = [f"`{c['system']}` ({c['lost_updates']})" for c in cells if c["verdict"] == "violated"]
    safe = [f"`{c['system']}`" for c in cells if c["verdict"] == "safe"]
    lost, before = (1000 * sum(c["lost_updates"] for c in x) / sum(c["decided_grants"] for c in x) for x in (cells, plain))
    said = [f"Looking at the clock before each access (`deadline`) {'saved most of it' if 2 * lost < before else 'saved little'} ({range_of([decided(c) for c in cells])} trials each)."]
    said += [f"Violated, with so many lost updates: {listing(bad)}."] if bad else []
    said += [f"Safe: {listing(safe)}."] if safe else []
    own = [f"`{c['system']}` {round(c['within_lease_per_fault'] * c['decided_faults'])} of {c['decided_faults']}" for c in cells if c["within_lease_per_fault"]]
    said += [f"Within the lease even so, faults: {listing(own)}."] if own else []
    return " ".join(said)


def chosen(cells, guard, systems):
    """The cells of storm under this guard that ran, in the order of `systems`."""
    ran = {c["system"]: c for c in cells if c["scenario"] == "storm" and c["guard"] == guard and c.get("decided_faults")}
    wanted = systems or [s for s in ran if not s.startswith(LIARS) and not s.endswith("@none")]
    missing = [s for s in wanted if s not in ran]
    if missing and guard == "none":
        raise run_folder.BadInput(f"{missing[0]}: this run has no faults of storm for it")
    return [ran[s] for s in wanted if s in ran]


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return ending.BAD_INPUT
    folder, systems = sys.argv[1], sys.argv[2:]
    run = run_folder.load_run(folder)
    cells = run["cells"]
    plain, guarded = chosen(cells, "none", systems), chosen(cells, "deadline", systems)
    if not plain:
        raise run_folder.BadInput(f"{os.path.join(folder, 'run.json')}: no cell of storm without a guard")
    for line in [HEAD, ["---"] * len(HEAD)] + [row(c) for c in plain]:
        print("| " + " | ".join(line) + " |" if line[0] != "---" else "|" + "---|" * len(HEAD))
    print("\n" + counted(folder, plain))
    print(*apart(plain))
    for line in stuck(plain):
        print(line)
    if guarded:
        print(under_deadline(guarded, plain))
    print(run_folder.versions_line(run, [c["system"] for c in plain]))
    return 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
