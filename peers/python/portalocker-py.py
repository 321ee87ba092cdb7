#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# portalocker 4.4.2 (PyPI) on redis-py 8.1.0: portalocker.RedisLock, a lock that is a subscription.
#
# Used as https://portalocker.readthedocs.io/en/latest/redis.html says: RedisLock(channel, redis_kwargs=, timeout=, on_lost=), acquire(timeout=, fail_when_locked=), release(). A holder
# listens on the channel of the lock, and answers each client that asks there who holds it. interrupt_on_lost is off, as it will be from 5.0 on.
# It promises (portalocker/redis.py:609): "Ownership ends when Redis removes it, without waiting for a lease to expire", and an `on_lost` callback, which is `lost` here.
# What breaks it: a holder that does not answer within unavailable_timeout (1 s), as its process is paused or its link is cut. A client that asks then kills the holder's connection
# (redis.py:2173), and is granted the lock while the holder works on. The manual says so ("After revocation, a new holder can acquire while the old holder still runs").
# What it keeps to itself: a link without packets. health_check_interval (10 s) and the opt-in self_check_interval find it later than the next holder is granted the lock.
import importlib.metadata

import portalocker
import redis

from adapter import failed, serve, told


class Peer:
    locks = {}

    def open(self, o):
        user, password = o.login()
        self.where = {"host": o.servers[0].hostname, "port": o.servers[0].port, "username": user, "password": password, "ssl": o.servers[0].scheme == "rediss", "ssl_cert_reqs": None}
        self.client = redis.Redis(**self.where)
        self.client.ping()

    def acquire(self, o):
        flags = portalocker.LockFlags.SHARED if o.shared else portalocker.LockFlags.EXCLUSIVE
        lock = self.locks[o.key] = portalocker.RedisLock(o.key, redis_kwargs=self.where, flags=flags, interrupt_on_lost=False, on_lost=lambda _: told("lost", "on_lost was called"))
        try:
            lock.acquire(timeout=o.wait, fail_when_locked=not o.wait_ms)
            return "granted"
        except portalocker.AlreadyLocked:
            return "busy"
        except redis.ResponseError as e:
            return failed("error", e)

    def release(self, o):
        lock = self.locks[o.key]
        held = lock.pubsub is not None and not lock.lost
        lock.release()
        return "ok" if held else "lost"

    def record(self, o):
        client = redis.Redis.from_url(o.urls[0]) if o.urls else self.client
        return "present" if client.pubsub_numsub(o.key)[0][1] else "absent"


serve(Peer(), name="portalocker", version=importlib.metadata.version("portalocker"), topologies="redis", ends="session", can="signal,shared,record", record="")
