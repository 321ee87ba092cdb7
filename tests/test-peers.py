# SPDX-License-Identifier: MIT
#
# The libraries of others: every section of peers.ini is complete, every adapter is short and says in its first lines what it is about, and each that is installed
# writes the first line that peers.ini expects. Those that are not installed are skipped. Speaks TAP.
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "peers"))
import known  # noqa: E402

os.environ.setdefault("LOCKBENCH_PEERS", os.path.join(ROOT, "build", "peers"))
NAME = re.compile(r"[a-z0-9-]+")
MAY_SAY = ("name", "topologies", "ends", "can", "record", "clock")
MAY_CAN = ("extend", "holds", "fence", "validity", "signal", "reentrant")
SHARED = ("adapter.py", "known.py", "table.py", "adapter.js")  # no adapters
count = 0


def check(title, wrong):
    """`wrong`: what is, line by line."""
    global count
    count += 1
    print("%sok %d - %s" % ("not " if wrong else "", count, title))
    for line in wrong:
        print("# " + line)


def of_section(name, peer):
    """What is wrong with it."""
    wrong = ["it has no line '%s'" % line for line in known.LINES if line not in peer]
    wrong += ["nobody knows its line '%s'" % line for line in peer if line not in known.LINES]
    if wrong:
        return wrong
    says = dict(word.partition("=")[::2] for word in peer["says"].split())
    wrong += ["'says' has no %s" % word for word in MAY_SAY[:5] if word not in says]
    wrong += ["'says' has %s, which nobody knows" % word for word in says if word not in MAY_SAY]
    if says.get("name") != name or not NAME.fullmatch(name):
        wrong.append("its name is '%s', expected that of the section, of a-z, 0-9 and -" % says.get("name"))
    if says.get("ends") not in ("lease", "session", "never"):
        wrong.append("'ends' is '%s', expected lease, session or never" % says.get("ends"))
    wrong += ["'can' names '%s'" % word for word in says.get("can", "").split(",") if word and word not in MAY_CAN]
    wrong += ["'%s' is empty" % line for line in ("run", "version", "like", "there", "summary") if not peer[line]]
    if not os.path.exists(os.path.join(ROOT, "backends", peer["like"] + ".c")):
        wrong.append("'like' is '%s', which is no protocol" % peer["like"])
    files = [word for word in peer["run"].split() if word.startswith("peers/")]
    wrong += ["%s is not there" % file for file in files if not os.path.exists(os.path.join(ROOT, file))]
    return wrong


def of_adapter(path):
    """What is wrong with the file."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    most = 99 if os.path.basename(path) == "reference.py" else 149
    wrong = [] if len(lines) <= most else ["it has %d lines, expected at most %d" % (len(lines), most)]
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
        wrong.append("its first two lines do not name the licence")
    head = []
    for line in lines:
        if line.strip() and not re.match(r"#|//|/\*| \*", line):
            break
        head.append(line)
    if not re.search(r"https?://", "\n".join(head)):
        wrong.append("its opening comment does not say where the promise stands (a URL)")
    for word in ("promises", "breaks"):
        if not re.search(word, "\n".join(head), re.I):
            wrong.append("its opening comment does not say what its library %s" % ("promises" if word == "promises" else "is broken by ('breaks')"))
    return wrong


def main():
    peers = known.read()
    folder = os.path.join(ROOT, "peers")
    adapters = sorted(f for f in os.listdir(folder) if re.search(r"\.(py|js|mjs|java|c)$", f) and f not in SHARED)
    for name, peer in peers.items():
        check("peers.ini: [%s] is complete" % name, of_section(name, peer))
    for file in adapters:
        check("%s is short and says what it is about" % file, of_adapter(os.path.join(folder, file)))
    check("packages are those of the names", [] if known.missing_packages(known.chosen(peers, ["peer:reference"])) == {} else ["reference needs none"])
    check("names choose their sections", [] if list(known.chosen(peers, ["kazoo", "redis-py"])) == ["redis-py", "kazoo"] else ["not these two"])
    check("no name chooses all", [] if known.chosen(peers, []) == peers else ["not all"])
    global count
    for name, peer in peers.items():
        title = "%s says at once what peers.ini expects" % name
        if name != "reference" and not known.is_there(peer):
            count += 1
            print("ok %d - %s # SKIP not installed" % (count, title))
            continue
        line, why = known.first_line(peer)
        check(title, [] if line == known.expected_line(peer) else [why or "it says   %s" % line, "expected  " + known.expected_line(peer)])
    print("1..%d" % count)


main()
