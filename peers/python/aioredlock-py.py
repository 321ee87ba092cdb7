#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# aioredlock 0.7.3 (PyPI) on aioredis 1.3.1: Redlock for asyncio; with the argument `renewed` without a lock_timeout, so that its watchdog extends the lock.
#
# Used as https://github.com/joanvila/aioredlock#readme says: Aioredlock([...]), lock(resource, lock_timeout=), extend(lock, lock_timeout=), unlock(lock). A try follows 100 to 300 ms
# after the one before. Without a lock_timeout the lease is internal_lock_timeout, and is extended after 0.6 of it. It asks all servers at once and waits for each.
# It promises: "if the lock is not acquired then the LockError will be raised", "the lock is valid until the unlock function is called or when the lock_timeout is reached".
# What breaks it: a holder that works longer than the lease, and a server that restarts empty. It tells of neither.
# What it keeps to itself: an extension takes a key that is gone or has ended again (aioredlock/redis.py:38), so a lost hold is "extended" after another client had the lock and gave it back.
# A watchdog whose extension fails sets lock.valid to False and cancels itself, without a word (algorithm.py:174, :190). An unlock of a key that is gone is a success (redis.py:48).
# It imports distutils, which Python 3.12 no longer has; setuptools brings it.
import asyncio
import importlib.metadata
import sys
import threading

from aioredlock import Aioredlock, LockError
from aioredlock.errors import LockAcquiringError

from adapter import failed, serve

RENEWED = sys.argv[1:] == ["renewed"]
LONGEST_WAIT_MS = 300  # between two tries


class Peer:
    locks, loop = {}, asyncio.new_event_loop()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def open(self, o):
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

        async def make():
            return Aioredlock(o.urls, internal_lock_timeout=o.ttl)
        self.manager = self.run(make())

    def acquire(self, o):
        self.locks[o.key] = None
        self.manager.retry_count = 1 + o.wait_ms // LONGEST_WAIT_MS
        try:
            self.locks[o.key] = self.run(self.manager.lock(o.key, None if RENEWED else o.ttl))
            return "granted"
        except LockAcquiringError:
            return "busy"
        except LockError as e:
            return failed("unknown", e)

    def extend(self, o):
        try:
            self.run(self.manager.extend(self.locks[o.key], o.ttl))
        except LockAcquiringError:
            return "lost"

    def release(self, o):
        if self.locks[o.key] is None:
            return "lost"
        try:
            self.run(self.manager.unlock(self.locks[o.key]))
        except LockAcquiringError:
            return "lost"


serve(Peer(), name="aioredlock" + ("-renewed" if RENEWED else ""), version=importlib.metadata.version("aioredlock"), topologies="redis-x3,redis-x5,redis",
      ends="session" if RENEWED else "lease", can="" if RENEWED else "extend", record="{key}")
