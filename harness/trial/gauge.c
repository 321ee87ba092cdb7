/* SPDX-License-Identifier: MIT
 *
 * What the processors did while a load was measured, and how much memory the clients then had; with that the facts for
 * the self-checks (check/self_check.h).
 */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"
#include "check/self_check.h"
#include "judge.h"
#include "workload.h"
#include "gauge.h"

/* ---- processor time ---- */

struct process {
  int pid, group;
  long threads;
  uint64_t children_ns; /* of those that have ended */
};

/* The second field may have blanks and brackets. */
static bool read_process(const char *pid, struct process *ret) {
  char path[300], text[1000];
  unsigned long children[2];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  FILE *in = fopen(path, "re");
  size_t length = in ? fread(text, 1, sizeof text - 1, in) : 0;
  if (in) fclose(in);
  text[length] = '\0';
  const char *at = strrchr(text, ')');
  ret->pid = atoi(pid);
  if (!at || sscanf(at, ") %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lu %lu %*d %*d %ld", &ret->group,
                    &children[0], &children[1], &ret->threads) != 4)
    return false;
  ret->children_ns = (children[0] + children[1]) * (LB_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
  return true;
}

/* A client is a process, perhaps with a group of its own for the programs that it starts. */
static bool is_client(const struct lb_stage *s, const struct process *p) {
  for (size_t i = 0; i < s->client_count; i++) {
    int pid = atomic_load(&s->memory->state[i].pid);
    if (pid > 0 && (pid == p->pid || pid == p->group)) return true;
  }
  return false;
}

/* The CPU time of all clients together; -1 = unknown. */
static double clients_cpu_s(const struct lb_stage *s, long *ret_threads) {
  struct process process;
  uint64_t sum = 0;
  DIR *proc = opendir("/proc");
  *ret_threads = 0;
  if (!proc) return -1;
  for (struct dirent *d; (d = readdir(proc));) {
    if (d->d_name[0] < '1' || d->d_name[0] > '9' || !read_process(d->d_name, &process) || !is_client(s, &process))
      continue;
    sum += lb_clock_cpu_ns(process.pid) + process.children_ns;
    *ret_threads += process.threads;
  }
  closedir(proc);
  return *ret_threads ? (double)sum / 1e9 : -1;
}

/* ---- memory ---- */

/* Anonymous memory: heaps and stacks. What a fork shares with its parent counts by its share, so a process for each
 * client is not charged for the controller's pages; the shared log of events is none of it. -1 = the kernel does not
 * say. */
static int64_t memory_kb(const char *pid) {
  char path[300], line[200];
  long long kb = -1;
  snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
  FILE *in = fopen(path, "re");
  if (!in) return -1;
  while (kb < 0 && fgets(line, sizeof line, in)) (void)!sscanf(line, "Pss_Anon: %lld kB", &kb);
  fclose(in);
  return kb;
}

void lb_gauge_memory(struct lb_stage *s) {
  struct process process;
  int64_t sum = 0, seen = 0;
  DIR *proc = opendir("/proc");
  if (!proc) return;
  for (struct dirent *d; sum >= 0 && (d = readdir(proc));) {
    if (d->d_name[0] < '1' || d->d_name[0] > '9' || !read_process(d->d_name, &process) || !is_client(s, &process))
      continue;
    int64_t kb = memory_kb(d->d_name);
    sum = kb < 0 ? -1 : sum + kb;
    seen++;
  }
  closedir(proc);
  s->gauge.kb = seen ? sum : -1;
}

/* ---- the window ---- */

/* No more than they have threads. */
static double cores_for(long threads) {
  cpu_set_t set;
  long cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return (double)(threads < cores ? threads : cores);
}

void lb_gauge_begin(struct lb_stage *s) {
  long threads;
  s->gauge = (struct lb_gauge){.steal = -1, .kb = -1};
  if (!lb_machine_steal(&s->gauge.steal_ticks, &s->gauge.all_ticks)) s->gauge.all_ticks = 0;
  s->gauge.cpu_s = clients_cpu_s(s, &threads);
  s->gauge.cores = cores_for(threads);
}

void lb_gauge_end(struct lb_stage *s) {
  struct lb_gauge *g = &s->gauge;
  long threads;
  unsigned long long steal, all;
  double cpu_s = clients_cpu_s(s, &threads);
  g->cpu_s = g->cpu_s >= 0 && cpu_s >= g->cpu_s ? cpu_s - g->cpu_s : -1;
  if (g->all_ticks && lb_machine_steal(&steal, &all) && all > g->all_ticks && steal >= g->steal_ticks)
    g->steal = (double)(steal - g->steal_ticks) / (double)(all - g->all_ticks);
}

/* ---- the facts ---- */

static double history_s(const struct lb_history *h) {
  return h->count ? (double)(h->events[h->count - 1].t - h->events[0].t) / 1e9 : 0;
}

static void facts_of(const struct lb_stage *s, const struct lb_stats *stats, const struct lb_outcome *out,
                     struct lb_self_facts *ret) {
  const struct lb_scenario *scenario = s->plan->scenario;
  *ret = (struct lb_self_facts){.seconds = stats->seconds,
                                .clients = (int)s->client_count,
                                .unanswered = (int)stats->unanswered,
                                .has_servers = s->cluster.data_count > 0,
                                .asked_per_s = scenario->arrivals == LB_ARRIVE_CLOSED ? 0 : scenario->rate_per_s,
                                .think_s = scenario->think_ms / 1e3,
                                .inside = ret->inside,
                                .latency_s = lb_self_latency_s(stats),
                                .longest_s = lb_self_longest_s(stats),
                                .history_s = history_s(&s->history),
                                .cpu_s = s->gauge.cpu_s,
                                .cores = s->gauge.cores,
                                .steal = s->gauge.steal,
                                .grants = stats->grants,
                                .releases = stats->release.count,
                                .requests = out->requests,
                                .commits = out->commits,
                                .writes = s->plan->protocol->traits & LB_TRAIT_LEASED,
                                .counted_back = s->counted_back};
}

void lb_gauge_judge(const struct lb_stage *s, const struct lb_stats *stats, struct lb_outcome *out) {
  struct lb_self_facts facts;
  struct lb_self_verdict verdict;
  if (stats->grants == 0) return; /* there is no speed to speak of */
  lb_inside_measure(&s->history, stats, &facts.inside);
  facts_of(s, stats, out, &facts);
  lb_self_check(&facts, &verdict);
  out->speed_void = verdict.failed != 0;
  out->saturated = verdict.saturated;
  out->starts_per_s = stats->seconds > 0 ? (double)facts.inside.starts / stats->seconds : -1;
  out->clients_busy = verdict.busy;
  out->clients_by_latency = verdict.by_latency;
  out->client_cpu = facts.cpu_s >= 0 ? facts.cpu_s / (facts.cores * facts.seconds) : -1;
  out->client_kb = s->gauge.kb;
  out->steal = facts.steal;
  size_t said = strlen(out->why);
  if (out->speed_void && (!said || out->verdict == LB_SAFE))
    snprintf(out->why + said, sizeof out->why - said, "%sno speed: %s", said ? "; " : "", verdict.why);
}
