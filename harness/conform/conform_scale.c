/* SPDX-License-Identifier: MIT
 *
 * Many locks in one hand, and names at the limits that backend.h sets (struct lb_lock, struct
 * lb_config).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "conform_statement.h"

/* TAKE_MS: where each lock is a write that is synced, fewer have to do. How fast is not the question: a call may take as long as a
 * machine that is busy needs, what is held outlives the statement, and after RELEASE_MS whoever is left goes with its session. */
enum { MANY = 1000, AT_LEAST = 16, TAKE_MS = 600, RELEASE_MS = 10000, HOLD_TTL_MS = 4 * CUT_TTL_MS, KEY_BYTES = 63, PAIRS = 5 };

static struct lb_grant grants[MANY];

static const char *name_of(const struct lb_conform *c, int number) {
  static char name[64];
  snprintf(name, sizeof name, "%s-many-%d", c->key_prefix, number);
  return name;
}

/* An error says that nothing was taken: where servers that were too slow are one, they are asked again. */
static int take(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  lb_ns end = in_ms(LB_CONFORM_CALL_MS);
  int r;
  while ((r = lb_conform_try_for(c, 0, key, HOLD_TTL_MS, grant, in_ms(LB_CONFORM_CALL_MS))) < 0 && r != -EMFILE && lb_clock_ns() < end) {
    *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(5));
  }
  return r;
}

/* How many the first session got: all, or as many as it can hold at once (-EMFILE), or as there was
 * time for. One that was not answered in time is given up. */
static int take_many(struct lb_conform *c, const char **ret_why) {
  lb_ns end = in_ms(TAKE_MS);
  c->config[0].ttl_ms = HOLD_TTL_MS;
  for (int n = 0; n < MANY; n++) {
    int r = take(c, name_of(c, n), &grants[n]);
    if (r == -EMFILE && n >= AT_LEAST) return *ret_why = "is all that one session holds", n;
    bool no_answer = r == LB_TIMEOUT || r == LB_UNKNOWN;
    if (r == LB_UNKNOWN && n > 0) lb_conform_release(c, 0, name_of(c, n), &grants[n]);
    if (no_answer && n > 0) return *ret_why = "in the time there was", n;
    WANT(LB_OK, r);
    if (lb_clock_ns() > end && n + 1 < MANY) return *ret_why = "in the time there was", n + 1;
  }
  return *ret_why = NULL, MANY;
}

void lb_statement_holds_a_thousand(struct lb_conform *c) {
  const char *why;
  struct lb_grant b = LB_GRANT_INIT;
  int count = take_many(c, &why);
  if (why) lb_conform_note(c, "%d %s", count, why);
  for (int i = 0; i < 3; i++) {
    const char *key = name_of(c, i * (count - 1) / 2);
    struct lb_grant d = LB_GRANT_INIT;
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &d));
    if (has(c, LB_TRAIT_QUEUES)) WANT(LB_OK, lb_conform_release(c, 1, key, &d));
  }
  lb_ns end = in_ms(RELEASE_MS);
  for (int n = count - 1; n >= 0 && lb_clock_ns() < end; n--)
    WANT(LB_OK, lb_conform_release(c, 0, name_of(c, n), &grants[n]));
  WANT(LB_OK, lb_conform_acquire(c, 1, name_of(c, count - 1), &b, LB_CONFORM_CALL_MS));
  WANT(LB_OK, lb_conform_release(c, 1, name_of(c, count - 1), &b));
}

/* Two names that differ in one byte, by somebody who cuts, folds or escapes them. */
static void name_pair(const struct lb_conform *c, int which, char first[64], char second[64]) {
  static const char *const begin[PAIRS] = {"-", "-odd-:", "-odd::", "-odd--", "-"};
  static const char *const end[PAIRS] = {"ab", "-:", ":0", "-0", "0z"};
  for (int i = 0; i < 2; i++) {
    char *name = i == 0 ? first : second;
    memset(name, 'z', KEY_BYTES);
    int used = snprintf(name, 64, "%s%s", c->key_prefix, begin[which]);
    if (which == 0 || which == PAIRS - 1) name[used] = 'z', used = KEY_BYTES - 1; /* as long as may be */
    name[used] = end[which][i];
    name[used + 1] = '\0';
  }
}

void lb_statement_names_at_their_limits(struct lb_conform *c) {
  char first[64], second[64];
  c->config[1].client = "a-client-with-31-letters-a-name";
  c->config[2].client = "a-client-with-31-letters-a-namf";
  for (int which = 0; which < PAIRS; which++) {
    struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
    name_pair(c, which, first, second);
    WANT(LB_OK, lb_conform_try(c, 1, first, &a));
    WANT(LB_OK, lb_conform_try(c, 2, second, &b));
    WANT(LB_BUSY, lb_conform_try(c, 2, first, &d));
    lb_conform_leave(c, 2, first, &d);
    WANT(LB_OK, lb_conform_release(c, 1, first, &a));
    WANT(LB_OK, lb_conform_release(c, 2, second, &b));
  }
}
