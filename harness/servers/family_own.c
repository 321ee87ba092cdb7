/* SPDX-License-Identifier: MIT
 *
 * The families of the user's own servers. They have what clients are told of a kind of server, and no hook that starts, stops, promotes or
 * counts: other people's requests would be counted, too.
 */
#include "family_own.h"

#include <errno.h>
#include <stdio.h>

static int64_t least_ttl_ms(const struct lb_topology *topology, bool measured) {
  (void)measured;
  return topology->own->found.least_ttl_ms;
}

int lb_own_note(struct lb_env *env, const struct lb_own *own, struct lb_own_found *found, const char *host, uint16_t port) {
  struct lb_own_address *at = &found->server[found->count];
  if (found->count == LB_SERVERS_MAX)
    return lb_fail(env, -E2BIG, "more than %d servers belong together, which is more than %s has room for", LB_SERVERS_MAX, own->kind->topology);
  snprintf(at->host, sizeof at->host, "%s", host);
  at->port = port;
  found->count++;
  return 0;
}

const struct lb_family lb_family_own_redis = {.name = "redis", .ends_by = LB_ENDS_BY_WALL, .service = "redis", .majority = true, .independent = true, .least_ttl_ms = least_ttl_ms};
const struct lb_family lb_family_own_sentinel = {
    .name = "sentinel", .ends_by = LB_ENDS_BY_WALL, .service = "redis", .other_service = "sentinel", .least_ttl_ms = least_ttl_ms};
const struct lb_family lb_family_own_cluster = {.name = "cluster", .ends_by = LB_ENDS_BY_WALL, .service = "redis", .least_ttl_ms = least_ttl_ms};
const struct lb_family lb_family_own_zookeeper = {
    .name = "zookeeper", .ends_by = LB_ENDS_BY_MONOTONIC, .service = "zookeeper", .majority = true, .all_serve = true, .least_ttl_ms = least_ttl_ms};
const struct lb_family lb_family_own_postgres = {.name = "postgres", .service = "postgres", .least_ttl_ms = least_ttl_ms};
const struct lb_family lb_family_own_etcd = {.name = "etcd", .ends_by = LB_ENDS_BY_MONOTONIC, .service = "etcd", .majority = true, .least_ttl_ms = least_ttl_ms};
