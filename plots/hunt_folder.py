# SPDX-License-Identifier: MIT
"""hunt_folder.py - reads what `lockbench hunt -o FOLDER` leaves (results/SCHEMA.md, "A hunt"): a folder per system, its hunt.csv and its journal. A published hunt has an archive in place
of each folder.

A mechanism is what is done to whom, whenever and until whenever: sets that differ in nothing else are one to a reader, as on the terminal.
"""

import atexit
import itertools
import json
import os
import re
import tarfile
import tempfile

import run_folder
import style

CLASSES = ("lease", "expired", "damage", "numbers")  # of a violation, the worst first
CAME = ("safe", *CLASSES, "blocked", "undecided")
_TEXTS, _NUMBERS = ("timeline", "regime", "set", "not_run", "core", "audit"), ("faults", *CAME)
LEFT = ("", "not reached", "a minimal set is in it")  # not_run of a timeline that belongs to the space; all else names what leaves it out
UNREAL = ("fast", "slow")  # kinds of faults that no machine has
WORDS = {"restart": "restart", "kill": "kill", "pause": "pause", "isolate": "cut off from the other servers", "part": "cut off from its replicas",
         "cut": "cut off from some servers", "cutone": "cut off from one server", "cutoff": "cut off from all servers", "ahead": "wall clock +1 h",
         "behind": "wall clock -1 h", "fast": "clocks ×2", "slow": "clocks ×½"}
HOSTS = {"P": "primary", "f": "minority", "one": "one of the minority", "most": "majority", "all": "all servers", "c1": "holder", "c2": "waiter"}
FEWER = {"all": ("most", "P", "f", "one"), "most": ("P",), "f": ("one",)}  # of the hosts of a target: those of another one
_FAULT = re.compile(r"([a-z]+)-([A-Za-z0-9]+)@")
_HEAD = re.compile(r"# hunt(?: \d+)? of (\S+), (.*)")
ARCHIVE = ".tar.xz"  # of a published hunt of one system: SYSTEM.tar.xz with SYSTEM/...


def _is_within(small, large):
    """Whether one fault (kind, host, ...) is the other one, or that done to fewer hosts."""
    cut = (small[0], large[0]) == ("cutone", "cut") and small[1:] == large[1:]
    return small == large or cut or (small[0] == large[0] and small[2:] == large[2:] and small[1] in FEWER.get(large[1], ()))


def say(mechanism):
    return " + ".join(f"{HOSTS.get(host, host)}: {WORDS.get(kind, kind)}" for kind, host in mechanism) or "nothing at all"


def is_part(small, large):
    """Whether faults are a proper part of others: fewer of them, or done to fewer hosts. No two are a part of the same one."""
    pairings = (zip(small, chosen) for chosen in itertools.permutations(large, len(small)))
    return sorted(small) != sorted(large) and any(all(_is_within(s, f) for s, f in pairs) for pairs in pairings)


class Timeline:
    def __init__(self, row):
        self.id, self.regime, self.standing, self.not_run = row["timeline"], row["regime"], row["set"], row["not_run"]
        self.count, self.core = int(row["faults"]), row["core"] == "yes"
        self.audit = row["audit"]  # of one that need not be run and was, apart: whether it came out as the one that stands for it
        self.came = {name: int(row[name] or 0) for name in CAME}
        self.decided = sum(self.came[name] for name in CAME if name != "undecided")
        self.parts = frozenset(filter(None, self.id.partition(".")[2].split("+")))
        self.done = [(*_FAULT.match(part).groups(), part.partition("@")[2]) for part in sorted(self.parts)]  # (kind, host, when)
        self.unreal = any(kind in UNREAL for kind, *_ in self.done)
        self.faults = tuple(sorted(_FAULT.match(part).groups() for part in self.parts))  # (kind, host) of each
        self.of = next((name for name in CLASSES if self.came[name]), "") if self.standing else ""  # the class of a set

    def only(self, came):
        """Whether this is all that came of it."""
        return self.came[came] > 0 and self.came[came] == self.decided + (self.came[came] if came == "undecided" else 0)


