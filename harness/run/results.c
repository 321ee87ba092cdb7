/* SPDX-License-Identifier: MIT
 *
 * A finished run as files: trials.csv, the tables that each trial wrote a part of, run.json. results/SCHEMA.md
 * describes their forms. Files go into the partial folder of the run. If one cannot be written, that folder is never
 * renamed, so no half result is left.
 */
#include "results.h"
#include "judging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "about.h"
#include "base/files.h"
#include "base/interval.h"
#include "client/holder.h"
#include "exit.h"
#include "tally.h"
#include "servers/setting.h"

static json_t *text_or_null(const char *text) { return text && *text ? json_string(text) : json_null(); }

/* For a safe cell: with no violation in n trials the rate is below this, at 95 % confidence. */
static json_t *upper95(const struct lb_cell_sum *sum) {
  return sum->verdict == LB_SAFE ? json_real(lb_interval_upper95_zero((uint64_t)sum->safe)) : json_null();
}

/* Null also where nothing is stated, although the exit code then takes safe for granted: the file
 * says what the scenario said. */
static json_t *as_expected(const struct lb_cell_sum *sum) {
  int x = sum->cell->expect ? lb_cell_sum_as_expected(sum) : -1;
  return x < 0 ? json_null() : json_boolean(x);
}

/* Three members: the rate, and the ends of its interval. Null where nothing is known. */
static void set_rate(json_t *o, const char *name, const struct lb_rate *rate, bool known) {
  char low[64], high[64];
  snprintf(low, sizeof low, "%s_low", name);
  snprintf(high, sizeof high, "%s_high", name);
  json_object_set_new(o, name, known ? json_real(rate->value) : json_null());
  json_object_set_new(o, low, known ? json_real(rate->low) : json_null());
  json_object_set_new(o, high, known ? json_real(rate->high) : json_null());
}

static json_t *whole_or_null(uint64_t number, bool known) {
  return known ? json_integer((json_int_t)number) : json_null();
}

/* As the scenario writes them, those that were never proved included. */
static json_t *kinds_json(const struct lb_scenario *scenario, const struct lb_cell_rate *x) {
  json_t *o = json_object();
  for (size_t i = 0; i < scenario->fault_count && i < LB_FAULT_KINDS_MAX; i++)
    json_object_set_new(o, scenario->faults[i].text, json_integer(x->faults_of[i]));
  return o;
}

/* Null unless it was a campaign that decided something. */
static void set_rates(json_t *o, const struct lb_tally *tally, size_t index, bool campaign) {
  struct lb_cell_rate x = {0};
  if (campaign) lb_cell_rate(tally, index, &x);
  json_object_set_new(o, "decided_faults", whole_or_null(x.faults, campaign));
  set_rate(o, "overlapped_per_fault", &x.overlapped_per_fault, x.faults > 0);
  set_rate(o, "within_lease_per_fault", &x.within_lease_per_fault, x.faults > 0);
  set_rate(o, "damaged_per_fault", &x.damaged_per_fault, x.faults > 0);
  json_object_set_new(o, "data_servers", whole_or_null(x.servers, campaign));
  set_rate(o, "within_lease_per_server_hour", &x.within_lease_per_server_hour, x.faults > 0 && x.servers > 0);
  json_object_set_new(o, "decided_hours", campaign ? json_real(x.hours) : json_null());
  json_object_set_new(o, "decided_handoffs", whole_or_null(x.handoffs, campaign));
  json_object_set_new(o, "violations", whole_or_null(x.violations, campaign));
  set_rate(o, "violations_per_hour", &x.violations_per_hour, x.hours > 0 && !x.stands_still);
  set_rate(o, "violations_per_1000", &x.violations_per_1000, x.handoffs > 0 && !x.stands_still);
  json_object_set_new(o, "decided_grants", whole_or_null(x.grants, campaign));
  set_rate(o, "lost_per_1000", &x.lost_per_1000, x.grants > 0);
  int above = campaign ? lb_tally_above_control(tally, index) : -1;
  json_object_set_new(o, "above_control", above < 0 ? json_null() : json_boolean(above));
  json_object_set_new(o, "faults_of", campaign ? kinds_json(tally->plan->cells[index].scenario, &x) : json_null());
}

