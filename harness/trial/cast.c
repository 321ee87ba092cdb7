/* SPDX-License-Identifier: MIT
 *
 * From a role to hosts: which server is primary now, which client holds or asks. Servers are asked; what a client does
 * stands in the memory.
 *
 * `primary` is bound by the first step that needs it, and `replicas`, `majority`, `partners` and `minority` are told
 * from that binding: a later step means the same hosts, even after a failover. (A campaign binds anew for each fault.)
 * `primary 2` is bound in the same way, to a server that decides in the place of `primary`: if none does, the step has
 * no host. `current primary` asks anew every time.
 */
#include "cast.h"

#include "base/clock.h"
#include "base/error.h"

enum { ASK_MS = 5000, QUICK_MS = 1000, POLL_MS = 20, FIND_MS = 1000 };

static int nobody(struct lb_error *err, const char *why) { return lb_error(err, -1, "%s", why); }

/* A server that is slow to answer counts as silent, so on a busy machine the first answer may be "none". */
int lb_cast_primary(struct lb_stage *s) {
  lb_ns deadline = lb_in_ms(ASK_MS);
  int primary = -1;
  while (s->cluster.data_count > 0 && (primary = lb_cluster_primary(&s->cluster, lb_in_ms(QUICK_MS))) < 0 &&
         lb_clock_ns() < deadline)
    lb_sleep_ms(POLL_MS);
  return primary;
}

/* The binding is a fact of the history: without it a reader could not tell which host a later "primary" is. */
int lb_cast_bind_primary(struct lb_stage *s, struct lb_error *err) {
  if (s->primary >= 0) return 0;
  int primary = lb_cast_primary(s);
  if (primary < 0) return lb_error(err, -1, "no server says it is the primary: %s", s->cluster.err.text);
  s->primary = primary;
  lb_stage_primary(s, 0, &s->cluster.server[primary]);
  return 0;
}

int lb_cast_latest_primary(const struct lb_stage *s) { return s->heirs > 0 ? s->heir[s->heirs - 1] : s->primary; }

/* A new primary needs time until it says that it is one. */
static int decides_instead(struct lb_stage *s, int old) {
  lb_ns deadline = lb_in_ms(ASK_MS);
  int primary = lb_cast_primary(s);
  while (primary == old && lb_clock_ns() < deadline) {
    lb_sleep_ms(POLL_MS);
    primary = lb_cast_primary(s);
  }
  return primary;
}

/* Primary N, from 2, unless it is bound already. */
static int bind_heir(struct lb_stage *s, int number, struct lb_error *err) {
  if (lb_cast_bind_primary(s, err) < 0) return -1;
  if (number - 2 < s->heirs) return 0;
  if (number - 2 > s->heirs) return lb_error(err, -1, "primary %d: nobody has named primary %d", number, number - 1);
  int old = lb_cast_latest_primary(s), primary = decides_instead(s, old);
  if (primary < 0)
    return lb_error(err, -1, "primary %d: no server says it is the primary: %s", number, s->cluster.err.text);
  if (primary == old)
    return lb_error(err, -1, "primary %d: %s still decides, nobody replaced it", number, s->cluster.server[old].name);
  s->heir[s->heirs++] = primary;
  lb_stage_primary(s, number, &s->cluster.server[primary]);
  return 0;
}

/* The server that `primary` or primary N is bound to, which is bound now if it was not. -1 with err. */
static int bound(struct lb_stage *s, int number, struct lb_error *err) {
  int r = number < 2 ? lb_cast_bind_primary(s, err) : bind_heir(s, number, err);
  return r < 0 ? -1 : number < 2 ? s->primary : s->heir[number - 2];
}

static void add_server(struct lb_cast *c, struct lb_server *server) { c->server[c->server_count++] = server; }
static void add_client(struct lb_cast *c, struct lb_client *client) { c->client[c->client_count++] = client; }

/* The smallest majority that contains the primary: the primary and its next neighbours in node order. */
static bool in_majority(const struct lb_stage *s, int primary, size_t i) {
  size_t n = s->cluster.data_count, distance = (i + n - (size_t)primary) % n;
  return distance < n / 2 + 1;
}

/* The roles that are told from the bound primary. */
static bool is_relative(const struct lb_stage *s, int primary, enum lb_role_kind kind, size_t i) {
  bool is_primary = (int)i == primary;
  switch (kind) {
    case LB_ROLE_PRIMARY: return is_primary;
    case LB_ROLE_REPLICAS: return !is_primary;
    case LB_ROLE_PARTNERS: return !is_primary && in_majority(s, primary, i);
    default: return in_majority(s, primary, i) == (kind == LB_ROLE_MAJORITY);
  }
}

static int add_relatives(struct lb_stage *s, const struct lb_role *role, struct lb_cast *c, struct lb_error *err) {
  int primary = bound(s, role->number, err);
  if (primary < 0) return -1;
  for (size_t i = 0; i < s->cluster.data_count; i++)
    if (is_relative(s, primary, role->kind, i)) add_server(c, &s->cluster.server[i]);
  return 0;
}

