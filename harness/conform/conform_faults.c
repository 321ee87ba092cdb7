/* SPDX-License-Identifier: MIT
 *
 * What a protocol does when answers do not come, its connections break, clients die and servers start again or are
 * gone. The faults are real, but small: whole partitions, pauses and failovers are what scenarios are for. A client
 * that got no answer cannot know, and has to say so or to find out; what it says in the end is what the next client
 * gets to see. Leases are long here, so that none ends in time to hide a mistake.
 */
#include "conform_calls.h"
#include "conform_process.h"

#include <inttypes.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- answers that are lost ---------------------------------------------------------------------- */

enum { LOST_MS = 200, DEFINITE_MS = 10000, RESOLVE_MS = 700, NAP_MS = 20, BRIEF_MS = 400, BRIEF_SESSION_MS = 1000 };

/* A filter that accepts no packet. It stands behind the kernel's TCP, which does not see them either: to
 * both ends it looks as if they were dropped on the way. */
static uint64_t deafen(int fd) {
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

/* From now on nothing that comes in on these is heard: what is sent still arrives, its answer does not. How many. */
static int deafen_sockets(const struct lb_target *target) { return (int)lb_env_sockets_sum(target, deafen); }

/* The session is connected, and hears nothing on these connections any more. */
static void connect_and_deafen(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  if (grant) {
    WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, grant));
  } else {
    struct lb_grant first = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_try(c, 0, key, &first));
    WANT(LB_OK, lb_conform_release(c, 0, key, &first));
  }
  deafen_sockets(&c->target);
}

/* Called again until it is known, as backend.h says. */
static void release_until_known(struct lb_conform *c, const char *key, struct lb_grant *grant, int r) {
  for (lb_ns end = in_ms(DEFINITE_MS); r != LB_OK && r != LB_LOST && lb_clock_ns() < end;
       r = lb_conform_release(c, 0, key, grant))
    lb_clock_sleep_until(in_ms(NAP_MS));
  c->within_ms = DEFINITE_MS;
  if (r != LB_LOST) WANT(LB_OK, r);
}

/* The lease of a try whose answer is lost. A reentrant session may count a repeated attempt again, which another
 * statement is about: here such a hold ends soon. */
static int64_t lost_ttl_ms(const struct lb_conform *c) {
  return has(c, LB_TRAIT_REENTRANT) ? SLACK_MS / 2 : CUT_TTL_MS;
}

/* An outcome may stay unknown for ever, so a client stops asking after a while. */
static int resolve_while_unknown(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  int r = LB_UNKNOWN;
  for (lb_ns end = in_ms(has_owner(c) ? RESOLVE_MS : 0); r == LB_UNKNOWN;) {
    r = lb_conform_resolve(c, 0, key, lost_ttl_ms(c), grant);
    if (r < 0) r = LB_UNKNOWN; /* there is no server to ask, for now */
    if (lb_clock_ns() >= end) break;
    if (r == LB_UNKNOWN) lb_clock_sleep_until(in_ms(NAP_MS));
  }
  return r;
}

/* By another session, and not because a lease has ended. */
static void is_free(struct lb_conform *c, const char *key) {
  struct lb_grant b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

static void is_held(struct lb_conform *c, const char *key) {
  struct lb_grant b = LB_GRANT_INIT;
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
}

/* Asked over and over, because at first there is only a connection that has broken: an error or "unknown" is then a
 * true answer. Fails if it stays so. */
static int ask_until_known(struct lb_conform *c, const char *key, const struct lb_grant *grant) {
  lb_ns end = in_ms(DEFINITE_MS);
  int r;
  while ((r = lb_conform_holds(c, 0, key, grant)) != LB_OK && r != LB_LOST && lb_clock_ns() < end)
    lb_clock_sleep_until(in_ms(NAP_MS));
  c->within_ms = DEFINITE_MS;
  if (r != LB_LOST) WANT(LB_OK, r);
  return r;
}

/* From what the first session was told of its try to what all sessions see. A session that got an error, TIMEOUT or
 * BUSY has nothing but perhaps a place in a queue, and does nothing more. A session may be over, and its hold with it,
 * as soon as its connection is. */
static void is_true(struct lb_conform *c, const char *key, struct lb_grant *grant, int r) {
  if (r == LB_UNKNOWN && c->protocol->resolve) r = resolve_while_unknown(c, key, grant);
  if (r == LB_UNKNOWN && !has_owner(c)) return; /* there may be a record, and it does not name its owner */
  bool holds = r == LB_OK;
  if (holds && has(c, LB_TRAIT_SESSION) && c->protocol->holds) holds = ask_until_known(c, key, grant) == LB_OK;
  if (holds) is_held(c, key);
  if (r == LB_OK || r == LB_UNKNOWN) release_until_known(c, key, grant, LB_UNKNOWN);
  else if (r == LB_BUSY) lb_conform_leave(c, 0, key, grant);
  is_free(c, key);
}

/* Shut down, not closed: the descriptor stays with its library, which then finds the connection at its end. */
static uint64_t shut_down(int fd) { return shutdown(fd, SHUT_RDWR) == 0; }

/* Shuts down every socket of this process that is connected to one of the target's endpoints, as a
 * cut would. How many. */
static int shutdown_sockets(const struct lb_target *target) { return (int)lb_env_sockets_sum(target, shut_down); }

static void answer_of_a_try_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  connect_and_deafen(c, key, NULL);
  int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, in_ms(LOST_MS));
  shutdown_sockets(&c->target);
  is_true(c, key, &a, r);
}

