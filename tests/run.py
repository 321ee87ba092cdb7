#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py HOME [ARG...] - builds and runs the tests for `./bench test`, in the build folders below HOME: all of them, or
with gcc those that `meson test ARG...` selects. With --all also the suite `all`, and then those of whole machines (MACHINES), which take long.

All of them run in two lanes at once. In front: tests that ask servers, wait or look at a clock. Behind, at idle class:
builds with sanitizers, and tests that only compute (suite `compute`). The lane in front mostly waits, and an idle
process takes nothing from it; the one behind has no deadline to miss. The lane in front starts as soon as its own tests
are compiled, and a tree with a sanitizer has only the tests that run there.

Last line: N passed, N failed[, N skipped][, N unsteady]. Exit: 0; 1 a test failed, or a build; 2 ARG selects nothing.
$MESON and $NINJA say which ones are taken.
"""
import csv
import fcntl
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(ROOT, "plots"))
import ending  # noqa: E402

MESON = os.environ.get("MESON") or "meson"
UNSTEADY_AT_MOST = 3, 1 / 8  # tests of one run, or that share of them: where it is more, the machine or the change is bad
# Of the lane in front, two more than there are cores: a conformance suite has a core for a tenth of its time, a live test for a third, and waits for the rest.
SIDE_BY_SIDE = str((os.cpu_count() or 1) + 2)
# What no second run takes back.
PROOF = re.compile(r"Sanitizer: |: runtime error: |^==[0-9]+==|\bdied of SIG(?!KILL|TERM)", re.M)


# A statement that failed, with what it says of that.
DETAILS = re.compile(r"^not ok\b(?![^\n]*#\s*(?:SKIP|TODO))[^\n]*\n(?:#[^\n]*\n){1,12}", re.M | re.I)
RUNS_AGAIN = 2  # at most, of what failed


class Part:
    """Tests of one tree that run together."""

    left_out = ("all",)

    def __init__(self, label, tree, only=(), without=(), setup=None):
        self.label, self.tree, self.only, self.without, self.setup = label, tree, only, without, setup

    def has(self, suites):
        return (not self.only or bool(suites & set(self.only))) and not suites & {*self.without, *self.left_out}

    def arguments(self):
        words = ["--setup", self.setup] if self.setup else []
        words += [word for suite in self.only for word in ("--suite", suite)]
        return words + [word for suite in (*self.without, *self.left_out) for word in ("--no-suite", suite)]

    def log(self):
        """Each has a log of its own, which stays: meson-logs/NAME.json has what each test took."""
        return "bench-" + re.sub(r"\W+", "-", self.label)


# Each test goes where a tool looks at it, and not once more without: `addresses` under the sanitizer of addresses, `memory` under valgrind. The suite `all` takes
# part with --all only.
FRONT = [
    Part("gcc", "build", without=("compute", "addresses", "memory")),
    Part("valgrind, memory", "build", only=("memory",), without=("compute",), setup="valgrind"),
    Part("address+undefined, unit addresses", "build-asan", only=("unit", "addresses"), without=("compute",)),
    Part("thread, threads", "build-tsan", only=("threads",)),
]
# None for the sanitizer of threads: a program that has threads waits for them, so it is not of the suite `compute`.
BEHIND = [
    Part("gcc: computes", "build", only=("compute",), without=("memory",)),
    Part("valgrind: computes", "build", only=("compute",), without=("style", "cli", "python", "fuzz", "table"), setup="valgrind"),
    Part("address+undefined: computes", "build-asan", only=("compute",), without=("style", "cli", "python")),
]


class Count:
    """What one test of meson's log counts for. A TAP program counts statement by statement, any other test as one; a
    program that fails without naming a statement (a crash, a leak at its end) is one failure more. cmocka reports what
    it skips as "not ok # SKIP"."""

    def __init__(self, test):
        name, result, out = test["name"], test["result"], test.get("stdout") or ""
        self.seconds = test.get("duration", 0.0)
        points = re.findall(r"^(ok|not ok)\b([^\n]*)", out, re.M) if re.search(r"^1\.\.[0-9]", out, re.M) else []
        bad = [text for status, text in points if status == "not ok" and not re.search(r"#\s*(SKIP|TODO)", text, re.I)]
        self.skipped = sum(1 for _, text in points if re.search(r"#\s*SKIP", text, re.I))
        self.passed = len(points) - len(bad) - self.skipped
        self.failures = [f"{name}:{text}" for text in bad]
        self.details = DETAILS.findall(out)
        if result not in ("OK", "SKIP", "EXPECTEDFAIL"):
            self.failures += [] if bad else [f"{name} ({result})"]
        elif not points:
            self.passed += int(result != "SKIP")
            self.skipped += int(result == "SKIP")
        self.full_name = name
        group, slash, self.name = name.partition(" / ")
        suites = set(group.partition(":")[2].split("+"))
        crashed = test["returncode"] < 0 and result != "TIMEOUT" or PROOF.search(out + (test.get("stderr") or ""))
        self.may_again = bool(self.failures and slash and not crashed and not suites & {"compute", "style", "python"})


class Outcome:
    """Of one part: what each test counts for, and what failed beside them."""

    def __init__(self, label, failure=None):
        self.label, self.counts, self.seconds = label, [], None
        self.others = [failure] if failure else []
        self.unsteady = []  # of each such test, what failed

    def again(self):
        return [count.name for count in self.counts if count.may_again]

    def take(self, again):
        """What ran again counts instead; what passed then is unsteady."""
        last = {count.full_name: count for count in again.counts}
        now = [last.get(count.full_name, count) for count in self.counts]
        pairs = zip(self.counts, now)
        self.unsteady += [first.failures for first, then in pairs if first.failures and not then.failures]
        self.counts = now
        self.seconds += again.seconds

    def failures(self):
        return [text for count in self.counts for text in count.failures] + self.others

    def sums(self):
        passed, skipped = sum(count.passed for count in self.counts), sum(count.skipped for count in self.counts)
        return passed, len(self.failures()), skipped, len(self.unsteady)

    def lines(self):
        took = "-" if self.seconds is None else f"{self.seconds:.0f} s"
        yield "%-36s %5d passed, %d failed, %d skipped, %s" % (self.label, *self.sums()[:3], took)
        yield from (f"failed in {self.label}: {text}" for text in self.failures())
        for text in (text for texts in self.unsteady for text in texts):
            yield f"unsteady in {self.label}: {text} (failed beside others, passed alone)"


def say(text):
    print(text, flush=True)  # before what a child writes to the same place


def call(words, **how):
    """Its exit code. It is ended in its own way when we are."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, **how) as child:
        try:
            return child.wait()
        except BaseException:
            child.terminate()
            raise


