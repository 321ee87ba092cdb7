/* SPDX-License-Identifier: MIT
 *
 * Clients as threads of one process. A worker is a turn: of its clients only the one that has it runs, and it gives it
 * away where it waits. So a worker's log has one writer at any time and needs no lock, as in a driver with coroutines,
 * and clients of different workers really run side by side.
 *
 * A stop or a kill takes effect where a client asks for its turn again. Whoever waits does not run, so it stands still
 * at once.
 *
 * Clients that never rest have the mutex of their worker nearly all the time. Who waits for it gets it in its turn: a
 * mutex with priority inheritance is handed over by the kernel, an ordinary one is left to whoever comes first, which
 * the controller may not be for seconds.
 */
#include "driver_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/hooks.h"
#include "client/program.h"

enum { FOLLOW_MS = 1000, QUEUE_MAX = 8 };

struct worker {
  pthread_mutex_t mutex; /* over all of this and of the bodies of its clients, but for their programs */
  pthread_cond_t changed;
  uint64_t next_ticket, turn; /* who took a ticket first has its turn first */
};

struct lb_workers {
  size_t count;
  struct worker worker[DRIVER_THREADS_WORKERS];
};

struct lb_body {
  struct worker *worker;
  const struct lb_client *client;
  const struct lb_client_plan *plan;
  struct lb_program program; /* touched by whoever has the turn */
  void (*env_sleep_until)(struct lb_env *env, lb_ns when);
  int (*env_wait_fds)(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);
  pthread_t thread;
  bool runs;         /* it has the turn */
  bool stop, kill;   /* it is told to */
  bool fell;         /* it killed itself at a point */
  bool over, joined; /* its thread has ended, and is known to have */
  struct lb_command command[QUEUE_MAX];
  struct lb_reply reply[QUEUE_MAX];
  size_t sent, taken, answered, read; /* commands sent and taken, answers given and read */
};

/* ---- turns: with the worker's mutex held ------------------------------------------------------------------------- */

static void changed(struct worker *w) { pthread_cond_broadcast(&w->changed); }

/* False: the time is over. */
static bool wait_for_change(struct worker *w, lb_ns deadline) {
  struct timespec ts = {.tv_sec = (time_t)(deadline / LB_NS_PER_S), .tv_nsec = (long)(deadline % LB_NS_PER_S)};
  if (deadline == LB_NEVER) return pthread_cond_wait(&w->changed, &w->mutex) == 0;
  return pthread_cond_timedwait(&w->changed, &w->mutex, &ts) != ETIMEDOUT;
}

static void pass_turn(struct worker *w) {
  w->turn++;
  changed(w);
}

static _Noreturn void fall(struct lb_body *b) {
  b->over = true;
  changed(b->worker);
  pthread_mutex_unlock(&b->worker->mutex);
  pthread_exit(NULL);
}

static void take_turn(struct lb_body *b) {
  struct worker *w = b->worker;
  for (;;) {
    while (b->stop && !b->kill) wait_for_change(w, LB_NEVER);
    uint64_t ticket = w->next_ticket++;
    while (w->turn != ticket) wait_for_change(w, LB_NEVER);
    if (!b->stop && !b->kill) break;
    pass_turn(w);
    if (b->kill) fall(b);
  }
  b->runs = true;
}

