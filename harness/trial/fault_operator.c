/* SPDX-License-Identifier: MIT
 *
 * What operators do on purpose. To servers: shut one down, let another one decide, cancel a wait, keep a server process
 * of a pool busy, start one on a backup. To a lock: delete its record, end a client's session, move its key's slot.
 *
 * A shutdown is proved by the exit status and the last words of the server, the rest by asking the servers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "client/client.h"
#include "fault.h"
#include "network/proctree.h"
#include "servers/datadir.h"
#include "timeline.h"

enum { END_MS = 15000, HAND_OVER_MS = 15000, LAST_MS = 1000, CANCEL_MS = 3000, OCCUPY_MS = 3000 };
enum { ASK_MS = 5000, HAND_MS = 5000, SAVE_MS = 5000, POLL_MS = 5 };

/* ---- shut down --------------------------------------------------------------------------------------------------- */

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

/* Tells its first process alone, by a signal, to end, and waits for that; the rest of its group is ended then. Its
 * status as of waitpid(2) in
 * *ret. 0, -ESRCH: it does not run; -ETIMEDOUT: it does not end, and still runs. */
static int end_group(struct lb_proc *proc, int sig, uint64_t deadline, int *ret) {
  if (!lb_proc_alive(proc)) return -ESRCH;
  int fd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
  if (fd < 0) return -errno;
  bool ended = kill(proc->pid, sig) == 0 && lb_proctree_await_end(fd, deadline);
  close(fd);
  if (!ended) return -ETIMEDOUT;
  *ret = lb_proctree_reap(proc->pid);
  proc->pid = 0;
  return 0;
}

static int shut_one(struct lb_doing *d, struct lb_server *server) {
  const struct lb_ending *ending = d->s->cluster.topology->family->orders.ending;
  long since = lb_doing_said(server);
  int status = 0;
  if (!ending) return lb_doing_fail(d, "%s: nobody knows how %s is shut down", d->step->text, server->name);
  if (end_group(&server->proc, ending->signal, lb_in_ms(END_MS), &status) < 0)
    return lb_doing_fail(d, "%s: %s does not run, or does not end", d->step->text, server->name);
  bool as_it_should = ending->by_signal ? WIFSIGNALED(status) && WTERMSIG(status) == ending->signal
                                        : WIFEXITED(status) && WEXITSTATUS(status) == ending->status;
  if (!as_it_should)
    return lb_doing_fail(d, "%s: %s ended with another status (%#x)", d->step->text, server->name, (unsigned)status);
  if (ending->says && !lb_doing_has_said(server, since, ending->says))
    return lb_doing_fail(d, "%s: %s has not said \"%s\"", d->step->text, server->name, ending->says);
  lb_stage_note(d->s, "%s has ended by itself%s%s", server->name, ending->says ? ": " : "",
                ending->says ? ending->says : "");
  return 0;
}

/* One after the other, as an operator does. */
static int shut_down(struct lb_doing *d) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count && r == 0; i++) r = shut_one(d, d->a->server[i]);
  return r;
}

/* ---- depose ------------------------------------------------------------------------------------------------------ */

static int hand_over(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = lb_doing_index(d, 0);
  lb_ns deadline = lb_in_ms(HAND_OVER_MS);
  int r;
  /* On a busy machine who is to take over may be slow to answer its first question. */
  while ((r = cluster->topology->family->orders.depose(cluster, index, deadline + LAST_MS * LB_NS_PER_MS)) == -ENOENT &&
         lb_clock_ns() < deadline)
    lb_sleep_ms(POLL_MS);
  return r == 0 ? 0 : lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
}

static int await_other(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  int old = (int)(d->a->server[0] - cluster->server);
  for (lb_ns deadline = lb_in_ms(HAND_OVER_MS); lb_clock_ns() < deadline; lb_sleep_ms(POLL_MS)) {
    int now = lb_cluster_primary(cluster, deadline);
    if (now < 0 || now == old) continue;
    if (!lb_proc_alive(&d->a->server[0]->proc))
      return lb_doing_fail(d, "%s: %s has ended", d->step->text, d->a->server[0]->name);
    lb_stage_failover(d->s, &cluster->server[now]);
    return 0;
  }
  return lb_doing_fail(d, "%s: no other server decides", d->step->text);
}

