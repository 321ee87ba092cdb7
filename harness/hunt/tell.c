/* SPDX-License-Identifier: MIT
 *
 * The table of a hunt, for people. What it says of a system is in words of the readers: the smallest number of faults
 * that breaks it, and which.
 */
#include "tell.h"

#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "replay.h"
#include "rests.h"
#include "simplify.h"

/* Mechanisms: the same faults at another moment are no other set to a reader. Those that need what no machine does are
 * counted apart. */
static size_t count_sets(const struct lb_hunt *h, enum lb_hunt_outcome class, enum lb_hunt_standing standing,
                         size_t faults, bool unreal) {
  size_t count = 0;
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *s = &h->sets.set[i];
    if (s->class != class || s->standing != standing || h->space.timeline[s->timeline].fault_count != faults ||
        lb_hunt_timeline_has_unreal(&h->space.timeline[s->timeline]) != unreal)
      continue;
    count += lb_hunt_sets_is_first(&h->sets, &h->space, i);
  }
  return count;
}

static size_t count_class(const struct lb_hunt *h, enum lb_hunt_outcome class, enum lb_hunt_standing standing) {
  size_t count = 0;
  for (size_t k = 0; k <= LB_HUNT_FAULTS_MAX; k++) count += count_sets(h, class, standing, k, false);
  return count;
}

/* Timelines of which nothing but this came. */
static size_t count_came(const struct lb_hunt *h, enum lb_hunt_outcome outcome) {
  size_t count = 0;
  for (size_t i = 0; i < h->space.count; i++) {
    const struct lb_hunt_count *c = lb_hunt_journal_seen(&h->journal, i);
    unsigned decided = lb_hunt_count_decided(c);
    count +=
        outcome == LB_HUNT_UNDECIDED ? decided == 0 && c->of[outcome] > 0 : decided > 0 && c->of[outcome] == decided;
  }
  return count;
}

enum { NAME_WIDTH = 32 };

void lb_hunt_tell_head(FILE *out) {
  fprintf(out, "%-*s %8s %6s %6s %6s %6s %6s %6s %9s %7s %6s %7s %8s %9s %8s\n", NAME_WIDTH, "system", "smallest", "0",
          "1", "2", "3", "unreal", "core", "sometimes", "late", "damage", "numbers", "blocked", "undecided", "time");
  fprintf(out, "%-*s %8s %27s %6s %6s\n", NAME_WIDTH, "", "faults", "minimal sets with .. faults", "clocks", "breaks");
}