static bool states_premises(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->premise_count; i++)
    if (scenario->premises[i].use == LB_PREMISE_OF_ALL) return true;
  return false;
}

static json_t *value_json(const struct lb_option *option, const union lb_value *value) {
  switch (option->type) {
    case LB_OPT_INT: return json_integer((json_int_t)value->i);
    case LB_OPT_REAL: return json_real(value->f);
    case LB_OPT_BOOL: return json_boolean(value->b);
    case LB_OPT_TEXT: return json_string(value->text ? value->text : "");
    case LB_OPT_CHOICE: return json_string(option->words[value->i]);
  }
  return json_null();
}

/* All options of the protocol, with the values that the cell was run with. */
static json_t *options_json(const struct lb_cell *cell) {
  json_t *o = json_object();
  const struct lb_option *option;
  for (size_t i = 0; cell->options && (option = lb_option_at(cell->protocol, i)); i++)
    json_object_set_new(o, option->name, value_json(option, &cell->options[i]));
  return o;
}

/* Polling is the harness's, told is the protocol's. */
static void set_waiting(json_t *o, const struct lb_cell *cell) {
  bool told = lb_wakes(cell->protocol, cell->options);
  int64_t pause = lb_poll_ms(cell->protocol, cell->options);
  json_object_set_new(o, "waits", json_string(told ? "told" : "polls"));
  json_object_set_new(o, "poll_first_ms",
                      told ? json_null() : json_integer(pause ? (json_int_t)pause : LB_POLL_FIRST_MS));
  json_object_set_new(o, "poll_last_ms",
                      told ? json_null() : json_integer(pause ? (json_int_t)pause : LB_POLL_LAST_MS));
}

/* Whether a bad outcome without a guard is the fault of this lock, and not of all locks of its kind. */
static json_t *own_fault(const struct lb_cell_sum *cell) {
  enum lb_fate fate = lb_fate_of(cell);
  bool badly = fate == LB_FATE_LATE || fate == LB_FATE_STUCK || fate == LB_FATE_BROKEN;
  return badly && cell->cell->predicted ? json_boolean(lb_fate_is_own(cell)) : json_null();
}

static json_t *cell_json(const struct lb_tally *tally, size_t index) {
  static const enum lb_counter_group groups[] = {LB_COUNT_EXCLUSION, LB_COUNT_GUARD,    LB_COUNT_LIVENESS,
                                                 LB_COUNT_PROGRESS,  LB_COUNT_GIVEN_UP, LB_COUNT_SPEED,
                                                 LB_COUNT_TRIAL,     LB_COUNT_FAULTS};
  const struct lb_cell *cell = &tally->plan->cells[index];
  const struct lb_cell_sum *all = &tally->cells[index];
  bool ran = all->trials > 0, campaign = ran && cell->scenario->kind == LB_KIND_CAMPAIGN;
  json_t *o = json_object();
  json_object_set_new(o, "scenario", json_string(cell->scenario->name));
  json_object_set_new(o, "system", json_string(cell->system));
  json_object_set_new(o, "guard", json_string(lb_guard_name(cell->guard)));
  json_object_set_new(o, "options", options_json(cell));
  set_waiting(o, cell);
  json_object_set_new(o, "seed", json_integer((json_int_t)tally->plan->seed));
  json_object_set_new(o, "trials", json_integer(all->trials));
  json_object_set_new(o, "verdict", json_string(lb_verdict_name(all->verdict)));
  json_object_set_new(o, "expected", cell->expect ? json_string(lb_verdict_name(cell->expect->verdict)) : json_null());
  json_object_set_new(o, "as_expected", as_expected(all));
  json_object_set_new(o, "reason", text_or_null(cell->expect ? cell->expect->reason : NULL));
  json_object_set_new(o, "predicted",
                      cell->predicted ? json_string(lb_verdict_name(cell->prediction.verdict)) : json_null());
  json_object_set_new(o, "rule", cell->predicted ? json_string(cell->prediction.rule->attack) : json_null());
  json_object_set_new(o, "own_fault", own_fault(all));
  json_object_set_new(o, "why", text_or_null(cell->skip[0] ? cell->skip : all->why));
  json_object_set_new(o, "note", cell->note ? json_integer(cell->note) : json_null());
  json_object_set_new(o, "violated", json_integer(all->violated));
  json_object_set_new(o, "undecided", json_integer(all->undecided));
  json_object_set_new(o, "decided", json_integer(lb_cell_sum_decided(all)));
  json_object_set_new(o, "stuck", json_integer(all->stuck));
  json_object_set_new(o, "delayed", json_integer(all->delayed));
  json_object_set_new(o, "premises_observed",
                      whole_or_null((uint64_t)all->premises_observed, ran && states_premises(cell->scenario)));
  json_object_set_new(o, "upper95", upper95(all));
  lb_counters_json(o, ran ? &all->sum : NULL, groups, sizeof groups / sizeof *groups, LB_IN_CELLS,
                   campaign ? LB_IF_CAMPAIGN : 0);
  set_rates(o, tally, index, campaign);
  return o;
}

