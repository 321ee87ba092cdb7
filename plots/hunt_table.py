#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hunt_table.py FOLDER - the table of hunts in docs/hunt.md, as Markdown, out of what `lockbench hunt -o FOLDER` left.

A mechanism is what is done to whom, whenever. One that contains a smaller mechanism of its lock is left out: it is no news.
"""

import collections
import sys

import ending
import hunt_folder
import run_folder

SHOWN = 4


def in_words(faults):
    return hunt_folder.say(faults) + ("*" if any(kind in hunt_folder.UNREAL for kind, _ in faults) else "")


def mechanisms(hunt):
    """The smallest ones that lose exclusion within a lease every time: [faults]."""
    found = list(dict.fromkeys(faults for faults, _ in hunt.sets()))
    return [m for m in found if not any(hunt_folder.is_part([(*f, "") for f in other], [(*f, "") for f in m]) for other in found)]


def listed(found, hunt, count):
    """What was found; where nothing was, in how many timelines of how many."""
    words = sorted((in_words(m) for m in found), key=lambda text: ("*" in text, text))
    more = f"; {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return "; ".join(words[:SHOWN]) + more or "none in {} of {}".format(*hunt.ran(count))


def by_bound(hunt):
    """Timelines that a declared bound left out, which is no proof."""
    return sum(t.not_run.startswith("bound") for t in hunt.timelines) + sum(x["timelines"] for x in hunt.left_out if x["not_run"].startswith("bound"))


def row(hunt):
    asked = "; ".join("{} of {}".format(*hunt.ran(count)) for count in hunt.counts() if count)
    by_count = collections.defaultdict(list)
    for faults in mechanisms(hunt):
        by_count[len(faults)].append(faults)
    one = "breaks without a fault" if by_count[0] else listed(by_count[1], hunt, 1)
    unsure = f"{len(hunt.sets(('sometimes',)))}; {len(hunt.sets(('open', 'not replayed')))}"
    return [f"`{hunt.system}`", asked, str(by_bound(hunt)), one, listed(by_count[2], hunt, 2), unsure]


def foot(folder, hunts):
    """Seeds, replays and versions, in one line."""
    decided, agreed = (sum(h.replays[key] for h in hunts) for key in ("decided", "agreed"))
    servers = {system: sitting["servers"] for h in hunts for sitting in h.sittings for system in [h.system] if sitting.get("servers")}
    versions = run_folder.versions_line({"servers": servers})
    return f"({folder}, {'; '.join(dict.fromkeys(h.said for h in hunts))}. Replays of minimal sets under another seed: {agreed} of {decided} agree. {versions})"


def main():
    if len(sys.argv) != 2:
        raise ending.BadInput("usage: hunt_table.py FOLDER")
    head = ["lock", "decided, of the space: 1 fault; 2 faults", "left out by a bound", "one fault is enough", "two are needed", "breaks sometimes; open"]
    hunts = list(hunt_folder.hunts_of(sys.argv[1]).values())
    rows = [row(hunt) for hunt in hunts]
    for cells in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(cells) + " |")
    print(f"\n{foot(sys.argv[1], hunts)}")


if __name__ == "__main__":
    sys.exit(ending.of(main))
