#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Redis locks with a flaw: peers/reference.py with the flaw in it, and with the facts that its author would state.
# Usage: flawed.py FLAW [FACTS]; without one, their names. FACTS are stated instead; '' = none, so it is predicted to be as good as the reference.
# tests/live/foreign/live-flawed.sh says which scenario singles out each of the first ones, which are known from real locks. tests/live/theory/live-facts.py has all of them state what is false.
import os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SET = 'call("SET", key, token, "NX", "PX", ttl)'
KEEP = "tokens[key] = token"
LOOP = "    while True:\n        if " + SET
DELETE = 'call("EVAL", DELETE, 1, key, tokens.get(key, ""))'
EXTEND = 'call("EVAL", EXTEND, 1, key, tokens.get(key, ""), of["ttl_ms"])'
HOLDS = 'call("GET", key) == tokens.get(key, "")'
ENDS = "ends=lease"
CAN = "can=extend,holds"
GRANTED = 'return "granted token=" + token'

# The time in the value is the end, by the clock of the client that asks. Who comes later replaces what is over.
STAMP = """
REPLACE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('set',KEYS[1],ARGV[2]) end return false"


def stamp(key, token, ttl):
    tokens[key] = "%s:%.3f" % (token, time.time() + ttl / 1000)
    if call("SET", key, tokens[key], "NX"): return True
    there = call("GET", key)
    return there and float(there.split(":")[1]) < time.time() and call("EVAL", REPLACE, 1, key, there, tokens[key])


def acquire("""

# The time in the value is that of the grant. Who comes later counts from there by the lease that it is set to itself.
OWN_RULER = STAMP.replace("time.time() + ttl / 1000", "time.time()").replace(" < time.time()", " + ttl / 1000 < time.time()")

# Readers are one number with one time to live, which each of them sets anew: a dead one stays in the number while others read.
COUNTED = """
READ = "if redis.call('get',KEYS[1])=='w' then return 0 end redis.call('incr',KEYS[1]) return redis.call('pexpire',KEYS[1],ARGV[1])"
DONE = "if redis.call('decr',KEYS[1])<1 then redis.call('del',KEYS[1]) end return 1"
reads = False


def acquire("""

