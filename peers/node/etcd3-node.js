/* SPDX-License-Identifier: MIT
 *
 * etcd3-node.js - the Lock of npm's etcd3: a key that may not exist yet, put under a lease of its own that the library keeps alive.
 *
 * What it promises (https://microsoft.github.io/etcd3/classes/lock.html, which are the comments of lib/lock.d.ts): "used for distributed locking to create
 * atomic operations across multiple systems"; "If the server the lock is running on dies, or the network is disconnected, etcd will time
 * out the lock"; "in certain rare situations (a network disconnect or wholesale etcd failure), the caller may lose the lock while operations
 * may still be running". Reads and writes of a lost lock are not promised to be refused.
 *
 * Used as these comments say: `client.lock(key).ttl(seconds).acquire()` and `release()`, which are what `do()` is made of. The ttl is in whole
 * seconds, at least one. The Lock does not wait: acquire fails if the key is there. So this adapter tries again every 100 ms, as a caller
 * has to; each try grants a lease and revokes it again.
 *
 * Breaks:
 * - A lost lease: the Lease knows and says so (its event `lost`), yet the Lock keeps the Lease private (lib/lock.d.ts:35) and has no event, so its caller
 *   is not told. A hold here lasts until it is released, as it does for that caller.
 * - An acquire without a reply has no deadline by default. If it fails after the lease was granted, the lease is not revoked (lib/lock.js:64-79) but kept alive, and
 *   the key with it, until the caller releases what it was never given.
 * - The lease counts as alive up to twice its ttl without an answer (lib/lease.js:223).
 */
'use strict';
const { load, parts, serve, text, versionOf } = require('./adapter.js');
const { Etcd3, EtcdLockFailedError } = load('etcd3');

const RETRY_MS = 100;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let etcd = null;
let lock = null;

serve(
  {
    name: 'etcd3-node',
    version: versionOf('etcd3'),
    topologies: 'etcd-x3,etcd',
    ends: 'session',
    can: '',
    record: '{key}',
  },
  {
    async open(request) {
      const servers = request.server.map(parts);
      const { username, password } = servers[0];
      etcd = new Etcd3({
        hosts: servers.map(({ scheme, host, port }) =>
          `${scheme === 'etcds' ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`),
        auth: username ? { username, password } : undefined,
      });
    },
    async acquire({ key, ttl_ms, wait_ms }) {
      const deadline = Date.now() + wait_ms;
      for (;;) {
        lock = etcd.lock(key).ttl(Math.max(1, Math.ceil(ttl_ms / 1000)));
        try {
          await lock.acquire();
          return 'granted';
        } catch (error) {
          if (!(error instanceof EtcdLockFailedError)) return `unknown ${text(error)}`; /* `lock` stays, to be released */
          lock = null;
        }
        if (Date.now() + RETRY_MS > deadline) return 'busy';
        await sleep(RETRY_MS);
      }
    },
    async release() {
      if (!lock) return 'lost';
      const held = lock;
      lock = null;
      await held.release(); /* says nothing if the lease was over long ago (lib/lease.js:147-150) */
    },
  },
);
