/* SPDX-License-Identifier: MIT
 *
 * What a person reads of the audit of a hunt: that what was left out could be left out, or which timeline says otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "tell.h"

static size_t count_sound(const struct lb_hunt_space *space) {
  size_t count = 0;
  for (size_t i = 0; i < space->count; i++) count += lb_hunt_pruned_is_sound(space->timeline[i].pruned);
  return count;
}

/* "L1.kill-c1@A (broke 5 of 5 within a lease)". */
static void tell_one(const struct lb_hunt *h, size_t timeline, FILE *out) {
  struct lb_hunt_count count = lb_hunt_audit_seen(&h->audit, &h->book, timeline);
  unsigned decided = lb_hunt_decided(&count), told = 0;
  char id[LB_HUNT_ID_MAX];
  lb_hunt_id(&h->space.timeline[timeline], id);
  fprintf(out, "%s (", id);
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST; class++)
    if (count.of[class]) fprintf(out, "%s %u of %u %s", told++ ? "," : "broke", count.of[class], decided, lb_hunt_class_text((enum lb_hunt_came)class));
  if (!told) fprintf(out, "broke 0 of %u", decided);
  fputc(')', out);
}

static void tell_set(const struct lb_hunt *h, size_t timeline, FILE *out) {
  for (size_t i = 0; i < h->sets.count; i++)
    if (h->sets.set[i].timeline == timeline) {
      fprintf(out, ", set %02zu", i + 1);
      return;
    }
}

static void tell_all(const struct lb_hunt *h, enum lb_hunt_answer answer, const char *head, FILE *out) {
  for (size_t i = 0; i < h->audit.count; i++) {
    const struct lb_hunt_drawn *d = &h->audit.drawn[i];
    if (lb_hunt_audit_answer(&h->audit, &h->book, d) != answer) continue;
    fputs(head, out);
    tell_one(h, d->timeline, out);
    fputs(" was to come out as ", out);
    tell_one(h, d->stand_in, out);
    tell_set(h, d->stand_in, out);
    fprintf(out, ". Reason not to run it: %s\n", lb_hunt_pruned_text(h->space.timeline[d->timeline].pruned));
  }
}

/* A timeline that keeps exclusion without a guard was asked under this one. */
static bool was_asked(const struct lb_hunt *h, size_t timeline, int guard) {
  const struct lb_hunt_count *none = lb_hunt_seen(&h->book, timeline);
  return lb_hunt_decided(none) > 0 && lb_hunt_violated(none) == 0 && lb_hunt_decided(&h->book.count[timeline][guard]) > 0;
}

static void tell_damage(const struct lb_hunt *h, int guard, FILE *out) {
  char id[LB_HUNT_ID_MAX];
  for (size_t i = 0; i < h->space.count; i++) {
    const struct lb_hunt_count *count = &h->book.count[i][guard];
    if (!was_asked(h, i, guard) || lb_hunt_violated(count) == 0) continue;
    lb_hunt_id(&h->space.timeline[i], id);
    fprintf(out, "  damage under %s, and none without: %s (%u of %u)\n", lb_guard_name((enum lb_guard)guard), id, lb_hunt_violated(count),
            lb_hunt_decided(count));
  }
}

static void tell_guards(const struct lb_hunt *h, FILE *out) {
  size_t asked[LB_GUARD_COUNT] = {0}, broke = 0, told = 0;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT && h->book.guard == LB_GUARD_NONE; guard++)
    for (size_t i = 0; i < h->space.count; i++)
      if (was_asked(h, i, guard)) asked[guard]++, broke += lb_hunt_violated(&h->book.count[i][guard]) > 0;
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (asked[guard]) fprintf(out, "%s %s %zu", told++ ? "," : "audit of guards, timelines that keep exclusion without one:", lb_guard_name((enum lb_guard)guard), asked[guard]);
  if (told) fprintf(out, broke ? "; %zu did damage.\n" : "; none did damage.\n", broke);
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (asked[guard]) tell_damage(h, guard, out);
}

void lb_hunt_tell_audit(const struct lb_hunt *h, FILE *out) {
  size_t of[LB_HUNT_ANSWER_COUNT] = {0};
  tell_guards(h, out);
  if (h->audit.count == 0) return;
  for (int answer = 0; answer < LB_HUNT_ANSWER_COUNT; answer++) of[answer] = lb_hunt_audit_count(&h->audit, &h->book, (enum lb_hunt_answer)answer);
  size_t ran = of[LB_HUNT_SAME] + of[LB_HUNT_OTHER] + of[LB_HUNT_UNCLEAR];
  fprintf(out, "audit: %zu of %zu timelines that need not be run were run", ran, count_sound(&h->space));
  if (ran > 0 && of[LB_HUNT_SAME] == ran) fputs(", all agree", out);
  else if (ran > 0) fprintf(out, ", %zu agree, %zu disagree, %zu are unclear", of[LB_HUNT_SAME], of[LB_HUNT_OTHER], of[LB_HUNT_UNCLEAR]);
  if (of[LB_HUNT_NO_ANSWER]) fprintf(out, "; %zu more were drawn and not decided", of[LB_HUNT_NO_ANSWER]);
  fputs(".\n", out);
  tell_all(h, LB_HUNT_OTHER, "  ERROR: ", out);
  tell_all(h, LB_HUNT_UNCLEAR, "  unclear: ", out);
}
