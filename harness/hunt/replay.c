/* SPDX-License-Identifier: MIT
 *
 * Which sets still have to be replayed, and what follows from it. A form that several sets have is replayed once.
 */
#include "simplify.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"

/* CHUNK: where time may run out, sets are done one after another, so that those that were begun are known. */
enum { CHUNK = 4 };
enum { UNDECIDED_MAX = 4, MORE = 2 }; /* so many undecided trials, and nobody asks again; rounds beside the first, for undecided ones */

struct job {
  struct lb_hunt_journal *journal;
  struct lb_hunt_sets *sets;
  const struct lb_hunt_player *player;
  size_t *timeline; /* as many as there are sets */
};

static const struct lb_hunt_count *seen(const struct job *job, const struct lb_hunt_set *set) {
  static const struct lb_hunt_count none;
  const struct lb_hunt_count *count = job->player->seen(job->player->of, &set->simplest);
  return count ? count : &none;
}

/* Trials that are wanting; 0 of one that has them, or has failed already. */
static int wants(const struct job *job, const struct lb_hunt_set *set) {
  const struct lb_hunt_count *count = seen(job, set);
  unsigned decided = lb_hunt_decided(count);
  bool asks = set->standing == LB_HUNT_MINIMAL && decided < LB_HUNT_REPLAYS && count->of[LB_HUNT_UNDECIDED] < UNDECIDED_MAX;
  return asks && count->of[set->class] == decided ? LB_HUNT_REPLAYS - (int)decided : 0;
}

/* Those without what `without` says of which so many trials are wanting. */
static size_t collect(const struct job *job, bool firsts, unsigned without, int wanting) {
  size_t count = 0;
  for (size_t i = 0; i < job->sets->count; i++) {
    const struct lb_hunt_set *set = &job->sets->set[i];
    bool listed = false;
    if (set->simplest.without != without || wants(job, set) != wanting || (firsts && !lb_hunt_is_first(job->sets, job->journal->space, i))) continue;
    for (size_t j = 0; j < count; j++) listed |= job->timeline[j] == set->simplest.timeline;
    if (!listed) job->timeline[count++] = set->simplest.timeline;
  }
  return count;
}

static int play(const struct job *job, bool firsts) {
  int r = 0;
  for (unsigned without = 0; without < LB_HUNT_WITHOUT_COUNT; without++)
    for (int wanting = LB_HUNT_REPLAYS; wanting > 0 && r == 0; wanting--) {
      size_t count = collect(job, firsts, without, wanting), most = job->player->first < LB_HUNT_SURE ? CHUNK : count + 1;
      for (size_t at = 0; at < count && r == 0; at += most)
        r = job->player->play(job->player->of, without, job->timeline + at, count - at < most ? count - at : most, wanting);
    }
  return r;
}

/* A simpler form that fails is given up. True if one was. */
static bool give_up(const struct job *job) {
  bool some = false;
  for (size_t i = 0; i < job->sets->count; i++) {
    struct lb_hunt_set *set = &job->sets->set[i];
    const struct lb_hunt_count *count = seen(job, set);
    if (set->standing != LB_HUNT_MINIMAL || count->of[set->class] == lb_hunt_decided(count) || !lb_hunt_is_simplified(set)) continue;
    set->simplest = (struct lb_hunt_form){set->timeline, 0};
    some = true;
  }
  return some;
}

/* The firsts of their mechanism, then all, then what was undecided. 1 = the time is over. */
static int play_all(const struct job *job) {
  int r = 0;
  do {
    for (int round = 0; round < 2 + MORE && r == 0; round++) r = play(job, round == 0);
  } while (give_up(job) && r == 0);
  return r;
}

static int enter(const struct job *job) {
  int refuted = 0;
  for (size_t i = 0; i < job->sets->count; i++) {
    struct lb_hunt_set *set = &job->sets->set[i];
    struct lb_hunt_replay *replay = &job->journal->replay[set->timeline];
    const struct lb_hunt_count *count = seen(job, set);
    if (set->standing != LB_HUNT_MINIMAL) continue;
    *replay = (struct lb_hunt_replay){.agreed = count->of[set->class], .decided = (uint16_t)lb_hunt_decided(count)};
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
  struct job job = {journal, sets, player, calloc(sets->count + 1, sizeof *job.timeline)};
  if (!job.timeline) return -ENOMEM;
  int r = play_all(&job);
  free(job.timeline);
  return r < 0 ? r : enter(&job);
}

struct lb_hunt_replays lb_hunt_replays_of(const struct lb_hunt_journal *journal) {
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
  snprintf(of, sizeof of, "%s%s%s", lab->of, lab->replays ? ", replayed" : "", lb_hunt_without_text(without));
  *ret_error = lb_hunt_journal_open(journal, lab->batches->space, path, of, lab->err, lab->err_size);
  journal->guard = lab->batches->journal->guard;
  return *ret_error == 0 ? journal : NULL;
}

static struct lb_hunt_settings settings_of(unsigned without) {
  return (struct lb_hunt_settings){.no_client_3 = without & LB_HUNT_WITHOUT_CLIENT_3, .no_renewal = without & LB_HUNT_WITHOUT_RENEWAL};
}

static struct lb_hunt_batch batch_of(const struct lb_hunt_lab *lab, const size_t timeline[], size_t count, int repeats) {
  return (struct lb_hunt_batch){.timeline = timeline, .count = count, .guards = 1u << lab->batches->journal->guard, .repeats = repeats, .again = lab->replays ? AGAIN : 0, .jobs = lab->jobs};
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
  r = lb_hunt_play_batch(&batches, &batch, lab->err, lab->err_size);
  lab->batches->played = batches.played;
  return r == 0 && batches.late ? 1 : r;
}

/* A journal that cannot be opened is told of when something is to be written into it. */
static const struct lb_hunt_count *lab_seen(void *of, const struct lb_hunt_form *form) {
  int error;
  struct lb_hunt_journal *journal = journal_of(of, form->without, &error);
  return journal ? lb_hunt_seen(journal, form->timeline) : NULL;
}

struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab) { return (struct lb_hunt_player){lab_play, lab_seen, lab, lab->hasty ? LB_HUNT_SURE : 1}; }

