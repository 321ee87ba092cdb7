/* SPDX-License-Identifier: MIT
 *
 * redlock-universal.js - npm's redlock-universal with ioredis: createLock (a key on one Redis) or, with the argument `redlock`, createRedlock.
 *
 * What it promises (https://github.com/alexpota/redlock-universal), README, "using() - Recommended": "Auto-extends lock and guarantees cleanup"; "Best Practices": "Handle
 * signal.aborted - gracefully exit when lock is lost during long operations"; "Distributed Lock": "Distributed consensus - survives node failures"; "Redlock: Provides
 * Consensus. Locks are safe even if nodes crash. Use for critical consistency". Its package.json asks for Node 22; it runs on 20.
 *
 * Used as in "using()": a lock per name, whose routine lasts until the release, and the signal tells of a loss. The delay between tries is the
 * default (100 ms, and 200 ms for Redlock); as many tries as never wait longer than wait_ms. The logger hears what `using` keeps to itself.
 *
 * Breaks:
 * - A Redis that forgets (createLock on a failover), a pause that is longer than the lease: told only by the next extension.
 * - A reply is waited for 5 s (dist/index.cjs:274, 392), whatever the lease: an extension that hangs tells of the loss after 0.8 of the ttl and 5 s.
 *   Redlock waits for all servers (1176), and refuses if that took longer than the lease (1196): behind a silent server nobody is granted a shorter one.
 * - createLock grants however long the reply took, and counts the lease from there (812-822).
 * - An acquire that failed without a reply may have set the key, which refuses the tries after it, and nobody deletes it (806-858). Redlock
 *   deletes where it heard a yes only (1240).
 * - A ttl of 1250 ms or less is extended without a pause (487-489): MIN_EXTENSION_INTERVAL is 1 s.
 * - Five failures in a row, and a lock refuses for 60 s (createLock's circuit breaker, in its README).
 * - `using` tells its caller of no failed release (588).
 */
'use strict';
const { clients, load, serve, tell, text, versionOf } = require('./adapter.js');
const { createLock, createRedlock, IoredisAdapter } = load('redlock-universal');

const many = process.argv[2] === 'redlock';
const RETRY_DELAY_MS = many ? 200 : 100;
const locks = new Map();
let servers = [];
let hold = null;
let complaint = null; /* the last one since the request began */

const quiet = () => {};
const logger = { debug: quiet, info: quiet, warn: quiet, error(message, error) { complaint = `${message} ${text(error)}`; } };

/** A lock has a number of tries from its making. */
function lockOf(key, ttl, retryAttempts) {
  const name = `${key} ${ttl} ${retryAttempts}`;
  if (!locks.has(name)) {
    const adapters = servers.map((server) => new IoredisAdapter(server));
    const config = { key, ttl, retryAttempts, logger };
    locks.set(name, many ? createRedlock({ adapters, ...config }) : createLock({ adapter: adapters[0], ...config }));
  }
  return locks.get(name);
}

/** A Redlock hides whether its servers refused or failed: with all of them connected, they refused. */
function refused(error) {
  const why = error.cause ? error.cause.message : '';
  if (/ is already held$/.test(why)) return 'busy';
  if (/^RedLock quorum not achieved/.test(why)) return servers.every((s) => s.status === 'ready') ? 'busy' : 'timeout';
  return `${/^Circuit breaker is /.test(why) ? 'error' : 'unknown'} ${text(error)}`;
}

serve(
  {
    name: many ? 'redlock-universal-redlock' : 'redlock-universal',
    version: versionOf('redlock-universal'),
    topologies: many ? 'redis-x3,redis-x5' : 'redis,sentinel',
    ends: 'session',
    can: 'signal',
    record: '{key}',
  },
  {
    async open(request) {
      servers = clients(request);
    },
    acquire({ key, ttl_ms, wait_ms }) {
      hold = null;
      return new Promise((answer) => {
        const held = { lost: false };
        held.over = lockOf(key, ttl_ms, Math.floor(wait_ms / RETRY_DELAY_MS)).using((signal) => {
          signal.addEventListener('abort', () => {
            held.lost = true;
            if (hold === held) tell('lost', signal.error);
          });
          hold = held;
          answer('granted');
          return new Promise((end) => { held.end = end; });
        });
        held.over.catch((error) => answer(refused(error)));
      });
    },
    async release() {
      if (!hold) return 'lost'; /* there is no routine that could end */
      const held = hold;
      hold = null;
      complaint = null;
      const lost = held.lost; /* after the end an extension that is on the way says so, too */
      held.end();
      await held.over;
      if (complaint) return `unknown ${complaint}`;
      return lost ? 'lost' : 'ok';
    },
  },
);
