/* SPDX-License-Identifier: MIT
 *
 * How the statements are run. The tool reads results from a pipe; at its other end is the controller of one system, in
 * a sandbox: it starts the servers, then one process after the other, one per statement, and judges how that process
 * ended. What a protocol does to its process cannot reach further: results come from the controller, and its own
 * process is killed with everything it started.
 */
#include "conform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform_calls.h"
#include "conform_process.h"
#include "backends/registry.h"
#include "base/files.h"
#include "base/need.h"
#include "base/process.h"
#include "network/sandbox.h"
#include "servers/stand.h"

/* After LATE_MAX statements that hung the rest would only hang as well: each costs its whole limit. */
enum { RESTART_S = 20, LIMIT_MS = 30000, LATE_MAX = 3, NAP_MS = 2 };

struct message { /* through the pipe */
  bool last;     /* what follows is how it ended, not a result */
  int result;
  struct lb_error err;
  struct lb_conform_result statement;
};

/* All that the process of the servers knows. Statements inherit it, but only its shared memory comes back from them. */
struct controller {
  const struct lb_conform_plan *plan;
  /* Every statement gets a copy of it, by fork: what one does to its sessions, the next one does not see. */
  struct lb_conform conform;
  struct lb_process_env env;
  struct lb_stand stand;
  char output[LB_STAND_PATH + 20];
  int64_t limit_ms;
  int late; /* statements that did not end in time */
  int out;  /* of the pipe */
};

/* ---- the set-up ------------------------------------------------------------------------------ */

/* Once for all statements. They use keys of their own, so that none is in the way of another. Data is in memory unless
 * the topology insists on the disk: no statement is about a loss of power. */
static int start_servers(struct controller *k, struct lb_error *err) {
  k->stand.on_disk = lb_topology_on_disk(k->plan->topology, true);
  k->stand.ttl_ms = LB_CONFORM_TTL_MS;
  snprintf(k->stand.folder, sizeof k->stand.folder, "%s/scratch", k->plan->dir->partial);
  int r = lb_stand_up(&k->stand, k->plan->topology, &k->env.base, err);
  snprintf(k->output, sizeof k->output, "%s/output", k->stand.scratch);
  k->conform.target = k->stand.target;
  return r;
}

/* The table that protocols without servers share, and all that a statement leaves behind. Made
 * before the first fork, because only what is mapped then is shared. */
static void share_memory(struct controller *k) {
  struct lb_conform *c = &k->conform;
  c->shared = lb_need_shared(sizeof *c->shared);
  c->target.shared = c->shared->table;
  c->target.shared_size = sizeof c->shared->table;
}

/* ---- the process of a statement -------------------------------------------------------------- */

/* What a protocol prints goes into a file, so that it does not get between the lines of the tool.
 * It is shown if the statement does not hold. */
static void redirect(const char *output) {
  static char line[BUFSIZ]; /* without one, glibc 2.41 keeps a stdout that was written to as it was */
  int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int out = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(1);
  setvbuf(stdout, line, _IOLBF, sizeof line); /* what it printed before it hung or died is there */
}

/* Ends by exit(), so that a sanitizer that looks for leaks at the end gets to look. */
static _Noreturn void statement_main(struct controller *k, const struct lb_conform_statement *statement) {
  struct rlimit no_core = {0, 0};
  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_IGN); /* as in every client */
  close(k->out);
  redirect(k->output);
  lb_conform_prepare(&k->conform);
  statement->run(&k->conform);
  lb_conform_close(&k->conform);
  atomic_store(&k->conform.shared->state, LB_CONFORM_HOLDS);
  exit(0);
}

/* The controller does it for the statement: the servers are its children, and only it can wait for their end. */
static void kill_servers(struct controller *k) {
  size_t kept = atomic_load(&k->conform.shared->kept),
         count = kept ? k->plan->topology->data_count : k->stand.cluster.server_count;
  for (size_t i = kept; i < count; i++) lb_proc_kill(&k->stand.cluster.server[i].proc);
  atomic_store(&k->conform.shared->servers, LB_CONFORM_DEAD);
}

/* All at once, as when the power comes back. What they did not write is gone. */
static void restart_servers(struct controller *k) {
  size_t dead[LB_SERVERS_MAX], count = 0;
  for (size_t i = 0; i < k->stand.cluster.server_count; i++)
    if (!lb_proc_alive(&k->stand.cluster.server[i].proc)) dead[count++] = i;
  int r = lb_cluster_restart_many(&k->stand.cluster, dead, count, lb_clock_ns() + RESTART_S * LB_NS_PER_S);
  atomic_store(&k->conform.shared->servers, r == 0 ? LB_CONFORM_SERVE : LB_CONFORM_DEAD);
}

