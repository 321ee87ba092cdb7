/* SPDX-License-Identifier: MIT
 *
 * Faults of links: cuts and their heal.
 */
#include "fault_parts.h"

enum { REACH_MS = 1000, SILENCE_MS = 60 };

/* `listener` is a server of one side; the other side must have reached it before, and must not afterwards. So a dead server cannot be
 * cut off; one that is paused can, because its kernel answers for it. */
static int cut_pair(struct lb_doing *d, struct lb_host *a, struct lb_host *b, const struct lb_host *from,
                    const struct lb_server *listener) {
  char why[200];
  if (!lb_net_reaches(from, listener->host, listener->port, REACH_MS))
    return lb_doing_fail(d, "%s could not be reached even before the cut", listener->name);
  if (lb_net_cut(&d->s->net, a, b, why, sizeof why) < 0) return lb_doing_fail(d, "no cut: %s", why);
  if (lb_net_reaches(from, listener->host, listener->port, SILENCE_MS))
    return lb_doing_fail(d, "%s can still be reached after the cut", listener->name);
  return 0;
}

static int cut(struct lb_doing *d) {
  const struct lb_cast *a = d->a, *b = d->b;
  int r = 0;
  for (size_t i = 0; i < a->server_count && r == 0; i++) {
    for (size_t j = 0; j < b->server_count && r == 0; j++)
      if (a->server[i] != b->server[j])
        r = cut_pair(d, a->server[i]->host, b->server[j]->host, a->server[i]->host, b->server[j]);
    for (size_t j = 0; j < b->client_count && r == 0; j++) {
      struct lb_host *host = b->client[j]->host;
      r = cut_pair(d, a->server[i]->host, host, host, a->server[i]);
    }
  }
  for (size_t i = 0; i < a->client_count && r == 0; i++)
    for (size_t j = 0; j < b->server_count && r == 0; j++) {
      struct lb_host *host = a->client[i]->host;
      r = cut_pair(d, host, b->server[j]->host, host, b->server[j]);
    }
  return r;
}

static int heal(struct lb_doing *d) {
  char why[200];
  return lb_net_heal(&d->s->net, why, sizeof why) < 0 ? lb_doing_fail(d, "no heal: %s", why) : 0;
}

const struct lb_fault lb_faults_of_links[LB_VERB_COUNT] = {
    [LB_STEP_CUT] = {cut, .undo = heal},
    [LB_STEP_HEAL] = {heal},
};