static void give_turn(struct lb_body *b) {
  b->runs = false;
  pass_turn(b->worker);
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

static struct lb_body *body_of(struct lb_program *program) {
  return (struct lb_body *)((char *)program - offsetof(struct lb_body, program));
}

static struct lb_body *body_of_env(struct lb_env *env) {
  return body_of((struct lb_program *)((char *)env - offsetof(struct lb_program, env.base)));
}

static void thread_sleep_until(struct lb_program *program, lb_ns when) {
  struct lb_body *b = body_of(program);
  pthread_mutex_lock(&b->worker->mutex);
  give_turn(b);
  while (!b->kill && lb_clock_ns() < when) wait_for_change(b->worker, when);
  take_turn(b);
  pthread_mutex_unlock(&b->worker->mutex);
}

static void thread_halt(struct lb_program *program, bool dies) {
  struct lb_body *b = body_of(program);
  pthread_mutex_lock(&b->worker->mutex);
  give_turn(b);
  if (dies) {
    b->fell = true;
    fall(b);
  }
  b->stop = true;
  changed(b->worker);
  take_turn(b);
  pthread_mutex_unlock(&b->worker->mutex);
}

static const struct lb_ground thread_ground = {.sleep_until = thread_sleep_until, .halt = thread_halt};

/* What the protocol waits for, others may have the turn for meanwhile. */
static void lend(struct lb_body *b) {
  pthread_mutex_lock(&b->worker->mutex);
  give_turn(b);
  pthread_mutex_unlock(&b->worker->mutex);
}

static void take_back(struct lb_body *b) {
  pthread_mutex_lock(&b->worker->mutex);
  take_turn(b);
  pthread_mutex_unlock(&b->worker->mutex);
}

static void env_sleep_until(struct lb_env *env, lb_ns when) {
  struct lb_body *b = body_of_env(env);
  lend(b);
  b->env_sleep_until(env, when);
  take_back(b);
}

static int env_wait_fds(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  struct lb_body *b = body_of_env(env);
  lend(b);
  int r = b->env_wait_fds(env, fds, count, deadline);
  take_back(b);
  return r;
}

/* With the turn and without the mutex, before and after. */
static struct lb_command next_command(struct lb_body *b) {
  struct worker *w = b->worker;
  for (;;) {
    lb_ns due = lb_env_to_truth(&b->program.env, lb_holder_due(&b->program.holder));
    pthread_mutex_lock(&w->mutex);
    give_turn(b);
    while (!b->kill && b->taken == b->sent && wait_for_change(w, due)) {
    }
    take_turn(b);
    bool there = b->taken < b->sent;
    struct lb_command command = b->command[b->taken % QUEUE_MAX];
    b->taken += there;
    pthread_mutex_unlock(&w->mutex);
    if (there) return command;
    lb_holder_renew(&b->program.holder);
  }
}

static void *thread_main(void *arg) {
  struct lb_body *b = arg;
  struct worker *w = b->worker;
  take_back(b);
  for (;;) {
    struct lb_reply reply;
    lb_program_do(&b->program, next_command(b), &reply);
    pthread_mutex_lock(&w->mutex);
    b->reply[b->answered++ % QUEUE_MAX] = reply;
    changed(w);
    pthread_mutex_unlock(&w->mutex);
  }
  return NULL;
}

/* ---- the controller's side --------------------------------------------------------------------------------------- */

static size_t threads_writers(size_t clients) {
  return clients < DRIVER_THREADS_WORKERS ? clients : DRIVER_THREADS_WORKERS;
}

static int threads_gather(struct lb_client_plan *plan, size_t writers) {
  pthread_condattr_t attr;
  pthread_mutexattr_t handed_over;
  struct lb_workers *workers = calloc(1, sizeof *workers);
  if (!workers) return -ENOMEM;
  lb_hooks_own_process();
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_mutexattr_init(&handed_over);
  pthread_mutexattr_setprotocol(&handed_over, PTHREAD_PRIO_INHERIT);
  workers->count = writers;
  for (size_t i = 0; i < writers; i++) {
    pthread_mutex_init(&workers->worker[i].mutex, &handed_over);
    pthread_cond_init(&workers->worker[i].changed, &attr);
  }
  pthread_mutexattr_destroy(&handed_over);
  pthread_condattr_destroy(&attr);
  plan->workers = workers;
  return 0;
}

static void threads_dismiss(struct lb_client_plan *plan) {
  for (size_t i = 0; i < plan->workers->count; i++) {
    pthread_cond_destroy(&plan->workers->worker[i].changed);
    pthread_mutex_destroy(&plan->workers->worker[i].mutex);
  }
  free(plan->workers);
  plan->workers = NULL;
}

static int threads_start(struct lb_client *client, const struct lb_client_plan *plan) {
  struct lb_body *b = calloc(1, sizeof *b);
  if (!b) return -ENOMEM;
  b->worker = &plan->workers->worker[client->log];
  b->client = client;
  b->plan = plan;
  lb_program_begin(&b->program, plan, client, &thread_ground);
  struct lb_env *env = &b->program.env.base;
  b->env_sleep_until = env->sleep_until;
  b->env_wait_fds = env->wait_fds;
  env->sleep_until = env_sleep_until;
  env->wait_fds = env_wait_fds;
  int r = pthread_create(&b->thread, NULL, thread_main, b);
  if (r == 0) client->body = b;
  else free(b);
  return -r;
}

static int threads_send(struct lb_client *client, const struct lb_command *command) {
  struct lb_body *b = client->body;
  int r = 0;
  pthread_mutex_lock(&b->worker->mutex);
  if (b->over) r = -EPIPE;
  else if (b->sent - b->read == QUEUE_MAX) r = -EAGAIN;
  else b->command[b->sent++ % QUEUE_MAX] = *command;
  changed(b->worker);
  pthread_mutex_unlock(&b->worker->mutex);
  return r;
}

static int threads_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  struct lb_body *b = client->body;
  int r = 0;
  pthread_mutex_lock(&b->worker->mutex);
  while (b->read == b->answered && !b->over && r == 0) r = wait_for_change(b->worker, deadline) ? 0 : LB_TIMEOUT;
  if (b->read < b->answered) {
    *ret = b->reply[b->read++ % QUEUE_MAX];
    r = 0;
  } else if (b->over) {
    r = -ECONNRESET;
  }
  pthread_mutex_unlock(&b->worker->mutex);
  return r;
}

