/* SPDX-License-Identifier: MIT
 *
 * A line that was typed: a step, done and proved as in a trial, or a word that asks where things are. What was proved
 * is told from the facts that the step has left in the history, as `explain` would tell them.
 */
#include "serve_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "story/say.h"
#include "run/exit.h"
#include "network/cut.h"
#include "network/line.h"
#include "network/net.h"
#include "network/sandbox.h"
#include "serve_env.h"
#include "trial/timeline.h"

/* ---- which steps mean something here: what is about a lock, or about the program of a client, is refused --- */

static bool is_of_a_client(enum lb_verb verb) {
  switch (verb) {
    case LB_STEP_PASS:
    case LB_STEP_DELIVER:
    case LB_STEP_OBSERVE_SERVER: return true;
    default:
      return lb_step_rows[verb].class == LB_STEP_COMMAND ||
             (lb_step_rows[verb].needs & (LB_NEED_POINT | LB_NEED_ASKED));
  }
}

static const char *why_not(const struct lb_serve *v, enum lb_verb verb) {
  unsigned needs = lb_step_rows[verb].needs;
  if (is_of_a_client(verb)) return "it is for a client of a scenario; here nobody takes a lock but your command";
  if (verb == LB_STEP_OBSERVE_KEY || verb == LB_STEP_AWAIT_ABSENT || (needs & (LB_NEED_RECORD | LB_NEED_SLOTS)))
    return "which key a lock has is known in a scenario only; ask the servers for yours";
  if (needs & LB_NEED_ROOM) return "a disk that can be full is made in a scenario only";
  if (needs & LB_NEED_STALL) return "a disk that can stall is made in a scenario only";
  if ((needs & LB_NEED_NETWORK) && !v->stage.net.separate) return lb_isolation_probe()->why.text;
  if ((needs & LB_NEED_CLOCKS) && !v->plan->clocks)
    return "the servers have the clock of this machine; start serve with --clocks";
  return NULL;
}

/* 0 stands for `any`, which a campaign draws. */
static int check_number(const char *kind, int number, size_t max, struct lb_error *err) {
  char found[20] = "any";
  if (number >= 1 && (size_t)number <= max) return 0;
  if (number) snprintf(found, sizeof found, "%d", number);
  return lb_refuse(err, "%s %s: expected a number from 1 to %zu", kind, found, max);
}

static int check_role(struct lb_serve *v, struct lb_role role, struct lb_error *err) {
  size_t nodes = v->stage.cluster.data_count, clients = v->stage.client_count;
  switch (role.kind) {
    case LB_ROLE_HOLDER:
    case LB_ROLE_WAITERS:
    case LB_ROLE_SERVER_OF:
      return lb_refuse(
          err,
          "found a role of holders or waiters: expected servers, client N or clients; only your command knows what it holds");
    case LB_ROLE_NODE: return check_number("node", role.number, nodes, err);
    case LB_ROLE_WITNESS: return check_number("witness", role.number, v->stage.cluster.server_count - nodes, err);
    case LB_ROLE_CLIENT: return check_number("client", role.number, clients, err);
    default: return 0;
  }
}

/* A host of a client has links, and nothing on it that could be killed, but where the command runs. */
static int check_process(struct lb_serve *v, const struct lb_step *step, struct lb_error *err) {
  size_t first = step->a.kind == LB_ROLE_CLIENT ? (size_t)step->a.number - 1 : 0;
  size_t last = step->a.kind == LB_ROLE_CLIENTS ? v->stage.client_count - 1 : first;
  if (!lb_role_is_client(step->a) || lb_step_needs(step, LB_NEED_NETWORK)) return 0;
  for (size_t i = first; i <= last; i++)
    if (!v->stage.client[i].body)
      return lb_refuse(err, "%s: no command runs on %s, so there is nothing on it but its links", step->text,
                       v->stage.client[i].name);
  if (step->verb == LB_STEP_CLOCK_JUMP || step->verb == LB_STEP_CLOCK_RATE)
    return lb_refuse(err, "%s: your command has the clock of this machine: expected servers", step->text);
  return 0;
}

