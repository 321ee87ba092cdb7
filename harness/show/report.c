/* SPDX-License-Identifier: MIT
 *
 * The report is one page that can be moved with its folder: style inside, figures and histories by
 * relative links, no script. Every word out of the run goes through html.c.
 *
 * The order is that of a reader's questions: the verdict; the truth table and what in it needs a
 * look; what it costs; what was asked; where and how it was run and how to run it again; the files.
 * This file has the frame, the banner and the figures. The other parts are in report_*.c, and each
 * leaves out what the run does not have.
 */
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "html.h"
#include "not_drawn.h"
#include "report_parts.h"
#include "run/exit.h"
#include "scenario/scenario.h"

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Red is for what contradicts an expectation and for a harness that failed; a run that is merely
 * incomplete stays neutral. Of the user's own lock the colour is that of the lock, whatever was
 * expected of it: it is never green where it was violated. */
static const char *tone_of(const json_t *run) {
  const char *lock = lb_report_string(run, "lock_verdict");
  const json_t *code = json_object_get(run, "exit_code");
  json_int_t value = json_integer_value(code);
  if (!json_is_integer(code)) return "";
  if (lock && value != LB_EXIT_FAILURE)
    return strcmp(lock, lb_verdict_name(LB_VIOLATED)) == 0 ? " bad" : strcmp(lock, lb_verdict_name(LB_SAFE)) == 0 ? " good" : "";
  return value == LB_EXIT_OK ? " good" : value == LB_EXIT_FAILURE || value == LB_EXIT_UNEXPECTED ? " bad" : "";
}

/* The sentence with which the run ended. */
static void write_verdict(FILE *out, const json_t *run) {
  const json_t *code = json_object_get(run, "exit_code");
  const char *verdict = lb_report_string(run, "verdict");
  json_int_t value = json_integer_value(code);
  fprintf(out, "<header class=\"banner%s\">\n<h1>", tone_of(run));
  lb_html_text(out, verdict ? verdict : "no verdict in run.json");
  fputs("</h1>\n<p class=\"soft\">", out);
  if (json_is_integer(code))
    lb_html_textf(out, "Exit code %" JSON_INTEGER_FORMAT ": %s. ", value, lb_exit_meaning(value));
  fputs("Run ", out);
  lb_report_value(out, run, "id", "");
  fputs(", started ", out);
  lb_report_value(out, run, "started_utc", "at an unknown time");
  fputs(", seed ", out);
  lb_report_value(out, run, "seed", "unknown");
  fputs(".</p>\n</header>\n", out);
}

/* ---- figures --------------------------------------------------------------------------------- */

struct figures { /* of a run, as they are when the page is written */
  const char *run_dir;
  struct lb_not_drawn missing;
};

/* What should be on the page and is not, where it cannot be overlooked. */
static void write_not_drawn(FILE *out, const struct lb_not_drawn *missing) {
  char line[1000];
  for (size_t i = 0; lb_not_drawn_line(missing, i, line, sizeof line); i++) {
    fputs("<p class=\"banner bad\">", out);
    lb_html_textf(out, "Not drawn: %s.", line);
    fputs("</p>\n", out);
  }
}

/* A figure that is neither there nor missing was never meant to be drawn, and leaves no trace. One
 * that is missing although there is a file is an older picture: it is shown, with a warning. */
static void write_figure(FILE *out, const struct figures *figures, const char *name, const char *caption) {
  char file[200];
  snprintf(file, sizeof file, "figures/%s.svg", name);
  bool is_there = lb_report_has_file(figures->run_dir, file);
  if (lb_not_drawn_has(&figures->missing, name))
    fprintf(out, "<p class=\"banner bad\">%s: not drawn%s.</p>\n", name,
            is_there ? " again, this is an older picture" : "");
  if (!is_there) return;
  fputs("<figure><a href=\"", out);
  lb_html_path(out, file);
  fputs("\"><img src=\"", out);
  lb_html_path(out, file);
  fputs("\" alt=\"", out);
  lb_html_text(out, caption);
  fputs("\"></a><figcaption>", out);
  lb_html_text(out, caption);
  fputs("</figcaption></figure>\n", out);
}

