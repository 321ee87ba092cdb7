# SPDX-License-Identifier: MIT
"""operations.py - turns operations as other tools record them, in Jepsen's EDN or in CSV, into JSON lines (results/SCHEMA.md).

    operations.py NAME [NAME=acquire,... [timed]] <FILE >LINES     NAME stands for the file in messages; timed: it has to have times

`lockbench check` and `explain` call it. A process invokes an operation, and it ends as ok, fail or info. Each hold is a sure one:
from the :ok of an acquire to the :invoke of its release. What is not certain never makes a hold: an acquire without an answer
is `unknown`. docs/histories-of-others.md says what that leaves unjudged.
"""

import json
import re
import sys

import edn
import ending

TYPES = ("invoke", "ok", "fail", "info")
FS = ("acquire", "release", "refresh", "extend")
NAME_CHARACTERS = 200
# One that failed changed nothing: the lease ends as it would have.
_RENEWAL = ("renew", "renewed", 'not-renewed","check":"error', 'not-renewed","check":"no-answer')
# A release that failed or has no answer had ended the hold when it was invoked.
KINDS = {"acquire": ("acquire", "granted", "timeout", "unknown"), "release": ("release", "released", None, None), "refresh": _RENEWAL, "extend": _RENEWAL}
KIND_OF = {(f, kind): event for f, events in KINDS.items() for kind, event in zip(TYPES, events)}


class Op:
    """An operation, or what no client does, as Jepsen's nemesis: then `says` is its text, and only `time` counts beside it."""

    __slots__ = ("line", "time", "index", "type", "f", "process", "owner", "key", "named", "fence", "shared", "says", "begun")

    def __init__(self, line):
        self.line, self.shared = line, False
        self.time = self.index = self.process = self.owner = self.key = self.named = self.fence = self.says = None


class Process:
    """`owner`: the first client that it named, who is meant where it names none, unless it works for several."""

    __slots__ = ("asks", "op", "owner", "several")

    def __init__(self):
        self.asks, self.op, self.owner, self.several = False, None, None, False