void lb_hunt_tell_row(const struct lb_hunt *h, FILE *out) {
  char smallest[8] = "-", core[24], name[120];
  struct lb_hunt_share share = lb_hunt_journal_core(&h->journal);
  size_t unreal = 0;
  for (size_t k = LB_HUNT_FAULTS_MAX + 1; k-- > 0;)
    if (count_sets(h, LB_HUNT_LEASE, LB_HUNT_MINIMAL, k, false) > 0) snprintf(smallest, sizeof smallest, "%zu", k);
  snprintf(name, sizeof name, "%s%s%s", h->space.system.name, h->journal.guard == LB_GUARD_NONE ? "" : " ",
           h->journal.guard == LB_GUARD_NONE ? "" : lb_guard_name(h->journal.guard));
  if (strlen(name) > NAME_WIDTH) fprintf(out, "%s\n", name), *name = '\0'; /* rows are told one by one, hours apart */
  fprintf(out, "%-*s %8s", NAME_WIDTH, name, smallest);
  for (size_t k = 0; k <= LB_HUNT_FAULTS_MAX; k++) {
    if ((int)k > h->space.faults_max || h->wanted[k] == 0) fprintf(out, " %6s", "");
    else fprintf(out, " %6zu", count_sets(h, LB_HUNT_LEASE, LB_HUNT_MINIMAL, k, false));
  }
  for (size_t k = 0; k <= LB_HUNT_FAULTS_MAX; k++) unreal += count_sets(h, LB_HUNT_LEASE, LB_HUNT_MINIMAL, k, true);
  snprintf(core, sizeof core, "%u/%u", share.broke, share.decided);
  fprintf(out, " %6zu %6s %9zu %7zu %6zu %7zu %8zu %9zu %6.0f s\n", unreal, core,
          count_class(h, LB_HUNT_LEASE, LB_HUNT_SOMETIMES) + count_class(h, LB_HUNT_LEASE, LB_HUNT_OPEN) +
              count_class(h, LB_HUNT_LEASE, LB_HUNT_NOT_REPLAYED),
          count_class(h, LB_HUNT_EXPIRED, LB_HUNT_MINIMAL), count_class(h, LB_HUNT_DAMAGE, LB_HUNT_MINIMAL),
          count_class(h, LB_HUNT_NUMBERS, LB_HUNT_MINIMAL), count_came(h, LB_HUNT_BLOCKED),
          count_came(h, LB_HUNT_UNDECIDED), h->seconds);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static const char *standing_text(enum lb_hunt_standing standing) {
  switch (standing) {
    case LB_HUNT_MINIMAL: return "";
    case LB_HUNT_NOT_REPLAYED: return ", not replayed";
    case LB_HUNT_OPEN: return ", not known to be minimal";
    default: return ", sometimes";
  }
}

static void tell_faults(const struct lb_hunt_timeline *t, FILE *out) {
  char words[200];
  if (t->fault_count == 0) fputs("without any fault", out);
  for (size_t i = 0; i < t->fault_count; i++) {
    lb_hunt_fault_say(t->fault[i], words, sizeof words);
    fprintf(out, "%s%s", i ? "; " : "", words);
  }
}

/* "L1.kill-P@H-back" where the first of its kind stood at L1.kill-P@H-gone: ids of the others, as many as there is room
 * for. */
static void tell_others(const struct lb_hunt *h, size_t first, FILE *out) {
  enum { ROOM = 4 };
  char id[LB_HUNT_ID_MAX];
  size_t count = 0;
  for (size_t i = first + 1; i < h->sets.count; i++) {
    const struct lb_hunt_set *s = &h->sets.set[i];
    if (s->standing != h->sets.set[first].standing || !lb_hunt_set_alike(&h->space, &h->sets.set[first], s)) continue;
    if (count++ >= ROOM) continue;
    lb_hunt_timeline_id(&h->space.timeline[s->timeline], id);
    fprintf(out, "%s%s %u/%u", count == 1 ? "\n      also " : ", ", id, s->broke, s->decided);
  }
  if (count > ROOM) fprintf(out, " and %zu more", count - ROOM);
}

static void tell_simplest(const struct lb_hunt *h, const struct lb_hunt_set *set, FILE *out) {
  char id[LB_HUNT_ID_MAX];
  if (!lb_hunt_simplify_helped(set)) return;
  lb_hunt_timeline_id(&h->space.timeline[set->simplest.timeline], id);
  bool same = set->simplest.timeline == set->timeline;
  fprintf(out, "\n      its simplest form: %s%s", same ? "" : id,
          lb_hunt_simplify_without_text(set->simplest.without) + (same ? strlen(", ") : 0));
}

void lb_hunt_tell_sets(const struct lb_hunt *h, const char *folder, size_t max, FILE *out) {
  char id[LB_HUNT_ID_MAX], hosts[60];
  size_t told[LB_HUNT_OUTCOME_COUNT] = {0};
  for (size_t i = 0; i < h->sets.count; i++) {
    const struct lb_hunt_set *s = &h->sets.set[i];
    const struct lb_hunt_timeline *t = &h->space.timeline[s->timeline];
    if (!lb_hunt_sets_is_first(&h->sets, &h->space, i) || (told[s->class]++ >= max && s->class != LB_HUNT_LEASE))
      continue;
    lb_hunt_timeline_id(t, id);
    fprintf(out, "  %s/hunt/%02zu.ini  %u/%u  %s%s%s%s%s\n      ", folder, i + 1, s->broke, s->decided, id,
            s->class == LB_HUNT_LEASE ? "" : ", ",
            s->class == LB_HUNT_LEASE ? "" : lb_hunt_outcome_class_text(s->class), standing_text(s->standing),
            lb_hunt_timeline_has_unreal(t) ? ", only with a clock that no machine has" : "");
    tell_faults(t, out);
    lb_hunt_hosts_say(&h->space.system, t, hosts, sizeof hosts);
    if (*hosts) fprintf(out, "\n      hits%s", hosts + strlen("It hits"));
    if (s->replayed) fprintf(out, "\n      replayed: %u of %u came out so", s->agreed, s->replayed);
    tell_simplest(h, s, out);
    tell_others(h, i, out);
    fputc('\n', out);
  }
  for (int class = LB_HUNT_EXPIRED; class <= LB_HUNT_CLASS_LAST; class ++)
    if (told[class] > max)
      fprintf(out, "  and %zu more that break %s%s: hunt.csv\n", told[class] - max,
              class == LB_HUNT_EXPIRED ? "only " : "", lb_hunt_outcome_class_text((enum lb_hunt_outcome) class));
}

/* ---- remarks ----------------------------------------------------------------------------------------------------- */

static void tell_end(const struct lb_hunt *h, const struct lb_hunt_order *order, FILE *out) {
  if (h->end == LB_HUNT_OUT_OF_BUDGET) fprintf(out, "The budget of %.0f s was over:", order->budget_s);
  if (h->end == LB_HUNT_INTERRUPTED) fputs("Interrupted (the same command continues here):", out);
  if (h->end == LB_HUNT_WHOLE) fputs(order->only ? "One timeline" : "Timelines:", out);
  for (int k = 0; k <= h->space.faults_max; k++)
    if (h->wanted[k] > 0)
      fprintf(out, "%s %zu of %zu with %d fault%s", k ? "," : "", h->ran[k], k ? h->wanted[k] : h->ran[k], k,
              k == 1 ? "" : "s");
  size_t held = 0;
  for (int k = 0; k <= h->space.faults_max; k++) held += h->held[k];
  if (held) fprintf(out, "; %zu have a minimal set in them and were not run", held);
  if (h->audited)
    fprintf(out, ", but for a sample of %zu, of which %zu did not break: a fault can hide another", h->audited,
            h->audit_new);
  fprintf(out, ". %zu trials, %zu undecided.\n", h->journal.trials, h->journal.undecided);
}

static void tell_replays(const struct lb_hunt *h, FILE *out) {
  struct lb_hunt_replays all = lb_hunt_replay_count(&h->journal);
  if (all.sets == 0) return;
  fprintf(out, "Replays under another seed: %u of %u trials of %u sets came out as before", all.agreed, all.decided,
          all.sets);
  if (all.refuted) fprintf(out, "; %u sets did not every time, %u of them never", all.refuted, all.gone);
  fputs(".\n", out);
}

static void tell_lineage(const struct lb_hunt *h, FILE *out) {
  char rests[200];
  if (h->first == 0) return;
  lb_hunt_rests_say(h->space.system.rests, rests, sizeof rests);
  fprintf(out, "A grant rests on %s%s%s%s: %zu timelines came first for that.\n", rests, *h->journal.said ? " (" : "",
          h->journal.said, *h->journal.said ? ")" : "", h->first);
}

static void tell_left_out(const struct lb_hunt *h, FILE *out) {
  char without[LB_HUNT_WITHOUT_MAX];
  lb_hunt_switches_format(&h->space.switches, without);
  if (*without) fprintf(out, "Left out by --without: %s. Nobody knows what these would have broken.\n", without);
}

static void tell_pruned(const struct lb_hunt *h, FILE *out) {
  for (int why = LB_HUNT_RUN + 1; why < LB_HUNT_PRUNED_COUNT; why++) {
    size_t count = 0;
    for (size_t i = 0; i < h->space.count; i++) count += h->space.timeline[i].pruned == (enum lb_hunt_pruned)why;
    if (count)
      fprintf(out, "  %6zu not run: %s%s\n", count, lb_hunt_prune_text((enum lb_hunt_pruned)why),
              lb_hunt_prune_is_sound((enum lb_hunt_pruned)why) ? "" : " (a bound, not a proof)");
  }
}

static void tell_guards(const struct lb_hunt *h, FILE *out) {
  bool some = false;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++) {
    if (h->asked_of[guard] == 0) continue;
    fprintf(out, "%s %s %u of %u",
            some ? "," : "Without damage under a guard, of the minimal sets:", lb_guard_name((enum lb_guard)guard),
            h->stopped_by[guard], h->asked_of[guard]);
    some = true;
  }
  if (some) fputs(".\n", out);
}

