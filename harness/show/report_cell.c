/* SPDX-License-Identifier: MIT
 *
 * A cell as the page shows it: in the tables, and once more in words in the lists of what needs a
 * look. A verdict is said by word, glyph and fill, so that it survives a printer without colours
 * and readers who do not see them. What differs from the expectation is marked in its cell and
 * listed, with the reason that the scenario gives; so is what stayed undecided or was skipped.
 */
#include <string.h>

#include "html.h"
#include "report_parts.h"

#define NBSP "\xC2\xA0" /* cells are narrow: a line ends elsewhere */

/* ---- a cell ---------------------------------------------------------------------------------- */

static json_int_t count_of(const json_t *cell, const char *key) {
  return json_integer_value(json_object_get(cell, key));
}

/* A violation that nobody expected fails a run as much as one that was expected not to be. */
static bool is_unforeseen(const json_t *cell) {
  return json_is_null(json_object_get(cell, "expected")) && lb_report_is(cell, "verdict", "violated");
}

/* Of the rest only a definite `false`: null means that nothing was expected, or that nothing was decided. */
static bool differs(const json_t *cell) {
  return json_is_false(json_object_get(cell, "as_expected")) || is_unforeseen(cell);
}

/* By letters, for the word is one of those that lb_report_load() lets pass. */
static const char *glyph(const char *verdict) {
  switch (verdict[0]) {
    case 'v': return "✗";
    case 'd': return "□";
    case 'm': return "±";
    case 'u': return "?";
    case 'n': return "·";
    default: return verdict[1] == 'a' ? "✓" : verdict[1] == 't' ? "■" : "–"; /* safe, stuck, skipped */
  }
}

/* The class of its style; a '/' would have to be escaped there. */
static const char *class_of(const char *verdict) { return strcmp(verdict, "n/a") == 0 ? "na" : verdict; }

/* Of decided trials: an undecided one is no evidence, so it is said how many were decided. A safe cell has the
 * upper bound of its violation rate, because "0 of 3" and "0 of 300" do not say the same. Runs of
 * older versions do not say how many were stuck. */
static void write_count(FILE *out, const json_t *cell) {
  json_int_t trials = count_of(cell, "trials"), undecided = count_of(cell, "undecided"), decided = trials - undecided;
  if (lb_report_is(cell, "verdict", "safe"))
    lb_html_textf(out, "0/%lld (≤" NBSP "%.1f" NBSP "%%)", (long long)decided,
                  100 * json_number_value(json_object_get(cell, "upper95")));
  else if (lb_report_is(cell, "verdict", "violated"))
    lb_html_textf(out, "%lld/%lld", (long long)count_of(cell, "violated"), (long long)decided);
  else if (lb_report_is(cell, "verdict", "mixed"))
    lb_html_textf(out, "%lld/%lld", (long long)(count_of(cell, "violated") + count_of(cell, "stuck") + count_of(cell, "delayed")), (long long)decided);
  else if (lb_report_is(cell, "verdict", "delayed")) lb_html_textf(out, "%lld/%lld", (long long)count_of(cell, "delayed"), (long long)decided);
  else if (lb_report_is(cell, "verdict", "undecided")) lb_html_textf(out, "%lld/%lld", (long long)undecided, (long long)trials);
  else if (lb_report_is(cell, "verdict", "stuck") && json_is_integer(json_object_get(cell, "stuck")))
    lb_html_textf(out, "%lld/%lld", (long long)count_of(cell, "stuck"), (long long)decided);
  if (undecided > 0 && !lb_report_is(cell, "verdict", "undecided")) lb_html_textf(out, " (decided %lld of %lld)", (long long)decided, (long long)trials);
}

/* "why it was not decided; expected safe: a majority is left", as far as there is something to say. */
static void write_reasons(FILE *out, const json_t *cell) {
  const char *expected = lb_report_string(cell, "expected"), *reason = lb_report_string(cell, "reason");
  const char *why = lb_report_string(cell, "why");
  bool has_why = why && *why, has_reason = reason && *reason;
  if (has_why) lb_html_text(out, why);
  if (expected)
    lb_html_textf(out, "%sexpected %s%s%s", has_why ? "; " : "", expected, has_reason ? ": " : "",
                  has_reason ? reason : "");
  if (!has_why && !expected) lb_html_text(out, "nothing expected");
}

/* What happened at the resource, as far as something did, and what stopped a client before it: what
 * a guard is there for. An older run only knows what a fence would have turned away. */
