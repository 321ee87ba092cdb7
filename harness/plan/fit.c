/* SPDX-License-Identifier: MIT
 *
 * Whether a scenario means something on a system, and whether this machine can play it: which clocks both are about,
 * and what the scenario asks for. All of it can be said before anything is started. So a cell that cannot run says so
 * in the table, with its reason, and does not fail in each trial. There are two kinds of reason. The question may mean
 * nothing there on any machine (no other server can become primary; no fencing token): the cell is `n/a`. Or something
 * is missing here (a program, a right): the cell is `skipped`.
 */
#include "fit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/need.h"
#include "base/process.h"
#include "client/holder.h"
#include "peers.h"
#include "network/sandbox.h"
#include "own/own.h"
#include "network/stall.h"
#include "plan.h"
#include "preload/skew.h"
#include "theory/versions.h"

static unsigned of_servers(const struct lb_protocol *p, const struct lb_topology *t) {
  bool foreign_lease = p->traits & LB_TRAIT_FOREIGN && p->traits & LB_TRAIT_LEASED;
  unsigned clocks = p->traits & LB_TRAIT_SERVER_CLOCK ? LB_CLOCK_SERVER_WALL : 0;
  if (!(p->traits & LB_TRAIT_SESSION) && !foreign_lease) return clocks;
  /* Where servers end nothing by themselves, a foreign lease is a row whose end somebody compares with now(). */
  bool row = foreign_lease && t->family->ends_by == LB_ENDS_BY_NO_CLOCK && t->data_count > 0;
  if (t->family->ends_by == LB_ENDS_BY_WALL || row) clocks |= LB_CLOCK_SERVER_WALL;
  if (t->family->ends_by == LB_ENDS_BY_MONOTONIC) clocks |= LB_CLOCK_SERVER_MONOTONIC;
  return clocks;
}

/* Every lease of ours has an end on its holder's monotonic clock (lb_lease_end()), but where an option says the wall
 * clock. A client with a session that can expire keeps it up by that clock. */
static unsigned of_client(const struct lb_protocol *p, const union lb_value *options, const struct lb_topology *t) {
  bool counts =
      p->traits & LB_TRAIT_LEASED || (p->traits & LB_TRAIT_SESSION && t->family->ends_by != LB_ENDS_BY_NO_CLOCK);
  if (!counts) return 0;
  if (p->traits & LB_TRAIT_FOREIGN) return LB_CLOCK_CLIENT_WALL | LB_CLOCK_CLIENT_MONOTONIC;
  if (lb_counts_by_wall(p, options)) return LB_CLOCK_CLIENT_WALL;
  return LB_CLOCK_CLIENT_MONOTONIC | (p->traits & LB_TRAIT_CLIENT_CLOCK ? LB_CLOCK_CLIENT_WALL : 0);
}

unsigned lb_fit_clocks_of(const struct lb_protocol *protocol, const union lb_value *options,
                          const struct lb_topology *topology) {
  return of_servers(protocol, topology) | of_client(protocol, options, topology);
}

const char *lb_fit_clocks_say(unsigned clocks, char *buf, size_t size) {
  static const char *const names[] = {"the servers' wall clock", "the servers' monotonic clock",
                                      "the client's wall clock", "the client's monotonic clock"};
  size_t at = 0;
  snprintf(buf, size, "none");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (clocks & 1u << i && at < size) at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", names[i]);
  return buf;
}

struct fitting { /* of a system to a scenario */
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  bool inside;  /* its tries wait for their turn */
  bool renewed; /* in a loop of the client */
  char *why;    /* what stands against it; empty = nothing yet */
  size_t size;
};

