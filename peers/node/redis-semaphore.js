/* SPDX-License-Identifier: MIT
 *
 * redis-semaphore.js - npm's redis-semaphore with ioredis: its Mutex (a key on one Redis) or, with the argument `redlock`, its RedlockMutex.
 * Asked for several permits, its Semaphore: a sorted set whose scores are times of the clients (lib/semaphore/acquire/index.js).
 *
 * What it promises (https://github.com/swarthy/redis-semaphore), README, "Features": "Fail-safe (all actions performed by LUA scripts (atomic))"; "Mutex": a lock with a timeout that is
 * refreshed by itself every lockTimeout * 0.8; "onLockLost - function, called when lock loss is detected due refresh cycle"; "It's safe
 * to always call release, because if lock is no longer belongs to this mutex, .release() will have no effect". "RedlockMutex": "Distributed
 * Mutex version", see "The Redlock algorithm". Nothing is said of failovers, pauses or clocks.
 *
 * Used as in "Example with lost lock handling" and, for a wait of nothing, "Example with optional lock": a Mutex per acquire, refreshed by
 * default, so a hold lasts until onLockLost; acquireTimeout is the wait, retryInterval the default of 10 ms.
 *
 * Breaks:
 * - A Redis that forgets (Mutex on a failover), a pause that is longer than the lease: told only by the next refresh.
 * - A refresh that gets no reply never ends with the defaults of ioredis; while it runs, all later ones are skipped (lib/Lock.js:53), and nobody
 *   is told. RedlockMutex waits for all servers (lib/redlockMutex/refresh.js:18), so one silent server is enough.
 * - A refresh of Mutex that fails is an unhandled rejection, not onLockLost (lib/Lock.js:58-74 has no catch); Node ends the process for it. Here it is told as a doubt.
 * - An acquire that failed without a reply may have set the key. `release` then sends nothing (lib/Lock.js:149), so the key
 *   stays until its end.
 * - RedlockMutex does not compare the time that its votes took with the lease (lib/redlockMutex/acquire.js:24-27).
 * - `release` does not say whether there was anything left to release (lib/mutex/release.js drops the answer).
 */
'use strict';
const { clients, load, serve, tell, text, versionOf } = require('./adapter.js');
const { Mutex, RedlockMutex, Semaphore, TimeoutError } = load('redis-semaphore');

const many = process.argv[2] === 'redlock';
let servers = [];
/* RedlockMutex hides whether its servers refused or failed (redlockMutex/acquire.js:23): with all of them connected, they refused. */
const taken = () => (servers.every((s) => s.status === 'ready') ? 'busy' : 'timeout');
let mutex = null;

/* The README names no handler for a failed refresh. The default of Node is to end the process. */
process.on('unhandledRejection', (error) => tell('doubt', error));

serve(
  {
    name: many ? 'redis-semaphore-redlock' : 'redis-semaphore',
    version: versionOf('redis-semaphore'),
    topologies: many ? 'redis-x3,redis-x5' : 'redis,sentinel',
    ends: 'session',
    can: many ? 'signal' : 'signal,permits',
    record: 'mutex:{key}',
  },
  {
    async open(request) {
      servers = clients(request);
    },
    async acquire({ key, ttl_ms, wait_ms, permits }) {
      const options = {
        lockTimeout: ttl_ms,
        onLockLost(error) {
          tell('lost', error);
        },
      };
      if (wait_ms > 0) options.acquireTimeout = wait_ms;
      else options.acquireAttemptsLimit = 1;
      if (permits > 1) mutex = new Semaphore(servers[0], key, Number(permits), options);
      else mutex = many ? new RedlockMutex(servers, key, options) : new Mutex(servers[0], key, options);
      try {
        if (wait_ms > 0) await mutex.acquire();
        else if (!(await mutex.tryAcquire())) return taken();
      } catch (error) {
        if (error instanceof TimeoutError) return taken();
        return `unknown ${text(error)}`;
      }
      return `granted token=${mutex.identifier}`;
    },
    async release() {
      const held = mutex && mutex.isAcquired;
      if (mutex) await mutex.release();
      if (held) return 'ok';
      return 'lost'; /* it sends nothing for a lock that it did not give out */
    },
  },
);
