#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Redlock in Python on redis-py 8.1.0, both of PyPI: with the argument `pottery` Redlock of pottery 3.0.1, with `redlock-py` that of redlock-py 1.0.8.
#
# pottery, used as https://github.com/brainix/pottery#readme ("Redlock") says: Redlock(key=, masters={...}, auto_release_time=), acquire(blocking=, timeout=), extend(), release().
# It promises: "safely and reliably coordinate access to a resource shared across threads, processes, and even machines". It asks all masters at once and waits for a majority.
# redlock-py, used as https://github.com/SPSCommerce/redlock-py#readme says: Redlock([...]).lock(name, ttl in ms), unlock(lock). It asks one after the other.
# It promises an implementation of "the algorithm found at the redis.io documentation", with a validity in ms.
# What breaks both: a holder that works longer than the lease, and a master that restarts empty. Neither tells of a loss.
# What they keep to themselves. pottery: an extension is a success without a look at the time that is left (redlock.py:544), and `num_extensions` is 3 by default; it is without a limit here.
# redlock-py: with a majority and one server that fails, lock() raises and leaves its keys (redlock/__init__.py:112), and hands out nothing to release them with; unlock() hides every
# error and every key that is not its own any more (:80, :82); it measures by the wall clock (:100, :108).
import importlib.metadata
import sys

import pottery
import redis
import redlock

from adapter import failed, serve, value

WHICH = sys.argv[1] if sys.argv[1:] in (["pottery"], ["redlock-py"]) else sys.exit("redlock-py.py: expected pottery or redlock-py, got '%s'" % " ".join(sys.argv[1:]))


class Pottery:
    def open(self, o):
        self.locks, self.masters = {}, {redis.Redis.from_url(url) for url in o.urls}

    def acquire(self, o):
        lock = self.locks[o.key] = pottery.Redlock(key=o.key, masters=self.masters, auto_release_time=o.ttl, num_extensions=sys.maxsize)
        return "granted" if (lock.acquire(timeout=o.wait) if o.wait_ms else lock.acquire(blocking=False)) else "busy"

    def extend(self, o):
        try:
            self.locks[o.key].auto_release_time = o.ttl
            self.locks[o.key].extend()
        except pottery.ExtendUnlockedLock:
            return "lost"

    def holds(self, o):
        return "ok" if self.locks[o.key].locked() else "lost"

    def release(self, o):
        try:
            self.locks[o.key].release()
        except pottery.ReleaseUnlockedLock:
            return "lost"


class RedlockPy:
    def open(self, o):
        self.locks, self.urls = {}, o.urls

    def acquire(self, o):
        self.locks.pop(o.key, None)
        manager = redlock.Redlock(self.urls, retry_count=max(1, o.wait_ms // 200), retry_delay=0.2)
        try:
            lock = manager.lock(o.key, o.ttl_ms)
        except redlock.MultipleRedlockException as e:
            return failed("unknown", e)
        if not lock:
            return "busy"
        self.locks[o.key] = manager, lock
        return "granted token=%s validity_ms=%d" % (value(lock.key.decode()), lock.validity)

    def release(self, o):
        if o.key not in self.locks:
            return "lost"
        manager, lock = self.locks.pop(o.key)
        manager.unlock(lock)


if WHICH == "pottery":
    serve(Pottery(), name=WHICH, version=importlib.metadata.version(WHICH), topologies="redis-x3,redis-x5", ends="lease", can="extend,holds", record="redlock:{key}")
else:
    serve(RedlockPy(), name=WHICH, version=importlib.metadata.version(WHICH), topologies="redis-x3,redis-x5", ends="lease", can="validity", record="{key}")
