#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# tooz 3.1.0 (python3-tooz 3.1.0-3), with its driver redis, zookeeper, etcd3gw or postgresql: the argument. A second one is the name of the row, tooz-9-...: then it is tooz 9.1.0 of PyPI.
#
# Used as https://docs.openstack.org/tooz/latest/user/tutorial/ says: get_coordinator(url, member), start(start_heart=True) ("heartbeats ... in the background"),
# get_lock(name), acquire(blocking=SECONDS), release(). So a thread renews what is held, and a grant ends when that stops: the ttl, in whole seconds, is `lock_timeout`.
# The tutorial promises that with a lock "you can be sure ... nobody else is executing the same code"; acquire() "returns true if acquired (false if not)".
# What breaks it: a process that is paused or cut off for longer than the ttl; nobody tells it: a heartbeat that finds the lock gone only writes a log line (drivers/redis.py:546)
# or not even that (drivers/etcd3gw.py:161: the answer of refresh() is dropped), and lock.acquired stays true.
# Also: zookeeper: as kazoo. redis: the key begins with b'_tooz', quotes and all (drivers/redis.py:81 formats bytes); an acquire whose connection broke is sent up to 15 times, with a new token each (drivers/redis.py:37, 104): it can be refused by its own key.
# etcd3gw: it does not start in Debian 12, as it gives etcd3gw 2.0.0 an argument that only later versions have (drivers/etcd3gw.py:218,
# etcd3gw/client.py:410); the default api_version v3alpha is gone from etcd 3.4 on, so it is set to v3; one endpoint. etcd3gw, postgresql: a wait that ends in vain raises tenacity.RetryError, not
# False (drivers/etcd3gw.py:85). postgresql: a name becomes two bytes (drivers/pgsql.py:103), so of 65536 names any two may be one lock; an error of the server becomes a TypeError
# (pgsql.py:74 lacks a %); a connection per hold, which idles in a transaction.
import importlib.metadata
import inspect
import sys

import tenacity
import tooz
from tooz import coordination

from adapter import failed, serve

DRIVERS = {  # topologies, ends, can, record
    "redis": ("redis,sentinel", "session", "holds", "b'_tooz'_{key}_lock"),
    "zookeeper": ("zk-x3,zk", "session", "holds", "/lockbench/locks/{key}"),
    "etcd3gw": ("etcd,etcd-x3", "session", "", "/tooz/locks{key}"),
    "postgresql": ("pg,pg-sync,pg-async", "session", "", "advisory"),
}
driver = sys.argv[1] if len(sys.argv) in (2, 3) else ""
if driver not in DRIVERS:
    sys.exit("tooz-py.py: expected one of %s, got '%s'" % (", ".join(DRIVERS), " ".join(sys.argv[1:])))

if driver == "etcd3gw":
    import etcd3gw
    if "api_path" not in inspect.signature(etcd3gw.client).parameters:
        sys.exit("tooz gives etcd3gw.client() an argument api_path, which etcd3gw %s does not have" % importlib.metadata.version("etcd3gw"))


def url(o):
    """What get_coordinator() is given."""
    first = o.servers[0]
    at, ttl = first.netloc, o.ttl_whole
    if driver == "redis" and first.scheme == "sentinel":
        more = "".join("&sentinel_fallback=%s:%d" % (s.hostname, s.port) for s in o.servers[1:])
        return "redis://%s?sentinel=%s%s&timeout=%d&lock_timeout=%d" % (at, o.master, more, ttl, ttl)
    if driver == "redis":
        tls = "&ssl=true" if first.scheme == "rediss" else ""
        return "redis://%s?timeout=%d&lock_timeout=%d%s" % (at, ttl, ttl, tls)
    if driver == "zookeeper":
        more = "".join("&hosts=%s:%d" % (s.hostname, s.port) for s in o.servers[1:])
        return "zookeeper://%s?timeout=%d&namespace=lockbench%s" % (at, ttl, more)
    if driver == "etcd3gw":
        return "etcd3+http%s://%s?api_version=v3&timeout=%d&lock_timeout=%d" % ("s" if first.scheme == "etcds" else "", at, ttl, ttl)
    user = at if "@" in at else "lockbench@" + at  # one host only: the driver gives libpq what urllib splits
    return "postgresql://%s/postgres" % user


class Peer:
    locks = {}

    def open(self, o):
        self.coordinator = coordination.get_coordinator(url(o), ("%s-%s" % (o.prefix, o.client)).encode())
        self.coordinator.start(start_heart=True)

    def acquire(self, o):
        lock = self.locks[o.key] = self.coordinator.get_lock(o.key.encode() if driver != "redis" else o.key)
        try:
            return "granted" if lock.acquire(blocking=o.wait if o.wait_ms else False) else "busy"
        except tenacity.RetryError:
            return "busy"  # its last try was refused, and it had no time for another
        except coordination.LockAcquireFailed as e:
            return failed("error", e)
        except Exception as e:
            if type(e).__name__ == "LockTimeout":
                return "busy"  # of kazoo, which the driver passes on
            return failed("unknown", e)

    def holds(self, o):
        return "ok" if self.locks[o.key].is_still_owner() else "lost"

    def release(self, o):
        if self.locks[o.key].release():
            return "ok"
        return "lost"  # it says False


TOPOLOGIES, ENDS, CAN, RECORD = DRIVERS[driver]
RECORD = RECORD if len(sys.argv) == 2 else RECORD.replace("b'_tooz'", "_tooz")  # 9.1.0 formats no bytes
serve(Peer(), name=(sys.argv[2:] or ["tooz-" + driver])[0], version=importlib.metadata.version("tooz"), topologies=TOPOLOGIES, ends=ENDS, can=CAN, record=RECORD)
