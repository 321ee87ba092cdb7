/* SPDX-License-Identifier: MIT
 *
 * The list of a space: what a hunt would run, and what not, and why. Nothing is started for it.
 */
#include <errno.h>
#include <stdlib.h>

#include "audit.h"

static int mark_drawn(const struct lb_hunt_space *space, uint64_t seed, bool *ret, size_t *ret_count) {
  struct lb_hunt_drawn *drawn;
  size_t count;
  int r = 0;
  *ret_count = 0;
  for (int k = 0; k <= space->faults_max && r == 0; k++) {
    if ((r = lb_hunt_draw(space, seed, (size_t)k, LB_HUNT_AUDITED, &drawn, &count)) < 0) return r;
    for (size_t i = 0; i < count; i++) ret[drawn[i].timeline] = true;
    *ret_count += count;
    free(drawn);
  }
  return r;
}

static void print(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t, bool drawn, FILE *file) {
  struct lb_hunt_timeline other;
  char id[LB_HUNT_ID_MAX];
  lb_hunt_id(t, id);
  fprintf(file, "%s\t%s\t%s", id, lb_hunt_regime_name(t->regime), t->pruned == LB_HUNT_RUN ? "run" : lb_hunt_pruned_text(t->pruned));
  if (lb_hunt_stand_in(&space->system, t, &other)) {
    lb_hunt_id(&other, id);
    fprintf(file, "\t%sas %s", drawn ? "audited, " : "", id);
  }
  fputc('\n', file);
}

ptrdiff_t lb_hunt_space_print(const struct lb_hunt_space *space, uint64_t seed, FILE *file) {
  size_t count;
  bool *drawn = calloc(space->count + 1, sizeof *drawn);
  int r = drawn ? mark_drawn(space, seed, drawn, &count) : -ENOMEM;
  for (size_t i = 0; i < space->count && r == 0; i++) print(space, &space->timeline[i], drawn[i], file);
  free(drawn);
  return r < 0 ? r : (ptrdiff_t)count;
}
