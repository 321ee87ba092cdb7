/* SPDX-License-Identifier: MIT
 *
 * simple-redis-mutex.js - npm's simple-redis-mutex with node-redis 5: a key on one Redis, a fencing token, and waiters that are woken by Pub/Sub.
 *
 * What it promises (https://github.com/AmrSaber/simple-redis-mutex), readme, "Fencing Token": "an increasing number that is used to identify the order at which locks are
 * acquired, and is used for further safety with writes in distributed systems"; "Double Releasing": "an expired lock cannot be released so it does
 * not release the lock from another holder"; `failAfter`: "it will throw an error" if the lock is not acquired before.
 *
 * Used as in "Examples": `lock` with failAfter as the wait, `tryLock` for a wait of nothing, and the function `release`. The poll that finds an
 * expired lock is a third of the lease, as its defaults are (10 s of 30 s). A release past the lease is called lost here: the library does not say.
 * (refreshTimeout is not used. It has no answer, so a program cannot know whether it still holds.)
 *
 * Breaks:
 * - A Redis that forgets, a pause that is longer than the lease, a clock of the server that jumps. Nobody is told of a lost lock.
 * - The token is drawn by an INCR after the SET (dist/index.js:108, 146): who is late between them has a larger token than the holder after it.
 * - `release` and `refreshTimeout` say nothing, also where the lock is lost (dist/index.js:119, 147). The second asks, and then extends whatever is there.
 * - A waiter that gives up while its SET is on the way sets the key, and nobody can release it (dist/index.js:57-62).
 * - A `tryLock` within `lock` that fails is an unhandled rejection (dist/index.js:57 has no catch); Node ends the process for it. Here it ends the acquire.
 * - node-redis has no limit for a reply: an acquire without failAfter, a release and a refresh may wait without end.
 */
'use strict';
const { load, nodeRedis, serve, text, versionOf } = require('./adapter.js');
const { lock, tryLock } = load('simple-redis-mutex');

let redis = null;
let release = null;
let end = 0; /* of the lease at the latest, by this clock */
let fail = () => {}; /* the acquire that is going on */

/* The readme names no handler for it. The default of Node is to end the process. */
process.on('unhandledRejection', (error) => {
  console.error(text(error));
  fail(error);
});

serve(
  {
    name: 'simple-redis-mutex',
    version: versionOf('simple-redis-mutex'),
    topologies: 'redis',
    ends: 'lease',
    can: 'fence',
    record: '@simple-redis-mutex:lock-{key}',
  },
  {
    async open(request) {
      redis = await nodeRedis('redis', request);
    },
    async acquire({ key, ttl_ms, wait_ms }) {
      release = null;
      const failed = new Promise((_, reject) => { fail = reject; });
      const options = { timeout: ttl_ms, failAfter: wait_ms, pollingInterval: Math.ceil(ttl_ms / 3) };
      try {
        if (wait_ms > 0) {
          release = await Promise.race([lock(redis, key, options), failed]);
        } else {
          const [granted, made] = await tryLock(redis, key, { timeout: ttl_ms });
          if (!granted) return 'busy';
          release = made;
        }
      } catch (error) {
        if (/ could not be acquired after \d+ millis$/.test(error.message)) return 'timeout';
        return `unknown ${text(error)}`;
      } finally {
        fail = () => {};
        failed.catch(() => {});
      }
      end = Date.now() + ttl_ms;
      return `granted fence=${release.fencingToken}`;
    },
    async release() {
      if (!release) return 'lost'; /* the library gave out nothing that could be released */
      await release();
      release = null;
      return Date.now() < end ? 'ok' : 'lost';
    },
  },
);