/* A later release may find that there is nothing left to release. It must not find the lock of somebody else. */
static void answer_of_a_release_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  connect_and_deafen(c, key, &a);
  int r = lb_conform_release_by(c, 0, key, &a, in_ms(LOST_MS));
  shutdown_sockets(&c->target);
  release_until_known(c, key, &a, r);
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  if (has_owner(c)) {
    struct lb_grant d = LB_GRANT_INIT;
    release_until_known(c, key, &a, LB_UNKNOWN);
    WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
    lb_conform_leave(c, 2, key, &d);
  }
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* Until it is known, the client has the time that it had. */
static void answer_of_an_extension_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  connect_and_deafen(c, key, &a);
  lb_ns old_end = a.valid_until;
  int r = lb_conform_extend_by(c, 0, key, 2 * CUT_TTL_MS, &a, in_ms(LOST_MS));
  lb_conform_check(c, r == LB_OK || a.valid_until <= old_end,
                   "expected valid_until not to move out, it did by %.3f ms (extend, first session)",
                   ((double)a.valid_until - (double)old_end) / 1e6);
  shutdown_sockets(&c->target);
  r = ask_until_known(c, key, &a);
  if (r == LB_OK) is_held(c, key);
  if (r == LB_OK) release_until_known(c, key, &a, LB_UNKNOWN);
  is_free(c, key);
}

/* The client has gone, so it never learns the outcome: the lease has to end by itself. A service may know one lease for
 * all locks, that of the set-up. */
static void lost_answer_ends_with_its_lease(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  if (has(c, LB_TRAIT_SESSION)) c->config[0].ttl_ms = BRIEF_SESSION_MS;
  connect_and_deafen(c, key, NULL);
  lb_conform_try_for(c, 0, key, BRIEF_MS, &a, in_ms(LOST_MS));
  shutdown_sockets(&c->target);
  if (has(c, LB_TRAIT_SESSION)) lb_conform_hang_up(c, 0);
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, TTL_MS + SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* A deadline can pass anywhere: before the request leaves, while it is on its way, while the answer
 * is. The first one has passed before. */
static void true_however_short_the_time(struct lb_conform *c) {
  static const lb_ns us[] = {0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
  for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
    KEY;
    struct lb_grant a = LB_GRANT_INIT;
    int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, lb_clock_ns() + us[i] * 1000);
    is_true(c, key, &a, r);
  }
}

static void cut_here(struct lb_conform *c) { shutdown_sockets(&c->target); }

/* When the first session next comes by this point: act(c). NULL = never mind. */
static void at_point(struct lb_conform *c, const char *point, void (*act)(struct lb_conform *c)) {
  c->point = point;
  c->at_point = act;
}

/* One round for each point that the protocol has: from that point on its connections are gone, whatever
 * it is about to do. A point that this client does not come by is for others. */
static void cut_off_at_any_point(struct lb_conform *c) {
  for (const char *const *point = c->protocol->points; point && *point; point++) {
    KEY;
    struct lb_grant a = LB_GRANT_INIT;
    at_point(c, *point, cut_here);
    int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, in_ms(2000));
    is_true(c, key, &a, r);
    at_point(c, NULL, NULL);
  }
}

/* ---- clients that die ------------------------------------------------------------------------ */

enum { DEAD_WAITER = 0, DEAD_HOLDER = 1, DEAD_AT_A_POINT = 2 };

static char wanted[LB_CONFORM_PROCESSES][48]; /* a key for each of them */

static void die(struct lb_conform *c) { (void)c, _exit(0); }

