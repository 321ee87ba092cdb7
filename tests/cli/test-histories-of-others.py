#!/usr/bin/env python3
# test: compute
# SPDX-License-Identifier: MIT
"""test-histories-of-others.py LOCKBENCH - `check` judges operations in EDN and CSV, and refuses each of a hundred broken files in one line. Speaks TAP.

The broken files are made here, out of a good one: every cut, lost bracket, wrong word and wrong order has its line.
Random bytes are put into the files of tests/data/corpus/operations, for plots/operations.py alone. A third argument is the seed of one such file.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests/helpers"), str(ROOT / "plots")]
import ending  # noqa: E402
import operations  # noqa: E402
import tap  # noqa: E402

CORPUS = sorted((ROOT / "tests/data/corpus/operations").iterdir())
PIECES = [piece.encode("latin-1") for piece in '{ } [ ] ( ) " ; # #_ #x \\ : , 0 1 - + nil :key :value :client acquire invoke ok refresh ##Inf 17N 1/2 1e5 \' \xc3\xa9 \xff \0'.split(" ")] + [b" ", b"\n"]
RANDOM_FILES = 4000
TURNS = 6  # grants in the good history


def op(kind, f, process, time, more=""):
    return f"{{:type :{kind}, :f :{f}, :process {process}, :time {time}, :index {time}{more}}}"


def good():
    """Three processes in turns: each asks while another one holds. Process 7 is never answered, 8 fails."""
    ops, time = [op("invoke", "acquire", 7, 1), op("invoke", "acquire", 8, 2), op("info", "acquire", 7, 3, ", :error :timeout"), op("fail", "acquire", 8, 4)], 5
    for turn in range(TURNS):
        p = turn % 3
        ops += [op("invoke", "acquire", p, time), op("ok", "acquire", p, time + 1, f", :value {{:fence {turn + 1}}}"), op("info", "kill", ":nemesis", time + 2, ', :value ["n1"]'),
                op("invoke", "release", p, time + 3), op("ok", "release", p, time + 4)]
        time += 5
    return ops


def check(lockbench, text, *options):
    return subprocess.run([lockbench, "check", "-", *options], input=text if isinstance(text, bytes) else text.encode(), capture_output=True, check=False)


def judged(lockbench, text, code, *words, options=()):
    """What is wrong with the judgement of a history, line by line."""
    done = check(lockbench, text, *options)
    said = done.stdout.decode() + done.stderr.decode()
    wrong = [] if done.returncode == code else [f"exit {done.returncode}, expected {code}"]
    wrong += [f"not said: {word}" for word in words if word not in said]
    return wrong + (said.splitlines()[:12] if wrong else [])


def says(*ops):
    """Of "0 lock 1.00 1.01 KEY": a process, what it does, when it begins and ends (in s, "-" = never, behind ! it fails), and :value of both ends."""
    lines = []
    for process, f, begin, end, first, last in ops:
        lines.append((begin, f"{{:type :invoke, :f :{f}, :process {process}, :time {int(begin * 1e9)}, {first}}}"))
        lines.append((abs(end), f"{{:type :{'fail' if end < 0 else 'ok'}, :f :{f}, :process {process}, :time {int(abs(end) * 1e9)}, {last}}}"))
    return "\n".join(line for _, line in sorted(lines, key=lambda at: at[0])) + "\n"


def leases(lockbench):
    """AtlasDB, pull request 1473: a lock that is refreshed after another grant."""
    names = ("--as", "lock=acquire,unlock=release")
    a, b = ':value ["a" 17]', ':value ["a" 18]'
    first, second = (0, "lock", 1, 1.01, ':value "a"', a), (1, "lock", 6, 6.01, ':value "a"', b)
    one, two = says(first, second, (1, "unlock", 7, 7.01, b, ":value true")), says(first, second, (0, "refresh", 6.5, 6.51, a, ":value true"))
    three = says(first, (1, "lock", 3, 8.51, ':value "a"', b), (0, "refresh", 5, 5.01, a, ":value true"))
    tap.check("a hold that ends with its lease", judged(lockbench, one, 0, "safe", options=("--lease", "3s", *names)) + judged(lockbench, one, 3, "violated", options=names))
    tap.check("a renewal after another's grant is a violation", judged(lockbench, two, 3, "violated: 1 double hold of 500.0 ms", options=("--lease", "3000ms", *names)))
    tap.check("one between two grants is none", judged(lockbench, three, 0, "safe", options=("--lease", "3s", *names)))
    late = says(first, second, (0, "extend", 5.9, 6.51, a, ":value true"))
    tap.check("one that overlaps another's grant is none", judged(lockbench, late, 0, "safe", options=("--lease", "3s", *names)))
    unsaid = judged(lockbench, late, 4, "nobody said how long they are: see --lease", options=names)
    tap.check("without a length, nothing is known of leases that were renewed", unsaid)
    failed = says(first, second, (0, "refresh", 6.5, -6.51, a, a))
    tap.check("a renewal that failed is none", judged(lockbench, failed, 0, "safe", options=("--lease", "3s", *names)))
    exported = check(lockbench, two, "--lease", "3s", "--export", "json", *names).stdout
    tap.check("what is exported as JSON is judged the same", judged(lockbench, exported, 3, "violated: 1 double hold of 500.0 ms"))
    own = judged(lockbench, exported, 2, "--as lock=acquire,unlock=release: ", "our own form", options=names)
    tap.check("names for a history of our own form are refused", own)
    tap.check("an unknown name is refused, and --as is named", judged(lockbench, one, 2, 'found unknown :f "lock"', "--as NAME=acquire"))
    wrong = judged(lockbench, one, 2, "--as lock=aquire: found 'lock=aquire'", "did you mean 'acquire'?", options=("--as", "lock=aquire"))
    tap.check("so are an unknown operation and a length without a unit", wrong + judged(lockbench, one, 2, "--lease 3: expected a time", options=("--lease", "3")))


def owners(lockbench):
    """Laravel, issue 60042: who puts a job into a queue takes its lock, the worker that runs it frees it."""
    def job(name):
        return f':client "job-{name}"'

    def acquired(process, at, name):
        return (process, "acquire", at, at + 0.1, job(name), job(name))

    def released(process, at, name, end=1):
        return (process, "release", at, end * (at + 0.1), job(name), job(name))
    forced = says(acquired(0, 1, "A"), released(8, 2, "A"), acquired(1, 3, "B"), released(8, 4, "A"), acquired(2, 5, "C"), released(9, 6, "B"), released(8, 7, "C"))
    tap.check("a worker frees the locks of two jobs", judged(lockbench, forced, 3, "violated: 1 double hold", "job-B", "job-C"))
    token = says(acquired(0, 1, "A"), released(8, 2, "A"), acquired(1, 3, "B"), released(8, 4, "A", -1), released(9, 6, "B"), acquired(2, 7, "C"), released(8, 8, "C"))
    tap.check("and each of them once", judged(lockbench, token, 0, "3 grants, 2 hand-offs"))
    unsaid = re.sub(", :client [^}]*", "", forced)
    tap.check("without their names, whose lock it was is asked for", judged(lockbench, unsaid, 2, ": found a release by process 8, which never asked for the lock", ":client in EDN"))
    half = token.replace(f":process 8, :time 2000000000, {job('A')}", ":process 8, :time 2000000000").replace(f":process 8, :time 2100000000, {job('A')}", ":process 8, :time 2100000000")
    tap.check("a worker for several names each", judged(lockbench, half, 2, ":3: found an operation without a client, of process 8 that works for several"))
    other = forced.replace(f":time 1100000000, {job('A')}", f":time 1100000000, {job('B')}")
    tap.check("both ends are for one client", judged(lockbench, other, 2, ':2: found another client than at the "invoke" of process 0 in line 1'))


def held(process, at, end, more=""):
    """A whole hold of a process."""
    return [op("invoke", "acquire", process, at), op("ok", "acquire", process, at + 1, more), op("invoke", "release", process, end), op("ok", "release", process, end + 1)]


def intake(lockbench):
    """What would be left out, or be taken for something else, is refused or undecided."""
    named = "time_ns,process,type,f\n10,0,invoke,acquire\n11,0,ok,acquire\n20,w2,invoke,acquire\n"
    tap.check("a lock taken by a name is refused in CSV", judged(lockbench, named, 2, ':4: found "acquire" of process "w2"'))
    tap.check("and in EDN", judged(lockbench, op("invoke", "acquire", ":w2", 1), 2, ':1: found "acquire" of process ":w2"'))
    clocks = [re.sub(r":index \d+", f":index {number}", text) for number, text in enumerate((op("invoke", "acquire", 0, 100), op("ok", "acquire", 0, 110), op("invoke", "acquire", 1, 5)), 1)]
    tap.check("times against the index are refused", judged(lockbench, "\n".join(clocks), 2, ":3: found index 3 with an earlier time than in line 2"))
    again = [op("invoke", "acquire", 0, 10), op("ok", "acquire", 0, 11), op("invoke", "refresh", 0, 20), op("fail", "refresh", 0, 21), op("invoke", "acquire", 1, 30), op("ok", "acquire", 1, 31)]
    tap.check("a renewal that failed says that there are leases", judged(lockbench, "\n".join(again), 4, "double holds       1", "--lease"))
    untimed = re.sub(r", :time \d+, :index \d+", "", "\n".join(held(0, 1, 2)))
    tap.check("--lease wants times", judged(lockbench, untimed, 2, ":1: found an operation without a time", options=("--lease", "3s")))
    texts = [op("invoke", "acquire", 0, 1, ', :value "a"'), op("ok", "acquire", 0, 2), op("invoke", "acquire", 1, 3, ', :value "b"'), op("ok", "acquire", 1, 4), op("invoke", "release", 0, 5)]
    tap.check("texts on some operations alone are no keys", judged(lockbench, "\n".join(texts), 2, ':5: found an "invoke" without a text in :value'))
    readers = held(0, 1, 20, ", :mode :shared") + held(1, 5, 24, ", :mode :shared") + held(2, 30, 32)
    tap.check("readers may hold together", judged(lockbench, "\n".join(sorted(readers, key=lambda text: int(re.search(r":time (\d+)", text)[1]))), 0, "double holds       0"))
    tap.check("a mode that is none is refused", judged(lockbench, op("invoke", "acquire", 0, 1, ", :mode :share"), 2, 'did you mean "shared"'))
    masked = held(0, 1, 6, ", :value {:fence 9}")
    masked[2:2] = [op("invoke", "refresh", 0, 3), op("ok", "refresh", 0, 4)]
    tap.check("no renewal excuses a token that went backwards", judged(lockbench, "\n".join(masked + held(1, 10, 12, ", :value {:fence 3}")), 3, "1 token regression"))
    before = [op("invoke", "acquire", 0, 10), op("ok", "acquire", 0, 11), op("invoke", "acquire", 1, 20), op("ok", "acquire", 1, 21), op("invoke", "release", 2, 30), op("ok", "release", 2, 31)]
    tap.check("nor does a later release of a stranger a double hold", judged(lockbench, "\n".join(before), 3, "violated: 1 double hold"))


def overlap(ops):
    """The second grant comes before the first release."""
    granted = next(i for i, line in enumerate(ops) if ":ok, :f :acquire, :process 0" in line)
    return ops[:granted + 1] + [op("invoke", "acquire", 1, 7), op("ok", "acquire", 1, 8, ", :value {:fence 9}"), op("invoke", "release", 0, 9)]


def broken():
    """Name and bytes of files that are no histories: the text, with one thing wrong."""
    ops, rng = good(), random.Random(7)
    text = "\n".join(ops) + "\n"
    for i in range(40):  # ends in the middle of an operation
        line = rng.randrange(len(ops))
        yield f"cut in line {line + 1}", "\n".join(ops[:line] + [ops[line][:rng.randrange(2, len(ops[line]) - 1)]])
    wrong_words = ((":type :ok", ":type :okay"), (":type :ok", ":type ok"), (":type :ok", ":type \"ok\""), (":f :acquire", ":f :aquire"), (":f :acquire", ":f nil"), (":process 0", ":process -1"),
                   (":process 0", ":process \"0\""), (":process 0", ":process 0.5"), (":process 0", ":process nil"), (":time 10", ":time -10"), (":time 10", ":time 1e1"), (":time 10", ":time 010"),
                   (":time 10", ":time 99999999999999999999"), (":time 10", ":time nil"), (":time 10", ":tim 10"), (":index 10", ":index 9"), (":index 10", ":index ten"), (":fence 3", ":fence \"3\""),
                   (":fence 3", ":fence 3x"), (":value {", ":value {:x "), (":value {", ":value ("), (":value [", ":value {"), ("\"n1\"", "\"n1"), ("\"n1\"", "\"n\\q\""), ("\"n1\"", "'n1"), ("\"n1\"", "@n1"),
                   ("\"n1\"", "\x01"), ("\"n1\"", "#"), ("\"n1\"", "#'n"), ("\"n1\"", "\\"), (":f :release", ":f :release :f :release"), (":type :ok, :f :acquire", ":type :ok, :f :release"),
                   (":type :invoke, :f :release", ":type :invoke, :f :acquire"), (":type :ok, :f :release", ":type :invoke, :f :release"), (":type :invoke", ":type :ok"), ("}}", "}"), ("}}", "}}}"), ("}}", "}]"),
                   (":f :release", ":f :read"), (":type :invoke, :f :release", ":key :a, :type :invoke, :f :release"), (":f :acquire, ", ""), (":type :invoke, ", ""), ("\n", "\nx\n"), ("\n", "\n42\n"))
    for old, new in wrong_words:
        assert old in text, old
        yield f"{old!r} is {new!r}", text.replace(old, new, 1)
    yield "no UTF-8", text.encode().replace(b'"n1"', b'"\xff"', 1)
    yield "zero byte", text.encode().replace(b'"n1"', b'"\0"', 1)
    yield "vector without end", "[" + text
    yield "vector with another end", "[" + text + ")"
    yield "more after the vector", "[" + text + "] " + ops[0]
    yield "end without begin", text + "]"
    yield "too deep", text.replace('["n1"]', "[" * 80 + "]" * 80, 1)
    yield "only a comment", "; nothing\n"
    yield "maps of a register", text.replace(":f :acquire", ":f :cas").replace(":f :release", ":f :read")
    rows = csv_of(ops)
    for old, new in (("process,", "proces,"), ("process,", ""), ("fence", "type"), ("invoke", "call"), ("acquire", "lock"), (",0,", ",,"), ("\n5,", "\n-5,"), ("\n5,", "\n5,5,"), ("\n5,", "\n\"5,"), ("\n5,", "\n\n5,")):
        assert old in rows, old
        yield f"CSV: {old!r} is {new!r}", rows.replace(old, new, 1)


def csv_of(ops):
    rows = ["time_ns,process,type,f,fence"]
    for line in ops:
        kind, f, process, time = re.match(r"\{:type :(\w+), :f :(\w+), :process :?(\w+), :time (\d+)", line).groups()
        fence = re.search(r":fence (\d+)", line)
        rows.append(f"{time},{process},{kind},{f},{fence[1] if fence else ''}")
    return "\n".join(rows) + "\n"


def wrong_refusals(lockbench, folder):
    count = 0
    for name, text in broken():
        file = folder / "broken"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run([lockbench, "check", str(file)], capture_output=True, check=False)
        said = done.stderr.decode("ascii", "replace")
        count += 1
        if done.returncode != 2 or done.stdout or not re.fullmatch(rf"lockbench: {re.escape(str(file))}:\d+: \S[ -~]*\n", said):
            yield f"{name}: exit {done.returncode}, {said!r}"
    if count < 100:
        yield f"only {count} broken files"


def damaged(seed):
    rng = random.Random(seed)
    data = bytearray(rng.choice(CORPUS).read_bytes() if seed % 2 else rng.choice(("\n", " ")).join(good()).encode())
    for _ in range(rng.randrange(1, 4)):
        begin = rng.randrange(len(data) + 1)
        data[begin:begin + rng.choice((0, 0, 1, 5))] = rng.choice(PIECES)
    return bytes(data)


def events_of(data):
    """The events of a file, or None if it is refused in one line with its place. AssertionError."""
    try:
        lines = list(operations.lines("FILE", data, {}))
    except ending.BadInput as refused:
        assert re.match(r"FILE:[1-9][0-9]*: \S", str(refused)), refused
        assert int(str(refused).split(":")[1]) <= data.count(b"\n") + 1, refused
        return None
    assert json.loads(lines[0]) == {"format": 2}
    return [json.loads(line) for line in lines[1:]]


def random_files(lockbench, seeds):
    """What is wrong with how damaged files are read: anything but events of its lines, which the reader of JSON takes, or one complaint."""
    asked = read = 0
    for seed in seeds:
        data = damaged(seed)
        try:
            events = events_of(data)
            assert events is None or all(1 <= event["s"] <= data.count(b"\n") + 1 for event in events)
        except Exception as error:  # pylint: disable=broad-except
            yield f"seed {seed}: {type(error).__name__}: {error}: {data!r}"
            continue
        read += bool(events)
        if events and asked < 40:
            asked += 1
            done = check(lockbench, "\n".join(['{"format":2}', *map(json.dumps, events)]), "--export", "json")
            if done.returncode:
                yield f"seed {seed}: {done.stderr.decode()}"
    if len(seeds) > 1 and not len(seeds) // 50 < read < len(seeds) * 49 // 50:
        yield f"{read} of {len(seeds)} files were read"


def corpus(lockbench):
    """Each file is judged or refused; what is accepted keeps its judgement as JSON lines."""
    for path in CORPUS:
        done, exported = check(lockbench, path.read_bytes()), check(lockbench, path.read_bytes(), "--export", "json")
        if done.returncode == 2:
            if not re.fullmatch(r"lockbench: standard input:\d+: \S[ -~]*\n", done.stderr.decode("ascii", "replace")):
                yield f"{path.name}: {done.stderr!r}"
        elif done.returncode not in (0, 3, 4) or exported.returncode:
            yield f"{path.name}: exit {done.returncode}, exported: {exported.returncode} {done.stderr!r}"
    if len(CORPUS) < 20:
        yield f"only {len(CORPUS)} files"


def main():
    lockbench, ops = sys.argv[1], good()
    text = "\n".join(ops)
    tap.check("a clean history passes", judged(lockbench, text, 0, "safe: 0 violations in 6 grants, 5 hand-offs", "unknown acquires   1"))
    tap.check("so it does as one vector, with tags and comments", judged(lockbench, "; a history\n[" + text.replace("{:type", "#jepsen.history.Op{:type") + "]", 0, "6 grants, 5 hand-offs"))
    tap.check("and in CSV", judged(lockbench, csv_of(ops), 0, "6 grants, 5 hand-offs"))
    twice = ("violated: 1 double hold", "process 0 granted fence 1  (line 6, at 6 ns)", "process 1 granted fence 9  (line 8, at 8 ns)")
    tap.check("a double grant is refused, and both operations are named", judged(lockbench, "\n".join(overlap(ops)), 3, *twice))
    tap.check("in CSV, too", judged(lockbench, csv_of(overlap(ops)), 3, "process 0 granted fence 1  (line 7, at 6 ns)", "process 1 granted fence 9  (line 9, at 8 ns)"))
    tap.check("without times, the order of the file counts", judged(lockbench, re.sub(r", :time \d+, :index \d+", "", "\n".join(overlap(ops))), 3, "violated: 1 double hold", "(line 8, at 7 ns)"))
    open_end = [op("invoke", "acquire", 0, 1), op("info", "acquire", 0, 2), op("invoke", "acquire", 1, 3), op("ok", "acquire", 1, 4)]
    tap.check("an acquire without an answer is no hold", judged(lockbench, "\n".join(open_end), 4, "unknown acquires   1", "double holds       0"))
    failed = [op("invoke", "acquire", 0, 1), op("ok", "acquire", 0, 2), op("invoke", "release", 0, 3), op("invoke", "acquire", 1, 4), op("ok", "acquire", 1, 5), op("fail", "release", 0, 6)]
    tap.check("a release ends the hold when it is invoked, even if it fails", judged(lockbench, "\n".join(failed), 0, "double holds       0"))
    older = [op("invoke", "acquire", 0, 1), op("ok", "acquire", 0, 2, ", :value {:fence 5}"), op("invoke", "release", 0, 3), op("invoke", "acquire", 1, 4), op("ok", "acquire", 1, 5, ", :value {:fence 5}")]
    tap.check("a fence that does not grow is refused", judged(lockbench, "\n".join(older), 3, "1 token regression"))
    again = [op("invoke", "acquire", 0, 1), op("ok", "acquire", 0, 2, ', :value {:client "a"}'), op("invoke", "acquire", 0, 3), op("info", "acquire", 0, 4),
             op("invoke", "acquire", 5, 5), op("ok", "acquire", 5, 6, ', :value {:client "a"}')]
    tap.check("a client that goes on as another process is the same client", judged(lockbench, "\n".join(again), 4, "double holds       0"))
    keys = [op("invoke", "acquire", 0, 1, ", :value [:a nil]"), op("ok", "acquire", 0, 2, ", :value [:a nil]"), op("invoke", "acquire", 1, 3, ", :value [:b nil]"), op("ok", "acquire", 1, 4, ", :value [:b nil]")]
    tap.check("a tuple names the key", judged(lockbench, "\n".join(keys), 4, "double holds       0"))
    leases(lockbench)
    owners(lockbench)
    intake(lockbench)
    seeds = [int(sys.argv[3])] if len(sys.argv) > 3 else range(RANDOM_FILES)
    tap.check("each file of the corpus is judged, or refused with its place", list(corpus(lockbench)))
    tap.check("random bytes in them give events, or one line with its place", list(random_files(lockbench, seeds))[:5])
    exported = check(lockbench, text, "--export", "json").stdout
    tap.check("what is exported as JSON is judged the same", judged(lockbench, exported, 0, "safe: 0 violations in 6 grants, 5 hand-offs"))
    with tempfile.TemporaryDirectory() as folder:
        tap.check("each broken file gives one line with its place, and exit 2", list(wrong_refusals(lockbench, pathlib.Path(folder))))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
