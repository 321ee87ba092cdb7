/* SPDX-License-Identifier: MIT
 *
 * A campaign: its schedule is drawn first, from the seed alone, and then played on clients at work.
 * A fault that cannot be proved is noted and left out; each one that was done is undone.
 *
 * One fault at a time: the next one begins only when the one before has been taken back. So a
 * violation is told with the one fault it may belong to, and each fault finds the hosts whole.
 */
#include "campaign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fault.h"
#include "base/files.h"
#include "base/refuse.h"
#include "workload.h"

enum { STREAM_CAMPAIGN = 4 };

struct planned { /* a fault of the schedule; times from the begin of the campaign */
  struct lb_step step; /* its text is owned */
  lb_ns begin, end;
};

struct campaign {
  struct lb_stage *s;
  struct planned *fault;
  size_t count;
  lb_ns origin;
};

/* ---- the schedule -------------------------------------------------------------------------------------------------- */

/* Uniform in [mean/2, 3 mean/2). */
static lb_ns around(struct lb_rng *rng, int64_t mean_ms) {
  lb_ns mean = (lb_ns)mean_ms * LB_NS_PER_MS;
  return mean / 2 + lb_rng_below(rng, mean);
}

/* Puts a number in place of `any`; a role that has one, or that only the play can name (`primary`,
 * `holder`), stays as it is. A system without servers has no nodes: the number drawn for it names
 * nobody, and cast.c refuses it. */
static void draw_role(struct lb_rng *rng, struct lb_role *role, size_t nodes, size_t clients) {
  if (role->number != 0) return;
  if (role->kind == LB_ROLE_NODE) role->number = 1 + (int)lb_rng_below(rng, nodes ? nodes : 1);
  if (role->kind == LB_ROLE_CLIENT) role->number = 1 + (int)lb_rng_below(rng, clients);
}

/* The step as it would be written with what was drawn in place of `any`: what the schedule and the
 * history show. The words `any` stand in the order of the roles. Owned by the caller; NULL = no
 * memory. */
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
  return strdup(text);
}

/* The whole schedule, until the scenario's duration is used up. It must depend on nothing but the
 * fault seed, the scenario, and the numbers of nodes and clients: then a run of another system
 * meets the same faults. */
static int draw(struct campaign *c) {
  const struct lb_scenario *scenario = c->s->plan->scenario;
  struct lb_rng rng = lb_rng_fork(c->s->plan->fault_seed, STREAM_CAMPAIGN, 0);
  lb_ns t = around(&rng, scenario->every_ms), end = (lb_ns)(scenario->duration_s * 1e9);
  while (t < end) {
    struct planned *grown = realloc(c->fault, (c->count + 1) * sizeof *grown);
    if (!grown) return -ENOMEM;
    c->fault = grown;
    struct planned *f = &c->fault[c->count];
    *f = (struct planned){.step = scenario->faults[lb_rng_below(&rng, scenario->fault_count)], .begin = t};
    f->step.number = (uint32_t)c->count + 1;
    draw_role(&rng, &f->step.a, c->s->cluster.data_count, c->s->client_count);
    draw_role(&rng, &f->step.b, c->s->cluster.data_count, c->s->client_count);
    f->end = t + around(&rng, scenario->lasts_ms);
    if (!(f->step.text = drawn_text(&f->step))) return -ENOMEM;
    c->count++;
    t = f->end + around(&rng, scenario->every_ms);
  }
  return 0;
}

/* Before the first fault: the schedule of a trial that hangs or dies can still be read. */
static int write_schedule(const struct campaign *c) {
  char path[4200];
  snprintf(path, sizeof path, "%s/schedules", c->s->run_dir);
  int r = lb_make_dirs(path);
  if (r < 0) return r;
  snprintf(path, sizeof path, "%s/schedules/%s.txt", c->s->run_dir, c->s->plan->name);
  FILE *out = fopen(path, "we");
  if (!out) return -errno;
  for (size_t i = 0; i < c->count; i++)
    fprintf(out, "%.6f s to %.6f s: %s\n", (double)c->fault[i].begin / 1e9, (double)c->fault[i].end / 1e9,
            c->fault[i].step.text);
  return lb_close_written(out);
}

