/* SPDX-License-Identifier: MIT
 *
 * The hooks of a foreign lock: each call is a line to its adapter and one back (peers/README.md); and the protocol that
 * is made of an adapter.
 */
#include "foreign.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "backends/etcd/etcd_record.h"
#include "backends/postgres/pg_record.h"
#include "backends/redis/redis_record.h"
#include "backends/registry.h"
#include "backends/zookeeper/zk_record.h"
#include "foreign_ask.h"
#include "foreign_server.h"

/* ---- a session: all that return an int say -EPROTO once the adapter has said or done what no adapter may; the text
 * stands in env->err, and every later call says the same ---- */

enum foreign_question { FOREIGN_NOTHING, FOREIGN_ACQUIRE, FOREIGN_RELEASE, FOREIGN_OTHER };

struct lb_session {
  const struct lb_config *config;
  struct lb_env *env;
  const struct foreign *foreign;
  struct foreign_child child;
  uint64_t number;                  /* of the latest question */
  enum foreign_question unanswered; /* ... if its answer is still to come */
  char verb[16];                    /* ... its word */
  int told;                         /* LB_OK, LB_UNKNOWN (doubt), LB_LOST: since the latest acquire began */
  char told_text[120];
  size_t unasked;
  bool broken; /* it has said or done what no adapter may, in these words: */
  char why[200];
  bool opens;       /* as long as it does, what the machine takes from its program makes every deadline later */
  lb_ns round_trip; /* of a question that asks for nothing */
};

struct foreign_answer {
  struct foreign_words words; /* in `text` */
  char text[LB_FOREIGN_LINE_MAX];
};

static inline lb_ns foreign_earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

/* A question to an adapter, and its answer: one at a time. What was not answered by its deadline is still to be
 * answered, and the next call waits for that first. */

enum { QUIT_MS = 300, QUOTED = 100 };

/* ---- what no adapter may do ------------------------------------------------------------------------------------- */

/* The adapter broke the rules of the line protocol, in these words: whatever it says later is worth nothing. -EPROTO. */
__attribute__((format(printf, 2, 3))) static int foreign_broken(struct lb_session *s, const char *format, ...) {
  va_list args;
  if (!s->broken) {
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
  }
  s->broken = true;
  return lb_fail(s->env, -EPROTO, "%s", s->why);
}