/* ---- remove ------------------------------------------------------------------------------------------------------ */

/* A server that is out ends by itself sooner or later. */
static int take_out(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  struct lb_server *server = d->a->server[0];
  int status = 0;
  if (cluster->topology->family->orders.remove(cluster, lb_doing_index(d, 0), lb_in_ms(HAND_OVER_MS)) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  if (end_group(&server->proc, SIGTERM, lb_in_ms(END_MS), &status) < 0)
    return lb_doing_fail(d, "%s: %s does not end", d->step->text, server->name);
  lb_stage_note(d->s, "%s is no member any more, and has ended", server->name);
  return 0;
}

/* ---- cancel ------------------------------------------------------------------------------------------------------ */

static int cancel(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  const struct lb_family *family = cluster->topology->family;
  struct lb_server *server = d->a->server[0];
  long since = lb_doing_said(server);
  lb_ns deadline = lb_in_ms(CANCEL_MS);
  int r;
  while ((r = family->orders.cancel(cluster, lb_doing_index(d, 0), d->b->client[0]->host->address, deadline)) ==
             -EAGAIN &&
         lb_clock_ns() < deadline)
    lb_sleep_ms(POLL_MS);
  if (r < 0) return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  while (!lb_doing_has_said(server, since, family->orders.cancelled)) {
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: %s has not said \"%s\"", d->step->text, server->name, family->orders.cancelled);
    lb_sleep_ms(POLL_MS);
  }
  lb_stage_note(d->s, "%s says: %s", server->name, family->orders.cancelled);
  return 0;
}

/* ---- occupy ------------------------------------------------------------------------------------------------------ */

static int lend(struct lb_doing *d, lb_operator_order *hook) {
  struct lb_cluster *cluster = &d->s->cluster;
  int r = hook ? hook(cluster, lb_doing_index(d, 0), lb_in_ms(OCCUPY_MS))
               : lb_fail(cluster->env, -EOPNOTSUPP, "it is no pooler");
  return r == 0 ? 0 : lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
}

static int occupy(struct lb_doing *d) { return lend(d, d->s->cluster.topology->family->orders.occupy); }
static int vacate(struct lb_doing *d) { return lend(d, d->s->cluster.topology->family->orders.vacate); }

/* ---- an upgrade -------------------------------------------------------------------------------------------------- */

static int order(struct lb_doing *d, lb_operator_order *hook) {
  struct lb_cluster *cluster = &d->s->cluster;
  int r = hook(cluster, lb_doing_index(d, 0), lb_in_ms(HAND_MS));
  return r == 0 ? 0 : lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
}

static int lock_tables(struct lb_doing *d) { return order(d, d->s->cluster.topology->family->orders.lock_tables); }
static int unlock_tables(struct lb_doing *d) { return order(d, d->s->cluster.topology->family->orders.unlock_tables); }

/* ---- what a person does, or a command for him ---- */

/* The command sees the hosts as client 1 does. */
static int call_hook(struct lb_doing *d, const char *order) {
  char servers[LB_NAMES_BYTES] = "";
  char *argv[] = {"sh", "-c", (char *)d->s->plan->hook, NULL};
  const struct lb_target *target = &d->s->target;
  struct lb_error err;
  for (size_t i = 0, at = 0; i < target->count && at < sizeof servers; i++)
    at +=
        (size_t)snprintf(servers + at, sizeof servers - at, "%s%s://%s:%u", at ? " " : "", target->endpoints[i].service,
                         target->endpoints[i].host, (unsigned)target->endpoints[i].port);
  setenv("LOCKBENCH_ORDER", order, 1);
  setenv("LOCKBENCH_SERVERS", servers, 1);
  if (lb_proc_run_tool(d->s->client[0].host, argv, "", d->step->within_ms, &err) == 0) return 0;
  return lb_doing_fail(d, "%s: the hook was not done: %s", d->step->text, err.text);
}

