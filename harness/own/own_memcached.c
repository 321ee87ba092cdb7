/* SPDX-License-Identifier: MIT
 *
 * The user's own memcached. What a run makes are keys with an end, so nothing outlives it for long; cleaning only is
 * quicker.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/memcached/mc.h"
#include "own.h"

static int open_first(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct mc_conn *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  lb_own_target(own, endpoint, &target);
  *ret = (struct mc_conn){.fd = -1};
  return mc_open(ret, env, &endpoint[0], deadline);
}

static int ask(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct mc_conn conn;
  struct mc_reply reply;
  if (own->given_count > 1)
    return lb_fail(env, -EINVAL, "expected one memcached: a lock there is at one server, which others do not know");
  int r = open_first(env, own, deadline, &conn);
  if (r == 0) r = mc_call(&conn, deadline, "version\r\n", &reply);
  mc_close(&conn);
  if (r) return r < 0 ? r : -ETIMEDOUT;
  if (strncmp(reply.line, "VERSION ", 8) != 0)
    return lb_fail(env, -EPROTO, "that is no memcached: '%.60s'", reply.line);
  snprintf(ret->version, sizeof ret->version, "memcached %.40s", reply.line + 8);
  r = lb_own_note(env, own, ret, own->given[0].host, own->given[0].port);
  ret->data_count = ret->count;
  return r;
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct mc_conn conn;
  int r = open_first(env, own, deadline, &conn);
  if (r == 0) r = mc_delete_all(&conn, LB_OWN_PREFIX, deadline);
  mc_close(&conn);
  return r;
}

const struct lb_own_kind lb_own_kind_memcached = {
    "--memcached", "own-memcached", "HOST:PORT", LB_LOGIN_MEMCACHED, 11211, "memcached", "memcached", true, ask, clean};
