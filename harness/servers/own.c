/* SPDX-License-Identifier: MIT
 *
 * The list of the user's own servers, and what was typed of each. An address may stand beside a password in what people paste, so
 * a text that is refused is never repeated.
 */
#include "own.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "family_own.h"

static const struct lb_own_kind kinds[LB_OWN_COUNT] = {
    [LB_OWN_REDIS] = {"--redis", "own-redis", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_REDIS, 6379, "redis", "redis-x3", &lb_family_own_redis,
                      true, lb_own_redis_ask, lb_own_redis_clean},
    [LB_OWN_SENTINEL] = {"--sentinel", "own-sentinel", "HOST:PORT[,HOST:PORT...]=NAME", LB_LOGIN_REDIS, 26379, "sentinel", "sentinel",
                         &lb_family_own_sentinel, true, lb_own_sentinel_ask, lb_own_redis_clean},
    [LB_OWN_CLUSTER] = {"--redis-cluster", "own-cluster", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_REDIS, 6379, "cluster", "cluster",
                        &lb_family_own_cluster, true, lb_own_cluster_ask, lb_own_redis_clean},
    [LB_OWN_ZOOKEEPER] = {"--zookeeper", "own-zookeeper", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_ZOOKEEPER, 2181, "zk", "zk-x3",
                          &lb_family_own_zookeeper, true, lb_own_zookeeper_ask, lb_own_zookeeper_clean},
    [LB_OWN_POSTGRES] = {"--postgres", "own-postgres", "CONNINFO", LB_LOGIN_POSTGRES, 5432, "pg", "pg-async", &lb_family_own_postgres, false,
                         lb_own_postgres_ask, lb_own_postgres_clean},
    [LB_OWN_ETCD] = {"--etcd", "own-etcd", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_ETCD, 2379, "etcd", "etcd-x3", &lb_family_own_etcd, false,
                     lb_own_etcd_ask, lb_own_etcd_clean},
};

static struct lb_own list[LB_OWN_COUNT];
static size_t list_count;

const struct lb_own_kind *lb_own_kind(enum lb_own_what what) { return &kinds[what]; }

struct lb_own *lb_own_at(size_t index) { return index < list_count ? &list[index] : NULL; }

void lb_own_address_text(const struct lb_own_address *at, char *buf, size_t size) {
  bool literal = strchr(at->host, ':');
  snprintf(buf, size, "%s%s%s:%u", literal ? "[" : "", at->host, literal ? "]" : "", (unsigned)at->port);
}

/* ---- what was typed --------------------------------------------------------------------------- */

static bool read_port(const char *text, uint16_t *ret) {
  char *end;
  unsigned long port = strtoul(text, &end, 10);
  if (!isdigit((unsigned char)*text) || *end || port < 1 || port > 65535) return false;
  *ret = (uint16_t)port;
  return true;
}

