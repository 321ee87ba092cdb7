#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# kazoo 2.8.0 (python3-kazoo): ReadLock and WriteLock, for scenarios/museum/kazoo-649.ini. Usage: museum-zk.py kazoo-649 | kazoo-649-mended
#
# It promises what https://zookeeper.apache.org/doc/r3.8.0/recipes.html#Shared+Locks says: readers beside each other, a writer alone.
# What breaks it: https://github.com/python-zk/kazoo/issues/649. A reader is no contender of its own list, so it takes the last writer for its predecessor, also one behind it.
# The mended one looks only at those before it, as pull request 650 does.
import sys

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, LockTimeout
from kazoo.recipe.lock import ReadLock, WriteLock

from adapter import failed, serve


class MendedReadLock(ReadLock):
    def _get_predecessor(self, node):
        before = [n for n in self.client.get_children(self.path) if self._contenders_re.search(n) and n[-10:] < node[-10:]]
        return max(before, key=lambda n: n[-10:], default=None)


class Peer:
    locks, reader = {}, MendedReadLock if sys.argv[1].endswith("-mended") else ReadLock

    def open(self, o):
        self.zk = KazooClient(hosts=o.hosts(), timeout=o.ttl)
        self.zk.start()

    def acquire(self, o):
        lock = self.locks[o.key] = (self.reader if o.shared == "yes" else WriteLock)(self.zk, "/lockbench/" + o.key)
        try:
            taken = lock.acquire(timeout=o.wait) if o.wait_ms else lock.acquire(blocking=False)
            return "granted" if taken else "busy"
        except LockTimeout:
            return "busy"
        except KazooException as e:
            return failed("unknown", e)

    def release(self, o):
        return "ok" if self.locks[o.key].release() else "lost"


serve(Peer(), name=sys.argv[1], version=kazoo.__version__, topologies="zk,zk-x3", ends="session", can="shared", record="/lockbench/{key}")