static int ended(struct lb_session *s) {
  char fate[100];
  bool by_itself = foreign_child_end(&s->child, QUIT_MS, fate, sizeof fate);
  return foreign_broken(s, "the adapter %s, and nobody had asked it to end",
                        by_itself && fate[0] ? fate : "closed its stdout");
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* "! lost TEXT", "! doubt TEXT" */
static int take_unasked(struct lb_session *s, const char *line) {
  char quoted[QUOTED];
  if (++s->unasked > FOREIGN_UNASKED_MAX)
    return foreign_broken(s, "the adapter wrote more than %d lines that nobody had asked for", FOREIGN_UNASKED_MAX);
  int said = strncmp(line, "! lost", 6) == 0 ? LB_LOST : strncmp(line, "! doubt", 7) == 0 ? LB_UNKNOWN : LB_OK;
  const char *text = line + (said == LB_LOST ? 6 : 7);
  foreign_line_quote(line, quoted, sizeof quoted);
  if (said == LB_OK || (*text && *text != ' '))
    return foreign_broken(s, "the adapter wrote '%s', expected '! lost TEXT' or '! doubt TEXT'", quoted);
  if (s->told == LB_LOST) return 0; /* nothing is worse */
  s->told = said;
  foreign_line_quote(*text ? text + 1 : "it gave no reason", s->told_text, sizeof s->told_text);
  return 0;
}

/* Everything that has come: what was said unasked is noted. 1: *ret is a line that is something else; 0: there is none.
 * Does not wait. */
static int foreign_hear(struct lb_session *s, char **ret) {
  for (;;) {
    int r = foreign_child_next_line(&s->child, ret);
    if (r == -ENODATA) return ended(s);
    if (r == -EMSGSIZE)
      return foreign_broken(s, "the adapter wrote %d bytes and no end of a line", LB_FOREIGN_LINE_MAX);
    if (r < 0) return foreign_broken(s, "its stdout cannot be read: %s", strerror(-r));
    if (r == 0 || (*ret)[0] != '!') return r;
    if ((r = take_unasked(s, *ret)) < 0) return r;
  }
}

/* An acquire has to be over by its deadline, even if the machine is late. A session that opens belongs to nothing that
 * is measured. */
static bool is_over(struct lb_session *s, lb_ns deadline, lb_ns *ret_until) {
  lb_ns now = lb_now(s->env), more = s->opens && now >= deadline ? foreign_child_more(&s->child, 0, now - deadline) : 0;
  *ret_until = now + more;
  return more == 0;
}

/* 1; 0: the deadline passed. Otherwise it is broken. */
static int await_line(struct lb_session *s, lb_ns deadline, char **ret) {
  for (lb_ns until = deadline;;) {
    int r = foreign_hear(s, ret);
    if (r) return r;
    r = lb_wait_fd(s->env, s->child.out, POLLIN, until);
    if (r < 0) return foreign_broken(s, "its stdout cannot be read: %s", strerror(-r));
    if (r == 0 && is_over(s, deadline, &until)) return foreign_hear(s, ret);
  }
}

/* The answer to the latest question. */
static int await_answer(struct lb_session *s, lb_ns deadline, struct foreign_answer *ret) {
  char *line, *end, quoted[QUOTED];
  int r = await_line(s, deadline, &line);
  if (r <= 0) return r;
  foreign_line_quote(line, quoted, sizeof quoted);
  unsigned long long number = strtoull(line, &end, 10);
  if (end == line || *end != ' ' || number == 0)
    return foreign_broken(s, "the adapter wrote '%s', expected '%llu ...'", quoted, (unsigned long long)s->number);
  if (number != s->number || !s->unanswered)
    return foreign_broken(s, "the adapter wrote '%s', which answers no open question (the latest was %llu)", quoted,
                          (unsigned long long)s->number);
  snprintf(ret->text, sizeof ret->text, "%s", end + 1);
  if (foreign_line_split(ret->text, &ret->words) < 0 || ret->words.count == 0)
    return foreign_broken(s, "the adapter wrote '%s', which cannot be read", quoted);
  s->unanswered = FOREIGN_NOTHING;
  return 1;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

/* "VERB ..." with a number of its own. */
static int put(struct lb_session *s, enum foreign_question question, const char *what) {
  char line[LB_FOREIGN_LINE_MAX];
  if (snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)++s->number, what) >= (int)sizeof line)
    return lb_fail(s->env, -E2BIG, "a line that is too long");
  int r = foreign_child_write(&s->child, line);
  if (r == -EPIPE) return ended(s);
  if (r < 0) return foreign_broken(s, "the adapter does not read what it is asked");
  s->unanswered = question;
  snprintf(s->verb, sizeof s->verb, "%.*s", (int)strcspn(what, " "), what);
  return 0;
}

/* Asks and waits. 1: answered. 0: not by the deadline. -EPROTO. */
static int foreign_ask(struct lb_session *s, enum foreign_question question, const char *what, lb_ns deadline,
                       struct foreign_answer *ret) {
  int r = put(s, question, what);
  return r < 0 ? r : await_answer(s, deadline, ret);
}

/* Whether the answer begins with this word. */
static bool foreign_is(const struct foreign_answer *answer, const char *word) {
  return strcmp(answer->words.word[0], word) == 0;
}

/* Puts what stands behind the first word into env->err, and returns `result`. */
static int foreign_fail_with(struct lb_session *s, int result, const struct foreign_answer *answer) {
  char text[200] = "", quoted[200];
  for (size_t i = 1; i < answer->words.count; i++) {
    if (i > 1) foreign_line_append(text, sizeof text, " ");
    foreign_line_append(text, sizeof text, answer->words.word[i]);
  }
  foreign_line_quote(text[0] ? text : "it gave no reason", quoted, sizeof quoted);
  lb_fail(s->env, -EIO, "%s", quoted);
  return result;
}

/* An answer that the line protocol does not know. -EPROTO. */
static int foreign_unknown_answer(struct lb_session *s, const char *verb, const struct foreign_answer *answer,
                                  const char *expected) {
  char quoted[QUOTED];
  foreign_line_quote(answer->words.word[0], quoted, sizeof quoted);
  return foreign_broken(s, "the adapter answered '%s' to %s, expected %s", quoted, verb, expected);
}

