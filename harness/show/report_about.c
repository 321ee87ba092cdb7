/* SPDX-License-Identifier: MIT
 *
 * For the reader who does not believe it: what was asked, on which machine it ran, how to run it
 * again, and the files with everything that the page leaves out. All of it is out of run.json as it
 * stands. A member that an older run does not have leaves out its line.
 */
#include <limits.h>
#include <string.h>

#include "base/called.h"
#include "html.h"
#include "report_parts.h"

/* ---- what was asked -------------------------------------------------------------------------- */

/* A line of a list of definitions; nothing for a text that is missing or empty. */
static void write_term(FILE *out, const char *term, const json_t *object, const char *key) {
  const char *text = lb_report_string(object, key);
  if (!text || !*text) return;
  fprintf(out, "<dt>%s</dt><dd>", term);
  lb_html_text(out, text);
  fputs("</dd>\n", out);
}

/* Every key that run.json has, in its order, so that a new one appears by itself. */
static void write_workload(FILE *out, json_t *workload) {
  const char *key, *between = "";
  json_t *value;
  if (!json_is_object(workload) || json_object_size(workload) == 0) return;
  fputs("<dt>Workload</dt><dd>", out);
  json_object_foreach(workload, key, value) {
    fprintf(out, "%s<code>", between);
    lb_html_textf(out, "%s = ", key);
    lb_report_value(out, workload, key, "-");
    fputs("</code>", out);
    between = ", ";
  }
  fputs("</dd>\n", out);
}

/* The steps of a timeline in their order, or the faults that a campaign draws from. */
static void write_steps(FILE *out, const char *term, const json_t *steps) {
  size_t i;
  const json_t *step;
  if (json_array_size(steps) == 0) return;
  fprintf(out, "<dt>%s</dt><dd><ol>\n", term);
  json_array_foreach(steps, i, step) {
    fputs("<li><code>", out);
    lb_html_text(out, json_string_value(step));
    fputs("</code></li>\n", out);
  }
  fputs("</ol></dd>\n", out);
}

/* In how many trials of its cells the premises were observed; nothing where it states none, and in
 * runs of older versions. */
static void write_observed(FILE *out, const json_t *run, const char *name) {
  size_t i;
  const json_t *cell;
  json_int_t observed = 0, trials = 0;
  json_array_foreach(json_object_get(run, "cells"), i, cell) {
    const json_t *count = json_object_get(cell, "premises_observed");
    if (!json_is_integer(count) || !name || !lb_report_is(cell, "scenario", name)) continue;
    observed += json_integer_value(count);
    trials += json_integer_value(json_object_get(cell, "trials"));
  }
  if (trials > 0)
    fprintf(out, "<dt>Premises observed</dt><dd>in %lld of %lld trials; any other is undecided</dd>\n", (long long)observed,
            (long long)trials);
}

void lb_report_asked(FILE *out, const json_t *run) {
  size_t i;
  const json_t *scenario;
  fputs("<h2>What was asked</h2>\n", out);
  json_array_foreach(json_object_get(run, "scenarios"), i, scenario) {
    const char *title = lb_report_string(scenario, "title");
    fputs("<h3>", out);
    lb_report_value(out, scenario, "name", "");
    if (title && *title) lb_html_textf(out, ": %s", title);
    fputs("</h3>\n<dl>\n", out);
    write_term(out, "Question", scenario, "question");
    write_term(out, "The expectation is refuted if", scenario, "refuted");
    write_term(out, "Published", scenario, "upstream");
    write_workload(out, json_object_get(scenario, "workload"));
    write_steps(out, "Steps", json_object_get(scenario, "steps"));
    write_steps(out, "A trial has to show", json_object_get(scenario, "proof"));
    write_observed(out, run, lb_report_string(scenario, "name"));
    write_steps(out, "Faults, drawn at random", json_object_get(json_object_get(scenario, "campaign"), "faults"));
    write_term(out, "File", scenario, "file");
    fputs("</dl>\n", out);
  }
}

/* ---- where, and how to run it again ---------------------------------------------------------- */

/* Every member of an object as a row; `prefix` says whose. */
static void write_rows(FILE *out, json_t *object, const char *prefix) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    if (json_is_string(value) && json_string_length(value) == 0) continue;
    fputs("<tr><th>", out);
    lb_html_textf(out, "%s%s", prefix, key);
    fputs("</th><td>", out);
    lb_report_value(out, object, key, "unknown");
    fputs("</td></tr>\n", out);
  }
}

