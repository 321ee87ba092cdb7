/* SPDX-License-Identifier: MIT
 *
 * Fates of cells, whose fault they are, and the verdict on the lock.
 */
#include "judging.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"

void lb_fates_count(const struct lb_tally *tally, struct lb_fates *ret) {
  *ret = (struct lb_fates){0};
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &tally->cells[i];
    enum lb_fate fate = lb_fate_of(cell);
    ret->asked += fate != LB_FATE_NONE;
    ret->broken += fate == LB_FATE_BROKEN;
    ret->held += fate == LB_FATE_BROKEN && cell->sum.double_holds > 0;
    ret->stuck += fate == LB_FATE_STUCK;
    ret->open += fate == LB_FATE_OPEN;
    ret->own += fate != LB_FATE_LATE && lb_fate_is_own(cell);
    ret->skipped += cell->cell->guard == LB_GUARD_NONE && cell->verdict == LB_SKIPPED;
    ret->several |= cell->cell->topology != tally->cells[0].cell->topology;
  }
}

const char *lb_fates_kind(const struct lb_tally *tally, char *buf, size_t size) {
  struct lb_facts facts;
  struct lb_fates fates;
  char ends[40];
  const struct lb_cell *first = tally->plan->cells;
  lb_fates_count(tally, &fates);
  lb_facts_of(first->protocol, first->options, first->topology, NULL, &facts);
  lb_facts_get(&facts, "ends", ends, sizeof ends);
  bool never = strcmp(ends, "never") == 0;
  snprintf(buf, size, "%s%s on %s", never ? "without an end" : "with a ", never ? "" : ends,
           fates.several ? "these servers" : first->topology->name);
  return buf;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

static const struct lb_judging none;

static const struct lb_judging *of(const struct lb_tally *tally) {
  return tally->plan->judging ? tally->plan->judging : &none;
}

/* What is said with --baseline stands before the verdict, which is the same as without. */
static enum lb_exit compare(const struct lb_tally *tally, const struct lb_fates *f, struct lb_text *text) {
  const struct lb_judging *j = of(tally);
  struct lb_worse worse;
  lb_baseline_compare(j->baseline, tally, j, &worse);
  if (worse.count)
    lb_text_add(text, "worse than %s in %d: %s; ", lb_baseline_path(j->baseline), worse.count, worse.first);
  else if (f->asked == 0) return LB_EXIT_MISSING;
  else if (worse.open)
    lb_text_add(text, "undecided in %d that %s has an answer for: %s; ", worse.open, lb_baseline_path(j->baseline),
                worse.first_open);
  else if (worse.away)
    lb_text_add(text, "not asked in %d that %s has an answer for: %s; ", worse.away, lb_baseline_path(j->baseline),
                worse.first_away);
  else lb_text_add(text, "no worse than %s; ", lb_baseline_path(j->baseline));
  return worse.count ? LB_EXIT_UNEXPECTED : worse.open ? LB_EXIT_UNDECIDED : worse.away ? LB_EXIT_MISSING : LB_EXIT_OK;
}

static void add_name(const struct lb_tally *tally, const struct lb_fates *f, struct lb_text *text) {
  const struct lb_cell *first = tally->plan->cells;
  lb_text_add(text, ": %s", f->several ? first->protocol->name : first->system);
}

/* "; no fault of its own", "; 2 faults of its own". */
static void add_own(const struct lb_fates *f, const struct lb_judging *j, struct lb_text *text) {
  int own = f->own + j->failed;
  if (own) lb_text_add(text, "; %d fault%s of its own", own, own == 1 ? "" : "s");
  else lb_text_add(text, "; no fault of its own");
}

static void say(const struct lb_tally *tally, const struct lb_fates *f, struct lb_text *text) {
  const struct lb_judging *j = of(tally);
  const char *so_far = tally->done < tally->plan->job_count ? " so far" : "", *s_ = f->asked == 1 ? "" : "s";
  if (f->broken && f->held < f->broken)
    lb_text_add(text, "not safe: violated in %d of %d question%s%s, two clients held at once in %d", f->broken,
                f->asked, s_, so_far, f->held);
  else if (f->broken)
    lb_text_add(text, "not safe: two clients held at once in %d of %d question%s%s", f->broken, f->asked, s_, so_far);
  else if (f->stuck)
    lb_text_add(text, "stuck: no two clients held at once, but in %d of %d question%s%s nobody got the lock again",
                f->stuck, f->asked, s_, so_far);
  else if (f->asked == 0) lb_text_add(text, "nothing could be asked");
  else if (f->open)
    lb_text_add(text, "undecided: %d of %d question%s%s without an answer", f->open, f->asked, s_, so_far);
  else if (j->failed)
    lb_text_add(text, "undecided: no question broke it, but it fails %d of %d statements of %s", j->failed,
                j->statements, j->check);
  else lb_text_add(text, "safe in all %d question%s%s", f->asked, s_, so_far);
  if (f->broken || f->stuck) add_own(f, j, text);
  if (f->asked) add_name(tally, f, text);
}

enum lb_exit lb_judging_exit(const struct lb_tally *tally, char *line, size_t size) {
  struct lb_text text = {line, size, 0};
  struct lb_fates f;
  const struct lb_judging *j = of(tally);
  *line = '\0';
  lb_fates_count(tally, &f);
  enum lb_exit code = f.broken || f.stuck        ? LB_EXIT_UNEXPECTED
                      : f.asked == 0             ? LB_EXIT_MISSING
                      : f.open || j->failed != 0 ? LB_EXIT_UNDECIDED
                                                 : LB_EXIT_OK;
  if (j->baseline) code = compare(tally, &f, &text);
  say(tally, &f, &text);
  return code;
}
