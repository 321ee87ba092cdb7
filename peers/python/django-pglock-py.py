#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# django-pglock 1.8.0 (PyPI) on Django 5.2 and psycopg 3: a session-level advisory lock as a context manager.
#
# Used as https://django-pglock.readthedocs.io/en/stable/advisory/ says: with pglock.advisory(name, timeout=seconds) as acquired; timeout=0 tries once. A critical section is a request of Django,
# so a connection is made for it and closed behind it (CONN_MAX_AGE is 0 by default); two locks of one client share it.
# It promises: "acquired when entering the context manager and released when exiting"; a wait that ends is lock_timeout.
# What breaks it: the session ends with its connection, and the client hears of that with its next statement; a promoted standby knows of no advisory lock.
# What it keeps to itself: what pg_advisory_unlock() says (pglock/core.py:410), so a release of what is not held any more is a success.
import importlib.metadata

import pgactivity  # noqa: F401
from django.conf import settings

from adapter import failed, serve


class Peer:
    held = {}

    def open(self, o):
        import django
        user, password = o.login()
        settings.configure(INSTALLED_APPS=["pgactivity", "pglock"], DATABASES={"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": user or "lockbench", "PASSWORD": password,
            "HOST": ",".join(s.hostname for s in o.servers), "PORT": ",".join(str(s.port) for s in o.servers),
            "OPTIONS": {"target_session_attrs": "read-write", "application_name": o.client, "sslmode": "require" if o.servers[0].scheme == "postgress" else "prefer"}}})
        django.setup()
        import pglock
        from django import db
        self.pglock, self.db = pglock, db
        db.connection.ensure_connection()

    def request_ends(self):
        """As the signal request_finished does, once no section is open."""
        if not self.held:
            self.db.close_old_connections()

    def acquire(self, o):
        self.request_ends()
        try:
            self.db.connection.ensure_connection()
        except self.db.Error as e:
            return failed("error", e)
        lock = self.pglock.advisory(o.key, timeout=o.wait, shared=o.shared == "yes")
        try:
            acquired = lock.__enter__()
        except self.db.Error as e:
            known = getattr(e.__cause__, "sqlstate", None) and not self.db.connection.connection.closed
            return failed("error" if known else "unknown", e)
        if acquired and self.db.connection.connection and self.db.connection.connection.closed:
            return "unknown the connection is closed"
        if acquired:
            self.held.setdefault(o.key, []).append(lock)
        return "granted" if acquired else "busy"

    def release(self, o):
        locks = self.held.get(o.key, [])
        lock = locks.pop() if locks else None
        if not locks:
            self.held.pop(o.key, None)
        try:
            if lock:
                lock.__exit__(None, None, None)
            return "ok" if lock else "lost"
        except self.db.Error as e:
            gone = self.db.connection.connection is None or self.db.connection.connection.closed
            return "lost" if gone else failed("unknown", e)  # it ended with its session
        finally:
            self.request_ends()


serve(Peer(), name="django-pglock", version=importlib.metadata.version("django-pglock"), topologies="pg,pg-sync,pg-async", ends="session", can="reentrant,shared", record="advisory")
