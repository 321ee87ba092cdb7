/* SPDX-License-Identifier: MIT
 *
 * What a hunt says of the scenarios that people have written: for people, and as scenarios.csv.
 */
#include <errno.h>
#include <string.h>

#include "tell.h"

/* Those that are told in one breath: the same relation, for the same reason. */
static bool same_breath(const struct lb_hunt_told *a, const struct lb_hunt_told *b) {
  return a->relation == b->relation && a->why == b->why && strcmp(a->form, b->form) == 0;
}

static bool has_set(const struct lb_hunt_told *t) { return t->relation == LB_HUNT_EXPLAINED || t->relation == LB_HUNT_CONTRADICTED; }

static void tell_why(const struct lb_hunt_told *t, FILE *out) {
  fputs(lb_hunt_why_text(t->why), out);
  if (*t->form) fprintf(out, ": %s", t->form);
}

/* " (02)", of one that is not known to be minimal how often it broke, and of one without a double hold what it did. */
static void tell_set(const struct lb_hunt *h, size_t index, FILE *out) {
  const struct lb_hunt_set *set = &h->sets.set[index];
  fprintf(out, " (%02zu", index + 1);
  if (set->standing != LB_HUNT_MINIMAL) fprintf(out, ", %u of %u", set->broke, set->decided);
  if (set->class > LB_HUNT_EXPIRED) fprintf(out, ", %s", lb_hunt_class_text(set->class));
  fputc(')', out);
}

static void tell_breath(const struct lb_hunt *h, const struct lb_hunt_comparison *c, size_t first, FILE *out) {
  for (size_t i = 0; i < first; i++)
    if (same_breath(&c->scenario[i], &c->scenario[first])) return;
  const struct lb_hunt_told *t = &c->scenario[first];
  fprintf(out, "  %s", lb_hunt_relation_name(t->relation));
  if (t->why) fputs(" (", out), tell_why(t, out), fputc(')', out);
  for (size_t i = first, count = 0; i < c->count; i++) {
    if (!same_breath(&c->scenario[i], t)) continue;
    fprintf(out, "%s%s", count++ ? ", " : ": ", c->scenario[i].name);
    if (has_set(t)) tell_set(h, c->scenario[i].set, out);
  }
  fputc('\n', out);
}

void lb_hunt_tell_scenarios(const struct lb_hunt *h, const struct lb_hunt_comparison *c, FILE *out) {
  char id[LB_HUNT_ID_MAX];
  size_t count = 0;
  if (c->count) fputs("Scenarios that state something for it (NN = hunt/NN.ini):\n", out);
  for (int relation = 0; relation < LB_HUNT_RELATION_COUNT; relation++)
    for (size_t i = 0; i < c->count; i++)
      if (c->scenario[i].relation == (enum lb_hunt_relation)relation) tell_breath(h, c, i, out);
  for (size_t i = 0; i < h->sets.count; i++) {
    if (c->written[i] || h->sets.set[i].standing != LB_HUNT_MINIMAL || !lb_hunt_is_first(&h->sets, &h->space, i)) continue;
    lb_hunt_id(&h->space.timeline[h->sets.set[i].timeline], id);
    fprintf(out, "%s%s", count++ ? ", " : "  missing, no scenario has: ", id);
  }
  if (count) fputc('\n', out);
}

int lb_hunt_keep_scenarios(const struct lb_hunt *h, const struct lb_hunt_comparison *c, const char *folder) {
  char path[4200], id[LB_HUNT_ID_MAX];
  snprintf(path, sizeof path, "%s/scenarios.csv", folder);
  FILE *out = fopen(path, "we");
  if (!out) return -errno;
  fputs("scenario,expected,says,set,class,why\n", out);
  for (size_t i = 0; i < c->count; i++) {
    const struct lb_hunt_told *t = &c->scenario[i];
    *id = '\0';
    if (has_set(t)) lb_hunt_id(&h->space.timeline[h->sets.set[t->set].timeline], id);
    fprintf(out, "%s,%s,%s,%s,%s,\"", t->name, t->expected == LB_SAFE ? "safe" : "violated", lb_hunt_relation_name(t->relation), id, has_set(t) ? lb_hunt_came_name(h->sets.set[t->set].class) : "");
    tell_why(t, out);
    fputs("\"\n", out);
  }
  bool failed = ferror(out);
  return fclose(out) != 0 || failed ? -EIO : 0;
}
