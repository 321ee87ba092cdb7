/* SPDX-License-Identifier: MIT
 *
 * Many clients in one process, each a coroutine, and such a process for each core. A thousand clients of a load are
 * then a thousand connections, and not a thousand processes that wait for the same cores. The hooks of a protocol are
 * the same: they block in their env only, and there another client goes on.
 *
 * A worker runs one event loop. Where a client waits, it leaves what it waits for with the loop, which resumes it. Its
 * sleeps are timers of the kernel, as libev counts whole milliseconds and a client that was refused waits for less.
 *
 * Commands, answers and what is told of a life stand in memory that the controller and its workers share. A byte on a
 * socket between them says that something has changed there.
 *
 * A client stops or dies only where it waits, so this is no driver for faults of clients (plan/fit.c). The connections of
 * one that was killed stay open until its worker ends.
 */
#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "coroutine.h"
#include "driver.h"
#include "hook.h"
#include "program.h"

enum { FOLLOW_MS = 1000, QUEUE_MAX = 8, FDS_MAX = 16 };

struct lb_body {
  struct worker *worker;
  const struct lb_client *client;
  const struct lb_client_plan *plan;
  _Atomic bool stop, kill;                    /* it is told to */
  _Atomic bool still;                         /* it has stopped */
  _Atomic bool fell, over;                    /* it killed itself at a point; it runs no more */
  bool buried;                                /* of the controller: it was killed */
  _Atomic size_t sent, taken, answered, read; /* commands sent and taken, answers given and read */
  struct lb_command command[QUEUE_MAX];
  struct lb_reply reply[QUEUE_MAX];
  /* All that follows is its worker's. */
  struct lb_program program;
  struct lb_coroutine *coroutine;  /* NULL = it has not begun */
  bool woken;                      /* what it waited for came while it stood still */
  bool idle;                       /* it waits for a command */
  bool gave_way;                   /* it has waited since it last rested, so the others have had their turns */
  struct ev_io io[FDS_MAX], alarm; /* what it waits for: descriptors, its timer of the kernel, ... */
  struct pollfd *fds;              /* ... which these are */
  size_t fd_count;
  int ready;             /* of them */
  struct ev_timer limit; /* the end of a wait for descriptors */
  struct ev_idle turn;   /* its next turn */
};

struct worker {
  pid_t pid; /* 0 = it has not started, or is reaped */
  int status;
  int bell[2]; /* of the controller, of the worker */
  struct lb_workers *all;
  struct ev_loop *loop;
  struct ev_io news;
  size_t number;
};

struct lb_workers {
  size_t size, count, body_count;
  struct worker *worker;
  struct lb_body body[]; /* by number of the client */
};

/* A full socket is fine: the other side has a ring to read, and will then find all that is new. */
static void ring(int bell) { (void)!send(bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); }

/* ---- in a worker: a client waits ---------------------------------------------------------------------------------- */

static void forget_waits(struct lb_body *b) {
  struct ev_loop *loop = b->worker->loop;
  for (size_t i = 0; i < b->fd_count; i++) ev_io_stop(loop, &b->io[i]);
  b->fd_count = 0;
  b->idle = false;
  ev_io_stop(loop, &b->alarm);
  ev_timer_stop(loop, &b->limit);
  ev_idle_stop(loop, &b->turn);
}

static void go_on(struct lb_body *b) {
  if (lb_coroutine_resume(b->coroutine)) return;
  atomic_store(&b->over, true);
  ring(b->worker->bell[1]);
}

/* What it has waited for is there. */
static void wake(struct lb_body *b) {
  forget_waits(b);
  b->woken = true;
  if (atomic_load(&b->still)) return;
  b->woken = false;
  go_on(b);
}

