/* SPDX-License-Identifier: MIT
 *
 * memcached-cas - a key that `add` sets if it is not there, with an expiry; a release compares and deletes.
 *
 * Promises    One holder per key while the server keeps what it was told and its clock runs at nearly the rate of the
 *             clients'. The value is a random token, so a release takes no other client's lock: it reads value and
 *             version, and deletes that version alone.
 * Assumes     A server that forgets nothing before its end. As it is started here it keeps nothing over a restart (a
 *             warm one, with -e and SIGUSR1, keeps its keys).
 * Breaks it   A restart. Eviction, unless it runs with -M: a full memcached drops keys whose end has not come, and does
 *             not tell. A holder that works on past its lease.
 * Source      memcached's protocol.txt, meta commands (1.6).
 *
 * The end counts in whole seconds of a clock that ticks once a second: a key with an end in N seconds may go after
 * N - 1. So it is asked for a second more than the ttl, rounded up.
 *
 * Requests go over one connection, which answers them in order. A request that was not answered in time is not given
 * up: its answer is read before that of the next one. So what is asked behind it is asked after it was done.
 *
 * memcached-add - the same, released by a plain delete: the lock of Celery's cookbook and of many caches.
 *
 * Promises    What memcached-cas does, while every holder releases within its lease.
 * Assumes     That no client is ever late.
 * Breaks it   What breaks memcached-cas. Besides: a release after the end of the lease deletes the lock of the next
 *             holder.
 * Source      Celery's documentation, "Ensuring a task is only executed one at a time" (cache.add and cache.delete; it
 *             looks at its own clock before it deletes, which this one does not).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/doubt.h"
#include "mc.h"

enum { CONNECT_MS = 400 };

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix;
  bool blind; /* a release deletes whatever is there */
  struct mc_conn conn;
  struct lb_confirmed confirmed;
};

/* ---- requests ------------------------------------------------------------------------------------------------ */

static int call(struct lb_session *s, lb_ns deadline, struct mc_reply *ret, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* 0: answered. LB_UNKNOWN: sent, and no answer yet or the connection is lost. -errno: not sent. */
static int call(struct lb_session *s, lb_ns deadline, struct mc_reply *ret, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!mc_is_open(&s->conn)) {
    lb_ns until = lb_now(s->env) + CONNECT_MS * LB_NS_PER_MS;
    int r = mc_open(&s->conn, s->env, &s->target->endpoints[0], until < deadline ? until : deadline);
    if (r) return r;
  }
  return mc_call(&s->conn, deadline, text, ret);
}

static int is(const struct mc_reply *reply, const char *word) { return strncmp(reply->line, word, strlen(word)) == 0; }

static int surprise(struct lb_session *s, const struct mc_reply *reply) {
  return lb_fail(s->env, -EPROTO, "memcached: '%s'", reply->line);
}

/* A key with an end in N seconds goes between N - 1 and N seconds from now. */
static long long end_in_s(int64_t ttl_ms) { return (ttl_ms + 999) / 1000 + 1; }

/* Asks whose the key is. LB_OK: it is the attempt's, with its version; LB_LOST; LB_UNKNOWN; -errno. */
static int look(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline,
                uint64_t *ret_version) {
  struct mc_reply reply;
  int r = call(s, deadline, &reply, "mg %s v c\r\n", lock->key);
  if (r) return r;
  if (is(&reply, "EN")) return LB_LOST;
  const char *version = strstr(reply.line, " c");
  if (!is(&reply, "VA") || !version) return surprise(s, &reply);
  *ret_version = strtoull(version + 2, NULL, 10);
  return strlen(reply.value) == grant->token_len && memcmp(reply.value, grant->token, grant->token_len) == 0 ? LB_OK
                                                                                                             : LB_LOST;
}

