/* SPDX-License-Identifier: MIT
 *
 * redis-lock.js - npm's redis-lock with node-redis 4: a key on one Redis, deleted by whoever thinks that its time is not over.
 *
 * What it promises (https://github.com/errorception/redis-lock), README, "Details": "It's guaranteed that only one function will be called at a time for the same lock";
 * "It's not possible for two functions to acquire the same lock at any point in time, except if the timeout is breached"; `done` "releases the lock (or
 * do nothing if timeout has already released it)"; "If redis is down for any reason, none of the functions are given locks".
 *
 * Used as in "Usage": `lock(name, timeout)` and the function `done`, with the default of 50 ms between tries. `lock` has no end and cannot be given
 * up. What ends it here after the wait is that its client is closed, which each new one replaces; a wait of nothing is shorter than the 50 ms.
 *
 * Breaks:
 * - A Redis that forgets, a pause that is longer than the timeout, a clock of the server that jumps. Nobody is told of a lost lock.
 * - `done` sends DEL without a look at the value, if the client's own clock says that the time is not over (index.js:42-44). So it deletes the lock of
 *   the next holder where the key was lost before, where this clock was set back, or where DEL is late.
 * - Every failure is taken for "busy" (index.js:23): an acquire whose reply was lost waits for the end of its own key, and a wrong password without end.
 * - A request without a reply has no end in the library.
 */
'use strict';
const { load, nodeRedis, serve, text, versionOf } = require('./adapter.js');
const redisLock = load('redis-lock');

const RETRY_DELAY_MS = 50;
let opened = null;
let client = null;
let done = null;

const sleep = (ms) => new Promise((over) => setTimeout(over, ms));

/** Closes the client of an acquire that is given up, after the reply that is on the way. Whether that was a grant is known then. */
async function giveUp(given) {
  const closing = client;
  client = null;
  const broken = new Promise((gone) => closing.once('error', () => gone(false)));
  const closed = closing.isReady && (await Promise.race([closing.quit().then(() => true, () => false), broken]));
  if (!closed && closing.isOpen) await closing.disconnect().catch(() => {});
  await sleep(0);
  if (!given()) return closed ? 'busy' : 'unknown the last try was not answered';
  await closing.connect(); /* the library has ended its tries, and `done` needs this client */
  client = closing;
  done = given();
  return 'granted';
}

serve(
  {
    name: 'redis-lock',
    version: versionOf('redis-lock'),
    topologies: 'redis',
    ends: 'lease',
    can: '',
    record: 'lock.{key}',
  },
  {
    async open(request) {
      opened = request;
      client = await nodeRedis('redis-4', opened);
    },
    async acquire({ key, ttl_ms, wait_ms }) {
      done = null;
      if (!client) client = await nodeRedis('redis-4', opened);
      let given = null;
      const granted = redisLock(client)(key, ttl_ms).then((release) => { given = release; });
      await Promise.race([granted, sleep(Math.max(wait_ms, RETRY_DELAY_MS - 10))]);
      if (!given) return giveUp(() => given);
      done = given;
      return 'granted';
    },
    async release() {
      if (!done) return 'lost'; /* the library gave out nothing that could be released */
      const held = done;
      done = null;
      try {
        return (await held()) === 1 ? 'ok' : 'lost';
      } catch (error) {
        return `unknown ${text(error)}`;
      }
    },
  },
);