class Operations:
    """What can follow what, and the events of it."""

    def __init__(self, name, names):
        self.name, self.names, self.ops, self.processes, self.index = name, names, [], {}, -1

    def refuse(self, line, what):
        return ending.BadInput(f"{self.name}:{line}: {what}")

    def word(self, line, what, word, words):
        if word in words:
            return word
        near = ending.near(word, words)
        raise self.refuse(line, f'found {what} "{word[:40]}"' + (f' (did you mean "{near}"?)' if near else "") + f", expected one of: {' '.join(words)}"
                          + (", or --as NAME=acquire" if words is FS else ""))

    def f(self, line, what, word):
        return self.names.get(word) or self.word(line, what, word, FS)

    def no_lock(self, line, process, f):
        """Who is no client takes no lock: a hold that is left out would make the history safe."""
        if f in FS or f in self.names:
            raise self.refuse(line, f'found "{f}" of process "{process[:40]}", expected a number: a name is no client')

    def mode(self, line, text):
        """Whether it is a reader's."""
        return text not in ("", "nil") and self.word(line, "unknown mode", text, ("exclusive", "shared")) == "shared"

    def add(self, op):
        """Key and client may be left out at one end: what one end says holds for the other one."""
        if self.ops and (op.time is None) != (self.ops[0].time is None):
            raise self.refuse(op.line, f"found an operation {'without' if op.time is None else 'with'} a time, expected one on all operations or on none")
        if op.index is not None:
            if op.index <= self.index:
                raise self.refuse(op.line, f"found index {op.index} after {self.index}, expected operations in the order of their index")
            self.index = op.index
            last = self.ops[-1] if self.ops else op
            if op.time is not None and op.time < last.time:
                raise self.refuse(op.line, f"found index {op.index} with an earlier time than in line {last.line}, expected times in the order of the index: clocks differ")
        self.ops.append(op)
        if op.says is not None:
            return
        p = self.processes.get(op.process) or self.processes.setdefault(op.process, Process())
        begin = self.check(p, op)
        if op.key is not None:
            begin.key = op.key
        begin.shared |= op.shared
        if op.owner is not None:
            begin.owner = op.owner
            p.owner = p.owner or op.owner
            p.several |= op.owner != p.owner
        op.begun, p.op, p.asks = begin, op, op.type == "invoke"

    def check(self, p, op):
        """The invoke of an operation that may follow what its process did. BadInput."""
        last = p.op
        if last and op.time is not None and op.time < last.time:
            raise self.refuse(op.line, f"found an earlier time than in line {last.line} of the same process, {op.process}, expected a later one")
        if op.type == "invoke":
            if p.asks:
                raise self.refuse(op.line, f'found a second "invoke" of process {op.process}, expected the end of that of line {last.line} first')
            return op
        if not p.asks:
            raise self.refuse(op.line, f'found "{op.type}" of process {op.process}, expected "invoke" before it')
        if op.f != last.f:
            raise self.refuse(op.line, f'found the end of "{op.f}" of process {op.process}, expected that of "{last.f}" of line {last.line}')
        for what, one, other in (("key", op.key, last.key), ("client", op.owner, last.owner)):
            if one is not None and other is not None and one != other:
                raise self.refuse(op.line, f'found another {what} than at the "invoke" of process {op.process} in line {last.line}, expected the same')
        return last

    def keyed(self):
        """Keys count if some operation has one, or if all of them name one. BadInput: an acquire with a key and a release without would
        make a hold without end, and so would one for a client that is not named."""
        invokes = [op for op in self.ops if op.says is None and op.type == "invoke"]
        keyed = bool(invokes) and (any(op.key is not None for op in invokes) or all(op.named is not None for op in invokes))
        several = len({op.named for op in invokes} - {None}) > 1
        for op in invokes:
            if keyed and op.key is None:
                op.key = op.named
            if keyed and op.key is None:
                raise self.refuse(op.line, 'found an "invoke" without a key, expected one on each or on none')
            if not keyed and several and op.named is None:
                raise self.refuse(op.line, 'found an "invoke" without a text in :value, where others have several, expected one on each or on none')
            if op.owner is None and self.processes[op.process].several:
                raise self.refuse(op.line, f"found an operation without a client, of process {op.process} that works for several, expected one on each of its own")
        return keyed

    def events(self):
        """The lines. Only when all were read is it known who the client of a process is, and on which key it had asked."""
        keyed, quoted = self.keyed(), {}
        yield '{"format":2}\n'
        for number, op in enumerate(self.ops):
            when = f'{{"t":{number if op.time is None else op.time},"s":{op.line}'
            if op.says is not None:
                yield f'{when},"e":"note","what":{json.dumps(op.says)}}}\n'
                continue
            event = KIND_OF[op.f, op.type]
            if not event:
                continue
            client, key = op.begun.owner or self.processes[op.process].owner or f"process {op.process[:60]}", op.begun.key if keyed else "lock"
            for name in (client, key):
                if name not in quoted:
                    quoted[name] = json.dumps(name)
            fence = f',"fence":{op.fence}' if event == "granted" and op.fence is not None and op.fence > 0 else ""
            shared = ',"shared":true' if event in ("acquire", "granted") and op.begun.shared else ""
            yield f'{when},"c":{quoted[client]},"k":{quoted[key]},"e":"{event}"{fence}{shared}}}\n'


# ---- EDN ----------------------------------------------------------------------------------------------------------------

MEMBERS = {f":{name}": name for name in ("type", "f", "process", "time", "index", "key", "value", "fence", "client", "mode")}


