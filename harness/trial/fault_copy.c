/* SPDX-License-Identifier: MIT
 *
 * A backup, and what becomes of a server that is started on it. The files of a server are copied while it stands still, so they are what a crash would have left. A
 * copy is proved by comparing it, and a restore by the same and by a server that answers. Other servers than those that hold locks keep nothing, and are left alone.
 */
#include <signal.h>

#include "base/clock.h"
#include "fault_parts.h"
#include "servers/disk.h"

enum { SAVE_MS = 5000 };

static size_t index_of(const struct lb_doing *d, size_t i) { return (size_t)(d->a->server[i] - d->s->cluster.server); }

/* Those that keep nothing on disk, which are told to write. */
static bool has_to_save(const struct lb_doing *d) {
  const struct lb_topology *topology = d->s->cluster.topology;
  return topology->keeps == LB_KEEPS_NOTHING && topology->family->save;
}

static int save_all(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data &&
        cluster->topology->family->save(cluster, index_of(d, i), lb_clock_ns() + SAVE_MS * LB_NS_PER_MS) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  return 0;
}

static int signal_all(struct lb_doing *d, int sig) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (lb_proc_signal(&d->a->server[i]->proc, sig) < 0)
      r = lb_doing_fail(d, "%s: not all of %s followed", d->step->text, d->a->server[i]->name);
  return r;
}

static int take_all(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->data && lb_copy_take(cluster, index_of(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err);
  return 0;
}

/* All stand still before the first is copied: servers that repeat each other are copied at one moment. */
static int back_up(struct lb_doing *d) {
  int r = save_all(d);
  if (r == 0) r = signal_all(d, SIGSTOP);
  if (r == 0) r = take_all(d);
  if (signal_all(d, SIGCONT) < 0) r = -1;
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data) lb_copy_forget_saved(&d->s->cluster, index_of(d, i));
  return r;
}

/* One that an earlier step has killed may be dead; one that died by itself is found by who starts it again. */
static int put_back(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->proc.pid > 0 && lb_proc_kill(&d->a->server[i]->proc) < 0)
      return lb_doing_fail(d, "%s: %s died by itself", d->step->text, d->a->server[i]->name);
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->data && lb_copy_put_back(cluster, index_of(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err);
  return 0;
}

static int start_all(struct lb_doing *d) {
  int r = lb_doing_restart(d);
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data) lb_copy_forget_saved(&d->s->cluster, index_of(d, i));
  return r;
}

const struct lb_fault lb_faults_of_copies[LB_VERB_COUNT] = {
    [LB_STEP_BACK_UP] = {back_up},
    [LB_STEP_RESTORE] = {put_back, start_all},
};
