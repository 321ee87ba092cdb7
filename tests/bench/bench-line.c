/* SPDX-License-Identifier: MIT
 *
 * What a delay line costs: pairs of request and reply between two hosts over many connections, on the plain link and
 * through a line that makes both ways late by 1 ms, in turns. Not a test. Each figure is taken when two windows in a
 * row agree. What the line adds to each way is half of the difference between the two round trips, less what it is told
 * to add; beside it stands what the line counted itself. Both ends go before other programs (the line does by itself),
 * for who waits for a processor measures the others.
 *   bench-line [PAIRS_PER_S]          without: 10000; then as many as there can be
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hist.h"
#include "network/line.h"
#include "network/sandbox.h"

enum { PORT = 7000, CONNECTIONS = 64, BYTES = 32, WINDOWS_MAX = 12, TURNS = 3, EVENTS = 64 };
#define S UINT64_C(1000000000)
#define LATE UINT64_C(1000000)
#define AGREE 0.05

static struct lb_net net;
static struct lb_error why;

struct figure {
  double per_s;
  struct lb_hist trip;
};

/* ---- the two ends --------------------------------------------------------------------------------- */

static int socket_on(const struct lb_host *host) {
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), yes = 1;
  if (setns(host->netns, CLONE_NEWNET) < 0) err(1, "setns");
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (setns(home, CLONE_NEWNET) < 0) err(1, "setns");
  close(home);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

static void watch(int epoll, int fd, uint64_t number) {
  struct epoll_event e = {.events = EPOLLIN, .data.u64 = number};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0) err(1, "epoll");
}

/* Sends back whatever comes. */
static _Noreturn void serve(int listener) {
  struct epoll_event event[EVENTS];
  char bytes[BYTES * 4];
  int epoll = epoll_create1(0), yes = 1;
  watch(epoll, listener, (uint64_t)listener);
  for (;;) {
    int count = epoll_wait(epoll, event, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      int fd = (int)event[i].data.u64;
      if (fd == listener) {
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        watch(epoll, peer, (uint64_t)peer);
        continue;
      }
      ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n == 0 || (n > 0 && send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)) _exit(0);
    }
  }
}

struct client {
  int epoll, fd[CONNECTIONS];
  uint64_t sent_at[CONNECTIONS]; /* 0 = no request is on its way */
  size_t idle[CONNECTIONS], idle_count;
};

static void open_client(struct client *c) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  inet_pton(AF_INET, net.host[1].address, &sin.sin_addr);
  c->epoll = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < CONNECTIONS; i++) {
    c->fd[i] = socket_on(&net.host[0]);
    if (connect(c->fd[i], (struct sockaddr *)&sin, sizeof sin) < 0) err(1, "connect");
    watch(c->epoll, c->fd[i], i);
    c->idle[c->idle_count++] = i;
  }
}

/* ---- windows -------------------------------------------------------------------------------------- */