class Edn:
    """The operations of one file. nil is as good as nothing."""

    def __init__(self, ops):
        self.ops = ops

    def members(self, line, form):
        """What a map has that says something of a lock."""
        found = {}
        for key, value in zip(form[::2], form[1::2]):
            if key in MEMBERS:
                if key in found:
                    raise self.ops.refuse(line, f"found {key} twice, expected each key once")
                found[key] = value
        return found

    def word(self, line, member, found):
        form = found.get(member)
        if form is None:
            raise self.ops.refuse(line, f"found no {member}, expected one in an operation")
        if form[:1] != ":":
            raise self.ops.refuse(line, f"found {edn.kind(form)} in {member}, expected a keyword")
        return form[1:]

    def integer(self, line, member, found, least=0):
        form = found.get(member, "nil")
        if form == "nil":
            return None
        if not isinstance(form, edn.Form) and form.isdecimal() and len(form) < 19:
            return int(form)
        whole = not isinstance(form, edn.Form) and edn.INTEGER.fullmatch(form)
        number = int(form.rstrip("N")) if whole and len(form) < 63 else None
        if number is not None and abs(number) >= 1 << 63:
            raise self.ops.refuse(line, f"found {form[:40]} in {member}, expected at most 2^63 - 1")
        if number is None or (least is not None and number < least):
            raise self.ops.refuse(line, f"found {'a negative number' if whole else edn.kind(form)} in {member}, expected an integer{' from 0' if least == 0 else ''}")
        return number

    def name(self, line, what, form):
        if form is None or form == "nil":
            return None
        text = edn.content(form)
        if isinstance(form, edn.Form) or not text:
            raise self.ops.refuse(line, f"found {edn.kind(form) if text else 'nothing'} in {what}, expected a name")
        if len(text) >= NAME_CHARACTERS:
            raise self.ops.refuse(line, f"found {len(text)} characters in {what}, expected a name of fewer than {NAME_CHARACTERS}")
        return text

    def value(self, line, found):
        """[KEY VALUE] as of Jepsen's independent tests, and of an invoke KEY alone; then, in either case, a map may have the fence and the client."""
        value = found.get(":value")
        if isinstance(value, edn.Form):
            if value.kind == "a vector" and len(value) == 2:
                found.setdefault(":key", value[0])
                found[":value"] = value = value[1]
            if isinstance(value, edn.Form) and value.kind == "a map":
                inner = self.members(line, value)
                for member in (":fence", ":client", ":mode"):
                    if member in inner:
                        found.setdefault(member, inner[member])

    def op(self, line, form):
        if not isinstance(form, edn.Form) or form.kind != "a map":
            raise self.ops.refuse(line, f"found {edn.kind(form)}, expected a map")
        found, op = self.members(line, form), Op(line)
        op.type = self.ops.word(line, "unknown :type", self.word(line, ":type", found), TYPES)
        op.time, op.index = self.integer(line, ":time", found), self.integer(line, ":index", found)
        process = found.get(":process", "nil")
        if process == "nil":
            raise self.ops.refuse(line, "found no :process, expected one in an operation")
        if process[:1] == ":":
            self.ops.no_lock(line, process, found.get(":f", ":")[1:])
            said = (process, found.get(":f", ":"), found.get(":value", "nil"))
            op.says = " ".join(filter(None, (edn.content(part)[:NAME_CHARACTERS] for part in said if part != "nil")))
            op.says = re.sub(r"[\x00-\x1f\x7f]", " ", op.says)
            return op
        op.f = self.ops.f(line, "unknown :f", self.word(line, ":f", found))
        op.process = str(self.integer(line, ":process", found))
        self.value(line, found)
        op.fence = self.integer(line, ":fence", found, None)
        op.key = self.name(line, "a key", found.get(":key"))
        value = found.get(":value", "nil")
        if op.type == "invoke" and value[:1] == '"':
            op.named = self.name(line, ":value", value)
        op.owner = self.name(line, ":client", found.get(":client"))
        op.shared = self.ops.mode(line, edn.content(found.get(":mode", "nil")))
        return op

    def read(self, text):
        line, last = 1, 0
        try:
            for form, at in edn.forms(text):
                line, last = line + text.count("\n", last, at), at
                self.ops.add(self.op(line, form))
        except edn.Refused as wrong:
            raise self.ops.refuse(text.count("\n", 0, wrong.at) + 1, wrong) from wrong


# ---- CSV ----------------------------------------------------------------------------------------------------------------

COLUMNS = ("process", "type", "f", "time_ns", "index", "key", "value", "fence", "client", "mode")
FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\Z)')


