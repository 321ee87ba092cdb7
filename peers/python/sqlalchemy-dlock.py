#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# sqlalchemy-dlock 0.9.0 (PyPI) on SQLAlchemy 2.1.9 and psycopg 3.3.9: create_sadlock() of a connection, on PostgreSQL.
#
# Used as https://sqlalchemy-dlock.readthedocs.io/ ("Basic usage") says: with engine.connect() as connection: lock = create_sadlock(connection, key); lock.acquire(block=, timeout=); release().
# Several servers: several hosts and target_session_attrs=read-write, as libpq has it. A connection is taken for a section and given back behind it.
# It promises: "a distributed-lock library based on database and SQLAlchemy", a session-level advisory lock by default. A wait asks once a second (its `interval`).
# What breaks it: the session ends with its connection, and the client hears of that with its next statement; a promoted standby knows of no advisory lock.
# What it keeps to itself: connect() begins a transaction, so a section idles in one; after an error of the database in there the release is refused as any other statement.
import importlib.metadata

from sqlalchemy import URL, create_engine, exc
from sqlalchemy_dlock import create_sadlock
from sqlalchemy_dlock.exceptions import SqlAlchemyDLockDatabaseError

from adapter import failed, serve


class Peer:
    held = {}

    def open(self, o):
        user, password = o.login()
        query = {"host": ["%s:%d" % (s.hostname, s.port) for s in o.servers], "target_session_attrs": "read-write", "application_name": o.client,
                 "sslmode": "require" if o.servers[0].scheme == "postgress" else "prefer"}
        self.engine = create_engine(URL.create("postgresql+psycopg", user or "lockbench", password, database="postgres", query=query))
        self.engine.connect().close()

    def acquire(self, o):
        try:
            connection = self.engine.connect()
        except exc.OperationalError as e:
            return failed("error", e)
        try:
            lock = create_sadlock(connection, o.key)
            if lock.acquire(timeout=o.wait) if o.wait_ms else lock.acquire(block=False):
                self.held[o.key] = connection, lock
                return "granted"
        except exc.DBAPIError as e:
            kind = "unknown" if e.connection_invalidated else "error"
            connection.invalidate()
            return failed(kind, e)
        connection.close()
        return "busy"

    def release(self, o):
        connection, lock = self.held.pop(o.key, (None, None))
        if connection is None:
            return "lost"
        try:
            lock.release()
        except SqlAlchemyDLockDatabaseError:
            return "lost"
        except exc.DBAPIError as e:
            return "lost" if e.connection_invalidated else failed("unknown", e)  # it ended with its session
        finally:
            connection.close()


serve(Peer(), name="sqlalchemy-dlock", version=importlib.metadata.version("sqlalchemy-dlock"), topologies="pg,pg-sync,pg-async", ends="session", can="", record="advisory")