static void ask(struct client *c) {
  char bytes[BYTES] = "request";
  size_t i = c->idle[--c->idle_count];
  c->sent_at[i] = lb_clock_ns();
  if (send(c->fd[i], bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes) err(1, "send");
}

static void hear(struct client *c, size_t i, struct figure *f) {
  char bytes[BYTES];
  if (recv(c->fd[i], bytes, sizeof bytes, 0) != sizeof bytes) errx(1, "a reply in pieces");
  lb_hist_add(&f->trip, lb_clock_ns() - c->sent_at[i]);
  c->idle[c->idle_count++] = i;
}

/* rate = 0: a connection asks again at once. */
static void window(struct client *c, double rate, struct figure *f) {
  struct epoll_event event[EVENTS];
  uint64_t begin = lb_clock_ns(), end = begin + S / 2, asked = 0;
  lb_hist_init(&f->trip);
  for (uint64_t now = begin; now < end; now = lb_clock_ns()) {
    double due = rate > 0 ? (double)(now - begin) / 1e9 * rate : INFINITY;
    while (c->idle_count > 0 && (double)asked < due) ask(c), asked++;
    uint64_t next = rate > 0 && c->idle_count > 0 ? begin + (uint64_t)((double)(asked + 1) / rate * 1e9) : end;
    now = lb_clock_ns();
    struct timespec left = {.tv_nsec = next > now ? (long)(next - now) : 0};
    int count = epoll_pwait2(c->epoll, event, EVENTS, &left, NULL);
    for (int i = 0; i < count; i++) hear(c, event[i].data.u64, f);
  }
  f->per_s = (double)f->trip.count / ((double)(lb_clock_ns() - begin) / 1e9);
}

static bool agree(const struct figure *a, const struct figure *b) {
  double x = (double)lb_hist_quantile(&a->trip, 0.5), y = (double)lb_hist_quantile(&b->trip, 0.5);
  return fabs(x - y) <= AGREE * y && fabs(a->per_s - b->per_s) <= AGREE * b->per_s;
}

static void measure(struct client *c, double rate, struct figure *ret) {
  static struct figure f[2];
  window(c, rate, &f[0]);
  for (int i = 1; i < WINDOWS_MAX; i++) {
    window(c, rate, &f[i % 2]);
    *ret = f[i % 2];
    if (agree(&f[0], &f[1])) return;
  }
  printf("(not settled) ");
}

static double us(const struct lb_hist *h, double q) { return (double)lb_hist_quantile(h, q) / 1e3; }

static void compare(struct client *c, double rate) {
  static struct figure plain, late;
  struct lb_line *line;
  const struct lb_way ways[] = {{&net.host[0], &net.host[1]}, {&net.host[1], &net.host[0]}};
  measure(c, rate, &plain);
  line = lb_line_make(&net, NULL, ways, 2, &(struct lb_line_plan){.delay_ns = LATE}, &why);
  if (!line) errx(1, "%s", why.text);
  measure(c, rate, &late);
  struct lb_hist *own = &line->shared->own;
  uint64_t lost = atomic_load(&line->seen[0].lost) + atomic_load(&line->seen[1].lost);
  printf(
      "plain: %6.0f pairs/s, round trip %7.1f us (99 %%: %7.1f) | line: %6.0f pairs/s (%.2f of plain), round trip %7.1f us (99 %%: %7.1f), "
      "added to each way %6.1f us | by its own count %6.1f us (99 %%: %7.1f), %llu packets, %llu lost\n",
      plain.per_s, us(&plain.trip, 0.5), us(&plain.trip, 0.99), late.per_s, late.per_s / plain.per_s,
      us(&late.trip, 0.5), us(&late.trip, 0.99), (us(&late.trip, 0.5) - us(&plain.trip, 0.5)) / 2 - (double)LATE / 1e3,
      us(own, 0.5), us(own, 0.99), (unsigned long long)own->count, (unsigned long long)lost);
  fflush(stdout);
  if (lb_line_end(&net, line, &why) < 0) errx(1, "%s", why.text);
}

static void run(double rate) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  static struct client client;
  if (lb_net_up(&net, true, 2, &why) < 0) errx(1, "%s", why.text);
  int listener = socket_on(&net.host[1]);
  if (bind(listener, (struct sockaddr *)&any, sizeof any) < 0 || listen(listener, CONNECTIONS) < 0) err(1, "listen");
  setpriority(PRIO_PROCESS, 0, -20);
  pid_t server = fork();
  if (server == 0) serve(listener);
  prctl(PR_SET_TIMERSLACK, 1UL);
  open_client(&client);
  for (int turn = 0; turn < TURNS; turn++) compare(&client, rate);
  printf("as many as there can be, over %d connections:\n", CONNECTIONS);
  for (int turn = 0; turn < TURNS; turn++) compare(&client, 0);
  kill(server, SIGKILL);
}

int main(int argc, char **argv) {
  double rate = argc > 1 ? atof(argv[1]) : 10000;
  int status = 0;
  if (rate <= 0) errx(2, "expected a number of pairs per second");
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) errx(5, "no namespaces: %s", lb_isolation_probe()->why.text);
  pid_t pid = lb_sandbox_fork(-1, -1);
  if (pid == 0) {
    run(rate);
    _exit(0);
  }
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
