/* SPDX-License-Identifier: MIT
 *
 * What the report takes from trials.csv: the rate of every measured cell, as the median of its
 * repeats with the least and the most, and the violated trials with their histories, so that each
 * violation can be looked at and judged again.
 *
 * The whole file is kept in memory, and rows point into it: the page needs it twice, in groups. The
 * rows of a cell are neighbours, because trials.csv is written in the order of the plan.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/csv.h"
#include "html.h"
#include "report_parts.h"

/* clang-format off */
enum {
  /* The order of the first five matters: what belongs together agrees in the columns before a
   * certain one. Runs of before do not have the last two. */
  SCENARIO, SYSTEM, GUARD, CLIENTS, TRIAL, SEED, VERDICT, DOUBLE_HOLDS, DOUBLE_HOLD_MS, GRANTS_PER_S, HISTORY, HANDOFFS_PER_S, UNSETTLED, COLUMNS
};
static const char *const column_name[COLUMNS] = {
  "scenario", "system", "guard", "clients", "trial", "seed", "verdict", "double_holds", "double_hold_ms",
  "grants_per_s", "history", "handoffs_per_s", "unsettled",
};
/* clang-format on */

#define HISTORIES "histories/"

struct row {
  const char *text[COLUMNS]; /* into csv.data */
  double grants_per_s, handoffs_per_s; /* NAN where not measured */
};