/* Number 0 is refused and dies in its wait, number 1 holds, the others die at a point; who does not come by
 * that point ends well. */
static void live_briefly(struct lb_conform *c, int number) {
  struct lb_grant g = LB_GRANT_INIT;
  c->config[0].ttl_ms = has(c, LB_TRAIT_SESSION) ? BRIEF_SESSION_MS : BRIEF_MS;
  if (number >= DEAD_AT_A_POINT) at_point(c, c->protocol->points[number - DEAD_AT_A_POINT], die);
  int r = lb_conform_try_for(c, 0, wanted[number], BRIEF_MS, &g, in_ms(LB_CONFORM_CALL_MS));
  if (number < DEAD_AT_A_POINT) {
    WANT(number == DEAD_WAITER ? LB_BUSY : LB_OK, r);
    die(c);
  }
  WANT(LB_OK, r);
  WANT(LB_OK, lb_conform_release(c, 0, wanted[number], &g));
}

/* Holds what the first of them is refused, until that one is dead. */
static void hold_against(struct lb_conform *c, int number) {
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, wanted[number], CUT_TTL_MS, &g));
  atomic_store(&c->shared->inside, 1);
  for (lb_ns end = in_ms(CUT_TTL_MS); atomic_load(&c->shared->inside) == 1 && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(2));
  WANT(LB_OK, lb_conform_release(c, 0, wanted[number], &g));
}

static int points_of(const struct lb_protocol *p) {
  int count = 0;
  while (p->points && p->points[count] && count < LB_CONFORM_PROCESSES - 1 - DEAD_AT_A_POINT) count++;
  return count;
}

/* All of them at once: one lease or session, and all are over. */
static void dead_clients_hold_nothing(struct lb_conform *c) {
  int count = DEAD_AT_A_POINT + points_of(c->protocol);
  for (int i = 0; i < count; i++) snprintf(wanted[i], sizeof wanted[i], "%s", lb_conform_key(c));
  lb_conform_start(c, "holder", DEAD_WAITER, hold_against);
  for (lb_ns end = in_ms(LB_CONFORM_CALL_MS); !atomic_load(&c->shared->inside) && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(2));
  struct lb_conform others = *c;
  others.process_count = 0;
  for (int i = 0; i < count; i++) lb_conform_start(&others, "mortal", i, live_briefly);
  lb_conform_join(&others, 2 * LB_CONFORM_CALL_MS);
  atomic_store(&c->shared->inside, 2);
  lb_conform_join(c, LB_CONFORM_CALL_MS);
  int64_t ms = SLACK_MS + (has(c, LB_TRAIT_SESSION) ? 2 * BRIEF_SESSION_MS : TTL_MS);
  for (int i = 0; i < count; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_queue_up(c, 0, wanted[i], &g, ms));
    WANT(LB_OK, lb_conform_release(c, 0, wanted[i], &g));
  }
}

/* ---- servers that start again ---------------------------------------------------------------- */

enum { BACK_MS = 10000, RESTART_TTL_MS = 60000 };

/* Errors and silence are true answers while a server is coming back. What may be held is let go of for sure, or it
 * would refuse the next try. */
static void get_back(struct lb_conform *c, int i, const char *key, struct lb_grant *grant) {
  lb_ns end = in_ms(BACK_MS);
  int r;
  while ((r = lb_conform_try_for(c, i, key, RESTART_TTL_MS, grant, in_ms(1000))) != LB_OK && lb_clock_ns() < end) {
    bool remains = r == LB_UNKNOWN || (r == LB_BUSY && has(c, LB_TRAIT_QUEUES));
    while (remains && lb_clock_ns() < end) {
      int left = lb_conform_release(c, i, key, grant);
      remains = left != LB_OK && left != LB_LOST;
      if (remains) lb_clock_sleep_until(in_ms(NAP_MS));
    }
    *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(20));
  }
  c->within_ms = BACK_MS;
  WANT(LB_OK, r);
}

static uint64_t largest_fence(struct lb_conform *c, const char *key) {
  uint64_t fence = 0;
  for (int i = 0; i < 3; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_acquire(c, i, key, &g, 2000));
    fence = g.fence;
    WANT(LB_OK, lb_conform_release(c, i, key, &g));
  }
  return fence;
}

/* What a record on a disk says holds after a restart, too, while its lease runs: a service may have given a shorter one
 * than was asked for. What a server process has in its memory may be gone, and is then gone for all clients. */