class Trees:
    """The build folders."""

    def __init__(self, home):
        self.home = home

    def path(self, tree):
        return os.path.join(self.home, tree)

    def build(self, tree, targets=(), **how):
        return call([os.path.join(ROOT, "setup", "build"), self.path(tree), *targets], **how) == 0

    def needed(self, tree, parts):
        """The targets of a tree without those that only other tests than these need, as the first tree says. A test may
        start a program that it does not name, so everything else is needed. Nothing, which is all of them, if that tree
        could not be configured."""
        def read(name):
            with open(os.path.join(self.path("build"), "meson-info", name), encoding="utf-8") as file:
                return json.load(file)
        try:
            targets, tests = read("intro-targets.json"), read("intro-tests.json")
        except OSError:
            return []
        used, unused = set(), set()
        for test in tests:
            suites = {suite.partition(":")[2] for suite in test["suite"]}
            (used if any(part.has(suites) for part in parts) else unused).update(test["depends"])
        wanted = [target for target in targets if target["build_by_default"] and target["id"] not in unused - used]
        files = (os.path.relpath(file, self.path("build")) for target in wanted for file in target["filename"])
        # What is for installing is not made in a tree with a sanitizer; of the other one a package is made.
        return ["program"] + sorted(file for file in files if tree == "build" or not file.startswith("install" + os.sep))

    def build_for(self, tree, lane=FRONT + BEHIND, **how):
        return self.build(tree, self.needed(tree, [part for part in lane if part.tree == tree]), **how)

    def prefix(self, tree):
        """Before `meson test`. The sanitizers' shadow memory can collide with addresses of a kernel that randomises
        more bits than they were made for; where the kernel allows it, their tests run without randomisation."""
        if tree == "build":
            return []
        options = {
            "ASAN_OPTIONS": "halt_on_error=1:detect_leaks=1",
            "LSAN_OPTIONS": f'suppressions="{ROOT}/tests/lsan.supp":print_suppressions=0',
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
        }
        words = ["env"] + [f"{name}={os.environ.get(name, value)}" for name, value in options.items()]
        try:
            fixed = call(["setarch", "-R", "true"], stderr=subprocess.DEVNULL) == 0
        except OSError:
            fixed = False
        return words + (["setarch", "-R"] if fixed else [])

    def meson_test(self, tree, *words, **how):
        return call([*self.prefix(tree), MESON, "test", "-C", self.path(tree), "--no-rebuild", *words], **how)

    def test(self, label, tree, log, words):
        """Runs them, with a log of its own name, so that only what ran now is counted."""
        say(f"== {label}")
        base, started = os.path.join(self.path(tree), "meson-logs", log), time.monotonic()
        logs = (base + ".json", base + "-valgrind.json")  # meson puts the name of its set-up behind ours
        for path in filter(os.path.exists, logs):
            os.unlink(path)
        code = self.meson_test(tree, "--print-errorlogs", "--logbase", log, *words)
        outcome = Outcome(label)
        for path in filter(os.path.exists, logs):
            with open(path, encoding="utf-8", errors="replace") as file:
                outcome.counts = [Count(test) for test in map(json.loads, file)]
        if code != 0 and not outcome.failures():
            outcome.others.append("meson test itself")
        outcome.seconds = time.monotonic() - started
        return outcome

    def has_test(self, words):
        return self.meson_test("build", "--list", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0

    def suites(self):
        words = [MESON, "test", "-C", self.path("build"), "--no-rebuild", "--list"]
        listed = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
        groups = re.findall(r"^[^ :]*:([^ /]*) / ", listed, re.M)
        return sorted({suite for group in groups for suite in group.split("+")})


# ---- the lane behind -----------------------------------------------------------------------------------------------


def go_idle():
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        os.nice(19)


def raise_all(process):
    """Nobody waits in front any more: it and all below it may take their share, where we have the right to say so."""
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                children = file.read().split()
            try:
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))
            except OSError:
                pass
            for child in children:
                raise_all(child)
    except OSError:
        pass  # it has ended


