/* SPDX-License-Identifier: MIT
 *
 * The clients of a trial and its observer, from their first life to their last end.
 *
 * The observer is one more client, on the controller's own host, which no fault ever hits. It takes no lock: it runs
 * the protocol's hooks `setup` and `teardown`, and looks at single servers for the controller.
 */
#include "crew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/need.h"
#include "client/client.h"
#include "client/driver.h"

/* ---- sessions ----
 *
 * They are opened a few at a time: 64 at once take each other's processors. A server that forks a process for each of
 * them answers the last one when all are served. How many depends on the machine alone, so it is the same for every
 * protocol.
 *
 * The limit of a session counts from when it was asked for, and not while the machine held it up: when no processor
 * stood still, or when the heartbeat (client/memory.h) measured a stall. A client that ran into its limit on such a
 * machine is asked again and has twice as long. So a server that does not answer on an idle machine is told after one
 * limit. */

/* An interpreter and its libraries take a second to start. MOST_S: for the observer, and again for each MOST_CLIENTS
 * clients: then a machine is too slow for the trial. */
enum {
  OPEN_S = 10,
  OPEN_FOREIGN_S = 30,
  SET_UP_S = 30,
  LATE_S = 1,
  MOST_S = 120,
  MOST_CLIENTS = 16,
  SLICE_MS = 250,
  PER_CORE = 2
};
/* Servers of the user's own are there, and are to be left as they were: that may take longer. */
enum { TEARDOWN_MS = 500, TEARDOWN_OWN_MS = 10000 };
#define NOTHING_SPARE 0.1 /* of the time of all processors */
#define HELD_UP_SHARE 4   /* a limit is too short for a machine that held a session up for a quarter of it */

/* How long the machine held the trial up since the begin. */
struct pace {
  struct lb_spare spare;
  lb_ns begin, looked, saturated;
  uint64_t stalled; /* of the memory, at the begin */
};

static struct pace pace_begin(const struct lb_stage *s) {
  struct pace p = {.begin = lb_clock_ns(), .stalled = atomic_load(&s->memory->stalled_ns)};
  p.looked = p.begin;
  lb_spare_look(&p.spare);
  return p;
}

static lb_ns held_up(const struct lb_stage *s, struct pace *p) {
  lb_ns now = lb_clock_ns();
  if (lb_spare_look(&p->spare)) {
    if (p->spare.all > 0 && p->spare.share < NOTHING_SPARE) p->saturated += now - p->looked;
    p->looked = now;
  }
  lb_ns held = p->saturated + (atomic_load(&s->memory->stalled_ns) - p->stalled);
  return held < now - p->begin ? held : now - p->begin;
}

lb_ns lb_crew_open_most(const struct lb_trial_plan *plan) {
  return (lb_ns)(2 + plan->clients / MOST_CLIENTS) * MOST_S * LB_NS_PER_S;
}

static bool is_foreign(const struct lb_stage *s) { return s->plan->protocol->traits & LB_TRAIT_FOREIGN; }
static lb_ns limit_of(const struct lb_stage *s) { return (is_foreign(s) ? OPEN_FOREIGN_S : OPEN_S) * LB_NS_PER_S; }

/* ---- one answer -------------------------------------------------------------------------------------------------- */

/* The text names a breach of the contract before the client's own words, and says how a client died that cannot speak
 * any more. */
static int failed(struct lb_stage *s, struct lb_client *client, int r, const struct lb_reply *reply, const char *what,
                  struct lb_error *err) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  char fate[200];
  if (r != 0) lb_client_fate(client, state, r, fate, sizeof fate);
  const char *why = r != 0 ? fate : state->breach[0] ? state->breach : reply->err[0] ? reply->err : "unknown outcome";
  return lb_error(err, -1, "%s could not %s: %s%s", client->name, what,
                  r != 0 || !state->breach[0] ? ""
                  : is_foreign(s)             ? "breach of the line protocol: "
                                              : "breach of the contract: ",
                  why);
}

struct asked {
  struct lb_client *client;
  int sent; /* what became of sending it */
  lb_ns limit;
  lb_ns at, held; /* when, and how long the trial had been held up by then */
};

static struct asked ask_client(const struct lb_stage *s, struct pace *p, struct lb_client *client,
                               enum lb_client_verb verb, lb_ns limit) {
  struct asked a = {.client = client, .limit = limit, .at = lb_clock_ns(), .held = held_up(s, p)};
  a.sent = lb_client_send(client, (struct lb_command){.verb = verb, .deadline = a.at + limit});
  return a;
}

