# SPDX-License-Identifier: MIT
"""compare.py [--json | --markdown] [--anyway] A B | RUN - what run B did faster or slower than run A, and which verdicts of A it did not reproduce, also on servers of
another origin (`redis-token@redis:trixie` where A has `redis-token@redis`); or of one run the variants of a scenario beside the first of them, and servers of another version beside the first (`-b redis-token@redis,redis-token@redis:valkey-9.1`), and their verdicts.

Only trials that were decided safe count, and whose rate had settled: what did not exclude has no speed. The words follow from the interval alone, which knows the spread of the repeats of a run. It
does not know what changed on the machine between two runs, so two values of a setting are better interleaved in one run (`-s KEY=X,Y`), and two builds better run in
turns (`--against`). A folder of such rounds has runs named 1, 2, 3 ... What was measured in the same round is compared in pairs.

Runs of other machines or settings are refused with what differs, for a ratio of two causes would be quoted as if it were one; --anyway compares them all the same.

Exit: 0 nothing is slower, 3 something is, or a cell has another verdict, 4 too few repeats for all of it, 2 bad input or not comparable, 5 a package is missing.
"""

import argparse
import collections
import dataclasses
import json
import math
import os
import sys

import ending
import report
import run_folder

PERCENT, RESAMPLES, SEED = 99, 10000, 20261122
REPEATS = 5  # the least on either side: then all of one lie above all of the other by chance once in 126 draws, in either direction
BOOTSTRAPPED = 7  # from so many on; of fewer the interval would end inside the extremes, and more often than once in a hundred say that equals differ
PAIRS = 8    # fewer say less than the medians of their sides
TAIL_SAMPLES = 10  # a quantile of fewer samples beyond it is one of luck
QUANTILES = {"p50": 0.5, "p99": 0.01, "p999": 0.001}
# name: (whether more is faster, share of the samples that lie beyond it, whether its samples are hand-offs)
METRICS = {"grants_per_s": (True, 0, False), "handoffs_per_s": (True, 0, False), "of_floor": (True, 0, False)} | {
    f"{what}_{q}_us": (False, beyond, what == "handoff") for what in ("wait", "handoff", "release") for q, beyond in QUANTILES.items()}
UNITS = {name: "1" if name == "of_floor" else "1/s" if more else "us" for name, (more, *_) in METRICS.items()}
WORDS = {"same": "cannot be told apart", "faster": "faster", "slower": "slower", "unknown": "unknown"}

# Members of run.json that are of one run, of one moment, or only for people.
OF_ONE_RUN = {"schema_version", "id", "tool", "argv", "started_utc", "seconds", "sittings", "seed", "jobs", "servers", "trials", "done", "partial", "shard",
              "machine", "cells", "control", "verdict", "lock_verdict", "exit_code", "exit_meaning", "scenarios"}
OF_ONE_MOMENT = {"load_before", "load_after"}
OF_PEOPLE = {"name", "title", "question", "refuted", "upstream", "file", "base", "varied", "workload"}


# ---- runs ----------------------------------------------------------------------------------------------------------------

