/* SPDX-License-Identifier: MIT
 *
 * A session of a foreign lock: its adapter is started, says what it is, is told where the servers are, and how long a question takes that asks for nothing.
 */
#include "foreign_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINE_S = 20, QUIT_MS = 300, PINGS = 9 };

/* ---- a session ---------------------------------------------------------------------------------------------------- */

/* It has to be what the tool was told that it is: a peer of another version is another lock. */
static int greet(struct lb_session *s, lb_ns deadline) {
  char err[300], *line;
  struct foreign_says says;
  int r = foreign_await_line(s, foreign_earlier(deadline, lb_now(s->env) + FIRST_LINE_S * LB_NS_PER_S), &line);
  if (r < 0) return r;
  if (r == 0) return foreign_broken(s, "the adapter has not said what it is in time");
  const char *words = foreign_first_line(line, err, sizeof err);
  if (!words) return foreign_broken(s, "%s", err);
  if (foreign_read_says(line + (words - line), &says, err, sizeof err) < 0) return foreign_broken(s, "%s", err);
  if (strcmp(says.name, s->foreign->says.name) != 0) return foreign_broken(s, "the adapter says that it is '%s', expected '%s'", says.name, s->foreign->says.name);
  if (s->foreign->says.version[0] && strcmp(says.version, s->foreign->says.version) != 0)
    return foreign_broken(s, "the adapter says that its library has version '%s', expected '%s'", says.version, s->foreign->says.version);
  return 0;
}

static int introduce(struct lb_session *s, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  if (!foreign_open_line(s->config, line, sizeof line)) return lb_fail(s->env, -E2BIG, "the names of the servers are too long for a line");
  int r = foreign_ask(s, FOREIGN_OTHER, line, deadline, &answer);
  if (r < 0) return r;
  if (r == 0) return lb_fail(s->env, -ETIMEDOUT, "the adapter has not answered open in time");
  if (foreign_is(&answer, "ok")) return 0;
  if (foreign_is(&answer, "error")) return foreign_fail_with(s, -EIO, &answer);
  return foreign_unknown_answer(s, "open", &answer, "ok or error");
}

static int compare_ns(const void *a, const void *b) { return (*(const lb_ns *)a > *(const lb_ns *)b) - (*(const lb_ns *)a < *(const lb_ns *)b); }

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

/* The clocks of a host are set for its programs by a library that they load (skew.h of the harness). Who has not loaded it goes by the true ones. */
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
  if (s->child.pid > 0 && !s->broken) foreign_put(s, FOREIGN_OTHER, "quit");
  foreign_end(&s->child, QUIT_MS, NULL, 0);
}
