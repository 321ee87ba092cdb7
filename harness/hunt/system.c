/* SPDX-License-Identifier: MIT
 *
 * What the hunt has to know of a system, told from the tables of protocols and topologies. A protocol or
 * topology that is added there is hunted without a line here.
 */
#include <stdio.h>
#include <string.h>

#include "alphabet.h"
#include "servers/sandbox.h"

static enum lb_hunt_servers servers_of(const struct lb_topology *t) {
  if (t->data_count == 0) return LB_HUNT_NO_SERVERS;
  if (t->data_count == 1) return LB_HUNT_SINGLE;
  if (t->family->independent) return LB_HUNT_INDEPENDENT;
  return t->family->majority ? LB_HUNT_ENSEMBLE : LB_HUNT_REPLICATED;
}

/* Of two servers the majority are both, so the other one is not in the minority. */
static const char *others_of(const struct lb_topology *t) {
  if (t->data_count < 2) return NULL;
  return t->data_count == 2 ? "replicas" : "minority";
}

/* Where no point lies in the middle of an acquire, the first that comes after something: the reply is there, and nobody has looked. */
static const char *inside_of(const struct lb_protocol *p) {
  static const char after[] = "after-";
  if (p->midway) return p->midway;
  for (const char *const *point = p->points; point && *point; point++)
    if (strncmp(*point, after, sizeof after - 1) == 0) return *point;
  return NULL;
}

void lb_hunt_system_of(const struct lb_protocol *p, const struct lb_topology *t, struct lb_hunt_system *ret) {
  const struct lb_family *family = t->family;
  bool foreign = p->traits & LB_TRAIT_FOREIGN, own = t->own != NULL;
  *ret = (struct lb_hunt_system){
      .servers = servers_of(t),
      .count = t->data_count,
      .watched = t->other_count > 0,
      .promoted = family->promote != NULL,
      .any_server = family->all_serve && t->data_count > 1,
      .own = own,
      .network = !own && t->data_count > 0 && lb_isolation_probe()->kind != LB_ISOLATION_NONE,
      .others = others_of(t),
      .inside = foreign ? NULL : inside_of(p),
      .decided_inside = !p->midway,
      .gated = !foreign,
      .queues = p->traits & LB_TRAIT_QUEUES,
      .sets_servers = !own && family->wall_ms,
      .sets_clients = !(p->traits & LB_TRAIT_TRUE_CLOCK),
      .session = p->traits & LB_TRAIT_SESSION,
      .client_wall = p->traits & LB_TRAIT_CLIENT_CLOCK,
      .detector_ms = t->detector_ms,
      .start_ms = t->start_ms,
      .least_ttl_ms = family->least_ttl_ms ? family->least_ttl_ms(t, false) : 0,
  };
  snprintf(ret->name, sizeof ret->name, "%s@%s", p->name, t->name);
}
