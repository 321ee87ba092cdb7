/* SPDX-License-Identifier: MIT
 *
 * A timeline: the steps of a scenario, one after the other. A role becomes hosts here, a verb becomes a fault, and every fault
 * proves that it fired before the next step begins: a cut by a connection that worked before and does not any more, a kill by the
 * exit status, a pause by the state of the process. What cannot be proved makes the trial undecided, never safe.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "timeline.h"

enum { REACH_MS = 1000, SILENCE_MS = 60, ASK_MS = 5000, QUICK_MS = 1000, GRACE_MS = 3000 };

/* ---- roles ---------------------------------------------------------------------------------------------------- */

struct cast { /* the hosts a role stands for */
  struct lb_server *server[LB_SERVERS_MAX];
  size_t server_count;
  struct lb_client *client[LB_LOGS_MAX];
  struct lb_host *client_host[LB_LOGS_MAX];
  size_t client_count;
};

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

/* A server that is slow to answer counts as silent, so on a busy machine the first answer may be "none". */
static int ask_primary(struct lb_stage *s) {
  lb_ns deadline = in_ms(ASK_MS);
  int primary = -ENOENT;
  while (s->plan->topology->primary && (primary = s->plan->topology->primary(&s->cluster, in_ms(QUICK_MS))) < 0 &&
         lb_clock_ns() < deadline)
    lb_clock_sleep_until(in_ms(20));
  return primary;
}

/* `primary` is whoever decides when the timeline first names it (or names anybody in relation to it), and stays that server. */
static int bind_primary(struct lb_stage *s) {
  if (s->primary >= 0) return 0;
  int primary = ask_primary(s);
  if (primary < 0) return lb_stage_doubt(s, LB_UNDECIDED, "no server says it is the primary: %s", s->cluster.err);
  s->primary = primary;
  lb_stage_note(s, "primary is %s", s->cluster.server[primary].name);
  return 0;
}

static void add_server(struct cast *c, struct lb_server *server) { c->server[c->server_count++] = server; }

static void add_client(struct lb_stage *s, struct cast *c, size_t i) {
  c->client_host[c->client_count] = s->client_host[i];
  c->client[c->client_count++] = &s->client[i];
}

/* The smallest majority that contains the primary: the primary and its next neighbours in node order. */
static bool in_majority(const struct lb_stage *s, size_t i) {
  size_t n = s->cluster.data_count, distance = (i + n - (size_t)s->primary) % n;
  return distance < n / 2 + 1;
}

static int add_data_servers(struct lb_stage *s, const struct lb_role *role, struct cast *c) {
  int r = bind_primary(s);
  for (size_t i = 0; r == 0 && i < s->cluster.data_count; i++) {
    bool wanted = role->kind == LB_ROLE_PRIMARY    ? (int)i == s->primary
                  : role->kind == LB_ROLE_REPLICAS ? (int)i != s->primary
                                                   : in_majority(s, i) == (role->kind == LB_ROLE_MAJORITY);
    if (wanted) add_server(c, &s->cluster.server[i]);
  }
  return r;
}

static int resolve_role(struct lb_stage *s, const struct lb_role *role, struct cast *c) {
  *c = (struct cast){0};
  int primary;
  switch (role->kind) {
    case LB_ROLE_PRIMARY:
    case LB_ROLE_REPLICAS:
    case LB_ROLE_MAJORITY:
    case LB_ROLE_MINORITY: return add_data_servers(s, role, c);
    case LB_ROLE_CURRENT_PRIMARY:
      primary = ask_primary(s);
      if (primary < 0) return lb_stage_doubt(s, LB_UNDECIDED, "no server says it is the primary now");
      add_server(c, &s->cluster.server[primary]);
      return 0;
    case LB_ROLE_NODE:
      if ((size_t)role->number > s->cluster.data_count)
        return lb_stage_doubt(s, LB_UNDECIDED, "node %d: %s has %zu", role->number, s->plan->topology->name,
                              s->cluster.data_count);
      add_server(c, &s->cluster.server[role->number - 1]);
      return 0;
    case LB_ROLE_ALL:
      for (size_t i = 0; i < s->cluster.server_count; i++) add_server(c, &s->cluster.server[i]);
      return 0;
    case LB_ROLE_CLIENT: add_client(s, c, (size_t)role->number - 1); return 0;
    case LB_ROLE_CLIENTS:
      for (size_t i = 0; i < s->client_count; i++) add_client(s, c, i);
      return 0;
    case LB_ROLE_HOLDER:
    case LB_ROLE_WAITERS:
    case LB_ROLE_NONE: break;
  }
  return lb_stage_doubt(s, LB_UNDECIDED, "a step names no host");
}

