/* SPDX-License-Identifier: MIT
 *
 * One thread per relay: it waits for bytes, or for the time at which the next ones are due. What is said to the server
 * is passed on at once.
 */
#include "zk_relay.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINKS_MAX = 8, CHUNK = 16384, TICK_MS = 2 };

struct chunk {
  struct chunk *next;
  uint64_t came;
  size_t size;
  char bytes[];
};

struct link {
  int near, far; /* near: who connected; -1 = free */
  struct chunk *first, **last;
};

struct relay {
  pthread_t thread;
  uint16_t to;
  int listener, wake;
  atomic_bool ends;
  atomic_uint_least64_t delay;
  struct link link[LINKS_MAX];
};

static int on_loopback(uint16_t port, bool listens) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int rc = listens ? bind(fd, (struct sockaddr *)&at, sizeof at) : connect(fd, (struct sockaddr *)&at, sizeof at);
  if (rc == 0 && listens) rc = listen(fd, LINKS_MAX);
  if (rc == 0) return fd;
  close(fd);
  return -1;
}

static void drop(struct link *link) {
  close(link->near), close(link->far);
  for (struct chunk *c = link->first, *next; c; c = next) next = c->next, free(c);
  *link = (struct link){.near = -1, .far = -1};
}

static void take_in(struct relay *r) {
  int near = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC), far = near < 0 ? -1 : on_loopback(r->to, false);
  for (size_t i = 0; far >= 0 && i < LINKS_MAX; i++) {
    if (r->link[i].near >= 0) continue;
    r->link[i] = (struct link){.near = near, .far = far};
    r->link[i].last = &r->link[i].first;
    return;
  }
  if (near >= 0) close(near);
  if (far >= 0) close(far);
}

static bool send_all(int fd, const char *bytes, size_t size) {
  for (ssize_t n; size > 0; bytes += n, size -= (size_t)n)
    if ((n = send(fd, bytes, size, MSG_NOSIGNAL)) <= 0) return false;
  return true;
}

static bool pass_to_server(struct link *link) {
  char bytes[CHUNK];
  ssize_t n = recv(link->near, bytes, sizeof bytes, 0);
  return n > 0 && send_all(link->far, bytes, (size_t)n);
}

static bool keep(struct link *link) {
  struct chunk *chunk = malloc(sizeof *chunk + CHUNK);
  ssize_t n = chunk ? recv(link->far, chunk->bytes, CHUNK, 0) : -1;
  if (n <= 0) return free(chunk), false;
  *chunk = (struct chunk){.came = lb_clock_ns(), .size = (size_t)n};
  *link->last = chunk;
  link->last = &chunk->next;
  return true;
}

static bool pass_on(struct relay *r, struct link *link) {
  uint64_t delay = atomic_load(&r->delay);
  for (struct chunk *chunk; (chunk = link->first) && delay != RELAY_HOLD && chunk->came + delay <= lb_clock_ns();) {
    bool sent = send_all(link->near, chunk->bytes, chunk->size);
    link->first = chunk->next;
    if (!link->first) link->last = &link->first;
    free(chunk);
    if (!sent) return false;
  }
  return true;
}

static void *run(void *arg) {
  struct relay *r = arg;
  while (!atomic_load(&r->ends)) {
    struct pollfd fds[2 + 2 * LINKS_MAX] = {{.fd = r->listener, .events = POLLIN}, {.fd = r->wake, .events = POLLIN}};
    bool waiting = false;
    for (size_t i = 0; i < LINKS_MAX; i++) {
      fds[2 + 2 * i] = (struct pollfd){.fd = r->link[i].near, .events = POLLIN};
      fds[3 + 2 * i] = (struct pollfd){.fd = r->link[i].far, .events = POLLIN};
      waiting |= r->link[i].first != NULL;
    }
    poll(fds, sizeof fds / sizeof *fds, waiting ? TICK_MS : -1);
    uint64_t count;
    if (fds[1].revents && read(r->wake, &count, sizeof count) < 0) break;
    for (size_t i = 0; i < LINKS_MAX; i++) {
      struct link *link = &r->link[i];
      if (link->near < 0) continue;
      bool good = (!fds[2 + 2 * i].revents || pass_to_server(link)) && (!fds[3 + 2 * i].revents || keep(link)) &&
                  pass_on(r, link);
      if (!good) drop(link);
    }
    if (fds[0].revents) take_in(r);
  }
  return NULL;
}

struct relay *relay_open(uint16_t to, uint16_t *ret_port) {
  struct sockaddr_in at;
  socklen_t size = sizeof at;
  struct relay *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  *r = (struct relay){.to = to, .listener = on_loopback(0, true), .wake = eventfd(0, EFD_CLOEXEC)};
  for (size_t i = 0; i < LINKS_MAX; i++) r->link[i] = (struct link){.near = -1, .far = -1};
  bool good = r->listener >= 0 && r->wake >= 0 && getsockname(r->listener, (struct sockaddr *)&at, &size) == 0 &&
              pthread_create(&r->thread, NULL, run, r) == 0;
  if (good) return *ret_port = ntohs(at.sin_port), r;
  if (r->listener >= 0) close(r->listener);
  if (r->wake >= 0) close(r->wake);
  free(r);
  return NULL;
}

static void wake(struct relay *r) {
  uint64_t one = 1;
  ssize_t written = write(r->wake, &one, sizeof one);
  (void)written;
}

void relay_delay(struct relay *r, uint64_t delay_ns) {
  atomic_store(&r->delay, delay_ns);
  wake(r);
}

void relay_close(struct relay *r) {
  if (!r) return;
  atomic_store(&r->ends, true);
  wake(r);
  pthread_join(r->thread, NULL);
  for (size_t i = 0; i < LINKS_MAX; i++)
    if (r->link[i].near >= 0) drop(&r->link[i]);
  close(r->listener), close(r->wake);
  free(r);
}