/* The reasons begin alike and end in names and numbers: those with the same first words are told once. */
static void tell_undecided(const struct lb_hunt *h, FILE *out) {
  enum { REASONS = 6, ALIKE = 40 };
  const char *reason[REASONS];
  size_t of[REASONS] = {0}, count = 0;
  for (size_t i = 0; i < h->space.count; i++) {
    if (!h->journal.why[i][0] || lb_hunt_count_decided(lb_hunt_journal_seen(&h->journal, i)) > 0) continue;
    size_t at = 0;
    while (at < count && strncmp(reason[at], h->journal.why[i], ALIKE) != 0) at++;
    if (at == REASONS) continue;
    if (at == count) reason[count++] = h->journal.why[i];
    of[at]++;
  }
  for (size_t i = 0; i < count; i++) fprintf(out, "  %6zu undecided: %s\n", of[i], reason[i]);
}

void lb_hunt_tell_legend(FILE *out) {
  fputs(
      "\nminimal set: it breaks the lock in every trial, also replayed, and no part of it in more than\n"
      "half of its trials. smallest: its faults\n"
      "0..3: minimal sets with so many faults; unreal clocks: those that need a clock that no machine has\n"
      "core breaks: of the timelines that each lock is asked, how many broke it, of those decided\n"
      "sometimes: sets that broke it in some trials only, or that were not replayed often enough\n"
      "late: two held, but the earlier lease was over; damage: nobody held beside another, but a stale write came in\n"
      "numbers: a fencing token repeated or went backwards, nothing else; blocked: timelines without a grant when it mattered\n",
      out);
}

