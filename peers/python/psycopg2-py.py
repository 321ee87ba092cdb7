#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# psycopg2 2.9.5 (python3-psycopg2 2.9.5-1+b1): a session-level advisory lock, as people write it. With the argument `psycopg` the same with psycopg 3.3.9 of PyPI.
#
# There is no class for it: a connection in autocommit, the number made of a name by a hash, lock_timeout and pg_advisory_lock(), or pg_try_advisory_lock() for one
# try (https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS). Several servers: several hosts and target_session_attrs=read-write, as
# https://www.postgresql.org/docs/15/libpq-connect.html says. No timeouts, as neither page sets one.
# PostgreSQL promises (docs/15/explicit-locking.html, 13.3.5): "held until explicitly released or the session ends". What breaks it: the session ends with its connection, and
# the client hears of that with its next statement; a promoted standby knows of no advisory lock; two names can have one hash.
# Neither tells of anything by itself: connection.closed is set when a statement has failed.
import hashlib
import importlib
import sys

from adapter import failed, serve

NAME = (sys.argv[1:] or ["psycopg2"])[0]
library, errors = importlib.import_module(NAME), importlib.import_module(NAME + ".errors")


def number(name):
    """64 bits, signed, as pg_advisory_lock wants them."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


class Peer:
    connection = None

    def open(self, o):
        user, password = o.login()
        self.where = dict(host=",".join(s.hostname for s in o.servers), port=",".join(str(s.port) for s in o.servers), dbname="postgres",
                          target_session_attrs="read-write", user=user or "lockbench", password=password, application_name=o.client,
                          sslmode="require" if o.servers[0].scheme == "postgress" else "prefer")
        self.connect()

    def connect(self):
        if self.connection is None or self.connection.closed:
            self.connection = library.connect(**self.where)
            self.connection.autocommit = True

    def ask(self, statement, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()[0] if cursor.description else None

    def acquire(self, o):
        try:
            self.connect()
        except library.OperationalError as e:
            return failed("error", e)
        try:
            if o.wait_ms == 0:
                return "granted" if self.ask("SELECT pg_try_advisory_lock(%s)", number(o.key)) else "busy"
            self.ask("SELECT set_config('lock_timeout', %s, false)", str(o.wait_ms))
            self.ask("SELECT pg_advisory_lock(%s)", number(o.key))
            return "granted"
        except errors.LockNotAvailable:
            return "busy"
        except library.Error as e:
            # Where the server has answered and the session lives, the statement did nothing.
            return failed("error" if e.diag.sqlstate and not self.connection.closed else "unknown", e)

    def release(self, o):
        if self.connection is None or self.connection.closed:
            return "lost"  # it ended with its session
        return "ok" if self.ask("SELECT pg_advisory_unlock(%s)", number(o.key)) else "lost"


serve(Peer(), name=NAME, version=library.__version__.split()[0], topologies="pg,pg-sync,pg-async", ends="session", can="", record="advisory")
