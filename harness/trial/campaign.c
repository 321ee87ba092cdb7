/* SPDX-License-Identifier: MIT
 *
 * A campaign: its schedule is drawn first, and then played on clients at work. A fault that cannot be proved is noted
 * and left out; each one that was done is undone. The next one begins only when the one before has been taken back. So
 * a violation is reported with the one fault that it may belong to.
 *
 * A schedule is drawn in two passes. The first one draws times and faults, and knows nothing of the system, so it is
 * the same for all. The second one fits it to the system: it replaces what means nothing there, and puts a number in
 * place of `any`. If the scenario asks for it, killed servers stay away for longer than a lease.
 */
#include "campaign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/error.h"
#include "base/need.h"
#include "base/rng.h"
#include "fault.h"
#include "workload.h"

enum { STREAM_CAMPAIGN = 4, STREAM_FITTED = 5, LOOK_MS = 20 };

/* ---- what was drawn ---------------------------------------------------------------------------------------------- */

/* Uniform in [mean/2, 3 mean/2). */
static lb_ns around(struct lb_rng *rng, int64_t mean_ms) {
  lb_ns mean = (lb_ns)mean_ms * LB_NS_PER_MS;
  return mean / 2 + lb_rng_below(rng, mean);
}

/* Slots until the scenario's duration is used up. The step of each is the scenario's still, so its text is not owned
 * yet. */
static void draw_slots(const struct lb_scenario *scenario, struct lb_rng *rng, struct lb_schedule *ret) {
  lb_ns t = around(rng, scenario->every_ms), end = (lb_ns)(scenario->duration_s * 1e9);
  while (t < end) {
    struct lb_planned *f = &LB_APPEND(ret->fault, ret->count);
    *f = (struct lb_planned){.kind = lb_rng_below(rng, scenario->fault_count), .begin = t};
    f->step = scenario->faults[f->kind];
    f->end = t + around(rng, scenario->lasts_ms);
    t = f->end + around(rng, scenario->every_ms);
  }
}

/* ---- fitted to the system ---------------------------------------------------------------------------------------- */

static bool plays(struct lb_role role, size_t nodes) {
  if (role.kind == LB_ROLE_NONE || lb_role_is_client(role)) return true;
  if (role.kind == LB_ROLE_REPLICAS || role.kind == LB_ROLE_PARTNERS) return nodes >= 2;
  if (role.kind == LB_ROLE_MINORITY) return nodes >= 3; /* of two servers both are the majority */
  if (role.kind == LB_ROLE_NODE) return nodes >= 1 && (size_t)role.number <= nodes;
  /* a campaign draws faults of what holds locks */
  return nodes >= 1 && role.kind != LB_ROLE_PROXY && role.kind != LB_ROLE_WITNESS;
}

/* A cut from one another changes nothing for servers that never talk to each other. */
static bool is_felt(const struct lb_step *fault, const struct lb_topology *on) {
  bool between_servers = fault->b.kind != LB_ROLE_NONE && !lb_role_is_client(fault->a) && !lb_role_is_client(fault->b);
  return !between_servers || !on->family->independent;
}

bool lb_schedule_applies(const struct lb_step *fault, const struct lb_topology *on) {
  return plays(fault->a, on->data_count) && plays(fault->b, on->data_count) && is_felt(fault, on);
}

/* One of those that apply, each alike, by its place. Where none does the drawn one stays, and the campaign notes that
 * it was not done. */
static size_t replacement(const struct lb_scenario *scenario, const struct lb_topology *on, struct lb_rng *rng,
                          size_t drawn) {
  size_t applying = 0;
  for (size_t i = 0; i < scenario->fault_count; i++) applying += lb_schedule_applies(&scenario->faults[i], on);
  size_t chosen = lb_rng_below(rng, applying);
  for (size_t i = 0; i < scenario->fault_count; i++)
    if (lb_schedule_applies(&scenario->faults[i], on) && chosen-- == 0) return i;
  return drawn;
}

/* Puts a number in place of `any`. A role that has one, or that only the play can name (`primary`, `holder`), stays as
 * it is. A system without servers has no nodes: the number drawn for it names no server, and cast.c refuses it. */
static void draw_role(struct lb_rng *rng, struct lb_role *role, size_t nodes, size_t clients) {
  if (role->number != 0) return;
  if (role->kind == LB_ROLE_NODE) role->number = 1 + (int)lb_rng_below(rng, nodes ? nodes : 1);
  if (role->kind == LB_ROLE_CLIENT) role->number = 1 + (int)lb_rng_below(rng, clients);
}

/* The step as it would be written with what was drawn in place of `any`: what the schedule and the history show. The
 * words `any` stand in the order of the roles. Owned by the caller. */