static void on_io(struct ev_loop *loop, struct ev_io *io, int events) {
  struct lb_body *b = io->data;
  (void)loop;
  /* Which of several are ready, or what is wrong with one, poll(2) says. */
  if (b->fd_count == 1 && !(events & EV_ERROR)) {
    b->fds[0].revents = (short)((events & EV_READ ? POLLIN : 0) | (events & EV_WRITE ? POLLOUT : 0)) & b->fds[0].events;
    b->ready = b->fds[0].revents != 0;
  } else {
    b->ready = poll(b->fds, b->fd_count, 0);
  }
  wake(b);
}

static void on_alarm(struct ev_loop *loop, struct ev_io *io, int events) {
  uint64_t times;
  (void)loop, (void)events;
  (void)!read(io->fd, &times, sizeof times); /* it rings no more */
  wake(io->data);
}

static void on_limit(struct ev_loop *loop, struct ev_timer *timer, int events) {
  (void)loop, (void)events;
  wake(timer->data);
}

static void on_turn(struct ev_loop *loop, struct ev_idle *turn, int events) {
  (void)loop, (void)events;
  wake(turn->data);
}

/* The loop counts from when it last looked at the clock, so this may be early by the time since then. */
static void limit(struct lb_body *b, lb_ns most) {
  if (most == LB_NEVER) return;
  ev_timer_set(&b->limit, (double)most / 1e9, 0);
  ev_timer_start(b->worker->loop, &b->limit);
}

static int wait_for_fds(struct lb_process_env *env, struct pollfd *fds, size_t count, lb_ns most) {
  struct lb_body *b = (struct lb_body *)((char *)env - offsetof(struct lb_body, program.env));
  if (count > FDS_MAX) return errno = E2BIG, -1;
  if (most == 0) return poll(fds, count, 0);
  b->fds = fds;
  b->fd_count = count;
  b->ready = 0;
  for (size_t i = 0; i < count; i++) {
    fds[i].revents = 0;
    /* Set anew with each wait: a descriptor may have been closed, and another one have its number. */
    ev_io_init(&b->io[i], on_io, fds[i].fd,
               (fds[i].events & POLLIN ? EV_READ : 0) | (fds[i].events & POLLOUT ? EV_WRITE : 0));
    b->io[i].data = b;
    ev_io_start(b->worker->loop, &b->io[i]);
  }
  limit(b, most);
  b->gave_way = true;
  lb_coroutine_yield(b->coroutine);
  return b->ready;
}

/* A rest of no length gives the others a turn. A client that has just waited for an answer has given them one. */
static void sleep_until(struct lb_body *b, lb_ns when) {
  bool gave_way = b->gave_way;
  b->gave_way = false;
  if (when == 0 && gave_way) return;
  struct itimerspec at = {.it_value = {(time_t)(when / LB_NS_PER_S), (long)(when % LB_NS_PER_S)}};
  if (when > lb_clock_ns() && timerfd_settime(b->alarm.fd, TFD_TIMER_ABSTIME, &at, NULL) == 0)
    ev_io_start(b->worker->loop, &b->alarm);
  else ev_idle_start(b->worker->loop, &b->turn);
  lb_coroutine_yield(b->coroutine);
}

static void env_sleep_until(struct lb_process_env *env, lb_ns when) {
  sleep_until((struct lb_body *)((char *)env - offsetof(struct lb_body, program.env)), when);
}

static struct lb_body *body_of(struct lb_program *program) {
  return (struct lb_body *)((char *)program - offsetof(struct lb_body, program));
}

static void ground_sleep_until(struct lb_program *program, lb_ns when) { sleep_until(body_of(program), when); }

static void halt(struct lb_program *program, bool dies) {
  struct lb_body *b = body_of(program);
  if (dies) atomic_store(&b->fell, true), atomic_store(&b->over, true);
  else atomic_store(&b->stop, true), atomic_store(&b->still, true), b->woken = true;
  ring(b->worker->bell[1]);
  lb_coroutine_yield(b->coroutine);
}

static const struct lb_ground ground = {.sleep_until = ground_sleep_until, .halt = halt};

/* ---- in a worker: a client lives ---------------------------------------------------------------------------------- */