static void hold_is_what_it_is_said_to_be(struct lb_conform *c, const char *key, struct lb_grant *grant, bool kept) {
  struct lb_grant b = LB_GRANT_INIT;
  lb_ns end = in_ms(BACK_MS);
  int r = ask_until_known(c, key, grant);
  bool runs = has(c, LB_TRAIT_SESSION) || lb_clock_ns() < grant->valid_until; /* a session may outlive that by far */
  if (kept && runs) WANT(LB_OK, r);
  if (r == LB_OK && runs) {
    do r = lb_conform_try(c, 1, key, &b);
    while (r != LB_BUSY && r != LB_OK && lb_clock_ns() < end);
    WANT(LB_BUSY, r);
    lb_conform_leave(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 0, key, grant));
  } else if (has_owner(c)) {
    get_back(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  }
}

/* Whether what was acknowledged outlives the process that did so. Where a row of the table has lines of
 * its own on servers that write as they are asked to, these may be about just that. */
static bool keeps(const struct lb_topology *t) {
  return t->keeps == LB_KEEPS_ON_DISK || (t->keeps == LB_KEEPS_AS_ASKED && !t->settings);
}

/* One restart for all that is asked of it, because some servers take their time. */
static void goes_on_after_a_restart(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *numbered = lb_conform_key(c), *other = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, g = LB_GRANT_INIT, d = LB_GRANT_INIT;
  bool kept = keeps(c->topology), fenced = lb_conform_has(c) & LB_NEEDS_FENCE;
  uint64_t fence = largest_fence(c, numbered);
  WANT(LB_OK, try_for(c, 0, held, RESTART_TTL_MS, &a));
  lb_conform_bring(c, LB_CONFORM_SHALL_RESTART);
  get_back(c, 0, other, &d);
  WANT(LB_OK, lb_conform_release(c, 0, other, &d));
  if (c->protocol->holds) hold_is_what_it_is_said_to_be(c, held, &a, kept && !has(c, LB_TRAIT_SESSION));
  if (!kept) numbered = lb_conform_key(c); /* the confirmed release of the other one may be lost, too */
  get_back(c, 2, numbered, &g);
  lb_conform_check(c, !fenced || !kept || g.fence > fence,
                   "expected a fence above %" PRIu64 " after the restart, got %" PRIu64, fence, g.fence);
  WANT(LB_OK, lb_conform_release(c, 2, numbered, &g));
  if (!kept) lb_conform_note(c, "no hold%s asked for, as its servers need not keep any", fenced ? " or number" : "");
}

/* ---- connections that break ---------------------------------------------------------------------- */

/* Either answer may be true; it has to be the one that the next client gets to see: at once, but
 * for a service that has to find out first that the session is gone. */
static void asked_after_a_reconnect(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, &a));
  shutdown_sockets(&c->target); /* only the first session is open so far */
  if (ask_until_known(c, key, &a) == LB_OK) {
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
    lb_conform_leave(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  } else {
    WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS + (has(c, LB_TRAIT_SESSION) ? CUT_TTL_MS : 0)));
    WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  }
}

static void no_doubt_in_health(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a)); /* asking is no reason for doubt */
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* A library's thread may need a moment to hear of it. */
static void await_doubt(struct lb_conform *c, const char *key, const struct lb_grant *grant) {
  lb_ns end = in_ms(SLACK_MS);
  int r;
  while ((r = lb_conform_doubt(c, 0, key, grant)) == LB_OK && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
  lb_conform_check(c, r != LB_OK, "expected UNKNOWN, LOST or an error from doubt within %d ms, got OK (first session)",
                   SLACK_MS);
}

/* The doubt lasts after the connection is back, until the service has answered: the lock may have been lost meanwhile.
 */
static void doubts_a_broken_connection(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  shutdown_sockets(&c->target);
  await_doubt(c, key, &a);
  lb_clock_sleep_until(in_ms(100)); /* time for a library to connect again by itself */
  await_doubt(c, key, &a);
  if (!c->protocol->holds || ask_until_known(c, key, &a) != LB_OK) return;
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* ---- the end --------------------------------------------------------------------------------------- */

/* How long a server that follows another may lag behind. Far less than the leases of the statement,
 * so that a record which is gone by then was removed and has not expired. */
enum { FOLLOW_MS = 1000 };

/* Every server that holds locks, for itself. One that follows another is given a while, in which no
 * lease of the statement ends. */
static void nobody_knows_of(struct lb_conform *c, const char *key) {
  for (size_t i = 0; lb_proofs(c->protocol)->inspect && i < c->topology->data_count; i++) {
    int r;
    for (lb_ns end = in_ms(FOLLOW_MS); (r = lb_conform_inspect(c, 2, key, i)) == 1 && lb_clock_ns() < end;)
      lb_clock_sleep_until(in_ms(5));
    lb_conform_check(c, r == 0, "expected no record of a key at server %zu after teardown, %s (third session)", i + 1,
                     r == 1 ? "it has one" : "nobody could tell");
  }
}

/* While its holder has not let go, and with keys that were let go; the servers are then as before the first setup. */
static void torn_down(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *free = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, held, CUT_TTL_MS, &a));
  WANT(LB_OK, try_for(c, 1, free, CUT_TTL_MS, &b));
  WANT(LB_OK, lb_conform_release(c, 1, free, &b));
  WANT(LB_OK, lb_conform_teardown(c, 2));
  nobody_knows_of(c, held);
  nobody_knows_of(c, free);
  WANT(LB_OK, lb_conform_teardown(c, 1)); /* it may be repeated, and by another */
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 1));
  WANT(LB_OK, lb_conform_try(c, 1, held, &d));
  WANT(LB_OK, lb_conform_release(c, 1, held, &d));
}

