/* SPDX-License-Identifier: MIT
 *
 * The process, and the tool that talks to it. What is seen decides (guardian_look.h), never an exit status alone.
 */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "guardian_look.h"
#include "guardian_order.h"
#include "guardian_undo.h"

enum { ANSWER_MS = 600000 }; /* of the guardian: longer than all that it waits for */

/* ---- the process ------------------------------------------------------------------------------------------------- */

enum { DO_ORDER, DO_REST, DO_END, DO_HOLD };
struct request {
  lb_ns number;
  int what, own;
  struct lb_mandate_order order;
};
struct answer {
  lb_ns number;
  int result;
  char text[600];
};

/* Whether the faults of a trial still last at its end. */
static int hold(struct lb_error *err) {
  if (lb_guardian.early)
    return lb_refuse(err, "undo-after = %lld s was over before the trial was, so all was undone",
                     (long long)lb_guardian.rules->undo_after_ms / 1000);
  int r = lb_guardian_order_prove_late(err);
  return r < 0 ? r : lb_guardian_order_lasts(err);
}

static void handle(int at, const struct request *request) {
  struct lb_error err = {0};
  struct answer answer = {.number = request->number};
  switch (request->what) {
    case DO_ORDER: answer.result = lb_guardian_order(lb_own_at((size_t)request->own), &request->order, &err); break;
    case DO_HOLD: answer.result = hold(&err); break;
    case DO_REST: answer.result = lb_guardian_undo(&err); break;
    default: answer.result = lb_guardian.failed ? 0 : lb_guardian_undo(&err); break; /* that was said already */
  }
  snprintf(answer.text, sizeof answer.text, "%s", err.text);
  send(at, &answer, sizeof answer, MSG_NOSIGNAL);
  if (request->what == DO_END) _exit(0);
}

/* How long until the oldest fault has lasted too long; -1 = there is none. */
static int left_ms(void) {
  if (lb_guardian.count == 0) return -1;
  lb_ns due = lb_guardian.fault[0].since + (lb_ns)lb_guardian.rules->undo_after_ms * LB_NS_PER_MS, now = lb_clock_ns();
  return due > now ? (int)((due - now) / LB_NS_PER_MS) + 1 : 0;
}

static _Noreturn void be_guardian(int at, int tool) {
  struct request request;
  setsid();
  lb_process_title_set("lb-operator"); /* who kills the tool by name means the tool */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd); /* a reader of the tool's output must not wait for us */
  for (;;) {
    struct pollfd p[2] = {{.fd = tool, .events = POLLIN}, {.fd = at, .events = POLLIN}};
    int n = poll(p, 2, left_ms());
    if (p[0].revents) lb_guardian_undo_all(NULL), _exit(0);
    if (p[1].revents && recv(at, &request, sizeof request, 0) == (ssize_t)sizeof request) handle(at, &request);
    else if (p[1].revents) lb_guardian_undo_all(NULL), _exit(0);
    else if (n == 0) lb_guardian.early = true, lb_guardian_undo_all(NULL);
  }
}

/* ---- the other side ---------------------------------------------------------------------------------------------- */

static int line_to = -1; /* the guardian; -1 = there is none */
static bool was_told;    /* that something is not as before */

static int ask(struct request *request, struct lb_error *err) {
  struct answer answer = {0};
  struct pollfd p = {.fd = line_to, .events = POLLIN};
  request->number = lb_clock_ns();
  bool lives = send(line_to, request, sizeof *request, MSG_NOSIGNAL) > 0;
  while (lives && answer.number != request->number) {
    int n = poll(&p, 1, ANSWER_MS);
    if (n < 0 && errno == EINTR) continue;
    lives = n > 0 && recv(line_to, &answer, sizeof answer, 0) > 0;
  }
  if (!lives) return lb_error(err, -EIO, "the guardian of --operator has died");
  return answer.result < 0 ? lb_error(err, answer.result, "%s", answer.text) : 0;
}

static int carry_out(const struct lb_topology *topology, const struct lb_mandate_order *order, struct lb_error *err) {
  struct request request = {.what = DO_ORDER, .order = *order};
  while (topology != &lb_own_at((size_t)request.own)->topology) request.own++;
  return ask(&request, err) < 0 ? -1 : 0;
}

static int holds(struct lb_error *err) {
  struct request request = {.what = DO_HOLD};
  return line_to >= 0 && ask(&request, err) < 0 ? -1 : 0; /* a plan without orders has no guardian */
}

void lb_guardian_empower(const struct lb_own_operator *rules) {
  static struct lb_mandate mandates[LB_OWN_COUNT];
  struct lb_own *own;
  for (size_t i = 0; (own = lb_own_at(i)); i++) {
    mandates[i] = (struct lb_mandate){rules->may, rules->at_once, 0, rules->fails_over, carry_out, holds};
    for (size_t k = 0; k < own->found.count; k++)
      if (lb_own_operator_ward(rules, own, k) < rules->count) mandates[i].known |= 1u << k;
    own->topology.mandate = &mandates[i];
  }
}

int lb_guardian_reserve(const struct lb_own_operator *rules, struct lb_error *err) {
  lb_guardian = (struct lb_guardian){.rules = rules};
  int r = lb_guardian_journal_open(err);
  if (r < 0 || lb_guardian.count == 0) return r;
  lb_guardian_undo_name_left("an earlier run has left it so", err);
  return -EEXIST;
}

int lb_guardian_others(struct lb_env *env, struct lb_error *err) {
  struct lb_guardian_others others;
  lb_guardian.env = env;
  lb_guardian_look_others(&others);
  if (others.found[0])
    return lb_error(err, -EBUSY, "--operator %s: found clients of others: %s; expected none, or others = yes",
                    lb_guardian.rules->path, others.found);
  lb_error(err, 0, "%s", others.mute);
  return others.mute[0] != '\0';
}

int lb_guardian_start(struct lb_env *env, struct lb_error *err) {
  int pair[2];
  lb_guardian.env = env;
  int tool = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (tool < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return lb_error(err, -errno, "no guardian: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) close(pair[0]), be_guardian(pair[1], tool);
  close(pair[1]);
  close(tool);
  close(lb_guardian.journal);
  if (pid < 0) return lb_error(err, -errno, "no guardian: %s", strerror(errno));
  line_to = pair[0];
  return lb_guardian_rest(err);
}

int lb_guardian_rest(struct lb_error *err) {
  struct request request = {.what = DO_REST};
  int r = line_to < 0 ? 0 : ask(&request, err);
  was_told |= r < 0;
  return r;
}

int lb_guardian_end(struct lb_error *err) {
  struct request request = {.what = DO_END};
  if (line_to < 0) return 0;
  int r = ask(&request, err);
  close(line_to);
  line_to = -1;
  return r == 0 && was_told ? lb_error(err, -EIO, "%s", "") : r;
}

int lb_guardian_clean(const struct lb_own_operator *rules, struct lb_error *err) {
  lb_guardian = (struct lb_guardian){.rules = rules};
  int r = lb_guardian_journal_open(err);
  if (r < 0) return r;
  lb_guardian_undo_begin();
  return (int)lb_guardian.count;
}

int lb_guardian_clean_end(struct lb_env *env, struct lb_error *err) {
  lb_guardian.env = env;
  return lb_guardian_undo(err);
}