static void miss(struct fitting *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void miss(struct fitting *f, const char *format, ...) {
  va_list args;
  if (f->why[0]) return; /* the first reason is enough */
  va_start(args, format);
  vsnprintf(f->why, f->size, format, args);
  va_end(args);
}

static const char no_proxy[] = "no proxy stands before the servers";

/* A step that is about a server, or about links. The key that is deleted is a lock of ours. */
static bool touches_servers(const struct lb_step *step) {
  if (lb_step_by_hand(step) || step->verb == LB_STEP_DELETE_KEY) return false;
  bool of_server = (step->a.kind != LB_ROLE_NONE && !lb_role_is_client(step->a)) ||
                   (step->b.kind != LB_ROLE_NONE && !lb_role_is_client(step->b));
  return of_server || lb_step_hits_server(step) ||
         lb_step_needs(step, LB_NEED_NETWORK | LB_NEED_SERVERS | LB_NEED_FAILOVER | LB_NEED_MEMBERS);
}

/* A link between a client and a server, which a host of the trial stands in for (network/standin.h). */
static bool is_of_stand_ins(const struct lb_step *step) {
  bool links = lb_step_needs(step, LB_NEED_NETWORK) &&
               !lb_step_needs(step, LB_NEED_SERVERS | LB_NEED_FAILOVER | LB_NEED_MEMBERS);
  bool whole = step->a.kind == LB_ROLE_NONE && step->b.kind == LB_ROLE_NONE; /* heal */
  return links && (whole || lb_role_is_client(step->a) || lb_role_is_client(step->b));
}

/* A look at what a server says to any client. What it has synced is seen from its machine alone. */
static bool only_asks(const struct lb_step *step) {
  enum lb_step_class class = lb_step_row(step)->class;
  bool asks = class == LB_STEP_OBSERVATION || class == LB_STEP_CONDITION || class == LB_STEP_PAUSES;
  return asks && !lb_step_needs(step, LB_NEED_SYNCS);
}

/* What the owner of servers has to allow for a step that touches them, with its undo: a bit for each verb. */
static unsigned orders_of(const struct lb_step *step) {
  enum { KILL = 1 << LB_MAY_KILL | 1 << LB_MAY_RESTART, PAUSE = 1 << LB_MAY_PAUSE | 1 << LB_MAY_RESUME };
  enum { CUT = 1 << LB_MAY_CUT | 1 << LB_MAY_HEAL };
  static const unsigned of_verb[LB_VERB_COUNT] = {
      [LB_STEP_KILL] = KILL,
      [LB_STEP_RESTART] = KILL,
      [LB_STEP_PAUSE] = PAUSE,
      [LB_STEP_RESUME] = PAUSE,
      [LB_STEP_CUT] = CUT,
      [LB_STEP_HEAL_ONE] = CUT,
      [LB_STEP_CLOCK_JUMP] = 1 << LB_MAY_CLOCK,
      [LB_STEP_DEPOSE] = 1 << LB_MAY_DEPOSE,
      [LB_STEP_SHUT_DOWN] = 1 << LB_MAY_STOP | 1 << LB_MAY_RESTART,
  };
  return of_verb[step->verb] && !step->monotonic ? of_verb[step->verb] : LB_MAY_NEVER;
}

static bool is_of_own(const struct lb_step *step, const struct lb_topology *t) {
  return t->own && touches_servers(step) && !is_of_stand_ins(step) && !only_asks(step);
}

/* So many servers a role stands for, at most. */
static size_t most_of(struct lb_role role, const struct lb_topology *t) {
  switch (role.kind) {
    case LB_ROLE_ALL: return t->data_count + t->other_count;
    case LB_ROLE_REPLICAS: return t->data_count - 1;
    case LB_ROLE_MAJORITY: return t->data_count / 2 + 1;
    case LB_ROLE_PARTNERS: return t->data_count / 2;
    case LB_ROLE_MINORITY: return t->data_count - t->data_count / 2 - 1;
    default: return 1;
  }
}

/* Whether it waits for a promotion, and these servers of the user have no operator or program that gives one. */
static bool lacks_promoter(const struct lb_step *step, const struct lb_topology *t) {
  bool waits =
      lb_step_needs(step, LB_NEED_FAILOVER) || step->verb == LB_STEP_LET_FAILOVER || lb_step_later_primary(step);
  bool ordered = t->own && t->data_count > 1 && lb_topology_find(t->stands_for)->family->orders.promote;
  return waits && ordered && !(t->mandate && t->mandate->fails_over);
}

/* True with the reason in `why` if the step would touch the user's servers, and their owner has not allowed it. */
static bool hurts(const struct lb_step *step, const struct lb_topology *t, struct lb_error *why) {
  char verbs[100];
  const struct lb_mandate *mandate = t->mandate;
  if (lacks_promoter(step, t))
    return lb_refuse(
        why, "'%s': nobody promotes a server of your own (fails-over = yes in an operator's file: somebody does)",
        step->text);
  if (!is_of_own(step, t)) return false;
  unsigned orders = orders_of(step);
  if (!mandate || orders & LB_MAY_NEVER)
    return lb_refuse(why, "'%s' would touch the servers or their network, which are your own%s", step->text,
                     mandate ? ", and no operator is asked for that" : "");
  if (orders & ~mandate->may)
    return lb_refuse(why, "'%s': the operator may not %s", step->text,
                     lb_mandate_say(orders & ~mandate->may, verbs, sizeof verbs));
  size_t a = most_of(step->a, t), b = step->b.kind == LB_ROLE_NONE ? a : most_of(step->b, t), most = a < b ? a : b;
  if (most > mandate->at_once)
    return lb_refuse(why, "'%s' is of %zu servers, and the operator allows at-once = %zu", step->text, most,
                     mandate->at_once);
  unsigned all = (1u << (t->data_count + t->other_count)) - 1;
  if ((step->a.kind == LB_ROLE_ALL || step->b.kind == LB_ROLE_ALL) && all & ~mandate->known)
    return lb_refuse(why, "'%s': the operator does not name each server", step->text);
  return false;
}

/* A role of servers behind a proxy, which clients do not talk to. (A role without hosts there is cut off without
 * effect, as on any single server.) */
static bool is_behind(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY || role.kind == LB_ROLE_MAJORITY ||
         role.kind == LB_ROLE_NODE;
}

/* A step that these servers give no meaning to, whatever the lock: true with the reason in `why`. A fault of a client
 * needs no server, unless it is one of the network: the client then has no server to be cut off from. */
static bool means_nothing(const struct lb_step *step, const struct lb_topology *t, struct lb_error *why) {
  bool of_client = lb_role_is_client(step->a), among_clients = of_client && lb_role_is_client(step->b);
  if (hurts(step, t, why)) return true;
  if (among_clients && lb_step_row(step)->among_clients && !t->members)
    return lb_refuse(why, "no two clients talk to each other here");
  if (t->data_count == 0 && lb_step_row(step)->class == LB_STEP_FAULT && !lb_step_by_hand(step) &&
      (!of_client || (lb_step_needs(step, LB_NEED_NETWORK) && !among_clients)))
    return lb_refuse(why, "there are no servers");
  if ((lb_step_needs(step, LB_NEED_FAILOVER) || lb_step_later_primary(step)) && t->data_count < 2)
    return lb_refuse(why, "one server, so no failover");
  if ((step->a.kind == LB_ROLE_NODE && (size_t)step->a.number > t->data_count) ||
      (step->b.kind == LB_ROLE_NODE && (size_t)step->b.number > t->data_count))
    return lb_refuse(why, "%s: %s has %zu data servers", step->text, t->name, t->data_count);
  if ((step->a.kind == LB_ROLE_WITNESS && (size_t)step->a.number > t->other_count) ||
      (step->b.kind == LB_ROLE_WITNESS && (size_t)step->b.number > t->other_count))
    return lb_refuse(why, "%s: %s has %zu servers that hold no locks", step->text, t->name, t->other_count);
  if ((step->a.kind == LB_ROLE_PROXY || step->b.kind == LB_ROLE_PROXY) && !t->family->fronted)
    return lb_refuse(why, "%s", no_proxy);
  if (t->family->fronted &&
      ((lb_role_is_client(step->a) && is_behind(step->b)) || (lb_role_is_client(step->b) && is_behind(step->a))))
    return lb_refuse(why, "'%s': no client talks to a server behind a proxy", step->text);
  if (lb_step_needs(step, LB_NEED_POOLER) && !t->family->orders.occupy)
    return lb_refuse(why, "no pooler lends server processes here");
  if (lb_step_needs(step, LB_NEED_TABLES) && !t->family->orders.lock_tables)
    return lb_refuse(why, "no server here has tables that an upgrade could lock");
  if (lb_step_needs(step, LB_NEED_CLOCKS) && !of_client && !t->family->wall_ms)
    return lb_refuse(why, "the clock of %s cannot be set", t->family->service);
  if (step->monotonic && !of_client && !t->family->mono_ms)
    return lb_refuse(why, "%s tells nobody its monotonic clock", t->family->service);
  if (lb_step_needs(step, LB_NEED_SYNCS) && !t->family->by_libc)
    return lb_refuse(why, "what %s has synced cannot be seen: it asks the kernel without the C library",
                     t->family->service);
  if (lb_step_needs(step, LB_NEED_ORDERLY) && (t->data_count < 2 || !(t->family->orders.depose || t->mandate)))
    return lb_refuse(why, t->data_count < 2 ? "one server, so no failover" : "no server here steps down by order");
  if (lb_step_needs(step, LB_NEED_MEMBERSHIP) && (t->data_count < 2 || !t->family->orders.remove))
    return lb_refuse(why, t->data_count < 2 ? "one server, which cannot leave its cluster"
                                            : "no server here is a member that an operator can remove");
  if (lb_step_needs(step, LB_NEED_CANCEL) && !(t->family->orders.cancel && t->synchronous))
    return lb_refuse(why, "no commit waits for another server here");
  if (lb_step_needs(step, LB_NEED_ENDING) && !t->family->orders.end_session)
    return lb_refuse(why, "%s ends no session by order", t->family->service);
  if (lb_step_needs(step, LB_NEED_FILES) && !t->family->orders.files)
    return lb_refuse(why, "the files of %s are not known", t->family->service);
  if (lb_step_needs(step, LB_NEED_EMPTY) && !t->family->orders.starts_empty)
    return lb_refuse(why, "%s does not start without its files", t->family->service);
  if (lb_step_needs(step, LB_NEED_SLOTS) && !t->family->orders.move_slot)
    return lb_refuse(why, "no server here has keys in slots that move");
  if (lb_step_needs(step, LB_NEED_FOLLOWERS) && (!t->family->caught_up || t->data_count < 2))
    return lb_refuse(why, "no server here says how far it follows another one");
  if (lb_step_needs(step, LB_NEED_STALL) && t->keeps == LB_KEEPS_NOTHING)
    return lb_refuse(why, "%s syncs nothing to a disk that could stall", t->name);
  if (lb_step_needs(step, LB_NEED_ROOM) && !t->family->orders.need_room)
    return lb_refuse(why, "%s was never seen on a full disk", t->family->service);
  if (lb_step_needs(step, LB_NEED_MEMORY) && !t->family->orders.fill_memory)
    return lb_refuse(why, "the memory of %s has no limit that a lock could meet", t->family->service);
  if (step->policy && t->family->orders.policy && strcmp(step->policy, t->family->orders.policy) != 0)
    return lb_refuse(why, "%s is started so that it gives up what was used least recently", t->family->service);
  if (step->verb == LB_STEP_UPGRADE && !t->family->stated)
    return lb_refuse(why, "lockbench starts no %s on what another version of it left", t->family->name);
  if (lb_step_needs(step, LB_NEED_MEMBERS) && !t->family->left)
    return lb_refuse(why, "no server here says that it has left the others");
  return false;
}

bool lb_fit_means_something(const struct lb_scenario *scenario, const struct lb_topology *topology) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (means_nothing(&scenario->steps[i], topology, NULL)) return false;
  return true;
}

