/* SPDX-License-Identifier: MIT
 *
 * The line that tells an adapter where the servers are.
 */
#include <stdio.h>
#include <string.h>

#include "foreign_parts.h"

/* redis://user:password@host:port */
static void append_endpoint(char *line, size_t size, const struct lb_endpoint *at) {
  char port[16];
  const char *user = at->user || strcmp(at->service, "postgres") != 0 ? at->user : "lockbench"; /* as pg_open() */
  foreign_append(line, size, " server=");
  foreign_append(line, size, at->service);
  foreign_append(line, size, at->tls ? "s://" : "://");
  if (at->password) {
    if (user) foreign_append_value(line, size, user, true);
    foreign_append(line, size, ":");
    foreign_append_value(line, size, at->password, true);
    foreign_append(line, size, "@");
  } else if (user) {
    foreign_append_value(line, size, user, true);
    foreign_append(line, size, "@");
  }
  const char *open = strchr(at->host, ':') ? "[" : "", *close = *open ? "]" : "";
  foreign_append(line, size, open);
  foreign_append_value(line, size, at->host, false);
  foreign_append(line, size, close);
  snprintf(port, sizeof port, ":%u", at->port);
  foreign_append(line, size, port);
}

/* The percent signs of an URL are those of a value once more: an adapter takes one layer off, and its URL parser the other. */
bool foreign_open_line(const struct lb_config *c, char *line, size_t size) {
  char servers[LB_FOREIGN_LINE_MAX] = "";
  snprintf(line, size, "open topology=%s client=%s prefix=%s ttl_ms=%lld", c->target->topology, c->client, c->prefix, (long long)c->ttl_ms);
  for (size_t i = 0; i < c->target->count; i++) append_endpoint(servers, sizeof servers, &c->target->endpoints[i]);
  for (const char *at = servers; *at; at++) {
    char piece[4];
    snprintf(piece, sizeof piece, *at == '%' ? "%%25" : "%c", *at);
    if (!foreign_append(line, size, piece)) return false;
  }
  return !c->target->sentinel_master || (foreign_append(line, size, " master=") && foreign_append_value(line, size, c->target->sentinel_master, false));
}
