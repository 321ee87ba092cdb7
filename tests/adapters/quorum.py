#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# A lock on a majority of independent Redis servers: of all that it is told of, or of those that answered when it began, which is a flaw (redlock-py 6).
# Usage: quorum.py all|present
import secrets, socket, sys, time
from urllib.parse import unquote, urlsplit

DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
links, quorum, tokens = [], 0, {}


def connect(url):
    try:
        s = socket.create_connection((url.hostname, url.port), 0.2)
        return s.makefile("rwb")
    except OSError:
        return None


def each(*words):  # how many said yes
    line = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(w).encode() for w in words))
    yes = 0
    for link in links:
        link.write(line)
        link.flush()
        yes += link.readline().strip() in (b"+OK", b":1")
    return yes


def answer(word, of, servers):
    global links, quorum
    key = of.get("key")
    if word == "open":
        links = [link for link in (connect(urlsplit(s)) for s in servers) if link]
        quorum = len(links if sys.argv[1] == "present" else servers) // 2 + 1
    elif word == "acquire":
        end = time.monotonic() + int(of["wait_ms"]) / 1000
        while True:
            tokens[key] = secrets.token_hex(8)
            if each("SET", key, tokens[key], "NX", "PX", of["ttl_ms"]) >= quorum: return "granted"
            each("EVAL", DELETE, 1, key, tokens[key])
            if time.monotonic() >= end: return "busy"
            time.sleep(0.05)
    elif word == "release": return "ok" if each("EVAL", DELETE, 1, key, tokens.get(key, "")) >= quorum else "lost"
    return "ok"


print("lockbench-adapter 1 name=quorum-%s version=1 topologies=redis-x5,redis-x3 ends=lease record={key}" % sys.argv[1], flush=True)
for line in sys.stdin:
    number, word, *pairs = line.split()
    pairs = [(name, unquote(text)) for name, _, text in (p.partition("=") for p in pairs)]
    print(number, answer(word, dict(pairs), [text for name, text in pairs if name == "server"]), flush=True)
    if word == "quit": break
