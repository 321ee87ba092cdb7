/* SPDX-License-Identifier: MIT
 *
 * How locks of an adapter end that nobody releases, and what it does when its servers are gone.
 */
#include "adapter_talk.h"

enum {
  SHORT_MS = 1000,
  QUEUED_MS = 1500,
  SESSION_GRACE_MS = 15000,
  GONE_WAIT_MS = 500,
  GONE_MS = 10000,
  BACK_MS = 15000
};

struct two_grants {
  struct adapter_reply first, next;
};

/* A grant of SHORT_MS that is left alone, and the next one, of the second client. */
static struct two_grants outlive(struct lb_conform *c, const char *key) {
  struct two_grants g;
  adapter_open(c, 1);
  g.first = adapter_acquire(c, 0, key, SHORT_MS, 0, "of a free lock");
  adapter_ask(c, 1, SHORT_MS + ADAPTER_GRACE_MS + ADAPTER_LATE_MS, &g.next, "acquire key=%s ttl_ms=%d wait_ms=%d", key,
              ADAPTER_HOLD_MS, SHORT_MS + ADAPTER_GRACE_MS);
  adapter_want(c, 1, &g.next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  return g;
}

static void lease_ends(struct lb_conform *c) {
  KEY;
  struct two_grants g = outlive(c, key);
  lb_ns end = lb_lease_end(g.first.sent, SHORT_MS);
  lb_conform_check(
      c, g.next.came >= end,
      "expected nobody else before the end of a lease of ttl_ms=%d, read '%.100s' %lld ms before it (second client)",
      SHORT_MS, g.next.line, ms_between(g.next.came, end));
  adapter_release(c, 1, key, "");
}

/* It has to say so, too: its caller believes that it held until now. */
static void stale_release(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  outlive(c, key);
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s", key);
  adapter_refused(c, 2, key, "after a release of the first client, whose lease was over; the second one holds");
  adapter_want(c, 0, &r, "lost error", "as its lease was over and the second client holds");
  adapter_release(c, 1, key, "");
}

static void stale_extend(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  outlive(c, key);
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, SHORT_MS);
  adapter_want(c, 0, &r, "lost error", "as its lease was over and the second client holds");
  adapter_release(c, 1, key, "after the first client tried to extend what it had lost");
}

/* As outlive(), and the second client has released, too: nothing at the service speaks against the first one but that
 * it has lost its record. */
static void outlive_all(struct lb_conform *c, const char *key) {
  outlive(c, key);
  adapter_release(c, 1, key, "");
}

static void extend_after_another(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  outlive_all(c, key);
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, SHORT_MS);
  adapter_want(c, 0, &r, "lost error", "as its lease was over, and the second client has held and released since");
}

static void holds_after_another(struct lb_conform *c) {
  KEY;
  outlive_all(c, key);
  adapter_answers(c, 0, "holds", key, "lost error",
                  "as its lease was over, and the second client has held and released since");
}

static void stale_holds(struct lb_conform *c) {
  KEY;
  outlive(c, key);
  adapter_answers(c, 0, "holds", key, "lost error", "as its lease was over and the second client holds");
  adapter_answers(c, 1, "holds", key, "ok", "while it holds");
  adapter_release(c, 1, key, "");
}

static void session_lasts(struct lb_conform *c) {
  KEY;
  for (int i = 0; i < 2; i++) c->config[i].ttl_ms = SHORT_MS;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, "of a free lock");
  lb_clock_sleep_until(in_ms(2 * SHORT_MS + 500));
  adapter_refused(c, 1, key, "2.5 s after a grant to a client that lives, with ends=session and ttl_ms=1000");
  adapter_release(c, 0, key, "2.5 s after the grant");
}

