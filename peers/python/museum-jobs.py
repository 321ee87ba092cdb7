#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Locks of jobs and tasks with a bug that somebody has published, for scenarios/museum/: museum-jobs.py BUG[-mended]. Each is written anew from its report.
#
# Each promises one owner at a time until its release, as https://laravel.com/docs/12.x/queues#unique-jobs says of a job.
# What breaks each beyond that: the comment of its class, which names the report. The mended one differs in one line.
import base64
import json
import secrets
import sys
import threading
import time
import urllib.request

from adapter import serve

BUG, MENDED = sys.argv[1].removesuffix("-mended"), sys.argv[1].endswith("-mended")
DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"


class Job:
    def acquire(self, o):
        end, token = time.monotonic() + o.wait, secrets.token_hex(8)
        while not self.take(o, token):
            if time.monotonic() + 0.03 >= end: return "busy"
            time.sleep(0.02)
        return "granted token=" + self.token(token)

    def token(self, token): return token


class Laravel(Job):  # Laravel 60042: the worker that runs a job frees its lock, and does so by force
    patience = 2  # seconds

    def open(self, o):
        import redis
        self.redis = redis.Redis(o.servers[0].hostname, o.servers[0].port, socket_timeout=self.patience)

    def take(self, o, token): return self.redis.set(o.key, token, nx=True)

    def release(self, o):
        return "ok" if (self.redis.eval(DELETE, 1, o.key, o.token) if MENDED else self.redis.delete(o.key)) else "lost"


class ForgetsFirst(Laravel):  # redis-py 3847: a release forgets the token and asks the server then, so one that is cancelled leaves the key
    patience = 0.5

    def token(self, token):
        self.mine = token
        return token

    def release(self, o):
        token, self.mine = self.mine, ""
        return "ok" if token and self.redis.eval(DELETE, 1, o.key, token) else "lost"


class Cancelled(Job):  # redis-py 2665: a task that is cancelled leaves its reply on the connection, and the next command reads it
    def open(self, o):
        import redis
        self.link = redis.Connection(o.servers[0].hostname, o.servers[0].port)

    def call(self, *words):
        self.link.send_command(*words)
        if not self.link.can_read(0.5): raise TimeoutError("its task was cancelled")
        return self.link.read_response()

    def take(self, o, token): return self.call("SET", o.key, token, "NX", "PX", o.ttl_ms)

    def release(self, o):  # whose task is cancelled knows of no hold
        try:
            return "ok" if self.call("EVAL", DELETE, 1, o.key, o.token) else "lost"
        except TimeoutError:
            return "lost"


class Scheduler(Job):  # db-scheduler 365: at a stop its heartbeats end before its running task
    def open(self, o):
        import psycopg2
        first, user = o.servers[0], o.login()
        self.me, self.ttl_ms, self.held, self.beats, self.mutex = o.client, o.ttl_ms, set(), True, threading.Lock()
        self.db = psycopg2.connect(host=first.hostname, port=first.port, dbname="postgres", user=user[0], password=user[1])
        self.db.autocommit = True
        self.ask("SELECT pg_advisory_lock(365)")  # two CREATE at once would fail
        self.ask("CREATE TABLE IF NOT EXISTS task (name text PRIMARY KEY, picked text, beat timestamptz)")
        self.ask("SELECT pg_advisory_unlock(365)")
        threading.Thread(target=self.beat, daemon=True).start()

    def ask(self, statement, *values):
        with self.mutex, self.db.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.rowcount

    def beat(self):
        while self.beats or MENDED:
            time.sleep(self.ttl_ms / 4000)
            for key in list(self.held) if self.beats or MENDED else (): self.ask("UPDATE task SET beat = clock_timestamp() WHERE name = %s AND picked = %s", key, self.me)

    def take(self, o, token):
        if not self.ask("INSERT INTO task VALUES (%s, %s, clock_timestamp()) ON CONFLICT (name) DO UPDATE SET picked = excluded.picked, beat = clock_timestamp()"
                        " WHERE task.picked IS NULL OR task.beat < clock_timestamp() - %s * interval '1 ms'", o.key, self.me, o.ttl_ms): return False
        self.held.add(o.key)
        return True

    def stop(self, o): self.beats = False

    def release(self, o):
        self.held.discard(o.key)
        return "ok" if self.ask("UPDATE task SET picked = NULL WHERE name = %s AND picked = %s", o.key, self.me) else "lost"


class Session(Job):  # etcd 22082: the key of a lock is called after the lease of its session, so a repeated Unlock deletes the key of a newer Lock
    def open(self, o):
        self.url = "http://%s:%d/v3/" % (o.servers[0].hostname, o.servers[0].port)
        self.lease = self.call("lease/grant", TTL=60)["ID"]

    def call(self, path, **body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=2) as answer: return json.load(answer)

    def name(self, o, token): return base64.b64encode(("%s/%s" % (o.key, token)).encode()).decode()

    def token(self, token): return token if MENDED else self.lease

    def take(self, o, token):  # the oldest key below the lock's name has it
        mine = self.name(o, self.token(token))
        put = self.call("kv/txn", compare=[dict(key=mine, result="EQUAL", target="CREATE", create_revision=0)],
                        success=[dict(requestPut=dict(key=mine, value="", lease=self.lease))])
        low, high = base64.b64encode((o.key + "/").encode()).decode(), base64.b64encode((o.key + "0").encode()).decode()
        first = self.call("kv/range", key=low, range_end=high, sort_order="ASCEND", sort_target="CREATE", limit=1)["kvs"][0]
        if put.get("succeeded") and first["key"] == mine: return True
        self.call("kv/deleterange", key=mine)
        return False

    def release(self, o): return "ok" if self.call("kv/deleterange", key=self.name(o, o.token)).get("deleted") else "lost"


KINDS = {"redis-py-3847": (ForgetsFirst, "redis", "never", "", "{key}"), "redis-py-2665": (Cancelled, "redis", "lease", "token", "{key}"),
         "laravel-60042": (Laravel, "redis", "never", "token", "{key}"), "db-scheduler-365": (Scheduler, "pg", "lease", "stop", "task"),
         "etcd-22082": (Session, "etcd,etcd-x3", "session", "token", "{key}")}
KIND, TOPOLOGIES, ENDS, CAN, RECORD = KINDS[BUG]
serve(KIND(), name=sys.argv[1], version="1", topologies=TOPOLOGIES, ends=ENDS, can=CAN, record=RECORD)
