/* SPDX-License-Identifier: MIT
 *
 * From a command to the holder and the hooks of the protocol. What waits here waits in true time on the ground of the
 * driver; what the protocol waits for, it waits for by its host's clock.
 */
#include "program.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hook.h"

enum { STREAM_ENV = 1, STREAM_WORK = 2, STREAM_BACKOFF = 3, STREAM_ARRIVALS = 4 };
enum { LOOK_MS = 50, OPEN_AGAIN_MS = 20, LET_GO_MS = 2000 };

/* Deadlines arrive in true time and protocols live by their host's clock: this is the only place where the one becomes
 * the other. */
static lb_ns as_seen(const struct lb_program *p, lb_ns true_deadline) {
  return lb_env_from_truth(&p->env, true_deadline);
}

static lb_ns holder_to_truth(struct lb_env *env, lb_ns ns) { return lb_env_to_truth((struct lb_process_env *)env, ns); }

static int do_open(struct lb_program *p, lb_ns deadline) {
  p->holder.session = calloc(1, p->plan->protocol->session_size);
  if (!p->holder.session)
    return lb_fail(&p->env.base, -ENOMEM, "no memory for a session of %zu bytes", p->plan->protocol->session_size);
  int r = lb_hook_open(&p->holder, &p->config, deadline);
  if (r == LB_OK && p->plan->protocol->round_trip)
    atomic_store(&p->plan->memory->state[p->client->number].round_trip,
                 p->plan->protocol->round_trip(p->holder.session));
  return r;
}

static void undo_open(struct lb_program *p, lb_ns deadline) {
  if (p->holder.session) lb_hook_close(&p->holder, deadline);
  lb_program_end(p);
}

/* A client that opens its session late goes on trying: the service may be coming back just then. */
static int need_session(struct lb_program *p, lb_ns deadline) {
  while (!p->holder.session) {
    int r = do_open(p, deadline);
    if (r == LB_OK) return LB_OK;
    undo_open(p, deadline);
    if (p->holder.breached || lb_now(&p->env.base) >= deadline) return r;
    p->ground->sleep_until(p, lb_clock_ns() + OPEN_AGAIN_MS * LB_NS_PER_MS);
  }
  return LB_OK;
}

/* As a client that is started anew, only that what it may still owe is not forgotten. */
static int do_reopen(struct lb_program *p, size_t only, lb_ns deadline) {
  if (lb_holder_holds(&p->holder))
    return lb_fail(&p->env.base, -EBUSY, "it holds the lock, which would end with its session");
  undo_open(p, deadline);
  p->config.target = p->plan->target;
  p->holder.endpoint_base = only ? only - 1 : 0;
  if (only) {
    p->bound = *p->plan->target;
    p->bound.endpoints += only - 1;
    p->bound.count = 1;
    p->config.target = &p->bound;
  }
  p->holder.endpoint_count = p->config.target ? p->config.target->count : 0;
  return do_open(p, deadline);
}

static void rest(struct lb_program *p, lb_ns duration) {
  p->ground->sleep_until(p, duration ? lb_clock_ns() + duration : 0);
}

