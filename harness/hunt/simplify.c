/* SPDX-License-Identifier: MIT
 *
 * From a minimal set to its simplest form, a step at a time, in rounds: all sets go on as far as what has been seen
 * tells, and what they have to know then is played together. A step that fails at its first trial costs no more than
 * that one.
 */
#include "simplify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/need.h"
#include "base/rng.h"

enum { ROUNDS_MAX = 200 }; /* far more than there are steps */

const char *lb_hunt_simplify_without_text(unsigned without) {
  static const char *const texts[LB_HUNT_WITHOUT_COUNT] = {
      [LB_HUNT_WITHOUT_CLIENT_3] = ", without client 3",
      [LB_HUNT_WITHOUT_RENEWAL] = ", without renewal",
      [LB_HUNT_WITHOUT_CLIENT_3 | LB_HUNT_WITHOUT_RENEWAL] = ", without client 3 and without renewal",
  };
  return texts[without] ? texts[without] : "";
}

bool lb_hunt_simplify_helped(const struct lb_hunt_set *set) {
  return set->simplest.timeline != set->timeline || set->simplest.without;
}

/* ---- simpler forms ----------------------------------------------------------------------------------------------- */

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
  if (is_run(space, &t)) return lb_hunt_space_find(space, &t);
  if (lb_hunt_prune(&space->system, &t) != LB_HUNT_ORDER) return -1;
  for (size_t i = 0; i + 1 < t.fault_count; i++) {
    if (t.fault[i].slot != t.fault[i + 1].slot) continue;
    swap(&t, i);
    if (is_run(space, &t)) return lb_hunt_space_find(space, &t);
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

size_t lb_hunt_simplify_forms(const struct lb_hunt_space *space, const struct lb_hunt_form *form,
                              enum lb_hunt_outcome class, struct lb_hunt_form ret[LB_HUNT_SIMPLER_MAX]) {
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

/* ---- does it still break? ---------------------------------------------------------------------------------------- */

enum answer { NO, YES, UNKNOWN };

static enum answer breaks(const struct lb_hunt_count *count, enum lb_hunt_outcome class) {
  if (!count) return UNKNOWN;
  unsigned decided = lb_hunt_count_decided(count);
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

static enum answer answer_of(const struct job *job, const struct lb_hunt_set *set, const struct lb_hunt_form *form) {
  if (lb_hunt_sets_contained(job->sets, job->space, form->timeline, set->class)) return NO;
  return breaks(job->player->seen(job->player->of, form), set->class);
}

/* As far as is known. What it would have to know next is remembered. */
static void go_on(struct job *job, struct lb_hunt_set *set) {
  struct lb_hunt_form form[LB_HUNT_SIMPLER_MAX];
  for (bool moved = true; moved;) {
    size_t count = lb_hunt_simplify_forms(job->space, &set->simplest, set->class, form);
    moved = false;
    for (size_t i = 0; i < count && !moved; i++) {
      enum answer answer = answer_of(job, set, &form[i]);
      if (answer == UNKNOWN) {
        remember(job, &form[i]);
        return;
      }
      moved = answer == YES;
      if (moved) set->simplest = form[i];
    }
  }
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Those that were never decided as often as the player says, the others as often as it takes. */
static struct lb_hunt_request request_of(const struct job *job, unsigned without, bool first, size_t *timeline) {
  size_t count = 0;
  for (size_t i = 0; i < job->ask_count; i++) {
    const struct lb_hunt_count *seen = job->player->seen(job->player->of, &job->ask[i]);
    if (job->ask[i].without == without && first == (!seen || lb_hunt_count_decided(seen) == 0))
      timeline[count++] = job->ask[i].timeline;
  }
  return (struct lb_hunt_request){timeline, count, without, first ? job->player->first : LB_HUNT_SURE - 1};
}

static int play_asked(const struct job *job) {
  struct lb_hunt_request request[2 * LB_HUNT_WITHOUT_COUNT];
  size_t count = 0, timelines = 0;
  for (unsigned kind = 0; kind < 2 * LB_HUNT_WITHOUT_COUNT; kind++) {
    request[count] = request_of(job, kind / 2, kind % 2, job->timeline + timelines);
    timelines += request[count].count;
    count += request[count].count > 0;
  }
  return count > 0 ? job->player->play(job->player->of, request, count) : 0;
}

static int play_round(struct job *job) {
  job->ask_count = 0;
  for (size_t i = 0; i < job->sets->count; i++)
    if (job->sets->set[i].standing == LB_HUNT_MINIMAL && lb_hunt_sets_is_first(job->sets, job->space, i))
      go_on(job, &job->sets->set[i]);
  return play_asked(job);
}

int lb_hunt_simplify(const struct lb_hunt_space *space, struct lb_hunt_sets *sets,
                     const struct lb_hunt_player *player) {
  struct job job = {.space = space, .sets = sets, .player = player};
  int r = 0;
  job.ask = lb_need(calloc(sets->count + 1, sizeof *job.ask));
  job.timeline = lb_need(calloc(sets->count + 1, sizeof *job.timeline));
  job.ask_count = 1;
  for (int round = 0; round < ROUNDS_MAX && r == 0 && job.ask_count > 0; round++) r = play_round(&job);
  free(job.ask);
  free(job.timeline);
  return r;
}

/* Forms are played as timelines are, with the settings of the hunt, its journal exchanged for the time of a batch. */

static const char *const words[LB_HUNT_WITHOUT_COUNT] = {"", "-without-client-3", "-without-renewal", "-without-both"};
enum { STREAM_REPLAY = 33, AGAIN = 2 };

/* Opened when it is needed. Replays have journals of their own. */
static struct lb_hunt_journal *journal_of(struct lb_hunt_lab *lab, unsigned without, int *ret_error) {
  char path[4200], of[400];
  struct lb_hunt_journal *journal = without || lab->replays ? &lab->journal[without] : lab->batches->journal;
  *ret_error = 0;
  if (journal->file) return journal;
  snprintf(path, sizeof path, "%s/trials%s%s.csv", lab->folder, lab->replays ? "-replay" : "", words[without]);
  snprintf(of, sizeof of, "%s%s%s", lab->of, lab->replays ? ", replayed" : "", lb_hunt_simplify_without_text(without));
  *ret_error = lb_hunt_journal_open(journal, lab->batches->space, path, of, lab->err);
  journal->guard = lab->batches->journal->guard;
  return *ret_error == 0 ? journal : NULL;
}

static struct lb_hunt_settings settings_of(unsigned without) {
  return (struct lb_hunt_settings){.no_client_3 = without & LB_HUNT_WITHOUT_CLIENT_3,
                                   .no_renewal = without & LB_HUNT_WITHOUT_RENEWAL};
}

static struct lb_hunt_batch batch_of(const struct lb_hunt_lab *lab, const struct lb_hunt_request *request,
                                     struct lb_hunt_journal *journal, const struct lb_hunt_settings *change) {
  return (struct lb_hunt_batch){.timeline = request->timeline,
                                .count = request->count,
                                .guards = 1u << lab->batches->journal->guard,
                                .repeats = request->repeats,
                                .again = lab->replays ? AGAIN : 0,
                                .journal = journal,
                                .change = change};
}

static int lab_play(void *of, const struct lb_hunt_request request[], size_t count) {
  struct lb_hunt_lab *lab = of;
  struct lb_hunt_settings change[LB_HUNT_WITHOUT_COUNT];
  struct lb_hunt_batches batches = *lab->batches;
  struct lb_hunt_batch *batch = lb_need(calloc(count + lab->beside_count, sizeof *batch));
  int r = 0;
  for (size_t i = 0; i < count && r == 0; i++) {
    struct lb_hunt_journal *journal = journal_of(lab, request[i].without, &r);
    change[request[i].without] = settings_of(request[i].without);
    batch[i] = batch_of(lab, &request[i], journal, &change[request[i].without]);
  }
  for (size_t i = 0; i < lab->beside_count; i++) batch[count + i] = lab->beside[i];
  count += lab->beside_count;
  lab->beside_count = 0;
  batches.fresh = true;
  batches.late = false;
  if (lab->replays) batches.seed = lb_rng_fork(batches.seed, STREAM_REPLAY, 0).state;
  if (r == 0 && lab->is_over && lab->is_over(lab->clock)) r = 1;
  if (r == 0) r = lb_hunt_batches_play(&batches, batch, count, lab->err);
  free(batch);
  lab->batches->played = batches.played;
  return r == 0 && batches.late ? 1 : r;
}

/* A journal that cannot be opened is told of when something is to be written into it. */
static const struct lb_hunt_count *lab_seen(void *of, const struct lb_hunt_form *form) {
  int error;
  struct lb_hunt_journal *journal = journal_of(of, form->without, &error);
  return journal ? lb_hunt_journal_seen(journal, form->timeline) : NULL;
}

struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab) {
  return (struct lb_hunt_player){lab_play, lab_seen, lab, lab->hasty ? LB_HUNT_SURE : 1};
}