/* ---- faults ----------------------------------------------------------------------------------------------------- */

/* `listener` is a server of one side; the other side must have reached it before, and must not afterwards. */
static int cut_pair(struct lb_stage *s, struct lb_host *a, struct lb_host *b, const struct lb_host *from,
                    const struct lb_server *listener) {
  char err[200];
  if (!lb_net_reaches(from, listener->host, listener->port, REACH_MS))
    return lb_stage_doubt(s, LB_UNDECIDED, "%s could not be reached even before the cut", listener->name);
  if (lb_net_cut(&s->net, a, b, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "no cut: %s", err);
  if (lb_net_reaches(from, listener->host, listener->port, SILENCE_MS))
    return lb_stage_doubt(s, LB_UNDECIDED, "%s can still be reached after the cut", listener->name);
  return 0;
}

static int cut(struct lb_stage *s, const struct lb_step *step, const struct cast *a, const struct cast *b) {
  int r = 0;
  lb_stage_fault(s, "%s", step->text);
  for (size_t i = 0; i < a->server_count && r == 0; i++) {
    for (size_t j = 0; j < b->server_count && r == 0; j++)
      if (a->server[i] != b->server[j])
        r = cut_pair(s, a->server[i]->host, b->server[j]->host, a->server[i]->host, b->server[j]);
    for (size_t j = 0; j < b->client_count && r == 0; j++)
      r = cut_pair(s, a->server[i]->host, b->client_host[j], b->client_host[j], a->server[i]);
  }
  for (size_t i = 0; i < a->client_count && r == 0; i++)
    for (size_t j = 0; j < b->server_count && r == 0; j++)
      r = cut_pair(s, a->client_host[i], b->server[j]->host, a->client_host[i], b->server[j]);
  if (r == 0) lb_stage_note(s, "proved: %s", step->text);
  return r;
}

static int heal(struct lb_stage *s, const struct lb_step *step) {
  char err[200];
  lb_stage_fault(s, "%s", step->text);
  return lb_net_heal(&s->net, err, sizeof err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "no heal: %s", err) : 0;
}

static int kill_client(struct lb_stage *s, struct lb_client *client) {
  int status;
  if (client->pid == 0 || kill(client->pid, SIGKILL) < 0 || waitpid(client->pid, &status, 0) < 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s was already gone", client->name);
  client->pid = 0;
  lb_arena_record(
      s->arena, s->client_count,
      (struct lb_event){.kind = LB_EV_CRASH, .client = (uint32_t)client->index, .key = LB_NO_NAME, .what = LB_NO_NAME});
  return 0;
}

static int kill_all(struct lb_stage *s, const struct lb_step *step, const struct cast *c) {
  int r = 0;
  lb_stage_fault(s, "%s", step->text);
  for (size_t i = 0; i < c->server_count && r == 0; i++)
    if (lb_proc_kill(&c->server[i]->proc) < 0)
      r = lb_stage_doubt(s, LB_UNDECIDED, "%s was already dead", c->server[i]->name);
  for (size_t i = 0; i < c->client_count && r == 0; i++) r = kill_client(s, c->client[i]);
  if (r == 0) lb_stage_note(s, "proved: %s", step->text);
  return r;
}

/* The letter of a process's state from /proc: 'T' = stopped. '?' when it cannot be read. */
static char process_state(pid_t pid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *in = fopen(path, "re");
  if (!in) return '?';
  size_t n = fread(line, 1, sizeof line - 1, in);
  fclose(in);
  line[n] = '\0';
  const char *end_of_name = strrchr(line, ')');
  return end_of_name && end_of_name[1] ? end_of_name[2] : '?';
}

static int signal_one(struct lb_stage *s, pid_t pid, const char *name, int sig) {
  if (pid <= 0 || kill(pid, sig) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s is gone", name);
  lb_ns deadline = in_ms(QUICK_MS);
  while ((process_state(pid) == 'T') != (sig == SIGSTOP)) {
    if (lb_clock_ns() > deadline) return lb_stage_doubt(s, LB_UNDECIDED, "%s did not change its state", name);
    lb_clock_sleep_until(in_ms(1));
  }
  return 0;
}

static int signal_all(struct lb_stage *s, const struct lb_step *step, const struct cast *c, int sig) {
  int r = 0;
  lb_stage_fault(s, "%s", step->text);
  for (size_t i = 0; i < c->server_count && r == 0; i++) {
    /* The whole tree: a PostgreSQL is many processes. It returns when all of them stand still, or says so. */
    if (lb_proc_signal(&c->server[i]->proc, sig) < 0)
      return lb_stage_doubt(s, LB_UNDECIDED, "%s: not all of %s followed", step->text, c->server[i]->name);
    r = signal_one(s, c->server[i]->proc.pid, c->server[i]->name, sig);
  }
  for (size_t i = 0; i < c->client_count && r == 0; i++) r = signal_one(s, c->client[i]->pid, c->client[i]->name, sig);
  if (r == 0) lb_stage_note(s, "proved: %s", step->text);
  return r;
}

/* ---- clients, conditions, facts ----------------------------------------------------------------------------- */

static int do_client(struct lb_stage *s, const struct lb_step *step, enum lb_client_verb verb) {
  struct lb_client *client = &s->client[step->a.number - 1];
  struct lb_command command = {.verb = verb, .deadline = in_ms(step->within_ms > 0 ? step->within_ms : QUICK_MS)};
  struct lb_reply reply;
  int r = lb_client_call(client, command, GRACE_MS, &reply);
  if (r == LB_TIMEOUT) return lb_stage_doubt(s, LB_UNDECIDED, "%s: no answer in time", step->text);
  if (r != 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client is gone", step->text);
  static const char *const outcome[] = {"done", "not holding", "refused in time", "lost", "unknown"};
  const char *said = reply.result < 0 ? reply.err : outcome[reply.result];
  lb_stage_note(s, "%s: %s", step->text, verb == LB_DO_ACQUIRE && reply.result == LB_OK ? "granted" : said);
  return 0;
}

static int await_failover(struct lb_stage *s, const struct lb_step *step) {
  int r = bind_primary(s);
  if (r < 0) return r;
  r = lb_cluster_failover(&s->cluster, s->primary, in_ms(step->within_ms));
  if (r == LB_TIMEOUT) return lb_stage_doubt(s, LB_STUCK, "%s: no other server took over", step->text);
  if (r < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, s->cluster.err);
  int now = ask_primary(s);
  if (now >= 0) lb_stage_note(s, "failover: %s decides", s->cluster.server[now].name);
  return 0;
}

/* The fact is "present" when any of the servers has a record of the key. */
static int observe_key(struct lb_stage *s, const struct lb_step *step, const struct cast *c) {
  bool present = false;
  char role[32];
  for (size_t i = 0; i < c->server_count; i++) {
    struct lb_reply reply;
    struct lb_command command = {
        .verb = LB_DO_INSPECT, .deadline = in_ms(ASK_MS), .argument = (size_t)(c->server[i] - s->cluster.server)};
    int r = lb_client_call(&s->observer, command, GRACE_MS, &reply);
    if (r != 0 || reply.result < 0)
      return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, r != 0 ? "the observer did not answer" : reply.err);
    lb_stage_note(s, "key %s at %s", reply.result ? "present" : "absent", c->server[i]->name);
    present |= reply.result > 0;
  }
  lb_role_format(step->a, role, sizeof role);
  lb_stage_note(s, "key %s on %s", present ? "present" : "absent", role);
  return 0;
}

/* ---- the play ------------------------------------------------------------------------------------------------- */

static int play_step(struct lb_stage *s, const struct lb_step *step) {
  struct cast a, b;
  int r;
  switch (step->verb) {
    case LB_STEP_ACQUIRE: return do_client(s, step, LB_DO_ACQUIRE);
    case LB_STEP_RELEASE: return do_client(s, step, LB_DO_RELEASE);
    case LB_STEP_READ: return do_client(s, step, LB_DO_READ);
    case LB_STEP_WRITE: return do_client(s, step, LB_DO_WRITE);
    case LB_STEP_HEAL: return heal(s, step);
    case LB_STEP_AWAIT_FAILOVER: return await_failover(s, step);
    case LB_STEP_WAIT: lb_clock_sleep_until(in_ms(step->within_ms)); return 0;
    default: break;
  }
  if ((r = resolve_role(s, &step->a, &a)) < 0) return r;
  switch (step->verb) {
    case LB_STEP_CUT: return (r = resolve_role(s, &step->b, &b)) < 0 ? r : cut(s, step, &a, &b);
    case LB_STEP_KILL: return kill_all(s, step, &a);
    case LB_STEP_PAUSE: return signal_all(s, step, &a, SIGSTOP);
    case LB_STEP_RESUME: return signal_all(s, step, &a, SIGCONT);
    case LB_STEP_OBSERVE_KEY: return observe_key(s, step, &a);
    default: return lb_stage_doubt(s, LB_UNDECIDED, "%s: not a step", step->text);
  }
}

int lb_timeline_play(struct lb_stage *s) {
  for (size_t i = 0; i < s->plan->scenario->step_count; i++) {
    int r = play_step(s, &s->plan->scenario->steps[i]);
    if (r < 0) return r;
  }
  return 0;
}
