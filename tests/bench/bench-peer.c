/* SPDX-License-Identifier: MIT
 *
 * zk-sequential beside its own option `recipe`, and beside Curator's InterProcessMutex: one hot lock, one ensemble of
 * three servers with the settings of measured trials, in turns, in the same minutes. Not a test. bench-peer.sh compiles
 * Curator's side and starts this.
 *
 * How: 8 and then 16 clients, each with a session of its own, ask for the lock all the time and release it at once. A
 * turn is a warm-up, until the rate has settled by the rule of trials (trial/workload.h), and a window that is
 * measured; then the next side has its turn. Who has the first turn changes from round to round. What is compared are
 * the turns of one round, with each other: the median of these ratios. The recipe tells what our release is worth,
 * which tells the next one that it is the first, and so spares it a list; the rest is the library and the machine.
 * Sessions, processes and the JVM stay, so that what is warm stays warm.
 *
 * What two cores do to it: servers and clients share them. The side whose turn it is not sleeps, but for the heartbeats
 * of its sessions. Ours are as many processes as clients, of three threads each, two of them the library's, and a
 * switch from one client to another is one between address spaces. Curator's are threads of one JVM, which shares
 * compiled code, and stops all its clients at once when it collects garbage. So the processes pay more for each
 * wake-up, and the JVM's compiler and collector run beside the servers' own. Neither side has cores for itself, as it
 * would have in the field; what is compared is the whole cost of a hand-off on this machine.
 *
 * Beside it stands the floor: a release is one deletion, so one commit. `alone` is how long that takes a client without
 * company, at each of the servers; `commit` how long it takes bystanders, one at each server, with locks of their own,
 * under the same load as the hand-offs of the same window; `release` how long it takes those that contend. Bystanders
 * come out of a sleep, those that contend do not, so the release is the stricter measure of the two; but ours is a
 * transaction of two operations, which takes longer than the deletion that bystanders and those that are alone do. So
 * the hand-off is put beside both, and what flatters least is hand-off / commit or / release, whichever is larger. A
 * hand-off needs the commit that deletes the holder's node, one event, and whatever the next holder asks.
 *
 * Usage: bench-peer [--windows N] [--seconds S] [--settle S] [--clients A,B] [-- COMMAND...]   (COMMAND runs Curator's
 *                                                                                              side; without it there
 *                                                                                              are
 * our two only. --settle: for how long a warm-up may last)
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interval.h"
#include "base/clock.h"
#include "base/files.h"
#include "client/env.h"
#include "peer/peer.h"
#include "servers/cluster.h"
#include "network/net.h"
#include "network/sandbox.h"
#include "servers/setting.h"
#include "trial/workload.h"

enum { TTL_MS = 10000, WINDOWS_MAX = 100, COUNTS_MAX = 8, SIDES = 3, ASK_S = 5, WARM_UP_TURNS = 4 };

static struct {
  size_t windows, counts, count[COUNTS_MAX];
  double seconds, settle_s;
  char **curator; /* NULL: only our side */
} plan = {.windows = 5, .counts = 2, .count = {8, 16}, .seconds = 3, .settle_s = 60};

static struct lb_process_env env;
static struct lb_net net;
static struct lb_cluster cluster;

/* ---- the ensemble -------------------------------------------------------------------------------------------- */

static void place_server(size_t i, const char *dir) {
  struct lb_server *s = &cluster.server[i];
  s->host = &net.host[i];
  s->port = lb_net_port(&net);
  s->extra_port[0] = lb_net_port(&net);
  s->extra_port[1] = lb_net_port(&net);
  snprintf(s->dir, sizeof s->dir, "%s/%s", dir, s->name);
  snprintf(s->log, sizeof s->log, "%s/%s.log", dir, s->name);
  if (lb_files_make_dirs(s->dir) < 0) err(1, "%s", s->dir);
}