/* The next command; renews while there is none. */
static struct lb_command next_command(struct lb_body *b) {
  while (atomic_load(&b->taken) == atomic_load(&b->sent)) {
    lb_ns due = lb_env_to_truth(&b->program.env, lb_holder_due(&b->program.holder)), now = lb_clock_ns();
    b->idle = true;
    limit(b, due == LB_NEVER ? LB_NEVER : due > now ? due - now : 0);
    lb_coroutine_yield(b->coroutine);
    lb_holder_renew(&b->program.holder);
  }
  struct lb_command command = b->command[atomic_load(&b->taken) % QUEUE_MAX];
  atomic_fetch_add(&b->taken, 1);
  return command;
}

static void live(void *arg) {
  struct lb_body *b = arg;
  for (;;) {
    struct lb_reply reply;
    lb_program_do(&b->program, next_command(b), &reply);
    b->reply[atomic_load(&b->answered) % QUEUE_MAX] = reply;
    atomic_fetch_add(&b->answered, 1);
    ring(b->worker->bell[1]);
  }
}

/* The heartbeat watches a worker as its first client. */
static void come_to_life(struct lb_body *b) {
  struct worker *w = b->worker;
  int alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  lb_program_begin(&b->program, b->plan, b->client, &ground);
  b->program.env.poll = wait_for_fds;
  b->program.env.sleep_until = env_sleep_until;
  if (b->client->number == w->number) atomic_store(&b->plan->memory->state[w->number].pid, (int)getpid());
  ev_io_init(&b->alarm, on_alarm, alarm, EV_READ);
  ev_timer_init(&b->limit, on_limit, 0, 0);
  ev_idle_init(&b->turn, on_turn);
  ev_set_priority(&b->turn, EV_MAXPRI); /* or it would wait until nothing else is ready */
  b->alarm.data = b->limit.data = b->turn.data = b;
  b->coroutine = lb_coroutine_new(live, b);
  if (alarm < 0 || !b->coroutine) atomic_store(&b->over, true), ring(w->bell[1]);
  else go_on(b);
}

static void bury(struct lb_body *b) {
  forget_waits(b);
  lb_coroutine_free(b->coroutine);
  b->coroutine = NULL;
  close(b->alarm.fd);
  lb_program_end(&b->program);
  atomic_store(&b->over, true);
}

/* What its controller may have told it. */
static void attend(struct lb_body *b) {
  bool stop = atomic_load(&b->stop), still = atomic_load(&b->still);
  if (!b->coroutine && !atomic_load(&b->over)) come_to_life(b);
  if (b->coroutine && atomic_load(&b->kill)) bury(b);
  if (!b->coroutine || atomic_load(&b->over)) return;
  if (stop != still) atomic_store(&b->still, stop);
  if (!stop && still && b->woken) wake(b);
  else if (b->idle && atomic_load(&b->taken) < atomic_load(&b->sent)) wake(b);
}

static void on_news(struct ev_loop *loop, struct ev_io *io, int events) {
  struct worker *w = io->data;
  char bytes[256];
  ssize_t n;
  (void)loop, (void)events;
  while ((n = recv(io->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
  }
  if (n == 0) _exit(0); /* the controller has gone */
  for (size_t i = w->number; i < w->all->body_count; i += w->all->count)
    if (w->all->body[i].client) attend(&w->all->body[i]);
  ring(w->bell[1]);
}

static void allow_many_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) < 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/* A socket reports that the other side has gone only if no other process has that end open. */
static void close_bells(const struct worker *w, bool own) {
  close(w->bell[0]);
  if (!own && w->bell[1] >= 0) close(w->bell[1]);
}

/* The whole life of a worker. It never returns into the controller's code, of which it is a copy. */
static _Noreturn void work(struct worker *w, const struct lb_client_plan *plan) {
  signal(SIGPIPE, SIG_IGN);
  if (plan->gives_way) lb_process_give_way();
  if (plan->output > 0) lb_driver_speak_into(plan->output);
  for (size_t i = 0; i < w->all->count; i++) close_bells(&w->all->worker[i], &w->all->worker[i] == w);
  allow_many_files();
  lb_hook_own_process();
  w->loop = ev_loop_new(EVFLAG_NOENV | EVBACKEND_EPOLL);
  if (!w->loop) _exit(1);
  ev_io_init(&w->news, on_news, w->bell[1], EV_READ);
  w->news.data = w;
  ev_io_start(w->loop, &w->news);
  ev_run(w->loop, 0);
  _exit(1);
}

/* ---- the controller's side ---------------------------------------------------------------------------------------- */

static size_t coroutine_writers(size_t clients) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t workers = cores < 1 ? 1 : (size_t)cores;
  return clients < workers ? clients : workers;
}

