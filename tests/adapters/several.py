#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# A lock on several Redis servers. Argument: `all` of them are counted; `present`: only those that were there when it began (redlock-py, pull request 6);
# `keeps`: as `all`, but an acquire that fails leaves what it has written; `copied`: the first server alone, once another one has the copy; `hangs-on`: as that,
# but an acquire that was not copied in time fails and leaves what it has written.
import secrets, socket, sys, time
from urllib.parse import unquote, urlsplit

DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
how = sys.argv[1]
one = how in ("copied", "hangs-on")
servers, there, links, tokens = [], [], {}, {}


def call(server, *words):
    """One answer of a server; OSError."""
    if server not in links:
        at = urlsplit(server)
        links[server] = socket.create_connection((at.hostname, at.port), 0.5).makefile("rwb")
    link = links[server]
    try:
        said = [str(word).encode() for word in words]
        link.write(b"*%d\r\n" % len(said) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in said))
        link.flush()
        line = link.readline()
    except OSError:
        line = b""
    if not line.endswith(b"\r\n"):
        del links[server]
        raise OSError("no answer")
    if line[:1] == b"-":
        raise OSError(line.decode())
    return line != b"$-1\r\n" and line != b":0\r\n"


def each(*words):
    yes = 0
    for server in there:
        try:
            yes += call(server, *words)
        except OSError:
            pass
    return yes


def needed():
    return 1 if one else len(there if how == "present" else servers) // 2 + 1


def is_copied():
    return not one or call(there[0], "WAIT", 1, 150)


def begin(urls):
    servers[:] = [url for url in urls if url.startswith("redis")]
    there[:] = servers[:1] if one else servers
    if how != "present":
        return "ok"
    there.clear()
    for server in servers:
        try:
            call(server, "PING")
            there.append(server)
        except OSError:
            pass
    return "ok" if there else "error no server answers"


def acquire(key, ttl, wait):
    end = time.monotonic() + wait / 1000
    while True:
        asked, tokens[key] = time.monotonic(), secrets.token_hex(8)
        yes = each("SET", key, tokens[key], "NX", "PX", ttl)
        enough = yes >= needed()
        left = ttl - (time.monotonic() - asked) * 1000 - ttl / 100 - 2
        if enough and left > 0 and is_copied():
            return "granted validity_ms=%d" % left
        if how not in ("keeps", "hangs-on"):
            each("EVAL", DELETE, 1, key, tokens[key])
        if enough and one:
            return "error it was not copied"
        if time.monotonic() >= end:
            return "busy"
        time.sleep(0.05)


def answer(word, of, urls):
    if word == "open":
        return begin(urls)
    if word == "acquire":
        return acquire(of["key"], int(of["ttl_ms"]), int(of["wait_ms"]))
    if word == "release":
        return "ok" if each("EVAL", DELETE, 1, of["key"], tokens.get(of["key"], "")) >= needed() else "lost"
    return "ok"


print("lockbench-adapter 1 name=several-%s version=1 topologies=%s ends=lease can=validity record={key}" % (how, "sentinel" if one else "redis-x5,redis-x3"), flush=True)
for line in sys.stdin:
    number, word, *pairs = line.split()
    pairs = [(name, unquote(text)) for name, _, text in (p.partition("=") for p in pairs)]
    print(number, answer(word, dict(pairs), [text for name, text in pairs if name == "server"]), flush=True)
    if word == "quit":
        break