static void start_servers(const char *dir, struct lb_target *ret) {
  struct lb_error text;
  const struct lb_topology *topology = lb_topology_find("zk-x3");
  lb_env_init(&env, 1);
  lb_cluster_init(&cluster, topology, &env.base);
  if (lb_net_up(&net, false, cluster.server_count, &text) < 0) errx(1, "no network: %s", text.text);
  cluster.cache_dir = dir;
  cluster.ttl_ms = TTL_MS;
  cluster.measured = cluster.durable = true;
  for (size_t i = 0; i < cluster.server_count; i++) place_server(i, dir);
  if (lb_cluster_start(&cluster, lb_clock_ns() + PEER_PATIENCE_S * LB_NS_PER_S) != 0) errx(1, "%s", cluster.err.text);
  lb_cluster_target(&cluster, ret);
  if (lb_topology_version(topology, text.text, sizeof text.text) == 0) printf("%s: %s\n", topology->name, text.text);
  char *differing = lb_setting_differing(topology, true, true);
  printf("servers differ from those that nobody has configured in:\n%s", differing ? differing : "?\n");
  free(differing);
}

static uint64_t commits(void) {
  uint64_t count;
  if (lb_cluster_commits(&cluster, lb_clock_ns() + ASK_S * LB_NS_PER_S, &count) != 0) errx(1, "%s", env.base.err);
  return count;
}

/* ---- a turn ------------------------------------------------------------------------------------------------- */

struct window {
  struct peer_figures figures;
  double commit_ms, commits_per_handoff, warm_up_s;
  double servers_cpu_ms, clients_cpu_ms; /* for each hand-off */
  bool settled;
};

static void work(struct peer_side *side, size_t first, size_t count) {
  if (strcmp(side->name, "Curator") == 0) peer_curator_work(side, first, count);
  else peer_ours_work(side, first, count);
}

static double servers_cpu_ms(void) {
  double sum = 0;
  for (size_t i = 0; i < cluster.server_count; i++) sum += peer_cpu_ms(cluster.server[i].proc.pid);
  return sum;
}

static double clients_cpu_ms(const struct peer_side *side) {
  double sum = 0;
  for (size_t i = 0; i < PEER_CLIENTS && side->process[i]; i++) sum += peer_cpu_ms(side->process[i]);
  return sum;
}

static bool settles(const struct peer_side *side, lb_ns begin) {
  static struct lb_settle settle;
  settle = (struct lb_settle){0};
  while ((double)settle.ticks * LB_SETTLE_TICK_MS < plan.settle_s * 1000) {
    lb_clock_sleep_until(begin + (settle.ticks + 1) * LB_SETTLE_TICK_MS * LB_NS_PER_MS);
    if (lb_settle_add(&settle, peer_cycles(side->log))) return true;
  }
  return false;
}

static struct peer_side bystanders;

/* `written`: by all of them, and by bystanders two for each of their cycles. */
static void per_handoff(struct window *w, uint64_t written, size_t beside, double servers_used, double clients_used) {
  double handoffs = (double)w->figures.handoffs;
  if (handoffs == 0) return;
  w->commits_per_handoff = ((double)written - 2 * (double)beside) / handoffs;
  w->servers_cpu_ms = servers_used / handoffs;
  w->clients_cpu_ms = clients_used / handoffs;
}

static struct window turn(struct peer_side *side, size_t first, size_t count, double seconds) {
  struct window w = {0};
  size_t beside;
  lb_ns begin = lb_clock_ns();
  work(side, first, count);
  if (count > 1) peer_ours_work(&bystanders, 0, cluster.data_count);
  w.settled = settles(side, begin);
  w.warm_up_s = (double)(lb_clock_ns() - begin) / 1e9;
  uint64_t before = commits();
  double servers_before = servers_cpu_ms(), clients_before = clients_cpu_ms(side);
  begin = lb_clock_ns();
  lb_clock_sleep_until(begin + (lb_ns)(seconds * 1e9));
  lb_ns end = lb_clock_ns();
  double servers_used = servers_cpu_ms() - servers_before, clients_used = clients_cpu_ms(side) - clients_before;
  uint64_t written = commits() - before;
  peer_rest(side);
  peer_rest(&bystanders);
  w.figures = peer_figures(side->log, begin, end);
  w.commit_ms = peer_release_ms(bystanders.log, begin, end, &beside);
  per_handoff(&w, written, beside, servers_used, clients_used);
  return w;
}

