/* SPDX-License-Identifier: MIT
 *
 * A full disk: all room is taken on the disk of a server, and then the server is made to need some. It is proved by what the server does: it refuses and says why, or it
 * has ended, or left the others, and said why. What it does stands in the history.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "fault_parts.h"
#include "servers/disk.h"

enum { NEED_MS = 10000, END_MS = 5000, POLL_MS = 5 };

static size_t index_of(const struct lb_doing *d, size_t i) { return (size_t)(d->a->server[i] - d->s->cluster.server); }

/* Whether it serves nobody any more: it has ended, or says that it has left the others. */
static bool is_out(struct lb_doing *d, struct lb_server *server, lb_ns deadline) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = (size_t)(server - cluster->server);
  return !lb_proc_alive(&server->proc) || (cluster->topology->family->left && lb_cluster_left(cluster, index, deadline) == 1);
}

/* One that has ended is dead by this step, and not by itself. */
static int await_end(struct lb_doing *d, struct lb_server *server, long since) {
  char why[200];
  const char *words = d->s->cluster.topology->family->no_room;
  lb_ns deadline = lb_clock_ns() + END_MS * LB_NS_PER_MS;
  snprintf(why, sizeof why, "%s", d->s->cluster.env->err);
  while (!lb_doing_has_said(server, since, words) || !is_out(d, server, deadline)) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: %s neither refuses nor ends for want of room: %s", d->step->text, server->name, why);
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_stage_note(d->s, "%s has %s, and says: %s", server->name, lb_proc_alive(&server->proc) ? "left the others" : "ended", words);
  return 0;
}

static int fill(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_server *server = d->a->server[i];
    long since = lb_doing_said(server);
    if (lb_room_fill(cluster, index_of(d, i)) < 0) return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err);
    int r = cluster->topology->family->need_room(cluster, index_of(d, i), lb_clock_ns() + NEED_MS * LB_NS_PER_MS);
    if (r == 0) return lb_doing_fail(d, "%s: %s has found room all the same", d->step->text, server->name);
    if (r == -ENOSPC) lb_stage_note(d->s, "%s", cluster->env->err);
    else if (await_end(d, server, since) < 0) return -1;
  }
  return 0;
}

static int empty(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->server_count; i++)
    if (lb_room_free(&d->s->cluster, index_of(d, i)) < 0) return lb_doing_fail(d, "%s: %s", d->step->text, d->s->cluster.err);
  return 0;
}

const struct lb_fault lb_faults_of_disks[LB_VERB_COUNT] = {
    [LB_STEP_FILL_DISK] = {fill, .undo = empty},
    [LB_STEP_FREE_DISK] = {empty},
};
