/* SPDX-License-Identifier: MIT
 *
 * Asking a cluster, its leases, the queue of a lock, and the hooks.
 */
#include "etcd_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 300, PAUSE_MS = 10 }; /* for one member; before the next one is asked */

static lb_ns earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* ---- whom to ask ----------------------------------------------------------------------------------------------- */

static int connect_to(struct etcd_session *s, struct etcd_link **link, lb_ns deadline) {
  return *link ? 0 : etcd_open(s->env, s->target, &s->target->endpoints[s->member], deadline, link);
}

int etcd_session_open(struct etcd_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct etcd_session){
      .env = config->env, .target = config->target, .prefix = config->prefix, .client = config->client};
  if (config->target->count == 0) return lb_fail(s->env, -EINVAL, "the target has no etcd");
  /* Clients begin with different members, as behind a balancer. */
  for (const char *c = config->client; *c; c++)
    s->member = (s->member * 31 + (unsigned char)*c) % config->target->count;
  return config->target->endpoints[s->member].password ? connect_to(s, &s->link, deadline) : 0;
}

static void hang_up(struct etcd_session *s) {
  if (s->link) s->losses += etcd_losses(s->link, false) + 1;
  etcd_close(s->link);
  etcd_close(s->ear);
  s->link = s->ear = NULL;
  s->answered = false;
}

void etcd_session_close(struct etcd_session *s) {
  if (s->env) hang_up(s);
}

int etcd_session_lend_ear(struct etcd_session *s, lb_ns deadline) {
  return s->ear ? 0 : etcd_open_beside(s->link, s->env, s->target, &s->target->endpoints[s->member], deadline, &s->ear);
}

static int ask_once(struct etcd_session *s, const char *path, json_t *body, lb_ns deadline, json_t **ret) {
  int result = connect_to(s, &s->link, deadline);
  if (result == 0)
    result = etcd_call(s->link, path, json_incref(body), earlier(deadline, lb_now(s->env) + PATIENCE_MS * LB_NS_PER_MS),
                       ret);
  s->answered |= result == LB_OK;
  return result;
}

/* What one member has refused for good is not asked of another. */
static bool is_final(int result) {
  return result == LB_OK || result == -ENOENT || result == -EPROTO || result == -ENOMEM || result == -EPROTONOSUPPORT;
}

int etcd_session_ask(struct etcd_session *s, const char *path, json_t *body, lb_ns deadline, json_t **ret,
                     bool *unsure) {
  bool left = false;
  *ret = NULL;
  for (size_t tries = 1;; tries++) {
    int result = ask_once(s, path, body, deadline, ret);
    if (is_final(result)) return unsure ? *unsure |= left : 0, result;
    left |= result == LB_UNKNOWN;
    hang_up(s);
    s->member = (s->member + 1) % s->target->count;
    bool all_refused = result < 0 && !left && tries >= s->target->count;
    if (all_refused || lb_now(s->env) >= deadline) return left ? LB_UNKNOWN : result;
    lb_sleep_until(s->env, earlier(deadline, lb_now(s->env) + PAUSE_MS * LB_NS_PER_MS));
  }
}

/* ---- leases ----------------------------------------------------------------------------------------------------- */

void etcd_session_forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

uint64_t etcd_session_lease(const struct lb_grant *grant) { return strtoull(grant->token, NULL, 16); }