/* ---- what is told --------------------------------------------------------------------------------------------- */

static double alone(struct peer_side *ours) {
  double ms[LB_SERVERS_MAX];
  printf("alone, a deletion takes");
  for (size_t i = 0; i < cluster.data_count; i++) {
    ms[i] = turn(ours, i, 1, plan.seconds / 2).figures.release_ms;
    printf("%s %.2f ms at %s", i ? "," : "", ms[i], cluster.server[i].name);
  }
  double median = lb_interval_median(ms, cluster.data_count);
  printf(" (median of %zu servers %.2f ms; %s leads)\n", cluster.data_count, median,
         cluster.server[lb_cluster_primary(&cluster, lb_clock_ns() + ASK_S * LB_NS_PER_S)].name);
  return median;
}

static void tell_window(size_t clients, size_t number, const struct peer_side *side, const struct window *w) {
  printf(
      "%2zu clients, window %zu: %-13s %4.0f hand-offs/s of %4.0f grants/s, hand-off %.2f ms, release %.2f ms, commit %.2f ms, hand-off / release "
      "%.2f, hand-off / commit %.2f, %.3f commits per hand-off, CPU %.2f ms of servers and %.2f ms of clients, %s after %.1f s\n",
      clients, number, side->name, w->figures.handoffs_per_s, w->figures.grants_per_s, w->figures.handoff_ms,
      w->figures.release_ms, w->commit_ms, w->figures.handoff_ms / w->figures.release_ms,
      w->figures.handoff_ms / w->commit_ms, w->commits_per_handoff, w->servers_cpu_ms, w->clients_cpu_ms,
      w->settled ? "settled" : "NOT settled", w->warm_up_s);
}

static double median_of(const struct window *w, double (*value)(const struct window *w)) {
  double values[WINDOWS_MAX];
  for (size_t i = 0; i < plan.windows; i++) values[i] = value(&w[i]);
  return lb_interval_median(values, plan.windows);
}

static double rate(const struct window *w) { return w->figures.handoffs_per_s; }
static double handoff(const struct window *w) { return w->figures.handoff_ms; }
static double release(const struct window *w) { return w->figures.release_ms; }
static double commit(const struct window *w) { return w->commit_ms; }
static double servers(const struct window *w) { return w->servers_cpu_ms; }
static double clients_of(const struct window *w) { return w->clients_cpu_ms; }
static double per_release(const struct window *w) { return w->figures.handoff_ms / w->figures.release_ms; }
static double per_commit(const struct window *w) { return w->figures.handoff_ms / w->commit_ms; }
/* A cycle is a create and a deletion. The rest is what waiters wrote to know that they live. */
static double waiters(const struct window *w) {
  return w->commits_per_handoff - 2 * w->figures.grants_per_s / w->figures.handoffs_per_s;
}

static void tell_side(size_t clients, const struct peer_side *side, const struct window *w, double alone_ms) {
  printf(
      "%2zu clients, medians: %-13s %.0f hand-offs/s, hand-off %.2f ms, release %.2f ms, commit %.2f ms under the same load (alone %.2f ms), "
      "hand-off / release %.2f, hand-off / commit %.2f, writes per hand-off beside create and delete %.3f, CPU %.2f ms of servers and %.2f ms of clients\n",
      clients, side->name, median_of(w, rate), median_of(w, handoff), median_of(w, release), median_of(w, commit),
      alone_ms, median_of(w, per_release), median_of(w, per_commit), median_of(w, waiters), median_of(w, servers),
      median_of(w, clients_of));
}

