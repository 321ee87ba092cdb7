/* SPDX-License-Identifier: MIT
 *
 * What a person sees while a run goes on, the remarks after it, and how cells and lines of tables are written. The live
 * line (live.h) is taken away before anything else is written. So only the lines of trials stay on the screen, if they
 * are asked for. The tables: display_table.c, display_figures.c.
 */
#include "display.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "plan/peers.h"

enum { NAMES_MAX = 64 /* of peers */, UNPREDICTED_MAX = 5 };
static const double LONGER = 1.25, LONGER_S = 2;

/* ---- while it runs --------------------------------------------------------------------------- */

static void put_trial(const struct lb_display *d, const struct lb_tally *tally, const struct lb_job_result *result) {
  const struct lb_trial_plan *plan = &result->job->plan;
  const struct lb_outcome *x = &result->outcome;
  fprintf(d->live.out, "[%zu/%zu] %s: %s", tally->done, tally->wanted, plan->name, lb_verdict_name(x->verdict));
  if (plan->scenario->kind == LB_KIND_LOAD && x->grants > 0) fprintf(d->live.out, ", %.0f grants/s", x->grants_per_s);
  if (x->double_holds > 0)
    fprintf(d->live.out, ", %llu double holds, %.1f ms", (unsigned long long)x->double_holds,
            (double)x->double_hold_ns / 1e6);
  if (x->lost_updates > 0) fprintf(d->live.out, ", %lld lost updates", (long long)x->lost_updates);
  if (x->why[0]) fprintf(d->live.out, " (%s)", x->why);
  fprintf(d->live.out, ", %.1f s\n", (double)x->trial_ns / 1e9);
  fflush(d->live.out);
}

/* The line of a trial that has just ended. Speed is named only where it was measured, damage only
 * where there was some: a line without either is a quiet trial. */
static void finished(void *data, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct lb_display *d = data;
  d->stale = true;
  if (!d->verbose) return;
  lb_live_hide(&d->live);
  put_trial(d, tally, result);
}

static size_t violations(const struct lb_tally *tally) {
  size_t sum = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) sum += (size_t)tally->cells[i].violated;
  return sum;
}

/* Estimated anew when a trial has ended; until the next one does, the time runs down. A guess that is only a little
 * longer than what was said does not make it run up. */
static double left_s(struct lb_display *d, const struct lb_tally *tally, uint64_t now) {
  if (!d->estimate) return -1;
  double left = d->left_s - (double)(now - d->left_ns) / 1e9;
  if (d->stale) {
    double guess = lb_estimate_left_s(d->estimate, tally, (double)(now - d->begin_ns) / 1e9);
    if (d->left_ns == 0 || guess < left || guess > LONGER * left + LONGER_S) d->left_s = left = guess, d->left_ns = now;
    d->stale = false;
  }
  return left > 0 ? left : 0;
}

/* It names one of the trials that run. */
static void tick(void *data, const struct lb_tally *tally, const struct lb_job *const running[], size_t count) {
  struct lb_display *d = data;
  uint64_t now = lb_clock_ns();
  if (count == 0) return;
  struct lb_live_state state = {.done = tally->done,
                                .all = tally->wanted,
                                .elapsed_s = (double)(now - d->begin_ns) / 1e9,
                                .left_s = left_s(d, tally, now),
                                .violations = violations(tally),
                                .what = running[0]->plan.name};
  lb_live_show(&d->live, &state);
}

/* On a line of its own, which stays. */
static void slow(void *data, const char *line) {
  struct lb_display *d = data;
  lb_live_hide(&d->live);
  fprintf(d->live.out, "%s\n", line);
  fflush(d->live.out);
}

/* What was typed before the order was read answers nothing. */
static bool by_hand(void *data, const char *order, lb_ns deadline) {
  struct pollfd typed = {STDIN_FILENO, POLLIN, 0};
  char line[300], answer = '\0';
  tcflush(STDIN_FILENO, TCIFLUSH);
  snprintf(line, sizeof line, "%s, then press Enter", order);
  slow(data, line);
  while (answer != '\n') {
    lb_ns now = lb_clock_ns();
    if (now >= deadline || poll(&typed, 1, (int)((deadline - now) / LB_NS_PER_MS) + 1) != 1) return false;
    if (read(STDIN_FILENO, &answer, 1) != 1) return false;
  }
  return true;
}

struct lb_progress lb_display_progress(struct lb_display *display) {
  display->begin_ns = display->live.said_ns = lb_clock_ns();
  display->stale = true;
  return (struct lb_progress){.finished = finished, .tick = tick, .slow = slow, .by_hand = by_hand, .display = display};
}

void lb_display_end(struct lb_display *d) { lb_live_hide(&d->live); }

/* ---- afterwards ------------------------------------------------------------------------------ */