def run_behind(trees, gcc_built):
    """The trees of the sanitizers first: the lane in front waits for them. What fails to build there is built again in
    front, which says why."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    built = {tree: trees.build_for(tree, **quiet) for tree in ("build-asan", "build-tsan")}
    built["build"] = gcc_built and trees.build("build")
    for part in BEHIND:
        if built[part.tree]:
            # A machine that is busy for minutes makes nothing here fail: ten times the time.
            yield trees.test(part.label, part.tree, part.log(), part.arguments() + ["-t", "10"])
        elif gcc_built and part is BEHIND[0]:
            yield Outcome(part.label, "the build")


class LaneBehind:
    """A process group of its own, which ends with us. behind.counts has its outcomes, behind.log what it says."""

    def __init__(self, trees, gcc_built):
        self.base = trees.path("build/behind")
        os.makedirs(trees.path("build"), exist_ok=True)
        sys.stdout.flush()
        with open(self.base + ".log", "w", encoding="utf-8") as log, open(self.base + ".counts", "wb") as counts:
            self.process = os.fork()
            if self.process == 0:
                os.setpgid(0, 0)
                self._run(trees, gcc_built, log, counts)
        try:
            os.setpgid(self.process, self.process)  # both do, for either may be first
        except OSError:
            pass

    @staticmethod
    def _run(trees, gcc_built, log, counts):
        """In the new process, which never returns."""
        try:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            go_idle()
            pickle.dump(list(run_behind(trees, gcc_built)), counts)
            counts.flush()
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(0)  # what it counted says how it went

    def end(self):
        if self.process:
            os.killpg(self.process, signal.SIGTERM)

    def join(self):
        raise_all(self.process)
        os.waitpid(self.process, 0)
        self.process = 0
        with open(self.base + ".log", encoding="utf-8", errors="replace") as log:
            print(log.read(), end="", flush=True)
        try:
            with open(self.base + ".counts", "rb") as counts:
                return pickle.load(counts)
        except EOFError:
            return [Outcome("what computes", "it was ended")]


# ---- all of them, or some ------------------------------------------------------------------------------------------


def run_front(trees, gcc_built):
    for part in FRONT:
        if gcc_built if part.tree == "build" else trees.build_for(part.tree):
            yield trees.test(part.label, part.tree, part.log(), part.arguments() + ["--num-processes", SIDE_BY_SIDE])
        elif not part.setup:
            yield Outcome(part.label.partition(",")[0], "the build")
        else:
            yield None


def run_again(trees, outcomes):
    """What failed in front is run again alone, at most twice: nothing beside it, and the lane behind has ended. Passes it
    then, it is unsteady: a bug of the test, or of what it asks, and named as such. What it said first is shown."""
    least, share = UNSTEADY_AT_MOST
    if sum(len(outcome.again()) for _, outcome in outcomes) > max(least, share * sum(len(outcome.counts) for _, outcome in outcomes)):
        return
    for part, outcome in outcomes * RUNS_AGAIN:
        names = [":" + name for name in outcome.again()]  # ":NAME" is a name, whatever stands in it
        if names:
            show_details(outcome)
            words = part.arguments() + ["--num-processes", "1", *names]
            outcome.take(trees.test(part.label + ": once more, alone", part.tree, part.log() + "-again", words))


def show_details(outcome):
    for count in outcome.counts:
        for text in count.details:
            print(f"== {count.full_name} said:\n{text}", end="", flush=True)


def test_all(trees):
    """The first tree without what only computes, which the lane behind adds."""
    gcc_built = trees.build("build", ["program"]) and trees.build_for("build", FRONT)
    behind = LaneBehind(trees, gcc_built)
    try:
        front = [(part, outcome) for part, outcome in zip(FRONT, run_front(trees, gcc_built)) if outcome]
        computed = behind.join()
        run_again(trees, front)
    finally:
        behind.end()
    return [outcome for _, outcome in front] + computed


# They need root and a Debian archive, and skip themselves without (77).
MACHINES = ["clean-machine.sh", "image.sh"]


def test_machine(script):
    begin = time.monotonic()
    done = subprocess.run([os.path.join(ROOT, "tests", script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    outcome = Outcome(script)
    result = {0: "OK", 77: "SKIP"}.get(done.returncode, "FAIL")
    outcome.counts = [Count({"name": script, "result": result, "stdout": done.stdout, "returncode": done.returncode})]
    outcome.seconds = time.monotonic() - begin
    return outcome


# Options of meson test with a word behind them.
VALUED = {"--no-suite", "--setup", "--repeat", "--maxfail", "--wrap", "--wrapper", "--test-args", "--logbase",
          "--gdb-path", "-C", "-j", "-t", "--num-processes", "--timeout-multiplier"}


def unmatched(trees, words):
    """What was asked for, but meson passes over in silence: a name, a suite, or else all of the words together."""
    parts, rest = [], iter(words)
    for word in rest:
        if word.startswith("--suite="):
            parts.append(["--suite", word.partition("=")[2]])
        elif word == "--suite":
            parts.append([word, next(rest, "")])
        elif word in VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            parts.append([word])
    return next((" ".join(part) for part in parts + [words] if not trees.has_test(part)), None)


def test_some(trees, words):
    if not trees.build("build"):
        return [Outcome("gcc", "the build")]
    wrong = unmatched(trees, words)
    if wrong is not None:
        raise ending.BadInput(f"bench: no test matches '{wrong}'; the suites are: {' '.join(trees.suites())}")
    return [trees.test("gcc", "build", "bench-tests", words)]


def hold_lock(path, called):
    """Held as long as the file is open; no child has it, so nothing that a test leaves behind keeps it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = open(path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"bench: waiting for another {called} here ...", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def write_times(trees, outcomes):
    """The longest first."""
    rows = sorted((-count.seconds, outcome.label, count.full_name) for outcome in outcomes for count in outcome.counts)
    path = os.path.join(trees.path("build"), "test-times.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("seconds", "part", "test"), *((f"{-seconds:.1f}", label, name) for seconds, label, name in rows)])
    return path


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    home, words = sys.argv[1], sys.argv[2:]
    if words == ["--all"]:
        Part.left_out = ()
    called = os.environ.pop("LOCKBENCH_CALLED_AS", "./bench")  # what tests expect does not depend on it
    trees = Trees(home)
    with hold_lock(os.path.join(home, "build", ".bench-test-lock"), called):
        whole = words in ([], ["--all"])
        outcomes = test_all(trees) if whole else test_some(trees, words)
        outcomes += [test_machine(script) for script in MACHINES] if words == ["--all"] else []
    passed, failed, skipped, unsteady = (sum(column) for column in zip(*(outcome.sums() for outcome in outcomes)))
    more = (f", {skipped} skipped" if skipped else "") + (f", {unsteady} unsteady" if unsteady else "")
    for outcome in outcomes:
        show_details(outcome)
    lines = [line for outcome in outcomes for line in outcome.lines()]
    if words in ([], ["--all"]):
        lines.append("what each test took: " + write_times(trees, outcomes))
    print("", *lines, "", f"{passed} passed, {failed} failed{more}", sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(ending.of(main))