json_t *lb_results_cells(const struct lb_tally *tally) {
  json_t *array = json_array();
  for (size_t i = 0; i < tally->plan->cell_count; i++) json_array_append_new(array, cell_json(tally, i));
  return array;
}

/* ---- How the servers of a run were set, as JSON: the settings that differ from those of a server in its default
 * configuration. Two runs whose figures are to be compared have to agree in these, as in the options of the protocols.
 * ---- */

/* What decides how the servers of a cell are set. */
struct asked {
  const struct lb_topology *topology;
  bool measured, durable;
};

static struct asked asked_by(const struct lb_cell *cell) {
  return (struct asked){.topology = cell->topology,
                        .measured = cell->scenario->kind == LB_KIND_LOAD,
                        .durable = lb_topology_on_disk(cell->topology, cell->scenario->memory_storage)};
}

static bool is_first(const struct lb_plan *plan, size_t index) {
  struct asked a = asked_by(&plan->cells[index]);
  for (size_t i = 0; i < index; i++) {
    struct asked b = asked_by(&plan->cells[i]);
    if (!plan->cells[i].skip[0] && b.topology == a.topology && b.measured == a.measured && b.durable == a.durable)
      return false;
  }
  return true;
}

static json_t *lines_json(char *text) {
  json_t *list = json_array();
  for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1)
    json_array_append_new(list, json_stringn(line, (size_t)(end - line)));
  free(text);
  return list;
}

/* How the servers of the plan's cells are set otherwise than those of a user: run.json's `settings`. A
 * new reference, NULL when out of memory. */
static json_t *results_settings(const struct lb_plan *plan) {
  json_t *list = json_array();
  for (size_t i = 0; i < plan->cell_count; i++) {
    struct asked a = asked_by(&plan->cells[i]);
    if (plan->cells[i].skip[0] || a.topology->data_count == 0 || a.topology->own || !is_first(plan, i)) continue;
    json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:o}", "topology", a.topology->name, "measured", a.measured,
                                          "storage", a.durable ? "disk" : "memory", "differs",
                                          lines_json(lb_setting_differing(a.topology, a.measured, a.durable))));
  }
  return list;
}

enum { PATH_LENGTH = 4000 };

static int fail(int error, const char *path, struct lb_error *err) {
  return lb_error(err, error, "cannot write %s: %s", path, strerror(-error));
}

/* ---- csv ------------------------------------------------------------------------------------- */

/* A table has its name when it is whole: a tool that dies meanwhile leaves the one before, or none. */
struct table {
  char path[PATH_LENGTH], part[PATH_LENGTH + 10];
  FILE *out;
};

static int begin_table(struct table *t, const char *dir, const char *name, struct lb_error *err) {
  snprintf(t->path, sizeof t->path, "%s/%s.csv", dir, name);
  snprintf(t->part, sizeof t->part, "%s.part", t->path);
  t->out = fopen(t->part, "we");
  return t->out ? 0 : fail(-errno, t->path, err);
}

