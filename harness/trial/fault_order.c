/* SPDX-License-Identifier: MIT
 *
 * What operators do on purpose: shut a server down, let another one decide while all run, cancel a wait, and keep a
 * server process of a pool busy. A shutdown is proved by the exit status and
 * the last words of the server, a change of who decides by asking the servers, the end of a wait by what the server says of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fault_parts.h"

enum { END_MS = 15000, HAND_OVER_MS = 15000, CANCEL_MS = 3000, OCCUPY_MS = 3000, POLL_MS = 5 };

/* ---- shut down -------------------------------------------------------------------------------------------------------- */

long lb_doing_said(const struct lb_server *server) {
  struct stat s;
  return stat(server->log, &s) == 0 ? (long)s.st_size : 0;
}

bool lb_doing_has_said(const struct lb_server *server, long since, const char *words) {
  char line[4000];
  bool said = false;
  FILE *in = fopen(server->log, "re");
  if (in && fseek(in, since, SEEK_SET) == 0)
    while (!said && fgets(line, sizeof line, in)) said = strstr(line, words) != NULL;
  if (in) fclose(in);
  return said;
}

static int shut_one(struct lb_doing *d, struct lb_server *server) {
  const struct lb_ending *ending = d->s->cluster.topology->family->ending;
  long since = lb_doing_said(server);
  int status = 0;
  if (!ending) return lb_doing_fail(d, "%s: nobody knows how %s is shut down", d->step->text, server->name);
  if (lb_proc_end(&server->proc, ending->signal, lb_clock_ns() + END_MS * LB_NS_PER_MS, &status) < 0)
    return lb_doing_fail(d, "%s: %s does not run, or does not end", d->step->text, server->name);
  bool as_it_should = ending->by_signal ? WIFSIGNALED(status) && WTERMSIG(status) == ending->signal : WIFEXITED(status) && WEXITSTATUS(status) == ending->status;
  if (!as_it_should) return lb_doing_fail(d, "%s: %s ended with another status (%#x)", d->step->text, server->name, (unsigned)status);
  if (ending->says && !lb_doing_has_said(server, since, ending->says)) return lb_doing_fail(d, "%s: %s has not said \"%s\"", d->step->text, server->name, ending->says);
  lb_stage_note(d->s, "%s has ended by itself%s%s", server->name, ending->says ? ": " : "", ending->says ? ending->says : "");
  return 0;
}

/* One after the other, as an operator does. */
static int shut_down(struct lb_doing *d) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count && r == 0; i++) r = shut_one(d, d->a->server[i]);
  return r;
}

/* ---- depose ----------------------------------------------------------------------------------------------------------- */

static int hand_over(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = (size_t)(d->a->server[0] - cluster->server);
  lb_ns deadline = lb_clock_ns() + HAND_OVER_MS * LB_NS_PER_MS;
  int r;
  /* On a busy machine who is to take over may be slow to answer its first question. */
  while ((r = cluster->topology->family->depose(cluster, index, deadline)) == -ENOENT && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  return r == 0 ? 0 : lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
}

static int await_other(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  int old = (int)(d->a->server[0] - cluster->server);
  for (lb_ns deadline = lb_clock_ns() + HAND_OVER_MS * LB_NS_PER_MS; lb_clock_ns() < deadline; lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS)) {
    int now = lb_cluster_primary(cluster, deadline);
    if (now < 0 || now == old) continue;
    if (!lb_proc_alive(&d->a->server[0]->proc)) return lb_doing_fail(d, "%s: %s has ended", d->step->text, d->a->server[0]->name);
    lb_stage_failover(d->s, &cluster->server[now]);
    return 0;
  }
  return lb_doing_fail(d, "%s: no other server decides", d->step->text);
}

/* ---- remove ----------------------------------------------------------------------------------------------------------- */

/* A server that is out ends by itself sooner or later. */
static int take_out(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  struct lb_server *server = d->a->server[0];
  int status = 0;
  if (cluster->topology->family->remove(cluster, (size_t)(server - cluster->server), lb_clock_ns() + HAND_OVER_MS * LB_NS_PER_MS) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  if (lb_proc_end(&server->proc, SIGTERM, lb_clock_ns() + END_MS * LB_NS_PER_MS, &status) < 0)
    return lb_doing_fail(d, "%s: %s does not end", d->step->text, server->name);
  lb_stage_note(d->s, "%s is no member any more, and has ended", server->name);
  return 0;
}

/* ---- cancel ----------------------------------------------------------------------------------------------------------- */

static int cancel(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  const struct lb_family *family = cluster->topology->family;
  struct lb_server *server = d->a->server[0];
  long since = lb_doing_said(server);
  lb_ns deadline = lb_clock_ns() + CANCEL_MS * LB_NS_PER_MS;
  int r;
  while ((r = family->cancel(cluster, (size_t)(server - cluster->server), d->b->client[0]->host->address, deadline)) == -EAGAIN && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  if (r < 0) return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  while (!lb_doing_has_said(server, since, family->cancelled)) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: %s has not said \"%s\"", d->step->text, server->name, family->cancelled);
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_stage_note(d->s, "%s says: %s", server->name, family->cancelled);
  return 0;
}

/* ---- occupy ----------------------------------------------------------------------------------------------------------- */

static int lend(struct lb_doing *d, int (*hook)(struct lb_cluster *cluster, size_t index, lb_ns deadline)) {
  struct lb_cluster *cluster = &d->s->cluster;
  int r = hook ? hook(cluster, (size_t)(d->a->server[0] - cluster->server), lb_clock_ns() + OCCUPY_MS * LB_NS_PER_MS) : lb_fail(cluster->env, -EOPNOTSUPP, "it is no pooler");
  return r == 0 ? 0 : lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
}

static int occupy(struct lb_doing *d) { return lend(d, d->s->cluster.topology->family->occupy); }
static int vacate(struct lb_doing *d) { return lend(d, d->s->cluster.topology->family->vacate); }

const struct lb_fault lb_faults_of_orders[LB_VERB_COUNT] = {
    [LB_STEP_SHUT_DOWN] = {shut_down, .undo = lb_doing_restart},
    [LB_STEP_DEPOSE] = {hand_over, await_other},
    [LB_STEP_REMOVE] = {take_out},
    [LB_STEP_CANCEL] = {cancel},
    [LB_STEP_OCCUPY] = {occupy, .undo = vacate},
    [LB_STEP_VACATE] = {vacate},
};
