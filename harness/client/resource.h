/* SPDX-License-Identifier: MIT
 *
 * resource.h - what the lock protects, one per key: a number that every critical section reads, and writes back plus
 * one. It is plain shared memory that never serialises, unless it checks fences or claims. So a lock that does not
 * exclude really loses updates.
 *
 * Any thread of any process of the trial may call these.
 */
#ifndef LB_RESOURCE_H
#define LB_RESOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scenario/scenario.h"

struct lb_resource { /* all zero = fresh; in memory that all clients share */
  union {
    struct {
      _Atomic uint64_t value;
      _Atomic uint64_t
          fence_seen; /* the largest it was shown; of a resource with claims: the token that stands there */
    };
    unsigned __int128 both; /* the two as one word, 16-byte aligned: for the one step of a checked access */
  };
};

/* One access that shows `fence` (0 = none). With `checks` the resource compares it with the largest that it has seen
 * and accepts or refuses in one atomic step. Without, it accepts everything and remembers the fence. True: accepted.
 * False: refused, nothing changed (*ret is 0). */
bool lb_resource_read(struct lb_resource *resource, bool checks, uint64_t fence, uint64_t *ret);
bool lb_resource_write(struct lb_resource *resource, bool checks, uint64_t fence, uint64_t value);

/* The same resource with claims instead of fences: check-and-set by a unique token, as S. Sanfilippo proposed for
 * Redlock ("Is Redlock safe?", antirez.com/news/101, 2016). A resource is used in one of the two ways only. This call
 * writes `token` into the resource and reads the value in the same step. */
void lb_resource_claim(struct lb_resource *resource, uint64_t token, uint64_t *ret);
/* One access in one atomic step if `token` still stands there. False: another one does; nothing changed (and *ret is
 * 0). */
bool lb_resource_read_claimed(struct lb_resource *resource, uint64_t token, uint64_t *ret);
bool lb_resource_write_claimed(struct lb_resource *resource, uint64_t token, uint64_t value);

/* A write on its way to the resource. Most arrive at once. A late one is kept in shared memory until a step delivers
 * it: its client may have released the lock by then, or be dead. */
struct lb_letter {
  enum lb_guard guard; /* what the resource compares: fences, claims, or nothing */
  uint32_t key;        /* index of the resource */
  uint64_t value;
  uint64_t fence; /* of the grant that it was written under; 0 = it has none */
  uint64_t claim; /* the token of that grant */
  bool claims;    /* it is the first access of its hold, so it puts the token there */
};

/* It arrives now: one access of its resource. True: accepted. False: refused, nothing changed. */
bool lb_letter_arrive(const struct lb_letter *letter, struct lb_resource *resources);

#endif
