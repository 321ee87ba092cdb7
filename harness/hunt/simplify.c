/* SPDX-License-Identifier: MIT
 *
 * From a minimal set to its simplest form, a step at a time, in rounds: all sets go on as far as what has been seen tells, and what they have to know
 * then is played together. A step that fails at its first trial costs no more than that one.
 */
#include "simplify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 200 }; /* far more than there are steps */

const char *lb_hunt_without_text(unsigned without) {
  static const char *const texts[LB_HUNT_WITHOUT_COUNT] = {
      [LB_HUNT_WITHOUT_CLIENT_3] = ", without client 3",
      [LB_HUNT_WITHOUT_RENEWAL] = ", without renewal",
      [LB_HUNT_WITHOUT_CLIENT_3 | LB_HUNT_WITHOUT_RENEWAL] = ", without client 3 and without renewal",
  };
  return texts[without] ? texts[without] : "";
}

bool lb_hunt_is_simplified(const struct lb_hunt_set *set) { return set->simplest.timeline != set->timeline || set->simplest.without; }

/* ---- simpler forms --------------------------------------------------------------------------------------------------- */

struct forms {
  const struct lb_hunt_space *space;
  struct lb_hunt_form *form;
  size_t count;
};

static void swap(struct lb_hunt_timeline *t, size_t i) {
  struct lb_hunt_fault first = t->fault[i];
  t->fault[i] = t->fault[i + 1];
  t->fault[i + 1] = first;
}

/* Fewer hosts are run beside other faults where all of them broke. */
static bool is_run(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  enum lb_hunt_pruned why = lb_hunt_prune(&space->system, t);
  return why == LB_HUNT_RUN || why == LB_HUNT_FEWER_HOSTS;
}

/* As it stands, or with two neighbours in the order in which they are run. -1 = the space would not run it. */
static ptrdiff_t find_run(const struct lb_hunt_space *space, struct lb_hunt_timeline t) {
  if (is_run(space, &t)) return lb_hunt_find(space, &t);
  if (lb_hunt_prune(&space->system, &t) != LB_HUNT_ORDER) return -1;
  for (size_t i = 0; i + 1 < t.fault_count; i++) {
    if (t.fault[i].slot != t.fault[i + 1].slot) continue;
    swap(&t, i);
    if (is_run(space, &t)) return lb_hunt_find(space, &t);
    swap(&t, i);
  }
  return -1;
}

static void add(struct forms *forms, const struct lb_hunt_timeline *t, unsigned without) {
  ptrdiff_t at = find_run(forms->space, *t);
  if (at >= 0) forms->form[forms->count++] = (struct lb_hunt_form){(size_t)at, without};
}

static void undo_sooner(struct forms *forms, struct lb_hunt_timeline t, unsigned without) {
  for (size_t i = 0; i < t.fault_count; i++) {
    struct lb_hunt_fault *f = &t.fault[i], was = *f;
    if (was.undo == LB_HUNT_GONE) f->undo = LB_HUNT_AFTER, add(forms, &t, without);
    if (was.undo == LB_HUNT_GONE || was.undo == LB_HUNT_AFTER) f->undo = LB_HUNT_MID, add(forms, &t, without);
    *f = was;
  }
}

static void hit_fewer(struct forms *forms, struct lb_hunt_timeline t, unsigned without) {
  for (size_t i = 0; i < t.fault_count; i++) {
    struct lb_hunt_fault *f = &t.fault[i], was = *f;
    if (was.target == LB_HUNT_ALL) f->target = LB_HUNT_P, add(forms, &t, without);
    if (was.target == LB_HUNT_ALL || was.target == LB_HUNT_P) f->target = LB_HUNT_F, add(forms, &t, without);
    *f = was;
  }
}

