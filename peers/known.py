#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What peers.ini says, and what of it this machine has. ../bench and `install` ask it:
#   known.py packages [NAME...]   the Debian packages that are missing, a line each: NAME|for which peers
#   known.py names [NAME...]      a line each
#   known.py missing WORD...       a line each, of those NAME[@TOPOLOGY] that cannot run here yet; any other word is passed over
#   known.py makers [NAME...]      FILE MAKER SOURCE... of each that is compiled here and whose packages are there
#   known.py registries [NAME...]  of npm, maven and pip those that they need, a line each
#   known.py list [NAME...]       one line per peer: its version, or why it is skipped
#   known.py table [NAME...]      the table of README.md: verdicts are of the published runs, without a guard
# Without a NAME the others are about all of them. A NAME that is not there: one line, exit 2.
# $LOCKBENCH_PEERS is the folder of what ./bench peers makes ($PEERS in peers.ini).
import configparser
import difflib
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plots"))
import ending  # noqa: E402
import run_folder  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINES = ("run", "says", "version", "like", "guard", "packages", "npm", "there", "summary")  # of every section

# Of each registry its programs: the package of each and what it is for, where it is not there.
REGISTRIES = {"npm": {"node": "nodejs|runs the peers in JavaScript", "npm": "npm|fetches the peers in JavaScript"},
              "maven": {"mvn": "maven|fetches the peers in Java"},
              "pip": {"/usr/share/doc/python3-venv": "python3-venv|fetches the peers in Python"},
              "go": {"go": "golang-go|fetches and compiles the peers in Go"},
              "cargo": {"cargo": "cargo-web/cargo|fetches and compiles the peers in Rust"}}
FETCHED = {"maven": "maven"}  # what is there when nothing more has to be fetched, below the folder


def folder():
    return os.environ.get("LOCKBENCH_PEERS") or os.path.join(ROOT, "build", "peers")


def in_folder(text):
    return text.replace("$PEERS", folder())


def read(path=os.path.join(ROOT, "peers", "peers.ini")):
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#", ";"), strict=True, default_section="\n")
    with open(path, encoding="utf-8") as f:
        ini.read_file(f)
    return {name: dict(ini[name]) for name in ini.sections()}


def guard(peer):
    """Of the scenarios: the guard of a program that uses the library as its manual says."""
    return peer["guard"].partition(":")[0]


def is_there(peer):
    return os.path.exists(in_folder(peer["there"]))


def has_package(name):
    said = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True, check=False).stdout
    return said == "installed"


def registries(peers):
    return [name for name in REGISTRIES if any(peer.get(name) for peer in peers.values())]


def has_program(name):
    return os.path.exists(name) if name.startswith("/") else shutil.which(name) is not None


def missing_packages(peers):
    """PACKAGE|WHY. Of a peer whose file is there without its packages, none: it is from elsewhere."""
    wanted = {}
    for name, peer in peers.items():
        made_here = peer["there"].startswith("$PEERS")
        for package in peer["packages"].split():
            if (made_here or not is_there(peer)) and not has_package(package):
                wanted.setdefault(package, []).append(name)
    lines = ["%s|for the peers %s" % (package, ", ".join(names)) for package, names in wanted.items()]
    for registry in registries(peers):
        if registry not in FETCHED or not os.path.exists(os.path.join(folder(), FETCHED[registry])):
            lines += [line for program, line in REGISTRIES[registry].items() if not has_program(program)]
    return lines


def can_be_made(peer):
    jars = os.path.join(folder(), "maven")
    tools = all(has_program(program) for name in ("go", "cargo") if peer.get(name) for program in REGISTRIES[name])
    return "maker" in peer and tools and all(map(has_package, peer["packages"].split())) and (not peer.get("maven") or os.path.isdir(jars))


def makers(peers):
    """Of each file that is compiled here: its name, its maker, what else that is made of. Without packages and jars it cannot be."""
    made = [(os.path.basename(peer["there"]), *peer["maker"].split()) for peer in peers.values() if can_be_made(peer)]
    return list(dict.fromkeys(made))


def without_version(line):
    """A first line, but for the version of the library: `version` of peers.ini is what findings were made with."""
    return re.sub(r" version=\S+", "", line or "")


def expected_line(peer):
    """The first line that its adapter has to write, without the version."""
    return "lockbench-adapter 1 " + peer["says"]


def first_line(peer):
    """What its adapter writes first, or None and why not."""
    words = [in_folder(word) for word in peer["run"].split()]  # a shell runs them, as lockbench does
    if shutil.which(words[0], path=os.environ.get("PATH", "") + ":/usr/bin") is None:
        return None, "%s is not %s" % (words[0], "made: see what ./bench peers said" if words[0].startswith(folder()) else "installed")
    try:
        ended = subprocess.run(["sh", "-c", "exec " + peer["run"]], input="1 quit\n", capture_output=True, text=True, cwd=ROOT, timeout=20, check=False,
                               env={**os.environ, "PEERS": folder(), "LOCKBENCH_PEERS": folder()})
    except subprocess.TimeoutExpired:
        return None, "it did not end within 20 s"
    lines = ended.stdout.splitlines()
    if not lines:
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        return None, said[-1].strip() if said else "it wrote nothing and ended with exit status %d" % ended.returncode
    return lines[0], None


