/* SPDX-License-Identifier: MIT
 *
 * Servers are looked at by children, as a client library may hang, and a fault is what differs between two looks.
 */
#include "guardian_look.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "servers/cluster.h"

enum {
  ASK_MS = 1000,  /* one question */
  LOOK_MS = 8000, /* all of a look, before it is given up */
  POLL_MS = 100,
  OTHERS_ROUNDS = 10
};

static bool takes_connection(const struct addrinfo *at) {
  int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
  socklen_t size = sizeof error;
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  bool yes = fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS) &&
             poll(&p, 1, ASK_MS) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  if (fd >= 0) close(fd);
  return yes;
}

/* "localhost" may be ::1 first, where no server listens. */
static bool accepts(const struct lb_own_address *at) {
  struct addrinfo like = {.ai_socktype = SOCK_STREAM}, *found;
  char port[8];
  bool yes = false;
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  if (getaddrinfo(at->host, port, &like, &found) != 0) return false;
  for (const struct addrinfo *one = found; one && !yes; one = one->ai_next) yes = takes_connection(one);
  freeaddrinfo(found);
  return yes;
}

static lb_ns soon(void) { return lb_clock_ns() + ASK_MS * LB_NS_PER_MS; }

static int has_left(const struct lb_family *family, struct lb_cluster *cluster, size_t index) {
  return family->left && index < cluster->data_count ? family->left(cluster, index, soon()) == 1 : 0;
}

static bool is_up_with(const struct lb_family *family, struct lb_cluster *cluster, size_t index, size_t leader) {
  return family->caught_up && index < cluster->data_count && leader < cluster->data_count &&
         family->caught_up(cluster, index, leader, soon()) == 0;
}

/* In the child. */
static void look(enum lb_mandate_verb verb, size_t ward, size_t other, struct lb_guardian_look *ret) {
  static struct lb_cluster cluster;
  size_t index, end = 0;
  const struct lb_own *own = lb_own_operator_server(lb_guardian.rules, ward, &index);
  bool linked = other < lb_guardian.rules->count && lb_own_operator_server(lb_guardian.rules, other, &end) == own;
  *ret = (struct lb_guardian_look){.primary = -1, .accepts = accepts(&lb_guardian.rules->ward[ward].at)};
  if (!own) return;
  const struct lb_family *family = own->topology.family;
  lb_cluster_init(&cluster, &own->topology, lb_guardian.env);
  if (linked) {
    ret->left = has_left(family, &cluster, index) + has_left(family, &cluster, end);
    ret->follows = is_up_with(family, &cluster, index, end) + 2 * is_up_with(family, &cluster, end, index);
    ret->tells = ret->follows || (family->left && index < cluster.data_count && end < cluster.data_count);
  }
  if (!ret->accepts) return;
  ret->answers = !family->answers || index >= cluster.data_count || family->answers(&cluster, index, soon()) == 0;
  if (!ret->answers || index >= cluster.data_count) return;
  ret->told = family->identity && family->identity(&cluster, index, soon(), ret->identity, sizeof ret->identity) == 0;
  int64_t wall_ms, true_ms = lb_clock_wall_ms();
  ret->has_time = verb == LB_MAY_CLOCK && family->wall_ms && family->wall_ms(&cluster, index, soon(), &wall_ms) == 0;
  if (ret->has_time) ret->ahead_ms = wall_ms - true_ms;
  int primary = verb == LB_MAY_DEPOSE && family->primary ? family->primary(&cluster, soon()) : -1;
  if (primary >= 0) ret->primary = (int)lb_own_operator_ward(lb_guardian.rules, own, (size_t)primary);
}

/* True if the child said so in time. */
static bool await_child(pid_t pid, int64_t ms) {
  int status;
  return pid > 0 && lb_process_await(pid, lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS, &status) && status == 0;
}

void lb_guardian_look_at(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_guardian_look *ret) {
  struct lb_guardian_look *seen = lb_need_shared(sizeof *seen);
  seen->primary = -1;
  pid_t pid = lb_process_fork();
  if (pid == 0) look(verb, f->ward, f->other, seen), _exit(0);
  await_child(pid, LOOK_MS);
  *ret = *seen;
  munmap(seen, sizeof *seen);
}

/* The servers of one kind. */
static bool is_well(struct lb_own *own, char *why, size_t size) {
  static struct lb_cluster cluster;
  const struct lb_family *family = own->topology.family;
  lb_cluster_init(&cluster, &own->topology, lb_guardian.env);
  for (size_t i = 0; i < cluster.data_count; i++)
    if (family->answers && family->answers(&cluster, i, soon()) != 0)
      return snprintf(why, size, "%s does not answer",
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, i))),
             false;
  if (!family->primary || family->independent || cluster.data_count < 2) return true;
  int primary = family->primary(&cluster, soon());
  if (primary < 0) return snprintf(why, size, "no server of %s decides", own->topology.name), false;
  for (size_t i = 0; i < cluster.data_count && family->caught_up && !own->topology.shards; i++)
    if ((int)i != primary && !is_up_with(family, &cluster, i, (size_t)primary))
      return snprintf(why, size, "%s does not follow %s",
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, i)),
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, (size_t)primary))),
             false;
  return true;
}

