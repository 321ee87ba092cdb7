/* SPDX-License-Identifier: MIT
 *
 * Which steps of a scenario mean something where servers are only kept: those that are done to hosts, or look at servers. Nobody here takes a lock, so
 * what is about a lock, or about the program of a client, is refused, with the reason.
 */
#include <errno.h>
#include <stdio.h>

#include "base/refuse.h"
#include "serve_parts.h"
#include "servers/sandbox.h"

static bool is_of_a_client(enum lb_verb verb) {
  switch (verb) {
    case LB_STEP_PASS:
    case LB_STEP_DELIVER:
    case LB_STEP_OBSERVE_SERVER: return true;
    default: return lb_step_rows[verb].class == LB_STEP_COMMAND || (lb_step_rows[verb].needs & (LB_NEED_POINT | LB_NEED_ASKED));
  }
}

const char *lb_serve_why_not(const struct lb_serve *v, enum lb_verb verb) {
  unsigned needs = lb_step_rows[verb].needs;
  if (is_of_a_client(verb)) return "it is for a client of a scenario; here nobody takes a lock but your command";
  if (verb == LB_STEP_OBSERVE_KEY || verb == LB_STEP_AWAIT_ABSENT || (needs & (LB_NEED_RECORD | LB_NEED_SLOTS))) return "which key a lock has is known in a scenario only; ask the servers for yours";
  if (needs & LB_NEED_ROOM) return "a disk that can be full is made in a scenario only";
  if ((needs & LB_NEED_NETWORK) && !v->stage.net.separate) return lb_isolation_probe()->why;
  if ((needs & LB_NEED_CLOCKS) && !v->plan->clocks) return "the servers have the clock of this machine; start serve with --clocks";
  return NULL;
}

/* 0 stands for `any`, which a campaign draws. */
static int check_number(const char *kind, int number, size_t max, char *err, size_t err_size) {
  char found[20] = "any";
  if (number >= 1 && (size_t)number <= max) return 0;
  if (number) snprintf(found, sizeof found, "%d", number);
  return lb_refuse(err, err_size, "%s %s: expected a number from 1 to %zu", kind, found, max);
}

static int check_role(struct lb_serve *v, struct lb_role role, char *err, size_t err_size) {
  size_t nodes = v->stage.cluster.data_count, clients = v->stage.client_count;
  switch (role.kind) {
    case LB_ROLE_HOLDER:
    case LB_ROLE_WAITERS:
    case LB_ROLE_SERVER_OF:
      return lb_refuse(err, err_size, "found a role of who takes a lock: expected servers, client N or clients; what your command holds, only it knows");
    case LB_ROLE_NODE: return check_number("node", role.number, nodes, err, err_size);
    case LB_ROLE_CLIENT: return check_number("client", role.number, clients, err, err_size);
    default: return 0;
  }
}

/* A host of a client has links, and nothing on it that could be killed, but where the command runs. */
static int check_process(struct lb_serve *v, const struct lb_step *step, char *err, size_t err_size) {
  size_t first = step->a.kind == LB_ROLE_CLIENT ? (size_t)step->a.number - 1 : 0;
  size_t last = step->a.kind == LB_ROLE_CLIENTS ? v->stage.client_count - 1 : first;
  if (!lb_role_is_client(step->a) || lb_step_needs(step, LB_NEED_NETWORK)) return 0;
  for (size_t i = first; i <= last; i++)
    if (!v->stage.client[i].body)
      return lb_refuse(err, err_size, "%s: no command runs on %s, so there is nothing on it but its links", step->text, v->stage.client[i].name);
  if (step->verb == LB_STEP_CLOCK_JUMP || step->verb == LB_STEP_CLOCK_RATE)
    return lb_refuse(err, err_size, "%s: your command has the clock of this machine: expected servers", step->text);
  return 0;
}

int lb_serve_may(struct lb_serve *v, const struct lb_step *step, char *err, size_t err_size) {
  const char *why = lb_serve_why_not(v, step->verb);
  if (why) return lb_refuse(err, err_size, "%s: not here: %s", step->text, why);
  if (step->delayed) return lb_refuse(err, err_size, "%s: found 'delay', expected a time as in 500ms: it is a key of a scenario", step->text);
  int r = check_role(v, step->a, err, err_size);
  if (r == 0) r = check_role(v, step->b, err, err_size);
  return r < 0 ? r : check_process(v, step, err, err_size);
}
