/* SPDX-License-Identifier: MIT
 *
 * holder_parts.h - what the parts of the holder share: its life with the lock (holder.c) and its
 * accesses of the resource (holder_access.c). Nobody else includes it.
 */
#ifndef LB_HOLDER_PARTS_H
#define LB_HOLDER_PARTS_H

#include "holder.h"

/* Records an event of this client and the key that it holds or asks for. The kind, the client and the
 * key of `event` are filled in here. */
void lb_holder_record(struct lb_holder *holder, enum lb_event_kind kind, struct lb_event event);
/* It does not touch the resource any more, but nobody knows what the service still keeps of it: event
 * `lost`, and a debt. LB_LOST. */
int lb_holder_give_up_hold(struct lb_holder *holder);
/* What the service said of a hold that it was asked about, as a hook's answer: of `holds`, or of an
 * `extend` that failed. */
enum lb_check_result lb_holder_answer(int result);

static inline lb_ns lb_earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }
static inline struct lb_client_state *lb_holder_state(struct lb_holder *h) { return &h->memory->state[h->client]; }
/* A part of the ttl. */
static inline lb_ns lb_holder_ttl_over(const struct lb_holder *h, lb_ns parts) { return (lb_ns)h->ttl_ms * LB_NS_PER_MS / parts; }
/* The end of the lease has come, by the clock of the client. */
static inline bool lb_holder_is_over(struct lb_holder *h) { return lb_now(h->env) >= h->grant.valid_until; }

#endif
