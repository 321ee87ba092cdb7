/* SPDX-License-Identifier: MIT
 *
 * Open addressing over hashes of keys, claimed by compare-and-swap: no lock is needed to find a lock.
 */
#include "shm.h"

#include <string.h>

static uint64_t hash_key(const char *key) { /* FNV-1a, never 0 */
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *key; key++) h = (h ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
  return h ? h : 1;
}

struct shm_slot *shm_slot_of(const struct lb_target *target, const char *key) {
  struct shm_slot *table = target->shared;
  size_t count = target->shared_size / sizeof *table;
  uint64_t hash = hash_key(key);
  for (size_t probe = 0; probe < count; probe++) {
    struct shm_slot *slot = &table[(hash + probe) % count];
    uint64_t found = 0;
    /* A failed exchange leaves in `found` who was faster: perhaps another client claiming it for this very key. */
    if (atomic_load(&slot->key) == hash || atomic_compare_exchange_strong(&slot->key, &found, hash) || found == hash)
      return slot;
  }
  return NULL;
}

uint64_t shm_attempt_id(struct lb_env *env, struct lb_grant *grant) {
  uint64_t id = 0;
  if (grant->token_len == sizeof id) {
    memcpy(&id, grant->token, sizeof id);
    return id;
  }
  while (id == 0) lb_random(env, &id, sizeof id);
  memcpy(grant->token, &id, sizeof id);
  grant->token_len = sizeof id;
  return id;
}

int shm_release(struct lb_env *env, const struct lb_target *target, const char *key, struct lb_grant *grant) {
  struct shm_slot *slot = shm_slot_of(target, key);
  uint64_t id = shm_attempt_id(env, grant);
  return slot && atomic_compare_exchange_strong(&slot->owner, &id, 0) ? LB_OK : LB_LOST;
}

int shm_holds(struct lb_env *env, const struct lb_target *target, const char *key, const struct lb_grant *grant) {
  struct lb_grant copy = *grant;
  struct shm_slot *slot = shm_slot_of(target, key);
  return slot && atomic_load(&slot->owner) == shm_attempt_id(env, &copy) ? LB_OK : LB_LOST;
}