bool lb_fit_touches(const struct lb_scenario *scenario, const struct lb_topology *topology, struct lb_error *why) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (hurts(&scenario->steps[i], topology, why)) return true;
  for (size_t i = 0; i < scenario->fault_count; i++)
    if (hurts(&scenario->faults[i], topology, why)) return true;
  return false;
}

unsigned lb_fit_orders(const struct lb_scenario *scenario, const struct lb_topology *topology) {
  unsigned orders = 0;
  for (size_t i = 0; i < scenario->step_count; i++)
    if (is_of_own(&scenario->steps[i], topology)) orders |= orders_of(&scenario->steps[i]);
  for (size_t i = 0; i < scenario->fault_count; i++)
    if (is_of_own(&scenario->faults[i], topology)) orders |= orders_of(&scenario->faults[i]);
  return orders;
}

static void add_offset(const struct lb_step *step, const struct lb_topology *topology, struct lb_fit_offsets *to) {
  if (step->verb != LB_STEP_CLOCK_JUMP || !is_of_own(step, topology)) return;
  int64_t ms = llabs(step->offset_ms);
  for (size_t i = 0; i < to->count; i++)
    if (to->ms[i] == ms) return;
  LB_APPEND(to->ms, to->count) = ms;
}

void lb_fit_add_offsets(const struct lb_scenario *scenario, const struct lb_topology *topology,
                        struct lb_fit_offsets *to) {
  for (size_t i = 0; i < scenario->step_count; i++) add_offset(&scenario->steps[i], topology, to);
  for (size_t i = 0; i < scenario->fault_count; i++) add_offset(&scenario->faults[i], topology, to);
}

