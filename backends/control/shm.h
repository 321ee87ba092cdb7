/* SPDX-License-Identifier: MIT
 *
 * shm.h - a table of owner words in the memory that all clients of a trial share: key -> who holds it.
 * Private to the protocols that need no server (local, broken).
 */
#ifndef LB_SHM_H
#define LB_SHM_H

#include <stdatomic.h>

#include "backends/backend.h"

struct shm_slot {
  _Atomic uint64_t key;   /* hash of the key, 0 = free slot; set once */
  _Atomic uint64_t owner; /* 0 = free, else the id of the attempt that holds it */
  _Atomic uint64_t fence; /* grants so far */
};

/* The slot of `key`, claimed by the first client that uses it (lock-free, open addressing). NULL when the table is
 * full. */
struct shm_slot *shm_slot_of(const struct lb_target *target, const char *key);
/* A random non-zero id for an attempt, written into the token of a new attempt, read back from a repeated one. */
uint64_t shm_attempt_id(struct lb_env *env, struct lb_grant *grant);
/* The release hook of both: frees the key if this attempt holds it. LB_OK, or LB_LOST when somebody else does. */
int shm_release(struct lb_env *env, const struct lb_target *target, const char *key, struct lb_grant *grant);
/* Their holds hook. LB_OK or LB_LOST. */
int shm_holds(struct lb_env *env, const struct lb_target *target, const char *key, const struct lb_grant *grant);

#endif
