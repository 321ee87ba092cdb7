# SPDX-License-Identifier: MIT
"""speed.py - what the figures of speed share: the repeats of one load, by system and number of clients.

The load is the one that is asked for, else the first of the run with one lock for all clients, else its first. `speed.py
RUN_DIR` prints the names of the others, a line each. Loads that differ in options of a lock alone are one load, and each of its curves is a system and a
setting. A repeat is a trial; its numbers are those of trials.csv. A system
with a violated trial did not exclude: it has no speed, is left out and named, as is one of which no trial measured a grant. Hand-offs, and their times, need other
clients; a p99 needs at least 10 samples beyond it. Runs of before counted hand-offs of whole trials only: their rate is
the share of the grants that were hand-offs.
"""

import re
import sys

import ending
import figure
import run_folder
from bootstrap import median_interval

TAIL_SAMPLES = 10
POLLS = "the hand-off of a lock that polls is the pause until a waiter asks again"
WAITS = {"told": "woken", "polls": "polled"}
METRICS = ("handoffs_per_s", "grants_per_s", "handoff_p50_us", "handoff_p99_us")
_NUMBERS = ("clients", "trial", "grants", "handoffs", "measured_s", *METRICS[1:])


def trials_of(run_dir):
    rows = run_folder.load_csv(run_dir, "trials.csv", ("scenario", "system", "guard", "verdict"), _NUMBERS, newer=("handoffs_per_s", "unsettled"), newer_numbers=("client_kb",))
    run_folder.beside_floors(rows)
    return rows


def measured(rows):
    return [r for r in rows if r["measured_s"] and r["grants_per_s"] and r["clients"]]


def _keys(scenario):
    """How many locks there are; 0 is one for each client. Runs of before do not say it of timelines."""
    return (scenario.get("workload") or {}).get("keys")


def loads(run, rows):
    """The scenarios that measured speed, the one that the figures are of first. A campaign does not."""
    names = {r["scenario"] for r in rows}
    found = [s for s in run["scenarios"] if s["name"] in names and not s.get("steps") and not s.get("campaign")]
    return sorted(found, key=lambda s: _keys(s) != 1)


def settings_of(run, scenario):
    """{scenario: its setting, "+wake=yes"} of the loads that differ from this one in options of a lock alone: they are curves of one chart. Nothing where
    there is one."""
    alike = [s for s in run["scenarios"] if s.get("base") == scenario.get("base") and s.get("varied") and all("." in key for key in s["varied"])]
    return {s["name"]: "".join(f"+{key.split('.')[1]}={value}" for key, value in s["varied"].items()) for s in alike} if scenario in alike and len(alike) > 1 else {}


def _handoffs_measured(row):
    """About how many hand-offs the measured window saw: the trial's, by the window's share of its grants."""
    if not row["grants"] or not row["handoffs"]:
        return 0
    return row["handoffs"] * min(1, row["grants_per_s"] * row["measured_s"] / row["grants"])


def has_tail(row):
    """Whether its p99 has enough samples beyond it."""
    return 0.01 * _handoffs_measured(row) >= TAIL_SAMPLES


def _handoffs_per_s(row):
    if row["handoffs_per_s"]:
        return float(row["handoffs_per_s"])
    return row["handoffs"] / row["grants"] * row["grants_per_s"] if row["handoffs"] else 0.0


def counted(values):
    """Those that are known: a repeat in which nothing changed hands counts as 0 beside others, and none is there if it was so in all, as of locks of one's own."""
    known = [value for value in values if value is not None]
    return known if any(known) else []