static void coroutine_dismiss(struct lb_client_plan *plan) {
  struct lb_workers *all = plan->workers;
  for (size_t i = 0; i < all->count; i++) {
    struct worker *w = &all->worker[i];
    if (w->pid > 0) kill(w->pid, SIGKILL);
    while (w->pid > 0 && waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (w->bell[0] >= 0) close(w->bell[0]);
    if (w->bell[1] >= 0) close(w->bell[1]);
  }
  free(all->worker);
  munmap(all, all->size);
  plan->workers = NULL;
}

static int coroutine_gather(struct lb_client_plan *plan, size_t writers) {
  size_t bodies = plan->memory->client_count, size = sizeof(struct lb_workers) + bodies * sizeof(struct lb_body);
  struct lb_workers *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return -ENOMEM;
  *all = (struct lb_workers){.size = size, .count = writers, .body_count = bodies};
  plan->workers = all;
  all->worker = calloc(writers, sizeof *all->worker);
  int r = all->worker ? 0 : -ENOMEM;
  if (!all->worker) all->count = 0;
  for (size_t i = 0; i < all->count; i++) {
    all->worker[i] = (struct worker){.all = all, .number = i, .bell = {-1, -1}};
    if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, all->worker[i].bell) < 0) r = -errno;
  }
  if (r < 0) coroutine_dismiss(plan);
  return r;
}

/* With its first client, when all is known that its clients have in common. */
static int start_worker(struct worker *w, const struct lb_client_plan *plan) {
  pid_t pid = lb_process_fork();
  if (pid == 0) work(w, plan);
  if (pid < 0) return -errno;
  w->pid = pid;
  close(w->bell[1]);
  w->bell[1] = -1;
  return 0;
}

static int coroutine_start(struct lb_client *client, const struct lb_client_plan *plan) {
  struct worker *w = &plan->workers->worker[client->log];
  struct lb_body *b = &plan->workers->body[client->number];
  if (client->host->netns >= 0) return -EOPNOTSUPP; /* a worker is on one host only */
  memset(b, 0, sizeof *b);
  b->worker = w;
  b->plan = plan;
  b->client = client;
  int r = w->pid ? 0 : start_worker(w, plan);
  if (r < 0) return r;
  client->body = b;
  ring(w->bell[0]);
  return 0;
}

static bool has_ended(struct worker *w) {
  if (w->pid > 0 && waitpid(w->pid, &w->status, WNOHANG) == w->pid) w->pid = 0;
  return w->pid == 0;
}