struct lb_report_trials {
  struct lb_csv csv;
  char path[PATH_MAX];
  struct row *row;
  size_t count;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int refuse(const struct lb_csv *csv, int column, const char *found, const char *expected, char *err,
                  size_t err_size) {
  snprintf(err, err_size, "%s:%d: %s is '%.60s', expected %s", csv->path, csv->line, column_name[column], found,
           expected);
  return -EINVAL;
}

/* The page links it, so it must not lead out of the folder. */
static bool good_history(const char *name) {
  size_t prefix = strlen(HISTORIES);
  return !*name || (strncmp(name, HISTORIES, prefix) == 0 && !strchr(name + prefix, '/'));
}

/* A rate is read when its line is, so that a bad one is refused with it and not drawn as 0. */
static int take_rate(const struct lb_csv *csv, int column, const char *text, double *ret, char *err, size_t err_size) {
  char *end = NULL;
  *ret = *text ? strtod(text, &end) : NAN;
  if (!*text || (!*end && isfinite(*ret) && *ret >= 0)) return 0;
  return refuse(csv, column, text, "a number of at least 0, or nothing", err, err_size);
}

static int take_row(const struct lb_csv *csv, const int index[COLUMNS], struct row *row, char *err, size_t err_size) {
  for (int c = 0; c < COLUMNS; c++) row->text[c] = index[c] < 0 ? "" : csv->field[index[c]];
  int r = take_rate(csv, GRANTS_PER_S, row->text[GRANTS_PER_S], &row->grants_per_s, err, err_size);
  if (r == 0) r = take_rate(csv, HANDOFFS_PER_S, row->text[HANDOFFS_PER_S], &row->handoffs_per_s, err, err_size);
  if (r < 0) return r;
  if (!good_history(row->text[HISTORY]))
    return refuse(csv, HISTORY, row->text[HISTORY], "histories/NAME, or nothing", err, err_size);
  return 0;
}

static int read_rows(struct lb_report_trials *trials, char *err, size_t err_size) {
  struct lb_csv *csv = &trials->csv;
  int index[COLUMNS], r;
  size_t room = 0;
  for (int c = 0; c < COLUMNS; c++)
    if ((index[c] = lb_csv_column(csv, column_name[c], err, err_size)) < 0 && c < HANDOFFS_PER_S) return index[c];
  while ((r = lb_csv_next(csv, err, err_size)) > 0) {
    if (trials->count == room) {
      room = room ? 2 * room : 256;
      struct row *more = realloc(trials->row, room * sizeof *more);
      if (!more) {
        snprintf(err, err_size, "%s: %s", csv->path, strerror(ENOMEM));
        return -ENOMEM;
      }
      trials->row = more;
    }
    r = take_row(csv, index, &trials->row[trials->count++], err, err_size);
    if (r < 0) return r;
  }
  return r;
}

/* On an error nothing has to be released. A table without rows is no error. */
int lb_report_trials_load(const char *run_dir, struct lb_report_trials **ret, char *err, size_t err_size) {
  struct lb_report_trials *trials = calloc(1, sizeof *trials);
  int r = trials ? 0 : -ENOMEM;
  if (r == 0 && snprintf(trials->path, sizeof trials->path, "%s/trials.csv", run_dir) >= (int)sizeof trials->path)
    r = -ENAMETOOLONG;
  if (r < 0) {
    snprintf(err, err_size, "%.100s: %s", run_dir, strerror(-r));
  } else {
    r = lb_csv_open(trials->path, &trials->csv, err, err_size);
    if (r == 0) r = read_rows(trials, err, err_size);
  }
  if (r == 0) *ret = trials;
  else lb_report_trials_free(trials);
  return r;
}

void lb_report_trials_free(struct lb_report_trials *trials) {
  if (!trials) return;
  lb_csv_close(&trials->csv);
  free(trials->row);
  free(trials);
}

/* ---- groups: neighbouring rows of one cell --------------------------------------------------- */

/* End of the group that begins at row `from`: the rows that agree with it in the first `columns`
 * columns. */
static size_t group_end(const struct lb_report_trials *trials, size_t from, int columns) {
  size_t end = from + 1;
  for (; end < trials->count; end++)
    for (int c = 0; c < columns; c++)
      if (strcmp(trials->row[end].text[c], trials->row[from].text[c]) != 0) return end;
  return end;
}

static bool is_violated(const struct row *row) { return strcmp(row->text[VERDICT], "violated") == 0; }

static size_t count_violated(const struct lb_report_trials *trials, size_t from, size_t end) {
  size_t count = 0;
  for (size_t i = from; i < end; i++) count += is_violated(&trials->row[i]);
  return count;
}

/* Columns [from, to) of a row as cells of the table; `class` is an attribute or "". */
static void write_fields(FILE *out, const struct row *row, int from, int to, const char *class) {
  for (int c = from; c < to; c++) {
    fprintf(out, "<td%s>", class);
    lb_html_text(out, row->text[c]);
    fputs("</td>", out);
  }
}

/* ---- rates ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The measured rates of rows [from, end), of hand-offs or of grants, sorted, into ret (room for
 * all); their number. */
static size_t sorted_rates(const struct lb_report_trials *trials, size_t from, size_t end, bool handoffs, double *ret) {
  size_t count = 0;
  for (size_t i = from; i < end; i++) {
    double rate = handoffs ? trials->row[i].handoffs_per_s : trials->row[i].grants_per_s;
    if (!isnan(rate)) ret[count++] = rate;
  }
  qsort(ret, count, sizeof *ret, by_value);
  return count;
}

/* The median of the repeats, and how far they lie apart: with three repeats an interval would
 * pretend to know more. */
static void write_rate(FILE *out, const double *rates, size_t count) {
  if (count == 0) {
    fputs("<td></td><td></td>", out);
    return;
  }
  double median = (rates[(count - 1) / 2] + rates[count / 2]) / 2;
  fprintf(out, "<td class=\"number\">%.*f</td>", median < 100 ? 1 : 0, median);
  fprintf(out, "<td class=\"number\">%.*f to %.*f</td>", rates[0] < 100 ? 1 : 0, rates[0],
          rates[count - 1] < 100 ? 1 : 0, rates[count - 1]);
}

static bool is_unsettled(const struct row *row) { return strcmp(row->text[UNSETTLED], "1") == 0; }

static size_t count_unsettled(const struct lb_report_trials *trials, size_t from, size_t end) {
  size_t count = 0;
  for (size_t i = from; i < end; i++) count += is_unsettled(&trials->row[i]);
  return count;
}

/* A line for rows [from, end). `rates` has room for all. */
static void write_rates(FILE *out, const struct lb_report_trials *trials, size_t from, size_t end, double *rates) {
  size_t count = sorted_rates(trials, from, end, true, rates);
  fputs("<tr>", out);
  write_fields(out, &trials->row[from], SCENARIO, CLIENTS, "");
  write_fields(out, &trials->row[from], CLIENTS, TRIAL, " class=\"number\"");
  write_rate(out, rates, count);
  count = sorted_rates(trials, from, end, false, rates);
  write_rate(out, rates, count);
  fprintf(out, "<td class=\"number\">%zu</td><td class=\"number\">%zu</td>", count, count_violated(trials, from, end));
  if (*trials->row[from].text[UNSETTLED]) fprintf(out, "<td class=\"number\">%zu</td></tr>\n", count_unsettled(trials, from, end));
  else fputs("<td></td></tr>\n", out);
}

/* One line per cell and number of clients. The number of violated repeats stands beside the speed,
 * because a lock that does not exclude is fast. */
void lb_report_speed(FILE *out, const json_t *run, const struct lb_report_trials *trials) {
  bool any = false;
  lb_report_settled(out, run, count_unsettled(trials, 0, trials->count));
  double *rates = calloc(trials->count + 1, sizeof *rates);
  for (size_t from = 0, end; rates && from < trials->count; from = end) {
    end = group_end(trials, from, TRIAL);
    if (sorted_rates(trials, from, end, false, rates) == 0) continue;
    if (!any)
      fputs("<details><summary>Rates in numbers</summary>\n<div class=\"scroll\"><table class=\"plain\">\n"
            "<thead><tr><th>scenario</th><th>system</th><th>guard</th><th>clients</th><th>hand-offs/s, median</th>"
            "<th>least to most</th><th>grants/s, median</th><th>least to most</th><th>repeats</th><th>violated</th><th>not settled</th></tr></thead>\n<tbody>\n",
            out);
    any = true;
    write_rates(out, trials, from, end, rates);
  }
  fputs(any ? "</tbody></table></div>\n<p class=\"soft\">A lock that was violated has no speed worth comparing. "
              "Percentiles of latency: trials.csv for each repeat, latency.csv to merge them.</p></details>\n"
            : "<p>No speed was measured in this run.</p>\n",
        out);
  free(rates);
}

/* ---- violated trials ------------------------------------------------------------------------- */

/* The history as a link and as the command that judges it again. A history may have been left out
 * of the folder since: then it is named, so that a reader knows that there was one. */
static void write_history(FILE *out, const char *run_dir, const char *name) {
  char path[PATH_MAX];
  fputs("<td>", out);
  if (!*name) {
    fputs("not kept", out);
  } else if (snprintf(path, sizeof path, "%s/%s", run_dir, name) < (int)sizeof path && access(path, R_OK) == 0) {
    fputs("<a href=\"", out);
    lb_html_path(out, name);
    fputs("\">history</a> <code>", out);
    lb_report_place(run_dir, name, path, sizeof path);
    lb_html_textf(out, "%s check %s", lb_called(), path);
    fputs("</code>", out);
  } else {
    lb_html_textf(out, "%s is not in this folder", name);
  }
  fputs("</td>", out);
}

/* All violated trials of a cell, folded up. `explain` needs no number of a trial: it chooses the
 * one with most to tell. */
static void write_violated_group(FILE *out, const struct lb_report_trials *trials, size_t from, size_t end,
                                 const char *run_dir) {
  char place[PATH_MAX];
  size_t count = count_violated(trials, from, end);
  if (count == 0) return;
  const struct row *first = &trials->row[from];
  fputs("<details><summary>", out);
  lb_html_textf(out, "%s, %s, guard %s: %zu of %zu trials", first->text[SCENARIO], first->text[SYSTEM],
                first->text[GUARD], count, end - from);
  lb_report_place(run_dir, "", place, sizeof place);
  fputs("</summary>\n<p><code>", out);
  lb_html_textf(out, "%s explain %s %s.%s.%s", lb_called(), place, first->text[SCENARIO], first->text[SYSTEM], first->text[GUARD]);
  fputs("</code> tells what happened.</p>\n", out);
  fputs("<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>clients</th><th>trial</th><th>seed</th>"
        "<th>double holds</th><th>double hold, ms</th><th>history</th></tr></thead>\n<tbody>\n",
        out);
  for (size_t i = from; i < end; i++) {
    if (!is_violated(&trials->row[i])) continue;
    fputs("<tr>", out);
    write_fields(out, &trials->row[i], CLIENTS, VERDICT, " class=\"number\"");
    write_fields(out, &trials->row[i], DOUBLE_HOLDS, GRANTS_PER_S, " class=\"number\"");
    write_history(out, run_dir, trials->row[i].text[HISTORY]);
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div></details>\n", out);
}

void lb_report_violations(FILE *out, const struct lb_report_trials *trials, const char *run_dir) {
  bool any = false;
  for (size_t i = 0; i < trials->count && !any; i++) any = is_violated(&trials->row[i]);
  fputs("<h2>Violated trials</h2>\n", out);
  const char *where = strchr(lb_called(), '/') ? "the folder in which the run was started" : "this folder";
  if (any) fprintf(out, "<p>A history can be judged again without a server; the commands are for a shell in %s.</p>\n", where);
  else fputs("<p>None.</p>\n", out);
  for (size_t from = 0, end; from < trials->count; from = end) {
    end = group_end(trials, from, CLIENTS);
    write_violated_group(out, trials, from, end, run_dir);
  }
}