static int ask_person(struct lb_doing *d, const char *order) {
  struct lb_by_hand *hand = d->s->live ? &d->s->live->by_hand : NULL;
  if (!hand) return lb_doing_fail(d, "%s: nobody is there who could do it", d->step->text);
  snprintf(hand->order, sizeof hand->order, "%s", order);
  hand->deadline = lb_in_ms(d->step->within_ms);
  atomic_store(&hand->state, LB_HAND_ORDERED);
  while (atomic_load(&hand->state) == LB_HAND_ORDERED && lb_clock_ns() < hand->deadline) lb_sleep_ms(POLL_MS);
  /* The next trial here must not find this order. */
  if (atomic_exchange(&hand->state, LB_HAND_FREE) == LB_HAND_DONE) return 0;
  return lb_doing_fail(d, "%s: nobody pressed Enter", d->step->text);
}

static int by_hand(struct lb_doing *d) {
  char order[sizeof d->s->live->by_hand.order];
  int length;
  const char *text = lb_step_order(d->step, &length);
  snprintf(order, sizeof order, "%.*s", length, text);
  int r = d->s->plan->hook ? call_hook(d, order) : ask_person(d, order);
  if (r == 0)
    lb_stage_note(d->s, "%s; what it did is not known from that",
                  d->s->plan->hook ? "the hook exited 0" : "Enter was pressed");
  return r;
}

/* ---- the record of a lock ---------------------------------------------------------------------------------------- */

/* Asked through the observer, whose session knows what a record looks like: 1, 0, or -1 with err. */
static int ask_observer(struct lb_doing *d, enum lb_client_verb verb) {
  struct lb_reply reply;
  struct lb_command command = {.verb = verb, .deadline = lb_in_ms(ASK_MS), .argument = lb_doing_index(d, 0)};
  int r = lb_client_call(&d->s->observer, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_doing_fail(d, "%s: the observer does not answer", d->step->text);
  return reply.result < 0 ? lb_doing_fail(d, "%s: %s", d->step->text, reply.err) : reply.result > 0;
}

/* A client that asks now may make another record before the next look. Then the server's answer that it removed one is
 * the proof. */
static bool somebody_asks(const struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++)
    if (atomic_load(&lb_stage_state(s, &s->client[i])->asks)) return true;
  return false;
}

static int delete_key(struct lb_doing *d) {
  const char *name = d->a->server[0]->name;
  int there = ask_observer(d, LB_DO_INSPECT), waited = somebody_asks(d->s);
  if (there == 0) return lb_doing_fail(d, "%s: %s has no record that somebody holds the lock", d->step->text, name);
  int broken = there < 0 ? -1 : ask_observer(d, LB_DO_BREAK);
  if (broken == 0) return lb_doing_fail(d, "%s: %s has removed nothing", d->step->text, name);
  there = broken < 0 ? -1 : ask_observer(d, LB_DO_INSPECT);
  if (there == 1 && !waited)
    return lb_doing_fail(d, "%s: %s still has a record that somebody holds the lock", d->step->text, name);
  if (there < 0) return -1;
  lb_stage_note(d->s, "%s had a record of the lock, and has removed it%s", name,
                there ? "; another client has it now" : "");
  return 0;
}

/* ---- the session of a client ------------------------------------------------------------------------------------- */

static int end_session(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  struct lb_client *client = d->b->client[0];
  uint64_t id = atomic_load(&lb_stage_state(d->s, client)->session);
  char text[100] = "";
  struct lb_text said = {text, sizeof text, 0};
  if (cluster->topology->family->orders.end_session(cluster, lb_doing_index(d, 0), client->host->address, id,
                                                    lb_in_ms(HAND_MS), &said) < 0)
    return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  lb_stage_note(d->s, "%s %s", d->a->server[0]->name, text);
  return 0;
}

/* ---- the slot of a key ------------------------------------------------------------------------------------------- */

static int move_slot(struct lb_doing *d) { return order(d, d->s->cluster.topology->family->orders.move_slot); }
static int strand_key(struct lb_doing *d) { return order(d, d->s->cluster.topology->family->orders.strand_key); }

/* The new owner says so, and its number is above all others'. */
static int await_owner(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (lb_ns deadline = lb_in_ms(HAND_MS); lb_clock_ns() < deadline; lb_sleep_ms(POLL_MS))
    if (lb_cluster_primary(cluster, deadline) == (int)lb_doing_index(d, 0)) return 0;
  return lb_doing_fail(d, "%s: %s does not decide for it", d->step->text, d->a->server[0]->name);
}

