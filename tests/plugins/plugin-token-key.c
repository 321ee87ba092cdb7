/* SPDX-License-Identifier: MIT
 *
 * token-key: a lock of one's own out of the hooks that the Redis locks with a token share, and nothing else. It is here
 * to be compiled and loaded: every hook that the two macros name has to be declared, and exported by the tool.
 */
#include "backends/redis/redis_key.h"

static const struct lb_protocol token_key = {
    .abi = LB_ABI,
    .name = "token-key",
    .summary = "SET NX PX with a random token, released by compare-and-delete",
    .promises = "One holder per key while one and the same server decides.",
    .breaks = "A holder that works on past its lease; a failover.",
    .source = "a test",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    REDIS_KEY_TOKEN_HOOKS,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &token_key;