static char *drawn_text(const struct lb_step *step) {
  char text[300] = "", role[32];
  const char *from = step->text, *any;
  const struct lb_role *roles[2] = {&step->a, &step->b};
  for (int i = 0; i < 2 && (any = strstr(from, " any")); i++) {
    if (roles[i]->kind != LB_ROLE_NODE && roles[i]->kind != LB_ROLE_CLIENT) continue;
    snprintf(role, sizeof role, " %d", roles[i]->number);
    strncat(text, from, (size_t)(any - from));
    strcat(text, role);
    from = any + strlen(" any");
  }
  strncat(text, from, sizeof text - strlen(text) - 1);
  return lb_need_text(text);
}

/* Redlock's rule of the delayed restart: a server that has forgotten its locks comes back when all leases that it may
 * have granted are over. A tenth more, because its clock may run fast. */
static lb_ns shortest(const struct lb_scenario *scenario, const struct lb_step *fault) {
  bool forgets = scenario->delayed_restart && lb_step_row(fault)->kills && !lb_role_is_client(fault->a);
  return forgets ? (lb_ns)(scenario->ttl_ms + scenario->ttl_ms / 10) * LB_NS_PER_MS : 0;
}

/* A fault that was made longer pushes the next ones away, so that no fault begins before the one before it is over: the
 * number of faults stays what was drawn. */
static void fit(struct lb_planned *f, size_t i, const struct lb_trial_plan *plan, size_t clients, lb_ns free_from) {
  const struct lb_topology *on = plan->topology;
  struct lb_rng rng = lb_rng_fork(plan->fault_seed, STREAM_FITTED, i);
  const struct lb_step drawn = f->step;
  lb_ns length = f->end - f->begin, least;
  if (!lb_schedule_applies(&drawn, on)) f->kind = replacement(plan->scenario, on, &rng, f->kind);
  f->step = plan->scenario->faults[f->kind];
  bool replaced = f->step.text != drawn.text;
  f->step.number = (uint32_t)i + 1;
  draw_role(&rng, &f->step.a, on->data_count, clients);
  draw_role(&rng, &f->step.b, on->data_count, clients);
  least = shortest(plan->scenario, &f->step);
  if (f->begin < free_from) f->begin = free_from;
  f->end = f->begin + (length < least ? least : length);
  if (replaced) f->drawn = lb_need_text(drawn.text);
  f->step.text = drawn_text(&f->step);
}

void lb_schedule_draw(const struct lb_trial_plan *plan, size_t clients, struct lb_schedule *ret) {
  struct lb_rng rng = lb_rng_fork(plan->fault_seed, STREAM_CAMPAIGN, 0);
  lb_ns least_pause = (lb_ns)plan->scenario->every_ms * LB_NS_PER_MS / 2, free_from = 0;
  *ret = (struct lb_schedule){0};
  if (plan->scenario->control) return;
  draw_slots(plan->scenario, &rng, ret);
  for (size_t i = 0; i < ret->count; i++) {
    fit(&ret->fault[i], i, plan, clients, free_from);
    free_from = ret->fault[i].end + least_pause;
  }
}

void lb_schedule_clear(struct lb_schedule *schedule) {
  for (size_t i = 0; i < schedule->count; i++) {
    free(schedule->fault[i].step.text);
    free(schedule->fault[i].drawn);
  }
  free(schedule->fault);
  *schedule = (struct lb_schedule){0};
}

/* ---- written ----------------------------------------------------------------------------------------------------- */

static int schedule_write(const struct lb_schedule *schedule, const char *run_dir, const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/schedules", run_dir);
  int r = lb_files_make_dirs(path);
  if (r < 0) return r;
  snprintf(path, sizeof path, "%s/schedules/%s.txt", run_dir, name);
  FILE *out = fopen(path, "we");
  if (!out) return -errno;
  for (size_t i = 0; i < schedule->count; i++) {
    const struct lb_planned *f = &schedule->fault[i];
    fprintf(out, "%.6f s to %.6f s: %s", (double)f->begin / 1e9, (double)f->end / 1e9, f->step.text);
    if (f->drawn) fprintf(out, " (in place of: %s)", f->drawn);
    fputc('\n', out);
  }
  return lb_files_close_written(out);
}

struct campaign {
  struct lb_stage *s;
  struct lb_schedule schedule;
  lb_ns origin;
  lb_ns whole_since;       /* the latest fault was over, or the campaign began */
  uint64_t granted_before; /* how many grants there had been by then */
};

/* ---- the play ---------------------------------------------------------------------------------------------------- */

/* Some log is nearly full: what happens from now on might not be seen any more. */
static bool over(const struct campaign *c) { return atomic_load(&c->s->memory->log_full); }