/* A client that has just let go is no holder, and under load another one is about to be: so it looks often, five times
 * in a millisecond. A client that is dead holds nothing any more, whatever its state says. */
static int add_holder(struct lb_stage *s, struct lb_cast *c, struct lb_error *err) {
  lb_ns deadline = lb_in_ms(FIND_MS);
  do {
    for (size_t i = 0; i < s->client_count; i++)
      if (atomic_load(&s->memory->state[i].holds) && lb_client_lives(&s->client[i]))
        return add_client(c, &s->client[i]), 0;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 5);
  } while (lb_clock_ns() < deadline);
  return nobody(err, "nobody held the lock within a second");
}

/* A client that was told to ask a moment ago may not have begun. */
static int add_waiters(struct lb_stage *s, struct lb_cast *c, struct lb_error *err) {
  lb_ns deadline = lb_in_ms(FIND_MS);
  do {
    for (size_t i = 0; i < s->client_count; i++)
      if (atomic_load(&s->memory->state[i].asks) && lb_client_lives(&s->client[i])) add_client(c, &s->client[i]);
    if (c->client_count > 0) return 0;
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 5);
  } while (lb_clock_ns() < deadline);
  return nobody(err, "nobody asked for the lock within a second");
}

static int add_node(struct lb_stage *s, int number, struct lb_cast *c, struct lb_error *err) {
  if (number < 1 || (size_t)number > s->cluster.data_count)
    return lb_error(err, -1, "node %d: %s has %zu", number, s->plan->topology->name, s->cluster.data_count);
  add_server(c, &s->cluster.server[number - 1]);
  return 0;
}

static int add_witness(struct lb_stage *s, int number, struct lb_cast *c, struct lb_error *err) {
  size_t others = s->cluster.server_count - s->cluster.data_count;
  if (number < 1 || (size_t)number > others)
    return lb_error(err, -1, "witness %d: %s has %zu", number, s->plan->topology->name, others);
  add_server(c, &s->cluster.server[s->cluster.data_count + (size_t)number - 1]);
  return 0;
}

static int add_current_primary(struct lb_stage *s, struct lb_cast *c, struct lb_error *err) {
  int primary = lb_cast_primary(s);
  if (primary < 0) return nobody(err, "no server says it is the primary now");
  add_server(c, &s->cluster.server[primary]);
  return 0;
}

/* A client that owes an answer, or stands still, is not asked: its state keeps what it said. */
int lb_cast_server_of(struct lb_stage *s, struct lb_client *client) {
  struct lb_reply reply;
  struct lb_command command = {.verb = LB_DO_SERVER, .deadline = lb_in_ms(QUICK_MS)};
  bool is_free = !s->pending[client->number].step && lb_client_look(client) == LB_LIFE_RUNS;
  if (is_free) lb_client_call(client, command, ASK_MS, &reply);
  return atomic_load(&lb_stage_state(s, client)->server) - 1;
}

static int add_server_of(struct lb_stage *s, int number, struct lb_cast *c, struct lb_error *err) {
  struct lb_client *client = &s->client[number - 1];
  int server = lb_cast_server_of(s, client);
  if (server < 0) return lb_error(err, -1, "%s talks to no server now, or to several at once", client->name);
  add_server(c, &s->cluster.server[server]);
  return 0;
}

int lb_cast_find(struct lb_stage *s, const struct lb_role *role, struct lb_cast *c, struct lb_error *err) {
  *c = (struct lb_cast){0};
  switch (role->kind) {
    case LB_ROLE_PRIMARY:
    case LB_ROLE_REPLICAS:
    case LB_ROLE_MAJORITY:
    case LB_ROLE_PARTNERS:
    case LB_ROLE_MINORITY: return add_relatives(s, role, c, err);
    case LB_ROLE_CURRENT_PRIMARY: return add_current_primary(s, c, err);
    case LB_ROLE_NODE: return add_node(s, role->number, c, err);
    case LB_ROLE_WITNESS: return add_witness(s, role->number, c, err);
    case LB_ROLE_PROXY:
      for (size_t i = s->cluster.data_count; i < s->cluster.server_count && s->plan->topology->family->fronted; i++)
        add_server(c, &s->cluster.server[i]);
      return c->server_count > 0 ? 0 : nobody(err, "no proxy stands before the servers");
    case LB_ROLE_ALL:
      for (size_t i = 0; i < s->cluster.server_count; i++) add_server(c, &s->cluster.server[i]);
      return 0;
    case LB_ROLE_CLIENT: add_client(c, &s->client[role->number - 1]); return 0;
    case LB_ROLE_CLIENTS:
      for (size_t i = 0; i < s->client_count; i++) add_client(c, &s->client[i]);
      return 0;
    case LB_ROLE_HOLDER: return add_holder(s, c, err);
    case LB_ROLE_WAITERS: return add_waiters(s, c, err);
    case LB_ROLE_SERVER_OF: return add_server_of(s, role->number, c, err);
    case LB_ROLE_NONE: break;
  }
  return nobody(err, "a step names no host");
}