/* "SCENARIO SYSTEM", and the guard where there is one. */
static void print_name(const char *mark, const struct lb_cell *cell, FILE *out) {
  fprintf(out, "%s %s %s", mark, cell->scenario->name, cell->system);
  if (cell->guard != LB_GUARD_NONE) fprintf(out, " (guard %s)", lb_guard_name(cell->guard));
  fputs(": ", out);
}

/* The expectation and its reason stand beside what was seen, so that the line is clear without the scenario. If the
 * scenario states nothing, only a violation or a stuck lock comes here. */
static void print_unexpected(const struct lb_cell_sum *sum, FILE *out) {
  const struct lb_expect *expect = sum->cell->expect;
  print_name("!", sum->cell, out);
  fprintf(out, "%s, expected %s", lb_verdict_name(sum->verdict),
          expect ? lb_verdict_name(expect->verdict) : "no violation (nothing is stated)");
  if (expect && expect->reason && *expect->reason) fprintf(out, ": %s", expect->reason);
  if (sum->why[0]) fprintf(out, "; seen: %s", sum->why);
  if (!expect && lb_cell_sum_as_predicted(sum) > 0)
    fprintf(out, "; as predicted (%s): %s", sum->cell->prediction.rule->attack, sum->cell->prediction.reason);
  putc('\n', out);
}

void lb_display_unpredicted(const struct lb_tally *tally, FILE *out) {
  size_t count = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *sum = &tally->cells[i];
    const struct lb_prediction *said = &sum->cell->prediction;
    if (lb_cell_sum_as_predicted(sum) != 0 || ++count > UNPREDICTED_MAX) continue;
    print_name("not as predicted:", sum->cell, out);
    fprintf(out, "predicted %s, found %s; rule %s: %s\n", lb_verdict_name(said->verdict), lb_verdict_name(sum->verdict),
            said->rule->attack, said->reason);
  }
  if (count > UNPREDICTED_MAX)
    fprintf(out, "not as predicted: %zu more, `predicted` in run.json has them\n", count - UNPREDICTED_MAX);
}

/* The libraries that are not here, in one line for all their cells. */
static void print_missing_peers(const struct lb_tally *tally, FILE *out) {
  const char *names[NAMES_MAX];
  size_t cells = 0, count = 0, all = 0;
  const struct lb_protocol *seen[NAMES_MAX];
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_protocol *p = tally->plan->cells[i].protocol;
    size_t at = 0;
    if (!lb_peers_has(p)) continue;
    if (tally->cells[i].verdict == LB_SKIPPED && lb_peers_missing_file(p)) cells++;
    while (at < all && seen[at] != p) at++;
    if (at < all || all == NAMES_MAX) continue;
    seen[all++] = p;
    if (lb_peers_missing_file(p)) names[count++] = lb_peers_name(p);
  }
  if (!cells) return;
  fprintf(out, "  %zu cell%s skipped: ", cells, cells == 1 ? "" : "s");
  lb_peers_say_missing(names, count, all, out);
}

/* In one line for all of them: a race may fall well in every trial. */
static void print_better(const struct lb_tally *tally, FILE *out) {
  size_t count = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++)
    if (lb_cell_sum_is_better(&tally->cells[i]) && count++ == 0) {
      print_name(" ", tally->cells[i].cell, out);
      fputs("safe, where a race decides", out);
    }
  if (count > 1) fprintf(out, "; so %s %zu more", count == 2 ? "is" : "are", count - 1);
  if (count) putc('\n', out);
}

/* A cell against expectation of which some trials were undecided comes twice: both are remarks of
 * their own. A cell that means nothing needs none. */
void lb_display_remarks(const struct lb_tally *tally, FILE *out) {
  size_t count = tally->plan->cell_count;
  for (size_t i = 0; i < count; i++) /* what matters first */
    if (lb_cell_sum_as_expected(&tally->cells[i]) == 0) print_unexpected(&tally->cells[i], out);
  for (size_t i = 0; i < count; i++) {
    const struct lb_cell_sum *sum = &tally->cells[i];
    if (sum->verdict == LB_SKIPPED && lb_peers_missing_file(sum->cell->protocol)) continue;
    if (sum->verdict == LB_SKIPPED) {
      print_name(" ", sum->cell, out);
      fprintf(out, "skipped: %s\n", sum->cell->skip);
    } else if (sum->undecided) {
      print_name(" ", sum->cell, out);
      fprintf(out, "decided %d of %d; the other%s: %s\n", lb_cell_sum_decided(sum), sum->trials,
              sum->undecided == 1 ? "" : "s", lb_tally_why(tally, i, LB_UNDECIDED));
    }
    const char *why = sum->trials ? lb_tally_why(tally, i, LB_SAFE) : "";
    if (sum->trials && sum->sum.speed_void) {
      print_name(" ", sum->cell, out);
      fprintf(out, "%llu of %d trials: %s\n", (unsigned long long)sum->sum.speed_void, sum->trials, why);
    } else if (*why) {
      print_name(" ", sum->cell, out);
      fprintf(out, "safe, but %s\n", why);
    }
  }
  print_better(tally, out);
  print_missing_peers(tally, out);
}

