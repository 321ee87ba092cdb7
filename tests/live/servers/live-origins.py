# test: beside
# SPDX-License-Identifier: MIT
"""live-origins.py LOCKBENCH - servers from elsewhere: a root that is made here of the machine's own Redis and its libraries, and a prefix that has
nothing but a link to it. Speaks TAP."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
import tap  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
PROGRAM = shutil.which("redis-server") or shutil.which("redis-check-rdb")


def check(holds, title, *seen):
    tap.check(title, [] if holds else [line for text in seen for line in str(text).splitlines()] or ["it does not hold"])


def make_root(folder):
    """Redis and what it is linked to, as packages unpack it: without /lib and its like."""
    said = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    for path in {PROGRAM, *re.findall(r"(/\S+) \(0x", said)}:
        place = folder / ("usr" + path if not path.startswith("/usr") else path[1:])
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), place)
    os.chmod(folder / PROGRAM.lstrip("/"), 0o755)
    if (name := folder / PROGRAM.lstrip("/")).name != "redis-server":
        name.rename(name.with_name("redis-server"))


def listing(folder):
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def call(*words, given=None, **env):
    return subprocess.run(words, capture_output=True, text=given is None, input=given, env={**os.environ, **env})


def verdicts(folder):
    run = json.loads((folder / "run.json").read_text())
    return {(cell["scenario"], cell["system"]): cell["verdict"] for cell in run["cells"]}, run["servers"]


def test_runs(home, folder):
    before = listing(home / "small")
    done = call(LOCKBENCH, "run", "control", "clock-jump", "restart-node", "-b", "redis-token@redis,redis-token@redis:small,redis-token@redis:links", "-g", "none", "-n", "1", "--again", "-o", str(folder))
    cells, servers = verdicts(folder)
    for scenario, verdict in (("control", "safe"), ("clock-jump", "violated"), ("restart-node", "violated")):
        for system in ("redis", "redis:small", "redis:links"):
            check(cells.get((scenario, f"redis-token@{system}")) == verdict, f"{scenario} on {system}: {verdict}", f"{cells}\n{done.stderr}")
    check(len(set(servers.values())) == 1 and set(servers) == {"redis", "redis:small", "redis:links"}, "each says its version", servers)
    check(listing(home / "small") == before, "nothing was written into the root")
    return servers["redis"]


def test_suite(folder):
    """What a scenario's `systems` names, it is asked of whichever version of the servers."""
    (folder / "one.ini").write_text("[suite]\ntitle = one\nquestion = one?\n\n[late-release]\n")
    call(LOCKBENCH, "suite", str(folder / "one.ini"), "-b", "redis-del@redis:small", "-g", "none", "-n", "1", "--again", "-o", str(folder / "suite"))
    check(verdicts(folder / "suite")[0] == {("late-release", "redis-del@redis:small"): "violated"}, "a suite asks a version what it asks the system", verdicts(folder / "suite")[0])


def test_refusals(folder):
    for system, needle in (("redis:smal", "did you mean 'small'"), ("redis:", "unknown origin ''"), ("redis:../nowhere", "expected a folder"), ("none:small", "has no servers"), ("rediss:small", "unknown topology 'rediss'")):
        done = call(LOCKBENCH, "run", "control", "-b", f"redis-token@{system}", "-o", str(folder / "refused"))
        check(done.returncode == 2 and needle in done.stderr and done.stderr.count("\n") == 1 and not (folder / "refused").exists(), f"{system} is refused: {needle}", done.stderr)
    done = call(LOCKBENCH, "run", "control", "-b", "redis-token@redis:small", "-n", "1", "-o", str(folder / "bare"), LOCKBENCH_NO_NAMESPACES="1")
    check(verdicts(folder / "bare")[0] == {("control", "redis-token@redis:small"): "skipped"}, "without namespaces a root is skipped", done.stdout)
    done = call(LOCKBENCH, "run", "control", "-b", "memcached-add@memcached:links", "-n", "1", "-o", str(folder / "lacks"))
    check(verdicts(folder / "lacks")[0] == {("control", "memcached-add@memcached:links"): "skipped"}, "a prefix without the server is no reason to take this machine's", done.stdout)