FLAWS = {
    # name: (facts, what is replaced, by what; several times)
    "plain-del": ("release=blind", [(DELETE, 'call("DEL", key)')]),  # its release asks nobody
    "no-owner": ("release=blind,asks=anybody", [  # one value for all
        ("secrets.token_hex(16)", '"1"'), (DELETE, 'call("DEL", key)'), (EXTEND, 'call("PEXPIRE", key, of["ttl_ms"])'), (HOLDS, 'call("EXISTS", key)')]),
    "for-ever": ("renews=caller,names-end=no", [  # its key has an end, and nobody tells its caller of one
        (EXTEND, "key in tokens"), (HOLDS, "key in tokens"), (ENDS, "ends=session")]),
    "two-steps": ("end=set-later", [(SET, 'call("SETNX", key, token) and call("PEXPIRE", key, ttl)')]),
    "look-then-set": ("excludes=no,lost=other", [(SET, '(call("GET", key) is None and (time.sleep(0.005) or call("SET", key, token, "PX", ttl)))')]),
    "forgets": ("lost=forgotten", [  # each try has a token of its own, and one that was not answered is forgotten
        (KEEP, "tokens.pop(key, None)"),
        (LOOP, "    while True:\n        token = secrets.token_hex(16)\n        if " + SET),
        (GRANTED, "tokens[key] = token; " + GRANTED)]),
    "sound": ("", []),
    "no-end": ("ends=never", [(SET, 'call("SET", key, token, "NX")'), (EXTEND, HOLDS), (ENDS, "ends=never")]),
    "own-clock": ("counts=client-wall", [("\ndef acquire(", STAMP), (SET, "stamp(key, token, ttl)"), (CAN, "can=holds")]),
    "not-kept": ("record=memory", [(SET, 'call("CONFIG", "SET", "appendonly", "no") and ' + SET)]),  # no restart brings back what it writes
    "counter": ("number=counter", [(GRANTED, 'return "granted token=%s fence=%d" % (token, call("INCR", key + ":n"))'), (CAN, CAN + ",fence")]),
    "number-first": ("number=counter", [  # its number is drawn before it has the lock
        (KEEP, KEEP + '; number = call("INCR", key + ":n")'), (GRANTED, GRANTED + ' + " fence=%d" % number'), (CAN, CAN + ",fence")]),
    "one-token": ("", [(KEEP, 'token = tokens[key] = tokens.setdefault("all", token)')]),  # one for ever, of a program
    "by-session": ("unlocks=session", [  # its release names the program, whose token is the same in each grant
        (KEEP, 'token = tokens[key] = tokens.setdefault("all", token)'), (DELETE, 'call("EVAL", DELETE, 1, key, of.get("token") or tokens.get(key, ""))'), (CAN, CAN + ",token")]),
    "revives": ("", [(EXTEND, EXTEND + ' or (call("EXISTS", key) == 0 and call("SET", key, tokens.get(key, ""), "PX", of["ttl_ms"]))')]),  # a late extension makes the record anew
    "silent": ("tells=nobody", [(CAN, CAN + ",signal")]),  # it tells its caller of no connection that broke
    "half": ("names-end=no", [(SET, 'call("SET", key, token, "NX", "PX", ttl // 2)')]),  # it ends long before the end that its caller knows
    "by-name": ("heeds=no", [  # its token is the name of its client, so a client that was started again finds its own
        ("secrets.token_hex(16)", "name"), (SET, "(" + SET + ' or call("GET", key) == name)'),
        ("global server, timeout", "global server, timeout, name"), ('if word == "open":', 'if word == "open":\n        name = of["client"]')]),
    "in-line": ("queue=lasting", [  # nobody takes the place of a waiter that died out of the line
        (KEEP, KEEP + '; call("RPUSH", key + ":line", token)'),
        (SET, '(call("LINDEX", key + ":line", 0) == token and ' + SET + ' and call("LPOP", key + ":line"))'),
        ('return "busy"', 'call("LREM", key + ":line", 1, token); return "busy"')]),
    "leaves-out": ("", [  # one client is refused, whoever holds
        ("global server, timeout", "global server, timeout, name"), ('if word == "open":', 'if word == "open":\n        name = of["client"]'),
        ('elif word == "acquire":', 'elif word == "acquire" and name == "client-2": time.sleep(int(of["wait_ms"]) / 1000); return "busy"\n    elif word == "acquire":')]),
    "own-ruler": ("", [("\ndef acquire(", OWN_RULER), (SET, "stamp(key, token, ttl)"), (CAN, "can=holds"), (DELETE, "(" + DELETE + ")")]),
    "counted": ("", [
        ("\ndef acquire(", COUNTED), (SET, 'call("EVAL", READ, 1, key, ttl) if reads else call("SET", key, "w", "NX", "PX", ttl)'), (CAN, "can=shared"),
        (DELETE, '(call("EVAL", DONE, 1, key) if reads else call("DEL", key))'), ("global server, timeout", "global server, timeout, reads"),
        ('elif word == "acquire":', 'elif word == "acquire" and [reads := of.get("shared") == "yes"]:')]),
    "own-node": ("", [("servers[0]", 'servers[int(of["client"][7:]) % len(servers)]'), ("topologies=redis", "topologies=redis-x3")]),  # each client asks a node of its own
    "deaf": ("", [(CAN, CAN + ",stop")]),  # it knows no `stop`, and says that it does
    "first-node": ("", [("topologies=redis", "topologies=redis-x3")]),  # the sound one beside it
}

if len(sys.argv) < 2:
    print("\n".join(FLAWS))
    sys.exit()
with open(os.path.join(ROOT, "peers", "reference.py"), encoding="utf-8") as f:
    text = f.read()
facts, changes = FLAWS[sys.argv[1]]
for old, new in [*changes, ("name=reference", "name=" + sys.argv[1])]:
    if old not in text:
        sys.exit("flawed.py: peers/reference.py has no %s" % old)
    text = text.replace(old, new)
facts = sys.argv[2] if len(sys.argv) > 2 else facts
if facts: text = text.replace(" record={key}", " record={key} facts=" + facts)
exec(compile(text, "reference.py that is " + sys.argv[1], "exec"))