size_t lb_hunt_simpler(const struct lb_hunt_space *space, const struct lb_hunt_form *form, enum lb_hunt_outcome class, struct lb_hunt_form ret[LB_HUNT_SIMPLER_MAX]) {
  const struct lb_hunt_timeline *t = &space->timeline[form->timeline];
  struct forms forms = {space, ret, 0};
  bool client_3 = !space->switches.no_client_3 && !(form->without & LB_HUNT_WITHOUT_CLIENT_3);
  bool renewal = t->regime == LB_HUNT_SHORT && class == LB_HUNT_LEASE && !(form->without & LB_HUNT_WITHOUT_RENEWAL);
  undo_sooner(&forms, *t, form->without);
  hit_fewer(&forms, *t, form->without);
  if (client_3) ret[forms.count++] = (struct lb_hunt_form){form->timeline, form->without | LB_HUNT_WITHOUT_CLIENT_3};
  if (renewal) ret[forms.count++] = (struct lb_hunt_form){form->timeline, form->without | LB_HUNT_WITHOUT_RENEWAL};
  return forms.count;
}

/* ---- does it still break? -------------------------------------------------------------------------------------------- */

enum answer { NO, YES, UNKNOWN };

static enum answer breaks(const struct lb_hunt_count *count, enum lb_hunt_outcome class) {
  if (!count) return UNKNOWN;
  unsigned decided = lb_hunt_decided(count);
  if (count->of[class] < decided) return NO;
  if (decided >= LB_HUNT_SURE) return YES;
  return count->of[LB_HUNT_UNDECIDED] < LB_HUNT_SURE ? UNKNOWN : NO;
}

struct job {
  const struct lb_hunt_space *space;
  struct lb_hunt_sets *sets;
  const struct lb_hunt_player *player;
  struct lb_hunt_form *ask; /* at most one of each set */
  size_t ask_count;
  size_t *timeline; /* as many */
};

static void remember(struct job *job, const struct lb_hunt_form *form) {
  for (size_t i = 0; i < job->ask_count; i++)
    if (job->ask[i].timeline == form->timeline && job->ask[i].without == form->without) return;
  job->ask[job->ask_count++] = *form;
}

static enum answer ask(const struct job *job, const struct lb_hunt_set *set, const struct lb_hunt_form *form) {
  if (lb_hunt_sets_contained(job->sets, job->space, form->timeline, set->class)) return NO;
  return breaks(job->player->seen(job->player->of, form), set->class);
}

/* As far as is known. What it would have to know next is remembered. */
static void go_on(struct job *job, struct lb_hunt_set *set) {
  struct lb_hunt_form form[LB_HUNT_SIMPLER_MAX];
  for (bool moved = true; moved;) {
    size_t count = lb_hunt_simpler(job->space, &set->simplest, set->class, form);
    moved = false;
    for (size_t i = 0; i < count && !moved; i++) {
      enum answer answer = ask(job, set, &form[i]);
      if (answer == UNKNOWN) {
        remember(job, &form[i]);
        return;
      }
      moved = answer == YES;
      if (moved) set->simplest = form[i];
    }
  }
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

/* Those that were never decided once, the others as often as it takes. */
static int play(struct job *job, unsigned without, bool first) {
  size_t count = 0;
  for (size_t i = 0; i < job->ask_count; i++) {
    const struct lb_hunt_count *seen = job->player->seen(job->player->of, &job->ask[i]);
    if (job->ask[i].without == without && first == (!seen || lb_hunt_decided(seen) == 0)) job->timeline[count++] = job->ask[i].timeline;
  }
  return count > 0 ? job->player->play(job->player->of, without, job->timeline, count, first ? job->player->first : LB_HUNT_SURE - 1) : 0;
}

static int play_round(struct job *job) {
  int r = 0;
  job->ask_count = 0;
  for (size_t i = 0; i < job->sets->count; i++)
    if (job->sets->set[i].standing == LB_HUNT_MINIMAL && lb_hunt_is_first(job->sets, job->space, i)) go_on(job, &job->sets->set[i]);
  for (unsigned without = 0; without < LB_HUNT_WITHOUT_COUNT && r == 0; without++) {
    r = play(job, without, false); /* before the others, of which some will belong to these then */
    if (r == 0) r = play(job, without, true);
  }
  return r;
}

int lb_hunt_simplify(const struct lb_hunt_space *space, struct lb_hunt_sets *sets, const struct lb_hunt_player *player) {
  struct job job = {.space = space, .sets = sets, .player = player};
  int r = 0;
  job.ask = calloc(sets->count + 1, sizeof *job.ask);
  job.timeline = calloc(sets->count + 1, sizeof *job.timeline);
  if (!job.ask || !job.timeline) r = -ENOMEM;
  job.ask_count = 1;
  for (int round = 0; round < ROUNDS_MAX && r == 0 && job.ask_count > 0; round++) r = play_round(&job);
  free(job.ask);
  free(job.timeline);
  return r;
}

/* A window is found from inside: its lower end between the shortest length and the one that is known to break, its upper end between that and the longest. */

enum lb_hunt_length lb_hunt_length_of(const struct lb_hunt_timeline *t) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (t->fault[i].undo == LB_HUNT_MID) return LB_HUNT_OF_MID;
  return LB_HUNT_OF_WRITE;
}

