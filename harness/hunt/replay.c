/* SPDX-License-Identifier: MIT
 *
 * Which sets still have to be replayed, and what follows from it. A form that several sets have is replayed once.
 */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>

/* CHUNK: where time may run out, sets are done one after another, so that those that were begun are known. */
enum { CHUNK = 4 };
enum { UNDECIDED_MAX = 4, MORE = 2 }; /* so many undecided trials, and nobody asks again; rounds beside the first, for undecided ones */

struct job {
  struct lb_hunt_book *book;
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
    if (set->simplest.without != without || wants(job, set) != wanting || (firsts && !lb_hunt_is_first(job->sets, job->book->space, i))) continue;
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
    struct lb_hunt_replay *replay = &job->book->replay[set->timeline];
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

int lb_hunt_replay(struct lb_hunt_book *book, struct lb_hunt_sets *sets, const struct lb_hunt_player *player) {
  struct job job = {book, sets, player, calloc(sets->count + 1, sizeof *job.timeline)};
  if (!job.timeline) return -ENOMEM;
  int r = play_all(&job);
  free(job.timeline);
  return r < 0 ? r : enter(&job);
}

struct lb_hunt_replays lb_hunt_replays_of(const struct lb_hunt_book *book) {
  struct lb_hunt_replays all = {0};
  for (size_t i = 0; i < book->space->count; i++) {
    const struct lb_hunt_replay *replay = &book->replay[i];
    all.sets += replay->decided > 0;
    all.agreed += replay->agreed;
    all.decided += replay->decided;
    all.refuted += replay->refuted;
    all.gone += replay->refuted && replay->agreed == 0;
  }
  return all;
}
