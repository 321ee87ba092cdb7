/* SPDX-License-Identifier: MIT
 *
 * Faults of processes: kill, pause, restart, and the resume of what was paused.
 *
 * Signals reach a server as a whole, children included, and a client through its driver, which knows what the client is
 * made of. A process that died without us is never taken for the effect of a step.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "crew.h"
#include "fault.h"
#include "network/cut.h"

/* A NATS member with an old log still asks for votes. That delays the other member's election by a whole round (4 to 9
 * s), every second time. Of 30 members that had lost their disk, 7 followed no leader after 20 s. */
enum { QUICK_MS = 1000, RESTART_MS = 60000 };

/* The client is stopped first, then its end is recorded, then it is killed. The kernel closes a dead client's
 * connections, so a server may grant its lock to the next client before its death is recorded. Both would seem to have
 * held at once. */
bool lb_fault_bury(struct lb_stage *s, struct lb_client *client) {
  lb_crew_hold_still(s, client);
  atomic_store(&lb_stage_state(s, client)->holds, false);
  atomic_store(&lb_stage_state(s, client)->asks, false);
  atomic_store(&lb_stage_state(s, client)->waits, false);
  lb_memory_record(
      s->memory, s->memory->controller,
      (struct lb_event){.kind = LB_EV_CRASH, .client = client->number, .key = LB_NO_NAME, .fact = LB_NO_NAME});
  return lb_client_signal(client, LB_CLIENT_KILL) == 0;
}

/* ---- kill -------------------------------------------------------------------------------------------------------- */

/* A client or server that died by itself makes the trial undecided. That holds even where a fault without proof is only
 * left out. */
static int died_by_itself(struct lb_doing *d, const char *name) {
  lb_stage_doubt(d->s, LB_UNDECIDED, "%s died by itself", name);
  return lb_doing_fail(d, "%s died by itself", name);
}

/* Only who lives can be killed: a client that is found dead has died without us. (One that killed itself at an armed
 * point has been buried before this step, timeline.c.) */
static int kill_client(struct lb_doing *d, struct lb_client *client) {
  enum lb_life life = lb_client_look(client);
  if (life == LB_LIFE_NONE || life == LB_LIFE_KILLED) return lb_doing_fail(d, "%s was already gone", client->name);
  if (life != LB_LIFE_DIED && lb_fault_bury(d->s, client)) return 0;
  lb_stage_died(d->s, client);
  return lb_doing_fail(d, "%s died by itself", client->name);
}

static int kill_server(struct lb_doing *d, struct lb_server *server) {
  if (server->proc.pid <= 0) return lb_doing_fail(d, "%s was already dead", server->name);
  return lb_proc_kill(&server->proc) < 0 ? died_by_itself(d, server->name) : 0;
}

/* The proof is the exit status, which is there when it has been reaped. */
int lb_doing_kill_servers(struct lb_doing *d) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count && r == 0; i++) r = kill_server(d, d->a->server[i]);
  return r;
}

static int kill_all(struct lb_doing *d) {
  const struct lb_cast *c = d->a;
  int r = lb_doing_kill_servers(d);
  for (size_t i = 0; i < c->client_count && r == 0; i++) r = kill_client(d, c->client[i]);
  return r;
}

/* ---- pause ------------------------------------------------------------------------------------------------------- */

/* Proved when it returns 0: the driver has seen the client follow. */
static int signal_client(struct lb_doing *d, struct lb_client *client, enum lb_client_signal signal) {
  int r = lb_client_signal(client, signal);
  if (r == -ETIMEDOUT) return lb_doing_fail(d, "%s did not change its state", client->name);
  return r < 0 ? lb_doing_fail(d, "%s is gone", client->name) : 0;
}

static int signal_all(struct lb_doing *d, int sig) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count; i++) /* its whole tree: a PostgreSQL is many processes */
    if (lb_proc_signal(&d->a->server[i]->proc, sig) < 0)
      return lb_doing_fail(d, "%s: not all of %s followed", d->step->text, d->a->server[i]->name);
  for (size_t i = 0; i < d->a->client_count && r == 0; i++)
    r = signal_client(d, d->a->client[i], sig == SIGSTOP ? LB_CLIENT_STOP : LB_CLIENT_CONTINUE);
  return r;
}

