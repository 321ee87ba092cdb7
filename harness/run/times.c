/* SPDX-License-Identifier: MIT
 *
 * The table is small, and a trial that is not in it takes about as long as what is most like it.
 */
#include "times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bootstrap.h"
#include "base/csv.h"

/* What nobody has measured: a timeline waits for leases and failovers for some seconds, a load needs a little beside what it is told. */
#define TIMELINE_S 5
#define BESIDE_S 0.5

enum column { SCENARIO, SYSTEM, CLIENTS, ASKED, START, REST, COLUMN_COUNT };
static const char *const columns[COLUMN_COUNT] = {"scenario", "system", "clients", "asked_s", "start_s", "rest_s"};

static int add(struct lb_times *times, char *const field[], const int at[]) {
  struct lb_times_row *grown = realloc(times->row, (times->count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  times->row = grown;
  struct lb_times_row *row = &grown[times->count++];
  *row = (struct lb_times_row){.clients = (int)strtol(field[at[CLIENTS]], NULL, 10),
                               .asked_s = strtod(field[at[ASKED]], NULL),
                               .start_s = strtod(field[at[START]], NULL),
                               .rest_s = strtod(field[at[REST]], NULL)};
  snprintf(row->scenario, sizeof row->scenario, "%s", field[at[SCENARIO]]);
  snprintf(row->system, sizeof row->system, "%s", field[at[SYSTEM]]);
  return 0;
}

int lb_times_read(const char *path, struct lb_times *ret, char *err, size_t err_size) {
  struct lb_csv csv;
  int at[COLUMN_COUNT], r = lb_csv_open(path, &csv, err, err_size);
  *ret = (struct lb_times){0};
  if (r < 0) return r;
  for (int i = 0; i < COLUMN_COUNT && r >= 0; i++) r = at[i] = lb_csv_column(&csv, columns[i], err, err_size);
  while (r >= 0 && (r = lb_csv_next(&csv, err, err_size)) > 0)
    if ((r = add(ret, csv.field, at)) < 0) snprintf(err, err_size, "out of memory");
  lb_csv_close(&csv);
  if (r < 0) lb_times_clear(ret);
  return r;
}

void lb_times_clear(struct lb_times *times) {
  free(times->row);
  *times = (struct lb_times){0};
}

/* ---- the nearest ----------------------------------------------------------------------------------------------------- */

static double asked_s(const struct lb_scenario *s) { return s->kind == LB_KIND_TIMELINE ? 0 : s->duration_s + s->warmup_s; }

static const char *topology_of(const char *system) {
  const char *at = strchr(system, '@');
  return at ? at + 1 : system;
}

/* How much a row is like the trial; 0 = it is of no use. */
static int likeness(const struct lb_times_row *row, const struct lb_trial_plan *plan) {
  bool topology = strcmp(topology_of(row->system), plan->topology->name) == 0;
  if ((row->asked_s > 0) != (plan->scenario->kind != LB_KIND_TIMELINE)) return 0;
  bool name = strcmp(row->scenario, plan->scenario->name) == 0, base = strcmp(row->scenario, plan->scenario->base) == 0;
  if (!name && !base) return topology ? 1 : 0;
  return 2 + (topology ? 8 : 0) + (strcmp(row->system, plan->system) == 0 ? 4 : 0) + (row->clients == plan->clients ? 2 : 0) + name;
}

/* A load that is told to take longer takes so much longer; in a campaign there are more faults then, each of which takes its time. */
static double rest_of(const struct lb_times_row *row, const struct lb_scenario *s) {
  if (s->kind == LB_KIND_TIMELINE) return row->rest_s;
  if (s->kind == LB_KIND_CAMPAIGN) return row->rest_s * asked_s(s) / row->asked_s;
  double s_more = row->rest_s + asked_s(s) - row->asked_s;
  return s_more > asked_s(s) ? s_more : asked_s(s);
}

static struct lb_took guess(const struct lb_trial_plan *plan) {
  const struct lb_scenario *s = plan->scenario;
  return (struct lb_took){.start_s = plan->topology->start_ms / 1e3, .rest_s = s->kind == LB_KIND_TIMELINE ? TIMELINE_S : asked_s(s) + s->settle_s / 10 + BESIDE_S};
}

struct lb_took lb_times_find(const struct lb_times *times, const struct lb_trial_plan *plan) {
  int best = 0;
  size_t count = 0;
  for (size_t i = 0; i < times->count; i++) {
    int like = likeness(&times->row[i], plan);
    if (like > best) best = like, count = 0;
    count += like > 0 && like == best;
  }
  double *start = best > 0 ? malloc(2 * count * sizeof *start) : NULL;
  if (!start) return guess(plan);
  double *rest = start + count;
  size_t n = 0;
  for (size_t i = 0; i < times->count; i++) {
    const struct lb_times_row *row = &times->row[i];
    if (likeness(row, plan) != best) continue;
    start[n] = row->start_s;
    rest[n++] = rest_of(row, plan->scenario);
  }
  struct lb_took took = {.start_s = lb_median(start, count), .rest_s = lb_median(rest, count)};
  if (best < 10) took.start_s = plan->topology->start_ms / 1e3; /* of other servers */
  free(start);
  return took;
}
