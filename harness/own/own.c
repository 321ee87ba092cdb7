/* SPDX-License-Identifier: MIT
 *
 * The list of the user's own servers: what was typed of each, what they say of themselves, what clients get. An address
 * may stand beside a password in what people paste, so a text that is refused is never repeated.
 */
#include "own.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "base/process.h"
#include "servers/cluster.h"

const struct lb_own_kind *const lb_own_kinds[LB_OWN_COUNT] = {
    [LB_OWN_REDIS] = &lb_own_kind_redis,       [LB_OWN_SENTINEL] = &lb_own_kind_sentinel,
    [LB_OWN_CLUSTER] = &lb_own_kind_cluster,   [LB_OWN_ZOOKEEPER] = &lb_own_kind_zookeeper,
    [LB_OWN_POSTGRES] = &lb_own_kind_postgres, [LB_OWN_MARIADB] = &lb_own_kind_mariadb,
    [LB_OWN_ETCD] = &lb_own_kind_etcd,         [LB_OWN_MEMCACHED] = &lb_own_kind_memcached,
    [LB_OWN_NATS] = &lb_own_kind_nats,
};

static struct lb_own list[LB_OWN_COUNT];
static size_t list_count;

struct lb_own *lb_own_at(size_t index) {
  return index < list_count ? &list[index] : NULL;
}

bool lb_own_names_run(const char *behind) { return strspn(behind, "0123456789abcdef") == 8; }

