#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What locks do under faults, and what libraries do not tell their users: two tables in Markdown, out of runs of the suites `peers` and `peers-speed`, or of
# some of their scenarios:
#   plots/verdict_table.py RUN... [--lockbench PROGRAM]
#   plots/verdict_table.py RUN... --verdicts [SCENARIO...]   only the first one, which needs only run.json; without a library in RUN, of all its locks
# Verdicts are those of the decided trials of a cell; the second table is counted from histories and trials.csv. What they do not have is a dash.
# Of a library, a verdict is that of a program that uses it as its manual says (`guard` in peers.ini). Where one that does not listen to the library fares
# otherwise, its verdict stands behind, in brackets.
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys

import ending
import run_folder
import speed

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
import known  # noqa: E402

AFTER = " ²"
TOLD = ("in-doubt", "session-over")
PUT = ("failover", "restart-node", "majority-lost", "partition", "pause-holder", "slow-holder", "clock-jump", "lost-reply", "silent-minority")


def trials_of(run):
    path = os.path.join(run, "trials.csv")
    if not os.path.exists(path):  # of a published run, perhaps
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return [{**t, "run": run} for t in csv.DictReader(f) if "@" in t["system"]]


def events_of(program, trial):
    path = trial.get("history") and os.path.join(trial["run"], trial["history"])
    if not path or not os.path.exists(path):
        return []
    try:
        said = subprocess.run([program, "check", "--export", "json", path], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise ending.BadInput(f"verdict_table.py: --lockbench {program}: no such program, expected the one that reads {path}; --verdicts prints the first table alone") from error
    return [json.loads(line) for line in said.splitlines()[1:]]


def silence(events):
    """ms from the cut to the library's word, and to the grant of another client; None = it did not come."""
    cut = next((e["t"] for e in events if e["e"] == "fault" and e.get("verb") == "cut"), None)
    if cut is None:
        return None, None
    told = next((e["t"] for e in events if e["e"] == "check" and e.get("check") in TOLD and e["t"] > cut), None)
    other = next((e["t"] for e in events if e["e"] == "granted" and e.get("c") == "client-2" and e["t"] > cut), None)
    return tuple(t and (t - cut) / 1e6 for t in (told, other))


def middle(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def number(value, digits=0):
    return "–" if value is None else f"{value:.{digits}f}"


class Table:
    def __init__(self, program, runs):
        self.program = program
        self.trials = [t for run in runs for t in trials_of(run)]
        self.cells, loaded = {}, [run_folder.load_run(run) for run in runs]
        self.servers = {f"{topology} {i}": version for i, run in enumerate(loaded) for topology, version in (run.get("servers") or {}).items()}
        for cell in (c for run in loaded for c in run["cells"] if c["verdict"] not in ("n/a", "skipped")):
            self.cells.setdefault((cell["scenario"], cell["system"], cell["guard"]), []).append(cell)

    def of(self, scenario, system, guard="none"):
        return [t for t in self.trials if (t["scenario"], t["system"], t["guard"]) == (scenario, system, guard)]

    def verdicts(self, scenario, system, guard="none"):
        """ "violated 10", or a dash."""
        counts = {}
        for t in self.of(scenario, system, guard):
            if t["verdict"] != "undecided":
                counts[t["verdict"]] = counts.get(t["verdict"], 0) + 1
        return ", ".join(f"{verdict} {n}" for verdict, n in sorted(counts.items())) or "–"

    def verdict(self, scenario, system, guard):
        """ "safe or **violated** (3 of 10)", of all decided trials; None without one."""
        counts, cells = {}, self.cells.get((scenario, system, guard), [])
        for cell in cells:
            odd = {verdict: cell[verdict] or 0 for verdict in ("violated", "stuck", "delayed")}
            for verdict, n in ({"safe": cell["decided"] - sum(odd.values())} | odd).items():
                counts[verdict] = counts.get(verdict, 0) + n
        said = {verdict: n for verdict, n in counts.items() if n}
        bold = {verdict: verdict if verdict == "safe" else f"**{verdict}**" for verdict in said}
        if "violated" in said and all(run_folder.only_after(cell) for cell in cells if cell["violated"]):
            bold["violated"] += AFTER
        if len(said) < 2:
            return "".join(bold.values()) or None
        return " or ".join(f"{bold[verdict]} {n}" for verdict, n in said.items())

    def verdict_by_manual(self, scenario, system, guard):
        """Where its guard was not put to the test, as without one."""
        ignoring = self.verdict(scenario, system, "none")
        listening = self.verdict(scenario, system, guard) or ignoring
        return (listening or "–") if listening == ignoring or not ignoring else f"{listening} ({ignoring} ¹)"

    def told(self, system):
        pairs = [silence(events_of(self.program, t)) for t in self.of("blind-window", system, "signal")]
        if not pairs:
            others = [silence(events_of(self.program, t))[1] for t in self.of("blind-window", system)]
            return "nothing" if others else "–", number(middle(others))
        word, other = middle(p[0] for p in pairs), middle(p[1] for p in pairs)
        return number(word) if word is not None else "nothing within 8 s", number(other)

    def checks(self, system):
        """What stops its holder after a pause: its own check of the lease, a question to the service, its signal."""
        return " · ".join(f"{guard}: {self.verdicts('pause-holder', system, guard)}" for guard in ("deadline", "recheck", "signal")
                          if self.of("pause-holder", system, guard)) or "–"

    def load(self, system, column, scenario="contention", clients="8"):
        """Of a lock that was violated it is no speed."""
        mine = [t for t in self.trials if (t["scenario"], t["system"], t["clients"], t["guard"]) == (scenario, system, clients, "none")]
        values = [float(t[column]) for t in mine if t["verdict"] == "safe" and t.get(column)]
        return statistics.median(values) if values and all(t["verdict"] != "violated" for t in mine) else None

    def row(self, system, peer, like):
        told, other = self.told(system)
        rate, ours = self.load(system, "handoffs_per_s"), self.load(like, "handoffs_per_s")
        handoff = self.load(system, "handoff_p50_us")
        return [f"`{system}` {peer['version']}", told, other, self.verdicts("lost-reply", system), self.checks(system), number(self.load(system, "jain"), 2),
                number(handoff and handoff / 1000, 1), number(rate), number(ours), "–" if not rate or not ours else f"{rate / ours:.2f}",
                number(self.load(system, "pipe_us"))]

    def systems(self):
        """Of the libraries, or without one of all locks, in the order of the runs: system, name, topology."""
        all_of_them = dict.fromkeys(system for _, system, _ in self.cells)
        peers = [system for system in all_of_them if system.startswith("peer:")] or all_of_them
        return [(system, *system.removeprefix("peer:").split("@")) for system in peers]

    def print_verdicts(self, peers, scenarios):
        """Locks that fare alike on the same servers share a row."""
        rows = {}
        for system, name, topology in self.systems():
            guard = known.guard(peers[name]) if system.startswith("peer:") else "none"
            cells = tuple(self.verdict_by_manual(scenario, system, guard) for scenario in scenarios)
            if set(cells) != {"–"}:
                rows.setdefault((topology, cells), []).append(f"`{name}`")
        head = ["lock", "servers", *(f"`{scenario}`" for scenario in scenarios)]
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
        for (topology, cells), names in rows.items():
            print("| " + " | ".join([", ".join(names), topology, *cells]) + " |")
        if any("¹" in cell for _, cells in rows for cell in cells):
            print("\n¹ in brackets: of a program that does not listen to what the library tells, which its manual asks for.")
        if any(AFTER in cell for _, cells in rows for cell in cells):
            print(f"\n{AFTER.strip()} only after the lease: the holder did not stop.")
        print(f"\n{run_folder.versions_line({'servers': self.servers})}\n")

    def print_told(self, peers):
        head = ["library", "says a word after (ms)", "another holds after (ms)", "the answer to its acquire is lost", "after a pause, stopped by", "Jain", "hand-off p50 (ms)",
                "hand-offs/s", "ours", "ratio", "pipe (µs a call)"]
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
        for system, name, topology in self.systems():
            peer = peers[name]
            ours = "redis-token" if topology == "redis" and peer["like"] == "redlock" else peer["like"]
            print("| " + " | ".join(self.row(system, peer, f"{ours}@{topology}")) + " |")
        print(f"\n{speed.POLLS[0].upper()}{speed.POLLS[1:]}. {run_folder.versions_line({'servers': self.servers})}")


def main():
    args = argparse.ArgumentParser(description="What a library does not tell its user.")
    args.add_argument("run", nargs="+")
    args.add_argument("--lockbench", default="lockbench")
    args.add_argument("--verdicts", nargs="*", metavar="SCENARIO", help="only the first table, perhaps of other scenarios")
    said = args.parse_args()
    for run in said.run:
        if not os.path.isfile(os.path.join(run, "run.json")):
            raise ending.BadInput(f"verdict_table.py: {run}: expected a run folder (it has no run.json)")
    try:
        table, peers = Table(said.lockbench, said.run), known.read()
    except (LookupError, ValueError, TypeError) as error:
        raise ending.BadInput(f"verdict_table.py: {' '.join(said.run)}: expected what results/SCHEMA.md describes, found {error!r}") from error
    table.print_verdicts(peers, said.verdicts or PUT)
    if said.verdicts is None:
        table.print_told(peers)


sys.exit(ending.of(main))
