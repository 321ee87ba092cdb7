#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-progress.py LOCKBENCH BUILT_TESTS - what a run sends to the terminal while it goes on: a line that is overwritten, or plain lines where TERM=dumb;
and that a server which hangs is named long before it is given up, by the run and by `doctor`."""

import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../helpers"))
import tap  # noqa: E402

program = os.path.abspath(sys.argv[1])
TRIALS = 4


def sent(term, folder):
    """All that a run of some seconds writes, with a terminal of this kind behind it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = term
        os.execv(program, [program, "run", "contention", "-b", "local", "-n", str(TRIALS), "-s", "duration_s=1", "-s", "clients=2", "-o", f"{folder}/{term}"])
    text = b""
    try:
        while part := os.read(fd, 65536):
            text += part
    except OSError:  # the other end is closed
        pass
    os.waitpid(pid, 0)
    return text.decode(errors="replace")


def hanging(folder, version):
    """The environment in which redis-server hangs; `version`: what it does when it is asked for that."""
    os.mkdir(folder)
    with open(f"{folder}/redis-server", "w", encoding="ascii") as out:
        out.write(f'#!/bin/sh\n[ "$1" != --version ] || {version}\nexec sleep 1000\n')
    os.chmod(f"{folder}/redis-server", 0o755)
    return {**os.environ, "TERM": "dumb", "PATH": f"{folder}:{os.environ['PATH']}"}


def wrong_hang(scratch):
    """A line within 20 s of which the log is there, and only one although two trials hang."""
    words = [program, "run", "control", "-b", "redis-token@redis", "-g", "none", "-n", "2", "-j", "2", "-o", f"{scratch}/hang"]
    begin = time.monotonic()
    run = subprocess.Popen(words, env=hanging(f"{scratch}/bin", "exec echo Redis server v=7.0.15 sha=0"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = ""
    while "has not answered" not in said and (line := run.stderr.readline()):
        said += line
    took = time.monotonic() - begin
    found = re.search(r"^redis-1 has not answered for 10 s \(log: (.*)\), waiting up to 60 s$", said, re.M)
    is_there = found and os.path.exists(found[1])
    time.sleep(3)
    run.send_signal(signal.SIGINT)
    said += run.communicate(timeout=60)[1]
    return [] if is_there and took < 30 and said.count("has not answered") == 1 else [f"after {took:.0f} s: {said!r}"]


def wrong_doctor(scratch):
    done = subprocess.run([program, "doctor"], env=hanging(f"{scratch}/mute", "exec sleep 1000"), capture_output=True, text=True, timeout=120, check=False)
    line = "MISS  topology redis: its server did not say its version within 10 s\n"
    return [] if done.returncode == 5 and line in done.stdout else [f"exit {done.returncode}: {done.stdout}"]


with tempfile.TemporaryDirectory() as scratch:
    os.chmod(scratch, 0o755)  # as root, programs are asked as nobody
    live, plain = sent("xterm", scratch), sent("dumb", scratch)
    tap.check("a server that hangs is named after 10 s, with its log, once", wrong_hang(scratch))
    tap.check("doctor names a server that does not say its version", wrong_doctor(scratch))
left = [int(s) for s in re.findall(r"about (\d+) s left", live)]
tap.check("a terminal gets a line that is overwritten", [] if "\r\033[K[" in live else [repr(live[:300])])
# A guess is a new one when a trial begins, ends, or is overdue; between these it counts down.
steps = [b - a for a, b in zip(left, left[1:])]
tap.check("the time left is said, and counts down", [] if -1 in steps and sum(step > 0 for step in steps) <= 2 * TRIALS and sum(steps) < 0 else [f"{left}"])
tap.check("TERM=dumb gets no such line", [] if "\033" not in plain and "\r\r" not in plain else [repr(plain[:300])])
tap.check("and the same results", [] if "contention" in plain and "safe" in plain else [repr(plain[-300:])])
sys.exit(tap.end())