/* Until so many are decided, or one did not break. An undecided one is played again once. */
static int try(struct lb_hunt_lab *lab, struct lb_hunt_batches *batches, const struct lb_hunt_form *form, enum lb_hunt_outcome class) {
  const struct lb_hunt_count *count = lb_hunt_seen(batches->journal, form->timeline);
  int r = 0;
  for (int round = 0; round < 2 && r == 0; round++) {
    unsigned decided = lb_hunt_decided(count);
    struct lb_hunt_batch batch = batch_of(lab, &form->timeline, 1, (int)(LB_HUNT_NARROW_TRIALS - decided));
    if (decided < LB_HUNT_NARROW_TRIALS && count->of[class] == decided) r = lb_hunt_play_batch(batches, &batch, lab->err, lab->err_size);
  }
  return r < 0 ? r : count->of[class] == LB_HUNT_NARROW_TRIALS && lb_hunt_decided(count) == LB_HUNT_NARROW_TRIALS;
}

struct probing {
  struct lb_hunt_lab *lab;
  const struct lb_hunt_set *set;
};

/* Its trials are in a journal of their own, which nobody keeps: it is about one length. */
static int probe(void *to, int64_t ms) {
  const struct probing *p = to;
  const struct lb_hunt_form *form = &p->set->simplest;
  struct lb_hunt_settings change = settings_of(form->without);
  struct lb_hunt_batches batches = *p->lab->batches;
  struct lb_hunt_journal journal;
  char path[3200];
  *(p->set->range.length == LB_HUNT_OF_MID ? &change.mid_ms : &change.write_ms) = ms;
  if (p->lab->is_over && p->lab->is_over(p->lab->clock)) return -ETIME;
  snprintf(path, sizeof path, "%s/scratch/narrow.csv", batches.dir->partial);
  unlink(path);
  int r = lb_hunt_journal_open(&journal, batches.space, path, p->lab->of, p->lab->err, p->lab->err_size);
  if (r < 0) return r;
  journal.guard = batches.journal->guard;
  batches.journal = &journal;
  batches.change = &change;
  batches.fresh = true;
  r = try(p->lab, &batches, form, p->set->class);
  p->lab->batches->played = batches.played;
  lb_hunt_journal_close(&journal);
  return r;
}

static int narrow(struct lb_hunt_lab *lab, struct lb_hunt_set *set) {
  enum { MOST = 3 };
  const struct lb_hunt_space *space = lab->batches->space;
  const struct lb_hunt_timeline *t = &space->timeline[set->simplest.timeline];
  struct lb_hunt_settings change = settings_of(set->simplest.without);
  struct lb_hunt_times times = lb_hunt_times_of(&space->system, t->regime, &change);
  struct probing probing = {lab, set};
  set->range.length = lb_hunt_length_of(t);
  int64_t start = set->range.length == LB_HUNT_OF_MID ? times.mid_ms : times.write_ms;
  return lb_hunt_narrow(probe, &probing, start, MOST * start, &set->range);
}

int lb_hunt_lab_narrow(struct lb_hunt_lab *lab, struct lb_hunt_sets *sets, ptrdiff_t only) {
  int r = 0;
  for (size_t i = 0; i < sets->count && r == 0; i++) {
    struct lb_hunt_set *set = &sets->set[i];
    bool minimal = set->standing == LB_HUNT_MINIMAL && lb_hunt_is_first(sets, lab->batches->space, i);
    if (only < 0 ? minimal : (ptrdiff_t)set->timeline == only && set->broke == set->decided) r = narrow(lab, set);
  }
  return r == -ETIME ? 0 : r;
}

int lb_hunt_lab_close(struct lb_hunt_lab *lab) {
  int r = 0;
  for (unsigned i = 0; i < LB_HUNT_WITHOUT_COUNT; i++)
    if (lab->journal[i].file && lb_hunt_journal_close(&lab->journal[i]) < 0) r = -EIO;
  return r;
}
