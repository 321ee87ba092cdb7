/* SPDX-License-Identifier: MIT
 *
 * Asking a cluster, and its leases.
 */
#include "etcd_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

enum { PATIENCE_MS = 300, PAUSE_MS = 10 }; /* for one member; before the next one is asked */

static lb_ns earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* ---- whom to ask ----------------------------------------------------------------------------------------------- */

static int connect_to(struct etcd_session *s, struct etcd_link **link, lb_ns deadline) {
  return *link ? 0 : etcd_open(s->env, s->target, &s->target->endpoints[s->member], deadline, link);
}

int etcd_session_open(struct etcd_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct etcd_session){.env = config->env, .target = config->target, .prefix = config->prefix, .client = config->client};
  if (config->target->count == 0) return lb_fail(s->env, -EINVAL, "the target has no etcd");
  /* Clients begin with different members, as behind a balancer. */
  for (const char *c = config->client; *c; c++) s->member = (s->member * 31 + (unsigned char)*c) % config->target->count;
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

int etcd_lend_ear(struct etcd_session *s, lb_ns deadline) {
  return s->ear ? 0 : etcd_open_beside(s->link, s->env, s->target, &s->target->endpoints[s->member], deadline, &s->ear);
}

static int ask_once(struct etcd_session *s, const char *path, json_t *body, lb_ns deadline, json_t **ret) {
  int result = connect_to(s, &s->link, deadline);
  if (result == 0) result = etcd_call(s->link, path, json_incref(body), earlier(deadline, lb_now(s->env) + PATIENCE_MS * LB_NS_PER_MS), ret);
  s->answered |= result == LB_OK;
  return result;
}

/* What the server has refused for good nobody else is asked. */
static bool is_final(int result) { return result == LB_OK || result == -ENOENT || result == -EPROTO || result == -ENOMEM || result == -EPROTONOSUPPORT; }

int etcd_ask(struct etcd_session *s, const char *path, json_t *body, lb_ns deadline, json_t **ret, bool *unsure) {
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

void etcd_forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

uint64_t etcd_lease(const struct lb_grant *grant) { return strtoull(grant->token, NULL, 16); }

uint64_t etcd_revision(const struct lb_grant *grant) {
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
  int result = etcd_ask(s, "/v3/lease/grant", body, deadline, &said, NULL);
  json_decref(body);
  if (result == LB_OK) ret->id = etcd_number(said, "ID");
  json_decref(said);
  return result == LB_UNKNOWN ? LB_TIMEOUT : result; /* a lease on which nothing hangs ends by itself */
}

int etcd_begin(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct etcd_lease lease = s->spare;
  bool useful = lease.id && lease.ttl_ms == lock->ttl_ms && lease.until > lb_now(s->env);
  int result = useful ? LB_OK : make_lease(s, lock->ttl_ms, deadline, &lease);
  if (result != LB_OK) return result;
  s->spare.id = 0;
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%" PRIx64, lease.id);
  grant->valid_until = lease.until;
  return LB_OK;
}

/* A lease that is over has no TTL in the answer. */
int etcd_renew(struct etcd_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline, lb_ns *ret) {
  json_t *body = with_lease(etcd_lease(grant)), *said;
  *ret = lb_lease_end(lb_now(s->env), lock->ttl_ms);
  int result = etcd_ask(s, "/v3/lease/keepalive", body, deadline, &said, NULL);
  if (result == LB_OK && etcd_number(json_object_get(said, "result"), "TTL") == 0) result = LB_LOST;
  if (result == LB_LOST) lb_fail(s->env, -ENOENT, "the lease is over");
  json_decref(body);
  json_decref(said);
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}

int etcd_keep(struct etcd_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns until;
  if (grant->valid_until > lb_now(s->env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS / 3 * 2) return LB_OK;
  int result = etcd_renew(s, lock, grant, deadline, &until);
  if (result == LB_OK) grant->valid_until = until;
  if (result == LB_LOST) etcd_forget(grant);
  return result == LB_LOST ? ETCD_AGAIN : result;
}

int etcd_revoke(struct etcd_session *s, const struct lb_grant *grant, lb_ns deadline) {
  json_t *body = with_lease(etcd_lease(grant)), *said;
  bool unsure = false;
  int result = etcd_ask(s, "/v3/lease/revoke", body, deadline, &said, &unsure);
  json_decref(body);
  json_decref(said);
  if (result == -ENOENT) return unsure ? LB_OK : LB_LOST;
  return result == LB_TIMEOUT ? LB_UNKNOWN : result;
}