static void write_damage(FILE *out, const json_t *cell) {
  static const struct {
    const char *member, *one, *more;
  } counts[] = {{"lost_updates", "lost update", "lost updates"},
                {"stale_writes", "stale write", "stale writes"},
                {"stopped_lease_over", "lease over", "lease over"},
                {"stopped_in_doubt", "in doubt", "in doubt"},
                {"stopped_told_no", "told no", "told no"},
                {"stopped_no_majority", "no majority", "no majority"},
                {"stopped_no_answer", "no answer", "no answer"},
                {"refused", "refused by the resource", "refused by the resource"},
                {"fenced_off", "fenced off", "fenced off"},
                {"token_regressions", "token regression", "token regressions"}};
  const char *between = "<small>";
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    json_int_t count = count_of(cell, counts[i].member);
    bool older = json_object_get(cell, "refused") == NULL;
    if (count <= 0 || (strcmp(counts[i].member, "fenced_off") == 0 && !older)) continue;
    fprintf(out, "%s%lld %s", between, (long long)count, count == 1 ? counts[i].one : counts[i].more);
    between = ", ";
  }
  if (*between == ',') fputs("</small>", out);
}

/* The verdict is also the class of the cell; it needs no escaping, as it is one of the known words.
 * Reasons are in the title, which is seen while the pointer rests on the cell: in the cell itself
 * they would tear the table apart. */
void lb_report_cell(FILE *out, const json_t *cell, bool with_damage) {
  if (!cell) {
    fputs("<td class=\"none\" title=\"not run\"></td>", out);
    return;
  }
  const char *verdict = lb_report_string(cell, "verdict");
  fprintf(out, "<td class=\"%s%s\" title=\"", class_of(verdict), differs(cell) ? " differs" : "");
  write_reasons(out, cell);
  fprintf(out, "\"><span>%s" NBSP "%s</span> <span>", glyph(verdict), verdict);
  write_count(out, cell);
  if (count_of(cell, "note") > 0) fprintf(out, "<sup>%lld</sup>", (long long)count_of(cell, "note"));
  fputs("</span>", out);
  if (with_damage) write_damage(out, cell);
  if (differs(cell)) {
    fputs("<small>≠ expected ", out);
    if (is_unforeseen(cell)) fputs("nothing", out);
    else lb_report_value(out, cell, "expected", "safe");
    fputs("</small>", out);
  }
  fputs("</td>", out);
}

/* Notes are numbered in the order of the cells; each is told once. Runs of older versions have
 * none. */
void lb_report_notes(FILE *out, const json_t *cells) {
  size_t i;
  const json_t *cell;
  json_int_t told = 0;
  json_array_foreach(cells, i, cell) {
    if (count_of(cell, "note") <= told) continue;
    if (told++ == 0) fputs("<p class=\"soft\">n/a: the question means nothing there, because</p>\n<ol class=\"soft\">\n", out);
    fputs("<li>", out);
    lb_report_value(out, cell, "why", "");
    fputs("</li>\n", out);
  }
  if (told) fputs("</ol>\n", out);
}

/* ---- lists of what needs a look -------------------------------------------------------------- */

/* A skip that the scenario has foreseen needs no look. */
static bool is_open(const json_t *cell) {
  bool undecided = lb_report_is(cell, "verdict", "undecided"), skipped = lb_report_is(cell, "verdict", "skipped");
  return undecided || (skipped && !json_is_true(json_object_get(cell, "as_expected")));
}

/* The chosen cells in the order of the run; no heading if there are none. */
static void write_list(FILE *out, const json_t *cells, bool (*chosen)(const json_t *cell), const char *heading) {
  size_t i;
  const json_t *cell;
  bool any = false;
  json_array_foreach(cells, i, cell) {
    if (!chosen(cell)) continue;
    if (!any) fprintf(out, "<h3>%s</h3>\n<ul>\n", heading);
    any = true;
    fputs("<li>", out);
    lb_html_textf(out, "%s, %s", lb_report_string(cell, "scenario"), lb_report_string(cell, "system"));
    if (!lb_report_is(cell, "guard", "none")) lb_html_textf(out, ", guard %s", lb_report_string(cell, "guard"));
    fputs(": <strong>", out);
    lb_report_value(out, cell, "verdict", "");
    fputc(' ', out);
    write_count(out, cell);
    fputs("</strong> (", out);
    write_reasons(out, cell);
    fputs(")</li>\n", out);
  }
  if (any) fputs("</ul>\n", out);
}

void lb_report_lists(FILE *out, const json_t *cells) {
  write_list(out, cells, differs, "Not as expected");
  write_list(out, cells, is_open, "Undecided or skipped");
}
