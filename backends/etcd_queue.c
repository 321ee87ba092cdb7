/* SPDX-License-Identifier: MIT
 *
 * The queue of a lock: the keys below its name, in the order of the transactions that made them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd_session.h"

void etcd_key(const struct lb_lock *lock, const struct lb_grant *grant, char key[ETCD_KEY_MAX]) {
  snprintf(key, ETCD_KEY_MAX, "%s/%" PRIx64, lock->key, etcd_lease(grant));
}

static void decimal(uint64_t number, char text[24]) { snprintf(text, 24, "%" PRIu64, number); }

/* A transaction with one condition: the key was made by this revision (0 = it is not there). Takes the references. */
static json_t *if_made_by(const char *key, uint64_t revision, json_t *then, json_t *otherwise) {
  char made[24];
  decimal(revision, made);
  json_t *condition = json_pack("{s:o,s:s,s:s,s:s}", "key", etcd_text(key), "target", "CREATE", "create_revision", made, "result", "EQUAL");
  return json_pack("{s:[o],s:[o*],s:[o*]}", "compare", condition, "success", then, "failure", otherwise);
}

static json_t *read_of(const char *key) { return json_pack("{s:{s:o}}", "request_range", "key", etcd_text(key)); }

/* The answer to the n-th read of a transaction: the first key there, NULL = none. */
static const json_t *answer(const json_t *said, size_t n) {
  const json_t *range = json_object_get(json_array_get(json_object_get(said, "responses"), n), "response_range");
  return json_array_get(json_object_get(range, "kvs"), 0);
}

static int transact(struct etcd_session *s, json_t *body, lb_ns deadline, json_t **said, bool *unsure) {
  int result = etcd_ask(s, "/v3/kv/txn", body, deadline, said, unsure);
  json_decref(body);
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}

/* ---- into the queue --------------------------------------------------------------------------------------------- */

static void note_revision(struct lb_grant *grant, uint64_t revision) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%" PRIx64 "@%" PRIu64, etcd_lease(grant), revision);
}

int etcd_join(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX], lease[24];
  json_t *said;
  bool unsure = false;
  etcd_key(lock, grant, key);
  decimal(etcd_lease(grant), lease);
  json_t *put = json_pack("{s:{s:o,s:o,s:s}}", "request_put", "key", etcd_text(key), "value", etcd_text(s->client), "lease", lease);
  int result = transact(s, if_made_by(key, 0, put, read_of(key)), deadline, &said, &unsure);
  if (result == -ENOENT) return etcd_forget(grant), ETCD_AGAIN; /* no such lease: no key will ever hang on it */
  if (result < 0) return unsure ? LB_UNKNOWN : (etcd_forget(grant), result);
  if (result != LB_OK) return result;
  bool made = json_is_true(json_object_get(said, "succeeded"));
  uint64_t revision = made ? etcd_number(json_object_get(said, "header"), "revision") : etcd_number(answer(said, 0), "create_revision");
  json_decref(said);
  note_revision(grant, revision);
  return LB_OK;
}

int etcd_find(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_key(lock, grant, key);
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
  return json_pack("{s:{s:o,s:o,s:s,s:s,s:s,s:I}}", "request_range", "key", etcd_text(begin), "range_end", etcd_text(end), "max_create_revision", before,
                   "sort_target", "CREATE", "sort_order", "DESCEND", "limit", (json_int_t)1);
}

/* Both reads show one and the same state. */
int etcd_look(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_key(lock, grant, key);
  int result = transact(s, json_pack("{s:[o,o]}", "success", read_of(key), read_ahead(lock, etcd_revision(grant))), deadline, &said, NULL);
  if (result != LB_OK) return result;
  const json_t *own = answer(said, 0), *ahead = answer(said, 1);
  if (etcd_number(own, "create_revision") != etcd_revision(grant)) result = ETCD_AGAIN;
  else if (ahead) result = etcd_read_text(json_object_get(ahead, "key"), s->ahead, sizeof s->ahead) < 0 ? -EPROTO : LB_BUSY;
  s->revision = etcd_number(json_object_get(said, "header"), "revision");
  if (result == ETCD_AGAIN) etcd_forget(grant);
  json_decref(said);
  return result;
}

int etcd_confirm(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  etcd_key(lock, grant, key);
  int result = transact(s, json_pack("{s:[o]}", "success", read_of(key)), deadline, &said, NULL);
  uint64_t made = result == LB_OK ? etcd_number(answer(said, 0), "create_revision") : 0;
  bool there = made && (made == etcd_revision(grant) || !etcd_revision(grant));
  json_decref(said);
  if (result == LB_OK && !there) return lb_fail(s->env, -ENOENT, "its key is gone"), LB_LOST;
  if (there) lb_confirm(&s->confirmed, grant, s->losses + etcd_losses(s->link, false));
  return result;
}

/* A lease that lives tells nothing of a key that somebody deleted. */
int etcd_extend(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns until;
  int result = etcd_renew(s, lock, grant, deadline, &until);
  if (result == LB_OK) result = etcd_confirm(s, lock, grant, deadline);
  return lb_lease_extended(grant, result, until);
}

/* A watch from the revision on in which the key was seen, so that no deletion is missed. */
static int watch(struct etcd_session *s, lb_ns deadline) {
  char from[24];
  int result = etcd_lend_ear(s, deadline);
  if (result < 0) return result;
  decimal(s->revision + 1, from);
  return etcd_send(s->ear, "/v3/watch", json_pack("{s:{s:o,s:s,s:[s]}}", "create_request", "key", etcd_text(s->ahead), "start_revision", from, "filters", "NOPUT"));
}

int etcd_await_turn(struct etcd_session *s, const struct lb_lock *lock, lb_ns deadline) {
  lb_ns look = lb_now(s->env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS / 3;
  int result = watch(s, deadline);
  if (result == 0) result = etcd_await_text(s->ear, "\"DELETE\"", look < deadline ? look : deadline);
  if (s->ear) etcd_give_up(s->ear);
  if (result != LB_OK && lb_now(s->env) >= deadline) return LB_TIMEOUT;
  return LB_OK; /* also if the stream broke: to look tells more */
}

/* ---- out of it ----------------------------------------------------------------------------------------------------- */

/* Keeps the lease for the next attempt, if it is known to live for long. */
static void spare(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  s->spare = (struct etcd_lease){.id = etcd_lease(grant), .ttl_ms = lock->ttl_ms, .until = grant->valid_until};
}

int etcd_leave(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char key[ETCD_KEY_MAX];
  json_t *said;
  bool unsure = false;
  if (!etcd_revision(grant)) {
    int result = grant->token_len ? etcd_revoke(s, grant, deadline) : LB_OK;
    return result == LB_LOST ? LB_OK : result;
  }
  etcd_key(lock, grant, key);
  json_t *delete = json_pack("{s:{s:o}}", "request_delete_range", "key", etcd_text(key));
  int result = transact(s, if_made_by(key, etcd_revision(grant), delete, NULL), deadline, &said, &unsure);
  if (unsure || result == LB_UNKNOWN) grant->valid_until = 0;
  if (result != LB_OK) return result;
  bool done = json_is_true(json_object_get(said, "succeeded"));
  json_decref(said);
  if (done && grant->valid_until) spare(s, lock, grant);
  return done || !grant->valid_until || !grant->fence ? LB_OK : LB_LOST;
}