/* "127.0.0.1:6379", "[::1]:6379". */
static void address_text(const struct lb_own_address *at, char *buf, size_t size) {
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
bool lb_own_read_address(char *text, uint16_t port, struct lb_own_address *ret) {
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
  if (length == 0 || length >= sizeof ret->host ||
      strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") != length)
    return false;
  memcpy(ret->host, host, length + 1);
  return !after || read_port(after, &ret->port);
}

/* "::1:6379" is a valid address, and most likely meant as an address and a port: the length of the first, 0 = it is
 * not. */
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

int lb_own_refuse_login(const struct lb_own_kind *kind, struct lb_error *err) {
  const char *name = lb_own_login_names[kind->login];
  char upper[32] = "";
  for (size_t i = 0; name[i] && i + 1 < sizeof upper; i++) upper[i] = (char)toupper((unsigned char)name[i]);
  return lb_refuse(
      err,
      "%s: expected %s; everybody can read a login on a command line. Put it into a file ([%s] user= password=) "
      "for --auth FILE, or into LOCKBENCH_%s_USER and LOCKBENCH_%s_PASSWORD",
      kind->option, kind->takes, name, upper, upper);
}

int lb_own_add_address(struct lb_own *own, char *text, struct lb_error *err) {
  const struct lb_own_kind *kind = own->kind;
  size_t count = own->given_count;
  int length = looks_like_two(text);
  if (count == LB_SERVERS_MAX) return lb_refuse(err, "%s: at most %d servers", kind->option, LB_SERVERS_MAX);
  if (length > 0)
    return lb_refuse(err, "%s: address %zu: found %s, expected [%.*s]%s, or [%s] for the address alone", kind->option,
                     count + 1, text, length, text, text + length, text);
  if (!lb_own_read_address(text, kind->port, &own->given[count]))
    return lb_refuse(err, "%s: address %zu: expected HOST:PORT, in %s", kind->option, count + 1, kind->takes);
  for (size_t i = 0; i < count; i++)
    if (strcmp(own->given[i].host, own->given[count].host) == 0 && own->given[i].port == own->given[count].port)
      return lb_refuse(err, "%s: address %zu is that of %zu again", kind->option, count + 1, i + 1);
  own->given_count++;
  return 0;
}

static int read_list(struct lb_own *own, char *rest, struct lb_error *err) {
  int r = 0;
  for (char *one; r == 0 && (one = strsep(&rest, ","));) r = lb_own_add_address(own, one, err);
  return r;
}

/* "...=NAME" behind the addresses of Sentinels. */
static int read_master(struct lb_own *own, char *text, struct lb_error *err) {
  char *equals = strchr(text, '=');
  if (!equals || !equals[1] || strlen(equals + 1) >= sizeof own->master)
    return lb_refuse(err, "%s: expected %s, where NAME is that of the master that the Sentinels watch",
                     own->kind->option, own->kind->takes);
  snprintf(own->master, sizeof own->master, "%s", equals + 1);
  *equals = '\0';
  return 0;
}

/* What the servers have said. */
static int64_t least_ttl_ms(const struct lb_topology *topology, bool measured) {
  (void)measured;
  return topology->own->found.least_ttl_ms;
}

/* A place in a queue is known by its session: the address of a client is not the one that the server sees, where a host
 * stands in for it. A time that is read from the server's log is not told to us. */
static void make_family(struct lb_own *own) {
  const struct lb_family *ours = lb_topology_find(own->kind->alone)->family;
  own->family = (struct lb_family){.name = ours->name,
                                   .ends_by = ours->ends_by,
                                   .service = ours->service,
                                   .other_service = ours->other_service,
                                   .majority = ours->majority,
                                   .all_serve = ours->all_serve,
                                   .poll_ms = ours->poll_ms,
                                   .independent = ours->independent,
                                   .answers = ours->answers,
                                   .primary = ours->primary,
                                   .caught_up = ours->caught_up,
                                   .has_session = ours->has_session,
                                   .has_place = ours->has_session ? ours->has_place : NULL,
                                   .left = ours->left,
                                   .identity = ours->identity,
                                   .others = ours->others,
                                   .wall_ms = ours->mono_ms ? NULL : ours->wall_ms,
                                   .target = lb_own_target,
                                   .least_ttl_ms = least_ttl_ms};
}

/* What protocols and scenarios go by until the servers have been asked. */
static void make_topology(struct lb_own *own) {
  const struct lb_own_kind *kind = own->kind;
  make_family(own);
  own->topology = (struct lb_topology){.name = kind->topology,
                                       .summary = "servers of your own",
                                       .family = &own->family,
                                       .data_count = own->given_count,
                                       .keeps = LB_KEEPS_AS_ASKED,
                                       .stands_for = own->given_count > 1 ? kind->many : kind->alone,
                                       .own = own};
}

int lb_own_add(enum lb_own_what what, const char *value, struct lb_error *err) {
  struct lb_own own = {.kind = lb_own_kinds[what]};
  char *copy = lb_need_text(value);
  int r = 0;
  for (size_t i = 0; i < list_count; i++)
    if (list[i].kind == own.kind)
      r = lb_refuse(err, "%s: given twice; name several servers in one, with commas", own.kind->option);
  if (r == 0 && own.kind->read) r = own.kind->read(&own, value, err);
  else if (r == 0 && has_login(value)) r = lb_own_refuse_login(own.kind, err);
  else if (r == 0) {
    if (what == LB_OWN_SENTINEL) r = read_master(&own, copy, err);
    if (r == 0) r = read_list(&own, copy, err);
  }
  free(copy);
  if (r < 0) return r;
  list[list_count] = own;
  make_topology(&list[list_count]);
  lb_topology_add(&list[list_count++].topology);
  return 0;
}

bool lb_own_suppose(const char *topology) {
  size_t what = 0;
  while (what < LB_OWN_COUNT && strcmp(lb_own_kinds[what]->topology, topology) != 0) what++;
  if (what == LB_OWN_COUNT) return false;
  const struct lb_own_kind *kind = lb_own_kinds[what];
  const struct lb_topology *many = lb_topology_find(kind->many);
  struct lb_own *own = &list[list_count++];
  const struct lb_topology *like = many->family->independent ? lb_topology_find(kind->alone) : many;
  *own = (struct lb_own){.kind = kind, .given_count = like->data_count};
  make_topology(own);
  own->topology.other_count = like->other_count;
  own->topology.shards = like->shards;
  lb_topology_add(&own->topology);
  return true;
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
  const struct lb_family *family = &own->family;
  const struct lb_own_found *found = &own->found;
  bool asked = found->count > 0, watched = own->master[0];
  size_t count = asked ? found->count : own->given_count, data = asked     ? found->data_count
                                                                 : watched ? 0
                                                                           : own->given_count;
  const struct lb_own_login *login = lb_own_login(own->kind->login);
  for (size_t i = 0; i < count; i++)
    endpoint[i] =
        endpoint_of(asked ? &found->server[i] : &own->given[i], i < data ? family->service : family->other_service,
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

/* ---- asking them ------------------------------------------------------------------------------
 *
 * In a process of its own, for client libraries start threads, and their calls may hang. What it has learnt comes back
 * through shared memory. */

enum { ASK_S = 10, CLEAN_S = 120, GRACE_MS = 2000 };

struct answer {
  struct lb_own_found found;
  int result;
  char err[256];
};

static _Noreturn void be_asker(const struct lb_own *own, struct lb_env *env, bool clean, lb_ns deadline,
                               struct answer *answer) {
  env->err[0] = '\0';
  answer->result = clean ? own->kind->clean(env, own, deadline) : own->kind->ask(env, own, deadline, &answer->found);
  memcpy(answer->err, env->err, sizeof answer->err);
  _exit(0);
}

static int ask_in_child(const struct lb_own *own, struct lb_env *env, bool clean, struct answer *answer) {
  int status;
  lb_ns deadline = lb_clock_ns() + (clean ? CLEAN_S : ASK_S) * LB_NS_PER_S;
  answer->result = -ETIMEDOUT;
  snprintf(answer->err, sizeof answer->err, "no answer within %d s", clean ? CLEAN_S : ASK_S);
  pid_t pid = lb_process_fork();
  if (pid == 0) be_asker(own, env, clean, deadline, answer);
  if (pid > 0) lb_process_await(pid, deadline + GRACE_MS * LB_NS_PER_MS, &status);
  return pid < 0 ? -errno : answer->result;
}

static int ask_or_clean(struct lb_own *own, struct lb_env *env, bool clean, struct lb_own_found *ret,
                        struct lb_error *err) {
  struct answer *answer = lb_need_shared(sizeof *answer);
  int r = ask_in_child(own, env, clean, answer);
  if (r > 0) r = -ETIMEDOUT;
  if (r < 0)
    lb_error(err, r, "%s: %s%s", own->kind->option, answer->err[0] ? answer->err : strerror(-r),
             r == -EACCES ? "; a file with the login is named with --auth FILE" : "");
  else if (ret) *ret = answer->found;
  munmap(answer, sizeof *answer);
  return r;
}

/* "redis 7.0.15 at 127.0.0.1:6379, ...". */
static void summarize(struct lb_own *own) {
  int n = snprintf(own->summary, sizeof own->summary, "%s at", own->found.version);
  for (size_t i = 0; i < own->found.count && n < (int)sizeof own->summary; i++) {
    char at[LB_OWN_HOST_MAX + 16];
    address_text(&own->found.server[i], at, sizeof at);
    n += snprintf(own->summary + n, sizeof own->summary - (size_t)n, "%s %s", i > 0 ? "," : "", at);
  }
}

int lb_own_ask(struct lb_own *own, struct lb_env *env, struct lb_error *err) {
  own->found = (struct lb_own_found){0}; /* it asks the servers that were typed, also for the second time */
  int r = ask_or_clean(own, env, false, &own->found, err);
  if (r < 0) return r;
  summarize(own);
  own->topology.summary = own->summary;
  own->topology.data_count = own->found.data_count;
  own->topology.other_count = own->found.count - own->found.data_count;
  own->topology.shards = own->found.shards;
  own->topology.facts = own->found.facts;
  return 0;
}

int lb_own_clean(struct lb_own *own, struct lb_env *env, struct lb_error *err) {
  return ask_or_clean(own, env, true, NULL, err);
}

int lb_own_note(struct lb_env *env, const struct lb_own *own, struct lb_own_found *found, const char *host,
                uint16_t port) {
  struct lb_own_address *at = &found->server[found->count];
  if (found->count == LB_SERVERS_MAX)
    return lb_fail(env, -E2BIG, "more than %d servers belong together, which is more than %s has room for",
                   LB_SERVERS_MAX, own->kind->topology);
  snprintf(at->host, sizeof at->host, "%s", host);
  at->port = port;
  found->count++;
  return 0;
}