uint64_t etcd_session_revision(const struct lb_grant *grant) {
  const char *at = strchr(grant->token, '@');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

static json_t *with_lease(uint64_t id) {
  char decimal[24];
  snprintf(decimal, sizeof decimal, "%" PRIu64, id);
  return json_pack("{s:s}", "ID", decimal);
}

static int make_lease(struct etcd_session *s, int64_t ttl_ms, lb_ns deadline, struct etcd_lease *ret) {
  json_t *body = json_pack("{s:I}", "TTL", (json_int_t)((ttl_ms + 999) / 1000)), *said;
  *ret = (struct etcd_lease){.ttl_ms = ttl_ms, .until = lb_lease_end(lb_now(s->env), ttl_ms)};
  int result = etcd_session_ask(s, "/v3/lease/grant", body, deadline, &said, NULL);
  json_decref(body);
  if (result == LB_OK) ret->id = etcd_number(said, "ID");
  json_decref(said);
  return result == LB_UNKNOWN ? LB_TIMEOUT : result; /* a lease on which nothing hangs ends by itself */
}

int etcd_session_begin(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct etcd_lease lease = s->spare;
  bool useful = lease.id && lease.ttl_ms == lock->ttl_ms && lease.until > lb_now(s->env);
  int result = useful ? LB_OK : make_lease(s, lock->ttl_ms, deadline, &lease);
  if (result != LB_OK) return result;
  s->spare.id = 0;
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%" PRIx64, lease.id);
  grant->valid_until = lease.until;
  return LB_OK;
}

/* A lease that is over has no TTL in the answer. It is renewed for as long as it was made for, whatever is asked now. */
static int renew(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline,
                 lb_ns *ret) {
  json_t *body = with_lease(etcd_session_lease(grant)), *said;
  lb_ns asked = lb_now(s->env);
  int result = etcd_session_ask(s, "/v3/lease/keepalive", body, deadline, &said, NULL);
  uint64_t lasts_s = result == LB_OK ? etcd_number(json_object_get(said, "result"), "TTL") : 0;
  int64_t lasts_ms = lasts_s < 1000000 ? (int64_t)lasts_s * 1000 : lock->ttl_ms;
  *ret = lb_lease_end(asked, lasts_ms < lock->ttl_ms ? lasts_ms : lock->ttl_ms);
  if (result == LB_OK && lasts_s == 0) result = LB_LOST;
  if (result == LB_LOST) lb_fail(s->env, -ENOENT, "the lease is over");
  json_decref(body);
  json_decref(said);
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}

int etcd_session_keep(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns until;
  if (grant->valid_until > lb_now(s->env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS / 3 * 2) return LB_OK;
  int result = renew(s, lock, grant, deadline, &until);
  if (result == LB_OK) grant->valid_until = until;
  if (result == LB_LOST) etcd_session_forget(grant);
  return result == LB_LOST ? ETCD_AGAIN : result;
}

int etcd_session_revoke(struct etcd_session *s, const struct lb_grant *grant, lb_ns deadline) {
  json_t *body = with_lease(etcd_session_lease(grant)), *said;
  bool unsure = false;
  int result = etcd_session_ask(s, "/v3/lease/revoke", body, deadline, &said, &unsure);
  json_decref(body);
  json_decref(said);
  if (result == -ENOENT) return unsure ? LB_OK : LB_LOST;
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}

/* ---- the queue: keys below the name of the lock, in the order of the transactions that made them ----------------- */

void etcd_session_key(const struct lb_lock *lock, const struct lb_grant *grant, char key[ETCD_KEY_MAX]) {
  snprintf(key, ETCD_KEY_MAX, "%s/%" PRIx64, lock->key, etcd_session_lease(grant));
}

static void decimal(uint64_t number, char text[24]) { snprintf(text, 24, "%" PRIu64, number); }

/* A transaction with one condition: the key was made by this revision (0 = it is not there). Takes the references. */
static json_t *if_made_by(const char *key, uint64_t revision, json_t *then, json_t *otherwise) {
  char made[24];
  decimal(revision, made);
  json_t *condition = json_pack("{s:o,s:s,s:s,s:s}", "key", etcd_text(key), "target", "CREATE", "create_revision", made,
                                "result", "EQUAL");
  return json_pack("{s:[o],s:[o*],s:[o*]}", "compare", condition, "success", then, "failure", otherwise);
}

static json_t *read_of(const char *key) { return json_pack("{s:{s:o}}", "request_range", "key", etcd_text(key)); }

/* The answer to the n-th read of a transaction: the first key there, NULL = none. */
static const json_t *answer(const json_t *said, size_t n) {
  const json_t *range = json_object_get(json_array_get(json_object_get(said, "responses"), n), "response_range");
  return json_array_get(json_object_get(range, "kvs"), 0);
}

static int transact(struct etcd_session *s, json_t *body, lb_ns deadline, json_t **said, bool *unsure) {
  int result = etcd_session_ask(s, "/v3/kv/txn", body, deadline, said, unsure);
  json_decref(body);
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}

/* ---- into the queue --------------------------------------------------------------------------------------------- */

static void note_revision(struct lb_grant *grant, uint64_t revision) {
  grant->token_len =
      (size_t)snprintf(grant->token, sizeof grant->token, "%" PRIx64 "@%" PRIu64, etcd_session_lease(grant), revision);
}

int etcd_session_join(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX], lease[24];
  json_t *said;
  bool unsure = false;
  etcd_session_key(lock, grant, key);
  decimal(etcd_session_lease(grant), lease);
  json_t *put = json_pack("{s:{s:o,s:o,s:s}}", "request_put", "key", etcd_text(key), "value", etcd_text(s->client),
                          "lease", lease);
  int result = transact(s, if_made_by(key, 0, put, read_of(key)), deadline, &said, &unsure);
  if (result == -ENOENT) return etcd_session_forget(grant), ETCD_AGAIN; /* no such lease: no key will ever hang on it */
  if (result < 0) return unsure ? LB_UNKNOWN : (etcd_session_forget(grant), result);
  if (result != LB_OK) return result;
  bool made = json_is_true(json_object_get(said, "succeeded"));
  uint64_t revision =
      made ? etcd_number(json_object_get(said, "header"), "revision") : etcd_number(answer(said, 0), "create_revision");
  json_decref(said);
  note_revision(grant, revision);
  return LB_OK;
}

int etcd_session_find(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_session_key(lock, grant, key);
  int result = transact(s, json_pack("{s:[o]}", "success", read_of(key)), deadline, &said, NULL);
  uint64_t revision = result == LB_OK ? etcd_number(answer(said, 0), "create_revision") : 0;
  json_decref(said);
  if (result == LB_OK && !revision) return ETCD_AGAIN;
  if (result == LB_OK) note_revision(grant, revision);
  return result;
}

/* ---- the place --------------------------------------------------------------------------------------------------- */

/* The latest of those made before. */
static json_t *read_ahead(const struct lb_lock *lock, uint64_t revision) {
  char begin[ETCD_KEY_MAX], end[ETCD_KEY_MAX], before[24];
  snprintf(begin, sizeof begin, "%s/", lock->key);
  snprintf(end, sizeof end, "%s0", lock->key);
  decimal(revision - 1, before);
  return json_pack("{s:{s:o,s:o,s:s,s:s,s:s,s:I}}", "request_range", "key", etcd_text(begin), "range_end",
                   etcd_text(end), "max_create_revision", before, "sort_target", "CREATE", "sort_order", "DESCEND",
                   "limit", (json_int_t)1);
}

/* Both reads show one and the same state. */
int etcd_session_look(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_session_key(lock, grant, key);
  int result =
      transact(s, json_pack("{s:[o,o]}", "success", read_of(key), read_ahead(lock, etcd_session_revision(grant))),
               deadline, &said, NULL);
  if (result != LB_OK) return result;
  const json_t *own = answer(said, 0), *ahead = answer(said, 1);
  if (etcd_number(own, "create_revision") != etcd_session_revision(grant)) result = ETCD_AGAIN;
  else if (ahead)
    result = etcd_read_text(json_object_get(ahead, "key"), s->ahead, sizeof s->ahead) < 0 ? -EPROTO : LB_BUSY;
  s->revision = etcd_number(json_object_get(said, "header"), "revision");
  if (result == ETCD_AGAIN) etcd_session_forget(grant);
  json_decref(said);
  return result;
}

int etcd_session_confirm(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                         lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_session_key(lock, grant, key);
  int result = transact(s, json_pack("{s:[o]}", "success", read_of(key)), deadline, &said, NULL);
  uint64_t made = result == LB_OK ? etcd_number(answer(said, 0), "create_revision") : 0;
  bool there = made && (made == etcd_session_revision(grant) || !etcd_session_revision(grant));
  json_decref(said);
  if (result == LB_OK && !there) return lb_fail(s->env, -ENOENT, "its key is gone"), LB_LOST;
  if (there) lb_confirm(&s->confirmed, grant, s->losses + etcd_losses(s->link, false));
  return result;
}

/* A lease that lives tells nothing of a key that somebody deleted. */
static int extend(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns until;
  int result = renew(s, lock, grant, deadline, &until);
  if (result == LB_OK) result = etcd_session_confirm(s, lock, grant, deadline);
  return lb_lease_extended(grant, result, until);
}

/* A watch from the revision on in which the key was seen, so that no deletion is missed. */
static int watch(struct etcd_session *s, lb_ns deadline) {
  char from[24];
  int result = etcd_session_lend_ear(s, deadline);
  if (result < 0) return result;
  decimal(s->revision + 1, from);
  return etcd_send(s->ear, "/v3/watch",
                   json_pack("{s:{s:o,s:s,s:[s]}}", "create_request", "key", etcd_text(s->ahead), "start_revision",
                             from, "filters", "NOPUT"));
}

int etcd_session_await_turn(struct etcd_session *s, const struct lb_lock *lock, lb_ns deadline) {
  lb_ns look = lb_now(s->env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS / 3;
  int result = watch(s, deadline);
  if (result == 0) result = etcd_await_text(s->ear, "\"DELETE\"", look < deadline ? look : deadline);
  if (s->ear) etcd_give_up(s->ear);
  if (result != LB_OK && lb_now(s->env) >= deadline) return LB_TIMEOUT;
  return LB_OK; /* also if the stream broke: to look tells more */
}

/* ---- out of it --------------------------------------------------------------------------------------------------- */

/* Keeps the lease for the next attempt, if it is known to live for long. */
static void spare(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  s->spare = (struct etcd_lease){.id = etcd_session_lease(grant), .ttl_ms = lock->ttl_ms, .until = grant->valid_until};
}

int etcd_session_leave(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  bool unsure = false;
  if (!etcd_session_revision(grant)) {
    int result = grant->token_len ? etcd_session_revoke(s, grant, deadline) : LB_OK;
    return result == LB_LOST ? LB_OK : result;
  }
  etcd_session_key(lock, grant, key);
  json_t *delete = json_pack("{s:{s:o}}", "request_delete_range", "key", etcd_text(key));
  int result = transact(s, if_made_by(key, etcd_session_revision(grant), delete, NULL), deadline, &said, &unsure);
  if (unsure || result == LB_UNKNOWN) grant->valid_until = 0;
  if (result != LB_OK) return result;
  bool done = json_is_true(json_object_get(said, "succeeded"));
  json_decref(said);
  if (done && grant->valid_until) spare(s, lock, grant);
  return done || !grant->valid_until || !grant->fence ? LB_OK : LB_LOST;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static struct etcd_session *etcd(struct lb_session *s) { return (struct etcd_session *)s; }

const char *const etcd_session_topologies[] = {"etcd-x3", "etcd", NULL};

int etcd_session_hook_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  return etcd_session_open(etcd(s), config, deadline);
}

void etcd_session_hook_close(struct lb_session *s) { etcd_session_close(etcd(s)); }

static int etcd_session_hook_server(struct lb_session *s) { return etcd(s)->answered ? (int)etcd(s)->member : -ENOENT; }

static uint64_t etcd_session_hook_session_id(struct lb_session *s, const struct lb_grant *grant) {
  (void)s;
  return etcd_session_lease(grant);
}

int etcd_session_hook_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return extend(etcd(s), lock, grant, deadline);
}

int etcd_session_hook_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  uint64_t losses = etcd(s)->losses + (etcd(s)->link ? etcd_losses(etcd(s)->link, true) : 0);
  if (lb_still_confirmed(&etcd(s)->confirmed, grant, losses)) return LB_OK;
  lb_fail(etcd(s)->env, -ECONNRESET, "the connection to etcd was lost");
  return LB_UNKNOWN;
}