/* A foreign session counts for itself what its program waits for (foreign.c), and always comes back. */
static int await_reply(const struct lb_stage *s, struct pace *p, const struct asked *a, lb_ns most,
                       struct lb_reply *ret) {
  if (a->sent < 0) return a->sent;
  for (;;) {
    lb_ns held = held_up(s, p) - a->held, slice = lb_in_ms(SLICE_MS);
    lb_ns end = is_foreign(s) ? most : a->at + a->limit + LATE_S * LB_NS_PER_S + held;
    if (end > most) end = most;
    int r = lb_client_await(a->client, slice < end ? slice : end, ret);
    if (r != LB_TIMEOUT || lb_clock_ns() >= end) return r;
  }
}

/* It ran into its limit, and so had the machine. */
static bool may_ask_again(struct lb_stage *s, struct pace *p, const struct asked *a, lb_ns most) {
  lb_ns now = lb_clock_ns(), held = held_up(s, p) - a->held;
  return !is_foreign(s) && now >= a->at + a->limit && now < most && held * HELD_UP_SHARE >= a->limit &&
         !lb_stage_state(s, a->client)->breach[0];
}

static int expect(struct lb_stage *s, struct pace *p, struct asked a, lb_ns most, struct lb_error *err) {
  struct lb_reply reply;
  for (;;) {
    int r = await_reply(s, p, &a, most, &reply);
    if (r == 0 && reply.result == LB_OK) return 0;
    if (r != 0 || !may_ask_again(s, p, &a, most)) return failed(s, a.client, r, &reply, "open a session", err);
    a = ask_client(s, p, a.client, LB_DO_REOPEN, 2 * a.limit);
  }
}

