/* SPDX-License-Identifier: MIT
 *
 * holder_parts.h - what the parts of the holder share: its life with the lock (holder.c), its accesses of the resource
 * (holder_access.c) and its renewals (holder_renew.c). They stand on holder_hold.c; who asks renews what it holds besides. Nobody else includes it.
 */
#ifndef LB_HOLDER_PARTS_H
#define LB_HOLDER_PARTS_H

#include "holder.h"

/* Records an event of this client and the key that it holds or asks for. The kind, the client and the
 * key of `event` are filled in here. */
void lb_holder_record(struct lb_holder *holder, enum lb_event_kind kind, struct lb_event event);
/* The same for another key than the one that it holds or asks for. */
void lb_holder_record_of(struct lb_holder *holder, uint32_t key, enum lb_event_kind kind, struct lb_event event);
/* Records what gives a lease, with its end as the client now knows it. */
void lb_holder_record_lease(struct lb_holder *holder, enum lb_event_kind kind, struct lb_event event);
/* When the next renewal is due, `pause` from now; LB_NEVER = not any more. Under the guard `deadline` a hold that is renewed has an end all the
 * same, and is due then. */
lb_ns lb_holder_renew_in(const struct lb_holder *holder, lb_ns now, lb_ns pause);
/* In a third of the ttl; sooner, where the protocol lets a client believe for less than that. */
lb_ns lb_holder_when_to_renew(struct lb_holder *holder);
/* The hold is over: `how` is LB_EV_RELEASE or LB_EV_LOST. */
void lb_holder_end_hold(struct lb_holder *holder, enum lb_event_kind how);
/* The service may still keep what the grant stands for: a debt. */
void lb_holder_owe(struct lb_holder *holder);
/* The latest hold of this key that is kept comes back; false = there is none. */
bool lb_holder_take_back(struct lb_holder *holder, uint32_t key);
/* What it is busy with is kept; then, of at least one that is kept, the oldest comes back. */
void lb_holder_put_aside(struct lb_holder *holder);
void lb_holder_take_oldest(struct lb_holder *holder);
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
