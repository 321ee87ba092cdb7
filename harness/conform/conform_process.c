/* SPDX-License-Identifier: MIT
 *
 * The process of a statement: how it says its verdict, its clients in processes of their own, its connections, and what
 * is made of how it ended. What the statement itself has said comes first; a hang, a signal or an exit is told with the
 * hook that it happened in, because that is where its author will look.
 */
#include "conform_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

/* ---- further processes ----------------------------------------------------------------------------- */

enum { NAP_MS = 1, SERVERS_MS = 25000 };

/* Ends by exit(), like the process of the statement: a sanitizer gets to look for leaks. */
static _Noreturn void process_main(struct lb_conform *c, const char *name, int number,
                                   void (*act)(struct lb_conform *, int)) {
  snprintf(c->name, sizeof c->name, "%s-%d", name, number);
  c->process_count = 0;
  lb_conform_prepare(c);
  act(c, number);
  lb_conform_close(c);
  exit(0);
}

void lb_conform_start(struct lb_conform *c, const char *name, int number,
                      void (*act)(struct lb_conform *c, int number)) {
  pid_t pid = c->process_count < LB_CONFORM_PROCESSES ? lb_process_fork() : -1;
  if (pid == 0) process_main(c, name, number, act);
  if (pid < 0) lb_conform_fail(c, "no process for a client");
  c->process[c->process_count++] = pid;
}

/* A process that failed has written why, and the state. The other processes end with this one. */
static void join_one(struct lb_conform *c, pid_t pid, lb_ns end, int64_t ms) {
  int status;
  pid_t got;
  while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
    if (atomic_load(&c->shared->state) != LB_CONFORM_RUNS) _exit(0);
    if (lb_clock_ns() >= end)
      lb_conform_fail(c, "expected %d clients to be done within %lld ms", c->process_count, (long long)ms);
    lb_clock_sleep_until(in_ms(NAP_MS));
  }
  if (atomic_load(&c->shared->state) != LB_CONFORM_RUNS) _exit(0);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status)); /* so dies the statement: the hook is still noted */
  if (WEXITSTATUS(status)) _exit(WEXITSTATUS(status));
}

void lb_conform_bring(struct lb_conform *c, enum lb_conform_servers asked) {
  enum lb_conform_servers wanted = asked == LB_CONFORM_SHALL_DIE ? LB_CONFORM_DEAD : LB_CONFORM_SERVE;
  lb_ns end_at = in_ms(SERVERS_MS);
  atomic_store(&c->shared->servers, asked);
  while (atomic_load(&c->shared->servers) == (int)asked && lb_clock_ns() < end_at) lb_clock_sleep_until(in_ms(2));
  if (atomic_load(&c->shared->servers) != (int)wanted)
    lb_conform_break(c, "the servers did not %s", wanted == LB_CONFORM_DEAD ? "die" : "start again");
}

void lb_conform_lose(struct lb_conform *c, size_t kept) {
  atomic_store(&c->shared->kept, kept);
  lb_conform_bring(c, LB_CONFORM_SHALL_DIE);
  atomic_store(&c->shared->kept, 0);
}

void lb_conform_join(struct lb_conform *c, int64_t ms) {
  lb_ns end = in_ms(ms);
  for (int i = 0; i < c->process_count; i++) join_one(c, c->process[i], end, ms);
  c->process_count = 0;
}

/* ---- from how it ended to whether it holds -------------------------------------------------------- */

enum { OUTPUT_LINES = 8 };

/* The end of the file, as far as there is room; how much of it. */
static size_t read_end(const char *path, char *text, size_t size) {
  FILE *in = fopen(path, "re");
  if (!in) return 0;
  long length = fseek(in, 0, SEEK_END) == 0 ? ftell(in) : 0, from = length > (long)size ? length - (long)size : 0;
  size_t n = fseek(in, from, SEEK_SET) == 0 ? fread(text, 1, size, in) : 0;
  fclose(in);
  return n;
}

