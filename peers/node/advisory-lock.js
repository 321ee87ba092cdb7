/* SPDX-License-Identifier: MIT
 *
 * advisory-lock.js - npm's advisory-lock: a session-level advisory lock of PostgreSQL, on a connection of its own for each lock.
 *
 * What it promises (https://github.com/olalonde/advisory-lock), README, first line: "Distributed locking using PostgreSQL advisory locks", with the note "Your PostgreSQL database being a
 * central point of failure"; among the use cases: "make absolutely sure there will never be more than one process active at any given time",
 * and the election of a leader. "Usage": `lock` "Blocks and waits for lock acquisition", `tryLock` "Returns an unlock() function if the lock was
 * acquired and undefined otherwise".
 *
 * Used as in "Usage": `lock()`, or `tryLock()` for a wait of nothing. `lock` waits without end, so the wait stands in the connection string, as
 * lock_timeout of PostgreSQL (the library takes any connection string). The number is the first 64 bits of the SHA-256 of the name.
 *
 * Breaks:
 * - A restart of the server or a failover: no other server knows of the lock.
 * - A lost connection: the library listens to no error of its connection ("TODO: catch db disconnection errors?", build/index.js:203), so
 *   Node ends the process for an unhandled 'error' event. That is how a holder is told. Here it is told as a loss.
 * - A network that goes silent: no keepalive is set, so a holder is not told, and a try has no end.
 */
'use strict';
const { load, serve, tell, text, versionOf } = require('./adapter.js');
const advisoryLock = load('advisory-lock').default;

let server = '';
let unlock = null;

process.on('uncaughtException', (error) => {
  if (unlock) tell('lost', error);
  console.error(text(error));
});

/** The connection string: that of the server, with the wait as lock_timeout. */
function address(wait_ms) {
  const url = new URL(server);
  if (wait_ms > 0) url.searchParams.set('lock_timeout', String(wait_ms));
  return url.href;
}

serve(
  {
    name: 'advisory-lock',
    version: versionOf('advisory-lock'),
    topologies: 'pg,pg-async,pg-sync',
    ends: 'session',
    can: 'signal',
    record: 'advisory',
  },
  {
    async open(request) {
      const url = new URL(request.server[0]);
      if (url.protocol === 'postgress:') url.searchParams.set('sslmode', 'require');
      if (!url.pathname || url.pathname === '/') url.pathname = '/postgres';
      server = url.href.replace(/^postgress:/, 'postgres:');
    },
    async acquire({ key, wait_ms }) {
      const mutex = advisoryLock(address(wait_ms))(key);
      unlock = null;
      try {
        unlock = (await (wait_ms > 0 ? mutex.lock() : mutex.tryLock())) || null;
      } catch (error) {
        if (error.code === '55P03') return 'busy'; /* lock_not_available: the wait is over */
        /* Each try has a connection of its own, and the lock ends with it. A refused connection has asked for nothing. */
        return `${error.code === 'ECONNREFUSED' ? 'error' : 'unknown'} ${text(error)}`;
      }
      return unlock ? 'granted' : 'busy';
    },
    async release() {
      if (!unlock) return 'lost'; /* the library gave out nothing that could be released */
      const held = unlock;
      unlock = null;
      await held(); /* drops what pg_advisory_unlock says */
    },
  },
);
