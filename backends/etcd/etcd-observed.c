/* SPDX-License-Identifier: MIT
 *
 * etcd-observed - the leader election of Kubernetes: one record, compare-and-swap, and no clock of a server.
 *
 * The record names its holder and the length of its lease. Every write asks for the revision that was read before, so
 * of two writers one is refused. The holder renews by writing the record again. A candidate that sees a revision for
 * the first time notes the moment by its own clock. When that revision has stood for the length of the lease, it takes
 * the record over. A release writes a record without a holder.
 *
 * Promises    One holder per key while holders stop at valid_until. A candidate sees a write after it was asked for, so
 *             it counts from later than the holder does. Wall clocks do not matter, of servers or clients. A fencing
 *             token: the revision of the write that took the record, which survives failover and restart. A release
 *             or an extension never touches somebody else's record.
 * Assumes     The clocks of candidates and holder run at nearly the same rate, and members keep what they confirmed.
 * Breaks it   A holder that works on past its lease (a pause, a cut, without a check). A resource that compares the
 *             number refuses it; client-go has none, and says that it does not fence. A program that hangs while its
 *             process lives keeps the lock for ever, for the renewals go on.
 * Stopping    client-go's elector gives up RenewDeadline after its last try began, before the lease ends; with
 *             ReleaseOnCancel it says so only after a release that may take as long again. Here the guard deadline does
 *             that.
 * Price       A candidate that comes after the holder died has not seen the record stand, and waits a whole lease. No
 *             waiter is woken: each candidate reads again and again.
 * Left out    renewTime of the record: no candidate compares it with a clock, and the revision tells that it was
 *             renewed. leaderTransitions, for the revision grows as well. client-go has one identity per process; here
 *             each attempt has one, so a session that holds is refused like anybody else.
 * Unknown     A write without an answer may arrive later, unless the record has another revision by then. So the
 *             attempt keeps the revision that it asked for, and while that stands it writes again.
 * Source      client-go, tools/leaderelection: tryAcquireOrRenew(), isLeaseValid(), release().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "etcd_session.h"

enum { HOLDER_SIZE = 33 };

struct record {
  uint64_t revision;        /* of its latest write; 0 = there is none */
  char holder[HOLDER_SIZE]; /* "" = free */
  int64_t ttl_ms;
};

struct lb_session {
  struct etcd_session etcd;
  struct { /* the record that was looked at last: an elector looks at one */
    char key[ETCD_KEY_MAX];
    uint64_t revision;
    lb_ns since;
  } observed;
};

/* ---- the record ---------------------------------------------------------------------------------------------- */

/* LB_OK, LB_TIMEOUT: nothing has left; LB_UNKNOWN; -errno. */
static int look(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline, struct record *ret) {
  json_t *body = json_pack("{s:o}", "key", etcd_text(lock->key)), *said;
  int result = etcd_session_ask(&s->etcd, "/v3/kv/range", body, deadline, &said, NULL);
  const json_t *kv = json_array_get(json_object_get(said, "kvs"), 0);
  char value[80] = "";
  *ret = (struct record){.revision = etcd_number(kv, "mod_revision")};
  if (kv && etcd_read_text(json_object_get(kv, "value"), value, sizeof value) == 0)
    sscanf(value, "%" SCNd64 " %32s", &ret->ttl_ms, ret->holder);
  json_decref(body);
  json_decref(said);
  return result;
}

/* Writes it over the record with this revision. LB_OK with the new one; LB_LOST: it has another one by now; LB_TIMEOUT,
 * LB_UNKNOWN, -errno. *unsure = it was done perhaps. */
static int replace(struct lb_session *s, const struct lb_lock *lock, struct record *record, lb_ns deadline,
                   bool *unsure) {
  char expected[24], value[80];
  snprintf(expected, sizeof expected, "%" PRIu64, record->revision);
  snprintf(value, sizeof value, "%" PRId64 " %s", record->ttl_ms, record->holder);
  json_t *said,
      *put = json_pack("{s:{s:o,s:o}}", "request_put", "key", etcd_text(lock->key), "value", etcd_text(value));
  json_t *body = json_pack("{s:[{s:o,s:s,s:s,s:s}],s:[o]}", "compare", "key", etcd_text(lock->key), "target", "MOD",
                           "mod_revision", expected, "result", "EQUAL", "success", put);
  int result = etcd_session_ask(&s->etcd, "/v3/kv/txn", body, deadline, &said, unsure);
  *unsure |= result == LB_UNKNOWN;
  if (result == LB_OK && !json_is_true(json_object_get(said, "succeeded"))) result = LB_LOST;
  if (result == LB_OK) record->revision = etcd_number(json_object_get(said, "header"), "revision");
  json_decref(body);
  json_decref(said);
  return result;
}

