/* SPDX-License-Identifier: MIT
 *
 * A question to an adapter, and its answer: one at a time. What was not answered by its deadline is still to be
 * answered, and the next call waits for that first.
 */
#include "foreign_session.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUIT_MS = 300, QUOTED = 100 };

/* ---- what no adapter may do ------------------------------------------------------------------------------------- */

/* Once broken, always: whatever it says later is worth nothing. */
int foreign_broken(struct lb_session *s, const char *format, ...) {
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
  bool by_itself = foreign_end(&s->child, QUIT_MS, fate, sizeof fate);
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
  foreign_quote(line, quoted, sizeof quoted);
  if (said == LB_OK || (*text && *text != ' '))
    return foreign_broken(s, "the adapter wrote '%s', expected '! lost TEXT' or '! doubt TEXT'", quoted);
  if (s->told == LB_LOST) return 0; /* nothing is worse */
  s->told = said;
  foreign_quote(*text ? text + 1 : "it gave no reason", s->told_text, sizeof s->told_text);
  return 0;
}

/* Everything that has come: 1 = the line that is no news, 0 = there is none. */
int foreign_hear(struct lb_session *s, char **ret) {
  for (;;) {
    int r = foreign_next_line(&s->child, ret);
    if (r == -ENODATA) return ended(s);
    if (r == -EMSGSIZE)
      return foreign_broken(s, "the adapter wrote %d bytes and no end of a line", LB_FOREIGN_LINE_MAX);
    if (r < 0) return foreign_broken(s, "its stdout cannot be read: %s", strerror(-r));
    if (r == 0 || (*ret)[0] != '!') return r;
    if ((r = take_unasked(s, *ret)) < 0) return r;
  }
}

/* An acquire has to be over by its deadline, whoever is late. A session that opens belongs to nothing that is
 * measured. */
static bool is_over(struct lb_session *s, lb_ns deadline, lb_ns *ret_until) {
  lb_ns now = lb_now(s->env), more = s->opens && now >= deadline ? foreign_more(&s->child, 0, now - deadline) : 0;
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
  foreign_quote(line, quoted, sizeof quoted);
  unsigned long long number = strtoull(line, &end, 10);
  if (end == line || *end != ' ' || number == 0)
    return foreign_broken(s, "the adapter wrote '%s', expected '%llu ...'", quoted, (unsigned long long)s->number);
  if (number != s->number || !s->unanswered)
    return foreign_broken(s, "the adapter wrote '%s', which answers no open question (the latest was %llu)", quoted,
                          (unsigned long long)s->number);
  snprintf(ret->text, sizeof ret->text, "%s", end + 1);
  if (foreign_split(ret->text, &ret->words) < 0 || ret->words.count == 0)
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
  int r = foreign_write(&s->child, line);
  if (r == -EPIPE) return ended(s);
  if (r < 0) return foreign_broken(s, "the adapter does not read what it is asked");
  s->unanswered = question;
  snprintf(s->verb, sizeof s->verb, "%.*s", (int)strcspn(what, " "), what);
  return 0;
}

/* 1: answered. 0: not by the deadline. -EPROTO. */
int foreign_ask(struct lb_session *s, enum foreign_question question, const char *what, lb_ns deadline,
                struct foreign_answer *ret) {
  int r = put(s, question, what);
  return r < 0 ? r : await_answer(s, deadline, ret);
}

bool foreign_is(const struct foreign_answer *answer, const char *word) {
  return strcmp(answer->words.word[0], word) == 0;
}

/* What stands behind its first word, in env->err. */
int foreign_fail_with(struct lb_session *s, int result, const struct foreign_answer *answer) {
  char text[200] = "", quoted[200];
  for (size_t i = 1; i < answer->words.count; i++) {
    if (i > 1) foreign_append(text, sizeof text, " ");
    foreign_append(text, sizeof text, answer->words.word[i]);
  }
  foreign_quote(text[0] ? text : "it gave no reason", quoted, sizeof quoted);
  lb_fail(s->env, -EIO, "%s", quoted);
  return result;
}

int foreign_unknown_answer(struct lb_session *s, const char *verb, const struct foreign_answer *answer,
                           const char *expected) {
  char quoted[QUOTED];
  foreign_quote(answer->words.word[0], quoted, sizeof quoted);
  return foreign_broken(s, "the adapter answered '%s' to %s, expected %s", quoted, verb, expected);
}

/* Waits for what is still to be answered. 1: nothing is, or its answer has come (*ret, if it was this question). 0:
 * still nothing. -EPROTO. */
int foreign_settle(struct lb_session *s, enum foreign_question question, lb_ns deadline, struct foreign_answer *ret,
                   bool *ret_was) {
  *ret_was = s->unanswered == question;
  return s->unanswered ? await_answer(s, deadline, ret) : 1;
}

/* ---- it is started: its adapter is started, says what it is, is told where the servers are, and how long a question takes that asks for nothing. ---- */

enum { FIRST_LINE_S = 20, PINGS = 9 };

/* It has to be what the tool was told that it is: a peer of another version is another lock. */
static int greet(struct lb_session *s, lb_ns deadline) {
  struct lb_error err;
  char *line;
  struct foreign_says says;
  int r = await_line(s, foreign_earlier(deadline, lb_now(s->env) + FIRST_LINE_S * LB_NS_PER_S), &line);
  if (r < 0) return r;
  if (r == 0) return foreign_broken(s, "the adapter has not said what it is in time");
  const char *words = foreign_first_line(line, &err);
  if (!words) return foreign_broken(s, "%s", err.text);
  if (foreign_read_says(line + (words - line), &says, &err) < 0) return foreign_broken(s, "%s", err.text);
  if (strcmp(says.name, s->foreign->says.name) != 0)
    return foreign_broken(s, "the adapter says that it is '%s', expected '%s'", says.name, s->foreign->says.name);
  if (s->foreign->says.version[0] && strcmp(says.version, s->foreign->says.version) != 0)
    return foreign_broken(s, "the adapter says that its library has version '%s', expected '%s'", says.version,
                          s->foreign->says.version);
  return 0;
}

static int introduce(struct lb_session *s, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  if (!foreign_open_line(s->config, line, sizeof line))
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

/* Who only looks on needs no program. */
int foreign_session_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->config = config;
  s->env = config->env;
  s->foreign = config->protocol->data;
  s->child = (struct foreign_child){.in = -1, .out = -1};
  if (config->looks_on) return 0;
  int r = foreign_start(&s->child, s->foreign->command, s->foreign->folder);
  if (r < 0) return lb_fail(s->env, r, "cannot start %.100s: %s", s->foreign->command, strerror(-r));
  s->opens = true;
  r = open_session(s, deadline);
  s->opens = false;
  return r;
}

void foreign_session_close(struct lb_session *s) {
  if (s->child.pid > 0 && !s->broken) put(s, FOREIGN_OTHER, "quit");
  foreign_end(&s->child, QUIT_MS, NULL, 0);
}