class Hunt:
    """What was found of one system."""

    def __init__(self, folder, system):
        path = _unpacked(folder, system)
        self.timelines = [Timeline(row) for row in run_folder.load_csv(path, "hunt.csv", _TEXTS, _NUMBERS)]
        self.said, self.trials = _journal(os.path.join(path, "trials.csv"))  # seed and number of faults, as the journal has them
        self.minimal = [t for t in self.timelines if t.standing in ("minimal", "not replayed")]  # what contains one was not run
        said = _said(os.path.join(path, "hunt.json"))
        self.system = said.get("system", system)  # as it was typed: the name of its folder has no colon
        self.of_rules = re.sub("(@[^:]*):.*", r"\1", self.system)  # without the origin of its servers
        self.sittings = said.get("sittings", [])  # each call of it, as run.json has one; empty where an older tool made it
        self.replays = said.get("replays", {"decided": 0, "agreed": 0})  # of all its sets, under another seed

    def sets(self, standing=("minimal",), of=("lease",), count=None, unreal=None):
        """The mechanisms of the sets of that standing and class, each once, with what no machine has, without it, or both: [(faults, first timeline)]."""
        found = {}
        for t in self.timelines:
            if t.standing in standing and t.of in of and count in (None, t.count) and unreal in (None, t.unreal):
                found.setdefault((t.standing, t.faults), t)
        return [(faults, t) for (_, faults), t in found.items()]

    def smallest(self):
        """How many faults it takes to break it within a lease, n of n, by what machines do; None: not known to be broken."""
        return min((t.count for _, t in self.sets(unreal=False)), default=None)

    def holds_a_set(self, t):
        """A minimal set and more: such a timeline is run in a sample only. Without a clock that drifts, a part of `drift` is what it is in `long`."""
        regimes = (t.regime, "long") if t.regime == "drift" else (t.regime,)
        return any(s.regime in regimes and s.of == "lease" and is_part(s.done, t.done) for s in self.minimal)

    def ran(self, count):
        """(timelines that were decided, those that the space has), without those that hold a minimal set."""
        space = [t for t in self.timelines if t.count == count and t.not_run in LEFT and not self.holds_a_set(t)]
        return sum(t.decided > 0 for t in space), len(space)

    def beyond(self, count):
        """Timelines that a declared bound left out, which is no proof."""
        return sum(t.count == count and t.not_run.startswith("bound") for t in self.timelines)

    def sample(self):
        """Of the timelines that hold a minimal set: those that were decided all the same."""
        return [t for t in self.timelines if t.not_run in LEFT and t.decided and self.holds_a_set(t)]

    def counts(self):
        return sorted({t.count for t in self.timelines})

    def core(self):
        """(timelines of the common core that broke it within a lease, those that were decided)."""
        decided = [t for t in self.timelines if t.core and t.decided]
        return sum(t.came["lease"] > 0 for t in decided), len(decided)

    def number_of(self, came):
        """Timelines of which nothing else came."""
        return sum(t.only(came) for t in self.timelines)


def _unpacked(folder, system):
    """The folder of a system, out of its archive if there is one: then it is there until this program ends."""
    path = os.path.join(folder, system)
    if not os.path.exists(path + ARCHIVE):
        return path
    place = tempfile.TemporaryDirectory()
    atexit.register(place.cleanup)
    try:
        with tarfile.open(path + ARCHIVE, "r:xz") as archive:
            members = [m for m in archive if m.isfile() and re.fullmatch(r"[^/]+/(hunt/)?[\w.-]+", m.name) and m.name.startswith(f"{system}/")]
            archive.extractall(place.name, members)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise run_folder.BadInput(f"{path}{ARCHIVE}: {error}") from error
    return os.path.join(place.name, system)


def systems_in(folder):
    """The names of their folders, sorted."""
    return sorted({name.removesuffix(ARCHIVE) for name in os.listdir(folder) if name.endswith(ARCHIVE) or os.path.exists(os.path.join(folder, name, "hunt.csv"))})


def _said(path):
    if not os.path.exists(path):
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except (ValueError, TypeError) as error:
        raise run_folder.BadInput(f"{path}: expected what a hunt writes, found {error!r}") from error


def _journal(path):
    """(what its first line says, the number of its trials)."""
    try:
        with open(path, encoding="utf-8") as file:
            found, trials = _HEAD.match(file.readline().rstrip("\n")), sum(not line.startswith("#") for line in file)
    except OSError as error:
        raise run_folder.BadInput(f"{path}: {error.strerror}") from error
    if not found:
        raise run_folder.BadInput(f"{path}:1: expected '# hunt of SYSTEM, seed N, ...'")
    return found.group(2), trials


def hunts_of(folder):
    """{system: Hunt}, in the order of the rows of all tables; BadInput if there is none."""
    try:
        names = systems_in(folder)
    except OSError as error:
        raise run_folder.BadInput(f"{folder}: {error.strerror}") from error
    if not names:
        raise run_folder.BadInput(f"{folder}: found no SYSTEM/hunt.csv, expected the folder of a `lockbench hunt -o`")
    of_system = {hunt.system: hunt for hunt in (Hunt(folder, name) for name in names)}
    return {system: of_system[system] for system in style.rows_in_order(of_system)}
