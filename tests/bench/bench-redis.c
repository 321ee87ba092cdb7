/* SPDX-License-Identifier: MIT
 *
 * What the Redis protocols cost above the wire: pairs of acquire and release per second on keys of their own, by 1
 * and by 16 processes, beside what redis-benchmark reaches with as many connections for the same two commands. Not a
 * test. The work is done by a child; its parent removes the folder of the servers, however the child ends.
 *   bench-redis [SECONDS]
 */
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/redis_fanout.h"
#include "client/env.h"
#include "base/files.h"
#include "redis_server.h"

#define NODES 5
#define CLIENTS_MAX 64

extern const struct lb_protocol lb_redis_token, lb_redlock;

static struct redis_server server[NODES];
static struct lb_endpoint endpoint[NODES];
static double seconds = 2;

static uint64_t count_pairs(const struct lb_protocol *protocol, size_t nodes, unsigned client) {
  struct lb_process_env env;
  struct lb_session *session = calloc(1, protocol->session_size);
  struct lb_target target = {.topology = "bench", .endpoints = endpoint, .count = nodes};
  union lb_value options[REDLOCK_OPTION_COUNT] = {{0}};
  for (size_t i = 0; protocol->options[i].name; i++) {
    const struct lb_option *o = &protocol->options[i];
    if (o->type == LB_OPT_REAL) options[i].f = o->def;
    else if (o->type == LB_OPT_BOOL) options[i].b = o->def != 0;
    else options[i].i = (int64_t)o->def;
  }
  if (protocol == &lb_redlock) options[REDLOCK_NODE_TIMEOUT].i = 1000;
  char key[32];
  uint64_t pairs = 0;
  lb_env_init(&env, client + 1);
  struct lb_config config = {.env = &env.base,
                             .target = &target,
                             .options = options,
                             .ttl_ms = 10000,
                             .client = "bench",
                             .protocol = protocol,
                             .prefix = "bench"};
  lb_ns end = lb_now(&env.base) + (lb_ns)(seconds * 1e9);
  snprintf(key, sizeof key, "bench-%u", client);
  if (!session || protocol->open(session, &config, end)) errx(1, "open: %s", env.base.err);
  for (;; pairs++) {
    struct lb_grant grant = LB_GRANT_INIT;
    lb_ns deadline = lb_now(&env.base) + LB_NS_PER_S;
    if (deadline >= end + LB_NS_PER_S) break;
    int rc = protocol->try_acquire(session, &(struct lb_lock){key, 10000}, &grant, deadline);
    if (!rc) rc = protocol->release(session, &(struct lb_lock){key, 10000}, &grant, deadline);
    if (rc) errx(1, "%s: result %d, %s", protocol->name, rc, env.base.err);
  }
  protocol->close(session);
  free(session);
  return pairs;
}

/* fork(); the child dies with its parent. */
static pid_t fork_mortal(void) {
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) err(1, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
  }
  return pid;
}

typedef uint64_t (*count_fn)(const struct lb_protocol *protocol, size_t nodes, unsigned client);

static double per_second(count_fn count, const struct lb_protocol *protocol, size_t nodes, unsigned clients) {
  uint64_t *pairs = mmap(NULL, CLIENTS_MAX * sizeof *pairs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t pid[CLIENTS_MAX];
  uint64_t sum = 0;
  if (pairs == MAP_FAILED) err(1, "mmap");
  for (unsigned i = 0; i < clients; i++)
    if ((pid[i] = fork_mortal()) == 0) {
      pairs[i] = count(protocol, nodes, i);
      _exit(0);
    }
  for (unsigned i = 0; i < clients; i++) {
    int status = 0;
    if (waitpid(pid[i], &status, 0) != pid[i] || status) errx(1, "a client failed");
    sum += pairs[i];
  }
  munmap(pairs, CLIENTS_MAX * sizeof *pairs);
  return (double)sum / seconds;
}

/* The same pair by blocking hiredis without any deadline. */
static uint64_t count_plain(const struct lb_protocol *protocol, size_t nodes, unsigned client) {
  (void)protocol, (void)nodes;
  redisContext *redis = redisConnect("127.0.0.1", server[0].port);
  struct lb_process_env env;
  uint64_t pairs = 0;
  lb_env_init(&env, client + 1);
  lb_ns end = lb_now(&env.base) + (lb_ns)(seconds * 1e9);
  for (; lb_now(&env.base) < end; pairs++) {
    struct lb_grant grant = LB_GRANT_INIT;
    redis_new_token(&env.base, &grant);
    redisReply *reply = redisCommand(redis, "SET bench-%u %s NX PX 10000", client, grant.token);
    freeReplyObject(reply);
    reply = redisCommand(redis, "EVALSHA %s 1 bench-%u %s", redis_delete_if_mine.sha1, client, grant.token);
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) errx(1, "plain release");
    freeReplyObject(reply);
  }
  redisFree(redis);
  return pairs;
}

