/* SPDX-License-Identifier: MIT
 *
 * Each fault of a step: done, proved by its effect before anything goes on, and undone.
 */
#include "fault.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "crew.h"
#include "base/refuse.h"

enum { REACH_MS = 1000, SILENCE_MS = 60, QUICK_MS = 1000, RESTART_MS = 20000, ASK_MS = 4000, CLOCK_ERROR_MS = 500 };
enum { RATE_LOOK_MS = 400 };

struct doing { /* one fault while it is done */
  struct lb_stage *s;
  const struct lb_step *step;
  char *err;
  size_t err_size;
};

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

static int fail(const struct doing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(const struct doing *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(d->err, d->err_size, format, args);
  va_end(args);
  return -1;
}

/* ---- links ------------------------------------------------------------------------------------------------------ */

/* `listener` is a server of one side; the other side must have reached it before, and must not afterwards. So a dead server cannot be
 * cut off; one that is paused can, because its kernel answers for it. */
static int cut_pair(const struct doing *d, struct lb_host *a, struct lb_host *b, const struct lb_host *from,
                    const struct lb_server *listener) {
  char why[200];
  if (!lb_net_reaches(from, listener->host, listener->port, REACH_MS))
    return fail(d, "%s could not be reached even before the cut", listener->name);
  if (lb_net_cut(&d->s->net, a, b, why, sizeof why) < 0) return fail(d, "no cut: %s", why);
  if (lb_net_reaches(from, listener->host, listener->port, SILENCE_MS))
    return fail(d, "%s can still be reached after the cut", listener->name);
  return 0;
}

static int cut(const struct doing *d, const struct lb_cast *a, const struct lb_cast *b) {
  int r = 0;
  for (size_t i = 0; i < a->server_count && r == 0; i++) {
    for (size_t j = 0; j < b->server_count && r == 0; j++)
      if (a->server[i] != b->server[j])
        r = cut_pair(d, a->server[i]->host, b->server[j]->host, a->server[i]->host, b->server[j]);
    for (size_t j = 0; j < b->client_count && r == 0; j++) {
      struct lb_host *host = b->client[j]->host;
      r = cut_pair(d, a->server[i]->host, host, host, a->server[i]);
    }
  }
  for (size_t i = 0; i < a->client_count && r == 0; i++)
    for (size_t j = 0; j < b->server_count && r == 0; j++) {
      struct lb_host *host = a->client[i]->host;
      r = cut_pair(d, host, b->server[j]->host, host, b->server[j]);
    }
  return r;
}

static int heal(const struct doing *d) {
  char why[200];
  return lb_net_heal(&d->s->net, why, sizeof why) < 0 ? fail(d, "no heal: %s", why) : 0;
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

/* The letter of a process's state: 'T' = stopped; '?' when it cannot be read. */
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

bool lb_fault_bury(struct lb_stage *s, struct lb_client *client) {
  bool killed = lb_client_signal(client, LB_CLIENT_KILL) == 0;
  atomic_store(&lb_stage_state(s, client)->holds, false);
  atomic_store(&lb_stage_state(s, client)->asks, false);
  lb_memory_record(s->memory, s->client_count,
                   (struct lb_event){.kind = LB_EV_CRASH, .client = client->number, .key = LB_NO_NAME, .what = LB_NO_NAME});
  return killed;
}

/* Who died without us makes the trial undecided, also where a fault that could not be proved is only left out. */
static int died_by_itself(const struct doing *d, const char *name) {
  lb_stage_doubt(d->s, LB_UNDECIDED, "%s died by itself", name);
  return fail(d, "%s died by itself", name);
}

static int kill_client(const struct doing *d, struct lb_client *client) {
  enum lb_life life = lb_client_look(client);
  if (life == LB_LIFE_NONE || life == LB_LIFE_KILLED) return fail(d, "%s was already gone", client->name);
  if (life != LB_LIFE_DIED && lb_fault_bury(d->s, client)) return 0;
  lb_stage_died(d->s, client);
  return fail(d, "%s died by itself", client->name);
}

static int kill_server(const struct doing *d, struct lb_server *server) {
  if (server->proc.pid <= 0) return fail(d, "%s was already dead", server->name);
  return lb_proc_kill(&server->proc) < 0 ? died_by_itself(d, server->name) : 0;
}

static int kill_all(const struct doing *d, const struct lb_cast *c) {
  int r = 0;
  for (size_t i = 0; i < c->server_count && r == 0; i++) r = kill_server(d, c->server[i]);
  for (size_t i = 0; i < c->client_count && r == 0; i++) r = kill_client(d, c->client[i]);
  return r;
}

static int signal_one(const struct doing *d, pid_t pid, const char *name, int sig) {
  if (pid <= 0 || kill(pid, sig) < 0) return fail(d, "%s is gone", name);
  lb_ns deadline = in_ms(QUICK_MS);
  while ((process_state(pid) == 'T') != (sig == SIGSTOP)) {
    if (lb_clock_ns() > deadline) return fail(d, "%s did not change its state", name);
    lb_clock_sleep_until(in_ms(1));
  }
  return 0;
}

static int signal_client(const struct doing *d, struct lb_client *client, int sig) {
  int r = lb_client_signal(client, sig == SIGSTOP ? LB_CLIENT_STOP : LB_CLIENT_CONTINUE);
  if (r == -ETIMEDOUT) return fail(d, "%s did not change its state", client->name);
  return r < 0 ? fail(d, "%s is gone", client->name) : 0;
}

static int signal_all(const struct doing *d, const struct lb_cast *c, int sig) {
  int r = 0;
  for (size_t i = 0; i < c->server_count && r == 0; i++) {
    /* The whole tree: a PostgreSQL is many processes. It returns when all of them stand still, or says so. */
    if (lb_proc_signal(&c->server[i]->proc, sig) < 0)
      return fail(d, "%s: not all of %s followed", d->step->text, c->server[i]->name);
    r = signal_one(d, c->server[i]->proc.pid, c->server[i]->name, sig);
  }
  for (size_t i = 0; i < c->client_count && r == 0; i++) r = signal_client(d, c->client[i], sig);
  return r;
}

/* A restart must not hide that a server had died before. */
static int restart_all(const struct doing *d, const struct lb_cast *c) {
  size_t index[LB_SERVERS_MAX];
  for (size_t i = 0; i < c->server_count; i++) {
    index[i] = (size_t)(c->server[i] - d->s->cluster.server);
    if (c->server[i]->proc.pid > 0 && !lb_proc_alive(&c->server[i]->proc))
      return died_by_itself(d, c->server[i]->name);
  }
  if (c->server_count > 0 && lb_cluster_restart_many(&d->s->cluster, index, c->server_count, in_ms(RESTART_MS)) < 0)
    return fail(d, "%s: %s", d->step->text, d->s->cluster.err);
  for (size_t i = 0; i < c->client_count; i++)
    if (lb_crew_restart(d->s, c->client[i], d->err, d->err_size) < 0) return -1;
  return 0;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------- */

static int ask_client(struct lb_client *client, bool monotonic, int64_t *ret_ms) {
  struct lb_reply reply;
  struct lb_command command = {.verb = LB_DO_CLOCK, .deadline = in_ms(QUICK_MS), .argument = monotonic};
  int r = lb_client_call(client, command, ASK_MS, &reply);
  *ret_ms = reply.value;
  return r == 0 ? 0 : -ETIMEDOUT;
}

static int ask_server(const struct doing *d, const struct lb_server *server, bool monotonic, int64_t *ret_ms) {
  struct lb_cluster *cluster = &d->s->cluster;
  size_t index = (size_t)(server - cluster->server);
  return (monotonic ? lb_cluster_mono_ms : lb_cluster_wall_ms)(cluster, index, in_ms(QUICK_MS), ret_ms);
}

static int64_t true_ms(bool monotonic) {
  return monotonic ? (int64_t)(lb_clock_ns() / LB_NS_PER_MS) : lb_clock_wall_ms();
}

/* The step's clock of a server or a client minus the true one, in ms, by asking it; of a monotonic clock only differences of this mean
 * something. 0, or -1 with err. */
static int ask_offset(const struct doing *d, struct lb_server *server, struct lb_client *client, int64_t *ret) {
  bool monotonic = d->step->monotonic;
  lb_ns deadline = in_ms(ASK_MS);
  int64_t told = 0, before;
  int r;
  do { /* a server may be busy with other things when it is asked first */
    before = true_ms(monotonic);
    if (server) r = ask_server(d, server, monotonic, &told);
    else r = ask_client(client, monotonic, &told);
  } while (r < 0 && r != -EOPNOTSUPP && lb_clock_ns() < deadline);
  if (r < 0)
    return fail(d, "%s: %s does not tell its time: %s", d->step->text, server ? server->name : client->name,
                server ? d->s->env.base.err : "no answer");
  *ret = told - (before + true_ms(monotonic)) / 2;
  return 0;
}

static int prove_jump(const struct doing *d, struct lb_server *server, struct lb_client *client, int64_t before) {
  const char *name = server ? server->name : client->name;
  lb_ns deadline = in_ms(ASK_MS);
  for (;;) {
    int64_t now;
    if (ask_offset(d, server, client, &now) < 0) return -1;
    int64_t jumped = now - before;
    if (llabs(jumped - d->step->offset_ms) <= CLOCK_ERROR_MS) {
      if (d->step->monotonic) lb_stage_clock(d->s, d->step, name, LB_CLOCK_MONOTONIC, jumped, 0);
      else lb_stage_clock(d->s, d->step, name, LB_CLOCK_WALL, now, 0);
      return 0;
    }
    if (lb_clock_ns() > deadline)
      return fail(d, "%s: %s says it jumped by %+lld ms, expected %+lld", d->step->text, name, (long long)jumped,
                  (long long)d->step->offset_ms);
    lb_clock_sleep_until(in_ms(1));
  }
}

/* At the new rate the offset has to move, by at least half of what it should. */
static int prove_rate(const struct doing *d, struct lb_server *server, struct lb_client *client) {
  int64_t first, now, look_ms = RATE_LOOK_MS;
  double gain = fabs(d->step->rate - 1);
  if (gain > 0 && 20 / gain > (double)look_ms) look_ms = (int64_t)(20 / gain);
  if (ask_offset(d, server, client, &first) < 0) return -1;
  lb_clock_sleep_until(in_ms(look_ms));
  if (ask_offset(d, server, client, &now) < 0) return -1;
  if ((double)llabs(now - first) < gain * (double)look_ms / 2)
    return fail(d, "%s: %s gained %lld ms in %lld ms", d->step->text, server ? server->name : client->name,
                (long long)(now - first), (long long)look_ms);
  lb_stage_clock(d->s, d->step, server ? server->name : client->name, LB_CLOCK_RATE, now - first, look_ms);
  return 0;
}

static int set_clock(const struct doing *d, struct lb_skew *skew, struct lb_server *server, struct lb_client *client) {
  const struct lb_step *step = d->step;
  int64_t before = 0;
  if (!skew) return fail(d, "%s: its clock cannot be set", server ? server->name : client->name);
  if (step->verb == LB_STEP_CLOCK_RATE) {
    lb_skew_rate(skew, step->rate);
    return prove_rate(d, server, client);
  }
  if (ask_offset(d, server, client, &before) < 0) return -1;
  lb_skew_jump(skew, step->monotonic, step->offset_ms * (int64_t)LB_NS_PER_MS);
  return prove_jump(d, server, client, before);
}

static int set_clocks(const struct doing *d, const struct lb_cast *c) {
  int r = 0;
  for (size_t i = 0; i < c->server_count && r == 0; i++) r = set_clock(d, c->server[i]->skew, c->server[i], NULL);
  for (size_t i = 0; i < c->client_count && r == 0; i++)
    r = set_clock(d, c->client[i]->skew, NULL, c->client[i]);
  return r;
}

static void true_clocks(const struct lb_cast *c) {
  for (size_t i = 0; i < c->server_count; i++)
    if (c->server[i]->skew) lb_skew_reset(c->server[i]->skew);
  for (size_t i = 0; i < c->client_count; i++)
    if (c->client[i]->skew) lb_skew_reset(c->client[i]->skew);
}

/* ---- one step ------------------------------------------------------------------------------------------------------ */

/* One server has no replicas and no minority. To cut those off is nothing to do; any other fault of nobody is none. */
static bool hits_nobody(const struct lb_step *step, const struct lb_cast *a) {
  return step->verb != LB_STEP_CUT && step->verb != LB_STEP_HEAL && a->server_count + a->client_count == 0;
}

static int act(const struct doing *d, const struct lb_cast *a, const struct lb_cast *b) {
  if (hits_nobody(d->step, a)) return fail(d, "%s: this system has no such host", d->step->text);
  switch (d->step->verb) {
    case LB_STEP_CUT: return cut(d, a, b);
    case LB_STEP_HEAL: return heal(d);
    case LB_STEP_KILL: return kill_all(d, a);
    case LB_STEP_PAUSE: return signal_all(d, a, SIGSTOP);
    case LB_STEP_RESUME: return signal_all(d, a, SIGCONT);
    case LB_STEP_RESTART: return restart_all(d, a);
    case LB_STEP_CLOCK_JUMP:
    case LB_STEP_CLOCK_RATE: return set_clocks(d, a);
    default: return fail(d, "%s: not a fault", d->step->text);
  }
}

int lb_fault_do(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b,
                char *err, size_t err_size) {
  struct doing d = {s, step, err, err_size};
  lb_stage_fault(s, step);
  int r = act(&d, a, b);
  if (r == 0 && step->verb != LB_STEP_HEAL) lb_stage_proved(s, step);
  return r;
}

int lb_fault_undo(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, char *err, size_t err_size) {
  struct doing d = {s, step, err, err_size};
  lb_stage_over(s, step);
  switch (step->verb) {
    case LB_STEP_CUT: return heal(&d);
    case LB_STEP_KILL: return restart_all(&d, a);
    case LB_STEP_PAUSE: return signal_all(&d, a, SIGCONT);
    case LB_STEP_CLOCK_JUMP:
    case LB_STEP_CLOCK_RATE: return true_clocks(a), 0;
    default: return 0;
  }
}
