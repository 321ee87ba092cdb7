/* SPDX-License-Identifier: MIT
 *
 * All statements, in the order they run, and which of them a system can be asked. They are found by
 * subject: conform_table.c, conform_exclusion.c, conform_crowd.c, conform_owner.c, conform_fences.c,
 * conform_leases.c, conform_waiters.c, conform_servers.c, conform_scale.c, conform_leaks.c,
 * conform_lost.c, conform_ends.c, conform_faults.c. Each one is straight-line code on keys of
 * its own.
 *
 * The order is that of a protocol's making: first whether it works at all, then what it promises,
 * the waits and faults behind that. Two places are fixed. The points come after everything that
 * passes points, and who kills the servers comes last.
 */
#include <string.h>

#include "conform_statement.h"

/* The text is what a user reads, and a sentence that holds or does not. */
const struct lb_conform_statement lb_conform_statements[] = {
    {"the table is well formed", 0, lb_statement_well_formed},
    {"a session opens, sets up and works", 0, lb_statement_opens_and_sets_up},
    {"a free lock is granted and released", 0, lb_statement_granted_and_released},
    {"a held lock is refused to another session", LB_NEEDS_SAFE, lb_statement_refused_while_held},
    {"who is refused is told at once", LB_NEEDS_SAFE, lb_statement_refused_at_once},
    {"a released lock is granted to another session", 0, lb_statement_granted_after_release},
    {"two keys do not exclude each other", 0, lb_statement_keys_are_apart},
    {"releasing twice says lost", LB_NEEDS_MEMORY | LB_NEEDS_OWNER, lb_statement_released_twice},
    {"a stale release leaves the next holder alone", LB_NEEDS_SAFE | LB_NEEDS_OWNER, lb_statement_stale_release},
    {"who was refused releases nobody else's lock", LB_NEEDS_SAFE | LB_NEEDS_OWNER, lb_statement_released_by_who_was_refused},
    {"asking again in the same attempt is granted again", LB_NEEDS_SAFE | LB_NEEDS_OWNER, lb_statement_asked_again},
    {"an attempt that was repeated is one hold", LB_NEEDS_SAFE | LB_NEEDS_OWNER, lb_statement_asked_again_is_one_hold},
    {"an old grant is lost although its session holds again", LB_NEEDS_SAFE | LB_NEEDS_OWNER,
     lb_statement_old_grant_after_another_holder},
    {"a session that holds is refused like anybody else", LB_NEEDS_SAFE | LB_NEEDS_NO_DEPTH, lb_statement_refused_while_it_holds_itself},
    {"a holder is granted again, and others after as many releases", LB_NEEDS_SAFE | LB_NEEDS_DEPTH, lb_statement_granted_again_to_its_holder},
    {"of sixteen clients one holds, and each gets its turn", LB_NEEDS_SAFE, lb_statement_one_of_sixteen},
    {"a release removes whatever record is there", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY, lb_statement_anybody_releases},
    {"holds says whether anybody holds", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY | LB_NEEDS_HOLDS, lb_statement_somebody_holds},
    {"fences grow", LB_NEEDS_FENCE, lb_statement_fences_grow},
    {"a grant without fence says so", LB_NEEDS_NO_FENCE, lb_statement_no_fence},
    {"validity counts from before the send", 0, lb_statement_validity_counts_from_the_send},
    {"a lease ends by itself and the old holder learns it", LB_NEEDS_LEASE, lb_statement_lease_ends},
    {"extending moves the end", LB_NEEDS_EXTEND, lb_statement_extending_moves_the_end},
    {"an extended lease is held past its first end", LB_NEEDS_LEASE, lb_statement_extended_past_its_first_end},
    {"an expired lease is lost before anybody else comes", LB_NEEDS_LEASE, lb_statement_lease_ends_unasked},
    {"extending what has expired does not bring it back", LB_NEEDS_LEASE, lb_statement_extended_too_late},
    {"the server confirms a hold and nothing else", LB_NEEDS_HOLDS | LB_NEEDS_OWNER, lb_statement_confirms_a_hold},
    {"a waiter is woken by the release", LB_NEEDS_WAIT, lb_statement_woken_by_release},
    {"who comes first is served first", LB_NEEDS_SAFE | LB_NEEDS_FIFO, lb_statement_first_come_first_served},
    {"who waits to be told does not poll", LB_NEEDS_WAIT | LB_NEEDS_SERVERS, lb_statement_waits_without_polling},
    {"a waiter that gives up leaves nothing behind", LB_NEEDS_SAFE | LB_NEEDS_WAIT, lb_statement_gives_up_waiting},
    {"giving up leaves nothing behind", LB_NEEDS_SAFE, lb_statement_giving_up_leaves_nothing},
    {"one server knows of a held key", LB_NEEDS_INSPECT | LB_NEEDS_SERVERS, lb_statement_one_server_knows},
    {"the server that a session names has its lock", LB_NEEDS_INSPECT | LB_NEEDS_SERVERS | LB_NEEDS_SERVER, lb_statement_names_its_server},
    {"a later grant has read a later state", LB_NEEDS_SAFE | LB_NEEDS_SEEN, lb_statement_reads_a_later_state},
    {"one session holds a thousand locks", LB_NEEDS_SAFE, lb_statement_holds_a_thousand},
    {"names may be as long and as alike as they may be", LB_NEEDS_SAFE, lb_statement_names_at_their_limits},
    {"ten thousand cycles leave no file open and no memory behind", 0, lb_statement_leaks_nothing},
    {"a try without an answer is told for what it is", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, lb_statement_answer_of_a_try_is_lost},
    {"a release without an answer can be repeated", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, lb_statement_answer_of_a_release_is_lost},
    {"an extension without an answer promises nothing", LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_EXTEND | LB_NEEDS_HOLDS,
     lb_statement_answer_of_an_extension_is_lost},
    {"what nobody asks about ends with its lease or session", LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_END,
     lb_statement_lost_answer_ends_with_its_lease},
    {"what a try says is true however short its time", LB_NEEDS_SAFE, lb_statement_true_however_short_the_time},
    {"what a try says is true wherever its connections break", LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_POINTS, lb_statement_cut_off_at_any_point},
    {"what a dead client had ends with its lease or session", LB_NEEDS_SAFE | LB_NEEDS_END, lb_statement_dead_clients_hold_nothing},
    {"what holds says after a reconnect is true", LB_NEEDS_HOLDS | LB_NEEDS_SERVERS, lb_statement_asked_after_a_reconnect},
    {"a healthy session is in no doubt, and says so at once", LB_NEEDS_DOUBT, lb_statement_no_doubt_in_health},
    {"a broken connection is a doubt until the hold is confirmed again", LB_NEEDS_DOUBT | LB_NEEDS_SERVERS,
     lb_statement_doubts_a_broken_connection},
    {"teardown leaves nothing behind", LB_NEEDS_TEARDOWN | LB_NEEDS_MEMORY, lb_statement_torn_down},
    {"a session goes on after a restart of its servers", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, lb_statement_goes_on_after_a_restart},
    {"the table of points is complete and true", 0, lb_statement_points_are_true},
    {"a try against dead servers ends at its deadline", LB_NEEDS_SERVERS, lb_statement_ends_without_servers},
    {NULL, 0, NULL},
};

