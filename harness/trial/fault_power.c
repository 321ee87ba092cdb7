/* SPDX-License-Identifier: MIT
 *
 * Loss of power: servers are killed, and what they had not synced goes with them. The proof is read in their files: the last that each had
 * synced is there, and the first that it had not is not (servers/disk.h). How much is lost may be nothing: a premise can ask for that.
 */
#include "fault_parts.h"
#include "servers/disk.h"

/* All are dead before anything is taken from the first: the power of a machine room goes at once. */
static int power_off(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->server_count; i++)
    if (!d->a->server[i]->journal[0]) return lb_doing_fail(d, "%s: nobody has seen what %s writes", d->step->text, d->a->server[i]->name);
  return lb_doing_kill_servers(d);
}

static int take_unsynced(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_power_loss loss;
    struct lb_server *server = d->a->server[i];
    if (lb_power_cut(cluster, (size_t)(server - cluster->server), &loss) < 0) return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err);
    lb_stage_unsynced(d->s, d->step, server, loss.written - loss.lost, loss.written);
  }
  return 0;
}

const struct lb_fault lb_faults_of_power[LB_VERB_COUNT] = {
    [LB_STEP_POWER_OFF] = {power_off, take_unsynced, lb_doing_restart},
};