/* Requests per second of one command by redis-benchmark. */
static double floor_of(unsigned clients, const char *command) {
  char line[512] = "";
  double rps = 0;
  snprintf(line, sizeof line, "redis-benchmark -p %u -c %u -n %.0f -r 1000000 --csv %s 2>/dev/null", server[0].port,
           clients, 50000 * seconds, command);
  FILE *pipe = popen(line, "r");
  while (pipe && fgets(line, sizeof line, pipe)) sscanf(line, "\"%*[^\"]\",\"%lf\"", &rps);
  if (!pipe || pclose(pipe) || rps <= 0) errx(1, "redis-benchmark failed");
  return rps;
}

static void load_script(void) {
  redisContext *redis = redisConnect("127.0.0.1", server[0].port);
  redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", redis_delete_if_mine.text);
  if (!reply || reply->type != REDIS_REPLY_STRING) errx(1, "script load");
  freeReplyObject(reply);
  redisFree(redis);
}

static void compare(unsigned clients) {
  char release[160];
  snprintf(release, sizeof release, "EVALSHA %s 1 key:__rand_int__ 0123456789012345678901234567890123456789",
           redis_delete_if_mine.sha1);
  double plain = per_second(count_plain, NULL, 1, clients);
  double ours = per_second(count_pairs, &lb_redis_token, 1, clients);
  double set = floor_of(clients, "SET key:__rand_int__ 0123456789012345678901234567890123456789 NX PX 10000");
  double eval = floor_of(clients, release), wire = 1 / (1 / set + 1 / eval);
  double quorum = per_second(count_pairs, &lb_redlock, NODES, clients);
  printf("%2u clients: redis-token %.0f pairs/s = %.2f of redis-benchmark's %.0f, %.2f of plain hiredis's %.0f; "
         "redlock %.0f\n",
         clients, ours, ours / wire, wire, ours / plain, plain, quorum);
}

static void compare_all(const char *dir) {
  for (size_t i = 0; i < NODES; i++) {
    redis_server_start(&server[i], dir, NULL);
    endpoint[i] = (struct lb_endpoint){"redis", "127.0.0.1", server[i].port};
  }
  load_script();
  for (int repeat = 0; repeat < 3; repeat++) {
    compare(1);
    compare(16);
  }
  for (size_t i = 0; i < NODES; i++) redis_server_kill(&server[i]);
}

/* Waits for the end of the worker, which a signal brings about at once; the exit status to end with. */
static int await_end(pid_t worker, const sigset_t *signals) {
  int status = 0, by = 0;
  while (waitpid(worker, &status, WNOHANG) == 0) {
    int sig = sigwaitinfo(signals, NULL);
    if (sig < 0 || sig == SIGCHLD) continue;
    by = sig;
    kill(worker, SIGKILL);
  }
  if (by) return 128 + by;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
  static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGCHLD};
  char dir[4096];
  const char *tmp = getenv("TMPDIR");
  sigset_t signals, before;
  if (!redis_server_installed()) return 77;
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1) seconds = strtod(argv[1], NULL);
  if (!(seconds > 0)) errx(2, "usage: bench-redis [SECONDS]");
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(&signals, ends[i]);
  sigprocmask(SIG_BLOCK, &signals, &before);
  snprintf(dir, sizeof dir, "%s/lockbench-bench-redis-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(dir)) err(1, "%s", dir);
  pid_t worker = fork_mortal();
  if (worker == 0) {
    sigprocmask(SIG_SETMASK, &before, NULL);
    compare_all(dir);
    exit(0);
  }
  int code = await_end(worker, &signals);
  lb_remove_tree(dir);
  return code;
}