/* As the kernel sees it in /proc. */
bool lb_fault_server_stands(const struct lb_server *server) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)server->proc.pid);
  FILE *in = fopen(path, "re");
  if (!in) return false;
  size_t n = fread(line, 1, sizeof line - 1, in);
  fclose(in);
  line[n] = '\0';
  const char *end_of_name = strrchr(line, ')');
  return end_of_name && end_of_name[1] && end_of_name[2] == 'T';
}

/* Waits for servers only: lb_client_signal() has seen what clients do. A dead server is neither stopped nor running. */
static int await_servers(struct lb_doing *d, bool stopped) {
  lb_ns deadline = lb_in_ms(QUICK_MS);
  for (size_t i = 0; i < d->a->server_count; i++) {
    struct lb_server *server = d->a->server[i];
    while (lb_fault_server_stands(server) != stopped) {
      if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s did not change its state", server->name);
      lb_sleep_ms(1);
    }
    if (!lb_proc_alive(&server->proc)) return died_by_itself(d, server->name);
  }
  return 0;
}

static int stop(struct lb_doing *d) { return signal_all(d, SIGSTOP); }
/* A stopped client alone proves nothing of the lock. The proof also says whether it holds, now that it cannot release
 * any more. A `pause holder` that stopped a client without the lock was not played. */
static int prove_stopped(struct lb_doing *d) {
  int r = await_servers(d, true);
  for (size_t i = 0; i < d->a->client_count && r == 0; i++) {
    bool holds = lb_stage_holds(d->s, d->step, d->a->client[i]);
    if (!holds && d->step->a.kind == LB_ROLE_HOLDER)
      r = lb_doing_fail(d, "%s: %s stands still, but it does not hold any more", d->step->text, d->a->client[i]->name);
  }
  return r;
}
static int go_on(struct lb_doing *d) {
  for (size_t i = 0; i < d->a->client_count; i++) atomic_store(&lb_stage_state(d->s, d->a->client[i])->hangs, false);
  return signal_all(d, SIGCONT);
}
static int prove_going_on(struct lb_doing *d) { return await_servers(d, false); }
static int go_on_again(struct lb_doing *d) { return go_on(d) < 0 ? -1 : prove_going_on(d); }

/* ---- restart ----------------------------------------------------------------------------------------------------- */

static size_t indexes_of(const struct lb_doing *d, size_t ret[]) {
  for (size_t i = 0; i < d->a->server_count; i++) ret[i] = (size_t)(d->a->server[i] - d->s->cluster.server);
  return d->a->server_count;
}

/* A restart must not hide that a server had died before. */
static int begin_restart(struct lb_doing *d) {
  const struct lb_cast *c = d->a;
  size_t index[LB_SERVERS_MAX], count = indexes_of(d, index);
  for (size_t i = 0; i < count; i++)
    if (c->server[i]->proc.pid > 0 && !lb_proc_alive(&c->server[i]->proc)) return died_by_itself(d, c->server[i]->name);
  if (lb_cluster_begin_restart(&d->s->cluster, index, count) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, d->s->cluster.err.text);
  return 0;
}

/* True of a server that needs a majority and has none: it is cut off, or its peers are dead or stopped. It will not
 * serve, so there is no point in waiting for it. */
static bool is_alone(const struct lb_stage *s, size_t index) {
  const struct lb_cluster *c = &s->cluster;
  size_t reached = 1;
  if (!c->topology->family->majority || index >= c->data_count) return false;
  for (size_t i = 0; i < c->data_count; i++)
    if (i != index && c->server[i].proc.pid > 0 && !lb_fault_server_stands(&c->server[i]) &&
        !lb_cut_parts(s->net.cuts, c->server[index].host, c->server[i].host))
      reached++;
  return 2 * reached <= c->data_count;
}

static int await_answers(struct lb_stage *s, const size_t index[], size_t count) {
  lb_ns deadline = lb_in_ms(RESTART_MS);
  int r = 0;
  for (size_t i = 0; i < count && r == 0; i++)
    r = is_alone(s, index[i]) ? lb_cluster_await_alone(&s->cluster, index[i], deadline)
                              : lb_cluster_await_answers(&s->cluster, &index[i], 1, deadline);
  return r;
}

