#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-examples.py LOCKBENCH TESTS - each command that README.md and docs/ print runs as it is printed.

Commands that ask servers are stopped as soon as they have said what they will play: the words were understood, and what they name is there. What a reader brings
(his adapter, his history, an earlier run) is in the folder in which they run; his servers are absent, which is exit 5 and no other. Speaks TAP.
"""
import concurrent.futures
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
import tap  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.S | re.M)
COMMAND = re.compile(r"^(?:\$ )?(?:\./bench|lockbench) (\S.*)$")
NOT_OURS = {"test", "docs", "paper", "peers", "servers"}  # test-bench.sh and live-origins.py play these words of ./bench
READS_DIR = re.compile(r"(?<!-o) DIR\b")  # of a run of before: test-shards.py and live-peers.py have one
PLAYS = {"run", "suite", "hunt", "judge"}
OWN = re.compile(r"--(redis|sentinel|zookeeper|postgres|etcd)\b")
BEGINS = re.compile(r"about .* here")
WAIT_S, SIDE_BY_SIDE = 300, 4  # they mostly wait; `conform` of an adapter takes a minute beside other tests


def words_of(line):
    """The words of a printed command: what stands behind two blanks explains it, unless it is inside a quote."""
    for end in [found.start() for found in re.finditer(r"  +", line)] + [len(line)]:
        try:
            return shlex.split(line[:end])
        except ValueError:
            continue  # inside a quote
    return None  # it goes on in the next line


def examples():
    """(page, line, words) of each."""
    for page in [tap.ROOT / "README.md", *sorted(tap.ROOT.glob("docs/*.md"))]:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            for found in re.finditer(r"^.*$", block[1], re.M):
                command = COMMAND.match(found[0])
                words = command and words_of(command[1])
                if words and words[0] not in NOT_OURS:
                    yield page.name, text[:block.start(1)].count("\n") + block[1][:found.start()].count("\n") + 1, words


def bring(home):
    """What the pages take for the reader's own."""
    shutil.copy(tap.ROOT / "peers/reference.py", home / "mine.py")
    operations = [(process, kind, f) for process in (0, 1) for f in ("acquire", "release") for kind in ("invoke", "ok")]
    edn = "".join(f"{{:type :{kind}, :f :{f}, :process {process}, :time {index}, :index {index}}}\n" for index, (process, kind, f) in enumerate(operations))
    (home / "history.edn").write_text(edn, encoding="utf-8")
    (home / "logins.ini").write_text("[redis]\nuser = me\npassword = secret\n", encoding="utf-8")
    os.chmod(home / "logins.ini", 0o600)
    (home / "before.xml").write_text('<testsuites>\n <testsuite name="lockbench judge">\n  <testcase classname="contention" name="exec:reference@redis none"/>\n'
                                     " </testsuite>\n</testsuites>\n", encoding="utf-8")
    (home / "results").mkdir()
    for name in ("trixie", "valkey-forky"):
        (home / "servers" / name / "bin").mkdir(parents=True)
        (home / "servers" / name / "bin/redis-server").symlink_to(shutil.which("redis-server") or "/usr/bin/redis-check-rdb")
    subprocess.run([LOCKBENCH, "run", "failover", "pause-holder", "contention", "-b", "redis-token@sentinel,pg-row@pg,redis-token@sentinel:trixie", "-g", "none", "-n", "1", "-s", "duration_s=0.3", "-o", home / "results/run"],
                   cwd=home, env=places(home), capture_output=True, check=False)
    for name in ("chart", "other"):
        shutil.copytree(home / "results/run", home / "results" / name)


def places(home):
    return {**os.environ, "LOCKBENCH_RESULTS": f"{home}/results", "LOCKBENCH_SERVERS": f"{home}/servers"}


def stop_when_it_begins(words, home):
    """Its exit code and what it said; it is interrupted as soon as it has said what it plays."""
    with subprocess.Popen([LOCKBENCH, *words], cwd=home, env=places(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        said, until = b"", time.monotonic() + WAIT_S
        while time.monotonic() < until and not BEGINS.search(said.decode(errors="replace")):
            if not select.select([process.stdout], [], [], 1)[0]:
                continue
            part = os.read(process.stdout.fileno(), 4096)
            if not part:
                break
            said += part
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()
    return process.returncode, said.decode(errors="replace")


def wrong_with(words, home):
    if words[0] in PLAYS and "--list" not in words:
        code, said = stop_when_it_begins(words, home)
        absent = bool(OWN.search(" ".join(words)))
        right = code == 5 if absent else code in (0, 3, 130, -signal.SIGINT) or code == 5 and "./bench peers" in said  # 0, 3: it was quicker
    else:
        if words[0] == "serve":  # until the end of a command; a reader's own is not here
            words = words[:words.index("--")] if "--" in words else words
            words = [*words, "--", "true"]
        done = subprocess.run([LOCKBENCH, *words], cwd=home, env=places(home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=WAIT_S, check=False)
        code, said = done.returncode, done.stdout[-500:] + done.stderr
        right = code in (0, 3, 4)  # 3: a verdict; 4: an open question, as a comparison of two runs with a repeat each
    return [] if right else [f"exit {code}: {' '.join(words)}", *said.splitlines()[:5]]


def play(brought, number, words):
    """In a folder of its own."""
    home = brought.parent / str(number)
    shutil.copytree(brought, home)
    return wrong_with(words, home)


def main():
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        brought = pathlib.Path(folder) / "brought"
        brought.mkdir()
        bring(brought)
        seen, told = {}, []
        for page, line, words in examples():
            words = [re.sub(r"^\[?results/<(run|other)>\]?$", r"results/\1", word) for word in words]
            words = [LOCKBENCH if word == "<other>/lockbench" else word for word in words]
            words = ["results/new" if word == "results/chart" and "-o" in words else word for word in words if not word.startswith(">")]
            if "..." in words or READS_DIR.search(" ".join(words)) or tuple(words) in seen:
                continue
            seen[tuple(words)] = pool.submit(play, brought, len(seen), words)
            told.append((f"{page}:{line} {' '.join(words)}", seen[tuple(words)]))
        for title, wrong in told:
            tap.check(title, wrong.result())
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
