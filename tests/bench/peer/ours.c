/* SPDX-License-Identifier: MIT
 *
 * The side of zk-sequential: a process for each client, as in a trial. It makes the calls that a trial's client makes,
 * with nothing recorded but what the other side records as well.
 */
#include "peer.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/env.h"

extern const struct lb_protocol lb_zk_sequential;

struct client {
  struct lb_process_env env;
  struct lb_session *session;
  struct peer_log *log;
  struct peer_client *own;
  struct lb_lock lock;
  lb_ns pace; /* 0 = it contends with the others */
};

static lb_ns soon(struct client *c) { return lb_now(&c->env.base) + PEER_PATIENCE_S * LB_NS_PER_S; }

static void succeed(struct client *c, const char *hook, int result) {
  if (result != LB_OK) errx(1, "zk-sequential: %s answered %d: %s", hook, result, c->env.base.err);
}

static void open_session(struct client *c, size_t i, const struct peer_place *place, bool recipe) {
  static struct lb_target target;
  static char name[20], key[80];
  static union lb_value options[1];
  options[0].b = recipe;
  target = *place->target;
  target.endpoints += i % target.count;
  target.count = 1;
  snprintf(name, sizeof name, "peer-%zu", i + 1);
  if (c->pace) snprintf(key, sizeof key, "%s-beside-%zu", place->prefix, i);
  else snprintf(key, sizeof key, "%s-%s", place->prefix, recipe ? "recipe" : "hot");
  lb_env_init(&c->env, i + 1);
  c->lock = (struct lb_lock){.key = key, .ttl_ms = place->ttl_ms};
  c->session = calloc(1, lb_zk_sequential.session_size);
  if (!c->session) err(1, "zk-sequential");
  struct lb_config config = {.env = &c->env.base,
                             .target = &target,
                             .options = options,
                             .ttl_ms = place->ttl_ms,
                             .client = name,
                             .protocol = &lb_zk_sequential,
                             .prefix = place->prefix};
  succeed(c, "open", lb_zk_sequential.open(c->session, &config, soon(c)));
  succeed(c, "setup", lb_zk_sequential.setup(c->session, soon(c)));
}

/* As client/holder.c does it. */
static void acquire(struct client *c, struct lb_grant *grant) {
  lb_ns deadline = soon(c);
  int result;
  *grant = LB_GRANT_INIT;
  while ((result = lb_zk_sequential.try_acquire(c->session, &c->lock, grant, deadline)) == LB_BUSY)
    succeed(c, "wait", lb_zk_sequential.wait(c->session, &c->lock, grant, deadline));
  succeed(c, "try_acquire", result);
}

static void work(struct client *c) {
  struct lb_grant grant;
  while (!atomic_load(&c->log->stop)) {
    uint64_t n = atomic_load(&c->own->count);
    if (n == PEER_RECORDS) errx(1, "zk-sequential: the log is full");
    struct peer_record *r = &c->own->record[n];
    acquire(c, &grant);
    r->granted = lb_now(&c->env.base);
    r->release = lb_now(&c->env.base);
    succeed(c, "release", lb_zk_sequential.release(c->session, &c->lock, &grant, soon(c)));
    r->released = lb_now(&c->env.base);
    atomic_store(&c->own->count, n + 1);
    if (c->pace) lb_sleep_until(&c->env.base, r->released + c->pace);
  }
}

static _Noreturn void client_main(struct client *c, size_t i, const struct peer_place *place, bool recipe,
                                  const int pipes[2]) {
  char go = '.';
  c->own = &c->log->client[i];
  open_session(c, i, place, recipe);
  while (write(pipes[1], &go, 1) == 1 && read(pipes[0], &go, 1) == 1) work(c);
  exit(0);
}

static void open_clients(struct peer_side *side, const struct peer_place *place, bool recipe, size_t clients,
                         lb_ns pace) {
  static struct client client;
  int answer[2], command[2];
  pid_t parent = getpid();
  side->name = recipe ? "recipe=yes" : "zk-sequential";
  peer_log_make(side);
  if (pipe2(answer, O_CLOEXEC) < 0) err(1, "pipe");
  side->answer = answer[0];
  for (size_t i = 0; i < clients; i++) {
    if (pipe2(command, O_CLOEXEC) < 0) err(1, "pipe");
    pid_t pid = fork();
    if (pid < 0) err(1, "fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      client.log = side->log;
      client.pace = pace;
      client_main(&client, i, place, recipe, (int[]){command[0], answer[1]});
    }
    close(command[0]);
    side->command[i] = command[1];
    side->process[i] = pid;
  }
  close(answer[1]);
  peer_await(side, clients);
}

void peer_ours_open(struct peer_side *side, const struct peer_place *place, bool recipe) {
  open_clients(side, place, recipe, PEER_CLIENTS, 0);
}

void peer_bystanders_open(struct peer_side *side, const struct peer_place *place, size_t clients) {
  open_clients(side, place, true, clients, PEER_PACE_MS * LB_NS_PER_MS);
}

void peer_ours_work(struct peer_side *side, size_t first, size_t count) {
  atomic_store(&side->log->stop, 0);
  for (size_t i = 0; i < PEER_CLIENTS; i++) atomic_store(&side->log->client[i].count, 0);
  side->at_work = count;
  for (size_t i = first; i < first + count; i++)
    if (write(side->command[i], "g", 1) != 1) err(1, "zk-sequential: client %zu", i + 1);
}
