/* SPDX-License-Identifier: MIT
 *
 * The files of a trial, each of which has its row in run/rundir.c. A table of the run is made of the rows that each
 * trial wrote for itself (run/results.c): trials run side by side in processes of their own. None of them waits for a
 * common file, and one that dies spoils only its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/need.h"
#include "judge.h"
#include "keep.h"

enum { KEPT_EVENTS = 50000, KEPT_AFTER = 1000 };

static FILE *open_part(const struct lb_stage *s, const char *folder, const char *ending) {
  char path[4000];
  snprintf(path, sizeof path, "%s/%s/%s.%s", s->run_dir, folder, s->plan->name, ending);
  return fopen(path, "we");
}

/* ---- rows of tables ---------------------------------------------------------------------------------------------- */

/* One row per bucket that has something in it: the histogram itself, from which every quantile can be read off
 * later. */
static void latency_rows(const struct lb_trial_plan *plan, const char *metric, const struct lb_hist *hist, FILE *out) {
  for (unsigned i = 0; i < LB_HIST_BUCKETS; i++)
    if (hist->bucket[i])
      fprintf(out, "%s,%s,%s,%d,%d,%s,%llu,%llu,%u\n", plan->scenario->name, plan->system, lb_guard_name(plan->guard),
              plan->clients, plan->trial, metric, (unsigned long long)lb_hist_bucket_low(i),
              (unsigned long long)lb_hist_bucket_high(i), hist->bucket[i]);
}

static int write_latency(const struct lb_stage *s, const struct lb_stats *st, const struct lb_outcome *trial) {
  const struct lb_trial_plan *plan = s->plan;
  FILE *out = open_part(s, "parts", "latency");
  if (!out) return -errno;
  if (plan->scenario->kind == LB_KIND_LOAD && !trial->speed_void) { /* under faults latencies do not measure speed */
    latency_rows(plan, "wait", &st->wait, out);
    if (plan->scenario->hold_ms > 0) latency_rows(plan, "hold", &st->hold, out);
    latency_rows(plan, "handoff", &st->handoff, out);
    latency_rows(plan, "release", &st->release, out);
  }
  return lb_files_close_written(out);
}

static int write_series(const struct lb_stage *s, const struct lb_stats *st) {
  const struct lb_trial_plan *plan = s->plan;
  FILE *out = open_part(s, "parts", "series");
  if (!out) return -errno;
  for (size_t i = 0; i < st->series_count; i++) {
    const struct lb_second *x = &st->series[i];
    fprintf(out, "%s,%s,%s,%d,%d,%u,%llu,%llu,%llu,%llu,%.3f,%.3f\n", plan->scenario->name, plan->system,
            lb_guard_name(plan->guard), plan->clients, plan->trial, x->second, (unsigned long long)x->grants,
            (unsigned long long)x->busy, (unsigned long long)x->timeouts, (unsigned long long)x->unknowns,
            (double)x->wait_p50_ns / 1e3, (double)x->wait_p99_ns / 1e3);
  }
  return lb_files_close_written(out);
}

/* ---- the history ------------------------------------------------------------------------------------------------- */

/* Appends a fact at the time of the last event, so that the history stays sorted. */
static void add_at_end(struct lb_history *h, enum lb_event_kind kind, uint32_t client, const struct lb_fact *fact) {
  const struct lb_event *last = h->count ? &h->events[h->count - 1] : NULL;
  struct lb_event event = {.t = last ? last->t : 0,
                           .s = last ? last->s : 0,
                           .client = client,
                           .key = LB_NO_NAME,
                           .fact = lb_history_facts_add(h, fact),
                           .kind = (uint16_t)kind};
  lb_history_add(h, &event);
}

/* A workload can have millions of events, and one episode is enough to look at: the file then keeps the begin of the
 * history, up to the end of the first episode and a little further, and says so. (The begin of a history is a
 * history.) */
static bool shorten(struct lb_stage *s, const struct lb_check *check, struct lb_fact *ret) {
  struct lb_history *h = &s->history;
  size_t keep = KEPT_EVENTS;
  if (check->episode_count > 0 && check->episodes[0].end_event + KEPT_AFTER > keep)
    keep = check->episodes[0].end_event + KEPT_AFTER;
  if (s->plan->scenario->kind == LB_KIND_TIMELINE || h->count <= keep) return false;
  *ret = lb_no_fact;
  ret->kept = keep;
  ret->total = h->count;
  h->count = keep;
  return true;
}

