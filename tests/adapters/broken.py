#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Broken adapters: peers/reference.py with one line of it changed. Usage: broken.py FAULT; without one, their names.
# tests/live/foreign/live-adapter.sh says which statement of `lockbench conform` each of them breaks.
import os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SET = 'call("SET", key, token, "NX", "PX", ttl)'
PLACE = '(call("SET", key + ":first", token, "NX", "PX", 60000) or call("GET", key + ":first") == token)'  # of whoever waits first
GRANTED = 'return "granted token=" + token'
UNTIL = "time.monotonic() >= end: return"
SAY = 'print(number, said.replace("\\n", " "), flush=True)'
KEEP = "tokens[key] = token"
EXTEND = 'call("EVAL", EXTEND, 1, key, tokens.get(key, ""), of["ttl_ms"])'
FIRST = "can=extend,holds record={key}"
QUIT = '    if word == "quit": break\n'

FAULTS = {
    # name: what is replaced, by what; several times
    "lies": [(SET, "True")],
    "impatient": [(UNTIL, "True: return")],
    "patient-at-zero": [("time.monotonic() + wait / 1000", "time.monotonic() + (wait or 1500) / 1000")],
    "never-gives-up": [("time.monotonic() + wait / 1000", "time.monotonic() + (wait * 3) / 1000")],
    "deaf-waiter": [("time.sleep(min(0.05, max(0.001, end - time.monotonic())))", 'time.sleep(max(0, end - time.monotonic())); return "busy"')],
    "deletes-blindly": [("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del'", "if true then return redis.call('del'")],
    "says-ok-to-late": [('"ok" if call("EVAL", DELETE, 1, key, tokens.get(key, "")) else "lost"', '"ok" if call("EVAL", DELETE, 1, key, tokens.get(key, "")) + 1 else "lost"')],
    "extends-nothing": [(EXTEND, "True")],
    "extends-what-is-lost": [(EXTEND, EXTEND + " or True")],
    "holds-from-memory": [('call("GET", key) == tokens.get(key, "")', "key in tokens"), ('"release": return', '"release": return tokens.pop(key, 0) and ""')],
    "holds-for-ever": [('call("GET", key) == tokens.get(key, "")', "key in tokens")],
    "takes-anew": [(EXTEND, EXTEND + ' or call("SET", key, tokens.get(key, ""), "NX", "PX", of["ttl_ms"])')],
    "holds-if-free": [('call("GET", key) == tokens.get(key, "")', 'call("GET", key) in (None, tokens.get(key, ""))')],
    "keeps-its-place": [(SET, PLACE + " and " + SET + ' and call("DEL", key + ":first")')],
    "dies-in-its-place": [(SET, PLACE + " and " + SET + ' and call("DEL", key + ":first")'), ('return "busy"', 'return call("DEL", key + ":first") and "busy" or "busy"')],
    "wrong-number": [(SAY, SAY.replace("print(number", "print(int(number) + 1"))],
    "answers-twice": [(SAY, SAY + "; " + SAY)],
    "noise": [(SAY, 'print("DEBUG", word, flush=True); ' + SAY)],
    "refuses-new-words": [("    key = of.get", '    if set(of) - {"topology", "client", "prefix", "ttl_ms", "server", "key", "wait_ms"}: return "error what is that?"\n    key = of.get')],
    "no-end": [(SET, 'call("SET", key, token, "NX")')],
    "half-the-lease": [(SET, SET.replace("ttl)", "ttl // 2)"))],
    "wrong-record": [(FIRST, FIRST.replace("record={key}", "record=lock:{key}"))],
    "one-key": [('key = of.get("key")', 'key = of.get("key", "-").rsplit("-", 1)[0] + "-all"')],
    "stays": [(QUIT, QUIT + "else:\n    while True: time.sleep(60)\n")],
    "ignores-quit": [(QUIT, '    if word == "quit": time.sleep(60)\n')],
    "fences-fall": [(FIRST, FIRST.replace("holds", "holds,fence")), (GRANTED, GRANTED + ' + " fence=%d" % (2_000_000_000 - time.time())')],
    "number-first": [(FIRST, FIRST.replace("holds", "holds,fence")), (KEEP, KEEP + '; number = call("INCR", key + ":n")'), (GRANTED, GRANTED + ' + " fence=%d" % number')],  # drawn before the lock is had
    "one-token": [(KEEP, 'token = tokens[key] = tokens.setdefault("all", token)')],  # of all grants of a program
    "revives": [(EXTEND, EXTEND + ' or (call("EXISTS", key) == 0 and call("SET", key, tokens.get(key, ""), "PX", of["ttl_ms"]))')],  # a late extension makes the record anew
    "no-fence": [(FIRST, FIRST.replace("holds", "holds,fence"))],
    "long-validity": [(FIRST, FIRST.replace("holds", "holds,validity")), (GRANTED, GRANTED + ' + " validity_ms=%d" % (ttl * 2)')],
    "never-reconnects": [("if link is None: connect()", 'if link is None: raise NotSent("no connection")')],
    "no-version": [(" version=1", "")],
    "unknown-topology": [("topologies=redis", "topologies=redis,rediss")],
    "no-greeting": [('"lockbench-adapter 1 ', '"hello ')],
    "next-version": [('"lockbench-adapter 1 ', '"lockbench-adapter 2 ')],
    "cannot-open": [('if word == "open":', 'if word == "open": return "error no"\n    elif word == "opens":')],
    "wrong-ends": [("ends=lease", "ends=sometimes")],
}

if len(sys.argv) < 2:
    print("\n".join(FAULTS))
    sys.exit()
with open(os.path.join(ROOT, "peers", "reference.py"), encoding="utf-8") as f:
    text = f.read()
for old, new in FAULTS[sys.argv[1]]:
    if old not in text:
        sys.exit("broken.py: peers/reference.py has no %s" % old)
    text = text.replace(old, new)
exec(compile(text, "reference.py with " + sys.argv[1], "exec"))
