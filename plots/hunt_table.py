#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hunt_table.py FOLDER - the table of hunts in docs/hunt.md, as Markdown, out of what `lockbench hunt -o FOLDER` left.

A mechanism is what is done to whom, whenever. One that contains a smaller mechanism of its lock is left out: it is no news.
"""

import collections
import sys

import ending
import hunt_folder

SHOWN = 4


def in_words(faults):
    return hunt_folder.say(faults) + ("*" if any(kind in hunt_folder.UNREAL for kind, _ in faults) else "")


def mechanisms(hunt):
    """The smallest ones that lose exclusion within a lease every time: [faults]."""
    found = list(dict.fromkeys(faults for faults, _ in hunt.sets()))
    return [m for m in found if not any(hunt_folder.is_part([(*f, "") for f in other], [(*f, "") for f in m]) for other in found)]


def listed(found):
    words = sorted((in_words(m) for m in found), key=lambda text: ("*" in text, text))
    more = f"; {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return "; ".join(words[:SHOWN]) + more or "none"


def row(hunt):
    asked = ", ".join("{} of {}".format(*hunt.ran(count)) for count in hunt.counts() if count)
    by_count = collections.defaultdict(list)
    for faults in mechanisms(hunt):
        by_count[len(faults)].append(faults)
    decided, agreed = hunt.replays["decided"], hunt.replays["agreed"]
    one = "breaks without a fault" if by_count[0] else listed(by_count[1])
    return [f"`{hunt.system}`", asked, one, listed(by_count[2]), f"{agreed} of {decided}" if decided else "–"]


def main():
    if len(sys.argv) != 2:
        raise ending.BadInput("usage: hunt_table.py FOLDER")
    head = ["lock", "asked: 1 fault, 2 faults", "one fault is enough", "two are needed", "replays that agree, of minimal sets as published"]
    rows = [row(hunt) for hunt in hunt_folder.hunts_of(sys.argv[1]).values()]
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    sys.exit(ending.of(main))
