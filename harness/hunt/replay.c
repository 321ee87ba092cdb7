/* SPDX-License-Identifier: MIT
 *
 * Which sets still have to be replayed, and what follows from it. A form that several sets have is replayed once.
 */
#include "replay.h"

#include <stdlib.h>

#include "base/need.h"

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

static bool time_may_run_out(const struct replaying *replaying) { return replaying->player->first < LB_HUNT_SURE; }

static int replays_of(const struct replaying *replaying) {
  return time_may_run_out(replaying) ? LB_HUNT_REPLAYS_IN_TIME : LB_HUNT_REPLAYS;
}

/* Trials that are wanting; 0 of one that has them, or has failed already. */
static int wants(const struct replaying *replaying, const struct lb_hunt_set *set) {
  const struct lb_hunt_count *count = seen(replaying, set);
  int decided = (int)lb_hunt_count_decided(count), wanting = replays_of(replaying) - decided;
  bool asks = set->standing == LB_HUNT_MINIMAL && wanting > 0 && count->of[LB_HUNT_UNDECIDED] < UNDECIDED_MAX;
  return asks && count->of[set->class] == decided ? wanting : 0;
}

/* Those without what `without` says of which so many trials are wanting. */
static size_t collect(const struct replaying *replaying, bool firsts, unsigned without, int wanting, size_t *timeline) {
  size_t count = 0;
  for (size_t i = 0; i < replaying->sets->count; i++) {
    const struct lb_hunt_set *set = &replaying->sets->set[i];
    bool listed = false;
    if (set->simplest.without != without || wants(replaying, set) != wanting ||
        (firsts && !lb_hunt_sets_is_first(replaying->sets, replaying->journal->space, i)))
      continue;
    for (size_t j = 0; j < count; j++) listed |= timeline[j] == set->simplest.timeline;
    if (!listed) timeline[count++] = set->simplest.timeline;
  }
  return count;
}

static int play_in_chunks(const struct replaying *replaying, const struct lb_hunt_request *all) {
  int r = 0;
  for (size_t at = 0; at < all->count && r == 0; at += CHUNK) {
    struct lb_hunt_request some = *all;
    some.timeline += at;
    some.count = all->count - at < CHUNK ? all->count - at : CHUNK;
    r = replaying->player->play(replaying->player->of, &some, 1);
  }
  return r;
}

static int replay_some(const struct replaying *replaying, bool firsts) {
  struct lb_hunt_request request[LB_HUNT_WITHOUT_COUNT * LB_HUNT_REPLAYS];
  size_t count = 0, timelines = 0;
  int r = 0;
  for (unsigned without = 0; without < LB_HUNT_WITHOUT_COUNT; without++)
    for (int wanting = LB_HUNT_REPLAYS; wanting > 0; wanting--) {
      size_t *timeline = replaying->timeline + timelines, some = collect(replaying, firsts, without, wanting, timeline);
      if (some > 0) request[count++] = (struct lb_hunt_request){timeline, some, without, wanting};
      timelines += some;
    }
  if (count > 0 && !time_may_run_out(replaying)) return replaying->player->play(replaying->player->of, request, count);
  for (size_t i = 0; i < count && r == 0; i++) r = play_in_chunks(replaying, &request[i]);
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

/* Where time may run out the firsts of their mechanism, then all, then what was undecided. 1 = the time is over. */
static int play_all(const struct replaying *replaying) {
  int r = 0;
  do {
    for (int round = time_may_run_out(replaying) ? 0 : 1; round < 2 + MORE && r == 0; round++)
      r = replay_some(replaying, round == 0);
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
    else if (replay->decided < replays_of(replaying)) set->standing = LB_HUNT_NOT_REPLAYED;
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
