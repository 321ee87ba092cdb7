#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the tests of the witness: changes one thing in a source that judges, and sees whether a test notices.

Usage: mutate.py [--seed S] [--count N | --all] [--file NAME]... [--jobs J] [--least PERCENT] [--list | --check | --only ID]

  --seed S     which mutants are drawn (default 1)
  --count N    how many, shared out evenly among the files (default 20 for each file); --all: every one there is
  --file NAME  only this source, e.g. `judge` or harness/trial/judge.c; may be given again
  --jobs J     so many at the same time, each in a copy of the tree of its own (default 2)
  --least P    the share that has to be killed, in per cent (default 92)
  --list       names what would be drawn and does nothing
  --only ID    this mutant: its difference, and the test that kills it
  --check      only whether every entry of tests/mutants-equivalent.txt still names a mutant

A mutant is killed by the first test that fails, crashes, or takes much longer than it does on the true source. One that
the compiler refuses (warnings are errors) does not count and the next one is drawn in its place. A mutant's ID depends
on its line and its change alone. Last line: `killed 131 of 140 (94 %)`.
Exit: 0, 1 (the tests fail on the true source, or --check found something), 2 (usage), 3 (fewer were killed than asked).
"""
import argparse
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from mutants import difference, key_of, mutants_of, read_equivalent  # noqa: E402

# The tests of each source, the one that kills most first: unit tests, for the conformance suite links none of these.
TESTS = {
    "harness/history/history_lease.c": ["history-lease"],
    "harness/check/check.c": ["check", "check-lease", "check-random"],
    "harness/check/check_access.c": ["check", "check-lease", "check-random"],
    "harness/check/check_order.c": ["check", "check-random"],
    "harness/check/check_sweep.c": ["check", "check-random"],
    "harness/check/counter.c": ["counter", "judge-counts", "tally"],
    "harness/check/evidence.c": ["evidence", "evidence-guard"],
    "harness/check/self_check.c": ["self-check"],
    "harness/trial/stage.c": ["stage-facts", "judge"],
    "harness/trial/premises.c": ["premises", "judge"],
    "harness/trial/judge.c": ["judge-counts", "judge", "exhausted"],
    "harness/trial/keep.c": ["judge-counts", "judge", "exhausted"],
    "harness/client/heartbeat.c": ["heartbeat"],
    "harness/client/memory.c": ["memory", "client"],
    "harness/client/resource.c": ["resource", "holder"],
    "harness/client/holder.c": ["holder-debts", "holder", "client"],
    "harness/client/holder_access.c": ["holder-debts", "holder", "client"],
    "harness/client/contract.c": ["contract", "holder"],
    "harness/client/hook.c": ["contract", "hook", "holder", "holder-debts", "client"],
    "harness/trial/campaign.c": ["campaign-play", "campaign"],
}
EQUIVALENT = "tests/mutants-equivalent.txt"
PER_FILE = 20
# gcc with these sanitizers takes a text for NULL that is none.
SETUP = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1", "-Ddebug=false", "-Dc_args=-Wno-format-overflow"]
ENVIRONMENT = {
    "CMOCKA_MESSAGE_OUTPUT": "TAP",
    "ASAN_OPTIONS": "halt_on_error=1:detect_leaks=1:hard_rss_limit_mb=4000",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
SLOWER, PATIENCE_S = 5, 10  # a test may take five times as long as it should, and at least so many seconds

# ---- a copy of the tree ---------------------------------------------------------------------------------------------


class TrueSourceFails(Exception):
    pass


def copy_tree(root, to):
    """What git knows or would add, but for the paper, and of results only what is installed."""
    known = shutil.which("git") and subprocess.run(["git", "-C", root, "ls-files", "-zco", "--exclude-standard"],
                                                   capture_output=True, check=False).stdout
    if known:
        names = [n for n in known.decode().split("\0") if n and os.path.isfile(os.path.join(root, n))]
    else:
        names = [os.path.relpath(os.path.join(f, n), root) for f, _, files in os.walk(root) for n in files]
    for name in names:
        installed = name.startswith("results/") and name.endswith(("/trials.csv", "SCHEMA.md"))
        if name.startswith(("results/", "paper/", "build", ".git/")) and not installed:
            continue
        os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
        shutil.copy2(os.path.join(root, name), os.path.join(to, name))


def prefix():
    """Commands that run a test, as far as this machine can: it ends with us however we end; and without randomised
    addresses, for on a kernel that randomises many bits they can collide with the sanitizers' memory."""
    found = []
    for command in (["setpriv", "--pdeathsig", "KILL"], ["setarch", "-R"]):
        try:
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                found += command
        except FileNotFoundError:
            pass
    return found


