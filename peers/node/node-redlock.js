/* SPDX-License-Identifier: MIT
 *
 * node-redlock.js - Redlock as its Node libraries have it, with ioredis: `redlock` 4 and 5 beta, and its heir @sesamecare-oss/redlock.
 * The argument says which: 4, 5 or sesamecare.
 *
 * What each promises (https://github.com/mike-marcacci/node-redlock, https://github.com/sesamecare/redlock), README, first paragraph: "It provides strong guarantees in both single-redis and multi-redis
 * environments, and provides fault tolerance through use of multiple independent redis instances or clusters." In "Using
 * Cluster/Sentinel": with one replicated Redis "it becomes theoretically possible that a lock is acquired twice"; "by requiring consensus
 * between them, we can safely take out or fail-over a minority of nodes without invalidating active locks".
 * "Error Handling": "it does not care if a minority of redis instances/clusters fail at an operation".
 *
 * Used as in their "Usage": lock or acquire, extend, unlock or release. (`using` of 5 renews by itself; it is not what runs here.) The times
 * between tries are the defaults, 200 ms and at random 100 ms less or more; as many tries as never wait longer than wait_ms.
 * `extend` and `release` have all defaults: 5 and sesamecare try these 11 times in about two seconds, also if the lock is somebody else's.
 *
 * Breaks:
 * - Whatever breaks Redlock: a pause of the holder, a clock that jumps, a server that comes back without its keys.
 * - ioredis waits without end for a reply that does not come, and up to 20 attempts to connect for a server that is gone. 4 waits for
 *   every server (redlock.js:411), so one silent server holds up all it does. 5 (dist/cjs/index.js:327, 334) and sesamecare (build/index.js:261,
 *   269) wait for a majority of one opinion: with one yes, one no and one silent server, or with a tie of an even number, without end.
 * - 5 (index.js:213-217) and sesamecare (152-156) grant whatever is left of the lease, also nothing; 4 checks (redlock.js:419). 5 counts the
 *   lease from the first of all tries (index.js:210), so one that waited longer than the ttl is over when it is granted.
 * - 5 and sesamecare leave the keys of a failed try where they are, and the next try takes them for those of somebody else (index.js:13
 *   and 281-298; build/scripts.js:13 and index.js:217-230). 4 takes them away first (redlock.js:424).
 * - 4 takes its keys away on all servers when an extension fails on most, though the lease has not ended (redlock.js:302, 424).
 * Nobody is told of a lost lock: a lease ends in silence.
 */
'use strict';
const { clients, load, serve, text, versionOf } = require('./adapter.js');

const kinds = {
  4: { name: 'node-redlock-4', module: 'redlock-4' },
  5: { name: 'node-redlock-5', module: 'redlock-5' },
  sesamecare: { name: 'sesamecare-redlock', module: '@sesamecare-oss/redlock' },
};
const kind = kinds[process.argv[2]];
if (!kind) {
  console.error(`node-redlock.js: found ${process.argv[2] || 'no argument'}, expected one of ${Object.keys(kinds).join(', ')}`);
  process.exit(2);
}
const old = process.argv[2] === '4';
const library = load(kind.module);
const Redlock = old ? library : library.Redlock || library.default;

const LONGEST_WAIT_MS = 200 + 100; /* between two tries */
let servers = [];
let lock = null;
let errors = 0; /* of clients, since the request began: 4 names the server of none of them */

/* 4 takes a retryCount of 0 for its own calls as "not given" (redlock.js:393), so each wait has an object of its own. */
const byTries = new Map();
function redlock(retryCount) {
  if (!byTries.has(retryCount)) {
    const made = new Redlock(servers, retryCount === undefined ? {} : { retryCount });
    made.on(old ? 'clientError' : 'error', (error) => {
      if (error.name === 'ResourceLockedError') return;
      errors++;
      console.error(text(error));
    });
    byTries.set(retryCount, made);
  }
  return byTries.get(retryCount);
}

/** How a call that found no majority ended: `no` if a majority of the servers refused, else unknown. */
async function refused(error, no) {
  if (old) return error.name === 'LockError' && !errors ? no : `unknown ${text(error)}`;
  if (error.name !== 'ExecutionError' || !error.attempts.length) throw error;
  const all = await Promise.race([error.attempts[error.attempts.length - 1], new Promise((done) => setTimeout(done, 50))]);
  /* The votes are given away only when the last one is in: a silent server withholds them. */
  if (!all) return `unknown a majority was against, not all votes are in: ${text(error)}`;
  const refusals = [...all.votesAgainst.values()].filter((e) => e.name === 'ResourceLockedError');
  return refusals.length >= all.quorumSize ? no : `unknown ${text(error)}: ${[...all.votesAgainst.values()].map(text).join('; ')}`;
}

const validity = () => `validity_ms=${lock.expiration - Date.now()}`;

serve(
  {
    name: kind.name,
    version: versionOf(kind.module),
    topologies: 'redis-x3,redis-x5,redis',
    ends: 'lease',
    can: 'extend,validity',
    record: '{key}',
  },
  {
    async open(request) {
      servers = clients(request);
    },
    async acquire({ key, ttl_ms, wait_ms }) {
      errors = 0;
      lock = null;
      const tries = redlock(Math.floor(wait_ms / LONGEST_WAIT_MS));
      try {
        lock = await (old ? tries.lock(key, ttl_ms) : tries.acquire([key], ttl_ms));
      } catch (error) {
        return refused(error, 'busy');
      }
      return `granted token=${lock.value} ${validity()}`;
    },
    async extend({ ttl_ms }) {
      if (!lock) return 'lost';
      errors = 0;
      if (lock.expiration < Date.now()) return 'lost'; /* the library says the same, with an error that has no votes */
      try {
        lock = await redlock().extend(lock, ttl_ms);
      } catch (error) {
        return refused(error, 'lost');
      }
      return `ok ${validity()}`;
    },
    async release() {
      if (!lock) return 'lost'; /* the library gave out nothing that could be released */
      errors = 0;
      const held = lock;
      lock = null;
      try {
        await redlock().release(held);
      } catch (error) {
        return refused(error, 'lost');
      }
      return 'ok';
    },
  },
);
