/* SPDX-License-Identifier: MIT
 *
 * A finished run as files: trials.csv, the tables that each trial wrote a part of, run.json. The
 * forms are described in results/SCHEMA.md. Everything here only writes down what plan, tally and
 * run_info hold.
 *
 * Files go into the partial folder of the run, so one that cannot be written leaves no half result
 * behind: the whole folder is then never renamed.
 */
#include "results.h"

#include <errno.h>
#include <string.h>

#include "about.h"
#include "base/files.h"
#include "exit.h"
#include "lock_verdict.h"
#include "rate.h"

enum { PATH_LENGTH = 4000 };

static int fail(int error, const char *path, char *err, size_t err_size) {
  snprintf(err, err_size, "cannot write %s: %s", path, strerror(-error));
  return error;
}

/* ---- csv ------------------------------------------------------------------------------------- */

/* A text field of RFC 4180; only `why` can need the quotes, all other texts are names. */
static void csv_text(const char *text, FILE *out) {
  if (!strpbrk(text, ",\"\n\r")) {
    fputs(text, out);
    return;
  }
  putc('"', out);
  for (; *text; text++) {
    if (*text == '"') putc('"', out);
    putc(*text, out);
  }
  putc('"', out);
}

/* The columns that are no counters. Those in between follow from the table of counters
 * (history/counter.h). */
static const char columns_before[] = "scenario,system,guard,clients,trial,seed,verdict,why", columns_after[] = ",storage,history";

/* The counters between these columns; trial NULL = their names. `met` has the conditions that this
 * trial meets: a counter that does not apply is an empty field, never 0. */
static void csv_counters(const struct lb_job_result *trial, unsigned met, FILE *out) {
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    if (!(row->places & LB_IN_TRIALS)) continue;
    putc(',', out);
    if (!trial) fputs(row->name, out);
    else if (lb_counter_applies(row, &trial->outcome.counters, met)) lb_counter_print(row, &trial->outcome.counters, out);
  }
}

static void trials_header(FILE *out) {
  fputs(columns_before, out);
  csv_counters(NULL, 0, out);
  fprintf(out, "%s\n", columns_after);
}

/* Speed is that of a trial that was granted something; else its percentiles would be of nothing. */
static void trial_row(const struct lb_job_result *trial, FILE *out) {
  const struct lb_trial_plan *p = &trial->job->plan;
  const struct lb_outcome *x = &trial->outcome;
  bool measured = p->scenario->kind != LB_KIND_TIMELINE && x->grants > 0;
  fprintf(out, "%s,%s,%s,%d,%d,%llu,%s,", p->scenario->name, p->system, lb_guard_name(p->guard), p->clients, p->trial,
          (unsigned long long)p->seed, lb_verdict_name(x->verdict));
  csv_text(x->why, out);
  csv_counters(trial, (measured ? LB_IF_MEASURED : 0) | (p->scenario->kind == LB_KIND_CAMPAIGN ? LB_IF_CAMPAIGN : 0), out);
  fprintf(out, ",%s,", p->topology->own ? "own" : p->scenario->memory_storage ? "memory" : "disk");
  if (x->history_kept) fprintf(out, "histories/%s.hist", p->name);
  putc('\n', out);
}

/* In the order of the plan, not in that in which trials ended: the rows of a cell are neighbours,
 * and two runs can be compared line by line. */
