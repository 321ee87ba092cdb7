#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# An adapter whose lock is a row that stays: `picked` is null while nobody holds it. Argument: what it says in record=. psql asks the server.
import glob, subprocess, sys, time
from urllib.parse import unquote, urlsplit

psql = glob.glob("/usr/lib/postgresql/*/bin/psql")[-1]
server, me = None, ""


def ask(sql):
    said = subprocess.run([psql, "-XAtq", "-h", server.hostname, "-p", str(server.port), "-U", unquote(server.username), "postgres", "-c", sql], capture_output=True, text=True, check=True)
    return said.stdout.strip()


def answer(word, of, servers):
    global server, me
    key = of.get("key")
    if word == "open":
        server, me = urlsplit(servers[0]), of["client"]
        ask("select pg_advisory_lock(1); create table if not exists task (name text primary key, picked text)")
    elif word == "acquire":
        end = time.monotonic() + int(of["wait_ms"]) / 1000
        while not ask("insert into task values ('%s', '%s') on conflict (name) do update set picked = excluded.picked where task.picked is null returning 1" % (key, me)):
            if time.monotonic() >= end:
                return "busy"
        return "granted"
    elif word == "release":
        return "ok" if ask("update task set picked = null where name = '%s' and picked = '%s' returning 1" % (key, me)) else "lost"
    return "ok"


print("lockbench-adapter 1 name=pg-row version=1 topologies=pg ends=never can= record=" + sys.argv[1], flush=True)
for line in sys.stdin:
    number, word, *pairs = line.split()
    pairs = [(name, unquote(text)) for name, _, text in (p.partition("=") for p in pairs)]
    try:
        said = answer(word, dict(pairs), [text for name, text in pairs if name == "server"])
    except subprocess.CalledProcessError as error:
        said = "error " + " ".join(error.stderr.split())
    print(number, said, flush=True)
    if word == "quit":
        break