static void tell_ratio(size_t clients, const struct peer_side *other, const struct window *ours,
                       const struct window *theirs) {
  double pair[WINDOWS_MAX];
  for (size_t i = 0; i < plan.windows; i++) pair[i] = rate(&ours[i]) / rate(&theirs[i]);
  double median = lb_interval_median(pair, plan.windows); /* sorts them */
  printf("%2zu clients, hand-offs per second, zk-sequential / %s: %.2f, the median of %zu pairs:", clients, other->name,
         median, plan.windows);
  for (size_t i = 0; i < plan.windows; i++) printf(" %.2f", pair[i]);
  printf("\n");
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

static void compare(struct peer_side *side, size_t sides, size_t clients, double alone_ms) {
  static struct window w[SIDES][WINDOWS_MAX];
  for (size_t i = 0; i < plan.windows; i++)
    for (size_t turns = 0; turns < sides; turns++) {
      size_t k = (i + turns) % sides;
      w[k][i] = turn(&side[k], 0, clients, plan.seconds);
      tell_window(clients, i + 1, &side[k], &w[k][i]);
    }
  for (size_t k = 0; k < sides; k++) tell_side(clients, &side[k], w[k], alone_ms);
  for (size_t k = 1; k < sides; k++) tell_ratio(clients, &side[k], w[0], w[k]);
}

static void compare_all(const char *dir) {
  static struct peer_side side[SIDES];
  struct lb_target target;
  size_t sides = plan.curator ? SIDES : SIDES - 1;
  start_servers(dir, &target);
  struct peer_place place = {.target = &target, .ttl_ms = TTL_MS, .prefix = "peer"};
  peer_ours_open(&side[0], &place, false);
  peer_ours_open(&side[1], &place, true);
  peer_bystanders_open(&bystanders, &place, cluster.data_count);
  if (plan.curator) peer_curator_open(&side[2], &place, plan.curator);
  for (size_t i = 0; i < WARM_UP_TURNS * sides; i++)
    turn(&side[i % sides], 0, PEER_CLIENTS, plan.seconds); /* compilers take their time */
  double alone_ms = alone(&side[1]);
  for (size_t i = 0; i < plan.counts; i++) compare(side, sides, plan.count[i], alone_ms);
  lb_cluster_stop(&cluster);
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

static void read_counts(const char *text) {
  for (plan.counts = 0; text && plan.counts < COUNTS_MAX; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL) {
    size_t count = strtoul(text, NULL, 10);
    if (count < 2 || count > PEER_CLIENTS) errx(2, "--clients takes numbers from 2 to %d", PEER_CLIENTS);
    plan.count[plan.counts++] = count;
  }
}

static void read_arguments(char **argv) {
  for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
    bool more = argv[1];
    if (more && strcmp(*argv, "--windows") == 0) plan.windows = strtoul(*++argv, NULL, 10);
    else if (more && strcmp(*argv, "--seconds") == 0) plan.seconds = strtod(*++argv, NULL);
    else if (more && strcmp(*argv, "--settle") == 0) plan.settle_s = strtod(*++argv, NULL);
    else if (more && strcmp(*argv, "--clients") == 0) read_counts(*++argv);
    else errx(2, "usage: bench-peer [--windows N] [--seconds S] [--settle S] [--clients A,B] [-- COMMAND...]");
  }
  plan.curator = *argv && argv[1] ? argv + 1 : NULL;
  if (plan.windows < 1 || plan.windows > WINDOWS_MAX || !(plan.seconds > 0))
    errx(2, "1 to %d windows, and seconds above 0", WINDOWS_MAX);
}

int main(int argc, char **argv) {
  static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGCHLD};
  const char *tmp = getenv("TMPDIR");
  sigset_t signals, before;
  char dir[200];
  (void)argc;
  read_arguments(argv);
  if (lb_topology_missing(lb_topology_find("zk-x3"))) return 77;
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaddset(&signals, ends[i]);
  sigprocmask(SIG_BLOCK, &signals, &before);
  snprintf(dir, sizeof dir, "%s/lockbench-peer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(dir) || chmod(dir, 0755) < 0) err(1, "%s", dir);
  pid_t worker = lb_sandbox_fork(-1, -1);
  if (worker < 0) errx(1, "no process: %s", strerror(-worker));
  if (worker == 0) {
    sigprocmask(SIG_SETMASK, &before, NULL);
    compare_all(dir);
    exit(0);
  }
  int code = await_end(worker, &signals);
  lb_files_remove_tree(dir);
  return code;
}
