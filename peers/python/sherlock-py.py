#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# sherlock 0.4.1 (PyPI) on redis-py 8.1.0: sherlock.RedisLock.
#
# Used as https://sher-lock.readthedocs.io/en/latest/ says: RedisLock(name, client=, expire=, timeout=, retry_interval=), acquire(blocking), renew(), release(). `expire` is in whole seconds.
# It promises "easy-to-use interface for distributed inter-process locks", of `expire`: "If explicitly set to `None`, lock will not expire."
# What breaks it: a hold that lasts longer than `expire`; a failover that loses the key; and expire=None: its script compares ARGV[2] ~= -1, a text with a number, which is always true
# (sherlock/lock.py:416). EXPIRE with -1 then deletes the key that SETNX has just made, so the lock excludes nobody (paper/findings/sherlock-expire-none.md).
# What it keeps to itself: a lost hold, until renew() or release().
import importlib.metadata

import redis
import sherlock

from adapter import failed, serve


class Peer:
    locks = {}

    def open(self, o):
        self.client = redis.StrictRedis.from_url(o.urls[0])
        self.client.ping()

    def acquire(self, o):
        lock = self.locks[o.key] = sherlock.RedisLock(o.key, client=self.client, expire=o.ttl_whole, timeout=o.wait, retry_interval=0.1)
        try:
            return "granted" if lock.acquire(blocking=o.wait_ms > 0) else "busy"
        except sherlock.LockTimeoutException:
            return "busy"
        except redis.ResponseError as e:
            return failed("error", e)

    def extend(self, o):
        self.locks[o.key].expire = o.ttl_whole
        return "ok" if self.locks[o.key].renew() else "lost"

    def release(self, o):
        try:
            self.locks[o.key].release()
        except sherlock.LockException:
            return "lost"


serve(Peer(), name="sherlock", version=importlib.metadata.version("sherlock"), topologies="redis", ends="lease", can="extend", record="{key}")