/* ---- grants: the token is the holder; with '@' a revision that it was perhaps written over -------------------- */

static bool is_own(const struct record *record, const struct lb_grant *grant) {
  size_t length = strcspn(grant->token, "@");
  return length && strlen(record->holder) == length && strncmp(record->holder, grant->token, length) == 0;
}

static bool is_in_doubt(const struct record *record, const struct lb_grant *grant) {
  const char *at = strchr(grant->token, '@');
  return at && strtoull(at + 1, NULL, 10) == record->revision;
}

static void name(struct lb_grant *grant, const char holder[HOLDER_SIZE]) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", holder);
}

static void new_holder(struct lb_session *s, char holder[HOLDER_SIZE]) {
  uint64_t random[2];
  lb_random(s->etcd.env, random, sizeof random);
  snprintf(holder, HOLDER_SIZE, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static int confirm(struct lb_session *s, const struct lb_grant *grant) {
  lb_confirm(&s->etcd.confirmed, grant, s->etcd.losses + (s->etcd.link ? etcd_losses(s->etcd.link, false) : 0));
  return LB_OK;
}

/* Whether it is free, or has stood for as long as its lease. */
static bool can_be_taken(struct lb_session *s, const struct lb_lock *lock, const struct record *record) {
  lb_ns now = lb_now(s->etcd.env);
  if (!record->holder[0]) return true;
  if (s->observed.revision != record->revision || strcmp(s->observed.key, lock->key) != 0) {
    snprintf(s->observed.key, sizeof s->observed.key, "%s", lock->key);
    s->observed.revision = record->revision;
    s->observed.since = now;
  }
  return now >= s->observed.since + (lb_ns)record->ttl_ms * LB_NS_PER_MS;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/* Until the record is the attempt's, or somebody else's. LB_OK with it; LB_BUSY, LB_TIMEOUT, LB_UNKNOWN, -errno. */
static int take(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline,
                struct record *record) {
  char holder[HOLDER_SIZE];
  snprintf(holder, sizeof holder, "%.*s", (int)strcspn(grant->token, "@"), grant->token);
  for (;;) {
    bool unsure = false;
    int result = look(s, lock, deadline, record);
    if (result != LB_OK || is_own(record, grant)) return result;
    if (!is_in_doubt(record, grant) && !can_be_taken(s, lock, record)) return LB_BUSY;
    uint64_t before = record->revision;
    lb_ns asked = lb_now(s->etcd.env);
    *record = (struct record){.revision = before, .ttl_ms = lock->ttl_ms};
    memcpy(record->holder, holder, sizeof holder);
    result = replace(s, lock, record, deadline, &unsure);
    if (result == LB_OK)
      grant->asked_at = asked, grant->valid_until = grant->fence = 0; /* it begins now, not with the first try */
    if (unsure) snprintf(grant->token, sizeof grant->token, "%s@%" PRIu64, holder, before);
    grant->token_len = strlen(grant->token);
    if (result != LB_LOST) return result;
    if (lb_now(s->etcd.env) >= deadline)
      return strchr(grant->token, '@') ? LB_UNKNOWN : LB_BUSY; /* of any try so far */
  }
}

static int try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char holder[HOLDER_SIZE];
  struct record record;
  bool repeated = grant->token_len > 0;
  if (!repeated) {
    grant->asked_at = lb_now(s->etcd.env);
    new_holder(s, holder);
    name(grant, holder);
  }
  lb_point(s->etcd.env, "before-create");
  int result = take(s, lock, grant, deadline, &record);
  lb_point(s->etcd.env, "after-create");
  if (result == LB_OK) {
    if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
    if (!grant->fence) grant->fence = record.revision;
    name(grant, record.holder);
    return confirm(s, grant);
  }
  if (result != LB_BUSY && (repeated || strchr(grant->token, '@'))) return LB_UNKNOWN;
  *grant = LB_GRANT_INIT;
  return result == LB_UNKNOWN ? LB_TIMEOUT : result; /* a look that got no answer */
}

static int resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return grant->token_len ? try_acquire(s, lock, grant, deadline) : LB_BUSY;
}

/* Behind its end an elector has stopped, also while its name stands in the record. */
static bool is_over(struct lb_session *s, const struct lb_grant *grant) {
  if (lb_now(s->etcd.env) < grant->valid_until) return false;
  lb_fail(s->etcd.env, -ETIME, "the lease is over");
  return true;
}

/* Writes the record again if it is the grant's, or may still become so. LB_OK, LB_LOST, LB_UNKNOWN, -errno. */
static int rewrite(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool free,
                   lb_ns deadline) {
  bool unsure = false;
  for (;;) {
    struct record record;
    int result = look(s, lock, deadline, &record);
    if (result == LB_OK && !is_own(&record, grant) && !(free && is_in_doubt(&record, grant)))
      return free && unsure ? LB_OK : LB_LOST;
    if (result == LB_OK && !free && is_over(s, grant)) return LB_LOST;
    if (result == LB_OK) {
      record.ttl_ms = lock->ttl_ms;
      if (free) record.holder[0] = '\0';
      result = replace(s, lock, &record, deadline, &unsure);
    }
    if (result == LB_TIMEOUT) result = LB_UNKNOWN;
    if (result != LB_LOST) return unsure && result < 0 ? LB_UNKNOWN : result;
    if (lb_now(s->etcd.env) >= deadline) return LB_UNKNOWN;
  }
}

static int release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_point(s->etcd.env, "before-release");
  if (!grant->token_len) return LB_OK;
  bool over = lb_now(s->etcd.env) >= grant->valid_until, sure = grant->valid_until != 0;
  int result = rewrite(s, lock, grant, true, deadline);
  if (result == LB_UNKNOWN) grant->valid_until = 0;
  if (result == LB_OK && over && sure) return LB_LOST; /* it has taken its own name out of the record */
  return result == LB_LOST && !sure ? LB_OK : result;
}

