/* SPDX-License-Identifier: MIT
 *
 * How many events a second are sorted, judged, measured, written and read, on a generated history: 16 clients, 64 keys,
 * six events a hold. Counts processor time, so that a busy machine does not change the answer much. Not a test. With FILE
 * that history is written there instead, as it is collected: one client after the other.
 * Usage: bench-check [HOLDS [FILE]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/error.h"
#include "check/check.h"
#include "base/rng.h"
#include "history/history_load.h"
#include "check/stats.h"

enum { CLIENTS = 16, KEYS = 64 };

/* As the harness collects it: the log of each client, one after the other. */
static void generate(struct lb_history *h, uint64_t holds) {
  static const uint16_t kinds[] = {LB_EV_ACQUIRE, LB_EV_GRANTED, LB_EV_READ,
                                   LB_EV_WRITE,   LB_EV_RELEASE, LB_EV_RELEASED};
  char name[32];
  for (int i = 0; i < CLIENTS; i++) snprintf(name, sizeof name, "client-%d", i + 1), lb_names_add(&h->clients, name);
  for (int i = 0; i < KEYS; i++) snprintf(name, sizeof name, "lock-%d", i + 1), lb_names_add(&h->keys, name);
  struct lb_rng rng = lb_rng_fork(1, 0, 0);
  for (uint32_t client = 0; client < CLIENTS; client++)
    for (uint64_t i = client; i < holds; i += CLIENTS) { /* hold i is in the i-th slice of 1000 ns, so none overlap */
      uint32_t key = (uint32_t)lb_rng_below(&rng, KEYS);
      for (unsigned step = 0; step < sizeof kinds / sizeof *kinds; step++) {
        struct lb_event e = {.t = i * 1000 + step * 100,
                             .s = i * 6 + step + 1,
                             .client = client,
                             .key = key,
                             .fact = LB_NO_NAME,
                             .kind = kinds[step]};
        if (e.kind == LB_EV_READ || e.kind == LB_EV_WRITE)
          e.flags = LB_EVF_VALUE, e.value = i + (e.kind == LB_EV_WRITE);
        if (e.kind == LB_EV_GRANTED) e.flags = LB_EVF_FENCE, e.fence = i + 1;
        lb_history_add(h, &e);
      }
    }
}

static double cpu_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static double report(const char *what, size_t events, double since) {
  double seconds = cpu_s() - since;
  printf("%-13s %6.2f M events/s  (%.3f s)\n", what, (double)events / 1e6 / seconds, seconds);
  return cpu_s();
}

int main(int argc, char **argv) {
  static struct lb_stats stats;
  struct lb_history h = {0}, again;
  struct lb_check check;
  struct lb_error err;
  char *data = NULL;
  size_t size = 0;
  generate(&h, argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000);
  if (argc > 2) {
    FILE *out = fopen(argv[2], "we");
    int r = out ? lb_history_write(&h, out) : -1;
    return out && fclose(out) == 0 && r == 0 ? 0 : 1;
  }
  printf("%zu events\n", h.count);
  double t = cpu_s();
  lb_history_sort(&h);
  t = report("sort", h.count, t);
  lb_check_history(&h, &check);
  t = report("check", h.count, t);
  lb_stats_history(&h, &stats);
  report("stats", h.count, t);
  for (int form = 0; form < 2; form++) {
    FILE *out = open_memstream(&data, &size);
    t = cpu_s();
    if (!out || (form ? lb_history_write_json : lb_history_write)(&h, out) < 0) return 1;
    report(form ? "write JSON" : "write binary", h.count, t);
    fclose(out);
    t = cpu_s();
    if (lb_history_parse("memory", data, size, &again, &err) < 0) return 1;
    report(form ? "read JSON" : "read binary", h.count, t);
    lb_history_clear(&again);
    free(data);
  }
  printf("%llu grants, %llu hand-offs, %s\n", (unsigned long long)check.grants, (unsigned long long)check.handoffs,
         check.double_holds || check.dirty_accesses ? "violated" : "clean");
  lb_check_clear(&check);
  lb_stats_clear(&stats);
  lb_history_clear(&h);
  return 0;
}
