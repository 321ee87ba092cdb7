/* SPDX-License-Identifier: MIT
 *
 * The C recipe of ZooKeeper 3.8.0: zoo_lock.c of zookeeper-recipes-lock, which Debian ships as source only (source package zookeeper 3.8.0-11+deb12u2).
 *
 * Used as zoo_lock.h and https://zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html say: zookeeper_init() with a watcher, zkr_lock_init_cb() with a completion that is told of a
 * grant, zkr_lock_lock(), zkr_lock_isowner(), zkr_lock_unlock(). The header promises that it "implements a writelock on a given path in zookeeper". The session's timeout is the ttl.
 * What breaks it: a holder that goes on after its session is over. What it keeps to itself: zkr_lock_lock() always answers 0 (zoo_lock.c:387). There is no bound for a wait, and none can be
 * added: a waiter that gives up with zkr_lock_unlock() leaves its watch behind, and when its predecessor goes, the recipe takes the lock again (zoo_lock.c:172) for somebody who does not want
 * it any more. So here a grant that nobody wants is given back as soon as the completion tells of it. A node that is gone is no error to zkr_lock_unlock() (zoo_lock.c:97).
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zoo_lock.h>

struct lock {
  char path[600];
  zkr_lock_mutex_t mutex;
  _Atomic int wanted;
  int granted;
  zhandle_t *zh;
  struct lock *next;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct lock *locks;
static zhandle_t *zh;
static char hosts[2000];
static int ttl_ms, state;

static void watch(zhandle_t *h, int type, int now, const char *path, void *context) {
  (void)h, (void)path, (void)context;
  if (type != ZOO_SESSION_EVENT) return;
  pthread_mutex_lock(&guard);
  if (now != ZOO_CONNECTED_STATE && state == ZOO_CONNECTED_STATE && now != ZOO_EXPIRED_SESSION_STATE) printf("! doubt connection lost\n");
  if (now == ZOO_EXPIRED_SESSION_STATE) printf("! lost session expired\n");
  state = now;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&guard);
}

static void *give_back(void *of) {
  struct lock *l = of;
  if (!l->wanted) zkr_lock_unlock(&l->mutex);
  return NULL;
}

static void completed(int rc, void *of) { /* the mutex of the recipe is held: nothing may be given back here */
  struct lock *l = of;
  pthread_t thread;
  pthread_mutex_lock(&guard);
  l->granted = rc == 0;
  if (rc == 0 && !l->wanted && pthread_create(&thread, NULL, give_back, l) == 0) pthread_detach(thread);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&guard);
}

static struct timespec in_ms(long ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += ms / 1000, t.tv_nsec += ms % 1000 * 1000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

/* A handle whose session is over is of no use any more. */
static int connected(void) {
  struct timespec end = in_ms(ttl_ms);
  if (zh && state == ZOO_EXPIRED_SESSION_STATE) zookeeper_close(zh), zh = NULL;
  if (!zh) zh = zookeeper_init(hosts, watch, ttl_ms, NULL, NULL, 0);
  pthread_mutex_lock(&guard);
  while (zh && state != ZOO_CONNECTED_STATE && pthread_cond_timedwait(&changed, &guard, &end) == 0) continue;
  int yes = zh && state == ZOO_CONNECTED_STATE;
  pthread_mutex_unlock(&guard);
  return yes;
}

static struct lock *find(const char *key) {
  char path[600];
  snprintf(path, sizeof path, "/lockbench/%s", key);
  struct lock *l = locks;
  while (l && strcmp(l->path, path) != 0) l = l->next;
  if (!l && (l = calloc(1, sizeof *l))) strcpy(l->path, path), l->next = locks, locks = l;
  if (!l) _exit(1);
  return l;
}

static const char *acquire(struct lock *l, long wait_ms) {
  if (!connected()) return "error not connected";
  if (l->zh != zh) zkr_lock_init_cb(&l->mutex, l->zh = zh, l->path, &ZOO_OPEN_ACL_UNSAFE, completed, l);
  struct timespec end = in_ms(wait_ms);
  pthread_mutex_lock(&guard);
  l->wanted = 1;
  l->granted = 0;
  pthread_mutex_unlock(&guard);
  zkr_lock_lock(&l->mutex);
  pthread_mutex_lock(&guard);
  while (!l->granted && pthread_cond_timedwait(&changed, &guard, &end) == 0) continue;
  int granted = l->granted;
  l->wanted = granted;
  pthread_mutex_unlock(&guard);
  if (granted) return "granted";
  return zkr_lock_unlock(&l->mutex) == 0 ? "busy" : "unknown zkr_lock_unlock failed after a wait in vain";
}

static const char *release(struct lock *l) {
  l->wanted = 0;
  int r = l->zh ? zkr_lock_unlock(&l->mutex) : ZSYSTEMERROR;
  return r == 0 ? "ok" : r == ZSYSTEMERROR ? "lost" : "unknown zkr_lock_unlock failed";
}

static void *end_with_stdin(void *none) {
  struct pollfd in = {.fd = 0};
  while (poll(&in, 1, -1) < 0 || !(in.revents & (POLLHUP | POLLERR))) continue;
  sleep(1); /* what was asked before the end is answered, if that takes no longer */
  _exit(0);
  return none;
}

int main(void) {
  char line[4200], word[20], *at;
  pthread_t thread;
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("lockbench-adapter 1 name=zoo-lock version=" ZOO_VERSION " topologies=zk-x3,zk ends=session can=signal record=/lockbench/{key}\n");
  if (pthread_create(&thread, NULL, end_with_stdin, NULL) != 0) return 1;
  zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
  for (int number; fgets(line, sizeof line, stdin) && sscanf(line, "%d %19s", &number, word) == 2;) {
    char key[500] = "";
    const char *said = "ok";
    long wait_ms = (at = strstr(line, " wait_ms=")) ? atol(at + 9) : 0;
    if ((at = strstr(line, " key="))) sscanf(at + 5, "%499s", key);
    if ((at = strstr(line, " ttl_ms="))) ttl_ms = strcmp(word, "open") == 0 ? atoi(at + 8) : ttl_ms;
    for (at = line; strcmp(word, "open") == 0 && (at = strstr(at, " server=zookeeper://")); at += 20)
      sscanf(at + 20, "%199[^ \n]", hosts + strlen(strlen(hosts) ? strcat(hosts, ",") : hosts));
    if (strcmp(word, "open") == 0) said = connected() ? "ok" : "error not connected within the ttl";
    if (strcmp(word, "open") == 0 && zh) zoo_create(zh, "/lockbench", NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    else if (strcmp(word, "acquire") == 0) said = acquire(find(key), wait_ms);
    else if (strcmp(word, "release") == 0) said = release(find(key));
    else if (strcmp(word, "ping") != 0 && strcmp(word, "quit") != 0 && strcmp(word, "open") != 0) said = "error the recipe does not offer this";
    printf("%d %s\n", number, said);
    if (strcmp(word, "quit") == 0) _exit(0);
  }
  _exit(0);
}
