/* SPDX-License-Identifier: MIT
 *
 * From the two roles of a step to links: a host can play both of them.
 */
#include "fault_links.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/need.h"

static bool has_link(const struct lb_links *links, const struct lb_host *a, const struct lb_host *b) {
  for (size_t i = 0; i < links->count; i++) {
    const struct lb_link *l = &links->link[i];
    if ((l->a == a && l->b == b) || (l->a == b && l->b == a)) return true;
  }
  return false;
}

static struct lb_host *host_of(const struct lb_cast *c, size_t i) {
  return i < c->server_count ? c->server[i]->host : c->client[i - c->server_count]->host;
}

static void find_links(struct lb_doing *d, struct lb_links *ret) {
  size_t as = d->a->server_count + d->a->client_count, bs = d->b->server_count + d->b->client_count;
  *ret = (struct lb_links){.link = lb_need(calloc(as * bs + 1, sizeof *ret->link))};
  for (size_t i = 0; i < as; i++)
    for (size_t j = 0; j < bs; j++) {
      struct lb_link link = {.a = host_of(d->a, i), .b = host_of(d->b, j)};
      link.listener = j < d->b->server_count ? d->b->server[j] : i < d->a->server_count ? d->a->server[i] : NULL;
      if (d->s->plan->topology->own && i < d->a->server_count && j < d->b->server_count) continue; /* fault_own.c */
      if (link.a != link.b && !has_link(ret, link.a, link.b)) ret->link[ret->count++] = link;
    }
}

/* The hosts of one side that have a link, each once. */
static void name_side(const struct lb_links *links, bool first_side, char *buf, size_t size) {
  size_t at = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < links->count && at < size; i++) {
    const struct lb_host *host = first_side ? links->link[i].a : links->link[i].b;
    bool named = false;
    for (size_t j = 0; j < i; j++) named |= host == (first_side ? links->link[j].a : links->link[j].b);
    if (!named) at += (size_t)snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "", host->name);
  }
}

void lb_doing_links(struct lb_doing *d, bool record, struct lb_links *ret) {
  char a[LB_NAMES_BYTES], b[LB_NAMES_BYTES];
  find_links(d, ret);
  if (!record) return;
  name_side(ret, true, a, sizeof a);
  name_side(ret, false, b, sizeof b);
  lb_stage_touched(d->s, d->step, a, b);
}
