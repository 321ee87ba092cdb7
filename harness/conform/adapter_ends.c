/* SPDX-License-Identifier: MIT
 *
 * Statements about how locks of an adapter end that nobody releases, and about servers that are gone.
 */
#include "adapter_parts.h"
#include "conform_statement.h"

enum { SHORT_MS = 1000, QUEUED_MS = 1500, SESSION_GRACE_MS = 15000, GONE_WAIT_MS = 500, GONE_MS = 10000, BACK_MS = 15000, RESTART_MS = 25000 };

static long long ms_between(lb_ns from, lb_ns to) { return to > from ? (long long)((to - from) / LB_NS_PER_MS) : 0; }

/* A grant of SHORT_MS that is left alone, and the next one of the second client. */
static void outlive(struct lb_conform *c, const char *key, struct adapter_reply *first, struct adapter_reply *next) {
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, first, "of a free lock");
  adapter_ask(c, 1, SHORT_MS + ADAPTER_GRACE_MS + ADAPTER_LATE_MS, next, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, SHORT_MS + ADAPTER_GRACE_MS);
}

void adapter_lease_ends(struct lb_conform *c) {
  KEY;
  struct adapter_reply first, next;
  outlive(c, key, &first, &next);
  adapter_want(c, 1, &next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  lb_ns end = lb_lease_end(first.sent, SHORT_MS);
  lb_conform_check(c, next.came >= end, "expected nobody else before the end of a lease of ttl_ms=%d, read '%.100s' %lld ms before it (second client)", SHORT_MS, next.line,
                   ms_between(next.came, end));
  adapter_release(c, 1, key, "");
}

/* It has to say so, too: its caller believes that it held until now. */
void adapter_stale_release(struct lb_conform *c) {
  KEY;
  struct adapter_reply first, next, r;
  outlive(c, key, &first, &next);
  adapter_want(c, 1, &next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s", key);
  adapter_refused(c, 2, key, "after a release of the first client, whose lease was over; the second one holds");
  adapter_want(c, 0, &r, "lost error", "as its lease was over and the second client holds");
  adapter_release(c, 1, key, "");
}

void adapter_stale_extend(struct lb_conform *c) {
  KEY;
  struct adapter_reply first, next, r;
  outlive(c, key, &first, &next);
  adapter_want(c, 1, &next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, SHORT_MS);
  adapter_want(c, 0, &r, "lost error", "as its lease was over and the second client holds");
  adapter_release(c, 1, key, "after the first client tried to extend what it had lost");
}

/* As outlive(), and the second client has released, too: nothing at the service speaks against the first one but that it has lost its record. */
static void outlive_all(struct lb_conform *c, const char *key) {
  struct adapter_reply first, next;
  outlive(c, key, &first, &next);
  adapter_want(c, 1, &next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  adapter_release(c, 1, key, "");
}

void adapter_extend_after_another(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  outlive_all(c, key);
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, SHORT_MS);
  adapter_want(c, 0, &r, "lost error", "as its lease was over, and the second client has held and released since");
}

void adapter_holds_after_another(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  outlive_all(c, key);
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "holds key=%s", key);
  adapter_want(c, 0, &r, "lost error", "as its lease was over, and the second client has held and released since");
}

void adapter_stale_holds(struct lb_conform *c) {
  KEY;
  struct adapter_reply first, next, r;
  outlive(c, key, &first, &next);
  adapter_want(c, 1, &next, "granted", "as a lease of 1 s was over while it waited for 5 s");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "holds key=%s", key);
  adapter_want(c, 0, &r, "lost error", "as its lease was over and the second client holds");
  adapter_ask(c, 1, ADAPTER_CALL_MS, &r, "holds key=%s", key);
  adapter_want(c, 1, &r, "ok", "while it holds");
  adapter_release(c, 1, key, "");
}

void adapter_session_lasts(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  for (int i = 0; i < 2; i++) c->config[i].ttl_ms = SHORT_MS;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, &r, "of a free lock");
  lb_clock_sleep_until(in_ms(2 * SHORT_MS + 500));
  adapter_refused(c, 1, key, "2.5 s after a grant to a client that lives, with ends=session and ttl_ms=1000");
  adapter_release(c, 0, key, "2.5 s after the grant");
}

/* Services have a shortest session of their own. */
void adapter_killed_client(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  int64_t grace_ms = has(c, LB_TRAIT_SESSION) ? SESSION_GRACE_MS : ADAPTER_GRACE_MS;
  for (int i = 0; i < 2; i++) c->config[i].ttl_ms = SHORT_MS;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, &r, "of a free lock");
  adapter_kill(c, 0);
  adapter_acquire(c, 1, key, SHORT_MS, SHORT_MS + grace_ms, &r, "as the first client was killed");
  adapter_release(c, 1, key, "");
}

/* Its place may last as long as what it would have held. */
void adapter_killed_waiter(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  int64_t grace_ms = has(c, LB_TRAIT_SESSION) ? SESSION_GRACE_MS : ADAPTER_GRACE_MS;
  for (int i = 1; i < 3; i++) c->config[i].ttl_ms = SHORT_MS, adapter_open(c, i);
  adapter_acquire(c, 0, key, 2 * ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_put(c, 1, "acquire key=%s ttl_ms=%d wait_ms=%d", key, SHORT_MS, ADAPTER_HOLD_MS);
  adapter_expect_silence(c, 1, QUEUED_MS, "no answer to acquire while the first client holds");
  adapter_kill(c, 1);
  adapter_release(c, 0, key, "");
  adapter_acquire(c, 2, key, SHORT_MS, SHORT_MS + grace_ms, &r, "as the first client has released, and the second one was killed while it waited");
  adapter_release(c, 2, key, "");
}

/* ---- servers ---------------------------------------------------------------------------------------------------------- */

static void bring_to(struct lb_conform *c, enum lb_conform_servers asked, enum lb_conform_servers wanted) {
  lb_ns end = in_ms(RESTART_MS);
  atomic_store(&c->shared->servers, asked);
  while (atomic_load(&c->shared->servers) == (int)asked && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(2));
  if (atomic_load(&c->shared->servers) != (int)wanted) lb_conform_break(c, "the servers did not %s", wanted == LB_CONFORM_DEAD ? "die" : "start again");
}

/* As long as a server comes back, errors are true answers. After one of them the session is opened again by a client of its own, as some libraries need it. */
void adapter_server_is_gone(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_acquire(c, 0, key, SHORT_MS, 0, &r, "of a free lock");
  adapter_release(c, 0, key, "");
  bring_to(c, LB_CONFORM_SHALL_DIE, LB_CONFORM_DEAD);
  adapter_ask(c, 0, GONE_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, SHORT_MS, GONE_WAIT_MS);
  adapter_want(c, 0, &r, "error unknown timeout busy", "while there is no server");
  bool unknown = adapter_says(&r, "unknown");
  bring_to(c, LB_CONFORM_SHALL_RESTART, LB_CONFORM_SERVE);
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
