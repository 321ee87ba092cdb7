/* SPDX-License-Identifier: MIT
 *
 * The page of a run: what it has to say, that no text of a run can become markup, and that half a run is refused in one
 * line. Every run folder here is written by the test itself, except the sample in tests/data.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "skip.h"
#include "base/csv.h"
#include "base/files.h"
#include "show/html.h"
#include "show/report.h"

#define TRIALS_HEADER                                                                                                  \
  "scenario,system,guard,clients,trial,seed,verdict,double_holds,double_hold_ms,grants_per_s,history\n"
#define RUN(scenarios, cells, rest)                                                                                    \
  "{\"schema_version\":1,\"id\":\"r1\",\"scenarios\":[" scenarios "],\"cells\":[" cells "]" rest "}"
#define CELL(scenario, system, guard, verdict, rest)                                                                   \
  "{\"scenario\":\"" scenario "\",\"system\":\"" system "\",\"guard\":\"" guard "\",\"verdict\":\"" verdict "\","      \
  "\"trials\":20,\"violated\":0,\"undecided\":0,\"upper95\":0.1391" rest "}"

#define NBSP "\xC2\xA0"

static char dir[64], err[400];

/* ---- a folder per test --------------------------------------------------------------------------------------------
 */

static int make_folder(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "/tmp/test-report.XXXXXX");
  err[0] = '\0';
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  lb_remove_tree(dir);
  return 0;
}

