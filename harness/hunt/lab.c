/* SPDX-License-Identifier: MIT
 *
 * Forms are played as timelines are, with the gun of the hunt, its book exchanged for the time of a volley.
 */
#include "lab.h"

#include <errno.h>

static const char *const words[LB_HUNT_WITHOUT_COUNT] = {"", "without-client-3", "without-renewal", "without-both"};

/* Opened when it is needed. */
static struct lb_hunt_book *book_of(struct lb_hunt_lab *lab, unsigned without, int *ret_error) {
  char path[4200], of[400];
  struct lb_hunt_book *book = without ? &lab->book[without] : lab->gun->book;
  *ret_error = 0;
  if (book->file) return book;
  snprintf(path, sizeof path, "%s/trials-%s.csv", lab->folder, words[without]);
  snprintf(of, sizeof of, "%s%s", lab->of, lb_hunt_without_text(without));
  *ret_error = lb_hunt_book_open(book, lab->gun->space, path, of, lab->err, lab->err_size);
  return *ret_error == 0 ? book : NULL;
}

static int play(void *of, unsigned without, const size_t timeline[], size_t count, int repeats) {
  struct lb_hunt_lab *lab = of;
  struct lb_hunt_settings change = {.no_client_3 = without & LB_HUNT_WITHOUT_CLIENT_3, .no_renewal = without & LB_HUNT_WITHOUT_RENEWAL};
  struct lb_hunt_gun gun = *lab->gun;
  int r;
  if (lab->is_over && lab->is_over(lab->clock)) return 1;
  if (!(gun.book = book_of(lab, without, &r))) return r;
  gun.change = &change;
  gun.fresh = true;
  r = lb_hunt_fire(&gun, timeline, count, LB_GUARD_NONE, repeats, gun.jobs, lab->err, lab->err_size);
  lab->gun->fired = gun.fired;
  return r;
}

/* A journal that cannot be opened is told of when something is to be written into it. */
static const struct lb_hunt_count *seen(void *of, const struct lb_hunt_form *form) {
  int error;
  struct lb_hunt_book *book = book_of(of, form->without, &error);
  return book ? &book->count[form->timeline][LB_GUARD_NONE] : NULL;
}

struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab) { return (struct lb_hunt_player){play, seen, lab}; }

int lb_hunt_lab_close(struct lb_hunt_lab *lab) {
  int r = 0;
  for (unsigned i = 1; i < LB_HUNT_WITHOUT_COUNT; i++)
    if (lab->book[i].file && lb_hunt_book_close(&lab->book[i]) < 0) r = -EIO;
  return r;
}