static int confirmed(struct lb_session *s, struct lb_grant *grant) {
  lb_confirm(&s->confirmed, grant, s->conn.losses);
  return LB_OK;
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

static int open_session(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->env = config->env;
  s->target = config->target;
  s->prefix = config->prefix;
  s->blind = config->protocol->data != NULL;
  s->conn.fd = -1;
  int r;
  do r = mc_open(&s->conn, s->env, &s->target->endpoints[0], deadline);
  while (r == -ECONNREFUSED && lb_now(s->env) < deadline &&
         (lb_sleep_until(s->env, lb_now(s->env) + 20 * LB_NS_PER_MS), 1));
  return r;
}

static void close_session(struct lb_session *s) { mc_close(&s->conn); }

static int try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len > 0;
  struct mc_reply reply;
  uint64_t version;
  if (!repeated) {
    uint64_t random[2];
    lb_random(s->env, random, sizeof random);
    grant->token_len =
        (size_t)snprintf(grant->token, sizeof grant->token, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    grant->asked_at = lb_now(s->env);
  }
  lb_ns asked = lb_now(s->env);
  lb_point(s->env, "before-add");
  int r = call(s, deadline, &reply, "ms %s %zu T%lld ME\r\n%s\r\n", lock->key, grant->token_len, end_in_s(lock->ttl_ms),
               grant->token);
  if (r == 0) {
    lb_point(s->env, "after-add");
    if (is(&reply, "HD")) {
      grant->valid_until = lb_lease_end(repeated ? asked : grant->asked_at, lock->ttl_ms);
      return confirmed(s, grant);
    }
    if (!is(&reply, "NS")) r = surprise(s, &reply);
    else if (!repeated) r = LB_BUSY;
    else r = look(s, lock, grant, deadline, &version);
    if (r == LB_OK && !grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
    if (r == LB_OK) return confirmed(s, grant);
    if (r == LB_LOST) r = LB_BUSY;
  }
  if (r == -ETIMEDOUT) r = LB_TIMEOUT;
  if (repeated && (r < 0 || r == LB_TIMEOUT)) r = LB_UNKNOWN;
  if (r != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return r;
}

static int resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  uint64_t version;
  int r = look(s, lock, grant, deadline, &version);
  if (r == LB_LOST) return LB_BUSY;
  if (r) return r;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return confirmed(s, grant);
}

/* The key: whose it is, where that is asked. A deletion without an answer is unsure: that it is gone then is no
 * loss. */
static int release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct mc_reply reply;
  uint64_t version = 0;
  bool sure = grant->valid_until != 0;
  lb_point(s->env, "before-release");
  int r = s->blind && sure ? LB_OK : look(s, lock, grant, deadline, &version);
  if (r == LB_LOST) return sure ? LB_LOST : LB_OK;
  if (r) return r;
  lb_point(s->env, "before-delete");
  r = version ? call(s, deadline, &reply, "md %s C%" PRIu64 "\r\n", lock->key, version)
              : call(s, deadline, &reply, "md %s\r\n", lock->key);
  if (r == LB_UNKNOWN) grant->valid_until = 0;
  if (r) return r;
  if (is(&reply, "HD")) return LB_OK;
  return is(&reply, "NF") || is(&reply, "EX") ? LB_LOST : surprise(s, &reply);
}

static int extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct mc_reply reply;
  uint64_t version;
  lb_ns end = lb_lease_end(lb_now(s->env), lock->ttl_ms);
  int r = look(s, lock, grant, deadline, &version);
  if (r == LB_OK)
    r = call(s, deadline, &reply, "ms %s %zu C%" PRIu64 " T%lld\r\n%s\r\n", lock->key, grant->token_len, version,
             end_in_s(lock->ttl_ms), grant->token);
  if (r == LB_OK && !is(&reply, "HD"))
    r = is(&reply, "EX") || is(&reply, "NF") || is(&reply, "NS") ? LB_LOST : surprise(s, &reply);
  lb_lease_extended(grant, r, end);
  return r == LB_OK ? confirmed(s, grant) : r == -ETIMEDOUT ? LB_UNKNOWN : r;
}

static int holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  uint64_t version;
  int r = look(s, lock, grant, deadline, &version);
  if (r == LB_OK) lb_confirm(&s->confirmed, grant, s->conn.losses);
  return r;
}

static int doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  if (mc_is_open(&s->conn) && lb_still_confirmed(&s->confirmed, grant, s->conn.losses)) return LB_OK;
  lb_fail(s->env, -ENOTCONN, "memcached: the connection was lost since the grant");
  return LB_UNKNOWN;
}

/* Over a connection of its own. 1; 0; -errno. */
static int ask_alone(struct lb_session *s, const char *command, const char *key, size_t endpoint, lb_ns deadline) {
  struct mc_conn conn = {.fd = -1};
  struct mc_reply reply;
  char text[128];
  if (endpoint >= s->target->count) return lb_fail(s->env, -EINVAL, "memcached: there is no server %zu", endpoint + 1);
  snprintf(text, sizeof text, "%s %s\r\n", command, key);
  int r = mc_open(&conn, s->env, &s->target->endpoints[endpoint], deadline);
  if (r == 0) r = mc_call(&conn, deadline, text, &reply);
  mc_close(&conn);
  if (r) return r < 0 ? r : lb_fail(s->env, -ETIMEDOUT, "memcached: no answer");
  return is(&reply, "HD");
}

static int inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return ask_alone(s, "mg", lock->key, endpoint, deadline);
}

static int break_lock(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return ask_alone(s, "md", lock->key, endpoint, deadline);
}

static int server(struct lb_session *s) { return mc_is_open(&s->conn) ? 0 : -ENOENT; }

/* All keys of the run, as the server lists them. */
static int teardown(struct lb_session *s, lb_ns deadline) {
  struct mc_conn conn = {.fd = -1};
  int r = mc_open(&conn, s->env, &s->target->endpoints[0], deadline);
  if (r == 0) r = mc_delete_all(&conn, s->prefix, deadline);
  mc_close(&conn);
  return r == -ETIMEDOUT ? LB_TIMEOUT : r;
}

static const struct lb_proofs proofs = {.inspect = inspect, .server = server};
static const char *const topologies[] = {"memcached", NULL};
/* after-add: the answer has been read, and not been looked at. before-delete: the version has been read. */
static const char *const points[] = {"before-add", "after-add", "before-release", "before-delete", NULL};

#define MEMCACHED_HOOKS                                                                                                \
  .session_size = sizeof(struct lb_session), .open = open_session, .close = close_session, .try_acquire = try_acquire, \
  .release = release, .extend = extend, .resolve = resolve, .holds = holds, .teardown = teardown, .doubt = doubt,      \
  .break_lock = break_lock, .proofs = &proofs, .topologies = topologies, .points = points,                             \
  .traits =                                                                                                            \
      LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE

const struct lb_protocol lb_memcached_cas = {
    .abi = LB_ABI,
    .name = "memcached-cas",
    .summary = "memcached: add with an expiry takes the lock, and a compare-and-delete frees it",
    MEMCACHED_HOOKS,
};

const struct lb_protocol lb_memcached_add = {
    .abi = LB_ABI,
    .name = "memcached-add",
    .summary = "memcached: add with an expiry takes the lock, and a plain delete frees it",
    .facts = "release=blind",
    .flaws =
        (const struct lb_flaw[]){
            {"a stale release leaves the next holder alone", "the release does not look whose key it deletes", NULL},
            {"an old grant is lost although its session holds again", "the release does not look whose key it is",
             NULL},
            {"a lease ends by itself and the old holder learns it", "the release does not look whose key it is", NULL},
            {NULL, NULL, NULL}},
    .data = points,
    MEMCACHED_HOOKS,
};