/* At a point inside a protocol, not at one of every client. */
static bool is_inside(const struct lb_step *step) {
  return lb_step_needs(step, LB_NEED_POINT) && !lb_protocol_has_point(lb_holder_points, step->point);
}

/* A lock of the user's own need not say so: what is not known of it is asked. */
static bool may_have(const struct lb_protocol *p, unsigned trait) {
  return p->traits & trait || (p->traits & LB_TRAIT_FOREIGN && !lb_peers_has(p));
}

/* True if the client has asked again since the release that the step repeats. */
static bool has_newer(const struct lb_scenario *scenario, const struct lb_step *step) {
  bool newer = false;
  for (const struct lb_step *earlier = scenario->steps; earlier < step; earlier++)
    if (earlier->a.number == step->a.number && (lb_step_row(earlier)->asks || earlier->verb == LB_STEP_RELEASE))
      newer = lb_step_row(earlier)->asks;
  return newer;
}

/* True if the play has to know which server a client talks to before the step. */
static bool names_server_of(const struct lb_step *step) {
  return step->verb == LB_STEP_OBSERVE_SERVER || step->a.kind == LB_ROLE_SERVER_OF || step->b.kind == LB_ROLE_SERVER_OF;
}

/* Each server serves by itself; what an adapter does with one address it has to know. */
static bool can_be_bound(const struct fitting *f) {
  const struct lb_family *family = f->topology->family;
  if (f->topology->data_count < 2) return false;
  return family->independent ? f->protocol->traits & LB_TRAIT_FOREIGN : family->majority;
}

