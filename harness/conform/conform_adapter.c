/* SPDX-License-Identifier: MIT
 *
 * How adapters are spoken to in lines (peers/README.md), as their authors wrote them and not by the hooks that foreign.c
 * makes of them; and what is said of them: first whether one speaks at all, then its lock, then how locks end. The
 * tables are in the order in which it is asked. Each statement runs like one of the contract, with programs of its own.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_calls.h"
#include "conform_process.h"
#include "backends/foreign/foreign.h"
#include "backends/foreign/talk.h"
#include "backends/foreign/foreign_line.h"
#include "network/proctree.h"

/* HOLD_MS: a lease that does not end while a statement looks at something else. LATE_MS: how much later than wait_ms an
 * answer may be, as in a trial. CALL_MS: of a call that does not wait for others. GRACE_MS: how long after its lease a
 * lock may take to be free: some services count whole seconds, and libraries pause between tries. */
enum {
  ADAPTER_HOLD_MS = 8000,
  ADAPTER_LATE_MS = 1000,
  ADAPTER_CALL_MS = 5000,
  ADAPTER_GRACE_MS = 4000,
  ADAPTER_START_MS = 20000
};

/* What an adapter has of what statements need; RECORD: and servers that have it. */
enum {
  ADAPTER_LEASE = 1 << 0,
  ADAPTER_SESSION = 1 << 1,
  ADAPTER_ENDS = 1 << 2,
  ADAPTER_EXTEND = 1 << 3,
  ADAPTER_HOLDS = 1 << 4,
  ADAPTER_FENCE = 1 << 5,
  ADAPTER_VALIDITY = 1 << 6,
  ADAPTER_RECORD = 1 << 7,
  ADAPTER_SERVERS = 1 << 8,
  ADAPTER_SEVERAL = 1 << 9,
};

struct adapter_reply {
  char line[200];   /* as it was written */
  char word[24];    /* "granted" */
  lb_ns sent, came; /* of the question, of the answer */
  lb_ns
      held_up; /* of the time between: for how long its program waited for a processor, which is no delay of its own */
};

static long long ms_between(lb_ns from, lb_ns to) { return to > from ? (long long)((to - from) / LB_NS_PER_MS) : 0; }

/* Clients that are spoken to in lines. Whatever an adapter does wrong ends the process of the statement here, with what
 * was read and what was expected. */

static struct {
  struct lb_talk *talk;
  bool open;
  unsigned long long number; /* of its latest question */
  char asked[24];            /* ... and its word */
  lb_ns sent, held_up;       /* when, and what its program had been held up by then */
} client[LB_CONFORM_SESSIONS];
static bool strict;

/* From now on each line has to be the answer to the latest question, or a `!` line. */
static void adapter_be_strict(void) { strict = true; }

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static _Noreturn void fail_read(struct lb_conform *c, int i, int r) {
  char fate[100];
  const char *who = lb_conform_ordinal(i);
  if (r == -EMSGSIZE)
    lb_conform_fail(c, "expected a line of less than 4096 bytes, read more and no end of it (%s client)", who);
  if (r == -ENODATA || r == -EPIPE) {
    bool by_itself = lb_talk_end(client[i].talk, 300, fate, sizeof fate);
    lb_conform_fail(c, "expected an answer to '%s', it %s (%s client)", client[i].asked,
                    by_itself ? fate : "closed its stdout", who);
  }
  lb_conform_break(c, "cannot read its stdout: %s", strerror(-r));
}

/* What is no `!` line. False: none by then. */
static bool hear(struct lb_conform *c, int i, lb_ns deadline, const char **ret) {
  for (;;) {
    int r = lb_talk_hear(client[i].talk, &c->env[i].base, deadline, ret);
    if (r < 0) fail_read(c, i, r);
    if (r == 0) return false;
    if ((*ret)[0] != '!') return true;
    bool known = strncmp(*ret, "! doubt ", 8) == 0 || strncmp(*ret, "! lost ", 7) == 0;
    lb_conform_check(c, known || !strict, "expected '! doubt TEXT' or '! lost TEXT', read '%.100s' (%s client)", *ret,
                     lb_conform_ordinal(i));
  }
}

/* Looks on for so long. Fails if it writes a line: "expected WHAT, read ...". */
static void adapter_expect_silence(struct lb_conform *c, int i, int64_t ms, const char *what) {
  const char *line;
  bool heard = hear(c, i, in_ms(ms), &line);
  lb_conform_check(c, !heard, "expected %s, read '%.100s' (%s client)", what, heard ? line : "", lb_conform_ordinal(i));
}

