#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Locks on Redis with a bug that somebody has published, for scenarios/museum/: museum.py BUG. Each is written anew from its report, and is its mechanism only.
# Lock, of which all are made, promises what https://redis.io/docs/latest/commands/set/ says: SET NX PX with a token, which release and extension compare.
# What breaks each beyond that: the comment of its class, which names the report.
import queue, secrets, sys, threading, time
import redis
from adapter import serve

DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"


class Lock:
    patience = 0.5  # seconds
    def open(self, o):
        self.url, self.name, self.tokens = o.urls[0], o.client, {}
        self.redis = self.connect(self.patience)

    def connect(self, patience):
        return redis.Redis.from_url(self.url, socket_timeout=patience, decode_responses=True)

    def token(self, o):
        return self.tokens.get(o.key, "")

    def take(self, o):
        return self.redis.set(o.key, self.token(o), nx=True, px=o.ttl_ms)

    def acquire(self, o):
        end, self.tokens[o.key], self.ttl_ms = time.monotonic() + o.wait, secrets.token_hex(8), o.ttl_ms
        while not self.take(o):
            if time.monotonic() + 0.05 >= end: return "busy"
            time.sleep(0.02)
        return "granted"

    def extend(self, o):
        return "ok" if self.redis.eval(EXTEND, 1, o.key, self.token(o), o.ttl_ms) else "lost"

    def holds(self, o):
        return "ok" if self.redis.get(o.key) == self.token(o) else "lost"

    def release(self, o):
        return "ok" if self.redis.eval(DELETE, 1, o.key, self.token(o)) else "lost"


class BlindExtension(Lock):  # sibson/redbeat 127: the extension does not ask whose key it is, and is all that a scheduler asks before it goes on
    def extend(self, o):
        return "ok" if self.redis.pexpire(o.key, o.ttl_ms or self.ttl_ms) else "lost"

    holds = extend


class TakesAnew(Lock):  # swarthy/redis-semaphore 175: a refresh that finds no key makes one, and tells nobody that others may have held
    def extend(self, o):
        taken = self.redis.set(o.key, self.token(o), nx=True, px=o.ttl_ms or self.ttl_ms)
        return "ok" if taken or self.redis.eval(EXTEND, 1, o.key, self.token(o), o.ttl_ms or self.ttl_ms) else "lost"

    holds = extend


class Watchdog(Lock):  # redisson 2714: the answer comes when its caller has given up, and starts a watchdog that nobody stops
    def open(self, o):
        super().open(o)
        self.kept, self.jobs, self.slow = set(), queue.Queue(), self.connect(None)
        self.slow.ping()  # connected before links are cut
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        for o, token, said in iter(self.jobs.get, None):
            taken = self.slow.set(o.key, token, nx=True, px=o.ttl_ms)
            if taken:
                self.kept.add(token)
                threading.Thread(target=self.renew, args=(o, token), daemon=True).start()
            said.put(taken)

    def renew(self, o, token):
        while token in self.kept and self.slow.eval(EXTEND, 1, o.key, token, o.ttl_ms): time.sleep(o.ttl / 3)

    def take(self, o):  # its caller is interrupted: an exception, and no lock
        said = queue.Queue()
        self.jobs.put((o, self.token(o), said))
        return said.get(timeout=max(0.2, o.wait))

    def acquire(self, o):
        try:
            return super().acquire(o)
        except queue.Empty:
            return "error interrupted"

    def release(self, o):
        if self.token(o) not in self.kept: return "lost"
        self.kept.discard(self.token(o))
        return super().release(o)


class SharedObject(Lock):  # redis-py 3540: threads (clients, here) share one lock object, whose token is that of whoever took it last
    patience = 20

    def token(self, o):
        return self.redis.get(o.key + ":variable") or ""

    def take(self, o):
        taken = self.redis.set(o.key, self.tokens[o.key], nx=True, px=o.ttl_ms)
        return taken and self.redis.set(o.key + ":variable", self.tokens[o.key], px=10 * o.ttl_ms)


class Reaper(Lock):  # sidekiq-unique-jobs 580: a reaper looks for the worker of a lock under another name, and takes the lock for an orphan
    def acquire(self, o):
        if self.name == "client-3" and not self.redis.exists(o.key + ":workers"): self.redis.delete(o.key)
        return super().acquire(o)

    def take(self, o):
        return super().take(o) and self.redis.set(o.key + ":RUN:workers", self.name, px=o.ttl_ms)


class FreesAtFirst(Lock):  # redisson 2665: who holds is granted once more, and nobody counts
    def acquire(self, o):
        mine = self.tokens.get(o.key)
        return "granted" if mine and self.redis.get(o.key) == mine else super().acquire(o)


class Fair(Lock):  # redisson 1104: each try of a waiter moves the end of its place further away, so that of a dead waiter lasts
    QUEUE = """local now, first = redis.call('time'), nil
        now = now[1] * 1000 + math.floor(now[2] / 1000)
        repeat first = redis.call('lindex', KEYS[2], 0)
          local over = first and tonumber(redis.call('zscore', KEYS[3], first) or '0') <= now
          if over then redis.call('lpop', KEYS[2]); redis.call('zrem', KEYS[3], first) end
        until not over
        if redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[1]) then
          redis.call('lrem', KEYS[2], 0, ARGV[1]); redis.call('zrem', KEYS[3], ARGV[1]); return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) end
        if redis.call('zscore', KEYS[3], ARGV[1]) then redis.call('zincrby', KEYS[3], 2000, ARGV[1])
        else redis.call('zadd', KEYS[3], now + 2000 + math.max(0, redis.call('pttl', KEYS[1])), ARGV[1]); redis.call('rpush', KEYS[2], ARGV[1]) end
        return false"""

    def take(self, o):
        return self.redis.eval(self.QUEUE, 3, o.key, o.key + ":queue", o.key + ":ends", self.token(o), o.ttl_ms)

    def acquire(self, o):
        if super().acquire(o) == "granted": return "granted"
        self.redis.lrem(o.key + ":queue", 0, self.token(o)), self.redis.zrem(o.key + ":ends", self.token(o))
        return "busy"


BUGS = {"redbeat-127": (BlindExtension, "lease", "extend,holds"), "redis-semaphore-175": (TakesAnew, "lease", "extend,holds"), "redisson-2714": (Watchdog, "session", ""),
        "redis-py-3540": (SharedObject, "lease", "holds"), "sidekiq-580": (Reaper, "lease", "holds"), "redisson-2665": (FreesAtFirst, "lease", "holds,reentrant"),
        "redisson-1104": (Fair, "lease", "holds")}
bug, ends, can = BUGS[sys.argv[1]]
serve(bug(), name=sys.argv[1], version=1, topologies="redis", ends=ends, can=can, record="{key}")