def records(ops, text):
    """Yields (line, fields), as in RFC 4180. Refused rather than repaired: a stray quote means that the columns cannot be trusted."""
    at, line = 0, 1
    while at < len(text):
        fields, begin = [], at
        end = text.find("\n", at)
        if end >= 0 and '"' not in (record := text[at:end]) and "\r" not in record:
            yield line, record.split(",")
            at, line = end + 1, line + 1
            continue
        while True:
            field = FIELD.match(text, at)
            if not field:
                raise ops.refuse(line, "a stray or unclosed quote, or a bare carriage return")
            at = field.end()
            fields.append(field[2] if field[1] is None else field[1].replace('""', '"'))
            if field[3] != ",":
                break
        yield line, fields
        line += text.count("\n", begin, at)


def whole(ops, line, column, text):
    if not text:
        return None
    if not re.fullmatch("[0-9]+", text) or int(text[:40]) >= 1 << 63:
        raise ops.refuse(line, f'found "{text[:40]}" in "{column}", expected an integer from 0 to 2^63 - 1')
    return int(text)


def columns(ops, header):
    for number, column in enumerate(header):
        ops.word(1, "unknown column", column, COLUMNS)
        if column in header[:number]:
            raise ops.refuse(1, f'found column "{column}" twice, expected each once')
    for column in COLUMNS[:3]:
        if column not in header:
            raise ops.refuse(1, f'found no column "{column}", expected one in the header')


def csv_op(ops, line, row):
    """A process that is no number is none of the clients."""
    op, process, f = Op(line), row["process"], row["f"]
    op.time, op.index, op.fence = (whole(ops, line, column, row.get(column)) for column in ("time_ns", "index", "fence"))
    op.type = ops.word(line, "unknown type", row["type"], TYPES)
    if not process:
        raise ops.refuse(line, "found no process, expected a number, or the name of no client")
    if re.fullmatch("[0-9]+", process):
        op.f, op.process, op.key, op.owner = ops.f(line, "unknown f", f), process, row.get("key") or None, row.get("client") or None
        op.shared = ops.mode(line, row.get("mode", ""))
    else:
        ops.no_lock(line, process, f)
        op.says = f"{process[:60]} {f[:60]} {row.get('value', '')[:160]}"
    return op


def read_csv(ops, text):
    if "\0" in text:
        raise ops.refuse(text.count("\n", 0, text.index("\0")) + 1, "found a zero byte, expected text")
    rows = records(ops, text)
    _, header = next(rows)
    columns(ops, header)
    for line, fields in rows:
        if len(fields) != len(header):
            raise ops.refuse(line, f"{len(fields)} fields, expected {len(header)}, as in the header line")
        ops.add(csv_op(ops, line, dict(zip(header, fields))))


# ---- the program --------------------------------------------------------------------------------------------------------


def names_of(text):
    """{another name: an operation}, out of lock=acquire,unlock=release."""
    names = {}
    for item in text.removesuffix(",").split(","):
        name, _, f = item.partition("=")
        if not name or f not in FS:
            near = ending.near(f, FS)
            raise ending.BadInput(f"--as {text}: found '{item}', expected NAME=acquire, NAME=release, NAME=refresh or NAME=extend" + (f"; did you mean '{near}'?" if near else ""))
        names[name] = f
    return names


def lines(name, data, names, timed=False):
    """The lines of a file's bytes. BadInput."""
    ops = Operations(name, names)
    if re.match(rb"[A-Za-z][^\n]*,", data):
        read_csv(ops, data.decode("utf-8", "backslashreplace"))
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ops.refuse(data.count(b"\n", 0, error.start) + 1, f"found the byte 0x{data[error.start]:02x}, expected EDN in UTF-8") from error
        Edn(ops).read(text)
    if not ops.ops:
        raise ops.refuse(1, "found no events, expected at least one")
    if timed and ops.ops[0].time is None:
        raise ops.refuse(ops.ops[0].line, "found an operation without a time, expected one on each: a lease is a time")
    return ops.events()


def main():
    names = names_of(sys.argv[2]) if sys.argv[2:] and sys.argv[2] else {}
    sys.stdout.writelines(lines(sys.argv[1], sys.stdin.buffer.read(), names, sys.argv[3:] == ["timed"]))


if __name__ == "__main__":
    sys.exit(ending.of(main))
