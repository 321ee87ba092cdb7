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

/* Those that were never decided once, the others as often as it takes. */
static int play_asked(struct job *job, unsigned without, bool first) {
  size_t count = 0;
  for (size_t i = 0; i < job->ask_count; i++) {
    const struct lb_hunt_count *seen = job->player->seen(job->player->of, &job->ask[i]);
    if (job->ask[i].without == without && first == (!seen || lb_hunt_count_decided(seen) == 0))
      job->timeline[count++] = job->ask[i].timeline;
  }
  return count > 0 ? job->player->play(job->player->of, without, job->timeline, count,
                                       first ? job->player->first : LB_HUNT_SURE - 1)
                   : 0;
}

static int play_round(struct job *job) {
  int r = 0;
  job->ask_count = 0;
  for (size_t i = 0; i < job->sets->count; i++)
    if (job->sets->set[i].standing == LB_HUNT_MINIMAL && lb_hunt_sets_is_first(job->sets, job->space, i))
      go_on(job, &job->sets->set[i]);
  for (unsigned without = 0; without < LB_HUNT_WITHOUT_COUNT && r == 0; without++) {
    r = play_asked(job, without, false); /* before the others, of which some will belong to these then */
    if (r == 0) r = play_asked(job, without, true);
  }
  return r;
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

/* ---- Which sets still have to be replayed, and what follows from it. A form that several sets have is replayed once. ---- */

/* CHUNK: where time may run out, sets are done one after another, so that those that were begun are known. */
enum { CHUNK = 4 };
enum {
  UNDECIDED_MAX = 4,
  MORE = 2
}; /* a form with so many undecided trials is not played again; rounds beside the first, for undecided ones */

struct replaying {
  struct lb_hunt_journal *journal;
  struct lb_hunt_sets *sets;
  const struct lb_hunt_player *player;
  size_t *timeline; /* as many as there are sets */
};

static const struct lb_hunt_count *seen(const struct replaying *replaying, const struct lb_hunt_set *set) {
  static const struct lb_hunt_count none;
  const struct lb_hunt_count *count = replaying->player->seen(replaying->player->of, &set->simplest);
  return count ? count : &none;
}

/* Trials that are wanting; 0 of one that has them, or has failed already. */
static int wants(const struct replaying *replaying, const struct lb_hunt_set *set) {
  const struct lb_hunt_count *count = seen(replaying, set);
  unsigned decided = lb_hunt_count_decided(count);
  bool asks =
      set->standing == LB_HUNT_MINIMAL && decided < LB_HUNT_REPLAYS && count->of[LB_HUNT_UNDECIDED] < UNDECIDED_MAX;
  return asks && count->of[set->class] == decided ? LB_HUNT_REPLAYS - (int)decided : 0;
}

/* Those without what `without` says of which so many trials are wanting. */
static size_t collect(const struct replaying *replaying, bool firsts, unsigned without, int wanting) {
  size_t count = 0;
  for (size_t i = 0; i < replaying->sets->count; i++) {
    const struct lb_hunt_set *set = &replaying->sets->set[i];
    bool listed = false;
    if (set->simplest.without != without || wants(replaying, set) != wanting ||
        (firsts && !lb_hunt_sets_is_first(replaying->sets, replaying->journal->space, i)))
      continue;
    for (size_t j = 0; j < count; j++) listed |= replaying->timeline[j] == set->simplest.timeline;
    if (!listed) replaying->timeline[count++] = set->simplest.timeline;
  }
  return count;
}

static int replay_some(const struct replaying *replaying, bool firsts) {
  int r = 0;
  for (unsigned without = 0; without < LB_HUNT_WITHOUT_COUNT; without++)
    for (int wanting = LB_HUNT_REPLAYS; wanting > 0 && r == 0; wanting--) {
      size_t count = collect(replaying, firsts, without, wanting),
             most = replaying->player->first < LB_HUNT_SURE ? CHUNK : count + 1;
      for (size_t at = 0; at < count && r == 0; at += most)
        r = replaying->player->play(replaying->player->of, without, replaying->timeline + at,
                                    count - at < most ? count - at : most, wanting);
    }
  return r;
}

/* A simpler form that fails is given up. True if one was. */
static bool give_up(const struct replaying *replaying) {
  bool some = false;
  for (size_t i = 0; i < replaying->sets->count; i++) {
    struct lb_hunt_set *set = &replaying->sets->set[i];
    const struct lb_hunt_count *count = seen(replaying, set);
    if (set->standing != LB_HUNT_MINIMAL || count->of[set->class] == lb_hunt_count_decided(count) ||
        !lb_hunt_simplify_helped(set))
      continue;
    set->simplest = (struct lb_hunt_form){set->timeline, 0};
    some = true;
  }
  return some;
}

/* The firsts of their mechanism, then all, then what was undecided. 1 = the time is over. */
static int play_all(const struct replaying *replaying) {
  int r = 0;
  do {
    for (int round = 0; round < 2 + MORE && r == 0; round++) r = replay_some(replaying, round == 0);
  } while (give_up(replaying) && r == 0);
  return r;
}

static int enter(const struct replaying *replaying) {
  int refuted = 0;
  for (size_t i = 0; i < replaying->sets->count; i++) {
    struct lb_hunt_set *set = &replaying->sets->set[i];
    struct lb_hunt_replay *replay = &replaying->journal->replay[set->timeline];
    const struct lb_hunt_count *count = seen(replaying, set);
    if (set->standing != LB_HUNT_MINIMAL) continue;
    *replay =
        (struct lb_hunt_replay){.agreed = count->of[set->class], .decided = (uint16_t)lb_hunt_count_decided(count)};
    replay->refuted = replay->agreed < replay->decided;
    refuted += replay->refuted;
    set->agreed = replay->agreed;
    set->replayed = replay->decided;
    if (replay->refuted) set->standing = LB_HUNT_SOMETIMES;
    else if (replay->decided < LB_HUNT_REPLAYS) set->standing = LB_HUNT_NOT_REPLAYED;
  }
  return refuted;
}

int lb_hunt_replay(struct lb_hunt_journal *journal, struct lb_hunt_sets *sets, const struct lb_hunt_player *player) {
  struct replaying replaying = {journal, sets, player, lb_need(calloc(sets->count + 1, sizeof *replaying.timeline))};
  int r = play_all(&replaying);
  free(replaying.timeline);
  return r < 0 ? r : enter(&replaying);
}

struct lb_hunt_replays lb_hunt_replay_count(const struct lb_hunt_journal *journal) {
  struct lb_hunt_replays all = {0};
  for (size_t i = 0; i < journal->space->count; i++) {
    const struct lb_hunt_replay *replay = &journal->replay[i];
    all.sets += replay->decided > 0;
    all.agreed += replay->agreed;
    all.decided += replay->decided;
    all.refuted += replay->refuted;
    all.gone += replay->refuted && replay->agreed == 0;
  }
  return all;
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

static struct lb_hunt_batch batch_of(const struct lb_hunt_lab *lab, const size_t timeline[], size_t count,
                                     int repeats) {
  return (struct lb_hunt_batch){.timeline = timeline,
                                .count = count,
                                .guards = 1u << lab->batches->journal->guard,
                                .repeats = repeats,
                                .again = lab->replays ? AGAIN : 0};
}

static int lab_play(void *of, unsigned without, const size_t timeline[], size_t count, int repeats) {
  struct lb_hunt_lab *lab = of;
  struct lb_hunt_settings change = settings_of(without);
  struct lb_hunt_batches batches = *lab->batches;
  int r;
  if (!(batches.journal = journal_of(lab, without, &r))) return r;
  batches.change = &change;
  batches.fresh = true;
  batches.late = false;
  if (lab->replays) batches.seed = lb_rng_fork(batches.seed, STREAM_REPLAY, 0).state;
  if (lab->is_over && lab->is_over(lab->clock)) return 1;
  struct lb_hunt_batch batch = batch_of(lab, timeline, count, repeats);
  r = lb_hunt_batches_play(&batches, &batch, 1, lab->err);
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