/* ---- a cell, and the line it stands in ---------------------------------------------------------
 *
 * The words are the same in all tables, so that one legend explains them. Capitals mark the one verdict that must
 * not be overlooked, also where there is no colour. */

static const char *word(enum lb_verdict verdict, enum lb_display_style style) {
  static const char *const words[][2] = {
      [LB_SAFE] = {"safe", "safe"},
      [LB_VIOLATED] = {"VIOLATED", "VIOL"},
      [LB_STUCK] = {"stuck", "stuck"},
      [LB_DELAYED] = {"delayed", "delay"},
      [LB_UNDECIDED] = {"undecided", "??"},
      [LB_MIXED] = {"MIXED", "MIX"},
      [LB_SKIPPED] = {"skipped", "skip"},
      [LB_NA] = {"n/a", "n/a"},
      [LB_VERDICT_NONE] = {"not run", "none"},
  };
  return words[verdict][style];
}

/* A share is of decided trials: an undecided one is no evidence, so it does not make a violation
 * rarer. "k/n" becomes "n" where all agree and the words leave no doubt; a safe cell with undecided trials says how
 * many were decided. VIOLATED keeps its fraction in the wide style: "VIOLATED 3" would read like a number of
 * violations. */
void lb_display_cell_text(const struct lb_cell_sum *cell, enum lb_display_style style, char *buf, size_t size) {
  int decided = lb_cell_sum_decided(cell), k = cell->safe, of = decided;
  const char *mark = lb_cell_sum_as_expected(cell) == 0 ? "!" : "", *name = word(cell->verdict, style);
  if (cell->verdict == LB_VIOLATED) k = cell->violated;
  else if (cell->verdict == LB_STUCK) k = cell->stuck;
  else if (cell->verdict == LB_DELAYED) k = cell->delayed;
  else if (cell->verdict == LB_MIXED) k = cell->violated + cell->stuck + cell->delayed;
  else if (cell->verdict == LB_UNDECIDED) k = cell->undecided, of = cell->trials;
  if (cell->verdict == LB_NA && cell->cell->note)
    snprintf(buf, size, "%s [%d]", name, cell->cell->note); /* of a footnote, no count */
  else if (of == 0) snprintf(buf, size, "%s", name);
  else if (cell->verdict == LB_SAFE && of < cell->trials)
    snprintf(buf, size, "%s %d of %d%s", name, of, cell->trials, mark);
  else if (k == of && (style == LB_DISPLAY_SHORT || cell->verdict == LB_SAFE))
    snprintf(buf, size, "%s %d%s", name, of, mark);
  else snprintf(buf, size, "%s %d/%d%s", name, k, of, mark);
}

/* Green, red, magenta, yellow; everything that decided nothing is dim. */
const char *lb_display_colour(enum lb_verdict verdict) {
  switch (verdict) {
    case LB_SAFE: return "\033[32m";
    case LB_VIOLATED: return "\033[31m";
    case LB_MIXED: return "\033[35m";
    case LB_STUCK:
    case LB_DELAYED: return "\033[33m";
    default: return "\033[2m";
  }
}

/* NO_COLOR is honoured as no-color.org has it: any value but an empty one. */
bool lb_display_has_colour(FILE *out) {
  const char *refused = getenv("NO_COLOR");
  return lb_live_terminal(out) && !(refused && *refused);
}

/* What is missing to the width is owed to the next field. */
void lb_display_field(struct lb_display_line *line, const char *text, size_t width, const char *colour, FILE *out) {
  size_t length = strlen(text);
  if (length) {
    fprintf(out, "%*s%s%s%s", (int)line->pending, "", colour ? colour : "", text, colour ? "\033[0m" : "");
    line->pending = 0;
  }
  line->pending += length < width ? width - length : 0;
}

enum { WIDTH = 120, WIDTH_LEAST = 40 };

size_t lb_display_width(FILE *out) {
  const char *said = getenv("COLUMNS");
  long columns = said ? strtol(said, NULL, 10) : 0;
  if (columns <= 0) columns = lb_live_columns(out);
  if (columns <= 0 || columns > WIDTH) return WIDTH;
  return columns < WIDTH_LEAST ? WIDTH_LEAST : (size_t)columns;
}

void lb_display_wrap_at(const char *text, size_t width, size_t first, size_t rest, FILE *out) {
  size_t indent = first;
  do {
    size_t n = lb_text_fit(text, width > indent + 1 ? width - indent : 1);
    fprintf(out, "%*s%.*s\n", (int)indent, "", (int)n, text);
    text += n;
    text += strspn(text, " ");
    indent = rest;
  } while (*text);
}

void lb_display_wrap(const char *text, size_t first, size_t rest, FILE *out) {
  lb_display_wrap_at(text, lb_display_width(out), first, rest, out);
}