/* Servers that know sessions by numbers need that of the client. The others know it by its address. */
static bool keeps_places(const struct fitting *f) {
  const struct lb_family *family = f->topology->family;
  if (!family->has_place) return false;
  if (family->has_session) return f->protocol->traits & LB_TRAIT_QUEUES && lb_proofs(f->protocol)->session_id;
  return f->inside || f->protocol->traits & LB_TRAIT_QUEUES;
}

/* Without servers, `primary` is the service that an adapter finds by itself. */
static void check_look_up(struct fitting *f, const struct lb_step *step) {
  bool foreign = f->protocol->traits & LB_TRAIT_FOREIGN;
  if (foreign && !lb_foreign_looks_up(f->protocol))
    miss(f, "%s: there are no servers, and the adapter answers no `record` (can=record)", step->text);
  if (!foreign || step->a.kind != LB_ROLE_PRIMARY) miss(f, "%s: there are no servers", step->text);
}

/* What a step asks of a system that not every system has. Points belong to the protocol or to every
 * client (holder.h). */
static void check_meaning(struct fitting *f, const struct lb_step *step) {
  struct lb_error why;
  if (is_inside(step) && f->protocol->traits & LB_TRAIT_FOREIGN)
    miss(f, "a foreign lock has no points, and '%s' is at one inside a lock", step->text);
  /* Its refusal and its wait are in two calls of its library, with a new look at the server between. */
  if (lb_step_needs(step, LB_NEED_POINT) && strcmp(step->point, "before-wait") == 0 &&
      f->protocol->traits & LB_TRAIT_FOREIGN)
    miss(f, "%s: a foreign lock waits inside its call, and nobody can stop it there", step->text);
  if (is_inside(step) && !lb_protocol_has_point(f->protocol->points, step->point))
    miss(f, "%s has no point '%s', see `%s list points`", f->protocol->name, step->point, lb_process_called());
  if (lb_step_needs(step, LB_NEED_OUTSIDE) && !lb_protocol_has_point(lb_holder_points, step->point))
    miss(f, "%s: that is inside a call of %s, where nobody could renew", step->text, f->protocol->name);
  if (lb_step_needs(step, LB_NEED_WAKES) && !f->protocol->wait)
    miss(f, "%s: nobody wakes waiters of %s", step->text, f->protocol->name);
  if (lb_step_needs(step, LB_NEED_SESSION) && !(lb_proofs(f->protocol)->session_id && f->topology->family->has_session))
    miss(f,
         f->protocol->traits & LB_TRAIT_FOREIGN && f->protocol->traits & LB_TRAIT_SESSION
             ? "%s: lockbench does not know which lease or session is that of a client of %s"
             : "%s: a client of %s has no session that a server could end",
         step->text, f->protocol->name);
  if (lb_step_needs(step, LB_NEED_RENEWALS) && !f->renewed)
    miss(f, "%s: no loop in a client of %s renews what it holds", step->text, f->protocol->name);
  if (step->verb == LB_STEP_SHUT_CLIENT && !f->protocol->stop)
    miss(f, "%s: nobody can tell a client of %s to stop", step->text, f->protocol->name);
  if (step->verb == LB_STEP_WORK && !f->protocol->work)
    miss(f, "%s: what a client of %s does under its lock does not meet the lock", step->text, f->protocol->name);
  if (step->verb == LB_STEP_RELEASE_OF && f->protocol->traits & LB_TRAIT_FOREIGN &&
      !lb_foreign_takes_tokens(f->protocol))
    miss(f, "%s: an adapter without can=token releases only what its own client was granted", step->text);
  if (lb_step_needs(step, LB_NEED_RECORD) && !f->protocol->break_lock)
    miss(f, "%s: %s has no record that somebody could delete", step->text, f->protocol->name);
  /* Where sessions are known by numbers the client has to tell its own. */
  if (lb_step_needs(step, LB_NEED_ENDING) && f->topology->family->has_session && !lb_proofs(f->protocol)->session_id)
    miss(f, "%s: no client of %s says which session is its", step->text, f->protocol->name);
  if (lb_step_needs(step, LB_NEED_PLACE) && !keeps_places(f))
    miss(f, "%s: no server here can be asked for the place of a waiter of %s", step->text, f->protocol->name);
  if (step->verb == LB_STEP_REOPEN && step->b.kind != LB_ROLE_NONE && !can_be_bound(f))
    miss(f, "%s: no client of %s on %s could do with one server of several", step->text, f->protocol->name,
         f->topology->name);
  if (step->ttl_ms && !(f->protocol->traits & LB_TRAIT_LEASED))
    miss(f, "%s: an acquire of %s has no length of its own", step->text, f->protocol->name);
  if (names_server_of(step) && !lb_proofs(f->protocol)->server)
    miss(f, "%s: no client of %s has one server that it talks to", step->text, f->protocol->name);
  if (lb_step_needs(step, LB_NEED_CLOCKS) && lb_role_is_client(step->a) && f->protocol->traits & LB_TRAIT_TRUE_CLOCK)
    miss(f, "the clock of %s cannot be set: it asks the kernel", f->protocol->name);
  if ((step->verb == LB_STEP_OBSERVE_KEY || step->verb == LB_STEP_AWAIT_ABSENT) && f->topology->data_count == 0)
    check_look_up(f, step);
  if (step->shared && !may_have(f->protocol, LB_TRAIT_SHARED))
    miss(f, "%s: %s has no readers", step->text, f->protocol->name);
  if (means_nothing(step, f->topology, &why)) miss(f, "%s", why.text);
}