/* Adds the last error of each client, for the reader of a trial that did not end well. */
static void add_last_errors(struct lb_stage *s, const struct lb_outcome *out) {
  for (size_t i = 0; i <= s->client_count && out->verdict != LB_SAFE; i++) {
    const struct lb_client_state *state = &s->memory->state[i];
    if (!state->error[0]) continue;
    struct lb_fact fact = lb_no_fact;
    fact.why = lb_names_add(&s->history.texts, state->error);
    add_at_end(&s->history, LB_EV_ERROR, i < s->client_count ? (uint32_t)i : LB_NO_NAME, &fact);
  }
}

/* A safe history that is not of a timeline is not kept: it is large, and no reader needs it. The errors are added after
 * the history was cut short, or they would be cut off with the rest. */
static int write_history(struct lb_stage *s, const struct lb_check *check, struct lb_outcome *out) {
  if (s->plan->scenario->kind != LB_KIND_TIMELINE && out->verdict == LB_SAFE) return 0;
  struct lb_fact kept;
  bool shortened = shorten(s, check, &kept);
  add_last_errors(s, out);
  if (shortened) add_at_end(&s->history, LB_EV_SHORTENED, LB_NO_NAME, &kept);
  FILE *file = open_part(s, "histories", "hist");
  if (!file) return -errno;
  int r = lb_history_write(&s->history, file), closed = lb_files_close_written(file);
  out->history_kept = r == 0 && closed == 0;
  return r < 0 ? r : closed;
}

/* ---- parts of a history ------------------------------------------------------------------------------------------ */

/* As JSON lines. Names and facts are the history's own. */
static int write_part(const struct lb_stage *s, const char *folder, const struct lb_judgement *judgement,
                      bool (*belongs)(const struct lb_event *event, const struct lb_turn *longest)) {
  struct lb_history part = s->history;
  char path[4000];
  snprintf(path, sizeof path, "%s/%s", s->run_dir, folder);
  int r = lb_files_make_dirs(path), closed;
  FILE *file = r == 0 ? open_part(s, folder, "jsonl") : NULL;
  if (!file) return r < 0 ? r : -errno;
  part.count = 0;
  part.events = lb_need(calloc(s->history.count + 1, sizeof *part.events));
  for (size_t i = 0; i < s->history.count && part.count < KEPT_EVENTS; i++)
    if (belongs(&s->history.events[i], &judgement->stats.longest)) part.events[part.count++] = s->history.events[i];
  r = lb_history_write_json(&part, file);
  free(part.events);
  closed = lb_files_close_written(file);
  return r < 0 ? r : closed;
}

/* What the controller saw, and nothing of the load: a few lines, which tell what was played also where the history is
 * not kept or was cut short. */
static bool is_seen(const struct lb_event *e, const struct lb_turn *longest) {
  (void)longest;
  return lb_event_is_fact(e) && e->client == LB_NO_NAME;
}

/* What the client did that waited longest, and who was granted the lock meanwhile. */
static bool is_of_longest(const struct lb_event *e, const struct lb_turn *longest) {
  bool meanwhile = e->t >= longest->since && e->t - longest->since <= (uint64_t)longest->ns;
  return meanwhile && (e->client == longest->client || e->kind == LB_EV_GRANTED);
}

int lb_keep(struct lb_stage *s, const struct lb_judgement *judgement, struct lb_outcome *out) {
  int r = 0;
  if (s->plan->scenario->kind != LB_KIND_TIMELINE) r = write_latency(s, &judgement->stats, out);
  if (r == 0 && s->plan->scenario->kind != LB_KIND_TIMELINE) r = write_series(s, &judgement->stats);
  if (r == 0 && s->plan->scenario->kind == LB_KIND_CAMPAIGN) r = write_part(s, "faults", judgement, is_seen);
  if (r == 0 && s->plan->scenario->kind != LB_KIND_TIMELINE && judgement->stats.longest.ns >= 0)
    r = write_part(s, "waits", judgement, is_of_longest);
  return r == 0 ? write_history(s, &judgement->check, out) : r;
}
