/* SPDX-License-Identifier: MIT
 *
 * conform_statement.h - what the files of statements share: short words for what every statement
 * does, and the statements by name, for the table in conform_statements.c. Private to conform*.c.
 */
#ifndef LB_CONFORM_STATEMENT_H
#define LB_CONFORM_STATEMENT_H

#include "conform_parts.h"

/* CUT_TTL_MS is a lease that does not end while a statement breaks something. SLACK_MS is how long
 * a service may take to come to its senses. */
enum { TTL_MS = LB_CONFORM_TTL_MS, CUT_TTL_MS = 8000, SLACK_MS = 3000 };

/* A statement reads as: on this key, this call has to answer that. */
#define KEY const char *key = lb_conform_key(c)
#define WANT(result, call) lb_conform_want(c, result, call)

static inline lb_ns in_ms(int64_t ms) { return lb_conform_in_ms(ms); }
static inline bool has(const struct lb_conform *c, unsigned traits) { return lb_conform_trait(c, traits); }
static inline bool has_owner(const struct lb_conform *c) { return !has(c, LB_TRAIT_NO_OWNER); }
static inline int lb_statement_try_for(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  return lb_conform_try_for(c, i, key, ttl_ms, grant, in_ms(2000));
}

/* conform_table.c */
void lb_statement_well_formed(struct lb_conform *c);
void lb_statement_opens_and_sets_up(struct lb_conform *c);
void lb_statement_points_are_true(struct lb_conform *c);

/* conform_exclusion.c */
void lb_statement_granted_and_released(struct lb_conform *c);
void lb_statement_refused_while_held(struct lb_conform *c);
void lb_statement_granted_after_release(struct lb_conform *c);
void lb_statement_keys_are_apart(struct lb_conform *c);
void lb_statement_giving_up_leaves_nothing(struct lb_conform *c);
void lb_statement_woken_by_release(struct lb_conform *c);

/* conform_crowd.c */
void lb_statement_one_of_sixteen(struct lb_conform *c);

/* conform_waiters.c */
void lb_statement_refused_at_once(struct lb_conform *c);
void lb_statement_first_come_first_served(struct lb_conform *c);
void lb_statement_waits_without_polling(struct lb_conform *c);
void lb_statement_gives_up_waiting(struct lb_conform *c);

/* conform_owner.c */
void lb_statement_asked_again_is_one_hold(struct lb_conform *c);
void lb_statement_released_by_who_was_refused(struct lb_conform *c);
void lb_statement_refused_while_it_holds_itself(struct lb_conform *c);
void lb_statement_granted_again_to_its_holder(struct lb_conform *c);
void lb_statement_released_twice(struct lb_conform *c);
void lb_statement_stale_release(struct lb_conform *c);
void lb_statement_asked_again(struct lb_conform *c);
void lb_statement_confirms_a_hold(struct lb_conform *c);
void lb_statement_old_grant_after_another_holder(struct lb_conform *c);
void lb_statement_anybody_releases(struct lb_conform *c);
void lb_statement_somebody_holds(struct lb_conform *c);

/* conform_fences.c */
void lb_statement_fences_grow(struct lb_conform *c);
void lb_statement_no_fence(struct lb_conform *c);

/* conform_leases.c */
void lb_statement_validity_counts_from_the_send(struct lb_conform *c);
void lb_statement_lease_ends(struct lb_conform *c);
void lb_statement_lease_ends_unasked(struct lb_conform *c);
void lb_statement_extended_too_late(struct lb_conform *c);
void lb_statement_extending_moves_the_end(struct lb_conform *c);
void lb_statement_extended_past_its_first_end(struct lb_conform *c);

/* conform_servers.c */
void lb_statement_one_server_knows(struct lb_conform *c);
void lb_statement_names_its_server(struct lb_conform *c);
void lb_statement_reads_a_later_state(struct lb_conform *c);
void lb_statement_torn_down(struct lb_conform *c);

/* conform_lost.c */
void lb_statement_answer_of_a_try_is_lost(struct lb_conform *c);
void lb_statement_answer_of_a_release_is_lost(struct lb_conform *c);
void lb_statement_answer_of_an_extension_is_lost(struct lb_conform *c);
void lb_statement_lost_answer_ends_with_its_lease(struct lb_conform *c);
void lb_statement_true_however_short_the_time(struct lb_conform *c);
void lb_statement_cut_off_at_any_point(struct lb_conform *c);

/* conform_scale.c */
void lb_statement_holds_a_thousand(struct lb_conform *c);
void lb_statement_names_at_their_limits(struct lb_conform *c);

/* conform_leaks.c */
void lb_statement_leaks_nothing(struct lb_conform *c);

/* conform_ends.c */
void lb_statement_dead_clients_hold_nothing(struct lb_conform *c);
void lb_statement_goes_on_after_a_restart(struct lb_conform *c);
/* The lock, from servers that were started again: those of other keys may serve already while that of this one does not. */
void lb_statement_get_back(struct lb_conform *c, int i, const char *key, struct lb_grant *grant);

/* conform_faults.c */
void lb_statement_no_doubt_in_health(struct lb_conform *c);
void lb_statement_doubts_a_broken_connection(struct lb_conform *c);
void lb_statement_asked_after_a_reconnect(struct lb_conform *c);
void lb_statement_ends_without_servers(struct lb_conform *c);

#endif
