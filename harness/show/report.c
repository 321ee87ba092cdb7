/* SPDX-License-Identifier: MIT
 *
 * The report is one page that can be moved with its folder: style inside, figures and histories by
 * relative links, no script. Order: the verdict; the truth table and what in it needs a look; what
 * it costs; what was asked; where and how it was run and how to run it again; the files. Every word
 * out of the run goes through html.c.
 */
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/files.h"
#include "html.h"
#include "not_drawn.h"
#include "report_parts.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1a1a;--soft:#595959;--line:#d9d9d9;--page:#fff;--cell:#000;\n"
    "--safe:#b8e2d5;--violated:#d55e00;--stuck:#bfe0f5;--undecided:#faf5b5;--skipped:#f2f2f2}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--soft:#a8a8a8;--line:#444;--page:#16181c;--cell:#fff;\n"
    "--safe:#1f6b55;--stuck:#245a7a;--undecided:#6d6610;--skipped:#2a2d33}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:100rem;\n"
    "margin:2rem auto;padding:0 1rem}\n"
    "header,p,ul,dl,pre,figure{max-width:76rem}\n"
    "h1{font-size:1.5rem;line-height:1.3;margin:.2rem 0}\n"
    "h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}\n"
    "h3{font-size:1rem;margin:1.2rem 0 .2rem}\n"
    ".banner{border-left:.5rem solid var(--soft);padding:.3rem 1rem}\n"
    ".banner.good{border-color:#009e73}.banner.bad{border-color:#d55e00}\n"
    ".soft,figcaption{color:var(--soft)}\n"
    /* A bar that is always seen, also where the system hides those that are not in use. */
    ".scroll{overflow-x:auto}.scroll::-webkit-scrollbar{height:.8rem;background:var(--line)}\n"
    ".scroll::-webkit-scrollbar-thumb{background:var(--soft);border:3px solid var(--line);border-radius:.4rem}\n"
    ".hint{display:none;margin:.2rem 0}@media(max-width:84rem){.hint{display:block}}\n"
    "table{border-collapse:separate;border-spacing:2px}\n"
    "th,td{padding:.25rem .6rem;text-align:left;vertical-align:top}thead th{font-weight:600}\n"
    "thead th small{display:block;font-weight:400;color:var(--soft);max-width:12rem}\n"
    ".truth{font-size:.8rem;line-height:1.35}.truth th,.truth td{padding:.2rem .25rem}\n"
    ".truth td{text-align:center;color:var(--cell);min-width:3.6rem;vertical-align:middle}\n"
    /* The first column stays in sight; its shadow covers what passes through the gaps between the
     * cells. */
    ".truth th:first-child{position:sticky;left:0;background:var(--page);box-shadow:0 0 0 2px var(--page);z-index:1}\n"
    ".truth tbody th{font-weight:400;vertical-align:middle;min-width:7.5rem}\n"
    ".truth tbody th small{display:block;color:var(--soft);max-width:14rem}\n"
    ".truth span{display:inline-block}.truth td small{display:block;font-weight:400}\n"
    ".truth td.safe{background:var(--safe)}.truth td.stuck{background:var(--stuck)}\n"
    ".truth td.violated{background:var(--violated);color:#000;font-weight:600}\n"
    ".truth td.undecided{background:var(--undecided)}.truth td.skipped{background:var(--skipped);color:var(--soft)}\n"
    ".truth td.none{outline:1px solid var(--line);outline-offset:-1px}\n"
    ".truth td.differs{outline:3px solid var(--ink);outline-offset:-3px}\n"
    ".plain{border-collapse:collapse}.plain td,.plain th{border-bottom:1px solid var(--line)}\n"
    ".plain td{white-space:nowrap}.plain td.number{text-align:right;font-variant-numeric:tabular-nums}\n"
    "code,pre{font:13px/1.45 ui-monospace,monospace}\n"
    "pre{overflow-x:auto;padding:.6rem .8rem;border:1px solid var(--line)}\n"
    "figure{margin:1rem 0}img{max-width:100%;height:auto;background:#fff}\n"
    "dt{font-weight:600}dd{margin:0 0 .4rem 1rem}summary{cursor:pointer}li{margin:.15rem 0}\n";

