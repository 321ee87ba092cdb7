/* SPDX-License-Identifier: MIT
 *
 * Forms are played as timelines are, with the gun of the hunt, its book exchanged for the time of a volley.
 */
#include "lab.h"

#include <errno.h>
#include <unistd.h>

#include "base/rng.h"

static const char *const words[LB_HUNT_WITHOUT_COUNT] = {"", "-without-client-3", "-without-renewal", "-without-both"};
enum { STREAM_REPLAY = 33, AGAIN = 2 };

/* Opened when it is needed. Replays have journals of their own. */
static struct lb_hunt_book *book_of(struct lb_hunt_lab *lab, unsigned without, int *ret_error) {
  char path[4200], of[400];
  struct lb_hunt_book *book = without || lab->replays ? &lab->book[without] : lab->gun->book;
  *ret_error = 0;
  if (book->file) return book;
  snprintf(path, sizeof path, "%s/trials%s%s.csv", lab->folder, lab->replays ? "-replay" : "", words[without]);
  snprintf(of, sizeof of, "%s%s%s", lab->of, lab->replays ? ", replayed" : "", lb_hunt_without_text(without));
  *ret_error = lb_hunt_book_open(book, lab->gun->space, path, of, lab->err, lab->err_size);
  book->guard = lab->gun->book->guard;
  return *ret_error == 0 ? book : NULL;
}

static struct lb_hunt_settings settings_of(unsigned without) {
  return (struct lb_hunt_settings){.no_client_3 = without & LB_HUNT_WITHOUT_CLIENT_3, .no_renewal = without & LB_HUNT_WITHOUT_RENEWAL};
}

static struct lb_hunt_volley volley_of(const struct lb_hunt_lab *lab, const size_t timeline[], size_t count, int repeats) {
  return (struct lb_hunt_volley){.timeline = timeline, .count = count, .guards = 1u << lab->gun->book->guard, .repeats = repeats, .again = lab->replays ? AGAIN : 0, .jobs = lab->jobs};
}

static int play(void *of, unsigned without, const size_t timeline[], size_t count, int repeats) {
  struct lb_hunt_lab *lab = of;
  struct lb_hunt_settings change = settings_of(without);
  struct lb_hunt_gun gun = *lab->gun;
  int r;
  if (!(gun.book = book_of(lab, without, &r))) return r;
  gun.change = &change;
  gun.fresh = true;
  gun.late = false;
  if (lab->replays) gun.seed = lb_rng_fork(gun.seed, STREAM_REPLAY, 0).state;
  if (lab->is_over && lab->is_over(lab->clock)) return 1;
  struct lb_hunt_volley volley = volley_of(lab, timeline, count, repeats);
  r = lb_hunt_fire(&gun, &volley, lab->err, lab->err_size);
  lab->gun->fired = gun.fired;
  return r == 0 && gun.late ? 1 : r;
}

/* A journal that cannot be opened is told of when something is to be written into it. */
static const struct lb_hunt_count *seen(void *of, const struct lb_hunt_form *form) {
  int error;
  struct lb_hunt_book *book = book_of(of, form->without, &error);
  return book ? lb_hunt_seen(book, form->timeline) : NULL;
}

struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab) { return (struct lb_hunt_player){play, seen, lab, lab->hasty ? LB_HUNT_SURE : 1}; }

/* Until so many are decided, or one did not break. An undecided one is played again once. */
static int try(struct lb_hunt_lab *lab, struct lb_hunt_gun *gun, const struct lb_hunt_form *form, enum lb_hunt_came class) {
  const struct lb_hunt_count *count = lb_hunt_seen(gun->book, form->timeline);
  int r = 0;
  for (int round = 0; round < 2 && r == 0; round++) {
    unsigned decided = lb_hunt_decided(count);
    struct lb_hunt_volley volley = volley_of(lab, &form->timeline, 1, (int)(LB_HUNT_NARROW_TRIALS - decided));
    if (decided < LB_HUNT_NARROW_TRIALS && count->of[class] == decided) r = lb_hunt_fire(gun, &volley, lab->err, lab->err_size);
  }
  return r < 0 ? r : count->of[class] == LB_HUNT_NARROW_TRIALS && lb_hunt_decided(count) == LB_HUNT_NARROW_TRIALS;
}

struct probing {
  struct lb_hunt_lab *lab;
  const struct lb_hunt_set *set;
};

/* Its trials are in a book of their own, which nobody keeps: it is about one length. */
static int probe(void *to, int64_t ms) {
  const struct probing *p = to;
  const struct lb_hunt_form *form = &p->set->simplest;
  struct lb_hunt_settings change = settings_of(form->without);
  struct lb_hunt_gun gun = *p->lab->gun;
  struct lb_hunt_book book;
  char path[3200];
  *(p->set->range.length == LB_HUNT_OF_MID ? &change.mid_ms : &change.write_ms) = ms;
  if (p->lab->is_over && p->lab->is_over(p->lab->clock)) return -ETIME;
  snprintf(path, sizeof path, "%s/scratch/narrow.csv", gun.dir->partial);
  unlink(path);
  int r = lb_hunt_book_open(&book, gun.space, path, p->lab->of, p->lab->err, p->lab->err_size);
  if (r < 0) return r;
  book.guard = gun.book->guard;
  gun.book = &book;
  gun.change = &change;
  gun.fresh = true;
  r = try(p->lab, &gun, form, p->set->class);
  p->lab->gun->fired = gun.fired;
  lb_hunt_book_close(&book);
  return r;
}

static int narrow(struct lb_hunt_lab *lab, struct lb_hunt_set *set) {
  enum { MOST = 3 };
  const struct lb_hunt_space *space = lab->gun->space;
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
    bool minimal = set->standing == LB_HUNT_MINIMAL && lb_hunt_is_first(sets, lab->gun->space, i);
    if (only < 0 ? minimal : (ptrdiff_t)set->timeline == only && set->broke == set->decided) r = narrow(lab, set);
  }
  return r == -ETIME ? 0 : r;
}

int lb_hunt_lab_close(struct lb_hunt_lab *lab) {
  int r = 0;
  for (unsigned i = 0; i < LB_HUNT_WITHOUT_COUNT; i++)
    if (lab->book[i].file && lb_hunt_book_close(&lab->book[i]) < 0) r = -EIO;
  return r;
}
