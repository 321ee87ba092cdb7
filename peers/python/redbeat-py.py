#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# celery-redbeat 2.4.2 (PyPI) on redis-py 8.1.0: the lock by which one of several celery beat processes schedules.
#
# Used as redbeat/schedulers.py:634 does at the start of beat: get_redis(app).lock(key, timeout=lock_timeout, sleep=max_interval), its script for extensions, acquire(). tick() extends by
# int(lock_timeout) (:595), close() asks owned() and releases (:611). max_interval is 0.1 s here, not 5 min, and beat waits without end.
# It promises (https://redbeat.readthedocs.io/en/latest/intro.html): "Prevent accidentally running multiple Beat servers".
# What breaks it: a beat that is paused for longer than lock_timeout, and a failover that loses the key. It hears of that at its next tick.
# What it keeps to itself: an exception at the start leaves a scheduler with a lock_key and without a lock (:638). A lock_timeout below 1 s is extended by 0 s (:595), which ends the hold.
import importlib.metadata

from celery import Celery
from redbeat import schedulers
from redis import exceptions

from adapter import failed, serve, value


class Peer:
    locks = {}

    def open(self, o):
        user, password = o.login()
        app = Celery(broker_url=o.urls[0], set_as_current=False)
        app.conf.redbeat_redis_url, app.conf.redbeat_redis_options = o.urls[0], {}
        if o.servers[0].scheme == "sentinel":
            login = {"username": user, "password": password} if password else {}
            app.conf.redbeat_redis_url = "redis-sentinel"
            app.conf.redbeat_redis_options = {"sentinels": [(s.hostname, s.port) for s in o.servers], "service_name": o.master, "socket_timeout": 0.1, "sentinel_kwargs": {**login, "socket_timeout": 0.1}, **login}
        self.client = schedulers.get_redis(app)
        self.client.ping()

    def acquire(self, o):
        lock = self.locks[o.key] = self.client.lock(o.key, timeout=o.ttl_whole, sleep=0.1)
        lock.lua_extend = self.client.register_script(schedulers.LUA_EXTEND_TO_SCRIPT)
        try:
            return "granted token=" + value(lock.local.token.decode()) if lock.acquire(blocking=o.wait_ms > 0, blocking_timeout=o.wait) else "busy"
        except exceptions.ResponseError as e:
            return failed("error", e)

    def extend(self, o):
        try:
            self.locks[o.key].extend(o.ttl_whole)
        except exceptions.LockNotOwnedError:
            return "lost"

    def holds(self, o):
        return "ok" if self.locks[o.key].owned() else "lost"

    def release(self, o):
        try:
            if not self.locks[o.key].owned():
                return "lost"
            self.locks[o.key].release()
        except exceptions.LockError:  # between the two; or after an acquire without an answer
            return "lost"


serve(Peer(), name="redbeat", version=importlib.metadata.version("celery-redbeat"), topologies="redis,sentinel", ends="lease", can="extend,holds", record="{key}")