/* Waits for what is still to be answered. 1: nothing is, or its answer has come (*ret_was: it was this question, *ret
 * has it). 0: still nothing. -EPROTO. */
static int foreign_settle(struct lb_session *s, enum foreign_question question, lb_ns deadline,
                          struct foreign_answer *ret, bool *ret_was) {
  *ret_was = s->unanswered == question;
  return s->unanswered ? await_answer(s, deadline, ret) : 1;
}

/* ---- it is started: its adapter is started, says what it is, is told where the servers are, and how long a question takes that asks for nothing. ---- */

enum { FIRST_LINE_S = 20, PINGS = 9 };

/* It has to be what the tool was told that it is. Its version is recorded by who starts the run (run/about.c). */
static int greet(struct lb_session *s, lb_ns deadline) {
  struct lb_error err;
  char *line;
  struct foreign_says says;
  int r = await_line(s, foreign_earlier(deadline, lb_now(s->env) + FIRST_LINE_S * LB_NS_PER_S), &line);
  if (r < 0) return r;
  if (r == 0) return foreign_broken(s, "the adapter has not said what it is in time");
  const char *words = foreign_line_first(line, &err);
  if (!words) return foreign_broken(s, "%s", err.text);
  if (foreign_line_read_says(line + (words - line), &says, &err) < 0) return foreign_broken(s, "%s", err.text);
  if (strcmp(says.name, s->foreign->says.name) != 0)
    return foreign_broken(s, "the adapter says that it is '%s', expected '%s'", says.name, s->foreign->says.name);
  return 0;
}

static int introduce(struct lb_session *s, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  if (!foreign_line_open(s->config, line, sizeof line))
    return lb_fail(s->env, -E2BIG, "the names of the servers are too long for a line");
  int r = foreign_ask(s, FOREIGN_OTHER, line, deadline, &answer);
  if (r < 0) return r;
  if (r == 0) return lb_fail(s->env, -ETIMEDOUT, "the adapter has not answered open in time");
  if (foreign_is(&answer, "ok")) return 0;
  if (foreign_is(&answer, "error")) return foreign_fail_with(s, -EIO, &answer);
  return foreign_unknown_answer(s, "open", &answer, "ok or error");
}

static int compare_ns(const void *a, const void *b) {
  return (*(const lb_ns *)a > *(const lb_ns *)b) - (*(const lb_ns *)a < *(const lb_ns *)b);
}

/* The median of a few questions that ask for nothing: so much of every call is the pipe's and the interpreter's. */
static int measure(struct lb_session *s, lb_ns deadline) {
  lb_ns took[PINGS];
  for (size_t i = 0; i < PINGS; i++) {
    struct foreign_answer answer;
    lb_ns before = lb_now(s->env);
    int r = foreign_ask(s, FOREIGN_OTHER, "ping", deadline, &answer);
    if (r < 0) return r;
    if (r == 0) return lb_fail(s->env, -ETIMEDOUT, "the adapter has not answered ping in time");
    if (!foreign_is(&answer, "ok")) return foreign_unknown_answer(s, "ping", &answer, "ok");
    took[i] = lb_now(s->env) - before;
  }
  qsort(took, PINGS, sizeof *took, compare_ns);
  s->round_trip = took[PINGS / 2];
  return 0;
}

/* Whether the process has this file mapped. */
static bool foreign_maps(pid_t pid, const char *path) {
  char maps[64], line[4600];
  bool found = false;
  snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
  FILE *in = fopen(maps, "re");
  while (in && !found && fgets(line, sizeof line, in)) found = strstr(line, path) != NULL;
  if (in) fclose(in);
  return found;
}

/* The clocks of a host are set for its programs by a library that they load (skew.h of the harness). Who has not loaded
 * it goes by the true ones. */
static int check_clock(struct lb_session *s) {
  const char *page = getenv("LOCKBENCH_SKEW");
  if (!page || s->foreign->protocol.traits & LB_TRAIT_TRUE_CLOCK || foreign_maps(s->child.pid, page)) return 0;
  return lb_fail(s->env, -ENOTSUP, "the clock of the adapter cannot be set: it has not loaded the library for that");
}

static int open_session(struct lb_session *s, lb_ns deadline) {
  int r = greet(s, deadline);
  if (r == 0) r = introduce(s, deadline);
  if (r == 0) r = measure(s, deadline);
  return r == 0 ? check_clock(s) : r;
}