void lb_hunt_tell_remarks(const struct lb_hunt *h, const struct lb_hunt_order *order, FILE *out) {
  tell_end(h, order, out);
  tell_replays(h, out);
  tell_lineage(h, out);
  tell_left_out(h, out);
  lb_hunt_tell_audit(h, out);
  tell_guards(h, out);
  tell_undecided(h, out);
  tell_pruned(h, out);
}

/* What a person reads of the audit of a hunt: that what was left out could be left out, or which timeline says
 * otherwise. */

static size_t count_sound(const struct lb_hunt_space *space) {
  size_t count = 0;
  for (size_t i = 0; i < space->count; i++) count += lb_hunt_prune_is_sound(space->timeline[i].pruned);
  return count;
}

/* "L1.kill-c1@A (broke 5 of 5 within a lease)". */
static void tell_one(const struct lb_hunt *h, size_t timeline, FILE *out) {
  struct lb_hunt_count count = lb_hunt_audit_seen(&h->audit, &h->journal, timeline);
  unsigned decided = lb_hunt_count_decided(&count), told = 0;
  char id[LB_HUNT_ID_MAX];
  lb_hunt_timeline_id(&h->space.timeline[timeline], id);
  fprintf(out, "%s (", id);
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST; class ++)
    if (count.of[class])
      fprintf(out, "%s %u of %u %s", told++ ? "," : "broke", count.of[class], decided,
              lb_hunt_outcome_class_text((enum lb_hunt_outcome) class));
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
    if (lb_hunt_audit_answer(&h->audit, &h->journal, d) != answer) continue;
    fputs(head, out);
    tell_one(h, d->timeline, out);
    fputs(" was to come out as ", out);
    tell_one(h, d->stand_in, out);
    tell_set(h, d->stand_in, out);
    fprintf(out, ". Reason not to run it: %s\n", lb_hunt_prune_text(h->space.timeline[d->timeline].pruned));
  }
}

