/* SPDX-License-Identifier: MIT
 *
 * getaddrinfo(3) knows no deadline and blocks, which a protocol may do in its env only. So a thread of its own asks,
 * and the session waits for an eventfd, as it waits for a server. A thread that is not waited for any more ends by
 * itself, whenever the resolver lets it.
 */
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct lookup { /* freed by the one of the two that comes last */
  pthread_mutex_t lock;
  int event;
  bool left; /* one of the two has gone; this and what follows under the lock */
  int error; /* of getaddrinfo */
  char found[LB_ADDRESS_MAX];
  char host[256];
};

/* 0 or what getaddrinfo says. With AI_NUMERICHOST it asks no server. */
static int find(const char *host, int flags, char ret[LB_ADDRESS_MAX]) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *list = NULL, *best;
  int error = getaddrinfo(host, NULL, &hints, &list);
  if (error) return error;
  for (best = list; best && best->ai_family != AF_INET;) best = best->ai_next;
  if (!best) best = list;
  error = getnameinfo(best->ai_addr, best->ai_addrlen, ret, LB_ADDRESS_MAX, NULL, 0, NI_NUMERICHOST);
  freeaddrinfo(list);
  return error;
}

/* The last one to leave frees. */
static void leave(struct lookup *lookup) {
  pthread_mutex_lock(&lookup->lock);
  bool last = lookup->left;
  lookup->left = true;
  pthread_mutex_unlock(&lookup->lock);
  if (!last) return;
  close(lookup->event);
  pthread_mutex_destroy(&lookup->lock);
  free(lookup);
}

static void *look_up(void *arg) {
  struct lookup *lookup = arg;
  char found[LB_ADDRESS_MAX] = "";
  int error = find(lookup->host, AI_ADDRCONFIG, found);
  pthread_mutex_lock(&lookup->lock);
  lookup->error = error;
  memcpy(lookup->found, found, sizeof found);
  pthread_mutex_unlock(&lookup->lock);
  uint64_t one = 1;
  ssize_t written = write(lookup->event, &one, sizeof one); /* cannot be full */
  (void)written;
  leave(lookup);
  return NULL;
}

/* Signals are meant for the program, not for this thread. 0 or an errno. */
static int start(struct lookup *lookup) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, NULL, look_up, lookup);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error) pthread_detach(thread);
  return error;
}

static int await(struct lb_env *env, struct lookup *lookup, lb_ns deadline, char ret[LB_ADDRESS_MAX]) {
  int rc = lb_wait_fd(env, lookup->event, POLLIN, deadline);
  if (rc == 0) return lb_fail(env, -ETIMEDOUT, "no address of %s in time", lookup->host);
  if (rc < 0) return lb_fail(env, rc, "waiting for the address of %s: %s", lookup->host, strerror(-rc));
  pthread_mutex_lock(&lookup->lock); /* an eventfd that is ready orders no memory */
  int error = lookup->error;
  memcpy(ret, lookup->found, LB_ADDRESS_MAX);
  pthread_mutex_unlock(&lookup->lock);
  return error ? lb_fail(env, -ENOENT, "no address of %s: %s", lookup->host, gai_strerror(error)) : 0;
}

int lb_address(struct lb_env *env, const char *host, lb_ns deadline, char ret[LB_ADDRESS_MAX]) {
  if (!host || !*host || strlen(host) > 255)
    return lb_fail(env, -EINVAL, "a server without a host, or with one of more than 255 bytes");
  if (find(host, AI_NUMERICHOST, ret) == 0) return 0;
  struct lookup *lookup = calloc(1, sizeof *lookup);
  if (!lookup) return lb_fail(env, -ENOMEM, "no memory to look up %s", host);
  snprintf(lookup->host, sizeof lookup->host, "%s", host);
  pthread_mutex_init(&lookup->lock, NULL);
  lookup->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int error = lookup->event < 0 ? errno : start(lookup);
  if (error) lookup->left = true; /* there is no thread */
  int rc =
      error ? lb_fail(env, -error, "cannot look up %s: %s", host, strerror(error)) : await(env, lookup, deadline, ret);
  leave(lookup);
  return rc;
}