/* False: the time is over. */
static bool listen_until(struct worker *w, lb_ns deadline) {
  lb_ns now = lb_clock_ns(), left = deadline > now ? deadline - now : 0;
  struct pollfd p = {.fd = w->bell[0], .events = POLLIN};
  char bytes[256];
  int n = poll(&p, 1, (int)((left + LB_NS_PER_MS - 1) / LB_NS_PER_MS));
  if (n > 0) (void)!recv(p.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return n != 0 || left > 0;
}

static int coroutine_send(struct lb_client *client, const struct lb_command *command) {
  struct lb_body *b = client->body;
  if (atomic_load(&b->over) || has_ended(b->worker)) return -EPIPE;
  if (atomic_load(&b->sent) - atomic_load(&b->read) == QUEUE_MAX) return -EAGAIN;
  b->command[atomic_load(&b->sent) % QUEUE_MAX] = *command;
  atomic_fetch_add(&b->sent, 1);
  ring(b->worker->bell[0]);
  return 0;
}

static int coroutine_peek(const struct lb_client *client) {
  struct lb_body *b = client->body;
  bool over = atomic_load(&b->over) || has_ended(b->worker);
  return atomic_load(&b->read) < atomic_load(&b->answered) ? 1 : over ? -ECONNRESET : 0;
}

static int coroutine_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  struct lb_body *b = client->body;
  int r;
  while ((r = coroutine_peek(client)) == 0)
    if (!listen_until(b->worker, deadline)) return LB_TIMEOUT;
  if (r < 0) return r;
  *ret = b->reply[atomic_load(&b->read) % QUEUE_MAX];
  atomic_fetch_add(&b->read, 1);
  return 0;
}

static enum lb_life coroutine_look(struct lb_client *client) {
  struct lb_body *b = client->body;
  if (b->buried) return LB_LIFE_KILLED;
  if (atomic_load(&b->over) || has_ended(b->worker)) return LB_LIFE_DIED;
  return atomic_load(&b->still) && atomic_load(&b->stop) ? LB_LIFE_STOPPED : LB_LIFE_RUNS;
}

/* One that never waits is ended with its whole worker. */
static int coroutine_kill(struct lb_body *b) {
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  if (b->buried) return -ESRCH;
  bool crashed = has_ended(b->worker) && !atomic_load(&b->over);
  atomic_store(&b->kill, true);
  ring(b->worker->bell[0]);
  while (!atomic_load(&b->over) && !has_ended(b->worker))
    if (!listen_until(b->worker, deadline)) kill(b->worker->pid, SIGKILL);
  b->buried = !crashed;
  return crashed ? -ECHILD : 0;
}

static int coroutine_signal(struct lb_client *client, enum lb_client_signal signal) {
  struct lb_body *b = client->body;
  bool stop = signal == LB_CLIENT_STOP;
  if (signal == LB_CLIENT_KILL) return coroutine_kill(b);
  lb_ns deadline = lb_clock_ns() + FOLLOW_MS * LB_NS_PER_MS;
  atomic_store(&b->stop, stop);
  ring(b->worker->bell[0]);
  while (atomic_load(&b->still) != stop) {
    if (atomic_load(&b->over) || has_ended(b->worker)) return -ESRCH;
    if (!listen_until(b->worker, deadline)) return -ETIMEDOUT;
  }
  return atomic_load(&b->over) ? -ESRCH : 0;
}

static void coroutine_tell_end(const struct lb_client *client, char *buf, size_t size) {
  const struct lb_body *b = client->body;
  int status = b->worker->status;
  if (atomic_load(&b->over)) snprintf(buf, size, "%s", atomic_load(&b->fell) ? "fell at a point" : "was ended");
  else if (WIFSIGNALED(status)) snprintf(buf, size, "died with its worker, of signal %d", WTERMSIG(status));
  else snprintf(buf, size, "died with its worker, which exited with status %d", WEXITSTATUS(status));
}

static void coroutine_end(struct lb_client *client) {
  coroutine_kill(client->body);
  client->body = NULL;
}

const struct lb_driver lb_driver_coroutine = {
    .name = "coroutine",
    .writers = coroutine_writers,
    .gather = coroutine_gather,
    .dismiss = coroutine_dismiss,
    .start = coroutine_start,
    .send = coroutine_send,
    .await = coroutine_await,
    .peek = coroutine_peek,
    .look = coroutine_look,
    .signal = coroutine_signal,
    .tell_end = coroutine_tell_end,
    .end = coroutine_end,
};