/* The hooks open and close. A session that only looks on needs no program, unless that is what looks. */
static int foreign_session_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->config = config;
  s->env = config->env;
  s->foreign = config->protocol->data;
  s->child = (struct foreign_child){.in = -1, .out = -1};
  if (config->looks_on && !s->foreign->says.can_record) return 0;
  int r = foreign_child_start(&s->child, s->foreign->command, s->foreign->folder);
  if (r < 0) return lb_fail(s->env, r, "cannot start %.100s: %s", s->foreign->command, strerror(-r));
  s->opens = true;
  r = open_session(s, deadline);
  s->opens = false;
  return r;
}

static void foreign_session_close(struct lb_session *s) {
  if (s->child.pid > 0 && !s->broken) put(s, FOREIGN_OTHER, "quit");
  foreign_child_end(&s->child, QUIT_MS, NULL, 0);
}

/* An answer that is late by no more is taken for what it says. */
enum { MARGIN_MS = 200, LATE_MS = 1000, USUAL_START_MS = 300 };

/* ---- what servers know of its record, without asking its program ------------------------------------------------- */

/* The record with this text for {key}. */
static void fill(const char *record, const char *key, char buf[LB_RECORD_MAX]) {
  const char *at = strstr(record, "{key}");
  if (!at) snprintf(buf, LB_RECORD_MAX, "%s", record);
  else snprintf(buf, LB_RECORD_MAX, "%.*s%s%s", (int)(at - record), record, key, at + strlen("{key}"));
}

/* ---- one server ------------------------------------------------------------------------------------------------- */

static const struct lb_record_hooks *const services[] = {&redis_record_hooks, &etcd_record_hooks, &pg_record_hooks,
                                                         &zk_record_hooks};

/* NULL: this service knows of no record. */
static const struct lb_record_hooks *hooks_of(const struct lb_target *target, size_t endpoint) {
  for (size_t i = 0; i < sizeof services / sizeof *services; i++)
    if (strcmp(target->endpoints[endpoint].service, services[i]->service) == 0) return services[i];
  return NULL;
}

static int inspect_record(const struct lb_record_at *at, const char *record) {
  const struct lb_target *target = at->config->target;
  const struct lb_record_hooks *hooks = hooks_of(target, at->endpoint);
  if (hooks) return hooks->inspect(at, record);
  return lb_fail(at->env, -EOPNOTSUPP, "nobody knows what a %s has of a foreign lock",
                 target->endpoints[at->endpoint].service);
}

typedef int at_record(const struct lb_record_at *at, const char *record);

/* Until one of the records is there. */
static int at_first(at_record *act, const struct lb_record_at *at, const struct foreign_says *says, const char *key) {
  char record[LB_RECORD_MAX];
  int found = says->record_count
                  ? 0
                  : lb_fail(at->env, -EOPNOTSUPP, "the adapter does not say what a server has of its lock (record=)");
  for (size_t i = 0; i < says->record_count && found == 0; i++) {
    fill(says->record[i], key, record);
    found = act(at, record);
  }
  return found;
}

