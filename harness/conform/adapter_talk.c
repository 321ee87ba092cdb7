/* SPDX-License-Identifier: MIT
 *
 * Clients that are spoken to in lines. Whatever an adapter does wrong ends the process of the statement here, with what
 * was read and what was expected.
 */
#include "adapter_talk.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "backends/foreign_line.h"
#include "network/proctree.h"

static struct {
  struct lb_talk *talk;
  bool open;
  unsigned long long number; /* of its latest question */
  char asked[24];            /* ... and its word */
  lb_ns sent, held_up;       /* when, and what its program had been held up by then */
} client[LB_CONFORM_SESSIONS];
static bool strict;

void adapter_be_strict(void) { strict = true; }

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

void adapter_expect_silence(struct lb_conform *c, int i, int64_t ms, const char *what) {
  const char *line;
  bool heard = hear(c, i, in_ms(ms), &line);
  lb_conform_check(c, !heard, "expected %s, read '%.100s' (%s client)", what, heard ? line : "", lb_conform_ordinal(i));
}

/* ---- a client --------------------------------------------------------------------------------------------------- */

void adapter_start(struct lb_conform *c, int i) {
  const char *line;
  struct lb_error err;
  if (client[i].talk) return;
  client[i].talk = lb_talk_start(c->protocol);
  if (!client[i].talk) lb_conform_break(c, "cannot start the adapter");
  snprintf(client[i].asked, sizeof client[i].asked, "who are you");
  if (!hear(c, i, in_ms(ADAPTER_START_MS), &line))
    lb_conform_fail(c, "expected its first line within %d s, read nothing", ADAPTER_START_MS / 1000);
  if (!foreign_first_line(line, &err)) lb_conform_fail(c, "%s", err.text);
}

void adapter_open(struct lb_conform *c, int i) {
  char line[4096];
  struct adapter_reply reply;
  adapter_start(c, i);
  if (client[i].open) return;
  client[i].open = true;
  if (!foreign_open_line(&c->config[i], line, sizeof line))
    lb_conform_break(c, "the names of the servers are too long for a line");
  adapter_ask(c, i, ADAPTER_START_MS, &reply, "%s", line);
  adapter_want(c, i, &reply, "ok", "where all servers are up");
}

void adapter_put(struct lb_conform *c, int i, const char *format, ...) {
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

void adapter_take(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret) {
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

void adapter_ask(struct lb_conform *c, int i, int64_t ms, struct adapter_reply *ret, const char *format, ...) {
  char line[4000];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  adapter_put(c, i, "%s", line);
  adapter_take(c, i, ms, ret);
}

bool adapter_says(const struct adapter_reply *reply, const char *words) {
  size_t length = strlen(reply->word);
  for (const char *at = words; length && (at = strstr(at, reply->word)); at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

void adapter_want(struct lb_conform *c, int i, const struct adapter_reply *reply, const char *words, const char *why) {
  char list[80] = "";
  for (const char *at = words; *at; at++)
    snprintf(list + strlen(list), sizeof list - strlen(list), *at == ' ' ? " or " : "%c", *at);
  lb_conform_check(c, adapter_says(reply, words), "expected %s as the answer to %s, read '%.100s' (%s client)%s%s",
                   list, client[i].asked, reply->line, lb_conform_ordinal(i), *why ? ", " : "", why);
}

bool adapter_number(const struct adapter_reply *reply, const char *name, long long *ret) {
  char value[60], *end;
  if (!lb_talk_value(reply->line, name, value, sizeof value)) return false;
  *ret = strtoll(value, &end, 10);
  return end > value && *end == '\0';
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

bool adapter_end(struct lb_conform *c, int i, bool quit, int patience_ms, char *fate, size_t size) {
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

void adapter_hang_up(int i) { lb_talk_hang_up(client[i].talk); }

void adapter_kill(struct lb_conform *c, int i) {
  (void)c;
  lb_proctree_signal(lb_talk_pid(client[i].talk), SIGKILL);
  lb_talk_end(client[i].talk, 1000, NULL, 0);
  client[i].talk = NULL;
  client[i].open = false;
}

/* ---- what most statements do ------------------------------------------------------------------------------------- */

void adapter_acquire(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, int64_t wait_ms,
                     struct adapter_reply *ret, const char *why) {
  adapter_ask(c, i, wait_ms + ADAPTER_CALL_MS, ret, "acquire key=%s ttl_ms=%lld wait_ms=%lld", key, (long long)ttl_ms,
              (long long)wait_ms);
  adapter_want(c, i, ret, "granted", why);
}

void adapter_refused(struct lb_conform *c, int i, const char *key, const char *why) {
  struct adapter_reply reply;
  adapter_ask(c, i, ADAPTER_CALL_MS, &reply, "acquire key=%s ttl_ms=%d wait_ms=0", key, ADAPTER_HOLD_MS);
  adapter_want(c, i, &reply, "busy", why);
}

void adapter_answers(struct lb_conform *c, int i, const char *what, const char *key, const char *words,
                     const char *why) {
  struct adapter_reply reply;
  adapter_ask(c, i, ADAPTER_CALL_MS, &reply, "%s key=%s", what, key);
  adapter_want(c, i, &reply, words, why);
}

void adapter_release(struct lb_conform *c, int i, const char *key, const char *why) {
  adapter_answers(c, i, "release", key, "ok", why);
}
