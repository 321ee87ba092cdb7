/* SPDX-License-Identifier: MIT
 *
 * What the clients of a side have written down, and its figures.
 */
#include "peer.h"

#include <err.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/interval.h"

struct cycle {
  size_t client;
  struct peer_record at;
};

void peer_log_make(struct peer_side *side) {
  side->log_fd = memfd_create("lockbench-peer", MFD_CLOEXEC);
  if (side->log_fd < 0 || ftruncate(side->log_fd, sizeof *side->log) < 0) err(1, "%s: no memory to share", side->name);
  side->log = mmap(NULL, sizeof *side->log, PROT_READ | PROT_WRITE, MAP_SHARED, side->log_fd, 0);
  if (side->log == MAP_FAILED) err(1, "%s: no memory to share", side->name);
}

void peer_await(struct peer_side *side, size_t count) {
  while (count > 0) {
    char dots[PEER_CLIENTS];
    struct pollfd p = {.fd = side->answer, .events = POLLIN};
    if (poll(&p, 1, PEER_PATIENCE_S * 1000) <= 0) errx(1, "%s: no answer within %d s", side->name, PEER_PATIENCE_S);
    ssize_t n = read(side->answer, dots, count < sizeof dots ? count : sizeof dots);
    if (n <= 0) errx(1, "%s: its clients have ended", side->name);
    count -= (size_t)n;
  }
}

void peer_rest(struct peer_side *side) {
  atomic_store(&side->log->stop, 1);
  peer_await(side, side->at_work);
  side->at_work = 0;
}

uint64_t peer_cycles(const struct peer_log *log) {
  uint64_t sum = 0;
  for (size_t i = 0; i < PEER_CLIENTS; i++) sum += atomic_load(&log->client[i].count);
  return sum;
}

static int by_grant(const void *a, const void *b) {
  const struct cycle *x = a, *y = b;
  return (x->at.granted > y->at.granted) - (x->at.granted < y->at.granted);
}

/* malloc'd, in the order of the grants. */
static struct cycle *cycles_of(const struct peer_log *log, size_t *ret_count) {
  struct cycle *cycle = malloc((peer_cycles(log) + 1) * sizeof *cycle);
  size_t count = 0;
  if (!cycle) err(1, "figures");
  for (size_t i = 0; i < PEER_CLIENTS; i++)
    for (uint64_t k = 0, n = atomic_load(&log->client[i].count); k < n; k++)
      cycle[count++] = (struct cycle){.client = i, .at = log->client[i].record[k]};
  qsort(cycle, count, sizeof *cycle, by_grant);
  *ret_count = count;
  return cycle;
}

double peer_release_ms(const struct peer_log *log, lb_ns begin, lb_ns end, size_t *ret_count) {
  size_t count, releases = 0;
  struct cycle *cycle = cycles_of(log, &count);
  double *ms = malloc((count + 1) * sizeof *ms);
  if (!ms) err(1, "figures");
  for (size_t i = 0; i < count; i++)
    if (cycle[i].at.granted >= begin && cycle[i].at.granted < end)
      ms[releases++] = (double)(cycle[i].at.released - cycle[i].at.release) / 1e6;
  double median = releases ? lb_interval_median(ms, releases) : 0;
  *ret_count = releases;
  free(cycle);
  free(ms);
  return median;
}

struct peer_figures peer_figures(const struct peer_log *log, lb_ns begin, lb_ns end) {
  struct peer_figures f = {0};
  size_t count, grants;
  struct cycle *cycle = cycles_of(log, &count);
  double *handoff = malloc((count + 1) * sizeof *handoff), seconds = (double)(end - begin) / 1e9;
  if (!handoff) err(1, "figures");
  for (size_t i = 1; i < count; i++) {
    lb_ns granted = cycle[i].at.granted, release = cycle[i - 1].at.release;
    if (granted < release)
      errx(1, "clients %zu and %zu held the lock at once", cycle[i - 1].client + 1, cycle[i].client + 1);
    if (granted >= begin && granted < end && cycle[i].client != cycle[i - 1].client)
      handoff[f.handoffs++] = (double)(granted - release) / 1e6;
  }
  f.release_ms = peer_release_ms(log, begin, end, &grants);
  f.grants_per_s = (double)grants / seconds;
  f.handoffs_per_s = (double)f.handoffs / seconds;
  if (f.handoffs) f.handoff_ms = lb_interval_median(handoff, f.handoffs);
  free(cycle);
  free(handoff);
  return f;
}