/* A timeline that keeps exclusion without a guard was asked under this one. */
static bool was_asked(const struct lb_hunt *h, size_t timeline, int guard) {
  const struct lb_hunt_count *none = lb_hunt_journal_seen(&h->journal, timeline);
  return lb_hunt_count_decided(none) > 0 && lb_hunt_count_violated(none) == 0 &&
         lb_hunt_count_decided(&h->journal.count[timeline][guard]) > 0;
}

static void tell_damage(const struct lb_hunt *h, int guard, FILE *out) {
  char id[LB_HUNT_ID_MAX];
  for (size_t i = 0; i < h->space.count; i++) {
    const struct lb_hunt_count *count = &h->journal.count[i][guard];
    if (!was_asked(h, i, guard) || lb_hunt_count_violated(count) == 0) continue;
    lb_hunt_timeline_id(&h->space.timeline[i], id);
    fprintf(out, "  damage under %s, and none without: %s (%u of %u)\n", lb_guard_name((enum lb_guard)guard), id,
            lb_hunt_count_violated(count), lb_hunt_count_decided(count));
  }
}

static void tell_audit_of_guards(const struct lb_hunt *h, FILE *out) {
  size_t asked[LB_GUARD_COUNT] = {0}, broke = 0, told = 0;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT && h->journal.guard == LB_GUARD_NONE; guard++)
    for (size_t i = 0; i < h->space.count; i++)
      if (was_asked(h, i, guard)) asked[guard]++, broke += lb_hunt_count_violated(&h->journal.count[i][guard]) > 0;
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (asked[guard])
      fprintf(out, "%s %s %zu", told++ ? "," : "audit of guards, timelines that keep exclusion without one:",
              lb_guard_name((enum lb_guard)guard), asked[guard]);
  if (told) fprintf(out, broke ? "; %zu did damage.\n" : "; none did damage.\n", broke);
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++)
    if (asked[guard]) tell_damage(h, guard, out);
}

void lb_hunt_tell_audit(const struct lb_hunt *h, FILE *out) {
  size_t of[LB_HUNT_ANSWER_COUNT] = {0};
  tell_audit_of_guards(h, out);
  if (h->audit.count == 0) return;
  for (int answer = 0; answer < LB_HUNT_ANSWER_COUNT; answer++)
    of[answer] = lb_hunt_audit_count(&h->audit, &h->journal, (enum lb_hunt_answer)answer);
  size_t ran = of[LB_HUNT_SAME] + of[LB_HUNT_OTHER] + of[LB_HUNT_UNCLEAR];
  fprintf(out, "audit: %zu of %zu timelines that need not be run were run", ran, count_sound(&h->space));
  if (ran > 0 && of[LB_HUNT_SAME] == ran) fputs(", all agree", out);
  else if (ran > 0)
    fprintf(out, ", %zu agree, %zu disagree, %zu are unclear", of[LB_HUNT_SAME], of[LB_HUNT_OTHER],
            of[LB_HUNT_UNCLEAR]);
  if (of[LB_HUNT_NO_ANSWER]) fprintf(out, "; %zu more were drawn and not decided", of[LB_HUNT_NO_ANSWER]);
  fputs(".\n", out);
  tell_all(h, LB_HUNT_OTHER, "  ERROR: ", out);
  tell_all(h, LB_HUNT_UNCLEAR, "  unclear: ", out);
}

/* The list of a space: what a hunt would run, and what not, and why. Nothing is started for it. */
