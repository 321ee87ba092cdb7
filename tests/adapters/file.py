#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# An adapter for any topology: it reaches each server that it is told of, and its lock is a file. Arguments: FOLDER TOPOLOGIES. Each refusal comes LATE_MS after wait_ms, and LEFT_OUT is refused always, if these are set.
import os, socket, sys, time
from urllib.parse import unquote, urlsplit

folder, topologies = sys.argv[1:3]
late_ms, me = int(os.environ.get("LATE_MS", "0")), ""


def acquire(path, wait):
    end = time.monotonic() + wait / 1000
    while True:
        try:
            if me and me == os.environ.get("LEFT_OUT"):
                raise FileExistsError
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            return "granted"
        except FileExistsError:
            if time.monotonic() >= end:
                time.sleep(late_ms / 1000 if wait else 0)
                return "busy"
        time.sleep(0.01)


def answer(word, of, servers):
    global me
    path = os.path.join(folder, of.get("key", "").replace("/", "-"))
    if word == "open":
        me = of["client"]
        for server in map(urlsplit, servers):
            socket.create_connection((server.hostname, server.port), 5).close()
    elif word == "acquire":
        return acquire(path, int(of["wait_ms"]))
    elif word == "release":
        try:
            os.unlink(path)
        except FileNotFoundError:
            return "lost"
    return "ok"


print("lockbench-adapter 1 name=file version=1 topologies=%s ends=never can= record=" % topologies, flush=True)
for line in sys.stdin:
    number, word, *pairs = line.split()
    pairs = [(name, unquote(text)) for name, _, text in (p.partition("=") for p in pairs)]
    print(number, answer(word, dict(pairs), [text for name, text in pairs if name == "server"]), flush=True)
    if word == "quit":
        break