/* In tenths: of two lengths of which one breaks and the other does not, the last one that breaks. 0 or negative. */
static int bisect(lb_hunt_probe *probe, void *of, int64_t breaks, int64_t holds, int64_t *ret) {
  while (breaks - holds > 1 || holds - breaks > 1) {
    int64_t middle = (breaks + holds) / 2;
    int r = probe(of, middle * LB_HUNT_TENTH_MS);
    if (r < 0) return r;
    if (r > 0) breaks = middle;
    else holds = middle;
  }
  *ret = breaks;
  return 0;
}

/* Whether the farthest length breaks, too; else where the end is. 0 or negative. */
static int find_end(lb_hunt_probe *probe, void *of, int64_t start, int64_t farthest, int64_t *ret_ms, bool *ret_open) {
  int64_t end = start;
  int r = start == farthest ? 1 : probe(of, farthest * LB_HUNT_TENTH_MS);
  if (r < 0) return r;
  *ret_open = r > 0;
  if (r == 0 && (r = bisect(probe, of, start, farthest, &end)) < 0) return r;
  *ret_ms = (*ret_open ? farthest : end) * LB_HUNT_TENTH_MS;
  return 0;
}

int lb_hunt_narrow(lb_hunt_probe *probe, void *of, int64_t start_ms, int64_t most_ms, struct lb_hunt_range *ret) {
  int64_t start = (start_ms + LB_HUNT_TENTH_MS / 2) / LB_HUNT_TENTH_MS, most = most_ms / LB_HUNT_TENTH_MS;
  if (start < 1) start = 1;
  if (most < start) most = start;
  ret->known = false;
  int r = probe(of, start * LB_HUNT_TENTH_MS);
  if (r <= 0) return r;
  r = find_end(probe, of, start, 1, &ret->from_ms, &ret->from_open);
  if (r == 0) r = find_end(probe, of, start, most, &ret->to_ms, &ret->to_open);
  ret->known = r == 0;
  return r;
}

bool lb_hunt_range_tells(const struct lb_hunt_range *r) {
  return r->known && (r->length == LB_HUNT_OF_MID || !r->from_open || !r->to_open);
}

void lb_hunt_range_say(const struct lb_hunt_range *r, char *buf, size_t size) {
  static const char *const what[] = {[LB_HUNT_OF_MID] = "breaks if what is undone before a takeover lasts", [LB_HUNT_OF_WRITE] = "breaks if a contender is given"};
  const char *more = r->length == LB_HUNT_OF_WRITE ? " to write" : "";
  double from = (double)r->from_ms / 1000, to = (double)r->to_ms / 1000;
  if (r->from_open && r->to_open) snprintf(buf, size, "%s anything from %.1f to %.1f s%s, which is all that was tried", what[r->length], from, to, more);
  else if (r->from_open) snprintf(buf, size, "%s at most %.1f s%s", what[r->length], to, more);
  else if (r->to_open) snprintf(buf, size, "%s at least %.1f s%s (tried up to %.1f s)", what[r->length], from, more, to);
  else snprintf(buf, size, "%s from %.1f to %.1f s%s", what[r->length], from, to, more);
}