static int extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns end = lb_lease_end(lb_now(s->etcd.env), lock->ttl_ms);
  int result = rewrite(s, lock, grant, false, deadline);
  if (result == LB_OK) confirm(s, grant);
  return lb_lease_extended(grant, result, end);
}

static int holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct record record;
  int result = look(s, lock, deadline, &record);
  if (result == LB_OK && (!is_own(&record, grant) || is_over(s, grant))) result = LB_LOST;
  if (result == LB_TIMEOUT) result = LB_UNKNOWN;
  return result == LB_OK ? confirm(s, grant) : result;
}

/* As this member has it. */
static int inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  struct etcd_link *link;
  json_t *said = NULL, *body = json_pack("{s:o,s:b}", "key", etcd_text(lock->key), "serializable", 1);
  char value[80] = "";
  int result = etcd_open(s->etcd.env, s->etcd.target, &s->etcd.target->endpoints[endpoint], deadline, &link);
  if (result == 0) result = etcd_call(link, "/v3/kv/range", json_incref(body), deadline, &said);
  const json_t *text = json_object_get(json_array_get(json_object_get(said, "kvs"), 0), "value");
  if (result == LB_OK && text) etcd_read_text(text, value, sizeof value);
  etcd_close(link);
  json_decref(body);
  json_decref(said);
  const char *holder = strchr(value, ' ');
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : holder && holder[1];
}

static int break_lock(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return etcd_break(s->etcd.env, s->etcd.target, endpoint, json_pack("{s:o}", "key", etcd_text(lock->key)), deadline);
}

static int server(struct lb_session *s) { return etcd_session_proofs.server(s); }

static const struct lb_proofs proofs = {.inspect = inspect, .server = server};

const struct lb_protocol lb_etcd_observed = {
    .abi = LB_ABI,
    .name = "etcd-observed",
    .summary = "Kubernetes' leader election: a record in etcd, whose lease each candidate counts by its own clock",
    .facts = "number=log counts=client-monotonic lost=other",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_FENCED | LB_TRAIT_RENEWED | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    /* after-create: the answer has been read, or given up. */
    .points = (const char *const[]){"before-create", "after-create", "before-release", NULL},
    .topologies = etcd_session_topologies,
    .session_size = sizeof(struct lb_session),
    .open = etcd_session_hook_open,
    .close = etcd_session_hook_close,
    .break_lock = break_lock,
    .teardown = etcd_session_hook_teardown,
    .doubt = etcd_session_hook_doubt,
    .proofs = &proofs,
    .try_acquire = try_acquire,
    .release = release,
    .extend = extend,
    .resolve = resolve,
    .holds = holds,
};