static const char *path_of(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static void put(const char *name, const char *text) {
  FILE *file = fopen(path_of(name), "we");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static char *slurp(const char *path) {
  static char text[400000];
  FILE *file = fopen(path, "re");
  if (!file) return NULL;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* The page of a run with these files. */
static const char *page_of(const char *run, const char *trials) {
  put("run.json", run);
  put("trials.csv", trials);
  int r = lb_report_write(dir, err, sizeof err);
  if (r != 0) fail_msg("%d: %s", r, err);
  return slurp(path_of("report.html"));
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("missing: %s", part);
}

static void assert_has_not(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("unwanted: %s", part);
}

static void assert_order(const char *text, const char *const *parts) {
  for (; *parts; parts++) {
    const char *at = strstr(text, *parts);
    if (!at) fail_msg("missing, or too early: %s", *parts);
    text = at;
  }
}

static void assert_refused(const char *run, const char *trials, int result, const char *message) {
  put("run.json", run);
  put("trials.csv", trials);
  assert_int_equal(lb_report_write(dir, err, sizeof err), result);
  assert_has(err, message);
  assert_null(strchr(err, '\n'));
  assert_int_equal(access(path_of("report.html"), F_OK), -1);
}

/* ---- escaping -----------------------------------------------------------------------------------------------------
 */

static const char *written(void (*write)(FILE *, const char *), const char *text) {
  static char out[400];
  memset(out, 0, sizeof out);
  FILE *file = fmemopen(out, sizeof out, "w");
  write(file, text);
  fclose(file);
  return out;
}

static void text_becomes_neither_markup_nor_the_end_of_an_attribute(void **state) {
  (void)state;
  assert_string_equal(written(lb_html_text, "<b a=\"1\" c='2'>&amp;</b>"),
                      "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
  assert_string_equal(written(lb_html_text, "\xC3\xBC \xE2\x89\xA4\n"), "\xC3\xBC \xE2\x89\xA4\n");
  assert_string_equal(written(lb_html_text, "a\x01z"), "a\xEF\xBF\xBDz");
  assert_string_equal(written(lb_html_text, NULL), "");
}

static void a_path_is_never_a_scheme(void **state) {
  (void)state;
  assert_string_equal(written(lb_html_path, "javascript:alert(1)"), "./javascript%3Aalert%281%29");
  assert_string_equal(written(lb_html_path, "histories/a.b@c-1\"<.hist"), "./histories/a.b@c-1%22%3C.hist");
}

#define EVIL "</td><script>x('1')</script>&\\\""
#define EVIL_CSV "\"</td><script>x('1')</script>&\"\"\""

static void every_text_of_a_run_is_escaped(void **state) {
  (void)state;
  const char *page = page_of(
      "{\"schema_version\":1,\"id\":\"" EVIL "\",\"tool\":{\"" EVIL "\":\"" EVIL "\"},\"argv\":[\"" EVIL
      "\"],\"seed\":\"" EVIL "\",\"started_utc\":\"" EVIL "\",\"seconds\":\"" EVIL "\",\"machine\":{\"cpu\":\"" EVIL
      "\"},\"servers\":{\"" EVIL "\":\"" EVIL "\"},\"scenarios\":[{\"name\":\"" EVIL "\",\"title\":\"" EVIL
      "\",\"question\":\"" EVIL "\",\"refuted\":\"" EVIL "\",\"file\":\"" EVIL "\",\"workload\":{\"" EVIL "\":\"" EVIL
      "\"},\"proof\":[\"" EVIL "\"],\"steps\":[\"" EVIL
      "\"]}],\"cells\":[" CELL(EVIL, EVIL, EVIL, "safe",
                               ",\"expected\":\"" EVIL "\",\"as_expected\":false,\"reason\":\"" EVIL
                               "\",\"why\":\"" EVIL "\",\"seed\":\"" EVIL "\"") "],\"verdict\":\"" EVIL
                                                                                "\",\"exit_code\":3}",
      TRIALS_HEADER EVIL_CSV "," EVIL_CSV "," EVIL_CSV "," EVIL_CSV "," EVIL_CSV "," EVIL_CSV ",violated," EVIL_CSV
                             "," EVIL_CSV ",5,\n");
  assert_has_not(page, "<script");
  assert_has_not(page, "</script");
  assert_has_not(page, "x('1')");
  assert_has(page, "&lt;/td&gt;&lt;script&gt;x(&#39;1&#39;)&lt;/script&gt;&amp;&quot;");
}

/* ---- content ------------------------------------------------------------------------------------------------------
 */

static void the_verdict_comes_first_and_the_sections_follow_in_order(void **state) {
  (void)state;
  const char *page = page_of(RUN("{\"name\":\"s\",\"title\":\"T\"}", CELL("s", "p@t", "none", "safe", ""),
                                 ",\"verdict\":\"all as expected\",\"exit_code\":0"),
                             TRIALS_HEADER);
  assert_order(page, (const char *const[]){"<body>", "banner good", "<h1>all as expected</h1>",
                                           "<table class=\"truth\">", "What it costs", "What was asked",
                                           "Violated trials", "Machine and versions", "Run it again", "Files", NULL});
}

/* Numbers of run.json, also where they are not a value of their own. */
static void a_number_has_the_digits_that_were_typed(void **state) {
  (void)state;
  const char *page = page_of(RUN("{\"name\":\"s\",\"workload\":{\"hold_ms\":0.3,\"clients\":[0.1]}}", CELL("s", "p@t", "none", "safe", ""),
                                 ",\"machine\":{\"load\":[1.7]},\"seconds\":0.3"), TRIALS_HEADER);
  assert_has(page, "0.3");
  for (const char *at = page; (at = strchr(at, '.')); at++)
    if (strspn(at + 1, "0123456789") > 10) fail_msg("too many digits: %.40s", at - 3);
  unlink(path_of("report.html"));
  assert_refused("{\"schema_version\":1,\"id\":\"r1\",\"scenarios\":[{\"name\":\"s\"}],\"cells\":[{\"scenario\":\"s\",\"system\":\"p@t\",\"guard\":\"none\",\"verdict\":\"safe\",\"trials\":0.3}]}",
                 TRIALS_HEADER, -EINVAL, "'trials' is 0.3, expected a number of trials");
}

/* Of the user's own lock the colour is that of the lock, whatever was expected of it. */
static void the_banner_of_an_own_lock_has_the_colour_of_the_lock(void **state) {
  (void)state;
  static const struct {
    const char *rest, *banner;
  } rows[] = {
      {",\"lock_verdict\":\"violated\",\"exit_code\":0", "\"banner bad\""},
      {",\"lock_verdict\":\"safe\",\"exit_code\":0", "\"banner good\""},
      {",\"lock_verdict\":\"safe\",\"exit_code\":3", "\"banner good\""},
      {",\"lock_verdict\":\"stuck\",\"exit_code\":0", "\"banner\""},
      {",\"lock_verdict\":\"n/a\",\"exit_code\":5", "\"banner\""},
      {",\"lock_verdict\":\"safe\",\"exit_code\":1", "\"banner bad\""},
      {",\"lock_verdict\":null,\"exit_code\":3", "\"banner bad\""},
      {",\"exit_code\":5", "\"banner\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char run[2000];
    snprintf(run, sizeof run, "{\"schema_version\":1,\"id\":\"r1\",\"scenarios\":[{\"name\":\"s\"}],\"cells\":[%s]%s}", CELL("s", "p@t", "none", "safe", ""), rows[i].rest);
    assert_has(page_of(run, TRIALS_HEADER), rows[i].banner);
  }
}

static void a_scenario_says_what_a_trial_has_to_show_and_how_many_did(void **state) {
  (void)state;
  const char *page = page_of(RUN("{\"name\":\"s\",\"proof\":[\"premise = client 1 holds\"]},{\"name\":\"old\"}",
                                 CELL("s", "a@t", "none", "safe", ",\"premises_observed\":19") ","
                                 CELL("s", "b@t", "none", "safe", ",\"premises_observed\":20") ","
                                 CELL("s", "c@t", "none", "skipped", ",\"premises_observed\":null") ","
                                 CELL("old", "a@t", "none", "safe", ""), ""),
                             TRIALS_HEADER);
  assert_order(page, (const char *const[]){"A trial has to show", "premise = client 1 holds",
                                           "Premises observed</dt><dd>in 39 of 40 trials; any other is undecided", NULL});
  assert_null(strstr(strstr(page, "in 39 of 40") + 1, "Premises observed"));
}

static void a_cell_says_verdict_count_and_bound(void **state) {
  (void)state;
  const char *page = page_of(
      RUN("{\"name\":\"s\"}",
          CELL(
              "s", "a@t", "none", "safe",
              "") ",{\"scenario\":\"s\",\"system\":\"b@t\",\"guard\":\"none\",\"verdict\":\"violated\","
                  "\"trials\":20,\"violated\":17,\"undecided\":3},{\"scenario\":\"s\",\"system\":\"c@t\",\"guard\":\"none\",\"verdict\":"
                  "\"stuck\",\"trials\":5,\"violated\":0,\"undecided\":0,\"stuck\":4},{\"scenario\":\"s\",\"system\":\"d@t\",\"guard\":\"none\","
                  "\"verdict\":\"undecided\",\"trials\":5,\"violated\":0,\"undecided\":2,\"why\":\"no fault\"},{\"scenario\":\"s\",\"system\":"
                  "\"e@t\",\"guard\":\"none\",\"verdict\":\"skipped\",\"trials\":0,\"violated\":0,\"undecided\":0,\"why\":\"no server\"}",
          ""),
      TRIALS_HEADER);
  assert_has(page, "✓" NBSP "safe</span> <span>0/20 (≤" NBSP "13.9" NBSP "%)</span>");
  assert_has(page, "✗" NBSP "violated</span> <span>17/17 (decided 17 of 20)</span>");
  assert_has(page, "■" NBSP "stuck</span> <span>4/5</span>");
  assert_has(page, "title=\"no fault\"><span>?" NBSP "undecided</span> <span>2/5</span>");
  assert_has(page, "title=\"no server\"><span>–" NBSP "skipped</span>");
}

static void a_difference_is_marked_in_its_cell_and_listed_with_the_reason(void **state) {
  (void)state;
  const char *page = page_of(
      RUN("{\"name\":\"s\"}",
          CELL("s", "a@t", "none", "safe", ",\"expected\":\"violated\",\"as_expected\":false,\"reason\":\"loses it\"") "," CELL(
              "s", "b@t", "none", "safe",
              ",\"expected\":\"safe\",\"as_expected\":true") "," CELL("s", "c@t", "none", "safe",
                                                                      ",\"expected\":null,\"as_expected\":null"),
          ""),
      TRIALS_HEADER);
  assert_has(page, "<td class=\"safe differs\" title=\"expected violated: loses it\">");
  assert_has(page, "≠ expected violated");
  assert_order(page, (const char *const[]){
                         "Not as expected",
                         "s, a@t: <strong>safe 0/20 (≤" NBSP "13.9" NBSP "%)</strong> (expected violated: loses it)", "</ul>", NULL});
  assert_has(page, "<td class=\"safe\" title=\"expected safe\">");
  assert_has(page, "<td class=\"safe\" title=\"nothing expected\">");
  assert_has_not(page, "Undecided or skipped");
  page = page_of(RUN("{\"name\":\"s\"}", CELL("s", "a@t", "none", "violated", ",\"expected\":null,\"as_expected\":null"), ""), TRIALS_HEADER);
  assert_has(page, "violated differs");
  assert_has(page, "≠ expected nothing");
  assert_order(page, (const char *const[]){"Not as expected", "s, a@t: <strong>violated", "</ul>", NULL});
}

static void rows_are_scenarios_in_order_and_what_was_not_run_is_empty(void **state) {
  (void)state;
  const char *page = page_of(RUN("{\"name\":\"first\",\"title\":\"T1\"},{\"name\":\"unused\"},{\"name\":\"second\"}",
                                 CELL("second", "a@t", "fence", "violated", "") "," CELL(
                                     "second", "a@t", "none", "safe", "") "," CELL("first", "b@t", "none", "safe", ""),
                                 ""),
                             TRIALS_HEADER);
  assert_order(page, (const char *const[]){
                         "Which lock can be trusted", "<th>a<small>@t</small></th><th>b<small>@t", "<tbody>",
                         "<th>first<small>T1</small></th><td class=\"none\" title=\"not run\"></td>"
                                           "<td class=\"safe\"",
                         "<th>second</th><td class=\"safe\"", "<td class=\"none\"", "</table>", NULL});
  *strstr(page, "</table>") = '\0';
  assert_has_not(page, "<th>unused");
  assert_has_not(page, "fence");
}

static void a_table_of_many_systems_says_that_it_scrolls(void **state) {
  (void)state;
  char cells[2000] = "", run[3000];
  for (int i = 0; i < 14; i++)
    snprintf(cells + strlen(cells), sizeof cells - strlen(cells),
             "%s{\"scenario\":\"s\",\"system\":\"p%d@t\",\"guard\":\"none\",\"verdict\":\"stuck\",\"trials\":5,"
             "\"violated\":0,\"undecided\":0}",
             i ? "," : "", i);
  snprintf(run, sizeof run, "{\"schema_version\":1,\"id\":\"r1\",\"scenarios\":[],\"cells\":[%s]}", cells);
  assert_order(page_of(run, TRIALS_HEADER),
               (const char *const[]){".truth th:first-child{position:sticky", "scrolls.</p>",
                                     "<div class=\"scroll\" tabindex=\"0\"><table class=\"truth\">", NULL});
  assert_has_not(page_of(RUN("", CELL("s", "a@t", "none", "safe", ""), ""), TRIALS_HEADER), "scrolls.</p>");
}

static void guards_stand_beside_none_for_the_scenarios_that_ran_with_one(void **state) {
  (void)state;
  const char *page = page_of(
      RUN("{\"name\":\"plain\"},{\"name\":\"guarded\"}",
          CELL("plain", "a@t", "none", "safe", "") "," CELL(
              "guarded", "a@t", "fence", "safe",
              ",\"fenced_off\":3,\"refused\":2,\"stopped_told_no\":1") "," CELL("guarded", "a@t", "none", "violated",
                                            ",\"lost_updates\":1,\"stale_writes\":4") "," CELL("guarded", "unguarded@t", "none", "safe", "") "," CELL("guarded", "b@t",
                                                                                               "recheck", "safe",
                                                                                               ",\"lost_updates\":0"),
          ""),
      TRIALS_HEADER);
  const char *table = strstr(page, "What each guard changes");
  assert_non_null(table);
  *strstr(table, "</table>") = '\0';
  assert_order(table, (const char *const[]){
                          "guard: none", "guard: recheck", "guard: fence", "<th>guarded<small>a@t</small></th>",
                          "<small>1 lost update, 4 stale writes</small></td>", "<td class=\"none\"",
                          "<small>1 told no, 2 refused by the resource</small></td>", "<th>guarded<small>b@t</small></th>", "<td class=\"none\"",
                          "<td class=\"safe\"", NULL});
  assert_has_not(table, "plain");
  assert_has_not(table, "0 lost");
  assert_has_not(table, "unguarded"); /* nothing to compare */
  page = page_of(RUN("", CELL("s", "a@t", "none", "safe", ""), ""), TRIALS_HEADER);
  assert_has_not(page, "What each guard changes");
}

static void a_run_with_a_guard_only_has_no_truth_table_without_one(void **state) {
  (void)state;
  const char *page = page_of(RUN("", CELL("s", "a@t", "fence", "safe", ""), ""), TRIALS_HEADER);
  assert_has_not(page, "Which lock can be trusted");
  assert_has(page, "guard: fence");
}

/* One of this version, one that decided nothing, one of an older run, one whose lock stood still, and a scenario that is none. */
#define CAMPAIGN                                                                                                                     \
  ",\"faults\":17,\"decided_faults\":16,\"overlapped_per_fault\":0.25,\"overlapped_per_fault_low\":0.11,\"overlapped_per_fault_high\":0.45,"  \
  "\"within_lease_per_fault\":0,\"within_lease_per_fault_low\":0,\"within_lease_per_fault_high\":0.0094,"                                \
  "\"violations\":12,\"decided_hours\":0.0012,\"decided_handoffs\":8000,\"violations_per_1000\":1.5,\"violations_per_1000_low\":0.309,"                            \
  "\"violations_per_1000_high\":4.38,\"above_control\":false,\"faults_of\":{\"pause holder\":16,\"kill holder\":0}"
#define NOTHING ",\"faults\":0,\"decided_faults\":0,\"violations_per_1000\":null"
#define OLDER ",\"faults\":9,\"decided_handoffs\":5000,\"violations\":1,\"violations_per_1000\":0.2,\"violations_per_1000_high\":1"

static void a_campaign_is_a_rate_and_the_control_one_line(void **state) {
  (void)state;
  const char *page = page_of(RUN("",
                                 CELL("storm", "a@t", "none", "violated", CAMPAIGN) "," CELL("storm", "b@t", "none", "safe", NOTHING) "," CELL(
                                     "old", "d@t", "none", "safe", OLDER) "," CELL("old", "e@t", "none", "stuck", OLDER) "," CELL("calm", "c@t", "none", "safe", ",\"faults\":null"),
                                 ",\"control\":{\"trials\":3,\"undecided\":1,\"handoffs\":99,\"violations\":0,\"max_stall_ms\":12.34}"),
                             TRIALS_HEADER);
  assert_has(page, "<p>No-fault control: 99 hand-offs, 0 violations, in 3 trials (1 undecided); longest stall of the "
                   "harness 12.3 ms.</p>");
  assert_has(page, "storm: proved over all rows: 16 pause holder; never: kill holder. The control, the same load without faults, does not "
                   "separate from a@t: ");
  assert_has(page, "by time, not by cause");
  const char *table = strstr(page, "Random faults under load");
  assert_non_null(table);
  *strstr(table, "</table>") = '\0';
  assert_order(table, (const char *const[]){"<th>measured, s</th>", "<th>within a lease, % of faults</th>", "<td>storm</td><td>a@t</td>", "<td>violated 0/20</td>",
                                            "<td class=\"number\">16</td><td class=\"number\">4.3</td><td", "25 [11,45]", "0 (&lt;0.94)", "1.5 [0.31,4.4]", "<td>b@t</td>",
                                            "<td class=\"number\"></td></tr>", "<td>d@t</td>", "<td class=\"number\">9</td><td class=\"number\"></td>", "1 (&lt;1)", "<td>e@t</td>",
                                            "<td class=\"number\">9</td>", "<td class=\"number\">-</td></tr>", NULL});
  assert_has_not(table, "c@t");
}

static void the_command_line_is_quoted_for_a_shell_and_carries_the_seed(void **state) {
  (void)state;
  const char *page = page_of(RUN("", "", ",\"seed\":42,\"argv\":[\"run\",\"a b\",\"it's\",\"\"]"), TRIALS_HEADER);
  assert_has(page, "<pre>lockbench run &#39;a b&#39; &#39;it&#39;\\&#39;&#39;s&#39; &#39;&#39; --seed 42</pre>");
  page = page_of(RUN("", "", ",\"seed\":42,\"argv\":[\"--seed\",\"42\"]"), TRIALS_HEADER);
  assert_has(page, "<pre>lockbench --seed 42</pre>");
}

static void a_violated_trial_links_its_history_and_the_command_to_judge_it(void **state) {
  (void)state;
  assert_int_equal(mkdir(path_of("histories"), 0700), 0);
  put("histories/s.a@t.none.c2.t1.hist", "");
  const char *page =
      page_of(RUN("", "", ""), TRIALS_HEADER "s,a@t,none,2,1,77,violated,1,2.5,,histories/s.a@t.none.c2.t1.hist\n"
                                             "s,a@t,none,2,2,78,violated,1,2.5,,histories/gone.hist\n"
                                             "s,a@t,none,2,3,79,violated,1,2.5,,\n"
                                             "s,a@t,none,2,4,80,safe,0,0,,\n");
  assert_has(page, "s, a@t, guard none: 3 of 4 trials");
  assert_has(page, "<code>lockbench explain . s.a@t.none</code>");
  assert_has(
      page,
      "<a href=\"./histories/s.a@t.none.c2.t1.hist\">history</a> <code>lockbench check histories/s.a@t.none.c2.t1.hist</code>");
  assert_has(page, "histories/gone.hist is not in this folder");
  assert_has(page, "<td>not kept</td>");
  assert_has_not(page, ">80<");
}

/* Who has only ./bench can type neither `lockbench` nor a path that counts from the run folder. */
static void commands_are_as_the_user_called_the_tool(void **state) {
  (void)state;
  char checkout[64], wanted[200], real[PATH_MAX];
  const char *const trials = TRIALS_HEADER "s,a@t,none,2,1,77,violated,1,2.5,,histories/x.hist\n";
  snprintf(checkout, sizeof checkout, "%s", dir);
  assert_int_equal(mkdir(path_of("results"), 0700), 0);
  assert_int_equal(mkdir(path_of("results/r1"), 0700), 0);
  snprintf(dir, sizeof dir, "%s/results/r1", checkout);
  assert_int_equal(mkdir(path_of("histories"), 0700), 0);
  put("histories/x.hist", "");
  setenv("LOCKBENCH_CALLED_AS", "./bench", 1);
  const char *page = page_of(RUN("", "", ",\"argv\":[\"run\"]"), trials);
  assert_has(page, "<pre>./bench run</pre>");
  assert_has(page, "<code>./bench report results/r1</code>");
  assert_has(page, "<code>./bench explain results/r1 s.a@t.none</code>");
  assert_has(page, "<code>./bench check results/r1/histories/x.hist</code>");
  assert_null(strstr(page, "--resume"));
  assert_has(page_of(RUN("", "", ",\"partial\":true"), trials), "<code>./bench run --resume results/r1</code>");
  setenv("LOCKBENCH_CALLED_AS", "../lb/bench", 1);
  assert_has(page_of(RUN("", "", ""), trials), "<code>../lb/bench report ../lb/results/r1</code>");
  snprintf(dir, sizeof dir, "%s", checkout); /* in no folder of results: whole */
  setenv("LOCKBENCH_CALLED_AS", "./bench", 1);
  assert_non_null(realpath(dir, real));
  snprintf(wanted, sizeof wanted, "<code>./bench report %s</code>", real);
  assert_has(page_of(RUN("", "", ""), TRIALS_HEADER), wanted);
  unsetenv("LOCKBENCH_CALLED_AS");
}

static void rates_are_the_median_of_the_repeats_with_least_and_most(void **state) {
  (void)state;
  const char *page =
      page_of(RUN("", "", ""), TRIALS_HEADER "s,a@t,none,4,1,1,safe,0,0,300,\ns,a@t,none,4,2,1,safe,0,0,100,\n"
                                             "s,a@t,none,4,3,1,safe,0,0,,\ns,a@t,none,4,4,1,violated,1,1,220,\n"
                                             "s,a@t,none,16,1,1,safe,0,0,12.34,\n");
  assert_has(page, "<td class=\"number\">4</td><td></td><td></td><td class=\"number\">220</td><td class=\"number\">100 to 300</td>"
                   "<td class=\"number\">3</td><td class=\"number\">1</td>");
  assert_has(page, "<td class=\"number\">16</td><td></td><td></td><td class=\"number\">12.3</td><td class=\"number\">12.3 to 12.3</td>");
}

static void only_figures_that_are_there_are_shown(void **state) {
  (void)state;
  assert_has_not(page_of(RUN("", "", ""), TRIALS_HEADER), "<img");
  assert_int_equal(mkdir(path_of("figures"), 0755), 0);
  put("figures/scaling.svg", "<svg/>");
  const char *page = page_of(RUN("", "", ""), TRIALS_HEADER);
  assert_has(page, "<img src=\"./figures/scaling.svg\"");
  assert_has_not(page, "<img src=\"./figures/truth-table.svg\"");
}

static void a_figure_that_was_not_drawn_is_named_with_the_reason(void **state) {
  (void)state;
  assert_has_not(page_of(RUN("", "", ""), TRIALS_HEADER), "ot drawn");
  assert_int_equal(mkdir(path_of("figures"), 0755), 0);
  put("figures/scaling.svg", "<svg/>");
  put("figures/not-drawn.txt", "scaling: no <b>: python\nviolation: it failed\nno colon here\nlatency: no <b>: python");
  const char *page = page_of(RUN("", "", ""), TRIALS_HEADER);
  assert_order(page, (const char *const[]){
                         "</header>", "<p class=\"banner bad\">Not drawn: scaling, latency (no &lt;b&gt;: python).</p>",
                         "<p class=\"banner bad\">Not drawn: violation (it failed).</p>", "What it costs",
                         ">scaling: not drawn again, this is an older picture.<", "figures/scaling.svg",
                         ">latency: not drawn.<", "What was asked", ">violation: not drawn.<", NULL});
  assert_has_not(page, "no colon");
  assert_has_not(page, "safety-speed");
}

static void the_same_folder_gives_the_same_page_and_nothing_else_is_left(void **state) {
  (void)state;
  char first[20000];
  snprintf(first, sizeof first, "%s",
           page_of(RUN("{\"name\":\"s\"}", CELL("s", "a@t", "none", "safe", ""), ""), TRIALS_HEADER));
  assert_int_equal(lb_report_write(dir, err, sizeof err), 0);
  assert_string_equal(slurp(path_of("report.html")), first);
  assert_int_equal(access(path_of(".report.html.partial"), F_OK), -1);
}

static void the_sample_run_is_reported_whole(void **state) {
  (void)state;
  const char *root = getenv("LB_SOURCE_DIR");
  char command[600];
  snprintf(command, sizeof command, "cp -R '%s/tests/data/run-sample/.' '%s'", root ? root : ".", dir);
  if (system(command) != 0) SKIP("the sample run could not be copied");
  assert_int_equal(lb_report_write(dir, err, sizeof err), 0);
  const char *page = slurp(path_of("report.html"));
  assert_has(page, "<h1>invented numbers: 2 cells differ from the expectation, 1 is undecided</h1>");
  assert_has(page, "<span>✗" NBSP "violated</span> <span>3/20</span><small>≠ expected safe</small>");
  assert_has(page, "lockbench check histories/failover.redis-token@sentinel.none.c2.t1.hist");
  assert_has(page, "<li><code>await failover within 30s</code></li>");
  assert_has(page, "<dt>The expectation is refuted if</dt><dd>no dirty write without a guard &amp; one with fencing");
  assert_has(page, "-s &#39;note=it&#39;\\&#39;&#39;s made up&#39; --seed 7</pre>");
  assert_has_not(page, "&lt;/"); /* markup of ours that went through the escaping; the sample has none */
}

/* ---- what is refused ----------------------------------------------------------------------------------------------
 */

static void a_missing_file_is_named(void **state) {
  (void)state;
  assert_int_equal(lb_report_write(dir, err, sizeof err), -ENOENT);
  assert_has(err, "/run.json: No such file");
  put("run.json", RUN("", "", ""));
  assert_int_equal(lb_report_write(dir, err, sizeof err), -ENOENT);
  assert_has(err, "/trials.csv: No such file");
  assert_int_equal(access(path_of("report.html"), F_OK), -1);
}

static void malformed_json_is_refused_with_its_line(void **state) {
  (void)state;
  assert_refused("{\"schema_version\": 1,\n\"id\": }", TRIALS_HEADER, -EINVAL, "/run.json:2: ");
  assert_refused("", TRIALS_HEADER, -EINVAL, "/run.json:");
  assert_refused("[]", TRIALS_HEADER, -EINVAL, "/run.json: expected an object");
}

static void a_run_of_another_shape_is_refused_with_what_was_expected(void **state) {
  (void)state;
  assert_refused("{\"schema_version\":2}", TRIALS_HEADER, -EINVAL, "'schema_version' is 2, expected 1");
  assert_refused("{\"schema_version\":1,\"id\":5}", TRIALS_HEADER, -EINVAL, "'id' is 5, expected a text");
  assert_refused("{\"schema_version\":1,\"id\":\"r\",\"scenarios\":{}}", TRIALS_HEADER, -EINVAL,
                 "'scenarios' is {}, expected a list");
  assert_refused(RUN("{}", "", ""), TRIALS_HEADER, -EINVAL, "scenario 1: 'name' is missing, expected a text");
  assert_refused(RUN("", CELL("s", "a@t", "none", "safe", "") ",7", ""), TRIALS_HEADER, -EINVAL,
                 "cell 2: expected an object");
  assert_refused(RUN("", CELL("s", "a@t", "none", "fine", ""), ""), TRIALS_HEADER, -EINVAL,
                 "cell 1: 'verdict' is \"fine\", expected safe");
  assert_refused(
      RUN("", "{\"scenario\":\"s\",\"system\":\"a\",\"guard\":\"none\",\"verdict\":\"safe\",\"trials\":-1}", ""),
      TRIALS_HEADER, -EINVAL, "cell 1: 'trials' is -1, expected a number of trials");
  assert_refused(
      RUN("",
          "{\"scenario\":\"s\",\"system\":\"a\",\"guard\":\"none\",\"verdict\":\"safe\",\"trials\":1,\"violated\":0,"
          "\"undecided\":0}",
          ""),
      TRIALS_HEADER, -EINVAL, "'upper95' is missing, expected a number");
}

/* A column that came later, wherever it stands. */
static void handoffs_stand_before_grants(void **state) {
  (void)state;
#define NEWER "handoffs_per_s," TRIALS_HEADER
  const char *page = page_of(RUN("", "", ""), NEWER "7,s,a@t,none,4,1,1,safe,0,0,300,\n9,s,a@t,none,4,2,1,safe,0,0,100,\n200,s,a@t,none,4,3,1,safe,0,0,100,\n");
  assert_has(page, "<td class=\"number\">4</td><td class=\"number\">9.0</td><td class=\"number\">7.0 to 200</td>"
                   "<td class=\"number\">100</td><td class=\"number\">100 to 300</td>");
}

#define LOAD(name, settle) "{\"name\":\"" name "\",\"steps\":[],\"workload\":{\"duration_s\":1.5,\"warmup_s\":0.4" settle "}}"

/* The rate of a server that is still warming up looks like any other. */
static void what_had_not_settled_is_said_before_the_rates(void **state) {
  (void)state;
#define SETTLED "unsettled," TRIALS_HEADER
  const char *page = page_of(RUN(LOAD("a", ",\"settle_s\":30"), "", ""),
                             SETTLED "1,a,a@t,none,4,1,1,safe,0,0,300,\n0,a,a@t,none,4,2,1,safe,0,0,100,\n1,a,b@t,none,4,1,1,safe,0,0,100,\n");
  assert_order(page, (const char *const[]){"<p class=\"banner bad\">In 2 trials the rate was still changing", "Rates in numbers", "<th>not settled</th>",
                                           "<td class=\"number\">2</td><td class=\"number\">0</td><td class=\"number\">1</td></tr>", NULL});
  assert_has_not(page, "warm-up of fixed length");
  page = page_of(RUN(LOAD("a", "") "," LOAD("b", ",\"settle_s\":0") "," LOAD("c", ",\"settle_s\":3"), "", ""), TRIALS_HEADER "a,a@t,none,4,1,1,safe,0,0,300,\n");
  assert_has(page, "whether the rate had settled by then or not: a (0.4 s), b (0.4 s). Such");
  assert_has_not(page, "still changing");
  assert_has(page, "<td class=\"number\">0</td><td></td></tr>");
}

/* Neither has a window whose rate could settle. */
static void steps_and_campaigns_do_not_have_to_settle(void **state) {
  (void)state;
  assert_has_not(page_of(RUN("{\"name\":\"s\",\"steps\":[\"wait 1s\"],\"workload\":{\"duration_s\":1}},"
                             "{\"name\":\"c\",\"steps\":[],\"campaign\":{},\"workload\":{\"duration_s\":1}}", "", ""), TRIALS_HEADER), "settled");
}

static void malformed_trials_are_refused_with_their_line(void **state) {
  (void)state;
  const char *run = RUN("", "", "");
  assert_refused(run, "", -EINVAL, "/trials.csv:1: empty");
  assert_refused(run, "scenario,system\n", -EINVAL, "/trials.csv:1: no column 'guard'");
  assert_refused(run, TRIALS_HEADER "s,a@t\n", -EINVAL, "/trials.csv:2: 2 fields, expected 11");
  assert_refused(run, TRIALS_HEADER "\"a\nb\",a@t,none,1,1,1,safe,0,0,,\n\"open", -EINVAL,
                 "/trials.csv:4: a stray or unclosed quote");
  assert_refused(run, TRIALS_HEADER "s,a@t,none,1,1,1,safe,0,0,fast,\n", -EINVAL,
                 "/trials.csv:2: grants_per_s is 'fast'");
  assert_refused(run, TRIALS_HEADER "s,a@t,none,1,1,1,safe,0,0,nan,\n", -EINVAL,
                 "/trials.csv:2: grants_per_s is 'nan'");
  assert_refused(run, NEWER "-1,s,a@t,none,1,1,1,safe,0,0,1,\n", -EINVAL, "/trials.csv:2: handoffs_per_s is '-1'");
  assert_refused(run, TRIALS_HEADER "s,a@t,none,1,1,1,safe,0,0,,../x\n", -EINVAL,
                 "history is '../x', expected histories/NAME");
  assert_refused(run, TRIALS_HEADER "s,a@t,none,1,1,1,safe,0,0,,histories/../x\n", -EINVAL,
                 "history is 'histories/../x'");
}

static void a_folder_that_cannot_be_written_is_an_error(void **state) {
  (void)state;
  put("run.json", RUN("", "", ""));
  put("trials.csv", TRIALS_HEADER);
  assert_int_equal(mkdir(path_of(".report.html.partial"), 0700), 0); /* in the way, also of root */
  assert_int_equal(lb_report_write(dir, err, sizeof err), -EISDIR);
  assert_has(err, "/report.html: Is a directory");
}

/* ---- csv ----------------------------------------------------------------------------------------------------------
 */

static void quoted_fields_may_hold_commas_quotes_and_line_ends(void **state) {
  (void)state;
  struct lb_csv csv;
  char path[200];
  put("x.csv", "a,b\r\n\"1,\"\"2\"\"\n3\",\r\n,\"\"\n4,5");
  snprintf(path, sizeof path, "%s", path_of("x.csv"));
  assert_int_equal(lb_csv_open(path, &csv, err, sizeof err), 0);
  assert_int_equal(lb_csv_column(&csv, "b", err, sizeof err), 1);
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_string_equal(csv.field[0], "1,\"2\"\n3");
  assert_string_equal(csv.field[1], "");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_int_equal(csv.line, 4);
  assert_string_equal(csv.field[0], "");
  assert_string_equal(csv.field[1], "");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_string_equal(csv.field[0], "4");
  assert_string_equal(csv.field[1], "5");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 0);
  lb_csv_close(&csv);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_becomes_neither_markup_nor_the_end_of_an_attribute),
      cmocka_unit_test(a_path_is_never_a_scheme),
      EACH(every_text_of_a_run_is_escaped),
      EACH(the_verdict_comes_first_and_the_sections_follow_in_order),
      EACH(a_number_has_the_digits_that_were_typed),
      EACH(the_banner_of_an_own_lock_has_the_colour_of_the_lock),
      EACH(a_scenario_says_what_a_trial_has_to_show_and_how_many_did),
      EACH(a_cell_says_verdict_count_and_bound),
      EACH(a_difference_is_marked_in_its_cell_and_listed_with_the_reason),
      EACH(rows_are_scenarios_in_order_and_what_was_not_run_is_empty),
      EACH(a_table_of_many_systems_says_that_it_scrolls),
      EACH(guards_stand_beside_none_for_the_scenarios_that_ran_with_one),
      EACH(a_run_with_a_guard_only_has_no_truth_table_without_one),
      EACH(a_campaign_is_a_rate_and_the_control_one_line),
      EACH(the_command_line_is_quoted_for_a_shell_and_carries_the_seed),
      EACH(a_violated_trial_links_its_history_and_the_command_to_judge_it),
      EACH(commands_are_as_the_user_called_the_tool),
      EACH(rates_are_the_median_of_the_repeats_with_least_and_most),
      EACH(handoffs_stand_before_grants),
      EACH(only_figures_that_are_there_are_shown),
      EACH(a_figure_that_was_not_drawn_is_named_with_the_reason),
      EACH(the_same_folder_gives_the_same_page_and_nothing_else_is_left),
      EACH(the_sample_run_is_reported_whole),
      EACH(a_missing_file_is_named),
      EACH(malformed_json_is_refused_with_its_line),
      EACH(a_run_of_another_shape_is_refused_with_what_was_expected),
      EACH(what_had_not_settled_is_said_before_the_rates),
      EACH(steps_and_campaigns_do_not_have_to_settle),
      EACH(malformed_trials_are_refused_with_their_line),
      EACH(a_folder_that_cannot_be_written_is_an_error),
      EACH(quoted_fields_may_hold_commas_quotes_and_line_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