static int threads_peek(const struct lb_client *client) {
  struct lb_body *b = client->body;
  pthread_mutex_lock(&b->worker->mutex);
  int r = b->read < b->answered ? 1 : b->over ? -ECONNRESET : 0;
  pthread_mutex_unlock(&b->worker->mutex);
  return r;
}

static enum lb_life life_of(const struct lb_body *b) {
  if (b->joined) return LB_LIFE_KILLED;
  if (b->over) return LB_LIFE_DIED;
  return b->stop && !b->runs ? LB_LIFE_STOPPED : LB_LIFE_RUNS;
}

static enum lb_life threads_look(struct lb_client *client) {
  pthread_mutex_lock(&client->body->worker->mutex);
  enum lb_life life = life_of(client->body);
  pthread_mutex_unlock(&client->body->worker->mutex);
  return life;
}

static int threads_kill(struct lb_body *b) {
  if (b->joined) return -ESRCH;
  pthread_mutex_lock(&b->worker->mutex);
  b->kill = true;
  changed(b->worker);
  pthread_mutex_unlock(&b->worker->mutex);
  pthread_join(b->thread, NULL);
  b->joined = true;
  return 0;
}

/* It has its second from when it is told. */
static int threads_signal(struct lb_client *client, enum lb_client_signal signal) {
  struct lb_body *b = client->body;
  bool stop = signal == LB_CLIENT_STOP, in_time = true;
  if (signal == LB_CLIENT_KILL) return threads_kill(b);
  pthread_mutex_lock(&b->worker->mutex);
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  b->stop = stop;
  changed(b->worker);
  while (stop && b->runs && !b->over && in_time) in_time = wait_for_change(b->worker, deadline);
  int r = b->over ? -ESRCH : stop && b->runs ? -ETIMEDOUT : 0;
  pthread_mutex_unlock(&b->worker->mutex);
  return r;
}

static void threads_tell_end(const struct lb_client *client, char *buf, size_t size) {
  snprintf(buf, size, "%s", client->body->fell ? "fell at a point" : "was ended");
}

static void threads_end(struct lb_client *client) {
  threads_kill(client->body);
  lb_program_end(&client->body->program);
  free(client->body);
  client->body = NULL;
}

const struct lb_driver driver_threads = {
    .name = "threads",
    .writers = threads_writers,
    .gather = threads_gather,
    .dismiss = threads_dismiss,
    .start = threads_start,
    .send = threads_send,
    .await = threads_await,
    .peek = threads_peek,
    .look = threads_look,
    .signal = threads_signal,
    .tell_end = threads_tell_end,
    .end = threads_end,
};
