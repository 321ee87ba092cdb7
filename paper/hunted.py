# SPDX-License-Identifier: MIT
"""hunted.py - what the paper says of a hunt: a row per system, and what each lock rests on as it was measured, beside what its file declares.

A fault violates an assumption, or none: a table here says which. Exclusion that was lost after the lease only was lost because a holder did not stop, whatever the
fault was that kept its lease from being renewed. An assumption is seen to matter if a minimal set has a fault that violates it, and its
smallest number of faults is written down; it is kept if all single faults that violate it were decided and none is in any set. It differs from what is declared if
it is declared and was kept, or if a set violates nothing that is declared. What a hunt says rests on ../plots/hunt_folder.py, what is declared on
`lockbench list assumptions`.
"""

import os
import sys

from written import integer, listing, percent, system_name, tex

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plots"))
import hunt_folder
import run_folder
import ending
from ending import BadInput

LIARS = ("broken", "null")
MANY_UNDECIDED = 0.05  # of the timelines of a row: it is marked
SHADE = r"\cellcolor{violated}"
OF_SERVERS = {"restart": "memory", "ahead": "wall-clock", "behind": "wall-clock", "fast": "rate", "slow": "rate"}
OF_CLIENTS = {"ahead": "client-clock", "behind": "client-clock", "fast": "rate", "slow": "rate"}
OVERSTAYS = {("pause", "c1"), ("cutoff", "c1")}  # a holder that does not learn, or cannot see, that its lease is over
SILENT = ("kill", "pause", "isolate", "part")  # of servers of which another one can take over
SEEN = ("minimal", "not replayed", "open", "sometimes")
LOST = ("lease", "expired")  # the classes in which exclusion was lost
HEADS = {"memory": "memory", "successor": "successor", "wall-clock": "wall clock", "rate": "rate", "client-clock": "clients' clocks", "stops": "stops"}


def read(folder, declared_in):
    """{system: Rests} of the folder of a hunt; `declared_in` is what `lockbench list assumptions` printed. BadInput."""
    try:
        with open(declared_in, encoding="utf-8") as file:
            lines = [line.split(None, 2) for line in file]
        hunts = hunt_folder.hunts_of(folder)
    except (OSError, run_folder.BadInput) as error:
        raise BadInput(str(error)) from error
    if not lines or any(len(words) != 3 or words[1] not in HEADS for words in lines):
        raise BadInput(f"{declared_in}: expected lines PROTOCOL ASSUMPTION TEXT, with one of {', '.join(HEADS)}")
    return {system: Rests(hunt, {words[1] for words in lines if words[0] == system.split("@")[0]}) for system, hunt in hunts.items()}


class Rests:
    """A hunt, and what its lock declares that exclusion rests on."""

    def __init__(self, hunt, declared):
        self.hunt, self.declared, self.system = hunt, declared, hunt.system
        self.lies = hunt.system.startswith(LIARS)
        self.apart = any("never talk to each other" in t.not_run for t in hunt.timelines)
        self.several = any(host == "all" for t in hunt.timelines for _, host in t.faults)

    def violates(self, fault):
        """The assumption that a fault (kind, host) violates; None: a lock has to bear it."""
        kind, host = fault
        if host in ("c1", "c2"):
            return OF_CLIENTS.get(kind)
        if kind == "kill" and self.apart:  # it comes back with what it kept
            return "memory"
        return ("successor" if self.several and not self.apart else None) if kind in SILENT else OF_SERVERS.get(kind)

    def of(self, timeline):
        return {"stops"} if timeline.of == "expired" else {self.violates(fault) for fault in timeline.faults} - {None}

    def sets(self, name, standing=("minimal",)):
        """The sets in which something violates it."""
        return [t for of in LOST for _, t in self.hunt.sets(standing, (of,)) if name in self.of(t)]

    def single(self, name):
        """The timelines with one fault that asks for it."""
        return [t for t in self.hunt.timelines if t.count == 1 and t.not_run in hunt_folder.LEFT and
                (OVERSTAYS & set(t.faults) if name == "stops" else self.violates(t.faults[0]) == name)]

    def least(self, name):
        return min((t.count for t in self.sets(name)), default=None)

    def kept(self, name):
        """True: all single faults that violate it were decided, and none broke anything. None: there are none, or some were not decided."""
        single = self.single(name)
        if not single or not all(t.decided for t in single):
            return None
        return not self.sets(name, SEEN)

    def differences(self):
        """Names of the assumptions that are not as declared, and `nothing` of a set without any."""
        if self.lies:
            return []
        kept = [name for name in HEADS if name in self.declared and self.kept(name)]
        beyond = [self.of(t) for of in LOST for _, t in self.hunt.sets(SEEN, (of,))]
        beyond = [names or {"nothing"} for names in beyond if not names & self.declared]
        return kept + sorted(set().union(*beyond))

    def whole(self, count):
        ran, space = self.hunt.ran(count)
        return ran == space