static bool in_folder(const char *run_dir, const char *name) {
  char path[PATH_MAX];
  return snprintf(path, sizeof path, "%s/%s", run_dir, name) < (int)sizeof path && access(path, R_OK) == 0;
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static const char *exit_code_meaning(json_int_t code) {
  switch (code) {
    case 0: return "every verdict is as expected";
    case 1: return "the harness itself failed";
    case 2: return "usage or bad input";
    case 3: return "a verdict differs from the expectation, or there is a violation where none is stated";
    case 4: return "something stayed undecided";
    case 5: return "a needed server or permission is missing";
    default: return "unknown";
  }
}

static void write_verdict(FILE *out, const json_t *run) {
  const json_t *code = json_object_get(run, "exit_code");
  const char *verdict = lb_report_string(run, "verdict");
  json_int_t value = json_integer_value(code);
  const char *tone = !json_is_integer(code) ? "" : value == 0 ? " good" : value == 1 || value == 3 ? " bad" : "";
  fprintf(out, "<header class=\"banner%s\">\n<h1>", tone);
  lb_html_text(out, verdict ? verdict : "no verdict in run.json");
  fputs("</h1>\n<p class=\"soft\">", out);
  if (json_is_integer(code))
    lb_html_textf(out, "Exit code %" JSON_INTEGER_FORMAT ": %s. ", value, exit_code_meaning(value));
  fputs("Run ", out);
  lb_report_value(out, run, "id", "");
  fputs(", started ", out);
  lb_report_value(out, run, "started_utc", "at an unknown time");
  fputs(", seed ", out);
  lb_report_value(out, run, "seed", "unknown");
  fputs(".</p>\n</header>\n", out);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

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

static void write_figure(FILE *out, const struct figures *figures, const char *name, const char *caption) {
  char file[100];
  snprintf(file, sizeof file, "figures/%s.svg", name);
  bool is_there = in_folder(figures->run_dir, file);
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

/* ---- what was asked ------------------------------------------------------------------------------------ */

static void write_term(FILE *out, const char *term, const json_t *object, const char *key) {
  const char *text = lb_report_string(object, key);
  if (!text || !*text) return;
  fprintf(out, "<dt>%s</dt><dd>", term);
  lb_html_text(out, text);
  fputs("</dd>\n", out);
}

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

static void write_scenarios(FILE *out, const json_t *run) {
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
    write_term(out, "Refuted if", scenario, "refuted");
    write_workload(out, json_object_get(scenario, "workload"));
    write_steps(out, "Steps", json_object_get(scenario, "steps"));
    write_steps(out, "Faults, drawn at random", json_object_get(json_object_get(scenario, "campaign"), "faults"));
    write_term(out, "File", scenario, "file");
    fputs("</dl>\n", out);
  }
}

/* ---- where, and how to run it again -------------------------------------------------------------------- */

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
  static const char *const more[] = {"seconds", "jobs", "trials"};
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

static bool names_seed(const char *word) { return strcmp(word, "--seed") == 0 || strncmp(word, "--seed=", 7) == 0; }

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
}

static void write_files(FILE *out, const char *run_dir) {
  static const char *const files[][2] = {
      {"run.json", "the whole run: what was asked, where, every cell"},
      {"trials.csv", "a line per trial"},
      {"latency.csv", "latency histograms, a line per bucket"},
      {"series.csv", "a line per measured second"},
      {"histories", "events of single trials, for the command check"},
      {"schedules", "the faults of single campaigns, as drawn from their seed"},
      {"logs", "server logs of trials that failed or were undecided"},
      {"figures", "every figure as svg, png and pdf, with the drawn numbers as csv"},
  };
  fputs("<h2>Files</h2>\n<ul>\n", out);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (!in_folder(run_dir, files[i][0])) continue;
    fputs("<li><a href=\"", out);
    lb_html_path(out, files[i][0]);
    fprintf(out, "\">%s</a>: %s</li>\n", files[i][0], files[i][1]);
  }
  fputs("</ul>\n", out);
}

/* ---- the page ------------------------------------------------------------------------------------------ */

static void write_page(FILE *out, const char *run_dir, const json_t *run, const struct lb_report_trials *trials) {
  struct figures figures = {.run_dir = run_dir};
  lb_not_drawn_read(run_dir, &figures.missing);
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>lockbench: ",
        out);
  lb_report_value(out, run, "id", "");
  fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
  write_verdict(out, run);
  write_not_drawn(out, &figures.missing);
  lb_report_cells(out, run);
  if (in_folder(run_dir, "figures/truth-table.svg")) {
    fputs("<details><summary>The truth table as a picture</summary>\n", out);
    write_figure(out, &figures, "truth-table", "The truth table: which lock can be trusted, under which fault.");
    fputs("</details>\n", out);
  }
  write_figure(out, &figures, "guard-table", "What each guard changes.");
  fputs("<h2>What it costs</h2>\n", out);
  write_figure(out, &figures, "scaling", "Grants per second and hand-off time, over the number of clients.");
  write_figure(out, &figures, "latency", "How long an acquire takes, over percentiles.");
  write_figure(out, &figures, "safety-speed", "Safety under faults against speed.");
  lb_report_speed(out, trials);
  write_scenarios(out, run);
  write_figure(out, &figures, "violation", "One violation: who held the lock, and when.");
  lb_report_violations(out, trials, run_dir);
  write_machine(out, run);
  write_repeat(out, run_dir, run);
  write_files(out, run_dir);
  fputs("</body>\n</html>\n", out);
}

/* Writes the page under a temporary name beside it, and renames. */
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