static void write_machine(FILE *out, const json_t *run) {
  fputs("<h2>Machine and versions</h2>\n<div class=\"scroll\"><table class=\"plain\">\n", out);
  write_rows(out, json_object_get(run, "machine"), "");
  write_rows(out, json_object_get(run, "tool"), "lockbench ");
  write_rows(out, json_object_get(run, "servers"), "servers of ");
  static const char *const more[] = {"seconds", "sittings", "jobs", "trials", "done"};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    fprintf(out, "<tr><th>%s</th><td>", more[i]);
    lb_report_value(out, run, more[i], "unknown");
    fputs("</td></tr>\n", out);
  }
  fputs("</table></div>\n", out);
}

/* One word of a command line, quoted for a shell where it has to be. */
static void write_shell_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+";
  if (*word && word[strspn(word, plain)] == '\0') {
    lb_html_text(out, word);
    return;
  }
  lb_html_text(out, "'");
  for (; *word; word++) lb_html_textf(out, *word == '\'' ? "'\\''" : "%c", *word);
  lb_html_text(out, "'");
}

/* True if somebody has typed the seed: then it is among the words of the command already. */
static bool names_seed(const char *word) { return strcmp(word, "--seed") == 0 || strncmp(word, "--seed=", 7) == 0; }

/* The words are those that were typed, the name is the one by which this command was called: that
 * is the one which works in the reader's shell. A seed that the run had drawn is added. */
static void write_repeat(FILE *out, const char *run_dir, const json_t *run) {
  size_t i;
  char place[PATH_MAX];
  const json_t *word;
  bool has_seed = false;
  fputs("<h2>Run it again</h2>\n<p>The same command with the same seed gives the same plan, order and random "
        "streams; what the machine and its scheduler do is not repeated.</p>\n<pre>",
        out);
  lb_html_text(out, lb_called());
  json_array_foreach(json_object_get(run, "argv"), i, word) {
    const char *text = json_string_value(word) ? json_string_value(word) : "";
    has_seed = has_seed || names_seed(text);
    fputc(' ', out);
    write_shell_word(out, text);
  }
  if (!has_seed && json_is_integer(json_object_get(run, "seed"))) {
    fputs(" --seed ", out);
    lb_report_value(out, run, "seed", "");
  }
  lb_report_place(run_dir, "", place, sizeof place);
  fprintf(out, "</pre>\n<p>Draw this page again%s: <code>", strcmp(place, ".") == 0 ? ", in this folder" : "");
  lb_html_textf(out, "%s report %s", lb_called(), place);
  fputs("</code></p>\n", out);
  if (!json_is_true(json_object_get(run, "partial"))) return;
  fputs("<p>Play the trials that are missing: <code>", out);
  lb_html_textf(out, "%s run --resume %s", lb_called(), place);
  fputs("</code></p>\n", out);
}

/* Only what is there: a run loses its empty folders when it is kept, and figures may never have
 * been drawn. */
static void write_files(FILE *out, const char *run_dir) {
  static const char *const files[][2] = {
      {"run.json", "the whole run: what was asked, where, every cell"},
      {"trials.csv", "a line per trial"},
      {"latency.csv", "latency histograms, a line per bucket"},
      {"series.csv", "a line per measured second"},
      {"histories", "events of single trials, for the command check"},
      {"schedules", "the faults of single campaigns, as drawn from their seed"},
      {"faults", "what became of them"},
      {"logs", "logs of servers and clients, of trials that were not as expected (--keep-logs: of all)"},
      {"resume.bin", "the outcomes so far, for --resume"},
      {"figures", "every figure as svg, png and pdf, with the drawn numbers as csv"},
  };
  fputs("<h2>Files</h2>\n<ul>\n", out);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (!lb_report_has_file(run_dir, files[i][0])) continue;
    fputs("<li><a href=\"", out);
    lb_html_path(out, files[i][0]);
    fprintf(out, "\">%s</a>: %s</li>\n", files[i][0], files[i][1]);
  }
  fputs("</ul>\n", out);
}

void lb_report_about(FILE *out, const char *run_dir, const json_t *run) {
  write_machine(out, run);
  write_repeat(out, run_dir, run);
  write_files(out, run_dir);
}
