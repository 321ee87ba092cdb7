/* SPDX-License-Identifier: MIT
 *
 * warlock.js - npm's node-redis-warlock: a key on one Redis, deleted by its owner only.
 *
 * What it promises (https://github.com/TheDeveloper/warlock), README, first line: "Battle-hardened distributed locking using redis." "Usage": "Lifetime of the lock" is the ttl; "set a
 * lock optimistically" tries again; "each client who knows the lockId can release the lock". Nothing is said of failovers, pauses or clocks.
 *
 * Used as in "Usage": `optimistic`, and the function `unlock` that it hands out. The README waits a tenth of the ttl between tries, and so
 * does this. On one server the client is node-redis 3, the last one with callbacks (4 and later have none, and warlock does not work
 * with them); it knows no Sentinels, so there it is ioredis, which takes callbacks, too.
 *
 * Breaks:
 * - A Redis that forgets, a pause that is longer than the ttl, a clock of the server that jumps. Nobody is told of a lost lock.
 * - `optimistic` does not hand out the id, so what it has taken can not be touched (lib/warlock.js:84, 102): no renewal.
 * - `unlock` swallows every error but NOSCRIPT (node-redis-script/src/index.js): without a reply it says neither yes nor no, and reports no error.
 * - A request without a reply has no end in the library.
 */
'use strict';
const { clients, load, parts, serve, text, versionOf } = require('./adapter.js');
const Warlock = load('node-redis-warlock');

let warlock = null;
let unlock = null;

serve(
  {
    name: 'warlock',
    version: versionOf('node-redis-warlock'),
    topologies: 'redis,sentinel',
    ends: 'lease',
    can: '',
    record: '{key}:lock',
  },
  {
    async open(request) {
      if (request.topology && request.topology.startsWith('sentinel')) {
        warlock = Warlock(clients(request)[0]);
        return;
      }
      const { scheme, host, port, username, password } = parts(request.server[0]);
      const options = { host, port, tls: scheme === 'rediss' ? {} : undefined };
      if (username) options.user = username;
      if (password) options.password = password;
      const redis = load('redis-3').createClient(options);
      redis.on('error', (error) => console.error(text(error)));
      warlock = Warlock(redis);
    },
    acquire({ key, ttl_ms, wait_ms }) {
      const wait = Math.max(10, Math.round(ttl_ms / 10));
      unlock = null;
      return new Promise((answer) => {
        warlock.optimistic(key, ttl_ms, Math.floor(wait_ms / wait) + 1, wait, (error, release) => {
          unlock = release || null;
          if (!error) answer('granted');
          else answer(error.maxAttempts ? 'busy' : `unknown ${text(error)}`);
        });
      });
    },
    release() {
      if (!unlock) return 'lost'; /* the library gave out nothing that could be released */
      return new Promise((answer) => {
        unlock((error, deleted) => {
          if (error) answer(`unknown ${text(error)}`);
          else if (deleted === undefined) answer('unknown the library reported neither an error nor an answer');
          else answer(deleted === 1 ? 'ok' : 'lost');
        });
        unlock = null;
      });
    },
  },
);