/* A call with this one deadline. */
static int call(struct lb_stage *s, struct lb_client *client, enum lb_client_verb verb, const char *what,
                lb_ns deadline, struct lb_error *err) {
  struct lb_reply reply;
  int r = lb_client_send(client, (struct lb_command){.verb = verb, .deadline = deadline});
  if (r == 0) r = lb_client_await(client, deadline + LATE_S * LB_NS_PER_S, &reply);
  return r == 0 && reply.result == LB_OK ? 0 : failed(s, client, r, &reply, what, err);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int at_a_time(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return PER_CORE * (int)(cores < 1 ? 1 : cores);
}

/* The next one is asked when the oldest has answered. A client that opens late is told to by a step. */
static int open_sessions(struct lb_stage *s, struct lb_client *clients, size_t count, struct lb_error *err) {
  size_t width = (size_t)at_a_time(), next = 0;
  struct pace pace = pace_begin(s);
  lb_ns most = lb_clock_ns() + lb_crew_open_most(s->plan);
  struct asked *asked = lb_need(calloc(count + 1, sizeof *asked));
  int result = 0;
  for (size_t first = 0; first < count && result == 0; first++) {
    for (; next < count && next < first + width; next++) {
      bool late = clients != &s->observer && lb_scenario_opens_late(s->plan->scenario, (int)clients[next].number + 1);
      if (!late) asked[next] = ask_client(s, &pace, &clients[next], LB_DO_OPEN, limit_of(s));
    }
    if (asked[first].client) result = expect(s, &pace, asked[first], most, err);
  }
  free(asked);
  return result;
}

/* Once, as the contract says: so it has long enough from the first. */
static int set_up(struct lb_stage *s, struct lb_error *err) {
  return call(s, &s->observer, LB_DO_SETUP, "set up", lb_clock_ns() + SET_UP_S * LB_NS_PER_S, err);
}

static int open_by(struct lb_stage *s, struct lb_client *client, lb_ns deadline, struct lb_error *err) {
  return call(s, client, LB_DO_OPEN, "open a session", deadline, err);
}

/* Each client has its part of the rate. */
static lb_ns gap(const struct lb_scenario *scenario, size_t clients) {
  if (scenario->arrivals == LB_ARRIVE_CLOSED || scenario->rate_per_s <= 0) return 0;
  lb_ns ns = (lb_ns)((double)clients * 1e9 / scenario->rate_per_s);
  return ns ? ns : 1;
}

/* What all clients of the trial have in common. The key prefix comes from the seed, so two trials do not share a key,
 * whatever else they share. */
static void plan_clients(struct lb_stage *s) {
  const struct lb_scenario *scenario = s->plan->scenario;
  snprintf(s->key_prefix, sizeof s->key_prefix, "lockbench:%08llx", (unsigned long long)(s->plan->seed & 0xffffffff));
  s->client_plan = (struct lb_client_plan){
      .protocol = s->plan->protocol,
      .target = &s->target,
      .options = s->plan->options,
      .memory = s->memory,
      .ttl_ms = scenario->ttl_ms,
      .request_ms = scenario->request_ms,
      .seed = s->plan->seed,
      .key_prefix = s->key_prefix,
      .guard = s->plan->guard,
      .permits = scenario->permits,
      .renew = scenario->renew,
      .gives_way = scenario->kind == LB_KIND_LOAD && scenario->keys == 0,
      .names_server = scenario->kind != LB_KIND_LOAD, /* of a speed it would be a part */
      .work = {.keys = (uint32_t)scenario->keys,
               .skew = scenario->skew,
               .hold_random = scenario->hold == LB_LENGTH_EXPONENTIAL,
               .think_random = scenario->think == LB_LENGTH_EXPONENTIAL,
               .hold_ns = (lb_ns)(scenario->hold_ms * 1e6),
               .think_ns = (lb_ns)(scenario->think_ms * 1e6),
               .wait_ns = (lb_ns)scenario->wait_ms * LB_NS_PER_MS,
               .readers = (uint32_t)scenario->readers,
               .gap_ns = gap(scenario, s->client_count),
               .random = scenario->arrivals == LB_ARRIVE_POISSON},
  };
}

/* `keys = own` (0) is a key for each client; a timeline has those that its steps name. */
static size_t key_count(const struct lb_trial_plan *plan) {
  int locks = 1;
  for (size_t i = 0; i < plan->scenario->step_count; i++)
    if (plan->scenario->steps[i].lock >= locks) locks = plan->scenario->steps[i].lock + 1;
  if (plan->scenario->kind == LB_KIND_TIMELINE) return (size_t)locks;
  return plan->scenario->keys > 0 ? (size_t)plan->scenario->keys : (size_t)plan->clients;
}

void lb_crew_gather(struct lb_stage *s) {
  static struct lb_host here = {.name = "controller", .address = "127.0.0.1", .netns = -1};
  const struct lb_driver *driver = lb_client_driver_of(s->plan->protocol, s->plan->scenario->driver == LB_BY_COROUTINE);
  size_t writers = driver->writers(s->client_count);
  s->memory = lb_need(lb_memory_map(s->client_count, writers, key_count(s->plan)));
  /* A lock without a server fills any log faster than a disk takes it: what is measured would be the disk. */
  if (s->plan->scenario->kind != LB_KIND_TIMELINE && s->plan->topology->family)
    lb_memory_spill(s->memory, s->run_dir); /* if it cannot, the load ends when memory is full */
  plan_clients(s);
  s->client = lb_need(calloc(s->client_count + 1, sizeof *s->client));
  s->pending = lb_need(calloc(s->client_count + 1, sizeof *s->pending));
  for (size_t i = 0; i < s->client_count; i++) {
    s->client[i] =
        (struct lb_client){.driver = driver, .number = (uint32_t)i, .log = i % writers, .own_key = (uint32_t)i};
    snprintf(s->client[i].name, sizeof s->client[i].name, "client-%zu", i + 1);
  }
  s->observer = (struct lb_client){.driver = &lb_driver_process, /* whatever runs the clients */
                                   .name = "observer",
                                   .number = (uint32_t)s->client_count,
                                   .log = s->memory->controller,
                                   .host = &here};
}

static int start_workers(struct lb_stage *s, struct lb_error *err) {
  const struct lb_driver *driver = s->client[0].driver;
  int r = driver->gather ? driver->gather(&s->client_plan, s->memory->controller) : 0;
  return r < 0 ? lb_error(err, -1, "no workers for clients: %s", strerror(-r)) : 0;
}

/* `setup` runs before any client has a session: it may make what their sessions need. */
static int start_observer(struct lb_stage *s, struct lb_error *err) {
  int r = lb_client_start(&s->observer, &s->client_plan);
  if (r < 0) return lb_error(err, -1, "no observer process: %s", strerror(-r));
  r = open_sessions(s, &s->observer, 1, err);
  if (r == 0) r = set_up(s, err);
  s->is_set_up = r == 0;
  return r;
}

static int start_client(struct lb_stage *s, struct lb_client *client, struct lb_error *err) {
  int r = lb_client_start(client, &s->client_plan);
  return r < 0 ? lb_error(err, -1, "no process for %s: %s", client->name, strerror(-r)) : 0;
}

/* What clients print goes to a file beside the logs of the servers, and is kept like those. */
static int open_output(struct lb_stage *s, struct lb_error *err) {
  char path[4200];
  snprintf(path, sizeof path, "%s/logs/%s/clients.log", s->run_dir, s->plan->name);
  s->client_plan.output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (s->client_plan.output > 0) return 0;
  s->client_plan.output = 0;
  return lb_error(err, -1, "cannot write %s: %s", path, strerror(errno));
}

int lb_crew_start(struct lb_stage *s) {
  struct lb_error err;
  int r = open_output(s, &err);
  if (r == 0) r = start_workers(s, &err);
  if (r == 0) r = start_observer(s, &err);
  for (size_t i = 0; i < s->client_count && r == 0; i++) r = start_client(s, &s->client[i], &err);
  if (r == 0) r = open_sessions(s, s->client, s->client_count, &err);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text) : 0;
}

