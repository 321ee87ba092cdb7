/* SPDX-License-Identifier: MIT
 *
 * redis-reentrant - a hash of owner and count: whoever holds may take the lock again, and gives it back as often.
 *
 * Promises    One owner per key as long as one and the same Redis server decides, its clock does not jump, and holders stop at
 *             valid_until. An owner that holds is granted the lock again at once; others get it after as many releases. A release or an
 *             extension never touches somebody else's lock.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate. All requests of the owner get an
 *             answer: as shipped the server counts, and it counts requests.
 * Breaks it   A lost reply. A client that got no answer to a take, and sends it again, has counted twice (HINCRBY): its one
 *             release leaves the lock held, until the lease ends. If it comes back before that, it is let in, and the lease begins anew: others
 *             wait for as long as it goes on. Lost the other way, a release that is sent again takes off two, which frees an outer
 *             hold. Then all that breaks a lease in one Redis key: a holder that works on past its lease, a failover or a restart that forgets
 *             the key, a cut-off old master, a jump of the server's clock. And a nested take with a shorter ttl: it
 *             shortens the lease that the outer one counts on.
 *
 * Twice       With a single server Redisson reports a take without an answer as failed, and the lock stays held until its lease ends: the same wait for
 *             others. In replicated mode it sends it again (Redisson issue 7367, the hold count is then 2). With `absolute` the client sends the depth that it wants: repeated it changes nothing.
 *             It is the client that counts then, so an owner may not be shared by two that do not count together.
 * Owner       A session, as Redisson has an id of a client and a thread. The owner has to be a handle of its own: an id of an operating
 *             system's thread means nothing where another thread finishes what one began. A session that let a lease run out is another owner from then on;
 *             Redisson's stays the same (uuid:threadId), so what it still has of the key counts as part of what it takes next.
 * Wake        With `wake` this is the lock that Redisson ships, but for its watchdog: redis-watchdog.
 * Source      Redisson's RedissonLock (tryLockInnerAsync, unlockInnerAsync); the absolute depth is this project's.
 *
 * The scripts, and what a session remembers: redis_hash.h.
 */
#include "redis_hash.h"

static const struct lb_option options[] = {
    [REDIS_HASH_OPT_ABSOLUTE] = REDIS_HASH_ABSOLUTE_OPTION, [REDIS_HASH_OPT_WAKE] = REDIS_HASH_WAKE_OPTION, REDIS_HASH_LOOK_OPTION, {0}};

const struct lb_protocol lb_redis_reentrant = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redis-reentrant",
    .summary = "one Redis server: a hash of owner and count, which its owner may take again",
    .promises =
        "One owner per key while one and the same server decides and keeps the key, its clock does not jump or\n"
        "drift by more than 1 % of the ttl and 2 ms, and holders stop at valid_until. An owner that holds may take it\n"
        "again, and others get it after as many releases. Never releases or extends somebody else's lock.",
    .breaks =
        "A lost reply: what is sent again counts twice, and one release leaves the lock held until the lease ends\n"
        "(not with absolute=yes). Working on past the lease; a failover; a restart without persistence; a jump of the\n"
        "server's wall clock, or its drift; eviction. A nested take with a shorter ttl shortens the outer lease.",
    .source = "Redisson: RedissonLock, without its watchdog",
    .facts = "lost=counted",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_REENTRANT | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = options,
    .points = REDIS_HASH_POINTS,
    .flaws = REDIS_HASH_FLAWS,
    REDIS_HASH_HOOKS,
};
