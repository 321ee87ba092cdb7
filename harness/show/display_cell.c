/* SPDX-License-Identifier: MIT
 *
 * A cell of a table on the terminal, and the line it stands in. The words are the same in the table
 * of scenarios and in that of guards, so that one legend explains both. Capitals mark the one
 * verdict that must not be overlooked, also where there is no colour.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "display.h"
#include "display_parts.h"
#include "live.h"

static const char *word(enum lb_verdict verdict, enum lb_display_style style) {
  static const char *const words[][2] = {
      [LB_SAFE] = {"safe", "safe"},       [LB_VIOLATED] = {"VIOLATED", "VIOL"},
      [LB_STUCK] = {"stuck", "stuck"},    [LB_DELAYED] = {"delayed", "delay"},
      [LB_UNDECIDED] = {"undecided", "??"},
      [LB_MIXED] = {"MIXED", "MIX"},      [LB_SKIPPED] = {"skipped", "skip"},
      [LB_NA] = {"n/a", "n/a"},           [LB_VERDICT_NONE] = {"not run", "none"},
  };
  return words[verdict][style];
}

/* A share is of decided trials: an undecided one is no evidence, so it does not make a violation
 * rarer. "k/n" becomes "n" where all agree and the words leave no doubt; a safe cell with undecided trials says how many were decided. VIOLATED keeps its
 * fraction in the wide style: "VIOLATED 3" would read like a number of violations. */
void lb_display_cell_text(const struct lb_cell_sum *cell, enum lb_display_style style, char *buf, size_t size) {
  int decided = lb_cell_decided(cell), k = cell->safe, of = decided;
  const char *mark = lb_cell_as_expected(cell) == 0 ? "!" : "", *name = word(cell->verdict, style);
  if (cell->verdict == LB_VIOLATED) k = cell->violated;
  else if (cell->verdict == LB_STUCK) k = cell->stuck;
  else if (cell->verdict == LB_DELAYED) k = cell->delayed;
  else if (cell->verdict == LB_MIXED) k = cell->violated + cell->stuck + cell->delayed;
  else if (cell->verdict == LB_UNDECIDED) k = cell->undecided, of = cell->trials;
  if (cell->verdict == LB_NA && cell->cell->note) snprintf(buf, size, "%s [%d]", name, cell->cell->note); /* of a footnote, no count */
  else if (of == 0) snprintf(buf, size, "%s", name);
  else if (cell->verdict == LB_SAFE && of < cell->trials) snprintf(buf, size, "%s %d of %d%s", name, of, cell->trials, mark);
  else if (k == of && (style == LB_DISPLAY_SHORT || cell->verdict == LB_SAFE)) snprintf(buf, size, "%s %d%s", name, of, mark);
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
  const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(fileno(out)) && !(refused && *refused) && !(term && strcmp(term, "dumb") == 0);
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

/* Scenarios are compared by address: they are the plan's own. The walk over all cells is cheap
 * beside a single trial. */
const struct lb_cell_sum *lb_display_cell_at(const struct lb_tally *tally, const struct lb_scenario *scenario, const char *system,
                                     enum lb_guard guard) {
  const struct lb_plan *plan = tally->plan;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard == guard &&
        strcmp(plan->cells[i].system, system) == 0)
      return &tally->cells[i];
  return NULL;
}

enum { WIDTH = 120, WIDTH_LEAST = 40 };

size_t lb_display_width(FILE *out) {
  const char *said = getenv("COLUMNS");
  long columns = said ? strtol(said, NULL, 10) : 0;
  if (columns <= 0) columns = lb_live_columns(out);
  if (columns <= 0 || columns > WIDTH) return WIDTH;
  return columns < WIDTH_LEAST ? WIDTH_LEAST : (size_t)columns;
}

/* A word that is longer than a line has one of its own. */
void lb_display_wrap_at(const char *text, size_t width, size_t first, size_t rest, FILE *out) {
  size_t indent = first;
  do {
    size_t room = width > indent + 1 ? width - indent : 1, n = strlen(text);
    if (n > room) {
      for (n = room; n > 0 && text[n] != ' ';) n--;
      if (n == 0) n = strcspn(text, " ");
    }
    fprintf(out, "%*s%.*s\n", (int)indent, "", (int)n, text);
    text += n;
    text += strspn(text, " ");
    indent = rest;
  } while (*text);
}

void lb_display_wrap(const char *text, size_t first, size_t rest, FILE *out) { lb_display_wrap_at(text, lb_display_width(out), first, rest, out); }