int lb_crew_revive(struct lb_stage *s, struct lb_client *client, lb_ns deadline, struct lb_error *err) {
  lb_client_end(client);
  int r = start_client(s, client, err);
  return r < 0 ? r : open_by(s, client, deadline, err);
}

int lb_crew_restart(struct lb_stage *s, struct lb_client *client, struct lb_error *err) {
  lb_client_end(client);
  int r = start_client(s, client, err);
  if (r == 0) r = open_sessions(s, client, 1, err);
  if (r < 0) return r;
  r = lb_client_send(client, (struct lb_command){.verb = LB_DO_WORK});
  return r < 0 ? lb_error(err, -1, "%s is gone: %s", client->name, strerror(-r)) : 0;
}

/* A failed teardown says nothing of the lock: after the faults of a trial perhaps no server answers. If the hook breaks
 * its contract, hook.c records that, as for every hook. */
static void tear_down(struct lb_stage *s) {
  struct lb_reply reply;
  int64_t patience_ms = s->plan->topology->own ? TEARDOWN_OWN_MS : TEARDOWN_MS;
  struct lb_command command = {.verb = LB_DO_TEARDOWN, .deadline = lb_in_ms(patience_ms)};
  struct lb_client_state *state = lb_stage_state(s, &s->observer);
  char error[sizeof state->error];
  if (!s->is_set_up || !s->plan->protocol->teardown) return;
  memcpy(error, state->error, sizeof error);
  lb_client_call(&s->observer, command, patience_ms, &reply);
  memcpy(state->error, error, sizeof error); /* what is told of the trial is from before */
}

void lb_crew_hold_still(struct lb_stage *s, struct lb_client *client) {
  if (lb_client_signal(client, LB_CLIENT_STOP) == -ETIMEDOUT)
    lb_stage_doubt(s, LB_UNDECIDED, "%s did not stand still before it was ended", client->name);
}

/* Clients end first: a live one could leave new records at the service after the teardown. All of them stand still
 * before the first one ends. Its connection closes with it, so its lock could go to a client that still asks. The
 * history would then show two holds, as the first one has no end. */
void lb_crew_end(struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++)
    if (lb_client_look(&s->client[i]) == LB_LIFE_RUNS) lb_crew_hold_still(s, &s->client[i]);
  for (size_t i = 0; i < s->client_count; i++) lb_client_end(&s->client[i]);
  tear_down(s);
  lb_client_end(&s->observer);
  if (s->client_plan.workers) s->client[0].driver->dismiss(&s->client_plan);
  if (s->client_plan.output > 0) close(s->client_plan.output);
  s->client_plan.output = 0;
}

void lb_crew_dismiss(struct lb_stage *s) {
  lb_memory_unmap(s->memory);
  s->memory = NULL;
  free(s->client);
  free(s->pending);
  free(s->kept);
  s->kept = NULL;
  s->client = NULL;
  s->pending = NULL;
}

static bool has_died(struct lb_client *client) { return lb_client_look(client) == LB_LIFE_DIED; }

/* A server that a step has killed has no pid any more, and such a client has the life LB_LIFE_KILLED. Any other one
 * that is dead here died by itself. */
void lb_crew_count_heads(struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++)
    if (has_died(&s->client[i])) lb_stage_died(s, &s->client[i]);
  if (has_died(&s->observer)) lb_stage_died(s, &s->observer);
  for (size_t i = 0; i < s->cluster.server_count; i++) {
    struct lb_server *server = &s->cluster.server[i];
    if (server->proc.pid > 0 && !lb_proc_alive(&server->proc))
      lb_stage_doubt(s, LB_UNDECIDED, "%s died by itself", server->name);
  }
}
