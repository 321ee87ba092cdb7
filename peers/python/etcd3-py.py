#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# etcd3 0.12.0 (python3-etcd3 0.12.0-2): etcd3.Lock.
#
# Used as https://python-etcd3.readthedocs.io/en/v0.12.0/usage.html says: etcd3.client(host, port), client.lock(name, ttl=), acquire(timeout=), refresh(), release().
# The client knows one endpoint and has no timeout by default. The ttl is in whole seconds (rounded up). The documentation promises (etcd3/locks.py:29):
# "The lock will be released after this time elapses, unless refreshed". A release compares the owner (locks.py:111).
# What breaks it: a hold that lasts longer than the ttl. It tells of nothing.
# What it keeps to itself: in Debian 12 acquire(timeout=1) raises TypeError when somebody else holds, instead of waiting: tenacity 8 calls wait(retry_state), and
# etcd3 gives it a function of two arguments (locks.py:63; tenacity/__init__.py:329). Only acquire(timeout=0) works, so who waits has to ask again: here every 0.1 s.
# An attempt that was refused leaves its lease behind until it ends (locks.py:83). refresh() does not look at the key, and answers for an ended lease with ttl 0.
import time

import etcd3
from etcd3.exceptions import Etcd3Exception

from adapter import failed, serve, value


class Peer:
    locks = {}

    def open(self, o):
        user, password = o.login()
        login = {"user": user, "password": password} if user else {}
        self.client = etcd3.client(host=o.servers[0].hostname, port=o.servers[0].port, **login)
        self.client.status()

    def acquire(self, o):
        lock = self.locks[o.key] = self.client.lock(o.key, ttl=o.ttl_whole)
        end = time.monotonic() + o.wait
        try:
            while not lock.acquire(timeout=0):
                if time.monotonic() + 0.1 > end:
                    return "busy"
                time.sleep(0.1)
            return "granted token=" + value(lock.uuid.hex())
        except Etcd3Exception as e:
            # Without a lease of its own it has not come to the transaction.
            return failed("error" if lock.lease is None else "unknown", e)

    def extend(self, o):
        lock = self.locks[o.key]
        if lock.lease is None:
            return "lost"
        return "ok" if lock.refresh()[0].TTL > 0 else "lost"

    def holds(self, o):
        return "ok" if self.locks[o.key].is_acquired() else "lost"

    def release(self, o):
        return "ok" if self.locks[o.key].release() else "lost"


serve(Peer(), name="etcd3-py", version=etcd3.__version__, topologies="etcd,etcd-x3", ends="lease", can="extend,holds", record="/locks/{key}")