static int foreign_inspect(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says,
                           const char *key, size_t endpoint, lb_ns deadline) {
  return at_first(inspect_record, &(struct lb_record_at){env, config, key, endpoint, deadline}, says, key);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static int remove_record(const struct lb_record_at *at, const char *record) {
  const struct lb_target *target = at->config->target;
  const struct lb_record_hooks *hooks = hooks_of(target, at->endpoint);
  if (hooks && hooks->remove) return hooks->remove(at, record);
  return lb_fail(at->env, -EOPNOTSUPP, "a %s has no record of a foreign lock that could be removed",
                 target->endpoints[at->endpoint].service);
}

static int foreign_break(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says,
                         const char *key, size_t endpoint, lb_ns deadline) {
  return at_first(remove_record, &(struct lb_record_at){env, config, key, endpoint, deadline}, says, key);
}

/* ---- clean-up ---------------------------------------------------------------------------------------------------- */

static int foreign_clean(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says,
                         lb_ns deadline) {
  char begin[LB_RECORD_MAX], record[LB_RECORD_MAX];
  int r = 0;
  if (config->target->count == 0) return LB_OK;
  const struct lb_record_hooks *hooks = hooks_of(config->target, 0);
  const struct lb_record_at at = {env, config, begin, 0, deadline};
  snprintf(begin, sizeof begin, "%s-", config->prefix);
  if (hooks && hooks->clean_run) return hooks->clean_run(&at);
  for (size_t i = 0; hooks && hooks->clean && i < says->record_count && r >= 0; i++) {
    fill(says->record[i], begin, record);
    r = hooks->clean(&at, says->record[i], record);
  }
  return r < 0 ? r : LB_OK;
}

/* ---- acquire ----------------------------------------------------------------------------------------------------- */

/* False: not a whole number, or too large for one. "1.7e9" would be 1, and the number before it might be larger. */
static bool is_number(const char *text, bool may_be_negative) {
  char *end;
  if (may_be_negative && *text == '-') text++;
  if (!isdigit((unsigned char)*text)) return false;
  errno = 0;
  strtoull(text, &end, 10);
  return !*end && errno == 0;
}

static int no_number(struct lb_session *s, const char *name, const char *text) {
  char quoted[60];
  foreign_line_quote(text, quoted, sizeof quoted);
  return foreign_broken(s, "the adapter says %s=%s, expected a whole number", name, quoted);
}

/* A library that says no end says the largest number: as nanoseconds it has to fit. */
static lb_ns ns_of(const char *ms) {
  enum { DIGITS_MAX = 12 };
  bool negative = *ms == '-';
  unsigned long long count = strlen(ms) - negative > DIGITS_MAX ? 999999999999ULL : strtoull(ms + negative, NULL, 10);
  return (negative ? -(lb_ns)count : (lb_ns)count) * LB_NS_PER_MS;
}

/* The lease as its caller knows it. What the library says is left may be less than nothing; it has given it out all the
 * same. */
static int fill_lease(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                      const struct foreign_answer *answer, lb_ns sent) {
  const char *validity = foreign_line_value(&answer->words, 1, "validity_ms");
  lb_ns now = lb_now(s->env), whole = (lb_ns)lock->ttl_ms * LB_NS_PER_MS;
  grant->asked_at = sent;
  grant->valid_until = LB_NEVER;
  if (!(s->foreign->protocol.traits & LB_TRAIT_LEASED)) return 0;
  grant->asked_at = now; /* a lease without a validity counts from its answer */
  grant->valid_until = lb_lease_end(now, lock->ttl_ms);
  if (!validity) return 0;
  if (!is_number(validity, true)) return no_number(s, "validity_ms", validity);
  lb_ns left = ns_of(validity), end = left > 0 ? now + left : now - foreign_earlier(now, -left);
  grant->asked_at = end > sent + whole ? end - whole : sent;
  if (grant->asked_at > now) grant->asked_at = now;
  grant->valid_until = foreign_earlier(end > grant->asked_at ? end : grant->asked_at + 1, grant->asked_at + whole);
  return 0;
}

static int take_grant(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                      const struct foreign_answer *answer, lb_ns sent) {
  const char *token = foreign_line_value(&answer->words, 1, "token"),
             *fence = foreign_line_value(&answer->words, 1, "fence");
  if (token && *token) grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%.120s", token);
  if (fence && !is_number(fence, false)) return no_number(s, "fence", fence);
  if (fence) grant->fence = strtoull(fence, NULL, 10);
  if (s->foreign->protocol.traits & LB_TRAIT_FENCED && grant->fence == 0)
    return foreign_broken(s, "the adapter granted without fence=, though it says that it can");
  int r = fill_lease(s, lock, grant, answer, sent);
  return r ? r : LB_OK;
}

static int judge_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                         const struct foreign_answer *answer, lb_ns sent) {
  if (foreign_is(answer, "granted")) return take_grant(s, lock, grant, answer, sent);
  if (foreign_is(answer, "busy")) return LB_BUSY;
  if (foreign_is(answer, "timeout")) return foreign_fail_with(s, LB_TIMEOUT, answer);
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, -EIO, answer);
  return foreign_unknown_answer(s, "acquire", answer, "granted, busy, timeout, unknown or error");
}

/* The latest question has no answer in time: LB_UNKNOWN, with a text. */
static int foreign_silent(struct lb_session *s) {
  lb_fail(s->env, -ETIMEDOUT, "the adapter has not answered %s in time", s->verb);
  return LB_UNKNOWN;
}