static lb_ns min_ns(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* Some of the time until `end`, with the watchdog beside it. The clock that says when to renew may be set meanwhile, so
 * it is looked at from time to time. */
static void rest_and_renew(struct lb_program *p, lb_ns end) {
  lb_ns due = lb_holder_due(&p->holder), look = lb_clock_ns() + LOOK_MS * LB_NS_PER_MS;
  if (due != LB_NEVER) end = min_ns(end, lb_env_to_truth(&p->env, due));
  p->ground->sleep_until(p, min_ns(end, look));
  lb_holder_renew(&p->holder);
}

/* Work that takes `duration` of true time; who learns that it lost the lock stops working. */
static void work_inside(struct lb_program *p, lb_ns duration) {
  if (lb_holder_due(&p->holder) == LB_NEVER) return rest(p, duration);
  lb_ns end = lb_clock_ns() + duration;
  while (p->holder.holding && lb_clock_ns() < end) rest_and_renew(p, end);
}

static int do_acquire(struct lb_program *p, const struct lb_command *c) {
  int r = need_session(p, c->deadline);
  p->holder.shared = c->shared;
  p->holder.next_ttl_ms = c->ttl_ms ? c->ttl_ms : p->plan->ttl_ms;
  return r == LB_OK ? lb_holder_acquire(&p->holder, c->key, c->deadline) : r;
}

/* What the program of a client does without a command. */
static int do_section(struct lb_program *p, const struct lb_command *c) {
  int r = do_acquire(p, c);
  if (r != LB_OK) return r;
  if (lb_holder_read(&p->holder) == LB_OK) lb_holder_write(&p->holder);
  lb_holder_release(&p->holder, as_seen(p, lb_clock_ns() + LET_GO_MS * LB_NS_PER_MS));
  return LB_OK;
}

static uint32_t next_key(struct lb_program *p) {
  uint32_t keys = p->plan->work.keys;
  double skew = p->plan->work.skew;
  if (keys && skew > 0) return (uint32_t)lb_rng_zipf(&p->rng, keys, skew);
  return keys ? (uint32_t)lb_rng_below(&p->rng, keys) : p->client->own_key;
}

static lb_ns length_of(struct lb_program *p, lb_ns mean, bool random) {
  return random ? lb_rng_exponential(&p->rng, mean) : mean;
}

/* A reader looks again in place of the write: nothing may have changed while it held. */
static void do_critical_section(struct lb_program *p, lb_ns hold_ns) {
  if (lb_holder_read(&p->holder) != LB_OK) return;
  work_inside(p, hold_ns);
  if (p->holder.shared) lb_holder_read(&p->holder);
  else lb_holder_write(&p->holder);
}

static bool has_to_stop(const struct lb_program *p) {
  return atomic_load_explicit(&p->plan->memory->phase, memory_order_relaxed) == LB_PHASE_STOP;
}

/* From one arrival to the next. The sum of random clients is as random: gaps are exponential. Without chance the
 * clients arrive one after the other, each at a time of its own within the gap. */
static lb_ns next_gap(struct lb_program *p) {
  const struct lb_work *work = &p->plan->work;
  return work->random ? lb_rng_exponential(&p->arrivals, work->gap_ns) : work->gap_ns;
}

static lb_ns first_arrival(struct lb_program *p) {
  const struct lb_work *work = &p->plan->work;
  size_t clients = p->plan->memory->client_count;
  return lb_clock_ns() + (work->random ? next_gap(p) : work->gap_ns * p->client->number / (clients ? clients : 1));
}

/* What was due while this client was busy is asked for at once, and is as late as it is: the schedule is never begun
 * anew, or a service that stood still would be asked less for that. */
static void await_arrival(struct lb_program *p) {
  lb_ns now;
  while ((now = lb_clock_ns()) < p->holder.due && !has_to_stop(p))
    p->ground->sleep_until(p, min_ns(p->holder.due, now + LOOK_MS * LB_NS_PER_MS));
}

static void rest_between(struct lb_program *p) {
  if (!p->holder.due) return rest(p, length_of(p, p->plan->work.think_ns, p->plan->work.think_random));
  p->holder.due += next_gap(p);
  await_arrival(p);
}

/* Acquire, read, hold, write, release; then think, or wait for the next arrival. */
static int do_work(struct lb_program *p) {
  const struct lb_work *work = &p->plan->work;
  struct lb_memory *memory = p->plan->memory;
  p->holder.shared = p->client->number < work->readers;
  if (work->gap_ns) p->holder.due = first_arrival(p), await_arrival(p);
  while (!has_to_stop(p)) {
    if (p->holder.breached || atomic_load_explicit(&memory->log_full, memory_order_relaxed)) {
      rest(p, LB_NS_PER_MS);
      continue;
    }
    if (lb_holder_acquire(&p->holder, next_key(p), as_seen(p, lb_clock_ns() + work->wait_ns)) == LB_OK) {
      do_critical_section(p, length_of(p, work->hold_ns, work->hold_random));
      lb_holder_release(&p->holder, as_seen(p, lb_clock_ns() + work->wait_ns));
    }
    rest_between(p);
  }
  p->holder.due = 0;
  return LB_OK;
}

/* Beside the steps of a timeline. */
static int do_repeat(struct lb_program *p, const struct lb_command *c) {
  struct lb_client_state *state = &p->plan->memory->state[p->client->number];
  while (!has_to_stop(p) && !p->holder.breached) {
    struct lb_command once = *c;
    once.deadline = as_seen(p, lb_clock_ns() + c->wait_ns);
    if (do_acquire(p, &once) == LB_OK) {
      atomic_fetch_add(&state->rounds, 1);
      do_critical_section(p, c->hold_ns);
      lb_holder_release(&p->holder, as_seen(p, lb_clock_ns() + LET_GO_MS * LB_NS_PER_MS));
    }
    lb_ns now, until = lb_clock_ns() + c->rest_ns;
    while ((now = lb_clock_ns()) < until && !has_to_stop(p))
      p->ground->sleep_until(p, min_ns(until, now + LOOK_MS * LB_NS_PER_MS));
  }
  return LB_OK;
}

/* The lease of a program that goes no further is renewed all the same. */
static void hang(struct lb_program *p, struct lb_client_state *state) {
  atomic_store(&state->hangs, true);
  while (atomic_load(&state->hangs)) rest_and_renew(p, LB_NEVER);
}

static void pass_point(struct lb_env *env, const char *name) {
  struct lb_program *p = (struct lb_program *)((char *)env - offsetof(struct lb_program, env.base));
  if (strcmp(p->armed.text, name) != 0) return;
  struct lb_client_state *state = &p->plan->memory->state[p->client->number];
  env->point = NULL; /* once */
  atomic_store(&state->at_point, true);
  if (p->armed.argument == LB_AT_POINT_HANG) hang(p, state);
  else if (p->armed.argument != LB_AT_POINT_GATE || !atomic_load(&state->gate_open))
    p->ground->halt(p, p->armed.argument == LB_AT_POINT_DIE);
  atomic_store(&state->at_point, false);
}

static int do_arm(struct lb_program *p, const struct lb_command *c) {
  p->armed = *c;
  p->armed.text[sizeof p->armed.text - 1] = '\0';
  p->env.base.point = pass_point;
  return LB_OK;
}

/* What one server has of the lock is looked at, or removed by hand. */
static int do_at_server(struct lb_program *p, const struct lb_command *c) {
  char name[LB_KEY_NAME_MAX];
  struct lb_lock lock = lb_holder_lock(&p->holder, 0, name);
  const struct lb_protocol *protocol = p->plan->protocol;
  bool looks = c->verb == LB_DO_INSPECT;
  if (looks ? !lb_proofs(protocol)->inspect : !protocol->break_lock)
    return lb_fail(&p->env.base, -EOPNOTSUPP,
                   looks ? "%s has no way to look at one server" : "%s has no record that could be removed",
                   protocol->name);
  return lb_hook_at_server(&p->holder, looks ? LB_HOOK_INSPECT : LB_HOOK_BREAK_LOCK, &lock, c->argument, c->deadline);
}

/* The holder, busy with that key. */
static struct lb_holder *at_key(struct lb_program *p, uint32_t key) {
  return lb_holder_turn_to(&p->holder, key), &p->holder;
}

static int64_t clock_ms(struct lb_program *p, bool monotonic) {
  return monotonic ? (int64_t)(lb_now(&p->env.base) / LB_NS_PER_MS) : lb_wall_ms(&p->env.base);
}

/* `c->deadline` is on the client's clock by now. */
static int execute(struct lb_program *p, const struct lb_command *c, int64_t *ret) {
  switch (c->verb) {
    case LB_DO_OPEN: return do_open(p, c->deadline);
    case LB_DO_REOPEN: return do_reopen(p, c->argument, c->deadline);
    case LB_DO_SETUP: return lb_hook_call(&p->holder, LB_HOOK_SETUP, NULL, NULL, c->deadline);
    case LB_DO_TEARDOWN: return lb_hook_call(&p->holder, LB_HOOK_TEARDOWN, NULL, NULL, c->deadline);
    case LB_DO_WORK: return do_work(p);
    case LB_DO_ACQUIRE: return do_acquire(p, c);
    case LB_DO_SECTION: return do_section(p, c);
    case LB_DO_REPEAT: return do_repeat(p, c);
    case LB_DO_RELEASE: return lb_holder_release(at_key(p, c->key), c->deadline);
    case LB_DO_HOLDERS_WORK: return lb_holder_work(at_key(p, c->key), c->deadline);
    case LB_DO_HAND_OVER: return lb_holder_hand_over(at_key(p, c->key));
    case LB_DO_RELEASE_OF: return lb_holder_release_of(&p->holder, (uint32_t)c->argument, c->deadline);
    case LB_DO_RELEASE_ANYWAY: return lb_holder_release_anyway(&p->holder, c->key, c->deadline);
    case LB_DO_END_RENEWALS: return lb_holder_end_renewals(&p->holder);
    case LB_DO_STOP: return lb_hook_call(&p->holder, LB_HOOK_STOP, NULL, NULL, c->deadline);
    case LB_DO_READ: return lb_holder_read(at_key(p, c->key));
    case LB_DO_READ_EARLY: return lb_holder_read_early(&p->holder, c->key);
    case LB_DO_WRITE: return lb_holder_write(at_key(p, c->key));
    case LB_DO_WRITE_LATE: return lb_holder_write_late(at_key(p, c->key));
    case LB_DO_INSPECT:
    case LB_DO_BREAK: return do_at_server(p, c);
    case LB_DO_ARM: return do_arm(p, c);
    case LB_DO_SERVER: return p->holder.session ? lb_holder_server(&p->holder) : -ENOENT;
    case LB_DO_CLOCK: return *ret = clock_ms(p, c->argument != 0), LB_OK;
  }
  return -EINVAL;
}

void lb_program_do(struct lb_program *p, struct lb_command command, struct lb_reply *ret) {
  *ret = (struct lb_reply){0};
  p->env.base.err[0] = '\0';
  command.deadline = as_seen(p, command.deadline);
  ret->result = execute(p, &command, &ret->value);
  memcpy(ret->err, p->env.base.err, sizeof ret->err);
}

/* The number of its random streams: the lives of a client must not draw the same tokens. */
static uint64_t stream_of(struct lb_memory *memory, uint32_t number) {
  return number | (uint64_t)(atomic_load(&memory->state[number].lives) - 1) << 32;
}

void lb_program_begin(struct lb_program *p, const struct lb_client_plan *plan, const struct lb_client *client,
                      const struct lb_ground *ground) {
  uint64_t stream = stream_of(plan->memory, client->number);
  *p = (struct lb_program){
      .plan = plan,
      .client = client,
      .ground = ground,
      .config = {.target = plan->target,
                 .options = plan->options,
                 .ttl_ms = plan->ttl_ms,
                 .client = client->name,
                 .protocol = plan->protocol,
                 .prefix = plan->key_prefix,
                 .looks_on = client->number == plan->memory->client_count},
      .holder = {.protocol = plan->protocol,
                 .memory = plan->memory,
                 .client = client->number,
                 .log = client->log,
                 .ttl_ms = plan->ttl_ms,
                 .request_ms = plan->request_ms,
                 .endpoint_count = plan->target ? plan->target->count : 0,
                 .names_server = plan->names_server,
                 .prefix = plan->key_prefix,
                 .guard = plan->guard,
                 .permits = plan->permits,
                 .polls = !lb_wakes(plan->protocol, plan->options),
                 .waits_inside = lb_waits_inside(plan->protocol, plan->options),
                 .poll_ms = lb_poll_ms(plan->protocol, plan->options),
                 .believes_late = lb_believes_late(plan->protocol, plan->options),
                 .by_wall = lb_counts_by_wall(plan->protocol, plan->options),
                 .renew = plan->renew || plan->protocol->traits & LB_TRAIT_RENEWED,
                 .renewed_for = lb_renewed_for(plan->protocol, plan->options),
                 .to_truth = holder_to_truth,
                 .rng = lb_rng_fork(plan->seed, STREAM_BACKOFF, stream)},
      .rng = lb_rng_fork(plan->seed, STREAM_WORK, stream),
      .arrivals = lb_rng_fork(plan->seed, STREAM_ARRIVALS, stream),
  };
  lb_env_init(&p->env, lb_rng_fork(plan->seed, STREAM_ENV, stream).state);
  p->env.skew = client->skew;
  p->env.told = &plan->memory->state[client->number].wall;
  p->config.env = p->holder.env = &p->env.base;
}

void lb_program_end(struct lb_program *p) {
  free(p->holder.session);
  p->holder.session = NULL;
}
