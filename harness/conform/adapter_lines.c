/* SPDX-License-Identifier: MIT
 *
 * Statements about the lines of an adapter, and about its beginning and its end.
 */
#include <stdio.h>

#include "adapter_parts.h"
#include "backends/foreign.h"
#include "conform_statement.h"

enum { QUIET_MS = 150, END_MS = 3000 };

/* The words have been read before the servers were started (lb_foreign_add()): what is left is whether the tool knows them, and whether it says them, and no more, again. */
void adapter_says_what_it_is(struct lb_conform *c) {
  lb_conform_check(c, *lb_foreign_version(c->protocol), "expected version= of the library in the first line");
  for (const char *const *t = c->protocol->topologies; *t; t++)
    lb_conform_check(c, lb_topology_find(*t), "expected topologies= of `lockbench list topologies`, read '%s'", *t);
  adapter_start(c, 0);
  adapter_expect_silence(c, 0, QUIET_MS, "no line that nobody asked for");
}

static void ask_all(struct lb_conform *c, const char *key) {
  struct adapter_reply r;
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "ping");
  adapter_want(c, 0, &r, "ok", "");
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, &r, "of a free lock");
  if (c->protocol->extend) adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, ADAPTER_HOLD_MS), adapter_want(c, 0, &r, "ok lost unknown error", "");
  if (c->protocol->holds) adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "holds key=%s", key), adapter_want(c, 0, &r, "ok lost unknown error", "");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s", key);
  adapter_want(c, 0, &r, "ok lost unknown error", "");
}

/* One question of each kind, twice. */
void adapter_answers_each_once(struct lb_conform *c) {
  KEY;
  adapter_be_strict();
  ask_all(c, key);
  ask_all(c, key);
  adapter_expect_silence(c, 0, QUIET_MS, "no line that nobody asked for");
}

/* A later version of the line protocol may say more. */
void adapter_ignores_what_it_does_not_know(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "acquire later=1 key=%s ttl_ms=%d wait_ms=0 more=%%20", key, ADAPTER_HOLD_MS);
  adapter_want(c, 0, &r, "granted", "of a free lock, asked for with later=1 and more=%20");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s later=1", key);
  adapter_want(c, 0, &r, "ok", "asked for with later=1");
}

void adapter_quits(struct lb_conform *c) {
  char fate[100];
  adapter_open(c, 0);
  bool ended = adapter_end(c, 0, true, END_MS, fate, sizeof fate);
  lb_conform_check(c, ended, "expected it to end within %d ms after quit, it did not", END_MS);
}

void adapter_ends_with_stdin(struct lb_conform *c) {
  char fate[100];
  adapter_open(c, 0);
  adapter_hang_up(0);
  bool ended = adapter_end(c, 0, false, END_MS, fate, sizeof fate);
  lb_conform_check(c, ended, "expected it to end within %d ms after the end of its stdin, it did not", END_MS);
}