/* "VERB key=..." */
static void foreign_begin_request(char *line, size_t size, const char *verb, const struct lb_lock *lock) {
  snprintf(line, size, "%s key=%s", verb, lock->key);
}

static int try_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  bool was;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  lb_ns now = lb_now(s->env);
  if (now >= deadline) return LB_TIMEOUT;
  int r = foreign_settle(s, FOREIGN_NOTHING, deadline, &answer, &was);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s), LB_TIMEOUT;
  s->told = LB_OK;
  now = lb_now(s->env);
  if (now >= deadline) return LB_TIMEOUT;
  foreign_begin_request(line, sizeof line, "acquire", lock);
  size_t length = strlen(line);
  lb_ns left = deadline - now,
        wait = left - foreign_earlier(left / 10, MARGIN_MS * LB_NS_PER_MS); /* so that its answer comes in time */
  long long wait_ms = lock->patient ? (long long)(wait / LB_NS_PER_MS) : 0;
  snprintf(line + length, sizeof line - length, " ttl_ms=%lld wait_ms=%lld", (long long)lock->ttl_ms, wait_ms);
  length = strlen(line);
  if (lock->shared) length += (size_t)snprintf(line + length, sizeof line - length, " shared=yes");
  if (lock->permits > 1) snprintf(line + length, sizeof line - length, " permits=%d", lock->permits);
  /* Names the attempt for release and resolve; a library that has tokens of its own may say so. */
  grant->token_len =
      (size_t)snprintf(grant->token, sizeof grant->token, "question %llu", (unsigned long long)s->number + 1);
  grant->asked_at = now;
  lb_ns patience = now + ((lb_ns)wait_ms + LATE_MS) * LB_NS_PER_MS;
  r = foreign_ask(s, FOREIGN_ACQUIRE, line, patience > deadline ? patience : deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_acquire(s, lock, grant, &answer, now);
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

static int judge_release(struct lb_session *s, const struct foreign_answer *answer) {
  if (foreign_is(answer, "ok")) return LB_OK;
  if (foreign_is(answer, "lost")) return LB_LOST;
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, -EIO, answer);
  return foreign_unknown_answer(s, "release", answer, "ok, lost, unknown or error");
}

static int ask_release(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  foreign_begin_request(line, sizeof line, "release", lock);
  if (s->foreign->says.can_token && grant->token_len) {
    foreign_line_append(line, sizeof line, " token=");
    foreign_line_append_value(line, sizeof line, grant->token, false);
  }
  int r = foreign_ask(s, FOREIGN_RELEASE, line, deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_release(s, &answer);
}

/* An acquire that was given up may still be answered: it was refused, and nothing of it remains, or it is to be
 * ended. */
static int release_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct foreign_answer answer;
  bool was_release = s->unanswered == FOREIGN_RELEASE, was_acquire;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_ACQUIRE, deadline, &answer, &was_acquire);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s);
  if (was_release) return judge_release(s, &answer);
  if (was_acquire && !foreign_is(&answer, "granted") && !foreign_is(&answer, "unknown")) return LB_OK;
  return ask_release(s, lock, grant, deadline);
}

/* After a call that was not answered: its answer. After "unknown": the library ends what may be there, and says so. */
static int resolve_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct foreign_answer answer;
  bool was_acquire;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_ACQUIRE, deadline, &answer, &was_acquire);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s);
  if (was_acquire) {
    r = judge_acquire(s, lock, grant, &answer, grant->asked_at);
    if (r != LB_UNKNOWN) return r == LB_OK || r == -EPROTO ? r : LB_BUSY;
  }
  /* "lost": the library has nothing that it could end, which leaves its caller without the lock, whatever stays at the
   * service: that shows in who else gets it. */
  r = ask_release(s, lock, grant, deadline);
  return r == LB_OK || r == LB_LOST ? LB_BUSY : r == -EPROTO ? r : LB_UNKNOWN;
}

/* ---- while it holds ---------------------------------------------------------------------------------------------- */

static int judge_confirmed(struct lb_session *s, const char *verb, const struct foreign_answer *answer) {
  if (foreign_is(answer, "ok")) return LB_OK;
  if (foreign_is(answer, "lost")) return LB_LOST;
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  return foreign_unknown_answer(s, verb, answer, "ok, lost, unknown or error");
}

