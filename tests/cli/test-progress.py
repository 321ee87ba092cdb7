#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-progress.py LOCKBENCH BUILT_TESTS - what a run sends to the terminal while it goes on: a line that is overwritten, or plain lines where TERM=dumb."""

import os
import pty
import re
import sys
import tempfile

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


with tempfile.TemporaryDirectory() as scratch:
    live, plain = sent("xterm", scratch), sent("dumb", scratch)
left = [int(s) for s in re.findall(r"about (\d+) s left", live)]
tap.check("a terminal gets a line that is overwritten", [] if "\r\033[K[" in live else [repr(live[:300])])
# A guess is a new one when a trial begins, ends, or is overdue; between these it counts down.
steps = [b - a for a, b in zip(left, left[1:])]
tap.check("the time left is said, and counts down", [] if -1 in steps and sum(step > 0 for step in steps) <= 2 * TRIALS and sum(steps) < 0 else [f"{left}"])
tap.check("TERM=dumb gets no such line", [] if "\033" not in plain and "\r\r" not in plain else [repr(plain[:300])])
tap.check("and the same results", [] if "contention" in plain and "safe" in plain else [repr(plain[-300:])])
sys.exit(tap.end())