def test_too_old(home, folder):
    """A Redis knows no DELIFEQ, which is Valkey's word: neither a run nor conform takes its refusals for those of the lock."""
    needs = "needs valkey >= 9.0; this is redis "
    done = call(LOCKBENCH, "run", "control", "-b", "redis-ifeq@redis:small", "-n", "1", "-o", str(folder / "old"))
    cell = json.loads((folder / "old/run.json").read_text())["cells"][0]
    check(cell["verdict"] == "skipped" and needs in cell["why"], "a server without the commands of a lock is skipped", cell, done.stdout)
    done = call(LOCKBENCH, "conform", "redis-ifeq@redis:small")
    check(done.returncode == 5 and needs in done.stderr and done.stderr.count("\n") == 1, "conform says so in one line", done.stderr)
    done = call(LOCKBENCH, "conform", "--tap", "redis-ifeq@redis:small")
    check(done.returncode == 0 and f"# SKIP {needs}" in done.stdout, "and skips it in TAP", done.stdout)


UPGRADE = """[scenario]
title = a server is shut down and restarts as its next version
attack = servers-upgraded
question = does a grant survive that?
refuted = it does not
min_handoffs = 0

[workload]
clients = 2
ttl_ms = 30000

[servers]
next = small

[timeline]
step = client 1 acquire within 5s, observe client 1
step = shut down node 1, restart node 1 as next
step = client 2 acquire within 300ms
step = client 1 release within 3s
"""


def test_next(home, folder):
    """A program that says another version than it is: as the server before it is upgraded, as the one behind it is found out."""
    program = home / "liar/bin/redis-server"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Redis server v=1.2.3 sha=0" && exit\nexec {home}/links/bin/redis-server "$@"\n')
    program.chmod(0o755)
    (folder / "up.ini").write_text(UPGRADE)

    def play(name, system, *more):
        done = call(LOCKBENCH, "run", str(folder / "up.ini"), "-b", system, "-n", "1", "--again", "-o", str(folder / name), *more)
        run = json.loads((folder / name / "run.json").read_text()) if (folder / name).exists() else {"cells": [{"verdict": "", "why": done.stderr}]}
        return run["cells"][0], run.get("servers"), done
    cell, servers, done = play("up", "redis-token@redis-aof:liar")
    check(cell["verdict"] == "safe" and set(servers) == {"redis-aof:liar", "redis-aof:small"}, "a server restarts as its next version", cell, servers, done.stderr)
    cell, _, done = play("found-out", "redis-token@redis-aof", "-s", "next=liar")
    check(cell["verdict"] == "undecided" and "expected redis 1.2.3" in cell["why"], "one that states another version is none", cell, done.stderr)
    for name, system, value, needle in (("same", "redis-token@redis-aof", "small", "already"), ("pg", "pg-row@pg", "small", "starts no postgres")):
        cell, _, done = play(name, system, "-s", f"next={value}")
        check(cell["verdict"] == ("n/a" if name == "pg" else "skipped") and needle in cell["why"], f"{system}, next = {value}: {needle}", cell, done.stderr)
    _, _, done = play("gone", "redis-token@redis-aof", "-s", "next=smal")
    check(done.returncode == 2 and "did you mean 'small'" in done.stderr and done.stderr.count("\n") == 1, "a next version that is misspelt is refused", done.stderr)
    (folder / "none.ini").write_text(UPGRADE.replace("next = small\n", ""))
    done = call(LOCKBENCH, "run", str(folder / "none.ini"), "-b", "redis-token@redis-aof")
    check(done.returncode == 2 and "expected next in [servers]" in done.stderr and done.stderr.count("\n") == 1, "a step without a next version is refused", done.stderr)
    done = call(LOCKBENCH, "run", "control", "-b", "redis-token@redis", "-s", "next=small")
    check(done.returncode == 2 and "starts the next version" in done.stderr and done.stderr.count("\n") == 1, "a next version without a step is refused", done.stderr)
    shutil.rmtree(home / "liar")