bool lb_guardian_look_are_well(char *why, size_t size) {
  char *said = lb_need_shared(300);
  pid_t pid = lb_process_fork();
  if (pid == 0) {
    struct lb_own *own;
    bool well = true;
    for (size_t i = 0; well && (own = lb_own_at(i)); i++) well = is_well(own, said, 300);
    _exit(well ? 0 : 1);
  }
  bool well = await_child(pid, LB_SERVERS_MAX * LOOK_MS);
  if (!well) snprintf(why, size, "%s", said[0] ? said : "the servers do not answer");
  munmap(said, 300);
  return well;
}

/* A client that has just left may still be listed. */
static bool ask_others(const struct lb_family *family, struct lb_cluster *cluster, size_t index, size_t *ret) {
  int r = family->others ? family->others(cluster, index, soon(), ret) : -EOPNOTSUPP;
  for (int i = 0; i < OTHERS_ROUNDS && r == 0 && *ret > 0; i++) {
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
    r = family->others(cluster, index, soon(), ret);
  }
  return r == 0;
}

static void ask_others_of_all(struct lb_guardian_others *ret) {
  static struct lb_cluster cluster;
  struct lb_text found = {ret->found, sizeof ret->found, 0}, mute = {ret->mute, sizeof ret->mute, 0};
  struct lb_own *own;
  for (size_t i = 0; (own = lb_own_at(i)); i++) {
    lb_cluster_init(&cluster, &own->topology, lb_guardian.env);
    for (size_t k = 0; k < cluster.data_count; k++) {
      const char *name = lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, k));
      size_t others = 0;
      if (!ask_others(&own->family, &cluster, k, &others)) lb_text_add(&mute, "%s%s", mute.length ? ", " : "", name);
      else if (others > 0) lb_text_add(&found, "%s%zu of %s", found.length ? ", " : "", others, name);
    }
  }
}

void lb_guardian_look_others(struct lb_guardian_others *ret) {
  struct lb_guardian_others *seen = lb_need_shared(sizeof *seen);
  snprintf(seen->mute, sizeof seen->mute, "your servers");
  pid_t pid = lb_process_fork();
  if (pid == 0) seen->mute[0] = '\0', ask_others_of_all(seen), _exit(0);
  await_child(pid, LB_SERVERS_MAX * LOOK_MS);
  *ret = *seen;
  munmap(seen, sizeof *seen);
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* Others that do not serve now: one that needs a majority may have none. */
static bool alone(const struct lb_guardian_fault *but) {
  for (size_t i = 0; i < lb_guardian.count; i++)
    if (lb_guardian.fault[i].ward != but->ward && lb_guardian.fault[i].verb != LB_MAY_CLOCK) return true;
  return false;
}

bool lb_guardian_look_is_other(const struct lb_guardian_look *now, const char *identity) {
  return !identity[0] || (now->told && strcmp(now->identity, identity) != 0);
}

bool lb_guardian_look_shows(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                            const struct lb_guardian_look *before, const struct lb_guardian_look *now) {
  int64_t moved = now->ahead_ms - before->ahead_ms, wanted = f->offset_ms;
  switch (verb) {
    case LB_MAY_KILL:
    case LB_MAY_STOP: return !now->accepts;
    case LB_MAY_RESTART:
      return now->accepts && (now->answers || alone(f)) && (now->told || !f->identity[0] || alone(f));
    case LB_MAY_PAUSE: return now->accepts && !now->answers;
    case LB_MAY_RESUME: return now->answers; /* perhaps as another one: Patroni starts an old primary again */
    case LB_MAY_CUT: return now->left > before->left || (before->follows & ~now->follows);
    case LB_MAY_HEAL: return now->left == 0 && now->answers;
    case LB_MAY_CLOCK:
      return now->has_time && llabs(moved - wanted) < (llabs(wanted) / 2 < 1000 ? llabs(wanted) / 2 : 1000);
    case LB_MAY_DEPOSE: return now->primary >= 0 && now->primary != (int)f->ward && now->answers;
    default: return false;
  }
}

const char *lb_guardian_look_lacks(enum lb_mandate_verb verb, const struct lb_guardian_look *now) {
  switch (verb) {
    case LB_MAY_KILL:
    case LB_MAY_STOP: return "it still takes connections";
    case LB_MAY_RESTART: return now->accepts ? "it does not answer" : "it takes no connection";
    case LB_MAY_PAUSE: return now->accepts ? "it still answers" : "it takes no connection";
    case LB_MAY_RESUME: return "it does not answer";
    case LB_MAY_CUT: return "neither end says so";
    case LB_MAY_HEAL: return "one end is still alone";
    case LB_MAY_CLOCK: return now->has_time ? "its clock has not moved so far" : "it does not tell its time";
    default: return "no other server decides";
  }
}

/* What can pass by itself is seen three times. */
bool lb_guardian_look_await(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                            const struct lb_guardian_look *before, int64_t within_ms, struct lb_guardian_look *now) {
  lb_ns deadline = lb_clock_ns() + (lb_ns)within_ms * LB_NS_PER_MS;
  int wanted = verb == LB_MAY_CUT ? 3 : 1, seen = 0;
  for (;;) {
    lb_guardian_look_at(verb, f, now);
    seen = lb_guardian_look_shows(verb, f, before, now) ? seen + 1 : 0;
    if (seen == wanted) return true;
    if (lb_clock_ns() > deadline) return false;
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
}
