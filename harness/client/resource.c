/* SPDX-License-Identifier: MIT
 *
 * A checked access is one 128-bit compare-and-swap over {value, fence seen}. Two steps (compare the fence, then store)
 * would leave a hole in which a newer holder reads and the older one still writes: the very thing a fence is to
 * prevent.
 */
#include "resource.h"

#include <stddef.h>

/* The sanitizer's own 128-bit operation may be a mutex of one process, and these words are shared by many. */
#if defined(__clang__) && defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNCHANGED_BY_SANITIZERS __attribute__((noinline, disable_sanitizer_instrumentation))
#endif
#elif defined(__GNUC__)
#define UNCHANGED_BY_SANITIZERS __attribute__((noinline, no_sanitize("thread")))
#endif
#ifndef UNCHANGED_BY_SANITIZERS
#define UNCHANGED_BY_SANITIZERS
#endif

union words {
  struct {
    uint64_t value, fence_seen;
  };
  unsigned __int128 both;
};

UNCHANGED_BY_SANITIZERS
static bool swap(struct lb_resource *r, union words old, union words new) {
  return __sync_bool_compare_and_swap(&r->both, old.both, new.both);
}

/* Two loads may see halves of two states; the swap that follows then fails, so nothing is decided on such a pair. */
static union words look(struct lb_resource *r) {
  return (union words){{.value = atomic_load(&r->value), .fence_seen = atomic_load(&r->fence_seen)}};
}

/* `write` NULL = a read. */
static bool checked_access(struct lb_resource *r, uint64_t fence, const uint64_t *write, uint64_t *ret) {
  union words old, new;
  bool refused;
  do {
    old = look(r);
    refused = fence < old.fence_seen;
    new = refused ? old : (union words){{.value = write ? *write : old.value, .fence_seen = fence}};
    *ret = refused ? 0 : old.value;
  } while (!swap(r, old, new));
  return !refused;
}

static void remember(struct lb_resource *r, uint64_t fence) {
  uint64_t largest = atomic_load(&r->fence_seen);
  while (fence > largest && !atomic_compare_exchange_weak(&r->fence_seen, &largest, fence)) {
  }
}

bool lb_resource_read(struct lb_resource *r, bool checks, uint64_t fence, uint64_t *ret) {
  if (checks) return checked_access(r, fence, NULL, ret);
  remember(r, fence);
  *ret = atomic_load_explicit(&r->value, memory_order_relaxed);
  return true;
}

bool lb_resource_write(struct lb_resource *r, bool checks, uint64_t fence, uint64_t value) {
  uint64_t before;
  if (checks) return checked_access(r, fence, &value, &before);
  remember(r, fence);
  atomic_store_explicit(&r->value, value, memory_order_relaxed);
  return true;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

void lb_resource_claim(struct lb_resource *r, uint64_t token, uint64_t *ret) {
  union words old;
  do old = look(r);
  while (!swap(r, old, (union words){{.value = old.value, .fence_seen = token}}));
  *ret = old.value;
}

/* `write` NULL = a read. */
static bool claimed_access(struct lb_resource *r, uint64_t token, const uint64_t *write, uint64_t *ret) {
  union words old, new;
  bool stands;
  do {
    old = look(r);
    stands = old.fence_seen == token;
    new = old;
    if (stands && write) new.value = *write;
    *ret = stands ? old.value : 0;
  } while (!swap(r, old, new));
  return stands;
}

bool lb_resource_read_claimed(struct lb_resource *r, uint64_t token, uint64_t *ret) {
  return claimed_access(r, token, NULL, ret);
}

bool lb_resource_write_claimed(struct lb_resource *r, uint64_t token, uint64_t value) {
  uint64_t before;
  return claimed_access(r, token, &value, &before);
}

bool lb_letter_arrive(const struct lb_letter *letter, struct lb_resource *resources) {
  struct lb_resource *resource = &resources[letter->key];
  uint64_t before;
  if (letter->guard != LB_GUARD_CLAIM)
    return lb_resource_write(resource, letter->guard == LB_GUARD_FENCE, letter->fence, letter->value);
  if (letter->claims) lb_resource_claim(resource, letter->claim, &before);
  return lb_resource_write_claimed(resource, letter->claim, letter->value);
}