/* Waits for the end of the process, and kills what it leaves: it is a process group of its own. Meanwhile a statement
 * may ask for the death of the servers. False: it took too long and was killed. */
static bool await_end(struct controller *k, pid_t pid, int *ret_status) {
  lb_ns end = lb_clock_ns() + (lb_ns)k->limit_ms * LB_NS_PER_MS;
  pid_t got;
  while ((got = waitpid(pid, ret_status, WNOHANG)) == 0 && lb_clock_ns() < end) {
    int servers = atomic_load(&k->conform.shared->servers);
    if (servers == LB_CONFORM_SHALL_DIE) kill_servers(k);
    if (servers == LB_CONFORM_SHALL_RESTART) restart_servers(k);
    lb_clock_sleep_until(lb_clock_ns() + NAP_MS * LB_NS_PER_MS);
  }
  if (got != 0) {
    kill(-pid, SIGKILL);
    return true;
  }
  struct lb_proc late = {.pid = pid};
  lb_proc_kill(&late);
  return false;
}

/* One statement, from a clean slate in shared memory to its result. Only `keys` and the points that
 * were seen go on from one to the next. */
static void run_statement(struct controller *k, const struct lb_conform_statement *statement,
                          struct lb_conform_result *result) {
  struct lb_conform_shared *shared = k->conform.shared;
  int status = 0;
  snprintf(result->statement, sizeof result->statement, "%s", statement->text);
  if (k->late >= LATE_MAX) {
    snprintf(result->why, sizeof result->why, "not tried, because %d statements before it did not end", k->late);
    return;
  }
  atomic_store(&shared->state, LB_CONFORM_RUNS);
  atomic_store(&shared->hook, LB_HOOK_NONE);
  atomic_store(&shared->servers, LB_CONFORM_SERVE);
  atomic_store(&shared->kept, 0);
  atomic_store(&shared->told, false);
  shared->note[0] = '\0';
  atomic_store(&shared->inside, 0);
  atomic_store(&shared->latest, 0);
  atomic_store(&shared->arrived, 0);
  pid_t pid = lb_process_fork();
  if (pid == 0) statement_main(k, statement);
  if (pid < 0) {
    snprintf(result->why, sizeof result->why, "no process for it: %s", strerror(errno));
    return;
  }
  setpgid(pid, pid); /* both processes do, as either may be first */
  bool in_time = await_end(k, pid, &status);
  k->late += !in_time;
  lb_conform_judge(
      &(struct lb_conform_end){.shared = shared,
                               .output = k->output,
                               .limit_ms = k->limit_ms,
                               .in_time = in_time,
                               .status = status,
                               .flaw = lb_protocol_flaw(k->plan->protocol, k->plan->options, statement->text)},
      result);
}

/* ---- the statements ------------------------------------------------------------------------------ */

/* A protocol may draw its numbers on demand only: then its option `fence` decides, as it was set for this run. */
static bool fenced(const struct lb_conform *c) {
  if (has(c, LB_TRAIT_FENCED)) return true;
  const struct lb_option *fence = lb_option_find(c->protocol, "fence");
  return fence && c->options[fence - c->protocol->options].b;
}

const struct lb_conform_statement *lb_conform_statement_at(bool of_adapter, size_t index) {
  static const struct lb_conform_statement *const subjects[2][6] = {
      {lb_conform_of_lock, lb_conform_of_sharing, lb_conform_of_time, lb_conform_of_service, lb_conform_of_faults},
      {lb_conform_adapter_of_lock, lb_conform_adapter_of_ends}};
  for (const struct lb_conform_statement *const *subject = subjects[of_adapter]; *subject; subject++)
    for (const struct lb_conform_statement *s = *subject; s->text; s++)
      if (index-- == 0) return s;
  return NULL;
}

/* Follows from the table of the protocol alone: its traits, its hooks, its options, and whether there are servers. */
unsigned lb_conform_has(const struct lb_conform *c) {
  const struct lb_protocol *p = c->protocol;
  unsigned all = fenced(c) ? LB_NEEDS_FENCE : LB_NEEDS_NO_FENCE;
  all |= has_owner(c) ? LB_NEEDS_OWNER : LB_NEEDS_ANYBODY;
  if (!has(c, LB_TRAIT_UNSAFE)) all |= LB_NEEDS_SAFE | LB_NEEDS_MEMORY;
  if (p->holds) all |= LB_NEEDS_HOLDS | LB_NEEDS_MEMORY;
  if (has(c, LB_TRAIT_LEASED)) all |= LB_NEEDS_LEASE;
  if (has(c, LB_TRAIT_FIFO)) all |= LB_NEEDS_FIFO;
  all |= has(c, LB_TRAIT_REENTRANT) ? LB_NEEDS_DEPTH : LB_NEEDS_NO_DEPTH;
  if (has(c, LB_TRAIT_LEASED | LB_TRAIT_SESSION)) all |= LB_NEEDS_END;
  if (has(c, LB_TRAIT_SHARED)) all |= LB_NEEDS_SHARED;
  if (has(c, LB_TRAIT_PERMITS)) all |= LB_NEEDS_PERMITS;
  if (p->points && p->points[0]) all |= LB_NEEDS_POINTS;
  if (p->extend) all |= LB_NEEDS_EXTEND;
  if (lb_wakes(p, c->options)) all |= LB_NEEDS_WAIT;
  if (lb_proofs(p)->inspect) all |= LB_NEEDS_INSPECT;
  if (p->teardown) all |= LB_NEEDS_TEARDOWN;
  if (p->doubt) all |= LB_NEEDS_DOUBT;
  if (lb_proofs(p)->server) all |= LB_NEEDS_SERVER;
  if (lb_proofs(p)->seen) all |= LB_NEEDS_SEEN;
  if (c->topology->data_count > 0) all |= LB_NEEDS_SERVERS;
  return all;
}

