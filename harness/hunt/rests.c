/* SPDX-License-Identifier: MIT
 *
 * What a grant rests on, as its facts state it and its history shows it.
 */
#include "rests.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/settings.h"
#include "theory/facts_cell.h"

/* ---- what it rests on -------------------------------------------------------------------------------------------- */

static unsigned of_servers(const struct lb_facts *f) {
  bool alone = lb_facts_is(f, "members", "1"), memory = lb_facts_is(f, "record", "memory");
  if (lb_facts_is(f, "members", "0")) return 0;
  if (lb_facts_is(f, "votes", "strangers") || lb_facts_is(f, "copies", "majority"))
    return LB_HUNT_ON_GRANTER | LB_HUNT_ON_VOTERS;
  return LB_HUNT_ON_GRANTER | (alone || memory ? 0 : (unsigned)LB_HUNT_ON_COPIES);
}

static unsigned of_clocks(const struct lb_facts *f) {
  bool server_wall = lb_facts_is(f, "counts", "server-wall"), client_wall = lb_facts_is(f, "counts", "client-wall");
  unsigned on = server_wall || client_wall ? LB_HUNT_ON_WALL : 0;
  if (server_wall || lb_facts_is(f, "counts", "server-monotonic")) on |= LB_HUNT_ON_SERVER_CLOCK;
  return lb_facts_is(f, "counts", "nobody") ? on : on | LB_HUNT_ON_CLIENT_CLOCK;
}

unsigned lb_hunt_rests_of(const struct lb_protocol *protocol, const struct lb_topology *topology) {
  struct lb_facts facts;
  union lb_value *options = lb_settings_defaults(protocol);
  lb_facts_of(protocol, options, topology, NULL, &facts);
  free(options);
  unsigned session = lb_facts_is(&facts, "ends", "never") ? 0 : LB_HUNT_ON_SESSION;
  return of_servers(&facts) | session | of_clocks(&facts);
}

/* ---- what a trial says of it ------------------------------------------------------------------------------------- */

static const char *host_of(const struct lb_history *h, const struct lb_event *e) {
  uint32_t host = lb_event_fact(h, e)->host;
  return host == LB_NO_NAME ? "" : h->texts.name[host];
}

/* The names of a fact are separated by commas. */
static size_t count_names(const char *names) {
  size_t count = *names != '\0';
  for (; *names; names++) count += *names == ',';
  return count;
}

/* Several servers that said yes are the voters, whatever is stated; one of several that do not know each other decides
 * alone. */
unsigned lb_hunt_rests_see(const struct lb_hunt_system *s, const struct lb_history *h, char *said, size_t size) {
  const char *granted = "", *voted = "";
  bool wrote = false; /* that is the grant */
  for (size_t i = 0; i < h->count && !wrote; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != 0) continue; /* client 1 */
    wrote = e->kind == LB_EV_WRITE;
    if (e->kind == LB_EV_GRANTED) granted = voted = "";
    if (e->kind == LB_EV_SERVER) granted = host_of(h, e);
    if (e->kind == LB_EV_VOTED) voted = host_of(h, e);
  }
  size_t voters = count_names(voted);
  snprintf(said, size, "%s%s%s%s", *granted ? "granted by " : "", granted, voters ? "yes of " : "", voted);
  if (voters > 1) return (s->rests & ~(unsigned)LB_HUNT_ON_COPIES) | LB_HUNT_ON_VOTERS;
  bool one = wrote && (*granted || voters == 1);
  return one && s->servers == LB_HUNT_INDEPENDENT ? s->rests & ~(unsigned)LB_HUNT_ON_VOTERS : s->rests;
}

void lb_hunt_rests_say(unsigned on, char *buf, size_t size) {
  static const struct {
    unsigned on;
    const char *text;
  } things[] = {{LB_HUNT_ON_GRANTER, "the primary"},
                {LB_HUNT_ON_VOTERS, "a majority"},
                {LB_HUNT_ON_COPIES, "copies and the links to them"},
                {LB_HUNT_ON_SESSION, "its holder"},
                {LB_HUNT_ON_SERVER_CLOCK, "the clock of a server"},
                {LB_HUNT_ON_CLIENT_CLOCK, "the clock of its holder"}};
  size_t at = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < sizeof things / sizeof *things; i++)
    if (on & things[i].on && at < size)
      at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", things[i].text);
}