class Side:
    """What a comparison takes from a run folder, or from a folder of rounds: {(scenario, system, guard, clients): its trials}."""

    def __init__(self, folder):
        self.folder, self.rounds, rounds = folder, 0, []
        while os.path.isfile(os.path.join(folder, str(len(rounds) + 1), "run.json")):
            rounds.append(os.path.join(folder, str(len(rounds) + 1)))
        self.rounds = len(rounds)
        self.groups = collections.OrderedDict()
        self.run = None
        for number, place in enumerate(rounds or [folder]):
            run = run_folder.load_run(place)
            self.run = self.run or run
            self._take(place, {s["name"]: s for s in run["scenarios"]}, number)
        self.scenarios = {s["name"]: s for s in self.run["scenarios"]}
        self.cells = {(c["scenario"], c["system"], c["guard"]): c for c in self.run["cells"]}
        self.systems = dict.fromkeys(c["system"] for c in self.run["cells"])

    def _take(self, place, scenarios, number):
        if run_folder.only_verdicts(place):
            return
        numbers = ("grants", "handoffs", "measured_s", "grants_per_s")
        rows = run_folder.load_csv(place, "trials.csv", ("scenario", "system", "guard", "clients", "verdict"), numbers, newer=("trial", "unsettled"), newer_numbers=tuple(METRICS))
        run_folder.beside_floors(rows)
        for row in rows:
            scenario = scenarios.get(row["scenario"])
            if scenario is not None and not scenario.get("steps") and not isinstance(scenario.get("campaign"), dict):
                mine = self.groups.setdefault(tuple(row[c] for c in ("scenario", "system", "guard", "clients")), [])
                mine.append(_measured(row) | {"turn": (number, row["trial"] or len(mine))})

    def first_variant(self, name):
        """The first scenario of the same base; None for that one itself, and for what has no variants."""
        base = self.scenarios[name].get("base")
        first = next((s["name"] for s in self.run["scenarios"] if base and s.get("base") == base), None)
        return None if first == name else first

    def first_version(self, system):
        """The first system of the same name but for the origin of its servers; None for that one itself."""
        first = next((s for s in self.systems if _before_origin(s) == _before_origin(system)), system)
        return None if first == system else first

    def like(self, cell, among):
        """This cell, or where the run has not got it the first with a system of the same name on servers of another origin."""
        if cell in among:
            return cell
        alike = (s for s in self.systems if _before_origin(s) == _before_origin(cell[1]))
        return next((other for s in alike if (other := (cell[0], s, *cell[2:])) in among), cell)


def _before_origin(system):
    protocol, _, topology = system.partition("@")
    return protocol, topology.partition(":")[0]


def _measured(row):
    """Without the quantiles of which too few samples lie beyond. The hand-offs are counted over the whole trial."""
    samples = (row["grants_per_s"] or 0) * (row["measured_s"] or 0)
    for name, (_, beyond, of_handoffs) in METRICS.items():
        mine = samples * (row["handoffs"] or 0) / row["grants"] if of_handoffs and row["grants"] else samples
        if beyond and not beyond * mine >= TAIL_SAMPLES:
            row[name] = None
    return row


# ---- one metric ----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Row:
    a_cell: tuple
    b_cell: tuple
    metric: str
    a: float
    b: float
    a_repeats: int
    b_repeats: int
    paired: bool
    ratio: float = None
    low: float = None
    high: float = None

    @property
    def difference(self):
        if self.low is None:
            return "unknown"
        if self.low <= 1 <= self.high:
            return "same"
        return "faster" if (self.low > 1) == METRICS[self.metric][0] else "slower"

    @property
    def too_few(self):
        return self.difference == "unknown" and self.ratio is not None


class NoNumpy(Exception):
    """One line: what is missing, and what to do."""


def interval(left, right):
    """A percentile bootstrap: each side is drawn again with replacement, as many repeats as it has, and the ratio of their medians taken (B. Efron, Annals of
    Statistics 7, 1979). Of 99 %, not of 95 %, because a comparison looks at many metrics at once. Few differ only if they do not overlap."""
    try:
        import numpy
    except ModuleNotFoundError as error:
        raise NoNumpy(f"compare: {error.name} is missing: install python3-numpy") from error

    if min(len(left), len(right)) < BOOTSTRAPPED:
        return min(right) / max(left), max(right) / min(left)
    rng = numpy.random.default_rng(SEED)
    a, b = (numpy.median(numpy.sort(side)[rng.integers(len(side), size=(RESAMPLES, len(side)))], axis=1) for side in (left, right))
    drawn = numpy.sort(b / a)
    tail = RESAMPLES * (100 - PERCENT) // 200
    return float(drawn[tail]), float(drawn[RESAMPLES - 1 - tail])