static int confirm(struct lb_session *s, const char *verb, const char *line, lb_ns deadline) {
  struct foreign_answer answer;
  bool was;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_NOTHING, deadline, &answer, &was);
  if (r > 0) r = foreign_ask(s, FOREIGN_OTHER, line, deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_confirmed(s, verb, &answer);
}

static int extend_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  lb_ns before = lb_now(s->env);
  foreign_begin_request(line, sizeof line, "extend", lock);
  size_t length = strlen(line);
  snprintf(line + length, sizeof line - length, " ttl_ms=%lld", (long long)lock->ttl_ms);
  int r = confirm(s, "extend", line, deadline);
  return grant->valid_until == LB_NEVER ? r : lb_lease_extended(grant, r, lb_lease_end(before, lock->ttl_ms));
}

static int holds_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  (void)grant;
  foreign_begin_request(line, sizeof line, "holds", lock);
  return confirm(s, "holds", line, deadline);
}

static int stop_hook(struct lb_session *s, lb_ns deadline) {
  int r = confirm(s, "stop", "stop", deadline);
  return r == LB_OK || r < 0 ? r : -EIO;
}

/* Its answer may be later than the deadline: then it stays for the next call. */
static int work_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  (void)grant;
  foreign_begin_request(line, sizeof line, "work", lock);
  int r = confirm(s, "work", line, deadline);
  if (r == LB_LOST) return foreign_broken(s, "the adapter answered 'lost' to work, expected ok or error");
  return r == LB_UNKNOWN ? s->unanswered ? LB_TIMEOUT : -EIO : r;
}

/* What has come by now. An answer that has not come in time stays for the next call. */
static int doubt_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  (void)grant;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  char *line;
  int r = s->unanswered ? 0 : foreign_hear(s, &line);
  if (r < 0) return r;
  if (r > 0) return foreign_broken(s, "the adapter wrote a line that nobody had asked for");
  if (s->told != LB_OK) lb_fail(s->env, -ECONNRESET, "the library says: %s", s->told_text);
  return s->told;
}

/* ---- of who looks on --------------------------------------------------------------------------------------------- */

static int break_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return foreign_break(s->env, s->config, &s->foreign->says, lock->key, endpoint, deadline);
}

/* Where no server is known to have the record, or there is none. */
static int look_up(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  bool was;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  if (!foreign_line_record(s->config, lock->key, endpoint, line, sizeof line))
    return lb_fail(s->env, -E2BIG, "the name of the server is too long for a line");
  int r = foreign_settle(s, FOREIGN_NOTHING, deadline, &answer, &was);
  if (r > 0) r = foreign_ask(s, FOREIGN_OTHER, line, deadline, &answer);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s), -ETIMEDOUT;
  if (foreign_is(&answer, "present")) return 1;
  if (foreign_is(&answer, "absent")) return 0;
  if (foreign_is(&answer, "unknown") || foreign_is(&answer, "error")) return foreign_fail_with(s, -EIO, &answer);
  return foreign_unknown_answer(s, "record", &answer, "present, absent, unknown or error");
}

static int inspect_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  if (s->foreign->says.can_record) return look_up(s, lock, endpoint, deadline);
  return foreign_inspect(s->env, s->config, &s->foreign->says, lock->key, endpoint, deadline);
}

static int teardown_hook(struct lb_session *s, lb_ns deadline) {
  return foreign_clean(s->env, s->config, &s->foreign->says, deadline);
}

static int server_hook(struct lb_session *s) {
  return s->child.pid > 0 ? foreign_server(s->config->target, s->child.pid) : -ENOENT;
}

static lb_ns round_trip_hook(struct lb_session *s) { return s->round_trip; }

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Those that an adapter cannot answer are left out. */
static const struct lb_protocol foreign_hooks = {
    .abi = LB_ABI,
    .session_size = sizeof(struct lb_session),
    .open = foreign_session_open,
    .close = foreign_session_close,
    .try_acquire = try_hook,
    .release = release_hook,
    .resolve = resolve_hook,
    .extend = extend_hook,
    .holds = holds_hook,
    .doubt = doubt_hook,
    .break_lock = break_hook,
    .stop = stop_hook,
    .work = work_hook,
    .teardown = teardown_hook,
    .proofs = &(const struct lb_proofs){.inspect = inspect_hook, .server = server_hook},
    .round_trip = round_trip_hook,
};

/* ---- from what an adapter says of itself to a protocol of the registry ------------------------------------------- */

