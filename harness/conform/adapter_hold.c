/* SPDX-License-Identifier: MIT
 *
 * Statements about what a grant of an adapter says, and what is true while it holds.
 */
#include "adapter_parts.h"
#include "backends/foreign.h"
#include "conform_statement.h"

enum { SHORT_MS = 1000, GRANTS = 4, RECORD_MS = 2000 };

void adapter_grants_as_it_says(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  long long number;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  bool fence = adapter_number(&r, "fence", &number), validity = adapter_number(&r, "validity_ms", &number);
  lb_conform_check(c, fence == has(c, LB_TRAIT_FENCED), "expected %s in a grant, as can= %s fence, read '%.100s'", fence ? "no fence=" : "fence= with a whole number",
                   fence ? "does not name" : "names", r.line);
  lb_conform_check(c, validity == lb_foreign_tells_validity(c->protocol), "expected %s in a grant, as can= %s validity, read '%.100s'",
                   validity ? "no validity_ms=" : "validity_ms= with a whole number", validity ? "does not name" : "names", r.line);
  adapter_release(c, 0, key, "");
}

void adapter_fences_grow(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  long long latest = 0, fence = 0;
  for (int i = 0; i < GRANTS; i++) {
    adapter_acquire(c, i % 2, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, &r, "of a free lock");
    lb_conform_check(c, adapter_number(&r, "fence", &fence), "expected fence= with a whole number, read '%.100s'", r.line);
    lb_conform_check(c, fence > latest, "expected a fence above %lld, read '%.100s' (grant %d)", latest, r.line, i + 1);
    latest = fence;
    adapter_release(c, i % 2, key, "");
  }
}

void adapter_validity(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  long long left = 0;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  lb_conform_check(c, adapter_number(&r, "validity_ms", &left), "expected validity_ms= with a whole number, read '%.100s'", r.line);
  lb_conform_check(c, left > 0 && left <= ADAPTER_HOLD_MS, "expected validity_ms above 0 and at most ttl_ms=%d, read '%.100s'", ADAPTER_HOLD_MS, r.line);
  adapter_release(c, 0, key, "");
}

/* A record may end a little after the answer: a session that closes, a follower. */
void adapter_record(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  lb_conform_check(c, !adapter_has_record(c, key), "expected no record before anybody asked for the lock, found one");
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  lb_conform_check(c, adapter_has_record(c, key), "expected the record of record= at a server while it holds, found none");
  adapter_release(c, 0, key, "");
  lb_ns end = in_ms(RECORD_MS);
  bool there;
  while ((there = adapter_has_record(c, key)) && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(20));
  lb_conform_check(c, !there, "expected no record within %d ms after the release, found one", RECORD_MS);
}

void adapter_confirms(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "holds key=%s", key);
  adapter_want(c, 0, &r, "ok", "while it holds");
  adapter_release(c, 0, key, "");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "holds key=%s", key);
  adapter_want(c, 0, &r, "lost error", "after its release");
}

/* Long after its first end it is refused to others. Servers that count whole seconds may keep it for one more, so it is looked at later than that. */
void adapter_extends(struct lb_conform *c) {
  KEY;
  struct adapter_reply granted, r;
  adapter_open(c, 1);
  adapter_acquire(c, 0, key, SHORT_MS, 0, &granted, "of a free lock");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, 4 * SHORT_MS);
  adapter_want(c, 0, &r, "ok", "while it holds");
  lb_clock_sleep_until(granted.came + (2 * SHORT_MS + 200) * LB_NS_PER_MS);
  adapter_refused(c, 1, key, "2.2 s after a grant of 1 s that was extended by 4 s");
  adapter_release(c, 0, key, "2.2 s after a grant of 1 s that was extended by 4 s");
}
