#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# python-redis-lock 4.0.1 (PyPI) on redis-py 8.1.0: redis_lock.Lock; with the argument `renewed` with auto_renewal=True.
#
# Used as https://python-redis-lock.readthedocs.io/en/latest/readme.html says: redis_lock.Lock(conn, name, expire=, auto_renewal=), acquire(blocking=, timeout=), release(). A waiter
# sleeps in BLPOP on a list that a release fills. `expire` and `timeout` are whole seconds.
# It promises: "a lock context manager implemented via redis SET/BLPOP"; with auto_renewal the lock is renewed "so that it doesn't expire for as long as the lock is held".
# What breaks it: a hold that lasts longer than `expire`, and a failover that loses the key. It tells of neither: the thread that renews ends with its first exception
# (redis_lock/__init__.py:284), also for a connection that broke, and nobody hears of it.
# What it keeps to itself: a timeout below 1 s is cut to 0 (:221), and 0 waits without end (:237). So this adapter gives it whole seconds, and tries once for less.
# BLPOP of 5 s and more meets redis-py 8's socket_timeout of 5 s (paper/findings/python-redis-lock-waiter.md), so there is none here.
import sys

import redis
import redis_lock

from adapter import failed, serve

RENEWED = sys.argv[1:] == ["renewed"]


class Peer:
    locks = {}

    def open(self, o):
        self.client = redis.StrictRedis.from_url(o.urls[0], socket_timeout=None)
        self.client.ping()

    def acquire(self, o):
        lock = self.locks[o.key] = redis_lock.Lock(self.client, o.key, expire=o.ttl_whole, auto_renewal=RENEWED)
        seconds, most = o.wait_ms // 1000, sys.maxsize if RENEWED else o.ttl_whole  # without renewal it refuses to wait longer than `expire`
        try:
            granted = lock.acquire(timeout=min(seconds, most)) if seconds else lock.acquire(blocking=False)
            while not granted and seconds > most:
                seconds -= most
                granted = lock.acquire(timeout=min(seconds, most))
            return "granted" if granted else "busy"
        except redis.ResponseError as e:
            return failed("error", e)

    def extend(self, o):
        try:
            self.locks[o.key].extend(o.ttl_whole)
        except redis_lock.NotAcquired:
            return "lost"

    def holds(self, o):
        return "ok" if self.locks[o.key].get_owner_id() == self.locks[o.key].id else "lost"

    def release(self, o):
        try:
            self.locks[o.key].release()
        except redis_lock.NotAcquired:
            return "lost"


serve(Peer(), name="python-redis-lock" + ("-renewed" if RENEWED else ""), version=redis_lock.__version__, topologies="redis",
      ends="session" if RENEWED else "lease", can="holds" if RENEWED else "extend,holds", record="lock:{key}")