class Copy:
    """A tree with a build of its own, in which one source at a time is another."""

    def __init__(self, folder, prefix):
        self.tree, self.build, self.scratch = (os.path.join(folder, n) for n in ("src", "build", "tmp"))
        os.makedirs(self.scratch)
        self.prefix = prefix
        self.texts, self.takes, self.known, self.changed, self.test = {}, {}, {}, None, None

    def make(self, root, tests, jobs):
        copy_tree(root, self.tree)
        self.run_tool(["meson", "setup", *SETUP, self.build, self.tree])
        self.run_tool(["ninja", "-C", self.build, f"-j{jobs}", *(f"tests/test-{test}" for test in sorted(tests))])

    def make_like(self, other):
        """Without building: what is in a build tree names its sources relative to it."""
        shutil.copytree(other.tree, self.tree, symlinks=True)
        shutil.copytree(other.build, self.build, symlinks=True)

    def run_tool(self, command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise TrueSourceFails(f"{' '.join(command)}:\n{done.stdout.decode(errors='replace')[-3000:]}")

    def read(self, file):
        if file not in self.texts:
            with open(os.path.join(self.tree, file), encoding="utf-8") as source:
                self.texts[file] = source.read()
        return self.texts[file]

    def write(self, file, text):
        with open(os.path.join(self.tree, file), "w", encoding="utf-8") as source:
            source.write(text)

    def commands(self, file, test):
        """What has to run when this source has changed: compile, archive, link. Faster than ninja, which asks for more."""
        if (file, test) not in self.known:
            source, target, found, objects = os.path.join(self.tree, file), f"tests/test-{test}", [], []
            listed = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], capture_output=True, check=True)
            for command in listed.stdout.decode().splitlines():
                words = shlex.split(command)
                output = words[words.index("-o") + 1] if "-o" in words[:-1] else None
                if "-c" in words:
                    if os.path.realpath(os.path.join(self.build, words[-1])) == os.path.realpath(source):
                        objects.append(output)
                        found.append(command)
                elif output == target or any(o in words for o in objects):
                    found.append(command)
            self.known[file, test] = found
        return self.known[file, test]

    def compiles(self, file, tests, test):
        """Builds this test; what an earlier one of these tests has compiled already is not compiled again."""
        commands = self.commands(file, test)
        if test != tests[0]:
            commands = [c for c in commands if c not in self.commands(file, tests[0])]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return all(subprocess.run(["sh", "-c", c], cwd=self.build, check=False, **quiet).returncode == 0 for c in commands)

    def prepare(self, file, tests):
        """Builds the true source and measures its tests."""
        self.restore()
        for test in tests:
            if test in self.takes and self.takes[test][1] == file:
                continue
            self.run_tool(["ninja", "-C", self.build, "-j1", f"tests/test-{test}"])
            begin = time.monotonic()
            if failed := self.first_failure(test, 300):
                raise TrueSourceFails(f"test-{test} fails on the true source: {failed}")
            self.takes[test] = time.monotonic() - begin, file

    def restore(self):
        if self.changed:
            self.write(self.changed, self.read(self.changed))
        self.changed = None

    def first_failure(self, test, limit_s):
        """None, or what failed first; the test is ended then."""
        places = {"LB_SOURCE_DIR": self.tree, "LOCKBENCH_ROOT": self.tree, "TMPDIR": self.scratch}
        process = subprocess.Popen(
            [*self.prefix, os.path.join(self.build, f"tests/test-{test}")],
            cwd=self.scratch,
            env={**os.environ, **ENVIRONMENT, **places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.test = process.pid
        try:
            return first_failure_in(process, time.monotonic() + limit_s)
        finally:
            self.end_test()
            process.wait()
            process.stdout.close()
            shutil.rmtree(self.scratch, ignore_errors=True)
            os.makedirs(self.scratch, exist_ok=True)

    def end_test(self):
        """With all that it started."""
        pid, self.test = self.test, None
        try:
            if pid:
                os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def judge(self, mutant, tests):
        """None: it does not compile. Else (killed, by what)."""
        text = self.read(mutant.file)
        if self.changed not in (None, mutant.file):
            self.restore()
        self.changed = mutant.file
        self.write(mutant.file, text[: mutant.begin] + mutant.new + text[mutant.end :])
        for test in tests:
            if not self.compiles(mutant.file, tests, test):
                return None
            if failed := self.first_failure(test, max(PATIENCE_S, SLOWER * self.takes[test][0])):
                return True, f"{test}: {failed}"
        return False, ""


def first_failure_in(process, deadline):
    """Reads TAP until the first `not ok`, the end or the deadline."""
    text, fd = b"", process.stdout.fileno()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return "takes too long"
        more = os.read(fd, 65536)
        text += more
        for line in re.findall(rb"^not ok \d+ - ([^\n]*)\n", text, re.M):
            if b"# SKIP" not in line:
                return line.decode(errors="replace")
        if not more:
            break
        text = text[text.rfind(b"\n") + 1 :]
    try:
        code = process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "takes too long"
    return None if code == 0 else f"ends with {code}"


# ---- a run ----------------------------------------------------------------------------------------------------------


class Run:
    """The mutants that are still to be tried, and what became of the others."""

    def __init__(self, drawn, wanted, tests):
        self.left = {file: list(mutants) for file, mutants in drawn.items()}
        self.wanted, self.tests = dict(wanted), tests
        self.killed, self.survived = {f: [] for f in drawn}, {f: [] for f in drawn}
        self.refused = dict.fromkeys(drawn, 0)
        self.under_way = dict.fromkeys(drawn, 0)
        self.lock, self.error = threading.Lock(), None
        self.copies = []
        self.sum = sum(min(wanted[f], len(drawn[f])) for f in drawn)

    def next(self, latest):
        """A mutant, if possible of the same file as the latest one, so that little has to be built."""
        with self.lock:
            for file in sorted(self.left, key=lambda f: (f != latest, self.under_way[f])):
                counted = len(self.killed[file]) + len(self.survived[file]) + self.under_way[file]
                if self.left[file] and counted < self.wanted[file] and not self.error:
                    self.under_way[file] += 1
                    return self.left[file].pop(0)
        return None

    def note(self, mutant, verdict, seconds):
        with self.lock:
            self.under_way[mutant.file] -= 1
            if verdict is None:
                self.refused[mutant.file] += 1
                return
            (self.killed if verdict[0] else self.survived)[mutant.file].append(mutant)
            done = sum(map(len, self.killed.values())) + sum(map(len, self.survived.values()))
            how = f"killed by {verdict[1]}" if verdict[0] else "SURVIVED"
            print(f"{done}/{self.sum} {mutant.id} {how} ({seconds:.1f} s)", file=sys.stderr, flush=True)

    def stop(self):
        """The workers have nothing more to do, and what they are at ends."""
        with self.lock:
            self.left = dict.fromkeys(self.left, ())
        for copy in self.copies:
            copy.end_test()

    def work(self, copy):
        try:
            latest = None
            while mutant := self.next(latest):
                tests = self.tests[mutant.file]
                if mutant.file != latest:
                    copy.prepare(mutant.file, tests)
                latest, begin = mutant.file, time.monotonic()
                self.note(mutant, copy.judge(mutant, tests), time.monotonic() - begin)
        except Exception as error:  # of whatever kind: the others must not wait for this one
            self.error = self.error or error


def per_cent(part, whole):
    return int(100 * part / whole) if whole else 100


def report(run, texts, equivalent, least):
    killed = counted = argued = 0
    for file, survivors in run.survived.items():
        survivors.sort(key=lambda m: m.begin)
        known = [m for m in survivors if key_of(m) in equivalent]
        k, n = len(run.killed[file]), len(run.killed[file]) + len(survivors)
        killed, counted, argued = killed + k, counted + n, argued + len(known)
        without = f", {k} of {n - len(known)} without the equivalent ones" if known else ""
        print(f"{file}: killed {k} of {n}{without} ({run.refused[file]} did not compile)")
        for m in survivors:
            if m not in known:
                print(f"  survived: {m.id}, line {m.line}: {m.change}")
                print("    " + difference(m, texts[file]).replace("\n", "\n    "))
        for m in known:
            print(f"  survived, argued to be equivalent: {m.id}, line {m.line}: {m.change}")
            print(f"    {m.text}\n    why: {equivalent[key_of(m)]}")
        for m in run.killed[file]:
            if key_of(m) in equivalent:
                print(f"  NOT equivalent: {m.id} was killed and stands in {EQUIVALENT}: {m.text}: {m.change}")
    share = per_cent(killed, counted)
    if argued:
        print(f"without the equivalent ones: killed {killed} of {counted - argued} ({per_cent(killed, counted - argued)} %)")
    print(f"killed {killed} of {counted} ({share} %)")
    return 0 if share >= least else 3


def stale(equivalent, mutants):
    known = {key_of(m) for m in mutants}
    return [key for key in equivalent if key not in known]


def draw(mutants, seed):
    """The same order for the same mutants and seed, whatever the other files are."""
    drawn = sorted(mutants, key=lambda m: m.id)
    random.Random(f"{seed} {drawn[0].file}" if drawn else seed).shuffle(drawn)
    return drawn


def share_out(count, drawn):
    """How many of each file: evenly, and what a short file cannot give the others do."""
    wanted, left = {}, count
    for i, file in enumerate(sorted(drawn, key=lambda f: len(drawn[f]))):
        wanted[file] = min(len(drawn[file]), -(-left // (len(drawn) - i)))
        left -= wanted[file]
    return wanted


def arguments(argv):
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1].replace("%", "%%"))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=92)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args(argv)
    if options.jobs < 1 or (options.count is not None and options.count < 1):
        parser.error("--count and --jobs are at least 1")
    return parser, options


def choose_files(parser, options, tests):
    files = []
    for name in options.file or tests:
        match = [f for f in tests if name in (f, os.path.basename(f), os.path.basename(f).removesuffix(".c"))]
        if not match:
            parser.error(f"--file {name}: it has no tests here; there are {', '.join(tests)}")
        files += match
    return files


def play(root, run, jobs):
    folder, workers = tempfile.mkdtemp(prefix="lb-mutate-"), []
    try:
        how = prefix()
        run.copies = [Copy(os.path.join(folder, str(i)), how) for i in range(jobs)]
        run.copies[0].make(root, {test for file in run.left for test in run.tests[file]}, jobs)
        for copy in run.copies[1:]:
            copy.make_like(run.copies[0])
        for copy in run.copies:
            workers.append(threading.Thread(target=run.work, args=(copy,), daemon=True))
            workers[-1].start()
        for worker in workers:
            while worker.is_alive():
                worker.join(1)
    finally:
        run.stop()
        for worker in workers:
            worker.join(60)
        shutil.rmtree(folder, ignore_errors=True)
    if run.error:
        raise run.error


def main(argv, root=None, tests=None):
    root = root or os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    tests = tests or TESTS
    parser, options = arguments(argv)
    equivalent = read_equivalent(os.path.join(root, EQUIVALENT))
    texts = {}
    for file in tests:
        with open(os.path.join(root, file), encoding="utf-8") as source:
            texts[file] = source.read()
    mutants = {file: mutants_of(file, texts[file]) for file in tests}
    everything = [m for of_file in mutants.values() for m in of_file]
    if options.check:
        for file, line, change in (lost := stale(equivalent, everything)):
            print(f"{EQUIVALENT}: {file} has no such mutant any more: {line}: {change}")
        return 1 if lost else 0
    if options.only:
        chosen = [m for m in everything if m.id == options.only]
        if not chosen:
            parser.error(f"--only {options.only}: there is no such mutant")
        print(difference(chosen[0], texts[chosen[0].file]))
        drawn, wanted = {chosen[0].file: chosen}, {chosen[0].file: 1}
    else:
        drawn = {file: draw(mutants[file], options.seed) for file in choose_files(parser, options, tests)}
        wanted = share_out(options.count or PER_FILE * len(drawn), drawn)
        if options.all:
            wanted = {file: len(of_file) for file, of_file in drawn.items()}
    if options.list:
        for file, of_file in drawn.items():
            for m in of_file[: wanted[file]]:
                print(f"{m.id}  {file}:{m.line}: {m.change}")
        return 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run = Run(drawn, wanted, tests)
    try:
        play(root, run, min(options.jobs, sum(wanted.values())))
    except TrueSourceFails as error:
        print(f"mutate.py: {error}", file=sys.stderr)
        return 1
    return report(run, texts, equivalent, options.least)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