static void forget(struct campaign *c) {
  for (size_t i = 0; i < c->count; i++) free(c->fault[i].step.text);
  free(c->fault);
}

/* ---- the play ------------------------------------------------------------------------------------------------------ */

/* Some log is nearly full: what happens from now on might not be seen any more. */
static bool over(const struct campaign *c) { return atomic_load(&c->s->memory->log_full); }

static void work_until(struct campaign *c, lb_ns when) {
  lb_workload_continue(c->s, c->origin + when, &c->s->memory->log_full);
}

static bool is_empty(const struct lb_cast *cast) { return cast->server_count + cast->client_count == 0; }

/* True if it was proved. What does not fire (nobody held, the server was not yet back) is noted and
 * left out: no fault, no claim. */
static bool play_fault(struct campaign *c, const struct planned *f, size_t *tried) {
  struct lb_cast a = {0}, b = {0};
  char err[400];
  c->s->primary = -1; /* whoever decides now */
  int r = lb_cast_find(c->s, &f->step.a, &a, err, sizeof err);
  if (r == 0 && f->step.b.kind != LB_ROLE_NONE) r = lb_cast_find(c->s, &f->step.b, &b, err, sizeof err);
  if (r == 0 && (is_empty(&a) || (f->step.b.kind != LB_ROLE_NONE && is_empty(&b))))
    r = lb_refuse(err, sizeof err, "this system has no such host");
  if (r < 0) {
    lb_stage_not_done(c->s, &f->step, err);
    work_until(c, f->end);
    return false;
  }
  ++*tried;
  bool proved = lb_fault_do(c->s, &f->step, &a, &b, err, sizeof err) == 0;
  if (!proved) lb_stage_not_proved(c->s, &f->step, err);
  /* What took long to begin (a cut of many links) still lasts for half of its length. */
  lb_ns now = lb_clock_ns() - c->origin, least = now + (f->end - f->begin) / 2;
  work_until(c, f->end > least ? f->end : least);
  if (lb_fault_undo(c->s, &f->step, &a, err, sizeof err) < 0)
    lb_stage_doubt(c->s, LB_UNDECIDED, "after %s: %s", f->step.text, err);
  return proved;
}

/* The clients work from before the first fault until the end, so that whatever a fault does can
 * show. */
static int play(struct campaign *c, uint64_t *ret_proved) {
  size_t tried = 0;
  int r = lb_workload_begin(c->s);
  if (r < 0) return r;
  c->origin = lb_clock_ns();
  for (size_t i = 0; i < c->count && !over(c) && c->s->verdict == LB_VERDICT_NONE; i++) {
    work_until(c, c->fault[i].begin);
    *ret_proved += play_fault(c, &c->fault[i], &tried);
  }
  work_until(c, (lb_ns)(c->s->plan->scenario->duration_s * 1e9));
  r = lb_workload_end(c->s);
  bool any = c->s->cluster.data_count > 0 || tried > 0; /* a lock in memory has few hosts that a fault could hit */
  if (r == 0 && any && (tried == 0 || *ret_proved < (tried + 1) / 2))
    r = lb_stage_doubt(c->s, LB_UNDECIDED, "%llu of %zu faults were proved", (unsigned long long)*ret_proved, tried);
  return r;
}

int lb_campaign_play(struct lb_stage *s, uint64_t *ret_proved) {
  struct campaign c = {.s = s};
  int r = draw(&c);
  if (r == 0) r = write_schedule(&c);
  if (r < 0) r = lb_stage_doubt(s, LB_UNDECIDED, "no schedule: %s", strerror(-r));
  else r = play(&c, ret_proved);
  forget(&c);
  return r;
}