def interval_of_pairs(ratios):
    """Of their median, by the sign test: of few pairs a bootstrap's ends lie too near to each other. At least PAIRS, or 99 % cannot be had."""
    ordered, n = sorted(ratios), len(ratios)
    beyond = max(k for k in range(n // 2) if sum(math.comb(n, i) for i in range(k + 1)) * 2 * 100 <= (100 - PERCENT) * 2**n)
    return ordered[beyond], ordered[n - 1 - beyond]


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def compare_metric(a, a_cell, b, b_cell, metric):
    """None if one of the two did not measure it."""
    a_trials, b_trials = a.groups[a_cell], b.groups[b_cell]
    measured = lambda trial: trial["verdict"] == "safe" and trial["unsettled"] != "1" and trial[metric] is not None  # noqa: E731
    left, right = ([t[metric] for t in trials if measured(t)] for trials in (a_trials, b_trials))
    if not left or not right:
        return None
    in_turn = (a is b or (a.rounds and a.rounds == b.rounds)) and len(a_trials) == len(b_trials)
    others = {y["turn"]: y for y in b_trials}  # a round may lack the cell on one side
    pairs = [(x[metric], y[metric]) for x in a_trials for y in [others.get(x["turn"])] if y and measured(x) and measured(y)] if in_turn else []
    row = Row(a_cell, b_cell, metric, median(left), median(right), len(left), len(right), len(pairs) >= PAIRS)
    if row.paired and all(x > 0 and y > 0 for x, y in pairs):
        ratios = [y / x for x, y in pairs]
        row.ratio, (row.low, row.high) = median(ratios), interval_of_pairs(ratios)
    elif not row.paired and min(left) > 0 and min(right) > 0:
        row.ratio = row.b / row.a
        if len(left) >= REPEATS and len(right) >= REPEATS:
            row.low, row.high = interval(left, right)
    return row


# ---- what differs --------------------------------------------------------------------------------------------------------

def _same(x, y):
    return x == y and isinstance(x, bool) == isinstance(y, bool)


def _shown(value, there):
    return json.dumps(value, separators=(",", ":"))[:79] if there else "nothing"


def differ(place, a, b, but=(), common=False):
    """Lines: members of `a` and of `b` that are not the same; with `common` only those that both have."""
    a, b = a if isinstance(a, dict) else {}, b if isinstance(b, dict) else {}
    for key in (*a, *(k for k in b if k not in a)):
        if key in but or (common and not (key in a and key in b)) or (key in a and key in b and _same(a[key], b[key])):
            continue
        yield f"{place}{'.' if place else ''}{key}: {_shown(a.get(key), key in a)} in A, {_shown(b.get(key), key in b)} in B"


def cells_differ(a, a_cell, b, b_cell):
    """What a cell was run with. What a run varied on purpose is no difference; runs of older versions do not say their options."""
    x, y = a.scenarios[a_cell[0]], b.scenarios[b_cell[0]]
    on_purpose = {"clients"}
    if a is b:
        on_purpose |= {key.partition(".")[2] or key for s in (x, y) for key in s.get("varied") or {}}
    yield from differ(b_cell[0], x, y, OF_PEOPLE)
    yield from differ(b_cell[0], x.get("workload"), y.get("workload"), on_purpose)
    x, y = (side.cells.get(cell[:3], {}).get("options") for side, cell in ((a, a_cell), (b, b_cell)))
    if x and y:
        yield from differ(b_cell[1], x, y, on_purpose)


def runs_differ(a, b, rows):
    """Entries of systems and topologies only where they are compared, and were measured. A topology has an entry of its own for each storage that a load asks for.
    Servers of another origin are of another version on purpose."""
    beside_of = {}  # what of A stands beside a name of B
    for row in rows:
        beside_of |= {row.b_cell[1]: row.a_cell[1], row.b_cell[1].partition("@")[2]: row.a_cell[1].partition("@")[2]}
    compared = set(beside_of)
    name_of = lambda entry: entry.get("system") or entry.get("topology")  # noqa: E731
    yield from differ("machine", a.run["machine"], b.run["machine"], OF_ONE_MOMENT)
    servers = [{k: v for k, v in (side.run.get("servers") or {}).items() if k in compared and k in (a.run.get("servers") or {})} for side in (a, b)]
    yield from differ("servers", *servers)
    for key, value in a.run.items():
        other = b.run.get(key)
        if key in OF_ONE_RUN or key not in b.run:
            continue
        if isinstance(value, list) and isinstance(other, list):
            entries = [[e for e in side if isinstance(e, dict) and name_of(e) in names and e.get("measured") is not False]
                       for side, names in ((value, set(beside_of.values())), (other, compared))]
            for x in entries[0]:
                for y in entries[1]:
                    if name_of(x) == beside_of[name_of(y)] and x.get("storage") in (None, y.get("storage", x.get("storage"))):
                        yield from differ(f"{key}.{name_of(x)}", x, y, ("system", "topology"))
        elif isinstance(value, dict):
            yield from differ(key, value, other, common=True)
        elif not isinstance(value, list):
            yield from differ("", {key: value}, {key: other})


# ---- the whole -----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Comparison:
    rows: list = dataclasses.field(default_factory=list)
    differs: dict = dataclasses.field(default_factory=dict)  # lines, each once, in their order
    left_out: dict = dataclasses.field(default_factory=dict)
    verdicts: list = dataclasses.field(default_factory=list)  # {scenario, guard, and of A and B each system, servers, verdict, count}
    same_verdicts: int = 0
    races: int = 0  # verdicts that differ where a race decides

    def count(self, difference):
        return sum(row.difference == difference for row in self.rows)


def clients(cell):
    return f"{cell[3]} client{'' if cell[3] == '1' else 's'}"


def compare_cell(c, a, a_cell, b, b_cell):
    bad = [(t["verdict"], name) for name, side, cell in (("A", a, a_cell), ("B", b, b_cell)) for t in side.groups[cell] if t["verdict"] not in ("safe", "undecided")]
    rows = [] if bad else [row for row in (compare_metric(a, a_cell, b, b_cell, m) for m in METRICS) if row]
    if rows:
        c.rows += rows
        c.differs |= dict.fromkeys(cells_differ(a, a_cell, b, b_cell))
    else:
        c.left_out[f"{'.'.join(b_cell[:3])}, {clients(b_cell)}: " + (f"{bad[0][0]} in {bad[0][1]}" if bad else "no trial was decided and settled in both")] = None


VERDICT_OF = "verdict of "


def told(run, cell):
    """What a line says of one side."""
    servers = (run.run.get("servers") or {}).get(cell["system"].partition("@")[2], "?")
    count = cell["decided"] if cell["verdict"] == "safe" else sum(cell.get(name) or 0 for name in run_folder.WORST if cell["verdict"] in (name, "mixed"))
    return {"system": cell["system"], "servers": servers, "verdict": cell["verdict"], "count": count, "decided": cell["decided"]}


def compare_verdict(c, a, other, b, cell):
    """What was not decided says nothing, and a race may go either way."""
    if "undecided" in (cell["verdict"], other["verdict"]) or not cell.get("decided") or not other.get("decided"):
        return
    if cell["verdict"] == other["verdict"]:
        c.same_verdicts += 1
    elif "race" in (cell.get("expected"), other.get("expected")):
        c.races += 1
    else:
        c.verdicts.append({"scenario": cell["scenario"], "guard": cell["guard"], "a": told(a, other), "b": told(b, cell)})


def compare_rounds(c, a, b):
    """A round of --against has one trial of each cell, so that all of them make the verdict: of a load, one that is violated is enough."""
    for cell in b.groups:
        other = beside(a, b, cell)
        if other not in a.groups:
            continue
        sides = []
        for side, cell_of in ((a, other), (b, cell)):
            came = [t["verdict"] for t in side.groups[cell_of] if t["verdict"] != "undecided"]
            worst = next((name for name in run_folder.WORST if name in came), "safe")
            sides.append({"system": cell_of[1], "servers": clients(cell), "verdict": worst, "count": came.count(worst), "decided": len(came)})
        if not all(side["decided"] for side in sides):
            continue
        if sides[0]["verdict"] == sides[1]["verdict"]:
            c.same_verdicts += 1
        else:
            c.verdicts.append({"scenario": cell[0], "guard": cell[2], "a": sides[0], "b": sides[1]})


def compare_verdicts(c, a, b):
    """Of two runs, or of servers of several versions in one."""
    if a.rounds or b.rounds:
        compare_rounds(c, a, b)
        return
    for (scenario, system, guard), cell in b.cells.items():
        key = (scenario, system, guard)
        first = b.first_version(system) if a is b else None
        other_key = a.like(key, a.cells) if a is not b else (scenario, first, guard)
        other = a.cells.get(other_key)
        if not other:
            continue
        differs = next(cells_differ(a, other_key, b, key), None) if a is not b else None
        if differs:
            c.left_out[f"{VERDICT_OF}{'.'.join(key)}: {differs}"] = None
        else:
            compare_verdict(c, a, other, b, cell)


def beside(a, b, cell):
    """The cell that this one is compared with; None = it is the first of its kind."""
    if a is not b:
        return a.like(cell, a.groups)
    system, scenario = b.first_version(cell[1]), b.first_variant(cell[0])
    if system:
        return (cell[0], system, *cell[2:])
    return (scenario, *cell[1:]) if scenario else None


def compare(a, b):
    c = Comparison()
    compare_verdicts(c, a, b)
    for cell in b.groups:
        other = beside(a, b, cell)
        if other is None:
            continue
        if other in a.groups:
            compare_cell(c, a, other, b, cell)
        else:
            c.left_out[f"{'.'.join(cell[:3])}, {clients(cell)}: A did not measure it"] = None
    met = {beside(a, b, cell) for cell in b.groups}
    for cell in a.groups if a is not b else ():
        if cell not in met:
            c.left_out[f"{'.'.join(cell[:3])}, {clients(cell)}: B did not measure it"] = None
    if c.rows and a is not b:
        c.differs |= dict.fromkeys(runs_differ(a, b, c.rows))
    return c


def value_of(value):
    return f"{value:10.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3}f}"


def lines_of(row):
    text = f"  {row.metric:<16}{value_of(row.a)}{value_of(row.b)}  "
    text += " " * 6 if row.ratio is None else f"{row.ratio:6.3f}"
    text += " " * 18 if row.low is None else f"  [{row.low:.3f}, {row.high:.3f}]"
    text += f"  {WORDS[row.difference]}"
    if row.too_few:
        return f"{text}: too few repeats ({row.a_repeats} and {row.b_repeats} of {REPEATS})"
    return f"{text}: a value is 0" if row.difference == "unknown" else text


def tell_verdicts(c, sides):
    """Where they agree, the count alone is said."""
    of, total = "in B" if len(sides) == 2 else "on servers of another version", len(c.verdicts) + c.same_verdicts + c.races
    in_a = sum(bool(cell.get("decided")) for cell in sides[0].cells.values()) if len(sides) == 2 and not sides[0].rounds else 0
    if total:
        print(f"{len(c.verdicts)} of {total} cells have another verdict {of}" + (f", and {c.races} in which a race decides" if c.races else "")
              + (f"; {in_a - total} more were decided in A alone, or asked otherwise" if in_a > total else ""))
    for row in c.verdicts:
        print(f"  {row['scenario']}, guard {row['guard']}: " + "; ".join(f"{side['system']} ({side['servers']}) {side['verdict']} {side['count']} of {side['decided']}" for side in (row["a"], row["b"])))


def tell(c, sides):
    tell_verdicts(c, sides)
    if not c.rows:
        left = [line.removeprefix(VERDICT_OF) for line in c.left_out if line.startswith(VERDICT_OF)]
        if left:
            print(f"not compared: {len(left)} of other settings, the first: {left[0]}")
        return
    unknown = c.count("unknown")
    print(f"{c.count('slower')} of {len(c.rows)} metric{'' if len(c.rows) == 1 else 's'} slower, {c.count('faster')} faster, {c.count('same')} cannot be told apart"
          + (f", {unknown} of too few repeats" if unknown else ""))
    if any(row.too_few for row in c.rows):
        print(f"too few repeats to tell: it takes {REPEATS} on either side, so measure again with -n {REPEATS}")
    print()
    for name, side in zip("AB" if len(sides) == 2 else ("run",), sides):
        print(f"{name}: {side.folder}, lockbench {side.run['tool'].get('version', '?')} ({side.run['tool'].get('commit', '?')})")
    for label, lines in (("differs", c.differs), ("left out", c.left_out)):
        for line in lines:
            print(f"{label}: {line}")
    last = None
    for row in c.rows:
        if (row.a_cell, row.b_cell) != last:
            others = [mine for mine, own in zip(row.a_cell[:2], row.b_cell[:2]) if mine != own]
            print(f"\n{row.b_cell[0]}, {row.b_cell[1]}, guard {row.b_cell[2]}, {clients(row.b_cell)}" + (f"; A is {', '.join(others)}" if others else ""))
        if last is None:
            print(f"  {'median of repeats':<16}{'A':>10}{'B':>10}  {'B / A':>6}")
        last = row.a_cell, row.b_cell
        print(lines_of(row))
    kinds = {row.paired for row in c.rows}
    if True in kinds:
        print(f"\n[...]: {PERCENT} % interval of B / A over pairs of repeats that were measured in turn, by the sign test; B / A is the median of theirs.")
    if False in kinds:
        print(f"\n[...]{' of fewer pairs' if True in kinds else ''}: {PERCENT} % interval of B / A over repeats, by bootstrap, and up to {BOOTSTRAPPED - 1} of them from end to end."
              " It knows nothing of what changed on the machine between two runs.")


def tell_markdown(c, sides):
    """The verdicts that differ, as a table of a page."""
    print(f"{len(c.verdicts)} of {len(c.verdicts) + c.same_verdicts + c.races} cells have another verdict, and {c.races} in which a race decides.\n")
    left = sum(line.startswith(VERDICT_OF) for line in c.left_out)
    if left:
        print(f"{left} cells were asked otherwise.\n")
    print("| scenario | lock | servers | verdict | otherwise |\n|---|---|---|---|---|")
    for row in c.verdicts:
        a, b = row["a"], row["b"]
        scenario = f"`{row['scenario']}`" + ("" if row["guard"] == "none" else f" under `{row['guard']}`")
        print(f"| {scenario} | `{a['system']}` | {a['servers']}; {b['servers']} | {a['verdict']} {a['count']} of {a['decided']} | {b['verdict']} {b['count']} of {b['decided']} |")
    print("\n" + " ".join(run_folder.versions_line(side.run) for side in sides))


def tell_json(c):
    rows = [{"scenario": r.b_cell[0], "beside": r.a_cell[0], "beside_system": r.a_cell[1], "system": r.b_cell[1], "guard": r.b_cell[2], "clients": int(r.b_cell[3]), "metric": r.metric,
             "unit": UNITS[r.metric], "a": r.a, "b": r.b, "a_repeats": r.a_repeats, "b_repeats": r.b_repeats, "paired": r.paired, "ratio": r.ratio, "low": r.low,
             "high": r.high, "difference": r.difference} for r in c.rows]
    counts = {word: c.count(word) for word in ("slower", "faster", "same", "unknown")}
    print(json.dumps(counts | {"differs": list(c.differs), "left_out": list(c.left_out), "verdicts": c.verdicts, "same_verdicts": c.same_verdicts, "races": c.races, "rows": rows}, indent=1))


def refuse(*lines):
    for line in lines:
        print(line, file=sys.stderr)
    return 2


def main():
    parser = argparse.ArgumentParser(usage="compare.py [--json | --markdown] [--anyway] A B | RUN")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true")
    forms.add_argument("--markdown", action="store_true")
    parser.add_argument("--anyway", action="store_true")
    parser.add_argument("folder", nargs="+")
    args = parser.parse_args()
    if len(args.folder) > 2:
        return refuse("compare: expected two results folders, or one")
    sides = [Side(folder) for folder in args.folder]
    try:
        c = compare(sides[0], sides[-1])
    except NoNumpy as missing:
        print(missing, file=sys.stderr)
        return 5
    has_verdicts = bool(c.verdicts or c.same_verdicts or c.races)
    if not c.rows and len(sides) == 1 and not c.left_out and not has_verdicts:
        return refuse("compare: this run has no variants of a scenario and no servers of two versions: expected two results folders, or a run of "
                      f"`{report.called()} run SCENARIO -s KEY=VALUE,VALUE`")
    if not c.rows and not has_verdicts:
        return refuse(f"compare: the runs have no measured cell in common{f', as {len(c.left_out)} are left out, the first: {next(iter(c.left_out))}' if c.left_out else ''}")
    if c.differs and not args.anyway:
        return refuse(*(f"differs: {line}" for line in c.differs), "not compared: the runs differ in machine or settings; --anyway compares them all the same")
    if args.json:
        tell_json(c)
    elif args.markdown:
        tell_markdown(c, sides)
    else:
        tell(c, sides)
    if c.count("slower") or c.verdicts:
        return 3
    return 4 if c.rows and c.count("unknown") == len(c.rows) else 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