static int end_restart(struct lb_doing *d) {
  const struct lb_cast *c = d->a;
  size_t index[LB_SERVERS_MAX], count = indexes_of(d, index);
  if (await_answers(d->s, index, count) < 0) return lb_doing_fail(d, "%s: %s", d->step->text, d->s->cluster.err.text);
  for (size_t i = 0; i < c->client_count; i++)
    if (lb_crew_restart(d->s, c->client[i], d->err) < 0) return -1;
  return 0;
}

int lb_doing_restart(struct lb_doing *d) {
  int r = begin_restart(d);
  return r == 0 ? end_restart(d) : r;
}

/* ---- restart as another version ---------------------------------------------------------------------------------- */

static int begin_upgrade(struct lb_doing *d) {
  const struct lb_scenario *scenario = d->s->plan->scenario;
  const struct lb_origin *next = lb_origin_find(scenario ? scenario->next : "", d->err);
  for (size_t i = 0; next && i < d->a->server_count; i++)
    if (lb_server_move(&d->s->cluster, d->a->server[i], next) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, d->s->cluster.err.text);
  return next ? begin_restart(d) : -1;
}

/* It states the number that its program has in that origin. */
static int prove_version(struct lb_doing *d, size_t index, lb_ns deadline) {
  struct lb_cluster *cluster = &d->s->cluster;
  const struct lb_server *server = &cluster->server[index];
  char stated[LB_STATED_MAX] = "", wanted[200] = "";
  int r = cluster->topology->family->version(server->origin, wanted, sizeof wanted);
  while (r == 0 && cluster->topology->family->stated(cluster, index, deadline, stated) < 0) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
    lb_cluster_doze(cluster);
  }
  const char *at = stated[0] ? strstr(wanted, stated) : NULL;
  size_t length = strlen(stated);
  if (r < 0 || !at || at == wanted || at[-1] != ' ' || (at[length] && at[length] != ','))
    return lb_doing_fail(d, "%s: %s states version '%s', expected %s", d->step->text, server->name, stated, wanted);
  lb_stage_note(d->s, "%s states version %s", server->name, stated);
  return 0;
}

/* The next server's turn comes when this one has what the others have. One that an operator has replaced follows none
 * until he says so: where he promotes, that is so once the first server does not decide any more. */
static int await_follows(struct lb_doing *d, size_t index, lb_ns deadline) {
  struct lb_cluster *cluster = &d->s->cluster;
  const struct lb_family *family = cluster->topology->family;
  for (;;) {
    int leader = lb_cluster_primary(cluster, deadline);
    if (!family->caught_up || cluster->data_count < 2 || leader == (int)index) return 0;
    if (leader > 0 && family->orders.promote) return 0;
    if (leader >= 0 && family->caught_up(cluster, index, (size_t)leader, deadline) == 0) return 0;
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: %s does not follow: %s", d->step->text, cluster->server[index].name,
                           cluster->env->err);
    lb_cluster_doze(cluster);
  }
}

static int end_upgrade(struct lb_doing *d) {
  lb_ns deadline = lb_in_ms(RESTART_MS);
  int r = end_restart(d);
  for (size_t i = 0; i < d->a->server_count && r == 0; i++) {
    r = prove_version(d, lb_doing_index(d, i), deadline);
    if (r == 0 && d->a->server[i]->data) r = await_follows(d, lb_doing_index(d, i), deadline);
  }
  return r;
}

const struct lb_fault lb_faults_of_processes[LB_VERB_COUNT] = {
    [LB_STEP_KILL] = {kill_all, .undo = lb_doing_restart},
    [LB_STEP_PAUSE] = {stop, prove_stopped, go_on_again},
    [LB_STEP_RESUME] = {go_on, prove_going_on},
    [LB_STEP_RESTART] = {begin_restart, end_restart,
                         .patient =
                             true}, /* at a gate: who is asked there may meet a server that does not answer yet */
    [LB_STEP_UPGRADE] = {begin_upgrade, end_upgrade, .patient = true},
};