/* ---- controller and tool --------------------------------------------------------------------- */

static bool write_all(int fd, const void *data, size_t size) {
  for (size_t sent = 0; sent < size;) {
    ssize_t n = write(fd, (const char *)data + sent, size - sent);
    if (n <= 0) return false;
    sent += (size_t)n;
  }
  return true;
}

static bool is_asked(const struct lb_conform_plan *plan, const struct lb_conform_statement *s, unsigned has) {
  bool named = !plan->only;
  for (const char *const *text = plan->only; text && *text; text++) named |= strcmp(*text, s->text) == 0;
  return named && (s->needs & ~has) == 0;
}

/* Runs in the sandbox. Whatever it returns, the caller takes down what was started. */
static int control(struct controller *k, struct lb_error *err) {
  const struct lb_conform_plan *plan = k->plan;
  struct lb_conform *c = &k->conform;
  *c = (struct lb_conform){.protocol = plan->protocol, .topology = plan->topology, .options = plan->options};
  snprintf(c->key_prefix, sizeof c->key_prefix, "conform-%08llx",
           (unsigned long long)(lb_clock_wall_ns() >> 10 & 0xffffffff));
  lb_process_forget_environ();
  lb_env_init(&k->env, 1);
  int r = start_servers(k, err);
  share_memory(k);
  if (r < 0) return r;
  /* A statement that this system cannot be asked is passed over without a result. */
  unsigned has = plan->adapter ? lb_conform_adapter_has(c) : lb_conform_has(c);
  const struct lb_conform_statement *s;
  for (size_t i = 0; (s = lb_conform_statement_at(plan->adapter, i)); i++) {
    struct message message = {0};
    bool asked = is_asked(plan, s, has);
    if (!asked && !(s->sets_up && plan->protocol->setup)) continue;
    run_statement(k, s, &message.statement);
    if (!asked && message.statement.holds) continue; /* what it made is for those that are asked */
    if (!write_all(k->out, &message, sizeof message)) return -EPIPE;
  }
  return 0;
}

/* The last message says how it all ended; without it the tool knows that this process has died. */
static _Noreturn void controller_main(const struct lb_conform_plan *plan, int out) {
  static struct controller k; /* too large for a stack */
  struct message end = {.last = true};
  k.plan = plan;
  k.limit_ms = plan->limit_ms ? plan->limit_ms : LIMIT_MS;
  k.out = out;
  end.result = control(&k, &end.err);
  lb_stand_down(&k.stand);
  write_all(out, &end, sizeof end);
  _exit(0);
}

int lb_conform_run(const struct lb_conform_plan *plan, void (*said)(void *data, const struct lb_conform_result *result),
                   void *data, struct lb_error *err) {
  struct message message = {0};
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) return lb_error(err, -EMFILE, "no pipe: %s", strerror(errno));
  fflush(NULL); /* or several processes would write it */
  bool elsewhere = plan->adapter && plan->topology->data_count == 0 &&
                   !plan->topology->members; /* as in a trial: its author knows where its servers are */
  pid_t pid = elsewhere ? lb_sandbox_fork_online(plan->dir->alive, plan->dir->guard_pipe)
                        : lb_sandbox_fork(plan->dir->alive, plan->dir->guard_pipe);
  if (pid == 0) controller_main(plan, pipe_fd[1]);
  close(pipe_fd[1]);
  while (pid > 0 && lb_files_read_exactly(pipe_fd[0], &message, sizeof message) && !message.last)
    said(data, &message.statement);
  close(pipe_fd[0]);
  if (pid < 0) return lb_error(err, pid, "no process: %s", strerror(-pid));
  /* The first process of the namespace: with it goes everything that is left in there. */
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  if (!message.last) return lb_error(err, -ECHILD, "the process of the servers died");
  *err = message.err;
  return message.result;
}
