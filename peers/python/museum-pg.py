#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Locks in PostgreSQL with a bug that somebody has published, for scenarios/museum/: museum-pg.py BUG. Each is written anew from its report.
#
# Row promises one owner until a time in a row; Try, what https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS says.
# What breaks each beyond that: the comment of its class, which names the report.
import queue
import sys
import threading
import time
import zlib

import psycopg2

from adapter import serve


class Peer:
    def open(self, o):
        first, user = o.servers[0], o.login()
        self.name, self.where = o.client, dict(host=first.hostname, port=first.port, dbname="postgres", user=user[0], password=user[1])
        self.begin()

    def connect(self):
        db = psycopg2.connect(**self.where)
        db.autocommit = True
        return db

    def ask(self, db, statement, *values):
        with db.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()[0] if cursor.description else cursor.rowcount

    def acquire(self, o):
        end = time.monotonic() + o.wait
        while not self.take(o):
            if time.monotonic() + 0.05 >= end: return "busy"
            time.sleep(0.02)
        return "granted"


class Row(Peer):  # ShedLock 91: the end of the lock is a local time without its zone. Client 1 is in New York, client 3 in Tokyo, all others in London, in winter
    ZONES = {"client-1": "-05:00", "client-3": "+09:00"}

    def begin(self):
        self.db = self.connect()
        self.ask(self.db, "SELECT pg_advisory_lock(91)")  # two CREATE at once would fail
        self.ask(self.db, "CREATE TABLE IF NOT EXISTS shedlock (name text PRIMARY KEY, lock_until timestamp, locked_by text)")
        self.ask(self.db, "SELECT pg_advisory_unlock(91)")
        self.ask(self.db, "SET TIME ZONE INTERVAL %s HOUR TO MINUTE", self.ZONES.get(self.name, "+00:00"))

    def take(self, o):
        return self.ask(self.db, "INSERT INTO shedlock VALUES (%s, localtimestamp + %s * interval '1 ms', %s) ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until,"
                        " locked_by = excluded.locked_by WHERE shedlock.lock_until <= localtimestamp", o.key, o.ttl_ms, self.name)

    def release(self, o):
        return "ok" if self.ask(self.db, "UPDATE shedlock SET lock_until = localtimestamp WHERE name = %s AND locked_by = %s", o.key, self.name) else "lost"


class Try(Peer):  # GreptimeDB 7670: the caller gives a statement up that goes on; its connection lives, and holds a lock of which nobody knows
    LIMIT = 0.7

    def begin(self):
        self.jobs, self.held = None, set()
        self.limited("SELECT 1")

    def work(self, jobs):
        db = self.connect()
        while True:
            values, said = jobs.get()
            said.put(self.ask(db, *values))

    def limited(self, *values):  # a connection whose answer did not come stays open in its pool; the next statement has another one
        if not self.jobs:
            self.jobs = queue.Queue()
            threading.Thread(target=self.work, args=(self.jobs,), daemon=True).start()
        said, jobs, self.jobs = queue.Queue(), self.jobs, None
        jobs.put((values, said))
        answer = said.get(timeout=self.LIMIT)
        self.jobs = jobs
        return answer

    def take(self, o):
        return self.limited("SELECT pg_try_advisory_lock(%s)", zlib.crc32(o.key.encode()))

    def acquire(self, o):
        try:
            said = super().acquire(o)
        except queue.Empty:
            return "error execution timed out"
        if said == "granted": self.held.add(o.key)
        return said

    def release(self, o):
        if o.key not in self.held: return "lost"
        self.held.discard(o.key)
        return "ok" if self.limited("SELECT pg_advisory_unlock(%s)", zlib.crc32(o.key.encode())) else "lost"


BUGS = {"shedlock-91": (Row, "lease", "shedlock"), "greptimedb-7670": (Try, "session", "advisory")}
bug, ends, record = BUGS[sys.argv[1]]
serve(bug(), name=sys.argv[1], version=1, topologies="pg", ends=ends, can="", record=record)