/* Of every load but the one that `scaling` shows. */
static void write_other_loads(FILE *out, const struct figures *figures, const json_t *run) {
  size_t i;
  const json_t *scenario;
  char name[120], caption[160];
  json_array_foreach(json_object_get(run, "scenarios"), i, scenario) {
    const char *load = lb_report_string(scenario, "name");
    snprintf(name, sizeof name, "scaling-%s", load);
    snprintf(caption, sizeof caption, "The same of the load %s.", load);
    write_figure(out, figures, name, caption);
  }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_page(FILE *out, const char *run_dir, const json_t *run, const struct lb_report_trials *trials) {
  struct figures figures = {.run_dir = run_dir};
  lb_not_drawn_read(run_dir, &figures.missing);
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>lockbench: ",
        out);
  lb_report_value(out, run, "id", "");
  fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", lb_report_style);
  write_verdict(out, run);
  write_not_drawn(out, &figures.missing);
  lb_report_cells(out, run);
  if (lb_report_has_file(run_dir, "figures/truth-table.svg")) {
    fputs("<details><summary>The truth table as a picture</summary>\n", out);
    write_figure(out, &figures, "truth-table", "The truth table: what each fault did to each lock in this run.");
    fputs("</details>\n", out);
  }
  write_figure(out, &figures, "guard-table", "What each guard changes.");
  fputs("<h2>What it costs</h2>\n", out);
  write_figure(out, &figures, "scaling", "Hand-offs and grants per second, and hand-off time, over the number of clients.");
  write_other_loads(out, &figures, run);
  write_figure(out, &figures, "distance", "The same over the round trip between the hosts.");
  write_figure(out, &figures, "latency", "How long an acquire takes, over percentiles.");
  write_figure(out, &figures, "safety-speed", "Safety under faults against speed.");
  lb_report_speed(out, run, trials);
  lb_report_asked(out, run);
  write_figure(out, &figures, "lagging-follower", "How late a follower may be: what became of each trial, by delay and length of a session.");
  write_figure(out, &figures, "violation", "One violation: who held the lock, and when.");
  lb_report_violations(out, trials, run_dir);
  lb_report_about(out, run_dir, run);
  fputs("</body>\n</html>\n", out);
}

/* Writes the page under a temporary name beside it, and renames: nobody ever sees half of one, and
 * a run whose page cannot be written keeps the one it has. */
static int write_file(const char *run_dir, const json_t *run, const struct lb_report_trials *trials, char *err,
                      size_t err_size) {
  char partial[PATH_MAX], path[PATH_MAX];
  int r = -ENAMETOOLONG;
  if (snprintf(partial, sizeof partial, "%s/.report.html.partial", run_dir) >= (int)sizeof partial) goto out;
  if (snprintf(path, sizeof path, "%s/report.html", run_dir) >= (int)sizeof path) goto out;
  FILE *out = fopen(partial, "we");
  if (!out) {
    r = -errno;
    goto out;
  }
  write_page(out, run_dir, run, trials);
  r = lb_close_written(out);
  if (r == 0 && rename(partial, path) != 0) r = -errno;
  if (r < 0) unlink(partial);
out:
  if (r < 0) snprintf(err, err_size, "%s/report.html: %s", run_dir, strerror(-r));
  return r;
}

int lb_report_check(const char *run_dir, char *err, size_t err_size) {
  json_t *run = NULL;
  struct lb_report_trials *trials = NULL;
  int r = lb_report_load(run_dir, &run, err, err_size);
  if (r == 0) r = lb_report_trials_load(run_dir, &trials, err, err_size);
  lb_report_trials_free(trials);
  json_decref(run);
  return r;
}

int lb_report_write(const char *run_dir, char *err, size_t err_size) {
  json_t *run = NULL;
  struct lb_report_trials *trials = NULL;
  int r = lb_report_load(run_dir, &run, err, err_size);
  if (r == 0) r = lb_report_trials_load(run_dir, &trials, err, err_size);
  if (r == 0) r = write_file(run_dir, run, trials, err, err_size);
  lb_report_trials_free(trials);
  json_decref(run);
  return r;
}