/* After all that pass points: what they came by is in the table, and what is in the table they came by. */
static void points_are_true(struct lb_conform *c) {
  const char *const *table = c->protocol->points;
  unsigned count = atomic_load(&c->shared->point_count);
  for (unsigned i = 0; i < count; i++) {
    bool known = false;
    for (const char *const *p = table; p && *p; p++) known |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, known, "expected point %s in the table, as somebody came by it", c->shared->point[i]);
  }
  for (const char *const *p = table; p && *p; p++) {
    bool seen = false;
    for (unsigned i = 0; i < count; i++) seen |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, seen, "expected somebody to come by point %s of the table, nobody did", *p);
  }
}

/* Last: the servers are killed, once a session has worked. The answer must be none that speaks of
 * the lock, and come at the deadline. */
static void ends_without_servers(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, held = LB_GRANT_INIT;
  const char *other = lb_conform_key(c);
  get_back(c, 0, key, &a); /* an earlier statement restarted them: the one that has this key may not serve yet */
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  if (c->protocol->doubt) WANT(LB_OK, try_for(c, 0, other, CUT_TTL_MS, &held));
  lb_conform_bring(c, LB_CONFORM_SHALL_DIE);
  if (c->protocol->doubt) await_doubt(c, other, &held);
  int r = lb_conform_try_for(c, 0, key, TTL_MS, &b, in_ms(700));
  lb_conform_check(c, r != LB_OK && r != LB_BUSY,
                   "expected TIMEOUT, UNKNOWN or an error from try_acquire, got %s (first session)",
                   r == LB_OK ? "OK" : "BUSY");
}

const struct lb_conform_statement lb_conform_of_faults[] = {
    {"a try without an answer is told for what it is", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, answer_of_a_try_is_lost},
    {"a release without an answer can be repeated", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, answer_of_a_release_is_lost},
    {"an extension without an answer promises nothing",
     LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_EXTEND | LB_NEEDS_HOLDS, answer_of_an_extension_is_lost},
    {"what nobody asks about ends with its lease or session", LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_END,
     lost_answer_ends_with_its_lease},
    {"what a try says is true however short its time", LB_NEEDS_SAFE, true_however_short_the_time},
    {"what a try says is true wherever its connections break", LB_NEEDS_SAFE | LB_NEEDS_SERVERS | LB_NEEDS_POINTS,
     cut_off_at_any_point},
    {"what a dead client had ends with its lease or session", LB_NEEDS_SAFE | LB_NEEDS_END, dead_clients_hold_nothing},
    {"what holds says after a reconnect is true", LB_NEEDS_HOLDS | LB_NEEDS_SERVERS, asked_after_a_reconnect},
    {"a healthy session is in no doubt, and says so at once", LB_NEEDS_DOUBT, no_doubt_in_health},
    {"a broken connection is a doubt until the hold is confirmed again", LB_NEEDS_DOUBT | LB_NEEDS_SERVERS,
     doubts_a_broken_connection},
    {"teardown leaves nothing behind", LB_NEEDS_TEARDOWN | LB_NEEDS_MEMORY, torn_down},
    {"a session goes on after a restart of its servers", LB_NEEDS_SAFE | LB_NEEDS_SERVERS, goes_on_after_a_restart},
    {"the table of points is complete and true", 0, points_are_true},
    {"a try against dead servers ends at its deadline", LB_NEEDS_SERVERS, ends_without_servers},
    {NULL, 0, NULL},
};