/* A protocol may draw its numbers on demand only: then its option `fence` decides, as it was set
 * for this run. */
static bool fenced(const struct lb_conform *c) {
  if (has(c, LB_TRAIT_FENCED)) return true;
  for (size_t i = 0; c->protocol->options && c->protocol->options[i].name; i++)
    if (strcmp(c->protocol->options[i].name, "fence") == 0) return c->options[i].b;
  return false;
}

/* Follows from the table of the protocol alone: its traits, its hooks, its options, and whether
 * there are servers. */
unsigned lb_conform_has(const struct lb_conform *c) {
  const struct lb_protocol *p = c->protocol;
  unsigned all = fenced(c) ? LB_NEEDS_FENCE : LB_NEEDS_NO_FENCE;
  all |= has_owner(c) ? LB_NEEDS_OWNER : LB_NEEDS_ANYBODY;
  if (!has(c, LB_TRAIT_UNSAFE)) all |= LB_NEEDS_SAFE | LB_NEEDS_MEMORY;
  if (p->holds) all |= LB_NEEDS_HOLDS | LB_NEEDS_MEMORY;
  if (has(c, LB_TRAIT_LEASED)) all |= LB_NEEDS_LEASE;
  if (has(c, LB_TRAIT_FIFO)) all |= LB_NEEDS_FIFO;
  all |= has(c, LB_TRAIT_REENTRANT) ? LB_NEEDS_DEPTH : LB_NEEDS_NO_DEPTH;
  if (has(c, LB_TRAIT_LEASED | LB_TRAIT_SESSION)) all |= LB_NEEDS_END;
  if (p->points && p->points[0]) all |= LB_NEEDS_POINTS;
  if (p->extend) all |= LB_NEEDS_EXTEND;
  if (lb_wakes(p, c->options)) all |= LB_NEEDS_WAIT;
  if (p->inspect) all |= LB_NEEDS_INSPECT;
  if (p->teardown) all |= LB_NEEDS_TEARDOWN;
  if (p->doubt) all |= LB_NEEDS_DOUBT;
  if (p->server) all |= LB_NEEDS_SERVER;
  if (p->seen) all |= LB_NEEDS_SEEN;
  if (c->topology->data_count > 0) all |= LB_NEEDS_SERVERS;
  return all;
}
