/* SPDX-License-Identifier: MIT
 *
 * The hooks of every lock of etcd that do not care how it is taken.
 */
#include "etcd_hooks.h"

#include <errno.h>
#include <stdio.h>

static struct etcd_session *etcd(struct lb_session *s) { return (struct etcd_session *)s; }

const char *const etcd_topologies[] = {"etcd-x3", "etcd", NULL};

int etcd_hook_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  return etcd_session_open(etcd(s), config, deadline);
}

void etcd_hook_close(struct lb_session *s) { etcd_session_close(etcd(s)); }

int etcd_hook_server(struct lb_session *s) { return etcd(s)->answered ? (int)etcd(s)->member : -ENOENT; }

uint64_t etcd_hook_session_id(struct lb_session *s, const struct lb_grant *grant) {
  (void)s;
  return etcd_lease(grant);
}

int etcd_hook_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return etcd_extend(etcd(s), lock, grant, deadline);
}

int etcd_hook_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
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

int etcd_hook_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
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

int etcd_hook_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return etcd_break(etcd(s)->env, etcd(s)->target, endpoint, all_of(lock->key, '/', '0'), deadline);
}

int etcd_hook_teardown(struct lb_session *s, lb_ns deadline) {
  json_t *body = all_of(etcd(s)->prefix, '-', '.'), *said;
  int result = etcd_ask(etcd(s), "/v3/kv/deleterange", body, deadline, &said, NULL);
  json_decref(body);
  json_decref(said);
  return result;
}