/* `r`: what writing it came to. */
static int end_table(struct table *t, int r, struct lb_error *err) {
  int closed = lb_files_close_written(t->out);
  if (r == 0) r = closed;
  if (r == 0 && rename(t->part, t->path) < 0) r = -errno;
  return r < 0 ? fail(r, t->path, err) : 0;
}

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
 * (check/counter.h). */
static const char columns_before[] = "scenario,system,guard,clients,trial,seed,verdict,why",
                  columns_after[] = ",storage,machine,history";

/* The counters between these columns; trial NULL = their names. `met` has the conditions that this
 * trial meets: a counter that does not apply is an empty field, never 0. */
static void csv_counters(const struct lb_job_result *trial, unsigned met, FILE *out) {
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    if (!(row->places & LB_IN_TRIALS)) continue;
    putc(',', out);
    if (!trial) fputs(row->name, out);
    else if (lb_counter_applies(row, &trial->outcome.counters, met))
      lb_counter_print(row, &trial->outcome.counters, out);
  }
}

static void trials_header(FILE *out) {
  fputs(columns_before, out);
  csv_counters(NULL, 0, out);
  fprintf(out, "%s\n", columns_after);
}

/* Speed is that of a trial that was granted something, and whose self-checks held. */
static void trial_row(const struct lb_job_result *trial, FILE *out) {
  const struct lb_trial_plan *p = &trial->job->plan;
  const struct lb_outcome *x = &trial->outcome;
  bool measured = p->scenario->kind != LB_KIND_TIMELINE && x->grants > 0 && !x->speed_void;
  fprintf(out, "%s,%s,%s,%d,%d,%llu,%s,", p->scenario->name, p->system, lb_guard_name(p->guard), p->clients, p->trial,
          (unsigned long long)p->seed, lb_verdict_name(x->verdict));
  csv_text(x->why, out);
  csv_counters(trial, (measured ? LB_IF_MEASURED : 0) | (p->scenario->kind == LB_KIND_CAMPAIGN ? LB_IF_CAMPAIGN : 0),
               out);
  fprintf(out, ",%s,%d,", p->topology->own ? "own" : p->scenario->memory_storage ? "memory" : "disk", trial->machine);
  if (x->history_kept) fprintf(out, "histories/%s.hist", p->name);
  putc('\n', out);
}

/* In the order of the plan, not in that in which trials ended: the rows of a cell are neighbours,
 * and two runs can be compared line by line. */
static int write_trials(const struct lb_tally *tally, const char *dir, struct lb_error *err) {
  struct table table;
  int r = begin_table(&table, dir, "trials", err);
  if (r < 0) return r;
  trials_header(table.out);
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (tally->jobs[i].done) trial_row(&tally->jobs[i], table.out);
  return end_table(&table, 0, err);
}

/* One table out of the rows that each trial wrote for itself: trials are processes, and none of
 * them could write to one file without waiting for the others. */
static int join_parts(const struct lb_plan *plan, const char *dir, const char *name, const char *header,
                      struct lb_error *err) {
  struct table table;
  char rows[PATH_LENGTH];
  int r = begin_table(&table, dir, name, err);
  if (r < 0) return r;
  fputs(header, table.out);
  for (size_t i = 0; i < plan->job_count && r == 0; i++) {
    snprintf(rows, sizeof rows, "%s/parts/%s.%s", dir, plan->jobs[i].plan.name, name);
    r = lb_files_append(table.out, rows);
  }
  return end_table(&table, r, err);
}

/* ---- run.json -------------------------------------------------------------------------------- */

/* Versions by topology; one that did not say its version has no member. */
static json_t *servers_json(const struct lb_run_info *info) {
  json_t *o = json_object();
  for (size_t i = 0; i < info->version_count; i++)
    json_object_set_new(o, info->versions[i].topology, json_string(info->versions[i].text));
  return o;
}

static json_t *libraries_json(const struct lb_run_info *info) {
  json_t *o = json_object();
  for (size_t i = 0; i < info->library_count; i++)
    json_object_set_new(
        o, info->libraries[i].name,
        json_pack("{s:s, s:s}", "version", info->libraries[i].version, "stated", info->libraries[i].stated));
  return o;
}

