/* SPDX-License-Identifier: MIT
 *
 * redis-watchdog - redis-reentrant under a watchdog: the lease is short, and renewed every third of it for as long as the holder's process lives.
 *
 * Promises    What redis-reentrant promises; and work may take longer than the lease, as long as the holder's process runs and reaches the
 *             server. A holder that dies is replaced when its last lease is over.
 * Assumes     What redis-reentrant assumes; and that whoever has the lock works. The watchdog knows that the process lives, and nothing of
 *             what its program does.
 * Breaks it   A program that hangs: a deadlock, an endless loop, a call that never returns. Its watchdog goes on, and others wait for ever. The option
 *             `renewed_for_ms` is the cure: after that time nobody renews, so the lock is free a lease later; what the program writes after
 *             that is again the question of every lease. A process that stands still (a stop, a long collection of garbage) takes its watchdog
 *             along, and loses the lock as any lease is lost. So does one that is cut off: a renewal without an answer tells nobody that the
 *             lock is lost. And all that breaks redis-reentrant, the lost reply first.
 *
 * Renewal     The table says that this lock is renewed (LB_TRAIT_RENEWED), and who runs it does so, between its other calls: a session belongs to one
 *             thread, so a renewal never overtakes the release, and none follows it. Implementations with a thread or a timer had to learn
 *             that: of Redisson's bugs with a watchdog most are renewals that outlive the release (its issues 2714, 7272) or end too soon (2515, 5698).
 * Redisson    This, with wake=yes, is the algorithm of Redisson's RLock as it is used without a lease time: the hash, the scripts, the
 *             publish on release, a lease of 30 s that is renewed every 10 s. Redisson itself is not run here. It renews a hundred locks in one request, and it
 *             keeps the answer to a release for when that is sent again. A take without an answer it reports as failed with a single server; in
 *             replicated mode it sends it again (its issue 7367, the hold count is then 2).
 * Source      Redisson: RedissonLock, RenewalTask; redis.io, "Distributed Locks with Redis", which asks for an end of extensions.
 */
#include "redis_hash.h"

static const struct lb_option options[] = {
    [REDIS_HASH_OPT_ABSOLUTE] = REDIS_HASH_ABSOLUTE_OPTION,
    [REDIS_HASH_OPT_WAKE] = REDIS_HASH_WAKE_OPTION,
    [REDIS_HASH_OPT_LOOK] = REDIS_HASH_LOOK_OPTION,
    [REDIS_HASH_OPT_COUNT] = {"renewed_for_ms", LB_OPT_INT, 0, 0, 86400000,
                              "a hold is renewed for so long and then no more; 0 = as long as it lasts"},
    {0}};

const struct lb_protocol lb_redis_watchdog = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redis-watchdog",
    .summary = "redis-reentrant, renewed every third of its lease until it is released",
    .promises =
        "What redis-reentrant promises, and work may take longer than the lease while its process runs and\n"
        "reaches the server. With wake=yes this is the algorithm that Redisson ships.",
    .breaks =
        "A program that hangs while its process lives keeps the lock for ever (not with renewed_for_ms). A process\n"
        "that stands still or is cut off loses it, as any lease is lost. All that breaks redis-reentrant.",
    .source = "Redisson: RedissonLock and its watchdog (lockWatchdogTimeout)",
    .facts = "lost=counted",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_REENTRANT | LB_TRAIT_RENEWED | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = options,
    .points = REDIS_HASH_POINTS,
    .flaws = REDIS_HASH_FLAWS,
    REDIS_HASH_HOOKS,
};
