/* SPDX-License-Identifier: MIT
 *
 * Where the servers are, as environment variables in the form that each kind of client takes.
 */
#include "serve_env.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1000 };

/* "host:port" of all servers of a service, each with `before`; of NULL those of all, as URLs. False: there is none. */
static bool list(const struct lb_serve *v, const char *service, const char *before, const char *between,
                 char text[TEXT_BYTES]) {
  size_t at = 0;
  text[0] = '\0';
  for (size_t i = 0; i < v->stage.target.count; i++) {
    const struct lb_endpoint *e = &v->stage.target.endpoints[i];
    if (service && strcmp(e->service, service) != 0) continue;
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%s%s%s:%u", at ? between : "", service ? before : e->service,
                           service ? "" : "://", e->host, (unsigned)e->port);
  }
  return at > 0;
}

/* What libpq and psql take. It tries them in this order, and goes on until one of them can write. */
static void tell_postgres(const struct lb_serve *v, void (*tell)(void *to, const char *name, const char *value),
                          void *to) {
  char hosts[TEXT_BYTES] = "", ports[TEXT_BYTES] = "", info[2 * TEXT_BYTES + 100];
  size_t h = 0, p = 0;
  for (size_t i = 0; i < v->stage.target.count; i++) {
    const struct lb_endpoint *e = &v->stage.target.endpoints[i];
    if (strcmp(e->service, "postgres") != 0) continue; /* the etcd of Patroni, or a server behind a pooler */
    h += (size_t)snprintf(hosts + h, sizeof hosts - h, "%s%s", h ? "," : "", e->host);
    p += (size_t)snprintf(ports + p, sizeof ports - p, "%s%u", p ? "," : "", (unsigned)e->port);
  }
  snprintf(info, sizeof info, "host=%s port=%s user=lockbench dbname=postgres target_session_attrs=read-write", hosts,
           ports);
  tell(to, "LOCKBENCH_POSTGRES", info);
  tell(to, "PGHOST", hosts);
  tell(to, "PGPORT", ports);
  tell(to, "PGUSER", "lockbench");
  tell(to, "PGDATABASE", "postgres");
  tell(to, "PGTARGETSESSIONATTRS", "read-write");
}

void lb_serve_env(const struct lb_serve *v, void (*tell)(void *to, const char *name, const char *value), void *to) {
  const struct lb_stage *s = &v->stage;
  char text[TEXT_BYTES], name[40];
  tell(to, "LOCKBENCH_TOPOLOGY", v->plan->topology->name);
  if (list(v, NULL, "", " ", text)) tell(to, "LOCKBENCH_SERVERS", text);
  if (list(v, "redis", "", ",", text)) tell(to, "LOCKBENCH_REDIS", text);
  if (list(v, "sentinel", "", ",", text)) tell(to, "LOCKBENCH_SENTINELS", text);
  if (s->target.sentinel_master) tell(to, "LOCKBENCH_SENTINEL_MASTER", s->target.sentinel_master);
  if (list(v, "zookeeper", "", ",", text)) tell(to, "LOCKBENCH_ZOOKEEPER", text);
  if (list(v, "etcd", "", ",", text)) tell(to, "LOCKBENCH_ETCD", text);
  if (list(v, "etcd", "http://", ",", text)) tell(to, "ETCDCTL_ENDPOINTS", text), tell(to, "ETCDCTL_API", "3");
  if (list(v, "mariadb", "", ",", text)) tell(to, "LOCKBENCH_MARIADB", text);
  if (list(v, "memcached", "", ",", text)) tell(to, "LOCKBENCH_MEMCACHED", text);
  if (list(v, "nats", "", ",", text)) tell(to, "LOCKBENCH_NATS", text);
  if (list(v, "postgres", "", ",", text)) tell_postgres(v, tell, to);
  if (s->target.shards > 0) tell(to, "LOCKBENCH_KEY", s->cluster.key);
  snprintf(text, sizeof text, "%lld", (long long)v->plan->ttl_ms);
  tell(to, "LOCKBENCH_TTL_MS", text);
  for (size_t i = 0; s->net.separate && i < s->client_count; i++) {
    snprintf(name, sizeof name, "LOCKBENCH_CLIENT_%zu", i + 1);
    snprintf(text, sizeof text, "/proc/1/fd/%d", s->client[i].host->netns);
    tell(to, name, text);
  }
  if (v->tool[0]) tell(to, "LOCKBENCH_TOOL", v->tool);
  tell(to, LB_SERVE_VARIABLE, v->socket_path);
  tell(to, "LOCKBENCH_OPERATOR", v->operator_path);
}

static void put_variable(void *to, const char *name, const char *value) { fprintf(to, "%s='%s'\n", name, value); }

void lb_serve_env_print(const struct lb_serve *v, FILE *out) { lb_serve_env(v, put_variable, out); }