/* ---- a backup, and a server that is started on it ----
 *
 * The files of a server are copied while it stands still, so they are what a crash would have left. A copy is proved by
 * comparing it, a restore by the same and by a server that answers. Servers that hold no locks keep nothing, and are
 * left alone. */

/* Those that keep nothing on disk, which are told to write. */
static bool has_to_save(const struct lb_doing *d) {
  const struct lb_topology *topology = d->s->cluster.topology;
  return topology->keeps == LB_KEEPS_NOTHING && topology->family->orders.save;
}

static int save_all(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data &&
        cluster->topology->family->orders.save(cluster, lb_doing_index(d, i), lb_in_ms(SAVE_MS)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->env->err);
  return 0;
}

static int signal_servers(struct lb_doing *d, int sig, const bool but[]) {
  int r = 0;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (!but[i] && lb_proc_signal(&d->a->server[i]->proc, sig) < 0)
      r = lb_doing_fail(d, "%s: not all of %s followed", d->step->text, d->a->server[i]->name);
  return r;
}

static int take_all(struct lb_doing *d) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->data && lb_datadir_copy(cluster, lb_doing_index(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err.text);
  return 0;
}

/* All stand still before the first is copied: servers that repeat each other are copied at one moment. One that an
 * earlier step has paused stays so. */
static int back_up(struct lb_doing *d) {
  bool stands[LB_SERVERS_MAX];
  int r = save_all(d);
  for (size_t i = 0; i < d->a->server_count; i++) stands[i] = lb_fault_server_stands(d->a->server[i]);
  if (r == 0) r = signal_servers(d, SIGSTOP, stands);
  if (r == 0) r = take_all(d);
  if (signal_servers(d, SIGCONT, stands) < 0) r = -1;
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data) lb_datadir_forget_saved(&d->s->cluster, lb_doing_index(d, i));
  return r;
}

/* Their files are changed while all are dead. One that an earlier step has killed may be dead; one that died by itself
 * is found when it is started again. */
static int change_files(struct lb_doing *d, int (*change)(struct lb_cluster *cluster, size_t index)) {
  struct lb_cluster *cluster = &d->s->cluster;
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->proc.pid > 0 && lb_proc_kill(&d->a->server[i]->proc) < 0)
      return lb_doing_fail(d, "%s: %s died by itself", d->step->text, d->a->server[i]->name);
  for (size_t i = 0; i < d->a->server_count; i++)
    if (d->a->server[i]->data && change(cluster, lb_doing_index(d, i)) < 0)
      return lb_doing_fail(d, "%s: %s", d->step->text, cluster->err.text);
  return 0;
}

static int put_back(struct lb_doing *d) { return change_files(d, lb_datadir_restore); }
static int wipe(struct lb_doing *d) { return change_files(d, lb_datadir_wipe); }

static int start_all(struct lb_doing *d) {
  int r = lb_doing_restart(d);
  for (size_t i = 0; i < d->a->server_count && has_to_save(d); i++)
    if (d->a->server[i]->data) lb_datadir_forget_saved(&d->s->cluster, lb_doing_index(d, i));
  return r;
}

const struct lb_fault lb_faults_by_hand[LB_VERB_COUNT] = {
    [LB_STEP_SHUT_DOWN] = {shut_down, .undo = lb_doing_restart},
    [LB_STEP_DEPOSE] = {hand_over, await_other},
    [LB_STEP_REMOVE] = {take_out},
    [LB_STEP_CANCEL] = {cancel},
    [LB_STEP_OCCUPY] = {occupy, .undo = vacate},
    [LB_STEP_VACATE] = {vacate},
    [LB_STEP_LOCK_TABLES] = {lock_tables, .undo = unlock_tables},
    [LB_STEP_UNLOCK_TABLES] = {unlock_tables},
    [LB_STEP_OPERATOR] = {by_hand},
    [LB_STEP_DELETE_KEY] = {delete_key},
    [LB_STEP_END_SESSION] = {end_session},
    [LB_STEP_MOVE_SLOT] = {move_slot, await_owner},
    [LB_STEP_STRAND_KEY] = {strand_key, await_owner},
    [LB_STEP_BACK_UP] = {back_up},
    [LB_STEP_RESTORE] = {put_back, start_all},
    [LB_STEP_WIPE] = {wipe, .undo = lb_doing_restart},
};
