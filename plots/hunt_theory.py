#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hunt_theory.py HUNTS EXPECTATIONS [sometimes] - which minimal sets of a hunt the rules of scenarios/theory/rules.ini explain, and which they do not.

HUNTS is the folder of a `lockbench hunt -o`, EXPECTATIONS what `lockbench list expectations SYSTEM,...` printed. A fault of a set is an attack of the rules, or one of
several: a table here says which. A set is explained if the rules call its lock violated under the attack of one of its faults, and in the same way: a lease that still runs
is no matter of the guard `deadline`, one that is over is, and numbers are what `fence` looks at. Where servers vote that do not know each other, one fault of a pair may do no
more than leave the others a bare majority, which scenarios have from the start. A killed server that comes back when another one has taken over is one that was deposed. A
rule that says `race` explains a set as well, and is marked: the timeline asks in that moment. With `sometimes` it is asked of the sets that broke in some trials only, or were
not replayed.
"""

import collections
import sys

import ending
import hunt_folder

UNHEARD = "holder-cut-off"  # a holder that hears nothing of the server in time works on behind its lease
OF_SERVERS = {  # kind: attacks, of the server that decides, or of as many as it takes
    "restart": ("server-forgets", UNHEARD), "kill": ("grant-unheard", "grant-late", "grant-heard", UNHEARD), "pause": ("deposed-wakes", UNHEARD), "isolate": ("asked-alone", "deposed-wakes", UNHEARD),
    "part": ("asked-alone", "deposed-wakes"), "ahead": ("server-clock-ahead",), "behind": ("server-clocks-back",), "fast": ("server-clock-fast",), "slow": ("clocks-harmless",)}
OF_STRANGERS = OF_SERVERS | {"restart": ("server-forgets",), "kill": ("server-forgets", UNHEARD), "pause": (UNHEARD,), "isolate": (), "part": ()}  # a killed one comes back with what it kept
OF_ONE = OF_SERVERS | {"kill": (), "pause": (UNHEARD,), "isolate": (), "part": ()}  # nobody takes over, and the holder hears nothing
OF_HOLDER = {
    "pause": ("holder-stopped",), "cutoff": ("holder-cut-off",), "cut": (), "cutone": (), "kill": ("holder-dies",),
    "ahead": ("client-clock-ahead",), "behind": ("client-clock-back",), "fast": ("clocks-harmless",), "slow": ("client-clock-slow",)}
OF_WAITER = {"pause": (), "cutoff": (), "cut": (), "cutone": (), "kill": ("waiter-dies",), "ahead": ("client-clock-ahead",), "behind": ("client-clock-back",), "fast": (), "slow": ()}
FOLLOWERS = ("f", "one")  # where one server decides, what is done to these takes nothing from a holder


def expectations_of(path):
    """{system: {attack: {guard: verdict}}}; of several scenarios that play an attack `violated` counts. What they play is said where no guard is."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.split(None, 5) for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise ending.BadInput(f"{path}: {error}") from error
    if not rows or any(len(row) < 5 for row in rows):
        raise ending.BadInput(f"{path}: expected what `lockbench list expectations` prints")
    plays = {scenario: source for scenario, _, guard, _, source, *_ in rows if guard == "none" and source not in ("fit", "exception")}
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for scenario, system, guard, verdict, *_ in rows:
        said = found[system][plays.get(scenario)]
        if verdict != "n/a" and said.get(guard) != "violated":
            said[guard] = verdict
    return found


class Servers:
    """What a fault of a hunt is called in the rules, for its system."""

    def __init__(self, hunt):
        hosts = {host for timeline in hunt.timelines for _, host in timeline.faults}
        self.strangers = any("never talk to each other" in timeline.not_run for timeline in hunt.timelines)
        self.alone = not hosts & {"f", "one", "most", "all"}

    def attacks_of(self, fault):
        kind, host, when = fault
        if not self.strangers and host in FOLLOWERS:
            return ()
        table = {"c1": OF_HOLDER, "c2": OF_WAITER}.get(host, OF_STRANGERS if self.strangers else OF_ONE if self.alone else OF_SERVERS)
        if kind not in table:
            raise ending.BadInput(f"no attack is known for the fault '{kind}' of '{host}': it belongs into the tables of hunt_theory.py")
        if (kind, host) == ("restart", "most"):
            return ("majority-forgets",)
        return table[kind] + (("deposed-wakes",) if kind == "kill" and when.endswith("-back") and table is OF_SERVERS else ())

    def attacks(self, timeline):
        """Of all its faults; of a set without one the attack that takes nothing."""
        return list(dict.fromkeys(attack for fault in timeline.done for attack in self.attacks_of(fault))) if timeline.done else ["nothing"]


def is_such(of, said):
    """Whether what the rules say of a cell is a violation of this class."""
    if of == "numbers":
        return said.get("fence") == "violated"
    if said.get("none") != "violated":
        return False
    return of == "damage" or (said.get("deadline", "violated") == "violated") == (of == "lease")


def main():
    words = sys.argv[1:]
    sometimes = words[2:] == ["sometimes"]
    if len(words) != 2 + sometimes:
        raise ending.BadInput("usage: hunt_theory.py HUNTS EXPECTATIONS [sometimes]")
    of_rules = expectations_of(words[1])
    count = explained = 0
    for hunt in hunt_folder.hunts_of(words[0]).values():
        if hunt.of_rules not in of_rules:
            raise ending.BadInput(f"{words[1]}: nothing is said of {hunt.of_rules}")
        servers, said = Servers(hunt), of_rules[hunt.of_rules]
        for faults, timeline in hunt.sets(("sometimes", "open", "not replayed") if sometimes else ("minimal",), hunt_folder.CLASSES):
            attacks = servers.attacks(timeline)
            why = [attack for attack in attacks if is_such(timeline.of, said[attack]) or (sometimes and said[attack].get("none") == "violated")]
            if sometimes or not why:
                why += [f"{attack} (race)" for attack in attacks if said[attack].get("none") == "race"]
            if not why and said["nothing"].get("none") == "violated":
                why = ["nothing"]  # a lock that breaks by itself needs no rule for what a fault makes of it
            count, explained = count + 1, explained + bool(why)
            print(f"{hunt.system:<22} {timeline.of:<8} {hunt_folder.say(faults):<72} {', '.join(why) or f'NO RULE ({timeline.id})'}")
    print(f"{explained} of {count} {'sets that break sometimes' if sometimes else 'minimal sets'} are explained by a rule")


if __name__ == "__main__":
    sys.exit(ending.of(main))
