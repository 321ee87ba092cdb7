#!/usr/bin/env python3
# test: beside
# SPDX-License-Identifier: MIT
"""test-completion.py LOCKBENCH BUILT_TESTS - bash completes a line as its user types it: in a terminal of its own, by the Tab key.

lockbench and ./bench are stubs that print their arguments, so Enter shows what the line had become. What the completion asks is the real program.
"""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../helpers"))
import tap  # noqa: E402

LIMIT_S = 30
program = os.path.abspath(sys.argv[1])


class Shell:
    def __init__(self, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(PATH=f"{folder}/bin:{os.environ['PATH']}", PS1="", PS2="", TERM="dumb", INPUTRC="/dev/null", HISTFILE="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.text = ""
        self.say("source completion\n")
        self.say("bind 'set bell-style none'; echo read''y\n")
        self.wait("ready")

    def say(self, text):
        os.write(self.fd, text.encode())

    def wait(self, mark):
        end = time.monotonic() + LIMIT_S
        while mark not in self.text:
            if time.monotonic() > end or not select.select([self.fd], [], [], LIMIT_S)[0]:
                raise SystemExit(f"Bail out! no '{mark}' in {self.text!r}")
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        before, _, self.text = self.text.partition(mark)
        return before

    def completed(self, line):
        """What the words behind the first one are after Tab."""
        self.say(line + "\t\n")
        self.wait("<<")
        return self.wait(">>").rstrip()

    def end(self):
        self.say("exit\n")
        os.waitpid(self.pid, 0)


def make_folder(folder):
    stub = "#!/bin/bash\nprintf '<%s%s>>\\n' '<' \"$*\"\n"
    for name in ("bench", "bin/stub"):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(stub)
        os.chmod(path, 0o755)
    os.makedirs(f"{folder}/build")
    os.makedirs(f"{folder}/run")
    os.symlink(program, f"{folder}/build/lockbench")
    with open(f"{folder}/run/trials.csv", "w") as file:
        file.write("scenario,system,guard,clients\nfailover,redis-token@redis,none,2\nfailover,redis-token@redis,none,2\n"
                   "pause-holder,pg-row@pg,fence,2\n")
    with open(f"{folder}/completion", "wb") as file:
        file.write(subprocess.run([str(tap.ROOT / "install/completion"), "bash", program], check=True, stdout=subprocess.PIPE).stdout)


CASES = [
    ("a command of ./bench", "./bench jud", "judge"),
    ("a command that only ./bench has", "./bench pap", "paper"),
    ("a scenario", "./bench run pause-holder-t", "run pause-holder-told"),
    ("a lock", "./bench run control -b zk-seq", "run control -b zk-sequential"),
    ("its servers", "./bench run control -b zk-sequential@zk-x", "run control -b zk-sequential@zk-x3"),
    ("the servers of one alone", "./bench run control -b redis-token@senti", "run control -b redis-token@sentinel"),
    ("a lock after a comma", "./bench run control -b local,zk-seq", "run control -b local,zk-sequential"),
    ("its servers after a comma", "./bench run control -b local,redis-token@senti", "run control -b local,redis-token@sentinel"),
    ("servers of an adapter", "./bench conform ./bench -b redis,senti", "conform ./bench -b redis,sentinel"),
    ("an option with its two dashes", "./bench judge --ju", "judge --junit"),
    ("a guard", "./bench run -g fe", "run -g fence"),
    ("a cell behind the folder of a run", "./bench explain run fail", "explain run failover.redis-token@redis"),
    ("a cell whose faults are hunted", "./bench hunt --from run fail", "hunt --from run failover.redis-token@redis"),
    ("a cell with its guard", "./bench explain run/ pau", "explain run/ pause-holder.pg-row@pg.fence"),
    ("the servers in the name of a cell", "./bench explain run failover.redis-token@re", "explain run failover.redis-token@redis"),
    ("the name of a lock for judge", "./bench judge zk-seq", "judge zk-sequential"),
    ("the name of a library for judge", "./bench judge peer:kaz", "judge peer:kazoo"),
    ("the name of a library for peers", "./bench peers kaz", "peers kazoo"),
    ("a file, where no word fits", "./bench check comp", "check completion"),
]

with tempfile.TemporaryDirectory() as scratch:
    make_folder(scratch)
    shell = Shell(scratch)
    for what, line, want in CASES:
        got = shell.completed(line)
        tap.check(f"completes {what}", [] if got == want else [f"'{line}' became '{got}', expected '{want}'"])
    shell.end()
sys.exit(tap.end())