class Speed:
    def __init__(self, run_dir, run, words=()):
        """words: SCENARIO, and SYSTEM... that are drawn alone; none of them has to be there."""
        name, only = next((w for w in words if "@" not in w), None), [w for w in words if "@" in w]
        trials = [t for t in trials_of(run_dir) if not only or t["system"] in only]
        rows = measured(trials)
        found = [s for s in loads(run, rows) if name in (None, s["name"])]
        if not found:
            raise figure.NotDrawn(f"no measured trial{f' of {name!r}' if name else ' of a load'} in this run")
        settings = settings_of(run, found[0])
        self.scenario, self.keys = (found[0]["base"] if settings else found[0]["name"]), _keys(found[0])
        self.names = settings or {found[0]["name"]: ""}
        rows, trials = ([r | {"system": self.curve_of(r)} for r in some if r["scenario"] in self.names] for some in (rows, trials))
        self._waits = {self.curve_of(c): c["waits"] for c in run["cells"] if c["scenario"] in self.names and c.get("waits")} if self.keys else {}
        self.guard = run_folder.guards_in_order(r["guard"] for r in rows)[0]
        rows = [r for r in rows if r["guard"] == self.guard]
        mine = [r for r in trials if r["guard"] == self.guard]
        self.left_out = sorted({r["system"] for r in mine if r["verdict"] == "violated"})  # also where its speed was void
        rows = [r for r in rows if r["verdict"] == "safe"]
        self.unmeasured = sorted({r["system"] for r in mine} - {r["system"] for r in rows} - set(self.left_out))
        self.repeats = {}
        for row in rows:
            if row["system"] not in self.left_out:
                row["handoffs_per_s"] = _handoffs_per_s(row)
                if not has_tail(row):
                    row["handoff_p99_us"] = None
                self.repeats.setdefault((row["system"], int(row["clients"])), []).append(row)
        if not self.repeats:
            raise figure.NotDrawn(f"no system excluded in every trial of '{self.scenario}'")
        self.clients = sorted({clients for _, clients in self.repeats})
        self.systems = sorted({system for system, _ in self.repeats}, key=self._place)

    def curve_of(self, row):
        """Its system, and the setting of the lock where the run has several."""
        return f"{row['system']}{self.names[row['scenario']]}"

    def label(self, curve):
        """For the legend: also whether a client that waits is woken, or polls."""
        return curve.replace("+", " ") + (f", {WAITS[self._waits[curve]]}" if curve in self._waits else "")

    def _place(self, system):
        """Fastest first at the most clients; those that did not run there last."""
        values = self.values(system, self.clients[-1], "grants_per_s")
        return (0, -median_interval(values)[0], system) if values else (1, 0, system)

    def values(self, system, clients, metric):
        return counted(r[metric] for r in self.repeats.get((system, clients), ()))

    def rows(self, system, clients, metrics, named):
        """Of one system at one number of clients, as dicts with what `named` has: a row per repeat, and behind them one of the medians with the ends of their
        intervals (`repeat` is its trial, or `median`). Without a repeat there is none."""
        repeats = self.repeats.get((system, clients), ())
        if not repeats:
            return []
        named = named | {"repeats": len(repeats)}
        median = named | {"repeat": "median"}
        for metric in metrics:
            values = self.values(system, clients, metric)
            if values:
                median |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), median_interval(values)))
        return [named | {"repeat": int(r["trial"] or 0)} | {m: r[m] or None for m in metrics} for r in repeats] + [median]  # an axis of decades has no place for 0

    def locks(self):
        """What the clients want, for a label."""
        return "one lock" if self.keys == 1 else "own locks" if self.keys == 0 else f"{self.keys} locks"

    def note(self):
        counts = sorted({len(repeats) for repeats in self.repeats.values()})
        count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        text = f"scenario {self.scenario} · {count} {'repeat' if count == '1' else 'repeats'} each · guard {self.guard}"
        unsettled = sum(r["unsettled"] == "1" for repeats in self.repeats.values() for r in repeats)
        if unsettled:
            text += f" · {unsettled} of {sum(map(len, self.repeats.values()))} trials had not settled"
        if self.left_out:
            text += f" · not drawn, for it did not exclude: {', '.join(self.left_out)}"
        if self.unmeasured:
            text += f" · not drawn, for nothing was measured: {', '.join(self.unmeasured)}"
        return text


def main():
    if len(sys.argv) != 2:
        raise run_folder.BadInput("usage: speed.py RUN_DIR")
    run = run_folder.load_run(sys.argv[1])
    found = loads(run, measured(trials_of(sys.argv[1])))
    drawn = set(settings_of(run, found[0])) if found else set()
    for scenario in found[1:]:
        if scenario["name"] not in drawn and re.fullmatch(r"[\w~=.+-]+", scenario["name"], re.ASCII):  # it is to name files
            print(scenario["name"])
            drawn |= set(settings_of(run, scenario))


if __name__ == "__main__":
    sys.exit(ending.of(main))