static void work_until(struct campaign *c, lb_ns when) {
  lb_workload_continue(c->s, c->origin + when, &c->s->memory->log_full);
}

/* From now on nothing keeps a lock from being granted. */
static void mark_whole(struct campaign *c) {
  c->whole_since = lb_clock_ns();
  c->granted_before = atomic_load(&c->s->memory->grants);
}

/* The window does not end before a client was granted after the last fault, or could have been: so a lock that stands
 * still shows that it does, and one that needs its time has it. */
static void await_grant(struct campaign *c) {
  lb_ns end = c->whole_since + (lb_ns)(lb_scenario_progress_ms(c->s->plan->scenario) + LOOK_MS) * LB_NS_PER_MS;
  while (atomic_load(&c->s->memory->grants) == c->granted_before && lb_clock_ns() < end && !over(c))
    work_until(c, lb_clock_ns() - c->origin + LOOK_MS * LB_NS_PER_MS);
}

static bool is_empty(const struct lb_cast *cast) { return cast->server_count + cast->client_count == 0; }

/* True if the fault was proved. A fault that does not fire is noted and left out: no client held, for example, or the
 * server was not yet back. It is then neither a fault nor a claim. */
static bool play_fault(struct campaign *c, const struct lb_planned *f, size_t *tried) {
  struct lb_cast a = {0}, b = {0};
  struct lb_error err;
  c->s->primary = -1; /* each fault looks for the primary anew */
  int r = lb_cast_find(c->s, &f->step.a, &a, &err);
  if (r == 0 && f->step.b.kind != LB_ROLE_NONE) r = lb_cast_find(c->s, &f->step.b, &b, &err);
  if (r == 0 && (is_empty(&a) || (f->step.b.kind != LB_ROLE_NONE && is_empty(&b))))
    r = lb_refuse(&err, "this system has no such host");
  if (r < 0) {
    lb_stage_failed(c->s, LB_EV_NOT_DONE, &f->step, err.text);
    work_until(c, f->end);
    return false;
  }
  ++*tried;
  bool proved = lb_fault_do(c->s, &f->step, &a, &b, &err) == 0;
  if (!proved) lb_stage_failed(c->s, LB_EV_NOT_PROVED, &f->step, err.text);
  /* What took long to begin (a cut of many links) still lasts for half of its length. */
  lb_ns now = lb_clock_ns() - c->origin, least = now + (f->end - f->begin) / 2;
  work_until(c, f->end > least ? f->end : least);
  if (lb_fault_undo(c->s, &f->step, &a, &err) < 0)
    lb_stage_doubt(c->s, LB_UNDECIDED, "after %s: %s", f->step.text, err.text);
  return proved;
}

static void count_proved(struct lb_outcome *out, size_t kind) {
  out->faults++;
  if (kind < LB_FAULT_KINDS_MAX) out->faults_of[kind]++;
}

/* The clients work from before the first fault until the end, so that whatever a fault does can show. */
static int play_faults(struct campaign *c, struct lb_outcome *out) {
  size_t tried = 0;
  int r = lb_workload_begin(c->s);
  if (r < 0) return r;
  c->origin = lb_clock_ns();
  mark_whole(c);
  for (size_t i = 0; i < c->schedule.count && !over(c) && c->s->verdict == LB_VERDICT_NONE; i++) {
    work_until(c, c->schedule.fault[i].begin);
    if (play_fault(c, &c->schedule.fault[i], &tried)) count_proved(out, c->schedule.fault[i].kind);
    mark_whole(c);
  }
  work_until(c, (lb_ns)(c->s->plan->scenario->duration_s * 1e9));
  if (c->s->verdict == LB_VERDICT_NONE) await_grant(c);
  r = lb_workload_end(c->s);
  bool any = c->s->cluster.data_count > 0 || tried > 0; /* a lock in memory has few hosts that a fault could hit */
  if (c->s->plan->scenario->control) return r;
  if (r == 0 && any && (tried == 0 || out->faults < (tried + 1) / 2))
    r = lb_stage_doubt(c->s, LB_UNDECIDED, "%llu of %zu faults were proved", (unsigned long long)out->faults, tried);
  return r;
}

int lb_campaign_play(struct lb_stage *s, struct lb_outcome *out) {
  struct campaign c = {.s = s};
  lb_schedule_draw(s->plan, s->client_count, &c.schedule);
  int r = schedule_write(&c.schedule, s->run_dir, s->plan->name);
  if (r < 0) r = lb_stage_doubt(s, LB_UNDECIDED, "no schedule: %s", strerror(-r));
  else r = play_faults(&c, out);
  lb_schedule_clear(&c.schedule);
  return r;
}