def reason(peer):
    """Why it cannot be used, or None."""
    line, why = first_line(peer)
    if line is None:
        lacking = [p for p in peer["packages"].split() if not has_package(p)]
        return "needs the package%s %s" % ("s" if len(lacking) > 1 else "", ", ".join(lacking)) if lacking else why
    if without_version(line) != expected_line(peer):
        return "it says '%s', expected '%s'" % (line, expected_line(peer))
    return None


def chosen(peers, names):
    """Those of these names, with or without `peer:`; all where there is none."""
    names = [name.removeprefix("peer:") for name in names]
    for name in names:
        if name.startswith("-"):
            print("bench: peers: expected names of libraries, found the option '%s'" % name, file=sys.stderr)
            sys.exit(2)
        if name not in peers:
            near = difflib.get_close_matches(name, peers, 1)
            hint = ", did you mean '%s'?" % near[0] if near else ", expected one of `./bench list peers`"
            print("bench: peers: unknown library '%s'%s" % (name, hint), file=sys.stderr)
            sys.exit(2)
    return {name: peer for name, peer in peers.items() if not names or name in names}


GROUPS = ("violated", "stuck or late", "sometimes violated", "sometimes stuck or late")


def group_of(cell):
    """Of which of GROUPS it is, if of any. A single late trial of several may be the machine's."""
    violated, late = cell["violated"] or 0, (cell["stuck"] or 0) + (cell["delayed"] or 0)
    if cell["verdict"] != "mixed":
        return {"violated": GROUPS[0], "stuck": GROUPS[1], "delayed": GROUPS[1]}.get(cell["verdict"])
    if late == cell["decided"]:
        return GROUPS[1]
    return GROUPS[2] if violated else GROUPS[3] if late > 1 else None


def loses():
    """Of each peer of the published runs, without a guard: {one of GROUPS: {scenario: None}}, and the scenarios that it was asked."""
    found, asked, cells = {}, {}, []
    for path in sorted(glob.glob(os.path.join(ROOT, "results", "reference-peers*", "run.json"))) + [os.path.join(ROOT, "results", "reference-redisson", "run.json")]:
        cells += run_folder.load_run(pathlib.Path(path).parent)["cells"]
    for cell in cells:
        if not cell["system"].startswith("peer:"):
            continue
        name = cell["system"].removeprefix("peer:").partition("@")[0]
        of = found.setdefault(name, {group: {} for group in GROUPS})
        if cell["guard"] == "none" and cell["decided"]:
            asked.setdefault(name, set()).add(cell["scenario"])
        group = group_of(cell) if cell["guard"] == "none" else None
        if group:
            of[group][cell["scenario"]] = None
    for of in found.values():
        for always, sometimes in zip(GROUPS[:2], GROUPS[2:]):
            of[sometimes] = {scenario: None for scenario in of[sometimes] if scenario not in of[always]}
    return found, asked


def of_ours(peer):
    """Our file of the same algorithm; a dash where its servers are others, and the file serves the rules alone."""
    topology = re.search(r"topologies=([a-z]+)", peer["says"])[1]
    service = {"sentinel": "redis", "cluster": "redis", "redlock": "redis"}
    ours = peer["like"].partition("-")[0]
    return f"`{peer['like']}`" if service.get(ours, ours) == service.get(topology, topology) else "–"


def table(peers):
    """A row for each library that is no museum's."""
    (found, asked), rows = loses(), ["| library | algorithm | what goes wrong | its holder hears | page |", "|---|---|---|---|---|"]
    for name, peer in peers.items():
        if "museum" in peer or name == "reference":
            continue
        wrong = ("%s: %s" % (group, ", ".join("`%s`" % scenario for scenario in each)) for group, each in found.get(name, {}).items() if each)
        wrong = "of %d: %s" % (len(asked.get(name, ())), "; ".join(wrong) or "nothing") if name in found else "not published yet"
        pages = ", ".join("[%d](../paper/findings/%s.md)" % pair for pair in enumerate(peer.get("page", "").split(), 1))
        hears = "a signal" if guard(peer) == "signal" else "nothing" + "".join(re.findall(r" \(.*\)$", peer["guard"]))
        rows.append("| `%s` %s | %s | %s | %s | %s |" % (name, peer["version"], of_ours(peer), wrong, hears, pages))
    return rows


def main():
    what, names = sys.argv[1:2], sys.argv[2:]
    if what == ["missing"]:
        peers = {name: peer for name, peer in read().items() if name in [word.partition("@")[0].removeprefix("peer:") for word in names]}
    else:
        peers = chosen(read(), names)
    if what == ["names"]:
        print("\n".join(peers))
    elif what == ["missing"]:
        for name in (name for name, peer in peers.items() if not is_there(peer)): print(name)
    elif what == ["makers"]:
        for words in makers(peers): print(" ".join(words))
    elif what == ["registries"]:
        for name in registries(peers): print(name)
    elif what == ["table"]:
        print("\n".join(table(peers)))
    elif what == ["packages"]:
        for line in missing_packages(peers): print(line)
    elif what == ["list"]:
        for name, peer in peers.items():
            why = reason(peer)
            if not why and peer["there"] == "$PEERS/%s.speaks" % name:  # its library is installed, but only this shows that it can be used
                with open(in_folder(peer["there"]), "w", encoding="utf-8"):
                    pass
            print("%-18s %s" % (name, "skipped: " + why if why else "%-10s %s" % (peer["version"], peer["summary"])), flush=True)
    else:
        raise ending.BadInput("known.py: expected names, missing, packages, makers, registries, list or table, got '%s'" % " ".join(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(ending.of(main))