/* A shipped scenario by its place in the project: a results folder says nothing of where it lies. */
static const char *scenario_file(const char *path) {
  const char *place = strstr(path, "/scenarios/");
  return place ? place + 1 : path;
}

/* Faults as the scenario writes them. Which of them were drawn is in schedules/. */
static json_t *campaign_json(const struct lb_scenario *s) {
  if (s->kind != LB_KIND_CAMPAIGN) return json_null();
  json_t *faults = json_array();
  for (size_t i = 0; i < s->fault_count; i++) json_array_append_new(faults, json_string(s->faults[i].text));
  return json_pack("{s:I, s:I, s:I, s:b, s:o}", "every_ms", (json_int_t)s->every_ms, "lasts_ms",
                   (json_int_t)s->lasts_ms, "progress_ms", (json_int_t)lb_scenario_progress_ms(s), "delayed_restart",
                   s->delayed_restart, "faults", faults);
}

static void add_proof(json_t *proof, const char *key, const char *fact) {
  json_array_append_new(proof, json_sprintf("%s = %s", key, fact));
}

/* What a trial has to show, as the scenario writes it. */
static json_t *proof_json(const struct lb_scenario *s) {
  json_t *proof = json_array();
  for (size_t i = 0; i < s->premise_count; i++)
    add_proof(proof, lb_premise_use_name(s->premises[i].use), s->premises[i].text);
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
  json_t *workload = json_pack(
      "{s:o, s:i, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:b, s:s, s:o}", "clients", clients, "keys", s->keys,
      "hold_ms", s->hold_ms, "think_ms", s->think_ms, "ttl_ms", (json_int_t)s->ttl_ms, "wait_ms",
      (json_int_t)s->wait_ms, "duration_s", s->duration_s, "warmup_s", s->warmup_s, "settle_s", s->settle_s, "delay_ms",
      (json_int_t)s->delay_ms, "request_ms", (json_int_t)s->request_ms, "renew", s->renew, "storage",
      s->memory_storage ? "memory" : "disk", "round_trip_ms", s->apart ? json_real(s->round_trip_ms) : json_null());
  if (s->driver != LB_BY_PROCESS) json_object_set_new(workload, "driver", json_string("coroutine"));
  if (s->arrivals != LB_ARRIVE_CLOSED) {
    json_object_set_new(workload, "arrivals", json_string(s->arrivals == LB_ARRIVE_POISSON ? "poisson" : "constant"));
    json_object_set_new(workload, "rate_per_s", json_real(s->rate_per_s));
  }
  if (s->skew > 0) json_object_set_new(workload, "skew", json_real(s->skew));
  if (s->hold == LB_LENGTH_EXPONENTIAL) json_object_set_new(workload, "hold", json_string("exponential"));
  if (s->think == LB_LENGTH_EXPONENTIAL) json_object_set_new(workload, "think", json_string("exponential"));
  if (s->patience_ms) json_object_set_new(workload, "patience_ms", json_integer((json_int_t)s->patience_ms));
  if (s->permits > 1) json_object_set_new(workload, "permits", json_integer(s->permits));
  if (s->readers > 0) json_object_set_new(workload, "readers", json_integer(s->readers));
  return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", s->name, "base", s->base,
                   "varied", varied_json(s->varied), "title", s->title ? s->title : "", "question",
                   s->question ? s->question : "", "refuted", s->refuted ? s->refuted : "", "upstream",
                   s->upstream ? s->upstream : "", "file", scenario_file(s->path), "workload", workload, "steps", steps,
                   "proof", proof_json(s), "campaign", campaign_json(s));
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
  enum lb_verdict verdict = lb_exit_lock_verdict(tally);
  return verdict == LB_VERDICT_NONE ? json_null() : json_string(lb_verdict_name(verdict));
}

static json_t *shard_json(const struct lb_run_info *info) {
  return info->shards ? json_sprintf("%d/%d", info->shard, info->shards) : json_null();
}

