#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# kazoo.recipe.lock.Lock of kazoo 2.8.0 (python3-kazoo 2.8.0-2), whose lines are named below; with the argument `kazoo-2-11` that of 2.11.0 of PyPI.
#
# Used as https://kazoo.readthedocs.io/en/2.8.0/basic_usage.html says: KazooClient(hosts), a listener that hears SUSPENDED ("operations should be queued or
# handled carefully") and LOST ("all locks are gone"), start(), then client.Lock(path, identifier).acquire(blocking, timeout). The session's timeout is the ttl.
# It promises (kazoo/recipe/lock.py:59) an exclusive lock that is not re-entrant, as an ephemeral node, in the order of the nodes.
# What breaks it: a holder that goes on after LOST, or that is paused for longer than the session.
# What it keeps to itself: is_acquired stays true after LOST (lock.py:218, nobody resets it), and release() then says True (lock.py:354, NoNodeError is passed
# over). A node that could not be removed after a failed acquire stays as long as the session (lock.py:336, "best effort"): it can block everybody. `timeout`
# bounds each wait, not the sum of them (lock.py:278), and nothing bounds a request while the connection is suspended. LOST is only told when a server is reached
# again (protocol/connection.py:668): who is cut off hears of SUSPENDED and then of nothing.
import sys

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout

from adapter import failed, serve, told


class Peer:
    locks = {}

    def open(self, o):
        self.name = o.client
        user, password = o.login()
        auth = [("digest", "%s:%s" % (user, password))] if user else None
        self.client = KazooClient(hosts=o.hosts(), timeout=o.ttl, auth_data=auth, use_ssl=o.servers[0].scheme == "zookeepers")
        self.client.add_listener(self.changed)
        self.client.start()

    @staticmethod
    def changed(state):
        if state == KazooState.SUSPENDED:
            told("doubt", "SUSPENDED")
        elif state == KazooState.LOST:
            told("lost", "LOST")

    def acquire(self, o):
        lock = self.locks[o.key] = self.client.Lock("/lockbench/" + o.key, self.name)
        try:
            if o.wait_ms == 0:
                return "granted" if lock.acquire(blocking=False) else "busy"
            # False without LockTimeout: its retries were used up without an answer about others.
            return "granted" if lock.acquire(timeout=o.wait) else "timeout"
        except LockTimeout:
            return "busy"
        except KazooException as e:
            return failed("unknown", e)

    def release(self, o):
        if self.locks[o.key].release():
            return "ok"
        return "lost"  # it says False


serve(Peer(), name=(sys.argv[1:] or ["kazoo"])[0], version=kazoo.__version__, topologies="zk-x3,zk", ends="session", can="signal", record="/lockbench/{key}")