/* "host", "host:6379", "[::1]:6379"; a bare address of IPv6 has no port behind it. */
static bool read_address(char *text, uint16_t port, struct lb_own_address *ret) {
  char *host = text, *after = NULL, *colon = strchr(text, ':');
  if (*text == '[') {
    host = text + 1;
    char *end = strchr(host, ']');
    if (!end || (end[1] && end[1] != ':')) return false;
    *end = '\0';
    after = end[1] ? end + 2 : NULL;
  } else if (colon && !strchr(colon + 1, ':')) {
    *colon = '\0';
    after = colon + 1;
  }
  size_t length = strlen(host);
  *ret = (struct lb_own_address){.port = port};
  if (length == 0 || length >= sizeof ret->host || strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") != length) return false;
  memcpy(ret->host, host, length + 1);
  return !after || read_port(after, &ret->port);
}

/* "::1:6379" is a valid address, and most likely meant as an address and a port: the length of the first, 0 = it is not. */
static int looks_like_two(const char *text) {
  struct in6_addr unused;
  char host[LB_OWN_HOST_MAX];
  uint16_t port;
  const char *last = strrchr(text, ':');
  if (!last || strlen(last + 1) < 4 || !read_port(last + 1, &port)) return 0;
  snprintf(host, sizeof host, "%.*s", (int)(last - text), text);
  return inet_pton(AF_INET6, host, &unused) == 1 ? (int)(last - text) : 0;
}

/* "user:password@host", "redis://...". */
static bool has_login(const char *text) { return strchr(text, '@') || strstr(text, "://"); }

int lb_own_refuse_login(const struct lb_own_kind *kind, char *err, size_t err_size) {
  const char *name = lb_own_login_name(kind->login);
  char upper[32] = "";
  for (size_t i = 0; name[i] && i + 1 < sizeof upper; i++) upper[i] = (char)toupper((unsigned char)name[i]);
  return lb_refuse(err, err_size,
                   "%s: expected %s; a user and a password are for everybody to read on a command line, so put them into a file ([%s] user= password=) "
                   "and name it with --auth FILE, or into LOCKBENCH_%s_USER and LOCKBENCH_%s_PASSWORD",
                   kind->option, kind->takes, name, upper, upper);
}

int lb_own_add_address(struct lb_own *own, char *text, char *err, size_t err_size) {
  const struct lb_own_kind *kind = own->kind;
  size_t count = own->given_count;
  int length = looks_like_two(text);
  if (count == LB_SERVERS_MAX) return lb_refuse(err, err_size, "%s: at most %d servers", kind->option, LB_SERVERS_MAX);
  if (length > 0)
    return lb_refuse(err, err_size, "%s: address %zu: found %s, expected [%.*s]%s, or [%s] for the address alone", kind->option, count + 1, text, length, text,
                     text + length, text);
  if (!read_address(text, kind->port, &own->given[count]))
    return lb_refuse(err, err_size, "%s: address %zu: expected HOST:PORT, in %s", kind->option, count + 1, kind->takes);
  for (size_t i = 0; i < count; i++)
    if (strcmp(own->given[i].host, own->given[count].host) == 0 && own->given[i].port == own->given[count].port)
      return lb_refuse(err, err_size, "%s: address %zu is that of %zu again", kind->option, count + 1, i + 1);
  own->given_count++;
  return 0;
}

static int read_list(struct lb_own *own, char *rest, char *err, size_t err_size) {
  int r = 0;
  for (char *one; r == 0 && (one = strsep(&rest, ","));) r = lb_own_add_address(own, one, err, err_size);
  return r;
}

/* "...=NAME" behind the addresses of Sentinels. */
static int read_master(struct lb_own *own, char *text, char *err, size_t err_size) {
  char *equals = strchr(text, '=');
  if (!equals || !equals[1] || strlen(equals + 1) >= sizeof own->master)
    return lb_refuse(err, err_size, "%s: expected %s, where NAME is that of the master that the Sentinels watch", own->kind->option, own->kind->takes);
  snprintf(own->master, sizeof own->master, "%s", equals + 1);
  *equals = '\0';
  return 0;
}

/* What protocols and scenarios go by until the servers have been asked. */
static void make_topology(struct lb_own *own) {
  const struct lb_own_kind *kind = own->kind;
  own->topology = (struct lb_topology){.name = kind->topology,
                                       .summary = "servers of your own",
                                       .family = kind->family,
                                       .data_count = own->given_count,
                                       .keeps = LB_KEEPS_AS_ASKED,
                                       .stands_for = own->given_count > 1 ? kind->many : kind->alone,
                                       .own = own};
}

int lb_own_add(enum lb_own_what what, const char *value, char *err, size_t err_size) {
  struct lb_own own = {.kind = &kinds[what]};
  char *copy = strdup(value);
  int r = copy ? 0 : -ENOMEM;
  for (size_t i = 0; i < list_count; i++)
    if (list[i].kind == own.kind) r = lb_refuse(err, err_size, "%s: given twice; name several servers in one, with commas", own.kind->option);
  if (r == 0 && what == LB_OWN_POSTGRES) r = lb_own_read_conninfo(&own, value, err, err_size);
  else if (r == 0 && has_login(value)) r = lb_own_refuse_login(own.kind, err, err_size);
  else if (r == 0) {
    if (what == LB_OWN_SENTINEL) r = read_master(&own, copy, err, err_size);
    if (r == 0) r = read_list(&own, copy, err, err_size);
  }
  free(copy);
  if (r < 0) return r;
  list[list_count] = own;
  make_topology(&list[list_count++]);
  list[list_count - 1].topology.own = &list[list_count - 1];
  return 0;
}

/* ---- what clients get ------------------------------------------------------------------------- */

static struct lb_endpoint endpoint_of(const struct lb_own_address *at, const char *service, enum lb_own_login_of whom) {
  const struct lb_own_login *login = lb_own_login(whom);
  return (struct lb_endpoint){.service = service,
                              .host = at->host,
                              .port = at->port,
                              .tls = login->tls,
                              .user = login->user[0] ? login->user : NULL,
                              .password = login->password[0] ? login->password : NULL};
}

void lb_own_target(const struct lb_own *own, struct lb_endpoint *endpoint, struct lb_target *ret) {
  const struct lb_family *family = own->kind->family;
  const struct lb_own_found *found = &own->found;
  bool asked = found->count > 0, watched = own->master[0];
  size_t count = asked ? found->count : own->given_count, data = asked ? found->data_count : watched ? 0 : own->given_count;
  const struct lb_own_login *login = lb_own_login(own->kind->login);
  for (size_t i = 0; i < count; i++)
    endpoint[i] = endpoint_of(asked ? &found->server[i] : &own->given[i], i < data ? family->service : family->other_service,
                              i < data ? own->kind->login : LB_LOGIN_SENTINEL);
  *ret = (struct lb_target){.topology = own->kind->topology,
                            .endpoints = endpoint,
                            .count = count,
                            .sentinel_master = watched ? own->master : NULL,
                            .replicas = found->replicas,
                            .shards = found->shards,
                            .database = own->database[0] ? own->database : NULL,
                            .ca_file = login->ca[0] ? login->ca : NULL};
}
