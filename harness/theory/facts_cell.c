/* SPDX-License-Identifier: MIT
 *
 * The facts of a cell: of its servers, its lock, and what the scenario sets.
 *
 * What a protocol's table and a row of the servers say anyway is not stated twice: it is read off the traits, hooks and
 * options here. Words that are stated come after it and win.
 */
#include "facts_cell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/need.h"
#include "facts.h"
#include "steps.h"
#include "versions.h"

enum { STATED_MAX = 96 };

static struct {
  const struct lb_protocol *protocol;
  char *words;
} stated[STATED_MAX];
static size_t stated_count;

int lb_facts_state(const struct lb_protocol *protocol, const char *words, struct lb_error *err) {
  struct lb_facts facts;
  lb_facts_default(&facts);
  int r = lb_facts_take(&facts, words, LB_TERM_OF_LOCK, err);
  if (r < 0) return r;
  if (stated_count == STATED_MAX) return lb_refuse(err, "no room for more facts");
  stated[stated_count].protocol = protocol;
  stated[stated_count++].words = lb_need_text(words);
  return 0;
}

static const char *stated_of(const struct lb_protocol *protocol) {
  for (size_t i = 0; i < stated_count; i++)
    if (stated[i].protocol == protocol) return stated[i].words;
  return NULL;
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

static void add_row(const struct lb_topology *t, struct lb_facts *ret) {
  static const char *const members[] = {"0", "1", "2", "3", "3", "5", "6"};
  struct lb_error err;
  bool nothing = t->keeps == LB_KEEPS_NOTHING;
  lb_facts_set(ret, "members", members[t->data_count < 6 ? t->data_count : 6]);
  lb_facts_set(ret, "shards", t->shards ? "yes" : "no");
  lb_facts_set(ret, "favourite", t->favourite ? "yes" : "no");
  lb_facts_set(ret, "killed", nothing ? "nothing" : "all");
  lb_facts_set(ret, "power", nothing ? "nothing" : "all");
  if (lb_topology_majority(t)) lb_facts_set(ret, "copies", "majority"), lb_facts_set(ret, "takeover", "majority");
  if (t->synchronous) lb_facts_set(ret, "copies", "before");
  lb_facts_take(ret, t->facts, LB_TERM_OF_SERVERS, &err);
  if (lb_topology_majority(t) && lb_facts_is(ret, "votes", "one")) lb_facts_set(ret, "alone", "stops");
}

/* Servers that stand for others are those with something changed. */
static void add_servers(const struct lb_topology *t, struct lb_facts *ret) {
  const struct lb_topology *like = t->stands_for ? lb_topology_find(t->stands_for) : NULL;
  struct lb_error err;
  if (like) lb_facts_take(ret, like->facts, LB_TERM_OF_SERVERS, &err);
  if (t->own && like) add_row(like, ret), lb_facts_take(ret, t->facts, LB_TERM_OF_SERVERS, &err);
  else add_row(t, ret);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

/* A foreign lock on servers without sessions that says it lasts as long as its session renews a lease by itself. */
static void add_end(const struct lb_protocol *p, const struct lb_topology *t, struct lb_facts *ret) {
  enum lb_ends_by by = t->family->ends_by;
  bool by_wall = by == LB_ENDS_BY_WALL;
  bool unknown = t->data_count == 0 && !t->members &&
                 p->traits & LB_TRAIT_FOREIGN; /* servers that only its program knows: most count by their wall clock */
  const char *server_clock = by_wall || unknown           ? "server-wall"
                             : by == LB_ENDS_BY_MONOTONIC ? "server-monotonic"
                                                          : "nobody";
  if (p->traits & LB_TRAIT_NO_EXPIRY) {
    lb_facts_set(ret, "ends", "never");
  } else if (p->traits & LB_TRAIT_LEASED) {
    lb_facts_set(ret, "counts",
                 p->traits & LB_TRAIT_CLIENT_CLOCK   ? "client-wall"
                 : p->traits & LB_TRAIT_SERVER_CLOCK ? "server-wall"
                                                     : server_clock);
    lb_facts_set(ret, "renews", p->traits & LB_TRAIT_RENEWED ? "loop" : "caller");
  } else if (by == LB_ENDS_BY_NO_CLOCK && p->traits & LB_TRAIT_FOREIGN && lb_foreign_names_data(p)) {
    lb_facts_set(ret, "counts", "server-wall"); /* a row that its program keeps up: a heartbeat, which is a lease */
    lb_facts_set(ret, "renews", "loop");
  } else if (by == LB_ENDS_BY_NO_CLOCK) {
    lb_facts_set(ret, "ends", "connection");
    lb_facts_set(ret, "record", "memory");
  } else {
    lb_facts_set(ret, "ends", by_wall ? "lease" : "session");
    lb_facts_set(ret, "counts", server_clock);
    lb_facts_set(ret, "renews", p->traits & LB_TRAIT_RENEWED || by_wall ? "loop" : "library");
  }
}

static void add_knowledge(const struct lb_protocol *p, struct lb_facts *ret) {
  bool session = lb_facts_is(ret, "ends", "session") && lb_facts_is(ret, "renews", "library");
  bool endless = lb_facts_is(ret, "ends", "never") || lb_facts_is(ret, "ends", "connection");
  bool unnamed = p->traits & LB_TRAIT_FOREIGN && p->traits & LB_TRAIT_SESSION;
  lb_facts_set(ret, "tells", !p->doubt ? "nobody" : session ? "session" : "connection");
  lb_facts_set(ret, "names-end", endless || unnamed ? "no" : "yes");
  lb_facts_set(ret, "asks", p->traits & LB_TRAIT_NO_OWNER ? "anybody" : "owner");
  lb_facts_set(ret, "reentrant", p->traits & LB_TRAIT_REENTRANT ? "yes" : "no");
  lb_facts_set(ret, "excludes", p->traits & LB_TRAIT_UNSAFE ? "no" : "yes");
  if (p->traits & LB_TRAIT_FOREIGN) lb_facts_set(ret, "believes", "unknown");
}

/* ---- what a scenario sets ---------------------------------------------------------------------------------------- */

/* The value of a choice as its word, of a bool as yes or no; NULL = it has no such option. */
static const char *option_word(const struct lb_protocol *p, const union lb_value *options, const char *name) {
  const struct lb_option *o = options ? lb_option_find(p, name) : NULL;
  const union lb_value *value = o ? &options[o - p->options] : NULL;
  if (!o) return NULL;
  if (o->type == LB_OPT_BOOL) return value->b ? "yes" : "no";
  return o->type == LB_OPT_CHOICE ? o->words[value->i] : NULL;
}

static bool option_is(const struct lb_protocol *p, const union lb_value *options, const char *name, const char *word) {
  const char *has = option_word(p, options, name);
  return has && strcmp(has, word) == 0;
}

/* 0 = it has no such option. */
static double option_number(const struct lb_protocol *p, const union lb_value *options, const char *name) {
  const struct lb_option *o = options ? lb_option_find(p, name) : NULL;
  if (o && o->type == LB_OPT_REAL) return options[o - p->options].f;
  return o && o->type == LB_OPT_INT ? (double)options[o - p->options].i : 0;
}

static void add_settings(const struct lb_protocol *p, const union lb_value *options, const struct lb_scenario *scenario,
                         struct lb_facts *ret) {
  if (scenario && scenario->renew && p->extend && lb_facts_is(ret, "renews", "caller"))
    lb_facts_set(ret, "renews", "loop"); /* its caller here is the harness, which renews in a loop */
  bool renewed = (scenario && scenario->renew) || lb_facts_is(ret, "renews", "loop");
  lb_facts_set(ret, "renewed", renewed ? "yes" : "no");
  bool foreign = p->traits & LB_TRAIT_FOREIGN;
  lb_facts_set(ret, "measures", foreign ? "unknown" : lb_counts_by_wall(p, options) ? "wall" : "monotonic");
  lb_facts_set(ret, "checks", foreign ? "unknown" : lb_believes_late(p, options) ? "nothing" : "validity");
  lb_facts_set(ret, "capped", lb_renewed_for(p, options) ? "yes" : "no");
  if (option_is(p, options, "heed_warnings", "no")) lb_facts_set(ret, "warnings", "unheeded");
  if (option_is(p, options, "order", "given")) lb_facts_set(ret, "order", "given");
  if (option_is(p, options, "retry", "fixed")) lb_facts_set(ret, "retry", "fixed");
  if (option_is(p, options, "absolute", "yes")) lb_facts_set(ret, "lost", "owned");
  if (option_is(p, options, "fanout", "sequential") && scenario &&
      option_number(p, options, "node_timeout_ms") >= (double)scenario->ttl_ms)
    lb_facts_set(ret, "patience", "past-lease");
  if (option_is(p, options, "idle_timeout", "yes")) lb_facts_set(ret, "idle", "ended");
  if (option_number(p, options, "pool") > 1) lb_facts_set(ret, "calls", "any");
  if (option_is(p, options, "wait", "block")) lb_facts_set(ret, "waits", "inside");
  if (option_is(p, options, "work_on", "other")) lb_facts_set(ret, "ddl", "apart");
  if (option_is(p, options, "recipe", "yes")) lb_facts_set(ret, "believes", "read");
  if (option_is(p, options, "release", "granted")) lb_facts_set(ret, "deletes", "granted");
  if (option_number(p, options, "extensions_max") > 0) lb_facts_set(ret, "extends", "so-often");
  if (option_is(p, options, "extension", "any")) lb_facts_set(ret, "prolongs", "any");
  if (option_number(p, options, "min_validity_ms") > 0) lb_facts_set(ret, "leaves", "enough");
  if (option_number(p, options, "drift") >= 0.1) lb_facts_set(ret, "allows", "much");
  if (option_is(p, options, "expire", "no")) lb_facts_set(ret, "ends", "never");
}

/* So many elections may come to nothing, one after the other. */
enum { ELECTIONS = 6 };

void lb_facts_if(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, const struct lb_assumed *assumed, struct lb_facts *ret) {
  struct lb_error err;
  lb_facts_default(ret);
  add_servers(topology, ret);
  add_end(protocol, topology, ret);
  add_knowledge(protocol, ret);
  bool foreign = protocol->traits & LB_TRAIT_FOREIGN;
  const struct lb_protocol *like =
      foreign && lb_foreign_like(protocol) ? lb_protocol_find(lb_foreign_like(protocol)) : NULL;
  lb_facts_take(ret, like ? like->facts : protocol->facts, LB_TERM_OF_LOCK, &err);
  lb_versions_add(like ? like->name : protocol->name, topology, ret);
  lb_facts_take(ret, stated_of(protocol), LB_TERM_OF_LOCK, &err);
  if (assumed) lb_facts_set(ret, assumed->fact, assumed->value);
  add_settings(protocol, options, scenario, ret);
  if (scenario) lb_steps_facts(scenario, topology, ret);
  if (scenario && topology->detector_ms > 0 && scenario->ttl_ms >= ELECTIONS * topology->detector_ms)
    lb_facts_set(ret, "lasts", "past-election");
  if (assumed) lb_facts_set(ret, assumed->fact, assumed->value); /* an option does not undo it */
}

void lb_facts_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, struct lb_facts *ret) {
  lb_facts_if(protocol, options, topology, scenario, NULL, ret);
}
