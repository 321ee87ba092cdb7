/* SPDX-License-Identifier: MIT
 *
 * Full memory: servers that are limited and written to until they show what they do then. How it showed (keys given up, a refusal) is what
 * they themselves say, and stands in the history.
 */
#include "base/clock.h"
#include "fault_parts.h"

enum { FILL_MS = 20000 };

static size_t index_of(const struct lb_doing *d, size_t i) { return (size_t)(d->a->server[i] - d->s->cluster.server); }

/* The server has shown it when this returns. */
static int fill(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  char said[100];
  for (size_t i = 0; i < d->a->server_count; i++) {
    if (cluster->topology->family->fill_memory(cluster, index_of(d, i), d->step->policy, lb_clock_ns() + FILL_MS * LB_NS_PER_MS, said, sizeof said) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
    lb_stage_note(d->s, "%s %s", d->a->server[i]->name, said);
  }
  return 0;
}

static int empty(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (cluster->topology->family->free_memory(cluster, index_of(d, i), lb_clock_ns() + FILL_MS * LB_NS_PER_MS) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  return 0;
}

const struct lb_fault lb_faults_of_memory[LB_VERB_COUNT] = {
    [LB_STEP_FILL_MEMORY] = {fill, .undo = empty},
    [LB_STEP_FREE_MEMORY] = {empty},
};