/* For a judge: how its lock did against the contract; null if it was not checked. */
static json_t *check_json(const struct lb_judging *j) {
  if (!j || !j->check || !j->statements) return json_null();
  json_t *failed = json_array();
  for (int i = 0; i < j->statements && i < LB_STATEMENTS_MAX; i++)
    if (!j->statement[i].holds) json_array_append_new(failed, json_string(j->statement[i].text));
  return json_pack("{s:s, s:i, s:o}", "command", j->check, "statements", j->statements, "failed", failed);
}

/* What a code says of a run, in words for a page; "unknown" for a code of another version. */
static const char *exit_meaning(const struct lb_judging *j, int code, bool whole_shard) {
  const char *safe = "safe in all that was asked", *not_safe = "the lock is not safe, or stuck";
  if (j && j->baseline) safe = "nothing is worse than in the baseline", not_safe = "worse than the baseline";
  if (whole_shard && code == LB_EXIT_OK) return "a shard, played to its end: what all of them came to says `merge`";
  if (j && code == LB_EXIT_OK) return safe;
  if (j && code == LB_EXIT_UNEXPECTED) return not_safe;
  switch (code) {
    case LB_EXIT_OK: return "every verdict is as expected";
    case LB_EXIT_FAILURE: return "the harness itself failed";
    case LB_EXIT_USAGE: return "usage or bad input";
    case LB_EXIT_UNEXPECTED:
      return "a verdict differs from the expectation (with --strict: from the prediction), or there is a violation where none is stated";
    case LB_EXIT_UNDECIDED: return "something stayed undecided";
    case LB_EXIT_MISSING: return "a needed server or permission is missing, or nothing was asked";
    case LB_EXIT_STOPPED: return "stopped before its end; what is decided is kept";
    default: return "unknown";
  }
}

/* json_pack() takes over what stands under `o`. */
static json_t *run_json(const struct lb_tally *tally, const struct lb_run_info *info) {
  const struct lb_plan *plan = tally->plan;
  json_t *scenarios = json_array();
  for (size_t i = 0; i < plan->scenario_count; i++)
    json_array_append_new(scenarios, lb_results_scenario(&plan->scenarios[i]));
  return json_pack(
      "{s:i, s:s, s:o, s:o, s:s, s:f, s:i, s:I, s:i, s:I, s:I, s:b, s:o, s:o, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:i, s:s}",
      "schema_version", 1, "id", info->id, "tool", lb_about_tool(), "argv", lb_about_argv(info->argv, info->argc),
      "started_utc", info->started_utc, "seconds", info->seconds, "sittings", info->sittings, "seed",
      (json_int_t)plan->seed, "jobs", info->jobs, "trials", (json_int_t)plan->job_count, "done",
      (json_int_t)tally->done, "partial", tally->done < plan->job_count, "shard", shard_json(info), "machine",
      lb_about_machine(&info->before, info->load_after, info->namespaces), "machines", info->machines, "servers",
      servers_json(info), "libraries", libraries_json(info), "settings", results_settings(plan), "scenarios", scenarios,
      "cells", lb_results_cells(tally), "control", control_json(tally), "verdict", info->verdict, "lock_verdict",
      lock_verdict_json(tally), "check", check_json(plan->judging), "exit_code", info->exit_code, "exit_meaning",
      exit_meaning(plan->judging, info->exit_code, info->shards > 0 && tally->done == tally->wanted));
}

static int write_run(const struct lb_tally *tally, const struct lb_run_info *info, const char *dir,
                     struct lb_error *err) {
  char path[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/run.json", dir);
  int r = lb_about_write(run_json(tally, info), path);
  return r < 0 ? fail(r, path, err) : 0;
}

int lb_results_write(const struct lb_tally *tally, const struct lb_run_info *info, const char *dir,
                     struct lb_error *err) {
  int r = write_trials(tally, dir, err);
  if (r == 0)
    r = join_parts(tally->plan, dir, "latency", "scenario,system,guard,clients,trial,metric,low_ns,high_ns,count\n",
                   err);
  if (r == 0)
    r = join_parts(tally->plan, dir, "series",
                   "scenario,system,guard,clients,trial,second,grants,busy,timeouts,unknowns,wait_p50_us,wait_p99_us\n",
                   err);
  return r == 0 ? write_run(tally, info, dir, err) : r;
}
