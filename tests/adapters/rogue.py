#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Adapters that break the rules of the line protocol once their session is open: peers/reference.py with something else done at one request. Its name is `rogue`.
# Usage: rogue.py FAULT [MARK]. MARK stands among the arguments of all that it starts. tests/live/foreign/live-exec.sh says what becomes of each trial.
import os, signal, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
fault, mark = sys.argv[1], (sys.argv[2:] or ["1000"])[0]


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def flood(line):
    for _ in range(3000): sys.stdout.write(line)
    sys.stdout.flush()


def start_daemons():  # in sessions of their own, as a library may start a helper; the second one's parent ends at once
    subprocess.Popen(["sleep", mark], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    subprocess.run(["setsid", "sh", "-c", "sleep %s >/dev/null 2>&1 </dev/null & exit" % mark], stdout=subprocess.DEVNULL)


FAULTS = {  # name: (at which request, before it is answered, what is done); None: instead of an answer
    "hangs-in-open": ("open", lambda n: time.sleep(1000)),
    "hangs-in-acquire": ("acquire", lambda n: time.sleep(1000)),
    "hangs-in-release": ("release", lambda n: time.sleep(1000)),
    "deaf": ("acquire", lambda n: os.kill(os.getpid(), signal.SIGSTOP)),
    "dies-in-open": ("open", lambda n: os._exit(3)),
    "dies-in-acquire": ("acquire", lambda n: os.kill(os.getpid(), signal.SIGSEGV)),
    "dies-while-it-holds": ("acquire", lambda n: threading.Timer(0.05, os._exit, (0,)).start()),
    "closes-stdout": ("acquire", lambda n: (os.close(1), time.sleep(1000))),
    "floods": ("acquire", lambda n: flood("! doubt again\n")),
    "floods-without-end": ("acquire", lambda n: flood("x" * 100)),
    "nonsense": ("acquire", lambda n: write("what do you mean?\n")),
    "nonsense-word": ("acquire", lambda n: write("%s perhaps\n" % n)),
    "answers-no-question": ("acquire", lambda n: write("99 ok\n")),
    "answers-unasked": ("acquire", lambda n: threading.Timer(0.05, write, ("77 ok\n",)).start()),
    "tells-nonsense": ("acquire", lambda n: write("! perhaps lost\n")),
    "starts-daemons": ("open", lambda n: start_daemons()),
    "lies": ("never", None),
    "crashes-loudly": ("acquire", lambda n: 1 / 0),
}

with open(os.path.join(ROOT, "peers", "reference.py"), encoding="utf-8") as f:
    text = f.read()
text = text.replace("name=reference", "name=rogue").replace("\n    try:\n        said = answer", "\n    misbehave(number, word)\n    try:\n        said = answer")
if fault == "lies": text = text.replace('call("SET", key, token, "NX", "PX", ttl)', "True")


def misbehave(number, word):
    at, act = FAULTS[fault]
    if word == at: act(number)


if fault == "starts-daemons": start_daemons()  # also before its first line
exec(compile(text, "reference.py that " + fault, "exec"))
