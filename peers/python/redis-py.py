#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# redis-py: redis.lock.Lock, on one server and with Sentinel. 4.3.4 (python3-redis 4.3.4-3), and with the argument `redis-py-8` 8.1.0 of PyPI.
# With the argument `valkey-py` valkey.lock.Lock of valkey 6.2.0 (PyPI), https://valkey-py.readthedocs.io: the same file (redis-py 5), without the repetitions of 8.
#
# Used as https://redis.readthedocs.io/en/v4.3.4/ says: redis.Redis(host, port), which has no socket_timeout; with Sentinel the README's
# Sentinel([...], socket_timeout=0.1) and master_for(name, socket_timeout=0.1). The lock: client.lock(name, timeout=), acquire(blocking_timeout=), sleep 0.1 s.
# It promises (redis/lock.py:11) "A shared, distributed Lock ... across processes and/or machines"; a release and an extension
# compare a token in a script (lock.py:25).
# What breaks it: a hold that lasts longer than `timeout`, and a failover that loses the key. It tells of neither.
# What it keeps to itself: the token of an acquire without an answer (lock.py:207: it is kept after the reply), so that lock cannot be released; and a release
# forgets the token before it asks (lock.py:252), so it cannot be tried again.
# 8.1.0 has a socket_timeout of 5 s, and redis.Redis(host, port) sends a command whose connection broke up to 10 times more (redis/_defaults.py:7, :37), SET NX too: it meets its own key.
import importlib
import sys

from adapter import failed, serve, value

NAME = (sys.argv[1:] or ["redis-py"])[0]
FORK = NAME == "valkey-py"
redis = importlib.import_module("valkey" if FORK else "redis")
exceptions, Sentinel = redis.exceptions, redis.sentinel.Sentinel

# The server said no: nothing was done.
REFUSED = (exceptions.ResponseError, exceptions.AuthenticationError, exceptions.BusyLoadingError)


def never_sent(error):
    """No connection was made, so no request left (redis/connection.py, connect)."""
    return isinstance(error, redis.RedisError) and ("onnecting to " in str(error) or "No master found" in str(error))


class Peer:
    locks = {}

    def open(self, o):
        user, password = o.login()
        if o.servers[0].scheme == "sentinel":
            login = {"username": user, "password": password}
            sentinel = Sentinel([(s.hostname, s.port) for s in o.servers], socket_timeout=0.1, sentinel_kwargs={**login, "socket_timeout": 0.1})
            self.client = sentinel.master_for(o.master, socket_timeout=0.1, **login)
        elif NAME == "redis-py-8" and o.servers[0].scheme == "redis":  # what from_url() does not repeat, this does
            self.client = redis.Redis(host=o.servers[0].hostname, port=o.servers[0].port, username=user, password=password)
        else:
            self.client = redis.Redis.from_url(o.urls[0].replace("redis", "valkey", 1) if FORK else o.urls[0])
        self.client.ping()

    def acquire(self, o):
        lock = self.locks[o.key] = self.client.lock(o.key, timeout=o.ttl)
        try:
            if lock.acquire(blocking=o.wait_ms > 0, blocking_timeout=o.wait):
                return "granted token=" + value(lock.local.token.decode())
            return "busy"
        except REFUSED as e:
            return failed("error", e)
        except redis.RedisError as e:
            if never_sent(e):
                return failed("error", e)
            return failed("unknown", e)

    def extend(self, o):
        try:
            self.locks[o.key].extend(o.ttl, replace_ttl=True)
        except exceptions.LockNotOwnedError:
            return "lost"
        except REFUSED as e:
            return failed("error", e)

    def holds(self, o):
        return "ok" if self.locks[o.key].owned() else "lost"

    def release(self, o):
        try:
            self.locks[o.key].release()
        except exceptions.LockNotOwnedError:
            return "lost"
        except REFUSED as e:
            return failed("error", e)
        except exceptions.LockError as e:  # "Cannot release an unlocked lock": after an acquire or a release without an answer, the library cannot end it
            return "lost"
        except redis.RedisError as e:
            return failed("unknown", e)


serve(Peer(), name=NAME, version=redis.__version__, topologies="redis,sentinel", ends="lease", can="extend,holds", record="{key}")
