/* SPDX-License-Identifier: MIT
 *
 * For the hook break_lock: the removal of a key by hand, over a connection of its own.
 */
#include <errno.h>

#include "etcd_util.h"

/* 1 = it was there, 0 = it was not, -errno. */
static int delete_key(struct etcd_link *link, const json_t *key, lb_ns deadline) {
  json_t *said = NULL;
  int result = etcd_call(link, "/v3/kv/deleterange", json_pack("{s:O}", "key", key), deadline, &said);
  bool any = result == LB_OK && etcd_number(said, "deleted") > 0;
  json_decref(said);
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : any;
}

int etcd_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, json_t *range, lb_ns deadline) {
  struct etcd_link *link = NULL;
  json_t *said = NULL;
  json_object_set_new(range, "sort_target", json_string("CREATE"));
  json_object_set_new(range, "sort_order", json_string("ASCEND"));
  json_object_set_new(range, "limit", json_integer(1));
  json_object_set_new(range, "keys_only", json_true());
  int result = etcd_open(env, target, &target->endpoints[endpoint], deadline, &link);
  if (result == LB_OK) result = etcd_call(link, "/v3/kv/range", json_incref(range), deadline, &said);
  const json_t *key = json_object_get(json_array_get(json_object_get(said, "kvs"), 0), "key");
  if (result == LB_OK) result = key ? delete_key(link, key, deadline) : 0;
  etcd_close(link);
  json_decref(said);
  json_decref(range);
  return result > 1 ? -ETIMEDOUT : result;
}
