#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hunt_table.py FOLDER - the table of hunts in docs/hunt.md, as Markdown, out of what `lockbench hunt -o FOLDER` left.

A mechanism is what is done to whom, whenever. One that contains a smaller mechanism of its lock is left out: it is no news.
"""

import sys

import ending
import hunt_folder
import run_folder

SHOWN = 4


def in_words(faults):
    return hunt_folder.say(faults) + ("*" if any(kind in hunt_folder.UNREAL for kind, _ in faults) else "")


def smallest(found, known):
    """Those of `found` in which none of `known` is a part."""
    return [m for m in found if not any(hunt_folder.is_part([(*f, "") for f in other], [(*f, "") for f in m]) for other in known)]


def mechanisms(hunt, standing=("minimal",)):
    """Those that lose exclusion within a lease in every trial: [faults]."""
    return list(dict.fromkeys(faults for faults, _ in hunt.sets(standing)))


def asked(hunt, count):
    """Timelines that were decided, of those that the hunt would ask; then those that only a declared bound leaves out."""
    bounds = hunt.beyond(count)
    return "{} of {}".format(*hunt.ran(count)) + (f" (+{bounds})" if bounds else "")


def listed(found):
    words = sorted((in_words(m) for m in found), key=lambda text: ("*" in text, text))
    return "; ".join(words[:SHOWN]) + (f"; {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def row(hunt):
    minimal = mechanisms(hunt)
    found = smallest(minimal, minimal)
    waiting = [m for m in mechanisms(hunt, ("open", "not replayed")) if m not in minimal]
    cells = [listed(m for m in found if len(m) == count) or f"none in {asked(hunt, count)}" for count in (1, 2)]
    if () in found:
        cells[0] = "breaks without a fault"
    return [f"`{hunt.system}`", "; ".join(asked(hunt, count) for count in hunt.counts() if count), *cells, listed(smallest(waiting, minimal + waiting)) or "none",
            str(len(hunt.sets(("sometimes",))))]


def foot(folder, hunts):
    """Seeds, replays and versions, in one line."""
    decided, agreed = (sum(h.replays[key] for h in hunts) for key in ("decided", "agreed"))
    servers = {system: sitting["servers"] for h in hunts for sitting in h.sittings for system in [h.system] if sitting.get("servers")}
    versions = run_folder.versions_line({"servers": servers})
    return f"({folder}, {'; '.join(dict.fromkeys(h.said for h in hunts))}. Replays of all published sets under another seed: {agreed} of {decided} agree. {versions})"


def main():
    if len(sys.argv) != 2:
        raise ending.BadInput("usage: hunt_table.py FOLDER")
    head = ["lock", "asked: 1 fault; 2 faults", "one fault is enough", "two are needed", "broke, to be confirmed", "sometimes"]
    hunts = list(hunt_folder.hunts_of(sys.argv[1]).values())
    rows = [row(hunt) for hunt in hunts]
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(cells) + " |")
    print(f"\n{foot(sys.argv[1], hunts)}")


if __name__ == "__main__":
    sys.exit(ending.of(main))