/* Whether some step sets the clock of a server, which needs the clock shim. */
static bool sets_clocks(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (lb_step_needs(&scenario->steps[i], LB_NEED_CLOCKS) && !lb_role_is_client(scenario->steps[i].a)) return true;
  for (size_t i = 0; i < scenario->fault_count; i++)
    if (lb_step_needs(&scenario->faults[i], LB_NEED_CLOCKS)) return true;
  return false;
}

/* A lease of another length than asked for would be another question. */
static void check_ttl(struct fitting *f, const struct lb_scenario *scenario) {
  const struct lb_family *family = f->topology->family;
  int64_t least = family->least_ttl_ms ? family->least_ttl_ms(f->topology, scenario->kind == LB_KIND_LOAD) : 0;
  if (scenario->ttl_ms < least)
    miss(f, "%s grants no lease or session shorter than %lld ms", f->topology->name, (long long)least);
}

/* Servers that no host of a trial can stand in for. */
static void check_stand_ins(struct fitting *f) {
  const struct lb_own_found *found = &f->topology->own->found;
  for (size_t i = 0; i < found->count; i++) {
    const char *host = found->server[i].host;
    if (strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0)
      miss(f, "no host can stand in for %s: expected servers at an address that others reach, too", host);
    if (strchr(host, ':')) miss(f, "no host can stand in for %s: expected an address of IPv4", host);
    for (size_t k = 0; k < i && i < found->data_count; k++)
      if (strcmp(found->server[k].host, host) == 0)
        miss(f, "two of your servers are at %s: no link of one alone could be cut", host);
  }
}

