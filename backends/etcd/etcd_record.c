/* SPDX-License-Identifier: MIT
 *
 * A serializable read shows what one member has by itself.
 */
#include "etcd_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etcd.h"

/* All keys that begin with `name`. */
static json_t *beginning_with(const char *name) {
  char end[LB_RECORD_MAX];
  snprintf(end, sizeof end, "%s", name);
  if (*end) end[strlen(end) - 1]++;
  return json_pack("{s:o,s:o}", "key", etcd_text(name), "range_end", etcd_text(end));
}

/* 1, 0, -errno: whether this member has any, or what became of removing them. */
static int ask(const struct lb_record_at *at, const char *path, const char *name) {
  const struct lb_target *target = at->config->target;
  struct etcd_link *link = NULL;
  json_t *body = beginning_with(name), *said = NULL;
  if (strstr(path, "range") == path + strlen("/v3/kv/")) {
    json_object_set_new(body, "serializable", json_true()); /* as this member has it */
    json_object_set_new(body, "count_only", json_true());
  }
  int result = etcd_open(at->env, target, &target->endpoints[at->endpoint], at->deadline, &link);
  if (result == 0) result = etcd_call(link, path, json_incref(body), at->deadline, &said);
  bool any = result == LB_OK && etcd_number(said, "count") > 0;
  etcd_close(link);
  json_decref(body);
  json_decref(said);
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : any;
}

static int inspect(const struct lb_record_at *at, const char *record) { return ask(at, "/v3/kv/range", record); }

static int remove_first(const struct lb_record_at *at, const char *record) {
  return etcd_break(at->env, at->config->target, at->endpoint, beginning_with(record), at->deadline);
}

static int clean(const struct lb_record_at *at, const char *pattern, const char *record) {
  (void)pattern;
  return ask(at, "/v3/kv/deleterange", record);
}

const struct lb_record_hooks etcd_record_hooks = {
    .service = "etcd", .inspect = inspect, .remove = remove_first, .clean = clean};