/* A grant of a foreign library is believed as it is given out: so it has the option that says so, off. */
static const struct lb_option foreign_options[] = {
    {.name = "check_validity",
     .type = LB_OPT_BOOL,
     .def = 0,
     .max = 1,
     .help = "a grant whose lease was over when its answer was read is given back, as a careful caller would do"},
    {0}};

static void leave_out(struct foreign *f) {
  struct lb_protocol *p = &f->protocol;
  if (!f->says.can_extend) p->extend = NULL;
  if (!f->says.can_holds) p->holds = NULL;
  if (!f->says.can_signal) p->doubt = NULL;
  if (!f->says.can_stop) p->stop = NULL;
  if (!f->says.can_work) p->work = NULL;
  if (!f->says.record_count) p->break_lock = NULL;
}

static char *copy_of(const char *text) { return text ? strdup(text) : NULL; }

static struct foreign *make(const struct lb_foreign_plan *plan, const struct foreign_says *says) {
  struct foreign *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (struct foreign){.protocol = foreign_hooks,
                        .says = *says,
                        .command = copy_of(plan->command),
                        .folder = copy_of(plan->folder),
                        .like = copy_of(plan->like),
                        .start_ms = plan->start_ms};
  if (plan->version) snprintf(f->says.version, sizeof f->says.version, "%s", plan->version);
  snprintf(f->name, sizeof f->name, "%s:%s", plan->kind, says->name);
  int n = plan->summary ? asprintf(&f->summary, "%s", plan->summary)
                        : asprintf(&f->summary, "the lock of %s, behind an adapter", says->name);
  if (!f->command || n < 0) return free(f), NULL;
  for (size_t i = 0; i < says->topology_count; i++) f->topologies[i] = f->says.topology[i];
  struct lb_protocol *p = &f->protocol;
  p->name = f->name;
  p->summary = f->summary;
  p->topologies = f->topologies;
  p->traits = f->says.traits;
  p->options = foreign_options;
  p->data = f;
  leave_out(f);
  return f;
}

const struct lb_protocol *lb_foreign_add(const struct lb_foreign_plan *plan, struct lb_error *err) {
  char words[LB_FOREIGN_LINE_MAX];
  struct foreign_says says;
  if (snprintf(words, sizeof words, "%s", plan->says) >= (int)sizeof words)
    return lb_refuse(err, "its first line is too long"), NULL;
  if (foreign_line_read_says(words, &says, err) < 0) return NULL;
  struct foreign *f = make(plan, &says);
  if (!f) return lb_refuse(err, "out of memory"), NULL;
  return lb_protocol_add(&f->protocol, err) < 0 ? NULL : &f->protocol; /* not freed: the process ends with this line */
}

static const struct foreign *foreign_of(const struct lb_protocol *protocol) { return protocol->data; }

const char *lb_foreign_version(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.version; }

int lb_foreign_ask_version(const struct lb_protocol *protocol, char *buf, size_t size) {
  struct lb_error err;
  struct foreign_says says;
  char words[LB_FOREIGN_LINE_MAX];
  int start_ms, r = foreign_ask_silently(foreign_of(protocol), words, sizeof words, &start_ms, &err);
  if (r == 0) r = foreign_line_read_says(words, &says, &err);
  if (r == 0) snprintf(buf, size, "%s", says.version);
  return r;
}

const char *lb_foreign_like(const struct lb_protocol *protocol) { return foreign_of(protocol)->like; }
const char *lb_foreign_command(const struct lb_protocol *protocol) { return foreign_of(protocol)->command; }
int lb_foreign_start_ms(const struct lb_protocol *protocol) {
  return foreign_of(protocol)->start_ms ? foreign_of(protocol)->start_ms : USUAL_START_MS;
}
bool lb_foreign_tells_validity(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.can_validity; }
bool lb_foreign_takes_tokens(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.can_token; }
bool lb_foreign_names_record(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.record_count > 0; }

bool lb_foreign_looks_up(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.can_record; }

bool lb_foreign_names_data(const struct lb_protocol *protocol) {
  const struct foreign_says *says = &foreign_of(protocol)->says;
  for (size_t i = 0; i < says->record_count; i++)
    if (strcmp(says->record[i], "advisory") == 0 || strcmp(says->record[i], "transaction") == 0) return false;
  return says->record_count > 0;
}