/* A sanitizer's report says first what it is about; of anything else the last lines say what came last. */
static char *first_line(char *text, size_t n) {
  const char *error = strstr(text, "Sanitizer: "), *undefined = strstr(text, "runtime error: ");
  const char *report = undefined && (!error || undefined < error) ? undefined : error;
  char *begin = report ? text + (report - text) : text + n;
  for (int lines = report ? OUTPUT_LINES - 1 : 0; begin > text && (begin[-1] != '\n' || ++lines < OUTPUT_LINES);)
    begin--;
  return begin;
}

/* The last lines, or the first of a report. Without what a terminal would obey; a NUL becomes a
 * `?`, or it would hide what comes behind it. */
static void show_output(const char *path, char *buf, size_t size) {
  static char text[1 << 16];
  size_t n = read_end(path, text, sizeof text - 1);
  while (n > 0 && text[n - 1] == '\n') n--;
  text[n] = '\0';
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\0') text[i] = '?';
  buf[0] = '\0';
  char *rest = first_line(text, n);
  for (int lines = 0; n > 0 && rest && lines < OUTPUT_LINES; lines++) {
    char *line = strsep(&rest, "\n");
    size_t used = strlen(buf);
    if (used + 2 >= size) break;
    snprintf(buf + used, size - used - 1, "%s", line);
    lb_contract_clean_text(buf + used, size - used - 1);
    strcat(buf, "\n");
  }
}

/* Shared memory was told before every call where the process was going to be (conform_calls.c). */
static void say_where(const struct lb_conform_shared *shared, char *buf, size_t size) {
  int hook = atomic_load(&shared->hook);
  if (hook == LB_HOOK_NONE) snprintf(buf, size, "outside of its hooks");
  else
    snprintf(buf, size, "inside %s (%s session)", lb_hook_name((enum lb_hook)hook),
             lb_conform_ordinal(atomic_load(&shared->session)));
}

/* Only the statement's own verdict shows a declared flaw. A protocol that dies, hangs, breaks the contract or meets an
 * error has not shown it. */
static void judge_flaw(const struct lb_conform_end *end, struct lb_conform_result *result) {
  bool shown = atomic_load(&end->shared->state) == LB_CONFORM_FAILS;
  snprintf(result->declared, sizeof result->declared, "%s", end->flaw->reason);
  if (result->holds)
    snprintf(result->why, sizeof result->why, "it holds, though the protocol declares that it does not");
  result->holds = shown;
}

/* From what says most to what says least. A process may also end badly after its statement held: a
 * sanitizer that finds a leak at the end does so. */
void lb_conform_judge(const struct lb_conform_end *end, struct lb_conform_result *result) {
  const struct lb_conform_shared *shared = end->shared;
  int status = end->status;
  int state = atomic_load(&shared->state);
  char where[80];
  say_where(shared, where, sizeof where);
  if (state == LB_CONFORM_FAILS || state == LB_CONFORM_BREAKS)
    snprintf(result->why, sizeof result->why, "%.*s", (int)sizeof shared->why - 1, shared->why);
  else if (!end->in_time)
    snprintf(result->why, sizeof result->why, "it did not end within %g s, %s", (double)end->limit_ms / 1000, where);
  else if (WIFSIGNALED(status) && sigabbrev_np(WTERMSIG(status))) /* real-time signals have no name */
    snprintf(result->why, sizeof result->why, "it died of SIG%s %s", sigabbrev_np(WTERMSIG(status)), where);
  else if (WIFSIGNALED(status))
    snprintf(result->why, sizeof result->why, "it died of signal %d %s", WTERMSIG(status), where);
  else if (state == LB_CONFORM_RUNS)
    snprintf(result->why, sizeof result->why, "it ended with exit status %d %s", WEXITSTATUS(status), where);
  else if (WEXITSTATUS(status) != 0)
    snprintf(result->why, sizeof result->why, "it held, but its process then ended with exit status %d",
             WEXITSTATUS(status));
  result->holds = result->why[0] == '\0';
  if (result->holds) snprintf(result->note, sizeof result->note, "%.*s", (int)sizeof shared->note - 1, shared->note);
  if (end->flaw) judge_flaw(end, result);
  lb_contract_clean_text(result->why, sizeof result->why);
  if (result->holds) return;
  show_output(end->output, result->output, sizeof result->output);
}
