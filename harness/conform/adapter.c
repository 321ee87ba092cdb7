/* SPDX-License-Identifier: MIT
 *
 * What is said of an adapter, in the order it is asked: first whether it speaks at all, then its lock, then how locks end. Who takes the servers down comes last.
 */
#include "adapter.h"

#include "adapter_parts.h"
#include "backends/foreign.h"

enum {
  LEASE = 1 << 0,
  SESSION = 1 << 1,
  ENDS = 1 << 2, /* one of the two */
  EXTEND = 1 << 3,
  HOLDS = 1 << 4,
  FENCE = 1 << 5,
  VALIDITY = 1 << 6,
  RECORD = 1 << 7, /* and servers that have it */
  SERVERS = 1 << 8,
};

/* The text is what its author reads: a sentence that holds or does not. */
const struct lb_conform_statement lb_adapter_statements[] = {
    {"the first line says what it is, before anything is asked", 0, adapter_says_what_it_is},
    {"every question is answered once, with its number, and nothing else is written", 0, adapter_answers_each_once},
    {"a word that it does not know changes nothing", 0, adapter_ignores_what_it_does_not_know},
    {"quit is answered, and it ends", 0, adapter_quits},
    {"it ends when its stdin ends", 0, adapter_ends_with_stdin},
    {"a free lock is granted and released", 0, adapter_grants_and_releases},
    {"a grant carries what the first line says, and nothing else", 0, adapter_grants_as_it_says},
    {"a held lock is refused at once to who does not wait", 0, adapter_refuses_at_once},
    {"an acquire waits as long as it may, and no longer", 0, adapter_waits_for_so_long},
    {"who waits is granted after the release", 0, adapter_grants_after_the_release},
    {"a waiter that gave up stands in nobody's way", 0, adapter_who_gave_up},
    {"a released lock is granted to anybody, again and again", 0, adapter_takes_turns},
    {"two keys do not exclude each other", 0, adapter_keys_are_apart},
    {"who was refused frees nobody else's lock", 0, adapter_frees_nobody_elses},
    {"a second release does no harm", 0, adapter_releases_twice},
    {"of eight clients one is inside at a time", 0, adapter_one_of_eight},
    {"fences grow", FENCE, adapter_fences_grow},
    {"what is left of a grant is not more than was asked for", VALIDITY, adapter_validity},
    {"the record that it names is there while it holds, and only then", RECORD, adapter_record},
    {"holds is ok while it holds, and not after its release", HOLDS, adapter_confirms},
    {"extend makes a lease last", EXTEND | LEASE, adapter_extends},
    {"a lease ends by itself, not before its ttl and not long after", LEASE, adapter_lease_ends},
    {"a stale release leaves the next holder alone", LEASE, adapter_stale_release},
    {"a lease that is over cannot be extended", EXTEND | LEASE, adapter_stale_extend},
    {"a lease that another one has had since cannot be extended", EXTEND | LEASE, adapter_extend_after_another},
    {"holds asks the service, not its own memory", HOLDS | LEASE, adapter_stale_holds},
    {"holds is no more ok when another one has held since", HOLDS | LEASE, adapter_holds_after_another},
    {"a session holds for longer than the ttl, as long as its client lives", SESSION, adapter_session_lasts},
    {"what a killed client held becomes free", ENDS, adapter_killed_client},
    {"a waiter that was killed stands in nobody's way", 0, adapter_killed_waiter},
    {"servers that are gone grant nothing, and when they are back it goes on", SERVERS, adapter_server_is_gone},
    {NULL, 0, NULL},
};

unsigned lb_adapter_has(const struct lb_conform *c) {
  const struct lb_protocol *p = c->protocol;
  bool servers = c->topology->data_count > 0;
  return (p->traits & LB_TRAIT_LEASED ? LEASE | ENDS : 0) | (p->traits & LB_TRAIT_SESSION ? SESSION | ENDS : 0) | (p->extend ? EXTEND : 0) | (p->holds ? HOLDS : 0) |
         (p->traits & LB_TRAIT_FENCED ? FENCE : 0) | (lb_foreign_tells_validity(p) ? VALIDITY : 0) | (servers && lb_foreign_names_record(p) ? RECORD : 0) |
         (servers ? SERVERS : 0);
}

const char *lb_adapter_statement_at(size_t index) {
  enum { COUNT = sizeof lb_adapter_statements / sizeof *lb_adapter_statements };
  return index < COUNT ? lb_adapter_statements[index].text : NULL;
}