static int write_trials(const struct lb_tally *tally, const char *dir, char *err, size_t err_size) {
  char path[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/trials.csv", dir);
  FILE *out = fopen(path, "we");
  if (!out) return fail(-errno, path, err, err_size);
  trials_header(out);
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (tally->jobs[i].done) trial_row(&tally->jobs[i], out);
  int r = lb_close_written(out);
  return r < 0 ? fail(r, path, err, err_size) : 0;
}

/* One table out of the rows that each trial wrote for itself: trials are processes, and none of
 * them could write to one file without waiting for the others. */
static int join_parts(const struct lb_plan *plan, const char *dir, const char *name, const char *header, char *err,
                      size_t err_size) {
  char path[PATH_LENGTH], part[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/%s.csv", dir, name);
  FILE *out = fopen(path, "we");
  if (!out) return fail(-errno, path, err, err_size);
  fputs(header, out);
  int r = 0;
  for (size_t i = 0; i < plan->job_count && r == 0; i++) {
    snprintf(part, sizeof part, "%s/parts/%s.%s", dir, plan->jobs[i].plan.name, name);
    r = lb_append_file(out, part);
  }
  int closed = lb_close_written(out);
  if (r == 0) r = closed;
  return r < 0 ? fail(r, path, err, err_size) : 0;
}

/* ---- run.json -------------------------------------------------------------------------------- */

/* Versions by topology; one that did not say its version has no member. */
static json_t *servers_json(const struct lb_run_info *info) {
  json_t *o = json_object();
  for (size_t i = 0; i < info->version_count; i++)
    json_object_set_new(o, info->versions[i].topology, json_string(info->versions[i].text));
  return o;
}

/* A shipped scenario by its place in the project: a results folder says nothing of where somebody
 * keeps it. */
static const char *scenario_file(const char *path) {
  const char *place = strstr(path, "/scenarios/");
  return place ? place + 1 : path;
}

/* Faults as the scenario writes them. Which of them were drawn is in schedules/. */
static json_t *campaign_json(const struct lb_scenario *s) {
  if (s->kind != LB_KIND_CAMPAIGN) return json_null();
  json_t *faults = json_array();
  for (size_t i = 0; i < s->fault_count; i++) json_array_append_new(faults, json_string(s->faults[i].text));
  return json_pack("{s:I, s:I, s:I, s:b, s:o}", "every_ms", (json_int_t)s->every_ms, "lasts_ms", (json_int_t)s->lasts_ms,
                   "progress_ms", (json_int_t)lb_scenario_progress_ms(s), "delayed_restart", s->delayed_restart, "faults", faults);
}

static void add_proof(json_t *proof, const char *key, const char *fact) {
  json_array_append_new(proof, json_sprintf("%s = %s", key, fact));
}

/* What a trial has to show, as the scenario writes it. */
static json_t *proof_json(const struct lb_scenario *s) {
  json_t *proof = json_array();
  for (size_t i = 0; i < s->premise_count; i++) add_proof(proof, s->premises[i].of_safe ? "safe" : "premise", s->premises[i].text);
  if (s->proof_violated) add_proof(proof, "violated", s->proof_violated);
  if (s->past_lease) add_proof(proof, "past_lease", "yes");
  return proof;
}

/* What a variant is a variant by, as it was typed: {"hold_ms": "0.5"}; {} of what is none. */
static json_t *varied_json(const char *varied) {
  json_t *o = json_object();
  for (const char *at = varied; at && *at; at += strcspn(at, " "), at += *at == ' ') {
    char word[200];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
    char *value = strchr(word, '=');
    if (!value) continue;
    *value++ = '\0';
    json_object_set_new(o, word, json_string(value));
  }
  return o;
}

/* The scenario as it was run, with all settings applied: the file may have changed since. */
json_t *lb_results_scenario(const struct lb_scenario *s) {
  json_t *steps = json_array(), *clients = json_array();
  for (size_t i = 0; i < s->step_count; i++) json_array_append_new(steps, json_string(s->steps[i].text));
  for (size_t i = 0; i < s->client_count_count; i++) json_array_append_new(clients, json_integer(s->client_counts[i]));
  json_t *workload = json_pack("{s:o, s:i, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:b, s:s, s:o}", "clients", clients, "keys",
                               s->keys, "hold_ms", s->hold_ms, "think_ms", s->think_ms, "ttl_ms", (json_int_t)s->ttl_ms,
                               "wait_ms", (json_int_t)s->wait_ms, "duration_s", s->duration_s, "warmup_s", s->warmup_s,
                               "settle_s", s->settle_s, "delay_ms", (json_int_t)s->delay_ms, "request_ms", (json_int_t)s->request_ms, "renew", s->renew, "storage", s->memory_storage ? "memory" : "disk",
                               "round_trip_ms", s->apart ? json_real(s->round_trip_ms) : json_null());
  if (s->permits > 1) json_object_set_new(workload, "permits", json_integer(s->permits));
  return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", s->name, "base", s->base, "varied",
                   varied_json(s->varied), "title", s->title ? s->title : "",
                   "question", s->question ? s->question : "", "refuted", s->refuted ? s->refuted : "", "upstream", s->upstream ? s->upstream : "", "file",
                   scenario_file(s->path), "workload", workload, "steps", steps, "proof", proof_json(s), "campaign", campaign_json(s));
}

/* Null if the run had no control: a control that was not made has not found 0 violations. */
static json_t *control_json(const struct lb_tally *tally) {
  struct lb_control control;
  lb_tally_control(tally, &control);
  if (control.trials == 0) return json_null();
  return json_pack("{s:i, s:i, s:I, s:I, s:f}", "trials", control.trials, "undecided", control.undecided, "handoffs",
                   (json_int_t)control.handoffs, "violations", (json_int_t)control.violations, "max_stall_ms",
                   (double)control.stall_ns / 1e6);
}

static json_t *lock_verdict_json(const struct lb_tally *tally) {
  enum lb_verdict verdict = lb_lock_verdict(tally);
  return verdict == LB_VERDICT_NONE ? json_null() : json_string(lb_verdict_name(verdict));
}

/* json_pack() takes over what stands under `o`. */
static json_t *run_json(const struct lb_tally *tally, const struct lb_run_info *info) {
  const struct lb_plan *plan = tally->plan;
  json_t *scenarios = json_array();
  for (size_t i = 0; i < plan->scenario_count; i++)
    json_array_append_new(scenarios, lb_results_scenario(&plan->scenarios[i]));
  return json_pack("{s:i, s:s, s:o, s:o, s:s, s:f, s:i, s:I, s:i, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:i, s:s}",
                   "schema_version", 1, "id", info->id, "tool", lb_about_tool(), "argv",
                   lb_about_argv(info->argv, info->argc), "started_utc", info->started_utc, "seconds", info->seconds, "sittings",
                   info->sittings, "seed", (json_int_t)plan->seed, "jobs", info->jobs, "trials", (json_int_t)plan->job_count, "done",
                   (json_int_t)tally->done, "partial", tally->done < plan->job_count, "machine",
                   lb_about_machine(&info->before, info->load_after, info->namespaces), "servers",
                   servers_json(info), "settings", lb_results_settings(plan), "scenarios", scenarios, "cells", lb_results_cells(tally), "control",
                   control_json(tally), "verdict", info->verdict, "lock_verdict", lock_verdict_json(tally), "exit_code", info->exit_code,
                   "exit_meaning", lb_exit_meaning(info->exit_code));
}

static int write_run(const struct lb_tally *tally, const struct lb_run_info *info, const char *dir, char *err,
                     size_t err_size) {
  char path[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/run.json", dir);
  int r = lb_about_write(run_json(tally, info), path);
  return r < 0 ? fail(r, path, err, err_size) : 0;
}

int lb_results_write(const struct lb_tally *tally, const struct lb_run_info *info, const char *dir, char *err,
                     size_t err_size) {
  int r = write_trials(tally, dir, err, err_size);
  if (r == 0)
    r = join_parts(tally->plan, dir, "latency", "scenario,system,guard,clients,trial,metric,low_ns,high_ns,count\n", err,
                   err_size);
  if (r == 0)
    r = join_parts(tally->plan, dir, "series",
                   "scenario,system,guard,clients,trial,second,grants,busy,timeouts,unknowns,wait_p50_us,wait_p99_us\n",
                   err, err_size);
  return r == 0 ? write_run(tally, info, dir, err, err_size) : r;
}