/* Every key of the lock begins with its name and a slash, and '0' is what follows the slash. */
static json_t *all_of(const char *name, char after, char next) {
  char begin[ETCD_KEY_MAX], end[ETCD_KEY_MAX];
  snprintf(begin, sizeof begin, "%s%c", name, after);
  snprintf(end, sizeof end, "%s%c", name, next);
  return json_pack("{s:o,s:o}", "key", etcd_text(begin), "range_end", etcd_text(end));
}

static int etcd_session_hook_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint,
                                     lb_ns deadline) {
  struct etcd_link *link;
  json_t *body = all_of(lock->key, '/', '0'), *said = NULL;
  json_object_set_new(body, "serializable", json_true()); /* as this member has it */
  json_object_set_new(body, "count_only", json_true());
  int result = etcd_open(etcd(s)->env, etcd(s)->target, &etcd(s)->target->endpoints[endpoint], deadline, &link);
  if (result == 0) result = etcd_call(link, "/v3/kv/range", json_incref(body), deadline, &said);
  bool any = result == LB_OK && etcd_number(said, "count") > 0;
  etcd_close(link);
  json_decref(body);
  json_decref(said);
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : any;
}

int etcd_session_hook_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return etcd_break(etcd(s)->env, etcd(s)->target, endpoint, all_of(lock->key, '/', '0'), deadline);
}

int etcd_session_hook_teardown(struct lb_session *s, lb_ns deadline) {
  json_t *body = all_of(etcd(s)->prefix, '-', '.'), *said;
  int result = etcd_session_ask(etcd(s), "/v3/kv/deleterange", body, deadline, &said, NULL);
  json_decref(body);
  json_decref(said);
  return result;
}

const struct lb_proofs etcd_session_proofs = {.inspect = etcd_session_hook_inspect,
                                              .server = etcd_session_hook_server,
                                              .session_id = etcd_session_hook_session_id};
