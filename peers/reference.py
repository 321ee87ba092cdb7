#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# The reference adapter: copy this file, put your lock where ours is. The protocol: peers/README.md. To try: ./bench conform 'python3 peers/reference.py'
#
# The lock is the one of https://redis.io/docs/latest/commands/set/ ("Patterns"): SET key token NX PX ttl; deleted and extended only where the token is still
# ours. It promises one holder at a time while the server keeps its memory and no holder works for longer than the ttl. A pause of the holder, a
# failover or a restart breaks it. It needs no package: it speaks to Redis over a socket.
import secrets, socket, sys, time
from urllib.parse import unquote, urlsplit

# Redis does "compare, then do" in one step only as a script.
DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
EXTEND = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end"
server, link, timeout = None, None, 0.5  # URL; its connection, as a file; how long a reply may take, in seconds
tokens = {}  # of each key that we hold, or may hold


class NotSent(Exception):  # nothing has left for the server: the attempt holds nothing
    pass


class Refused(Exception):  # the server said that it did not do it
    pass


def connect():
    global link
    try:
        s = socket.create_connection((server.hostname, server.port or 6379), timeout)
    except OSError as e:
        raise NotSent("connect: %s" % e) from e
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link = s.makefile("rwb")
    if server.password:
        user = [unquote(server.username)] if server.username else []
        call("AUTH", *user, unquote(server.password))


def call(*words):  # one command and its reply: a text, a number, or None. Any other exception than the two above: nobody knows
    global link
    if link is None: connect()
    try:
        link.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(w).encode() for w in words)))
        link.flush()
        reply = link.readline()
        if not reply.endswith(b"\r\n"): raise OSError("the server has closed the connection")
        kind, text = reply[:1], reply[1:-2].decode()
        if kind == b"-": raise Refused(text)
        if kind == b"$": return None if text == "-1" else link.read(int(text) + 2)[:-2].decode()
        return int(text) if kind == b":" else text
    except OSError:
        link = None  # a late reply would be taken for that of the next command: never use this connection again
        raise


def acquire(key, ttl, wait):
    end, token = time.monotonic() + wait / 1000, secrets.token_hex(16)
    tokens[key] = token  # kept before we ask: after an unknown outcome, release needs it
    while True:
        if call("SET", key, token, "NX", "PX", ttl): return "granted token=" + token
        if time.monotonic() >= end: return "busy"  # wait=0: one try
        time.sleep(min(0.05, max(0.001, end - time.monotonic())))


def answer(word, of, servers):
    global server, timeout
    key = of.get("key")
    if word == "open":
        server, timeout = urlsplit(servers[0]), min(0.5, int(of["ttl_ms"]) / 2000)
        connect()
    elif word == "acquire": return acquire(key, int(of["ttl_ms"]), int(of["wait_ms"]))
    elif word == "extend": return "ok" if call("EVAL", EXTEND, 1, key, tokens.get(key, ""), of["ttl_ms"]) else "lost"
    elif word == "holds": return "ok" if call("GET", key) == tokens.get(key, "") else "lost"
    elif word == "release": return "ok" if call("EVAL", DELETE, 1, key, tokens.get(key, "")) else "lost"
    elif word not in ("ping", "quit"): return "error no such request: " + word
    return "ok"


# The first line, before anything is read and without any server. `can` lists what we answer besides acquire and release.
print("lockbench-adapter 1 name=reference version=1 topologies=redis ends=lease can=extend,holds record={key}", flush=True)
for line in sys.stdin:  # until stdin ends
    number, word, *pairs = line.split()
    pairs = [(name, unquote(text)) for name, _, text in (p.partition("=") for p in pairs)]
    try:
        said = answer(word, dict(pairs), [text for name, text in pairs if name == "server"])
    except (NotSent, Refused) as e:
        said = "error %s" % e  # it was not done, we know that
    except Exception as e:  # no reply: it may have been done
        said = "%s %s" % ("error" if word == "open" else "unknown", e)
    print(number, said.replace("\n", " "), flush=True)  # one line, at once: a line that waits in a buffer is a late answer
    if word == "quit": break
