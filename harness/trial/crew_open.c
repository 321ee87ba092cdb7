/* SPDX-License-Identifier: MIT
 *
 * Sessions are opened a few at a time: 64 at once take each other's processors, and a server that forks a process for each of them answers the last one
 * when all are served. How many at a time depends on the machine alone, so it is the same for every protocol; it happens before anything is measured.
 *
 * The limit of a session counts from when it was asked for, and not while the machine held it up: when no processor stood still, or when the
 * heartbeat (client/memory.h) measured a stall. A client that ran into its limit on such a machine is asked again and has twice as long. So the whole goes on for as long as sessions
 * keep coming, and a server that does not answer on an idle machine is told after one limit.
 */
#include "crew_open.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/refuse.h"
#include "base/machine.h"
#include "client/client.h"

/* An interpreter and its libraries take a second to start. MOST_S: for the observer, and again for each MOST_CLIENTS clients: then a machine is too slow for the trial. */
enum { OPEN_S = 10, OPEN_FOREIGN_S = 30, SET_UP_S = 30, LATE_S = 1, MOST_S = 120, MOST_CLIENTS = 16, SLICE_MS = 250, PER_CORE = 2 };
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

/* ---- one answer ------------------------------------------------------------------------------------------------------ */

/* The text names a breach of the contract before the client's own words, and says how a client died that cannot
 * speak any more. */
static int failed(struct lb_stage *s, struct lb_client *client, int r, const struct lb_reply *reply, const char *what, char *err, size_t err_size) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  char fate[200];
  if (r != 0) lb_client_fate(client, state, r, fate, sizeof fate);
  const char *why = r != 0 ? fate : state->breach[0] ? state->breach : reply->err[0] ? reply->err : "unknown outcome";
  lb_refuse(err, err_size, "%s could not %s: %s%s", client->name, what,
            r != 0 || !state->breach[0] ? "" : is_foreign(s) ? "breach of the line protocol: " : "breach of the contract: ", why);
  return -1;
}

struct asked {
  struct lb_client *client;
  int sent;       /* what became of sending it */
  lb_ns limit;
  lb_ns at, held; /* when, and how long the trial had been held up by then */
};

static struct asked ask(const struct lb_stage *s, struct pace *p, struct lb_client *client, enum lb_client_verb verb, lb_ns limit) {
  struct asked a = {.client = client, .limit = limit, .at = lb_clock_ns(), .held = held_up(s, p)};
  a.sent = lb_client_send(client, (struct lb_command){.verb = verb, .deadline = a.at + limit});
  return a;
}

/* A foreign session counts for itself what its program waits for (foreign_session.c), and always comes back. */
static int await_reply(const struct lb_stage *s, struct pace *p, const struct asked *a, lb_ns most, struct lb_reply *ret) {
  if (a->sent < 0) return a->sent;
  for (;;) {
    lb_ns held = held_up(s, p) - a->held, slice = lb_clock_ns() + SLICE_MS * LB_NS_PER_MS;
    lb_ns end = is_foreign(s) ? most : a->at + a->limit + LATE_S * LB_NS_PER_S + held;
    if (end > most) end = most;
    int r = lb_client_await(a->client, slice < end ? slice : end, ret);
    if (r != LB_TIMEOUT || lb_clock_ns() >= end) return r;
  }
}

/* It ran into its limit, and so had the machine. */
static bool may_ask_again(struct lb_stage *s, struct pace *p, const struct asked *a, lb_ns most) {
  lb_ns now = lb_clock_ns(), held = held_up(s, p) - a->held;
  return !is_foreign(s) && now >= a->at + a->limit && now < most && held * HELD_UP_SHARE >= a->limit && !lb_stage_state(s, a->client)->breach[0];
}

static int expect(struct lb_stage *s, struct pace *p, struct asked a, lb_ns most, char *err, size_t err_size) {
  struct lb_reply reply;
  for (;;) {
    int r = await_reply(s, p, &a, most, &reply);
    if (r == 0 && reply.result == LB_OK) return 0;
    if (r != 0 || !may_ask_again(s, p, &a, most)) return failed(s, a.client, r, &reply, "open a session", err, err_size);
    a = ask(s, p, a.client, LB_DO_REOPEN, 2 * a.limit);
  }
}

/* A call with this one deadline. */
static int call(struct lb_stage *s, struct lb_client *client, enum lb_client_verb verb, const char *what, lb_ns deadline, char *err, size_t err_size) {
  struct lb_reply reply;
  int r = lb_client_send(client, (struct lb_command){.verb = verb, .deadline = deadline});
  if (r == 0) r = lb_client_await(client, deadline + LATE_S * LB_NS_PER_S, &reply);
  return r == 0 && reply.result == LB_OK ? 0 : failed(s, client, r, &reply, what, err, err_size);
}

/* ---- all of them ----------------------------------------------------------------------------------------------------- */

static int at_a_time(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return PER_CORE * (int)(cores < 1 ? 1 : cores);
}

/* The next one is asked when the oldest has answered. Who opens late is told by a step. */
int lb_crew_open(struct lb_stage *s, struct lb_client *clients, size_t count, char *err, size_t err_size) {
  size_t width = (size_t)at_a_time(), next = 0;
  struct pace pace = pace_begin(s);
  lb_ns most = lb_clock_ns() + lb_crew_open_most(s->plan);
  struct asked *asked = calloc(count, sizeof *asked);
  if (!asked) return lb_refuse(err, err_size, "out of memory"), -1;
  int result = 0;
  for (size_t first = 0; first < count && result == 0; first++) {
    for (; next < count && next < first + width; next++) {
      bool late = clients != &s->observer && lb_scenario_opens_late(s->plan->scenario, (int)clients[next].number + 1);
      if (!late) asked[next] = ask(s, &pace, &clients[next], LB_DO_OPEN, limit_of(s));
    }
    if (asked[first].client) result = expect(s, &pace, asked[first], most, err, err_size);
  }
  free(asked);
  return result;
}

/* Once, as the contract says: so it has long enough from the first. */
int lb_crew_set_up(struct lb_stage *s, char *err, size_t err_size) {
  return call(s, &s->observer, LB_DO_SETUP, "set up", lb_clock_ns() + SET_UP_S * LB_NS_PER_S, err, err_size);
}

int lb_crew_open_by(struct lb_stage *s, struct lb_client *client, lb_ns deadline, char *err, size_t err_size) {
  return call(s, client, LB_DO_OPEN, "open a session", deadline, err, err_size);
}