static int check_step(struct lb_serve *v, const struct lb_step *step, struct lb_error *err) {
  const char *why = why_not(v, step->verb);
  if (why) return lb_refuse(err, "%s: not here: %s", step->text, why);
  if (step->delayed)
    return lb_refuse(err, "%s: found 'delay', expected a time as in 500ms: it is a key of a scenario", step->text);
  int r = check_role(v, step->a, err);
  if (r == 0) r = check_role(v, step->b, err);
  return r < 0 ? r : check_process(v, step, err);
}

/* ---- a line -------------------------------------------------------------------------------------------------- */

enum { ASK_MS = 1000, LINE_BYTES = 1000 };

/* ---- words ------------------------------------------------------------------------------------------------ */

static void put_server(struct lb_serve *v, size_t i, int primary, FILE *out) {
  struct lb_server *server = &v->stage.cluster.server[i];
  fprintf(out, "%-12s %s:%u  ", server->name, server->host->address, (unsigned)server->port);
  if (server->data) fprintf(out, "node %zu", i + 1);
  else fprintf(out, "witness %zu", i + 1 - v->stage.cluster.data_count);
  if ((int)i == primary) fputs(", current primary", out);
  if ((int)i == v->stage.primary) fputs(", primary", out);
  fputs(lb_proc_alive(&server->proc) ? "\n" : ", dead\n", out);
}

/* `primary` is whom a step has bound, as in a scenario; the current one is asked now. */
static void put_hosts(struct lb_serve *v, FILE *out) {
  struct lb_stage *s = &v->stage;
  int primary = lb_cluster_primary(&s->cluster, lb_clock_ns() + ASK_MS * LB_NS_PER_MS);
  for (size_t i = 0; i < s->cluster.server_count; i++) put_server(v, i, primary, out);
  for (size_t i = 0; i < s->client_count; i++) {
    fprintf(out, "%-12s %s  client %zu", s->client[i].name, s->client[i].host->address, i + 1);
    fputs(s->client[i].body ? ", your command\n" : "\n", out);
  }
  for (const struct lb_cut *cut = s->net.cuts; cut; cut = cut->older)
    fprintf(out, "holds: %s\n", ((const struct lb_step *)cut->owner)->text);
  for (const struct lb_line *line = s->net.lines; line; line = line->older)
    fprintf(out, "holds: %s\n", ((const struct lb_step *)line->owner)->text);
}

static void put_help(struct lb_serve *v, FILE *out) {
  fputs("hosts                       the hosts, the primary, and which cuts hold\n"
        "env                         the addresses as environment variables\n"
        "help                        this\n"
        "quit                        ends all servers (at the prompt; so does the end of its input)\n"
        "and the steps of a scenario:\n",
        out);
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++)
    if (!why_not(v, verb)) fprintf(out, "%-27s %s\n", lb_step_rows[verb].form, lb_step_rows[verb].help);
  fputs(
      "A, B: primary, primary N, current primary, replicas, node N, majority, partners, minority, proxy, witness N, all, client N or clients,\n"
      "or the name of a server, as `hosts` has it.\n"
      "`primary` is bound by the first step that names it, and stays that server: `current primary` is asked each time.\n",
      out);
}