def test_script(home):
    script = [sys.executable, str(ROOT / "setup/servers")]
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        out.add(home / "small/usr", "usr")
    done = call(*script, "image", "-", given=tar.getvalue())
    check(done.returncode == 0 and (home / "image/usr").is_dir(), "takes the tar of an image", done.stderr)
    done = call(*script, "image", "-", given=tar.getvalue())
    check(done.returncode == 2 and b"is there already" in done.stderr, "keeps what is there", done.stderr)
    for given, needle in ((b"no tar", b"tar"), (b"", b"tar")):
        done = call(*script, "bad", "-", given=given)
        check(done.returncode == 2 and needle in done.stderr and sorted(path.name for path in home.iterdir()) == ["image", "links", "small"], f"refuses {given or 'nothing'}", done.stderr)
    done = call(LOCKBENCH, "list", "origins")
    check(done.returncode == 0 and sorted(line.split()[0] for line in done.stdout.splitlines()) == ["image", "links", "small"] and done.stdout.count("redis") >= 3, "lists them", done.stdout)
    done = call(*script, "rm", "imag")
    check(done.returncode == 2 and "did you mean 'image'" in done.stderr, "rm: did-you-mean", done.stderr)
    check(call(*script, "rm", "image").returncode == 0 and not (home / "image").exists(), "rm removes")
    for word, needle in (("forki", "did you mean 'forky'"), ("valky@forky", "did you mean 'valkey'"), ("--what", "expected RELEASE"), ("redis@7.2", "are had by version"),
                         ("postgresql@12", "expected 13 or newer")):
        done = call(*script, word)
        check(done.returncode == 2 and needle in done.stderr, f"{word}: {needle}", done.stderr)
    for word, tool in (("etcd@3.6.16", "go"), ("postgresql@16", "npm"), ("zookeeper@3.9.5", "mvn")):
        done = call(*script, word, PATH="/nonexistent")
        check(done.returncode == 1 and f"needs the program {tool}" in done.stderr and done.stderr.count("\n") == 1, f"{word} says that it needs {tool}", done.stderr)
    old = home.parent / "old-go"
    old.mkdir()
    (old / "go.mod").write_text("module x\n\ngo 1.26.0\n")
    (old / "go").write_text(f"""#!/bin/sh\ncase "$*" in mod*9.9.9) echo '{{"Error": "server response: This module version is not available."}}'; exit 1;; mod*) echo '{{"GoMod": "{old}/go.mod"}}';; *) echo go1.19.8;; esac\n""")
    (old / "go").chmod(0o755)
    for word, code, needle in (("etcd@3.6.16", 1, f"needs Go 1.26.0, {old}/go is 1.19.8"), ("nats@9.9.9", 2, "not available")):
        done = call(*script, word, PATH=f"{old}:{os.environ['PATH']}")
        check(done.returncode == code and needle in done.stderr and done.stderr.count("\n") == 1, f"{word} of an old Go, or of no such version: {code}", done.stderr)
    done = call(sys.executable, "-c", f"import platform, runpy, sys; platform.machine = lambda: 'aarch64'; sys.argv = ['servers', 'postgresql@16']; runpy.run_path({script[1]!r}, run_name='__main__')")
    check(done.returncode == 1 and "this machine is aarch64" in done.stderr and done.stderr.count("\n") == 1, "programs of x86_64 are refused on another machine", done.stderr)


if not PROGRAM:
    print("1..0 # SKIP no Redis is installed")
    sys.exit(0)
with tempfile.TemporaryDirectory(prefix="lockbench-origins-") as work:
    os.chmod(work, 0o755)
    at, home = pathlib.Path(work), pathlib.Path(work, "servers")
    os.environ["LOCKBENCH_SERVERS"] = str(home)
    make_root(home / "small")
    (home / "links/bin").mkdir(parents=True)
    (home / "links/bin/redis-server").symlink_to(PROGRAM)
    version = test_runs(home, at / "run")
    test_suite(at)
    test_refusals(at)
    test_next(home, at)
    if version.startswith("redis"):
        test_too_old(home, at)
    test_script(home)
sys.exit(tap.end())