# ---- keys -----------------------------------------------------------------------------------------------------------


def of_space(hunt, count):
    ran, space = hunt.ran(count)
    return f"{integer(ran)}/{integer(space)}" if count in hunt.counts() else ""


def share(hunt):
    broke, decided = hunt.core()
    return f"{broke}/{decided}" if decided and any(t.core for t in hunt.timelines) and not hunt.system.endswith("@none") else "--"


def systems(some):
    return listing(system_name(system) for system in some)


def checks(hunts):
    """Two sentences: what became of the sample that holds a minimal set, and of the one that was left out by argument."""
    sample = [t for h in hunts for t in h.sample()]
    masked = sum(t.came["lease"] == 0 for t in sample)
    drawn = [t.audit for h in hunts for t in h.timelines if t.audit not in ("", "undecided")]
    said = f"Of those that hold a minimal set, {integer(len(sample))} were run, and {integer(masked)} of them did not break: a fault can hide another. "
    if not drawn:
        return said + "Of those left out by argument, none was run and decided here."
    alike, other = drawn.count("same"), drawn.count("other")
    return said + (f"Of those left out by argument, {integer(len(drawn))} were run as a check and decided: {integer(alike)} came out as the one that stands for them, "
                   f"{integer(other)} otherwise, and of {integer(len(drawn) - alike - other)} it cannot be told.")


def servers(hunts):
    versions = sorted({part.strip() for h in hunts for s in h.sittings for part in s["servers"].split(",") if part.strip()})
    return listing(tex(v) for v in versions) or "not named by these hunts"


def where(hunts):
    """A sentence: on which machine, with which protocols and servers."""
    sittings = [s for h in hunts for s in h.sittings]
    if not sittings:
        return "On which machine and servers they were run, this folder does not say."
    machines = listing(dict.fromkeys(tex(f"{s['machine']['cores']} cores of {s['machine']['cpu']}, Linux {s['machine']['kernel'].replace('Linux ', '')}") for s in sittings))
    protocols = listing(dict.fromkeys(tex(s["tool"]["protocols"]) for s in sittings))
    servers = listing(dict.fromkeys(tex(s["servers"]) for s in sittings if s["servers"]))
    return f"They were run on {machines}, with protocols of the digest {protocols}, against {servers or 'no servers'}."


def keys(rests):
    """All keys hunt.*; nothing without a hunt."""
    if not rests:
        return {}
    hunts = [r.hunt for r in rests.values()]
    locks = [r for r in rests.values() if not r.lies and not r.system.endswith("@none")]
    most = max(max(h.counts()) for h in hunts)
    out = {"named": "; ".join(dict.fromkeys(tex(h.said) for h in hunts)), "systems": integer(len(hunts)), "most": integer(most),
           "trials": integer(sum(h.trials for h in hunts)), "timelines": integer(sum(t.decided > 0 for h in hunts for t in h.timelines)),
           "core": integer(max(sum(t.core for t in h.timelines) for h in hunts)),
           "partial": systems(r.system for r in rests.values() if not all(map(r.whole, r.hunt.counts()))),
           "one": systems(r.system for r in locks if r.hunt.smallest() == 1), "two": systems(r.system for r in locks if r.hunt.smallest() == 2),
           "unbroken": systems(r.system for r in locks if r.hunt.smallest() is None),
           "after": systems(r.system for r in locks if r.hunt.sets(of=("expired",), count=1)),
           "servers": servers(hunts), "checks": checks(hunts), "where": where(hunts), "undecided_from": percent(MANY_UNDECIDED), "differences": integer(sum(len(r.differences()) for r in rests.values()))}
    for system, r in rests.items():
        smallest = r.hunt.smallest()
        out |= {f"{system}.smallest": "none" if smallest is None else integer(smallest), f"{system}.core": share(r.hunt),
                f"{system}.least": "no set" if smallest is None else "no fault" if smallest == 0 else f"{smallest} fault{'s' if smallest > 1 else ''}"}
        for count in r.hunt.counts():
            out |= {f"{system}.ran{count}": of_space(r.hunt, count), f"{system}.sets{count}": integer(len(r.hunt.sets(count=count, unreal=False)))}
    return {f"hunt.{name}": text for name, text in out.items()}