const struct lb_topology *lb_fit_next(const struct lb_scenario *scenario, const struct lb_topology *topology,
                                      struct lb_error *err) {
  *err = (struct lb_error){0};
  if (!lb_scenario_upgrade(scenario) || topology->own) return NULL;
  const struct lb_origin *origin = lb_origin_find(scenario->next, err);
  return origin ? lb_topology_from(topology->base ? lb_topology_find(topology->base) : topology, origin) : NULL;
}

/* A restart as the same version would be another question. */
static void check_next(struct fitting *f, const struct lb_scenario *scenario) {
  struct lb_error err;
  const struct lb_topology *next = lb_fit_next(scenario, f->topology, &err);
  if (!lb_scenario_upgrade(scenario)) return;
  if (!next) return miss(f, "next = %s: %s", scenario->next, err.text);
  const char *missing = lb_topology_missing(next);
  if (missing) return miss(f, "%s needs %s, which is not there", next->name, missing);
  if (strcmp(lb_versions_of(f->topology), lb_versions_of(next)) == 0)
    miss(f, "next = %s: its servers are '%s' already", scenario->next, lb_versions_of(next));
}

/* Programs, rights and our own library. */
static void check_machine(struct fitting *f, const struct lb_scenario *scenario) {
  const char *missing = lb_topology_missing(f->topology);
  const struct lb_isolation *isolation = lb_isolation_probe();
  const char *library = lb_peers_missing_file(f->protocol);
  char version[200];
  if (library)
    miss(f, "it is not installed: `%s %s` installs it", lb_process_peers_installer(), lb_peers_name(f->protocol));
  if (missing)
    miss(f, "%s needs %s, which is not %s", f->topology->name, missing, f->topology->origin ? "there" : "installed");
  if (!missing && !lb_versions_meet(f->protocol, f->topology, version, sizeof version))
    miss(f, "%s %s", f->protocol->name, version);
  if (lb_origin_root(f->topology->origin) && isolation->kind == LB_ISOLATION_NONE)
    miss(f, "a root of its own needs a sandbox: %s", isolation->why.text);
  if (!f->why[0]) check_next(f, scenario);
  if (f->topology->data_count > 0 && lb_scenario_needs(scenario, LB_NEED_ROOM) && isolation->kind == LB_ISOLATION_NONE)
    miss(f, "a disk that can be full needs a sandbox: %s", isolation->why.text);
  if (lb_scenario_needs(scenario, LB_NEED_NETWORK) && f->topology->own) check_stand_ins(f);
  if (lb_scenario_needs(scenario, LB_NEED_NETWORK) && isolation->kind == LB_ISOLATION_NONE)
    miss(f, "cutting links needs network namespaces: %s", isolation->why.text);
  if (f->topology->data_count > 0 && lb_scenario_needs(scenario, LB_NEED_SYNCS) && !lb_shim_path(LB_SHIM_DISK))
    miss(f, "seeing what servers write needs the disk shim, which was not found beside the program");
  if (f->topology->data_count > 0 && lb_scenario_needs(scenario, LB_NEED_STALL) && !lb_stall_possible())
    miss(f, "this kernel cannot keep the syncs of a program (seccomp user notification)");
  if (f->topology->data_count > 0 && sets_clocks(scenario) && !lb_shim_path(LB_SHIM_CLOCK))
    miss(f, "setting clocks needs the clock shim, which was not found beside the program");
}