/* True if it was one. */
static bool do_word(struct lb_serve *v, const char *line, FILE *out) {
  static const struct {
    const char *word;
    void (*put)(struct lb_serve *v, FILE *out);
  } words[] = {{"hosts", put_hosts}, {"help", put_help}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(line, words[i].word) == 0) return words[i].put(v, out), true;
  if (strcmp(line, "env") != 0) return false;
  lb_serve_env_print(v, out);
  return true;
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

/* The line, with the name of each server replaced by its role. */
static const char *with_roles(const struct lb_serve *v, const char *line) {
  static char text[2 * LINE_BYTES];
  struct lb_text to = {text, sizeof text, 0};
  const struct lb_cluster *cluster = &v->stage.cluster;
  for (size_t length; *line; line += length) {
    size_t i = 0, nodes = cluster->data_count;
    length = strcspn(line, " ");
    while (i < cluster->server_count &&
           (strncmp(cluster->server[i].name, line, length) != 0 || cluster->server[i].name[length]))
      i++;
    if (length == 0) length = 1, lb_text_add(&to, " ");
    else if (i == cluster->server_count) lb_text_add(&to, "%.*s", (int)length, line);
    else lb_text_add(&to, i < nodes ? "node %zu" : "witness %zu", i < nodes ? i + 1 : i + 1 - nodes);
  }
  return text;
}

/* It has to stay where it is: what it did knows it. NULL with err. */
static struct lb_step *read_step(struct lb_serve *v, const char *line, struct lb_error *err) {
  struct lb_step *step = lb_need(calloc(1, sizeof *step));
  int r = lb_step_parse(with_roles(v, line), step, err);
  if (r == 0) r = check_step(v, step, err);
  if (r < 0) return free(step->text), free(step), NULL;
  LB_APPEND(v->step, v->step_count) = step;
  step->number = (uint32_t)v->step_count;
  return step;
}

/* Facts are of one step only: who keeps servers for days does as many as he likes. */
static void forget_facts(struct lb_stage *s) {
  atomic_store(&s->memory->log[s->memory->controller].count, 0);
  lb_history_clear(&s->history);
}

/* True if among them is the proof of a fault. What was done is told by whom it touched; what is about a lock is left
 * out. */
static bool tell_facts(const struct lb_stage *s, FILE *out, int *ret_told) {
  const struct lb_log *log = &s->memory->log[s->memory->controller];
  bool proved = false;
  *ret_told = 0;
  for (size_t i = 0; i < atomic_load(&log->count); i++) {
    const struct lb_event *e = &s->memory->events[log->first + i];
    proved |= e->kind == LB_EV_PROVED;
    if (e->kind == LB_EV_FAULT || e->kind == LB_EV_HOLDS || e->kind == LB_EV_NOT_MET || e->kind == LB_EV_CRASH)
      continue;
    lb_say_event(&s->history, e, out);
    fputc('\n', out);
    ++*ret_told;
  }
  return proved;
}

/* Connections that begin from now on do not take late for lost. */
static int be_patient(struct lb_stage *s, const struct lb_step *step, struct lb_error *err) {
  return step->verb == LB_STEP_SLOW ? lb_net_be_patient(&s->net, step->within_ms + step->jitter_ms, step->loss > 0, err)
                                    : 0;
}

static int do_step(struct lb_serve *v, const struct lb_step *step, FILE *out, struct lb_error *err) {
  struct lb_stage *s = &v->stage;
  int told;
  forget_facts(s);
  if (be_patient(s, step, err) < 0) return LB_EXIT_FAILURE;
  int r = lb_timeline_step(s, step);
  if (r == 0) r = lb_timeline_settle(s);
  bool proved = tell_facts(s, out, &told);
  if (r < 0) lb_error(err, r, "not proved: %s", s->why);
  s->verdict = LB_VERDICT_NONE;
  s->why[0] = '\0';
  if (r < 0) return LB_EXIT_UNDECIDED;
  if (!proved && lb_step_row(step)->armed) return fprintf(out, "armed: %s\n", step->text), LB_EXIT_OK;
  if (!proved && lb_step_row(step)->class == LB_STEP_FAULT)
    return lb_refuse(err, "not proved: %s: there is nobody", step->text), LB_EXIT_UNDECIDED;
  if (told == 0 || (!proved && lb_step_row(step)->class == LB_STEP_CURE)) fprintf(out, "done: %s\n", step->text);
  return LB_EXIT_OK;
}

int lb_serve_line(struct lb_serve *v, const char *line, FILE *out, struct lb_error *err) {
  if (do_word(v, line, out)) return LB_EXIT_OK;
  const struct lb_step *step = read_step(v, line, err);
  return step ? do_step(v, step, out, err) : LB_EXIT_USAGE;
}

/* ---- a line through the socket ---------------------------------------------------------------------------------- */

/* The socket lies in a folder that only its user can enter, so no other user can reach it. It can be reached from every
 * network namespace. The answer: what was done and proved, a NUL byte, the exit code in one digit, and what was
 * refused. */

enum { ASKED_S = 5 };

int lb_serve_listen(struct lb_serve *v, struct lb_error *err) {
  char folder[3100];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(folder, sizeof folder, "%s/serve", v->plan->dir->partial);
  if (snprintf(v->socket_path, sizeof v->socket_path, "%s/socket", folder) >= (int)sizeof v->socket_path)
    return lb_error(err, -ENAMETOOLONG, "%s: the path of a socket has at most %zu bytes: choose another TMPDIR", folder,
                    sizeof v->socket_path - 1);
  memcpy(address.sun_path, v->socket_path, sizeof address.sun_path);
  if (mkdir(folder, 0700) < 0) return lb_error(err, -EIO, "cannot make %s: %s", folder, strerror(errno));
  v->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (v->socket >= 0 && bind(v->socket, (struct sockaddr *)&address, sizeof address) == 0 && listen(v->socket, 8) == 0)
    return 0;
  return lb_error(err, -EIO, "cannot listen at %s: %s", v->socket_path, strerror(errno));
}

/* Up to the end of the line. False: the sender has gone, sends too much, or nothing for seconds. */
static bool read_line(int fd, char line[LINE_BYTES]) {
  struct timeval patience = {.tv_sec = ASKED_S};
  size_t at = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (at < LINE_BYTES) {
    ssize_t n = read(fd, line + at, LINE_BYTES - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    char *end = memchr(line + at, '\n', (size_t)n);
    if (end) return *end = '\0', true;
    at += (size_t)n;
  }
  return false;
}

void lb_serve_answer(struct lb_serve *v) {
  struct lb_error err = {0};
  char line[LINE_BYTES];
  int fd = accept4(v->socket, NULL, NULL, SOCK_CLOEXEC);
  FILE *out = fd >= 0 ? fdopen(fd, "r+") : NULL;
  if (!out) {
    if (fd >= 0) close(fd);
    return;
  }
  if (read_line(fd, line)) {
    int code = lb_serve_line(v, line, out, &err);
    fprintf(out, "%c%d%s", '\0', code, code == LB_EXIT_OK ? "" : err.text);
  }
  fclose(out);
}

/* ---- the other side ---------------------------------------------------------------------------------------- */

/* The whole answer, malloc'd, with a NUL behind it; NULL with errno. */
static char *exchange(int fd, const char *line, size_t *ret_size) {
  char *answer = NULL, some[4096];
  FILE *out = open_memstream(&answer, ret_size);
  ssize_t n;
  if (!out) return NULL;
  bool sent = send(fd, line, strlen(line), MSG_NOSIGNAL) >= 0 && send(fd, "\n", 1, MSG_NOSIGNAL) == 1;
  while (sent && ((n = read(fd, some, sizeof some)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) fwrite(some, 1, (size_t)n, out);
  fclose(out);
  return answer;
}

int lb_serve_ask(const char *path, const char *line, FILE *out, struct lb_error *err) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t size = 0;
  if (strlen(line) >= LINE_BYTES || strchr(line, '\n'))
    return lb_refuse(err, "expected one line of less than %d bytes", LINE_BYTES), LB_EXIT_USAGE;
  if (strlen(path) >= sizeof address.sun_path)
    return lb_refuse(err, "%s: too long for the path of a socket", path), LB_EXIT_FAILURE;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code = LB_EXIT_FAILURE;
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    lb_refuse(err, "nobody serves at %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return code;
  }
  char *answer = exchange(fd, line, &size);
  size_t told = answer ? strlen(answer) : 0; /* up to the NUL before the code */
  if (told > 0) fwrite(answer, 1, told, out);
  if (told + 1 < size) code = answer[told + 1] - '0', lb_refuse(err, "%s", answer + told + 2);
  else lb_refuse(err, "the `serve` at %s has ended", path);
  free(answer);
  close(fd);
  return code;
}