def names(rests):
    """What \\WhenRun may ask for: the hunt, each difference, and its figure, if there is something to draw."""
    found = {f"differs.{r.system}.{name}" for r in rests.values() for name in r.differences()}
    drawn = any(t.standing == "minimal" and t.of == "lease" or t.standing and t.count < 2 for r in rests.values() for t in r.hunt.timelines)
    return found | {name for name, there in (("hunt", rests), ("hunt-figure", drawn)) if there}


def unexplained(rests, explained):
    """A sentence on the differences that no text of the paper explains."""
    left = [(r.system, name) for r in rests.values() for name in r.differences() if f"differs.{r.system}.{name}" not in explained]
    if not left:
        return ""
    return "Not explained yet: " + listing(rf"{system_name(system)} ({HEADS.get(name, name)})" for system, name in left) + "."


# ---- tables ---------------------------------------------------------------------------------------------------------


def row(r, counts):
    h = r.hunt
    undecided, seen = h.number_of("undecided"), sum(t.decided > 0 or t.only("undecided") for t in h.timelines)
    smallest = h.smallest()
    return [system_name(h.system), *(of_space(h, k) for k in counts), "--" if smallest is None else str(smallest),
            *(integer(len(h.sets(count=k, unreal=False))) if k in h.counts() else "" for k in counts), integer(len(h.sets(unreal=True))), share(h),
            integer(len(h.sets(("sometimes", "open", "not replayed")))), integer(len(h.sets(of=("expired",)))), integer(len(h.sets(of=("damage", "numbers")))), integer(h.number_of("blocked")),
            integer(undecided) + ("!" if seen and undecided > MANY_UNDECIDED * seen else "")]


def hunt_table(rests):
    counts = range(1, 1 + max(max(r.hunt.counts()) for r in rests.values()))
    faults = [f"{k} fault{'s' if k > 1 else ''}" for k in counts]
    lines = [rf"\begin{{tabular}}{{@{{}}l{'r' * (2 * len(counts) + 8)}@{{}}}}", r"\toprule",
             rf"&\multicolumn{{{len(counts)}}}{{c}}{{timelines run}}&smallest&\multicolumn{{{len(counts)}}}{{c}}{{minimal sets}}&unreal&core&some-&after the&damage,&&un-\\",
             "system&" + "&".join(faults) + "&number&" + "&".join(faults[:1] + [f"new with {k}" for k in counts[1:]]) + r"&clocks&breaks&times&lease&numbers&blocked&decided\\", r"\midrule"]
    return lines + ["&".join(row(r, counts)) + r"\\" for r in rests.values()] + [r"\bottomrule", r"\end{tabular}"]


def rests_cell(r, name):
    least, some = r.least(name), r.sets(name, SEEN[1:])
    text = str(least) if least is not None else f"({min(t.count for t in some)})" if some else {True: "--", None: ""}.get(r.kept(name), "")
    return (SHADE if name in r.declared else "") + (text or ("?" if r.single(name) else ""))


def rests_table(rests):
    lines = [rf"\begin{{tabular}}{{@{{}}l{'c' * len(HEADS)}@{{}}}}", r"\toprule", "system&" + "&".join(HEADS.values()) + r"\\", r"\midrule"]
    return lines + ["&".join([system_name(r.system)] + [rests_cell(r, name) for name in HEADS]) + r"\\" for r in rests.values() if not r.lies] + [r"\bottomrule", r"\end{tabular}"]
