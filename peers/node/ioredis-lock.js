/* SPDX-License-Identifier: MIT
 *
 * ioredis-lock.js - npm's @microfleet/ioredis-lock with ioredis: a key on one Redis, with a UUID.
 *
 * What it promises (https://github.com/microfleet/ioredis-lock), README, "Overview": "both atomic acquire and release operations, avoiding race conditions among clients";
 * "Implementation": SET PX NX, and scripts that compare the UUID before they delete or extend. Nothing is said of failovers, pauses or clocks.
 *
 * Used as in "Class: Lock": a Lock per acquire, `acquire`, `extend`, `release`. The delay between tries is the default, 50 ms and at random up to a
 * fifth more (lib/lock.js:20-21); as many retries as never wait longer than wait_ms. (The README says that there is none by default; there are 6.)
 *
 * Breaks:
 * - A Redis that forgets, a pause that is longer than the lease, a clock of the server that jumps. Nobody is told of a lost lock.
 * - Every failure is a LockAcquisitionError, also a connection that broke (lib/lock.js:72-74): only its text says which.
 * - An acquire that failed without a reply may have set the key. `release` refuses then (lib/lock.js:115-116), so the key stays until its end.
 *   ioredis sends a SET again after it has connected again, which the key of the first one refuses.
 * - A request without a reply has no end in the library.
 */
'use strict';
const { clients, imported, serve, text, versionOf } = require('./adapter.js');

const LONGEST_DELAY_MS = 50 * 1.2;
let createLock = null;
let client = null;
let lock = null;

/** The library has one class for "no" and for a failure, with the text of the failure. */
const meant = (error, no, answer) => (no.test(error.message) ? answer : `unknown ${text(error)}`);

serve(
  {
    name: 'ioredis-lock',
    version: versionOf('@microfleet/ioredis-lock'),
    topologies: 'redis,sentinel',
    ends: 'lease',
    can: 'extend',
    record: '{key}',
  },
  {
    async open(request) {
      ({ createLock } = await imported('@microfleet/ioredis-lock'));
      [client] = clients(request);
    },
    async acquire({ key, ttl_ms, wait_ms }) {
      lock = createLock(client, { timeout: ttl_ms, retries: Math.floor(wait_ms / LONGEST_DELAY_MS) });
      try {
        await lock.acquire(key);
      } catch (error) {
        lock = null; /* it gave out nothing that could be released */
        return meant(error, /^Could not acquire lock on /, 'busy');
      }
      return 'granted';
    },
    async extend({ ttl_ms }) {
      if (!lock) return 'lost';
      try {
        await lock.extend(ttl_ms);
      } catch (error) {
        return meant(error, / had expired$|^Lock has not been acquired$/, 'lost');
      }
      return 'ok';
    },
    async release() {
      if (!lock) return 'lost';
      try {
        await lock.release();
      } catch (error) {
        return meant(error, / had expired$|^Lock has not been acquired$/, 'lost');
      }
      return 'ok';
    },
  },
);