/* Services have a shortest session of their own. */
static void killed_client(struct lb_conform *c) {
  KEY;
  int64_t grace_ms = has(c, LB_TRAIT_SESSION) ? SESSION_GRACE_MS : ADAPTER_GRACE_MS;
  for (int i = 0; i < 2; i++) c->config[i].ttl_ms = SHORT_MS;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, "of a free lock");
  adapter_kill(c, 0);
  adapter_acquire(c, 1, key, SHORT_MS, SHORT_MS + grace_ms, "as the first client was killed");
  adapter_release(c, 1, key, "");
}

/* Its place may last as long as what it would have held. */
static void killed_waiter(struct lb_conform *c) {
  KEY;
  int64_t grace_ms = has(c, LB_TRAIT_SESSION) ? SESSION_GRACE_MS : ADAPTER_GRACE_MS;
  for (int i = 1; i < 3; i++) c->config[i].ttl_ms = SHORT_MS, adapter_open(c, i);
  adapter_acquire(c, 0, key, 2 * ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_put(c, 1, "acquire key=%s ttl_ms=%d wait_ms=%d", key, SHORT_MS, ADAPTER_HOLD_MS);
  adapter_expect_silence(c, 1, QUEUED_MS, "no answer to acquire while the first client holds");
  adapter_kill(c, 1);
  adapter_release(c, 0, key, "");
  adapter_acquire(c, 2, key, SHORT_MS, SHORT_MS + grace_ms,
                  "as the first client has released, and the second one was killed while it waited");
  adapter_release(c, 2, key, "");
}

/* As long as a server comes back, errors are true answers. After one of them the session is opened again by a client of
 * its own, as some libraries need it. */
static void server_is_gone(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  r = adapter_acquire(c, 0, key, SHORT_MS, 0, "of a free lock");
  adapter_release(c, 0, key, "");
  lb_conform_bring(c, LB_CONFORM_SHALL_DIE);
  adapter_ask(c, 0, GONE_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, SHORT_MS, GONE_WAIT_MS);
  adapter_want(c, 0, &r, "error unknown timeout busy", "while there is no server");
  bool unknown = adapter_says(&r, "unknown");
  lb_conform_bring(c, LB_CONFORM_SHALL_RESTART);
  if (unknown) adapter_ask(c, 0, GONE_MS, &r, "release key=%s", key);
  lb_ns end = in_ms(BACK_MS);
  do {
    adapter_ask(c, 0, GONE_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, SHORT_MS, GONE_WAIT_MS);
    if (adapter_says(&r, "granted")) break;
    if (adapter_says(&r, "unknown")) adapter_ask(c, 0, GONE_MS, &r, "release key=%s", key);
    lb_clock_sleep_until(in_ms(100));
  } while (lb_clock_ns() < end);
  adapter_want(c, 0, &r, "granted", "within 15 s after the servers came back");
  adapter_release(c, 0, key, "after the servers came back");
}

const struct lb_conform_statement lb_adapter_of_ends[] = {
    {"a lease ends by itself, not before its ttl and not long after", ADAPTER_LEASE, lease_ends},
    {"a stale release leaves the next holder alone", ADAPTER_LEASE, stale_release},
    {"a lease that is over cannot be extended", ADAPTER_EXTEND | ADAPTER_LEASE, stale_extend},
    {"a lease that another one has had since cannot be extended", ADAPTER_EXTEND | ADAPTER_LEASE, extend_after_another},
    {"holds asks the service, not its own memory", ADAPTER_HOLDS | ADAPTER_LEASE, stale_holds},
    {"holds is no more ok when another one has held since", ADAPTER_HOLDS | ADAPTER_LEASE, holds_after_another},
    {"a session holds for longer than the ttl, as long as its client lives", ADAPTER_SESSION, session_lasts},
    {"what a killed client held becomes free", ADAPTER_ENDS, killed_client},
    {"a waiter that was killed keeps no client out", 0, killed_waiter},
    {"servers that are gone grant nothing, and when they are back it goes on", ADAPTER_SERVERS, server_is_gone},
    {NULL, 0, NULL},
};