/* ---- a client --------------------------------------------------------------------------------------------------- */

/* Starts it, and takes its first line. */
static void adapter_start(struct lb_conform *c, int i) {
  const char *line;
  struct lb_error err;
  if (client[i].talk) return;
  client[i].talk = lb_talk_start(c->protocol);
  if (!client[i].talk) lb_conform_break(c, "cannot start the adapter");
  snprintf(client[i].asked, sizeof client[i].asked, "who are you");
  if (!hear(c, i, in_ms(ADAPTER_START_MS), &line))
    lb_conform_fail(c, "expected its first line within %d s, read nothing", ADAPTER_START_MS / 1000);
  if (!foreign_line_first(line, &err)) lb_conform_fail(c, "%s", err.text);
}

static void adapter_ask(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void adapter_want(struct lb_conform *c, int i, const struct adapter_reply *reply, const char *words,
                         const char *why);

/* Starts it and opens its session, unless that is done. Called by adapter_ask(). */
static void adapter_open(struct lb_conform *c, int i) {
  char line[4096];
  struct adapter_reply reply;
  adapter_start(c, i);
  if (client[i].open) return;
  client[i].open = true;
  if (!foreign_line_open(&c->config[i], line, sizeof line))
    lb_conform_break(c, "the names of the servers are too long for a line");
  adapter_ask(c, i, ADAPTER_START_MS, &reply, "%s", line);
  adapter_want(c, i, &reply, "ok", "where all servers are up");
}

/* Before a hold whose end a slow start of the others would outlast. */
static void adapter_open_three(struct lb_conform *c) {
  for (int i = 0; i < 3; i++) adapter_open(c, i);
}

/* Writes a question with a number of its own; takes its answer, for which there are `ms` from now on. Fails the
 * statement where there is none. A line that answers nothing is passed over, unless lines are what the statement is
 * about (adapter_be_strict()). */
static void __attribute__((format(printf, 3, 4))) adapter_put(struct lb_conform *c, int i, const char *format, ...) {
  char line[4096];
  va_list args;
  if (!client[i].open) adapter_open(c, i);
  size_t length = (size_t)snprintf(line, sizeof line, "%llu ", ++client[i].number);
  va_start(args, format);
  vsnprintf(line + length, sizeof line - length, format, args);
  va_end(args);
  snprintf(client[i].asked, sizeof client[i].asked, "%.*s", (int)strcspn(line + length, " "), line + length);
  client[i].held_up = lb_talk_held_up(client[i].talk);
  client[i].sent = lb_clock_ns();
  int r = lb_talk_say(client[i].talk, line);
  if (r == -EPIPE) fail_read(c, i, r);
  if (r < 0)
    lb_conform_fail(c, "expected it to read what it is asked ('%s'), it does not (%s client)", client[i].asked,
                    lb_conform_ordinal(i));
}

/* Whether this line is the answer that is waited for. Where lines are not what a statement is about, an answer with a
 * later number is taken for it. */
static bool is_answer(struct lb_conform *c, int i, const char *line) {
  char *end;
  unsigned long long number = strtoull(line, &end, 10), wanted = client[i].number;
  bool numbered = end > line && *end == ' ';
  if (numbered && (strict ? number == wanted : number >= wanted)) return true;
  lb_conform_check(c, !strict, "expected '%llu ...' as the answer to %s, read '%.100s' (%s client)", wanted,
                   client[i].asked, line, lb_conform_ordinal(i));
  return false;
}

static void adapter_take(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret) {
  const char *line;
  lb_ns deadline = in_ms(ms);
  do {
    if (!hear(c, i, deadline, &line))
      lb_conform_fail(c, "expected an answer to '%s' within %lld ms, read nothing (%s client)", client[i].asked,
                      (long long)ms, lb_conform_ordinal(i));
  } while (!is_answer(c, i, line));
  *ret = (struct adapter_reply){
      .sent = client[i].sent, .came = lb_clock_ns(), .held_up = lb_talk_held_up(client[i].talk) - client[i].held_up};
  snprintf(ret->line, sizeof ret->line, "%s", line);
  sscanf(line, "%*s %23s", ret->word);
}

/* Both. */
static void adapter_ask(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret, const char *format, ...) {
  char line[4000];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  adapter_put(c, i, "%s", line);
  adapter_take(c, i, ms, ret);
}

static bool adapter_says(const struct adapter_reply *reply, const char *words) {
  size_t length = strlen(reply->word);
  for (const char *at = words; length && (at = strstr(at, reply->word)); at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

/* Fails unless the latest answer is one of these words: "busy timeout". `why` stands behind what was read: "while the
 * first client holds". */
static void adapter_want(struct lb_conform *c, int i, const struct adapter_reply *reply, const char *words,
                         const char *why) {
  char list[80] = "";
  for (const char *at = words; *at; at++)
    snprintf(list + strlen(list), sizeof list - strlen(list), *at == ' ' ? " or " : "%c", *at);
  lb_conform_check(c, adapter_says(reply, words), "expected %s as the answer to %s, read '%.100s' (%s client)%s%s",
                   list, client[i].asked, reply->line, lb_conform_ordinal(i), *why ? ", " : "", why);
}

/* What stands behind NAME= in the answer, as a number. False: it has no such word, or no number. */
static bool adapter_number(const struct adapter_reply *reply, const char *name, long long *ret) {
  char value[60], *end;
  if (!lb_talk_value(reply->line, name, value, sizeof value)) return false;
  *ret = strtoll(value, &end, 10);
  return end > value && *end == '\0';
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

/* As lb_talk_end(). */
static bool adapter_end(struct lb_conform *c, int i, bool quit, int patience_ms, char *fate, size_t size) {
  struct adapter_reply reply;
  if (quit) {
    adapter_ask(c, i, ADAPTER_CALL_MS, &reply, "quit");
    adapter_want(c, i, &reply, "ok", "");
  }
  bool by_itself = lb_talk_end(client[i].talk, patience_ms, fate, size);
  client[i].talk = NULL;
  client[i].open = false;
  return by_itself;
}

static void adapter_hang_up(int i) { lb_talk_hang_up(client[i].talk); }

/* kill -9 of the program and of all that it started. */
static void adapter_kill(struct lb_conform *c, int i) {
  (void)c;
  lb_proctree_signal(lb_talk_pid(client[i].talk), SIGKILL);
  lb_talk_end(client[i].talk, 1000, NULL, 0);
  client[i].talk = NULL;
  client[i].open = false;
}

/* ---- what most statements do ------------------------------------------------------------------------------------- */

/* Each fails unless the answer is granted, or busy; ok. */
static struct adapter_reply adapter_acquire(struct lb_conform *c, int i, const char *key, int64_t ttl_ms,
                                            int64_t wait_ms, const char *why) {
  struct adapter_reply reply;
  adapter_ask(c, i, wait_ms + ADAPTER_CALL_MS, &reply, "acquire key=%s ttl_ms=%lld wait_ms=%lld", key,
              (long long)ttl_ms, (long long)wait_ms);
  adapter_want(c, i, &reply, "granted", why);
  return reply;
}

static void adapter_refused(struct lb_conform *c, int i, const char *key, const char *why) {
  struct adapter_reply reply;
  adapter_ask(c, i, ADAPTER_CALL_MS, &reply, "acquire key=%s ttl_ms=%d wait_ms=0", key, ADAPTER_HOLD_MS);
  adapter_want(c, i, &reply, "busy", why);
}

/* "release key=KEY", "holds key=KEY": fails unless the answer is one of these words. */
static void adapter_answers(struct lb_conform *c, int i, const char *what, const char *key, const char *words,
                            const char *why) {
  struct adapter_reply reply;
  adapter_ask(c, i, ADAPTER_CALL_MS, &reply, "%s key=%s", what, key);
  adapter_want(c, i, &reply, words, why);
}

static void adapter_release(struct lb_conform *c, int i, const char *key, const char *why) {
  adapter_answers(c, i, "release", key, "ok", why);
}

/* ---- its lines, its beginning and its end ------------------------------------------------------ */

enum { QUIET_MS = 150, END_MS = 3000 };

/* The words have been read before the servers were started (lb_foreign_add()): what is left is whether the tool knows
 * them, and whether it says them, and no more, again. */
static void says_what_it_is(struct lb_conform *c) {
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
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  if (c->protocol->extend)
    adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, ADAPTER_HOLD_MS),
        adapter_want(c, 0, &r, "ok lost unknown error", "");
  if (c->protocol->holds) adapter_answers(c, 0, "holds", key, "ok lost unknown error", "");
  adapter_answers(c, 0, "release", key, "ok lost unknown error", "");
}

/* One question of each kind, twice. */
static void answers_each_once(struct lb_conform *c) {
  KEY;
  adapter_be_strict();
  ask_all(c, key);
  ask_all(c, key);
  adapter_expect_silence(c, 0, QUIET_MS, "no line that nobody asked for");
}

/* A later version of the line protocol may say more. */
static void ignores_what_it_does_not_know(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "acquire later=1 key=%s ttl_ms=%d wait_ms=0 more=%%20", key, ADAPTER_HOLD_MS);
  adapter_want(c, 0, &r, "granted", "of a free lock, asked for with later=1 and more=%20");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "release key=%s later=1", key);
  adapter_want(c, 0, &r, "ok", "asked for with later=1");
}

static void quits(struct lb_conform *c) {
  char fate[100];
  adapter_open(c, 0);
  bool ended = adapter_end(c, 0, true, END_MS, fate, sizeof fate);
  lb_conform_check(c, ended, "expected it to end within %d ms after quit, it did not", END_MS);
}

static void ends_with_stdin(struct lb_conform *c) {
  char fate[100];
  adapter_open(c, 0);
  adapter_hang_up(0);
  bool ended = adapter_end(c, 0, false, END_MS, fate, sizeof fate);
  lb_conform_check(c, ended, "expected it to end within %d ms after the end of its stdin, it did not", END_MS);
}

/* ---- who gets the lock, and when --------------------------------------------------------------- */

enum {
  WAIT_MS = 1200,
  RELEASE_AFTER_MS = 300,
  GIVE_UP_MS = 1000,
  NEXT_MS = 4000,
  CLIENTS = 8,
  TURNS = 2,
  TURN_MS = 2,
  CROWD_MS = 20000
};

/* Without what the machine has taken from it. */
static long long own_ms(const struct adapter_reply *r) { return ms_between(r->sent + r->held_up, r->came); }

static void grants_and_releases(struct lb_conform *c) {
  KEY;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_release(c, 0, key, "");
}

/* Both have connected before. */
static void refuses_at_once(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open(c, 1);
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_ask(c, 1, ADAPTER_HOLD_MS / 2, &r, "acquire key=%s ttl_ms=%d wait_ms=0", key, ADAPTER_HOLD_MS);
  adapter_want(c, 1, &r, "busy", "while the first client holds");
  lb_conform_check(c, own_ms(&r) <= ADAPTER_LATE_MS,
                   "expected busy at once, as wait_ms=0, read it after %lld ms (second client)",
                   ms_between(r.sent, r.came));
  adapter_release(c, 0, key, "");
}

/* Some libraries count tries, not time: half of the time is enough. */
static void waits_for_so_long(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open(c, 1);
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_ask(c, 1, ADAPTER_HOLD_MS - 1000, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, WAIT_MS);
  long long took = ms_between(r.sent, r.came);
  adapter_want(c, 1, &r, "busy timeout", "while the first client holds");
  lb_conform_check(c, took >= WAIT_MS / 2,
                   "expected it to wait for about wait_ms=%d, read '%.100s' after %lld ms (second client)", WAIT_MS,
                   r.line, took);
  lb_conform_check(c, own_ms(&r) <= WAIT_MS + ADAPTER_LATE_MS,
                   "expected an answer within wait_ms=%d and a second, read '%.100s' after %lld ms (second client)",
                   WAIT_MS, r.line, took);
  adapter_release(c, 0, key, "");
}

static void grants_after_the_release(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open(c, 1);
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_put(c, 1, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS, ADAPTER_HOLD_MS / 2);
  adapter_expect_silence(c, 1, RELEASE_AFTER_MS, "no answer to acquire before the first client has released");
  adapter_answers(c, 0, "release", key, "ok", "while the second client waits");
  adapter_take(c, 1, ADAPTER_HOLD_MS, &r);
  adapter_want(c, 1, &r, "granted", "as the first client has released while it waited");
  adapter_release(c, 1, key, "");
}

/* The third client asks only then: it would stand behind the place of the second one, if that was left. */
static void who_gave_up(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open_three(c);
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_ask(c, 1, GIVE_UP_MS + ADAPTER_CALL_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS,
              GIVE_UP_MS);
  adapter_want(c, 1, &r, "busy timeout", "while the first client holds");
  adapter_release(c, 0, key, "");
  r = adapter_acquire(c, 2, key, ADAPTER_HOLD_MS, NEXT_MS,
                      "as the first client has released, and the second one had given up before");
  adapter_release(c, 2, key, "");
}

static void takes_turns(struct lb_conform *c) {
  KEY;
  for (int turn = 0; turn < 4; turn++) {
    adapter_acquire(c, turn % 2, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, "of a lock that was released");
    adapter_release(c, turn % 2, key, "");
  }
  adapter_acquire(c, 1, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, "of a lock that this client has just released");
  adapter_release(c, 1, key, "");
}

static void keys_are_apart(struct lb_conform *c) {
  const char *key = lb_conform_key(c), *other = lb_conform_key(c);
  adapter_open_three(c);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_acquire(c, 1, other, ADAPTER_HOLD_MS, 0, "of another key than the first client's");
  adapter_release(c, 0, key, "");
  adapter_refused(c, 0, other, "though the second client holds this key");
  adapter_release(c, 1, other, "");
}

/* Whatever it answers: it had nothing. */
static void frees_nobody_elses(struct lb_conform *c) {
  KEY;
  adapter_open_three(c);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_refused(c, 1, key, "while the first client holds");
  adapter_answers(c, 1, "release", key, "ok lost error", "");
  adapter_refused(c, 2, key, "after a release by the second client, which held nothing");
  adapter_release(c, 0, key, "");
}

static void releases_twice(struct lb_conform *c) {
  KEY;
  adapter_open_three(c);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_release(c, 0, key, "");
  adapter_acquire(c, 1, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, "of a lock that was released");
  adapter_answers(c, 0, "release", key, "lost ok error", "");
  adapter_refused(c, 2, key, "after a second release by the first client, while the second one holds");
  adapter_release(c, 1, key, "");
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

static const char *crowded;
static bool compares; /* their numbers, too */

/* While a client is alone inside, the latest number is that of the grant before its own. A number drawn before the lock
 * was granted may be smaller than that of a client that asked later and was served first. */
static void compare_numbers(struct lb_conform *c, const struct adapter_reply *granted, int number) {
  long long fence = 0;
  lb_conform_check(c, adapter_number(granted, "fence", &fence), "expected fence= with a whole number, read '%.100s'",
                   granted->line);
  uint64_t latest = atomic_exchange(&c->shared->latest, (uint64_t)fence);
  lb_conform_check(c, fence > (long long)latest,
                   "expected a fence above %lld, that of the grant before, read '%.100s' (client %d of eight)",
                   (long long)latest, granted->line, number + 1);
}

/* Programs start at different times: a late one would find that the others have gone. */
static void gather(struct lb_conform *c) {
  adapter_open(c, 0);
  atomic_fetch_add(&c->shared->arrived, 1);
  for (lb_ns end = in_ms(CROWD_MS / 4); atomic_load(&c->shared->arrived) < CLIENTS && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(1));
}

static void take_turns(struct lb_conform *c, int number) {
  gather(c);
  for (int turn = 0; turn < TURNS; turn++) {
    struct adapter_reply r =
        adapter_acquire(c, 0, crowded, 2 * ADAPTER_HOLD_MS, CROWD_MS / 2, "of a lock that all release soon");
    uint64_t others = atomic_fetch_add(&c->shared->inside, 1);
    lb_conform_check(c, others == 0, "expected nobody else inside, client %d found %d", number + 1, (int)others);
    if (compares) compare_numbers(c, &r, number);
    lb_clock_sleep_until(in_ms(TURN_MS));
    atomic_fetch_sub(&c->shared->inside, 1);
    adapter_release(c, 0, crowded, "");
  }
}

static void crowd(struct lb_conform *c) {
  crowded = lb_conform_key(c);
  for (int i = 0; i < CLIENTS; i++) lb_conform_start(c, "crowd", i, take_turns);
  lb_conform_join(c, CROWD_MS);
}

static void one_of_eight(struct lb_conform *c) { crowd(c); }

/* ---- what a grant says, and what is true while it holds ---------------------------------------- */

enum { SHORT_MS = 1000, GRANTS = 4, RECORD_MS = 2000, TOKEN_BYTES = 160 };

static void grants_as_it_says(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  long long number;
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  bool fence = adapter_number(&r, "fence", &number), validity = adapter_number(&r, "validity_ms", &number);
  lb_conform_check(c, fence == has(c, LB_TRAIT_FENCED), "expected %s in a grant, as can= %s fence, read '%.100s'",
                   fence ? "no fence=" : "fence= with a whole number", fence ? "does not name" : "names", r.line);
  lb_conform_check(c, validity == lb_foreign_tells_validity(c->protocol),
                   "expected %s in a grant, as can= %s validity, read '%.100s'",
                   validity ? "no validity_ms=" : "validity_ms= with a whole number",
                   validity ? "does not name" : "names", r.line);
  adapter_release(c, 0, key, "");
}

/* The crowd comes first: its programs are started by each process for itself. */
static void fences_grow(struct lb_conform *c) {
  struct adapter_reply r;
  long long latest = 0, fence = 0;
  compares = true;
  crowd(c);
  KEY;
  for (int i = 0; i < GRANTS; i++) {
    r = adapter_acquire(c, i % 2, key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, "of a free lock");
    lb_conform_check(c, adapter_number(&r, "fence", &fence), "expected fence= with a whole number, read '%.100s'",
                     r.line);
    lb_conform_check(c, fence > latest, "expected a fence above %lld, read '%.100s' (grant %d)", latest, r.line, i + 1);
    latest = fence;
    adapter_release(c, i % 2, key, "");
  }
}

/* For an adapter that tells tokens: two of one client and one of another. A token that lasts for a whole program
 * identifies no grant. */
static void tokens_differ(struct lb_conform *c) {
  static const int who[] = {0, 0, 1};
  enum { TOLD = sizeof who / sizeof *who };
  char token[TOLD][TOKEN_BYTES];
  KEY;
  for (int i = 0; i < TOLD; i++) {
    struct adapter_reply r = adapter_acquire(c, who[i], key, ADAPTER_HOLD_MS, ADAPTER_CALL_MS, "of a free lock");
    bool told = lb_talk_value(r.line, "token", token[i], sizeof token[i]);
    for (int k = 0; told && k < i; k++)
      lb_conform_check(c, strcmp(token[i], token[k]) != 0,
                       "expected another token than that of an earlier grant, read '%.100s' (grant %d, %s client)",
                       r.line, i + 1, lb_conform_ordinal(who[i]));
    adapter_release(c, who[i], key, "");
  }
}

static void validity(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  long long left = 0;
  r = adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  lb_conform_check(c, adapter_number(&r, "validity_ms", &left),
                   "expected validity_ms= with a whole number, read '%.100s'", r.line);
  lb_conform_check(c, left > 0 && left <= ADAPTER_HOLD_MS,
                   "expected validity_ms above 0 and at most ttl_ms=%d, read '%.100s'", ADAPTER_HOLD_MS, r.line);
  adapter_release(c, 0, key, "");
}

/* Whether some server has the record of it now, or the adapter says so. The observer is the last session. */
static bool adapter_has_record(struct lb_conform *c, const char *key) {
  int observer = LB_CONFORM_SESSIONS - 1;
  c->config[observer].looks_on = true;
  for (size_t at = 0; at == 0 || at < c->topology->data_count; at++) {
    int r = lb_conform_inspect(c, observer, key, at);
    if (r == 1) return true;
    if (r < 0) lb_conform_break(c, "cannot look for the record: %s", c->env[observer].base.err);
  }
  return false;
}

/* A record may end a little after the answer: a session that closes, a follower. */
static void expect_no_record(struct lb_conform *c, const char *key, const char *since) {
  lb_ns end = in_ms(RECORD_MS);
  bool there;
  while ((there = adapter_has_record(c, key)) && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(20));
  lb_conform_check(c, !there, "expected no record within %d ms %s, found one", RECORD_MS, since);
}

/* The adapter may make its table when it opens. */
static void record(struct lb_conform *c) {
  KEY;
  adapter_open(c, 0);
  lb_conform_check(c, !adapter_has_record(c, key), "expected no record before anybody asked for the lock, found one");
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  lb_conform_check(c, adapter_has_record(c, key),
                   "expected the record of record= at a server while it holds, found none");
  adapter_release(c, 0, key, "");
  expect_no_record(c, key, "after the release");
}

/* A place in a queue is a record, too, where it is named. */
static void leaves_no_record(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  adapter_open_three(c);
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_ask(c, 1, GIVE_UP_MS + ADAPTER_CALL_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, 4 * ADAPTER_HOLD_MS,
              GIVE_UP_MS);
  adapter_want(c, 1, &r, "busy timeout", "while the first client holds");
  adapter_release(c, 0, key, "");
  expect_no_record(c, key, "after the second client gave up and the first one released");
}

static void confirms(struct lb_conform *c) {
  KEY;
  adapter_acquire(c, 0, key, ADAPTER_HOLD_MS, 0, "of a free lock");
  adapter_answers(c, 0, "holds", key, "ok", "while it holds");
  adapter_release(c, 0, key, "");
  adapter_answers(c, 0, "holds", key, "lost error", "after its release");
}

/* Long after its first end it is refused to others. Servers that count whole seconds may keep it for one more, so it is
 * looked at later than that. */
static void extends(struct lb_conform *c) {
  KEY;
  struct adapter_reply granted, r;
  adapter_open(c, 1);
  granted = adapter_acquire(c, 0, key, SHORT_MS, 0, "of a free lock");
  adapter_ask(c, 0, ADAPTER_CALL_MS, &r, "extend key=%s ttl_ms=%d", key, 4 * SHORT_MS);
  adapter_want(c, 0, &r, "ok", "while it holds");
  lb_clock_sleep_until(granted.came + (2 * SHORT_MS + 200) * LB_NS_PER_MS);
  adapter_refused(c, 1, key, "2.2 s after a grant of 1 s that was extended by 4 s");
  adapter_release(c, 0, key, "2.2 s after a grant of 1 s that was extended by 4 s");
}

const struct lb_conform_statement lb_conform_adapter_of_lock[] = {
    {"the first line says what it is, before anything is asked", 0, says_what_it_is},
    {"every question is answered once, with its number, and nothing else is written", 0, answers_each_once},
    {"a word that it does not know changes nothing", 0, ignores_what_it_does_not_know},
    {"quit is answered, and it ends", 0, quits},
    {"it ends when its stdin ends", 0, ends_with_stdin},
    {"a free lock is granted and released", 0, grants_and_releases},
    {"a grant carries what the first line says, and nothing else", 0, grants_as_it_says},
    {"a held lock is refused at once to who does not wait", 0, refuses_at_once},
    {"an acquire waits as long as it may, and no longer", 0, waits_for_so_long},
    {"who waits is granted after the release", 0, grants_after_the_release},
    {"a waiter that gave up keeps no client out", 0, who_gave_up},
    {"a released lock is granted to anybody, again and again", 0, takes_turns},
    {"two keys do not exclude each other", 0, keys_are_apart},
    {"who was refused frees nobody else's lock", 0, frees_nobody_elses},
    {"a second release does no harm", 0, releases_twice},
    {"of eight clients one is inside at a time", 0, one_of_eight},
    {"no two grants have one token", 0, tokens_differ},
    {"of two grants the later has the larger number", ADAPTER_FENCE, fences_grow},
    {"what is left of a grant is not more than was asked for", ADAPTER_VALIDITY, validity},
    {"the record that it names is there while it holds, and only then", ADAPTER_RECORD, record},
    {"who gave up leaves no record", ADAPTER_RECORD, leaves_no_record},
    {"holds is ok while it holds, and not after its release", ADAPTER_HOLDS, confirms},
    {"extend makes a lease last", ADAPTER_EXTEND | ADAPTER_LEASE, extends},
    {NULL, 0, NULL},
};

unsigned lb_conform_adapter_has(const struct lb_conform *c) {
  const struct lb_protocol *p = c->protocol;
  bool servers = c->topology->data_count > 0;
  return (p->traits & LB_TRAIT_LEASED ? ADAPTER_LEASE | ADAPTER_ENDS : 0) |
         (p->traits & LB_TRAIT_SESSION ? ADAPTER_SESSION | ADAPTER_ENDS : 0) | (p->extend ? ADAPTER_EXTEND : 0) |
         (p->holds ? ADAPTER_HOLDS : 0) | (p->traits & LB_TRAIT_FENCED ? ADAPTER_FENCE : 0) |
         (lb_foreign_tells_validity(p) ? ADAPTER_VALIDITY : 0) |
         ((servers && lb_foreign_names_record(p)) || lb_foreign_looks_up(p) ? ADAPTER_RECORD : 0) |
         (servers ? ADAPTER_SERVERS : 0) | (c->topology->data_count > 1 ? ADAPTER_SEVERAL : 0);
}

/* ---- how locks end without a release, and what it does when its servers are gone
 * ------------------------------------- */

enum { QUEUED_MS = 1500, SESSION_GRACE_MS = 15000, GONE_WAIT_MS = 500, GONE_MS = 10000, BACK_MS = 15000 };

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

/* ---- some of its servers are gone -------------------------------------------------------------------------------- */

/* How many stay: the primary alone, or a minority. Sets of this size never meet. */
static size_t minority(const struct lb_conform *c) {
  return c->topology->data_count > 2 ? (c->topology->data_count - 1) / 2 : 1;
}

/* Asks while servers are gone. Some libraries answer when these are back: then its outcome was unknown, and
 * what the answer grants is given back. */
static void ask_without(struct lb_conform *c, const char *key, struct adapter_reply *ret) {
  const char *line;
  lb_ns until = in_ms(GONE_MS / 2);
  adapter_put(c, 0, "acquire key=%s ttl_ms=%d wait_ms=%d", key, 4 * ADAPTER_HOLD_MS, GONE_WAIT_MS);
  bool heard = hear(c, 0, until, &line);
  lb_conform_bring(c, LB_CONFORM_SHALL_RESTART);
  if (!heard && !hear(c, 0, in_ms(BACK_MS), &line))
    lb_conform_fail(c, "expected an answer to '%s' once the servers are back, read nothing (first client)",
                    client[0].asked);
  *ret = (struct adapter_reply){.sent = client[0].sent, .came = lb_clock_ns()};
  snprintf(ret->line, sizeof ret->line, "%s", line);
  snprintf(ret->word, sizeof ret->word, "unknown");
  if (heard) sscanf(line, "%*s %23s", ret->word);
}

/* After `unknown` its caller asks again for as long as that may help. */
static void give_back(struct lb_conform *c, const char *key, const struct adapter_reply *asked) {
  struct adapter_reply r = *asked;
  lb_ns end = in_ms(ADAPTER_CALL_MS);
  if (!adapter_says(asked, "granted unknown")) return;
  do {
    adapter_ask(c, 0, GONE_MS, &r, "release key=%s", key);
  } while (adapter_says(&r, "unknown") && lb_clock_ns() < end);
}

/* Where servers do not watch each other, a record on a minority is in the way only while others are away. */
static void failed_acquire(struct lb_conform *c) {
  KEY;
  struct adapter_reply r;
  char why[300];
  adapter_open(c, 0);
  lb_conform_lose(c, minority(c));
  ask_without(c, key, &r);
  give_back(c, key, &r);
  snprintf(why, sizeof why, "as what the first client had asked for without all servers is over ('%.100s')", r.line);
  adapter_open(c, 1);
  if (c->topology->data_count > 2 && c->topology->detector_ms == 0) lb_conform_lose(c, c->topology->data_count / 2 + 1);
  adapter_ask(c, 1, ADAPTER_HOLD_MS + ADAPTER_CALL_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=%d", key, ADAPTER_HOLD_MS,
              ADAPTER_HOLD_MS);
  adapter_want(c, 1, &r, "granted", why);
  lb_conform_bring(c, LB_CONFORM_SHALL_RESTART);
}

/* A library may refuse to open, or to grant. */
static void opened_without(struct lb_conform *c) {
  KEY;
  char line[4096];
  struct adapter_reply r;
  if (!foreign_line_open(&c->config[0], line, sizeof line))
    lb_conform_break(c, "the names of the servers are too long for a line");
  adapter_start(c, 0);
  lb_conform_lose(c, minority(c));
  client[0].open = true;
  adapter_ask(c, 0, ADAPTER_START_MS, &r, "%s", line);
  adapter_want(c, 0, &r, "ok error", "where servers are gone");
  bool open = adapter_says(&r, "ok");
  if (open) ask_without(c, key, &r);
  else lb_conform_bring(c, LB_CONFORM_SHALL_RESTART);
  if (!open || !adapter_says(&r, "granted")) {
    lb_conform_note(c, "it %s without them", open ? "grants nothing" : "does not open");
    return;
  }
  adapter_ask(c, 1, ADAPTER_HOLD_MS, &r, "acquire key=%s ttl_ms=%d wait_ms=0", key, ADAPTER_HOLD_MS);
  adapter_want(c, 1, &r, "busy timeout unknown error",
               "while the first client holds, which had opened while servers were gone");
}

const struct lb_conform_statement lb_conform_adapter_of_ends[] = {
    {"a lease ends by itself, not before its ttl and not long after", ADAPTER_LEASE, lease_ends},
    {"a stale release leaves the next holder alone", ADAPTER_LEASE, stale_release},
    {"a lease that is over cannot be extended", ADAPTER_EXTEND | ADAPTER_LEASE, stale_extend},
    {"a lease that another one has had since cannot be extended", ADAPTER_EXTEND | ADAPTER_LEASE, extend_after_another},
    {"holds asks the service, not its own memory", ADAPTER_HOLDS | ADAPTER_LEASE, stale_holds},
    {"holds is no more ok when another one has held since", ADAPTER_HOLDS | ADAPTER_LEASE, holds_after_another},
    {"a session holds for longer than the ttl, as long as its client lives", ADAPTER_SESSION, session_lasts},
    {"what a killed client held becomes free", ADAPTER_ENDS, killed_client},
    {"a waiter that was killed keeps no client out", 0, killed_waiter},
    {"an acquire that failed keeps no client out", ADAPTER_SEVERAL, failed_acquire},
    {"who opens while servers are gone excludes the others all the same", ADAPTER_SEVERAL, opened_without},
    {"servers that are gone grant nothing, and when they are back it goes on", ADAPTER_SERVERS, server_is_gone},
    {NULL, 0, NULL},
};
