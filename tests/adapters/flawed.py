#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Seven Redis locks with a flaw that is known from real ones: peers/reference.py with the flaw in it, and with the facts that its author would state.
# Usage: flawed.py FLAW [FACTS]; without one, their names. FACTS are stated instead; '' = none, so it is predicted to be as good as the reference.
# tests/live-flawed.sh says which scenario singles out each.
import os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SET = 'call("SET", key, token, "NX", "PX", ttl)'
KEEP = "tokens[key] = token"
LOOP = "    while True:\n        if " + SET
DELETE = 'call("EVAL", DELETE, 1, key, tokens.get(key, ""))'
EXTEND = 'call("EVAL", EXTEND, 1, key, tokens.get(key, ""), of["ttl_ms"])'
HOLDS = 'call("GET", key) == tokens.get(key, "")'
ENDS = "ends=lease"

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
        ('return "granted token=" + token', 'tokens[key] = token; return "granted token=" + token')]),
    "sound": ("", []),
    "no-end": ("ends=never", [(SET, 'call("SET", key, token, "NX")'), (EXTEND, HOLDS), (ENDS, "ends=never")]),
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