/* What runs the clients, and how many of them. */
static void check_driver(struct fitting *f, const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->client_count_count && scenario->driver == LB_BY_PROCESS; i++)
    if (scenario->client_counts[i] > LB_CLIENTS_MAX)
      miss(f, "%d clients are too many processes: expected driver=coroutine", scenario->client_counts[i]);
  if (scenario->driver != LB_BY_COROUTINE) return;
  if (f->protocol->traits & LB_TRAIT_FOREIGN) miss(f, "a foreign lock has a process for each client");
  if (f->protocol->traits & LB_TRAIT_OWN_THREADS)
    miss(f, "the client library of %s has threads of its own for each client", f->protocol->name);
}

/* A guard protects the resource of one holder. */
static void check_guard_of_many(struct fitting *f, const struct lb_scenario *scenario, enum lb_guard guard) {
  bool shared = scenario->readers > 0;
  for (size_t i = 0; i < scenario->step_count; i++) shared |= scenario->steps[i].shared;
  if (scenario->permits > 1 && guard != LB_GUARD_NONE)
    miss(f, "with several permits nothing is said of the resource that a guard protects");
  if (shared && (guard == LB_GUARD_CLAIM || guard == LB_GUARD_FENCE))
    miss(f, "readers hold together, and the guard %s lets in the latest token alone", lb_guard_name(guard));
}

/* What holds on every machine comes first: a cell that means nothing misses nothing. Then from what
 * stops every cell of the topology to what stops this one, because only the first reason is
 * told. */
enum lb_verdict lb_fit(const struct lb_cell *cell, char *why, size_t size) {
  const struct lb_scenario *scenario = cell->scenario;
  const struct lb_protocol *protocol = cell->protocol;
  const struct lb_topology *topology = cell->topology;
  const enum lb_guard guard = cell->guard;
  struct fitting fitting = {.protocol = protocol, .topology = topology, .why = why, .size = size}, *f = &fitting;
  why[0] = '\0';
  f->inside = lb_waits_inside(protocol, cell->options);
  f->renewed = protocol->traits & LB_TRAIT_LEASED && protocol->extend &&
               (scenario->renew || protocol->traits & LB_TRAIT_RENEWED);
  if (protocol->traits & LB_TRAIT_FLOOR &&
      (scenario->kind != LB_KIND_LOAD || scenario->keys != 0 || guard != LB_GUARD_NONE))
    miss(f, "%s is no lock: it runs without a guard where no two clients meet", protocol->name);
  if (guard == LB_GUARD_FENCE && !lb_protocol_can_fence(protocol)) miss(f, "%s has no fencing token", protocol->name);
  if (guard == LB_GUARD_SIGNAL && !protocol->doubt) miss(f, "%s tells nobody of a lost connection", protocol->name);
  if (guard == LB_GUARD_RECHECK && !protocol->holds)
    miss(f, "%s has no way to ask whether it still holds", protocol->name);
  if (scenario->permits > 1 && !may_have(protocol, LB_TRAIT_PERMITS))
    miss(f, "%s lets in one, not %d", protocol->name, scenario->permits);
  if (scenario->readers > 0 && !may_have(protocol, LB_TRAIT_SHARED)) miss(f, "%s has no readers", protocol->name);
  check_guard_of_many(f, scenario, guard);
  for (size_t i = 0; i < scenario->step_count; i++) check_meaning(f, &scenario->steps[i]);
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (scenario->premises[i].server.kind == LB_ROLE_PROXY && !topology->family->fronted) miss(f, "%s", no_proxy);
  /* A campaign leaves out the faults that a system has no host for. */
  for (size_t i = 0; i < scenario->fault_count && topology->data_count > 0; i++) check_meaning(f, &scenario->faults[i]);
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_step *step = &scenario->steps[i];
    if (step->verb == LB_STEP_RELEASE_ANYWAY && protocol->traits & LB_TRAIT_FOREIGN &&
        !lb_foreign_takes_tokens(protocol) && has_newer(scenario, step))
      miss(f, "%s: an adapter without can=token is not told for which grant a release is", step->text);
  }
  check_driver(f, scenario);
  check_ttl(f, scenario);
  if (why[0]) return LB_NA;
  check_machine(f, scenario);
  return why[0] ? LB_SKIPPED : LB_VERDICT_NONE;
}
