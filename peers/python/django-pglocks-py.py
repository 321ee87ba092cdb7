#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# django-pglocks 1.0.4 (python3-django-pglocks 1.0.4-1) on Django 3.2.25: a session-level advisory lock as a context manager.
#
# Used as its manual says (https://github.com/Xof/django-pglocks, README.rst): with advisory_lock(name) as acquired, which waits without end, or wait=False. A wait that ends is
# PostgreSQL's: SET lock_timeout. A critical section is a request of Django, so a connection is made for it and closed behind it (CONN_MAX_AGE is 0 by default,
# https://docs.djangoproject.com/en/3.2/ref/databases/#persistent-connections); two locks of one client share it.
# It promises: "The lock is released when the context exits, either normally or via exception", and lasts "until the database session disconnects".
# What breaks it: the session ends with its connection, and the client hears of that with its next statement; a promoted standby knows of no advisory lock; a name becomes
# 32 bits (django_pglocks/__init__.py:47, where the manual says 64), so two names can be one lock. Nobody looks at what pg_advisory_unlock() says (line 80).
# And an exception of the database in a transaction: the statement that would release is refused as all others (line 80), so the lock lasts as long as the connection (paper/findings/django-pglocks-aborted.md).
import django_pglocks
from django.conf import settings
from django.db import Error, close_old_connections, connection
from django_pglocks import advisory_lock
from psycopg2 import errors

from adapter import failed, serve


class Peer:
    held = {}  # for each key its contexts

    def open(self, o):
        user, password = o.login()
        settings.configure(DATABASES={"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": user or "lockbench", "PASSWORD": password,
            "HOST": ",".join(s.hostname for s in o.servers), "PORT": ",".join(str(s.port) for s in o.servers),
            "OPTIONS": {"target_session_attrs": "read-write", "application_name": o.client, "sslmode": "require" if o.servers[0].scheme == "postgress" else "prefer"}}})
        connection.ensure_connection()

    def request_ends(self):
        """As the signal request_finished does, once no section is open."""
        if not self.held:
            close_old_connections()

    def acquire(self, o):
        self.request_ends()
        try:
            connection.ensure_connection()
        except Error as e:
            return failed("error", e)
        context = advisory_lock(o.key, wait=o.wait_ms > 0, shared=o.shared == "yes")
        try:
            if o.wait_ms > 0:
                with connection.cursor() as cursor:
                    cursor.execute("SET lock_timeout = %s", [o.wait_ms])
            acquired = context.__enter__()
        except Error as e:
            if isinstance(e.__cause__, errors.LockNotAvailable):
                return "busy"
            # Where the server has answered and the session lives, the statement did nothing.
            return failed("error" if getattr(e.__cause__, "pgcode", None) and not connection.connection.closed else "unknown", e)
        if acquired:
            self.held.setdefault(o.key, []).append(context)
            return "granted"
        context.__exit__(None, None, None)
        return "busy"

    def release(self, o):
        contexts = self.held.get(o.key, [])
        context = contexts.pop() if contexts else None
        if not contexts:
            self.held.pop(o.key, None)
        try:
            if context:
                context.__exit__(None, None, None)
            return "ok" if context else "lost"
        except Error as e:
            return "lost" if connection.connection is None or connection.connection.closed else failed("unknown", e)  # it ended with its session
        finally:
            self.request_ends()


serve(Peer(), name="django-pglocks", version=django_pglocks.__version__, topologies="pg,pg-sync,pg-async", ends="session", can="reentrant,shared", record="advisory")
