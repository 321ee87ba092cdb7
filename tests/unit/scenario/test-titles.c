/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * A title says what its scenario plays: each fault by a word of its verb's row, how many of a kind there are, and that
 * nobody asks while one lasts. What a title leaves out is missing in every table that is made of titles.
 */
#include <ctype.h>

#include "scenario/scenario_asked.h"
#include "scenario/scenario_load.h"
#include "test.h"
#include "scenario/scenario.h"

enum { HITS_MAX = 40 };

static struct lb_error err;

/* How many words of the title begin with one of "WORD|WORD". */
static size_t count_words(const char *title, const char *words) {
  size_t found = 0;
  for (const char *at = title; *at; at++) {
    if (at > title && isalnum((unsigned char)at[-1])) continue;
    for (const char *word = words; *word; word += strcspn(word, "|"), word += *word == '|')
      found += strncasecmp(at, word, strcspn(word, "|")) == 0;
  }
  return found;
}

static bool counts(const char *title) {
  return count_words(title, "two|three|four|five|both|each|all|every|again|several") > 0;
}

/* Whom the faults hit that are named by the same words, each once. */
static size_t hits(const struct lb_scenario *s, const char *named) {
  const struct lb_step *hit[HITS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < s->step_count && count < HITS_MAX; i++) {
    const struct lb_step *step = &s->steps[i];
    if (!lb_step_row(step)->named || strcmp(lb_step_row(step)->named, named) != 0) continue;
    bool known = false;
    for (size_t k = 0; k < count; k++) known |= lb_role_equal(hit[k]->a, step->a) && lb_role_equal(hit[k]->b, step->b);
    if (!known) hit[count++] = step;
  }
  return count;
}

/* "Empty" and "backup" speak of what a server has of the grant, so a look at its record has to say it, too. */
static bool looks_at_the_record(const struct lb_scenario *s) {
  bool looks = s->proof_violated;
  for (size_t i = 0; i < s->premise_count; i++) looks |= s->premises[i].kind == LB_PREMISE_KEY;
  return looks;
}

/* NULL, or what the title lacks. */
static const char *lacks(const struct lb_scenario *s) {
  static char what[300];
  for (size_t i = 0; i < s->step_count; i++) {
    const char *named = lb_step_row(&s->steps[i])->named;
    size_t words = named ? count_words(s->title, named) : 0, of_a_kind = named ? hits(s, named) : 0;
    snprintf(what, sizeof what, "step = %s: expected a word that begins with %s", s->steps[i].text, named);
    if (named && !words) return what;
    snprintf(what, sizeof what, "step = %s: %zu of its kind (%s), expected a word that counts them", s->steps[i].text,
             of_a_kind, named);
    if (named && of_a_kind > words && !counts(s->title)) return what;
  }
  if (count_words(s->title, "empty|backup") && !looks_at_the_record(s))
    return "it says what a disk has, and no premise looks at the record";
  const struct lb_step *unasked = lb_scenario_unasked(s);
  bool told = strstr(s->title, "nobody asks");
  snprintf(what, sizeof what, "step = %s: nobody asks while that lasts, and the title does not say `nobody asks`",
           unasked ? unasked->text : "");
  return unasked && !told ? what : !unasked && told ? "it says that nobody asks, and somebody does" : NULL;
}

static void read_it(const char *title, const char *steps, struct lb_scenario *ret) {
  char text[2000];
  snprintf(
      text, sizeof text,
      "[scenario]\ntitle = %s\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[timeline]\n%s[expect]\n* = safe\n",
      title, steps);
  if (lb_scenario_parse("t.ini", text, strlen(text), ret, &err) < 0) fail_msg("%s", err.text);
}

static void expect_of(const char *title, const char *steps, const char *expected) {
  struct lb_scenario s;
  read_it(title, steps, &s);
  const char *found = lacks(&s);
  if (!expected || !found) assert_true(!expected && !found);
  else assert_string_equal(found, expected);
  lb_scenario_clear(&s);
}

#define HELD "step = client 1 acquire within 5s\n"
#define ASKED "step = client 2 acquire within 5s\n"

TEST(each_kind_of_fault_has_a_word) {
  expect_of("a server restarts", HELD "step = restart primary\n" ASKED, NULL);
  expect_of("the server is new", HELD "step = restart primary\n" ASKED,
            "step = restart primary: expected a word that begins with restart");
  expect_of("a server restarts", "step = cut client 1 from minority\n" HELD "step = restart primary\n" ASKED,
            "step = cut client 1 from minority: expected a word that begins with cut|split|silent");
  expect_of("a cut client, and a server restarts",
            "step = cut client 1 from minority\n" HELD "step = restart primary\n" ASKED, NULL);
  expect_of("a shortcut", HELD "step = cut client 1 from all\n" ASKED,
            "step = cut client 1 from all: expected a word that begins with cut|split|silent"); /* no part of a word */
}

TEST(faults_of_a_kind_are_counted) {
  expect_of("a server dies", HELD "step = kill node 1, kill node 2\n" ASKED,
            "step = kill node 1: 2 of its kind (die|dead), expected a word that counts them");
  expect_of("two servers die", HELD "step = kill node 1, kill node 2\n" ASKED, NULL);
  expect_of("a server dies, and another one dies", HELD "step = kill node 1, kill node 2\n" ASKED, NULL);
  expect_of("the clock jumps and jumps", HELD "step = clock primary +5s, clock primary +5s\n" ASKED,
            NULL); /* one server */
}

TEST(who_asks_while_a_fault_lasts) {
  static const char strobe[] = "step = clock primary +60m, wait 300ms, clock primary -60m\n";
  char steps[400];
  snprintf(steps, sizeof steps, HELD "%s" ASKED, strobe);
  expect_of("a clock", steps,
            "step = clock primary +60m: nobody asks while that lasts, and the title does not say `nobody asks`");
  expect_of("a clock, and nobody asks", steps, NULL);
  snprintf(steps, sizeof steps, HELD "step = client 2 begin acquire within 5s\n%sstep = client 2 read\n", strobe);
  expect_of("a clock", steps, NULL); /* its request goes on */
  expect_of("a clock, and nobody asks", steps, "it says that nobody asks, and somebody does");
  snprintf(steps, sizeof steps, HELD "step = client 2 begin acquire within 5s\nstep = client 2 read\n%s", strobe);
  expect_of("a clock", steps,
            "step = clock primary +60m: nobody asks while that lasts, and the title does not say `nobody asks`");
  expect_of("a server dies, restarts", HELD "step = kill primary, restart primary\n" ASKED,
            NULL); /* what it lost lasts */
  expect_of("a server dies, restarts", HELD "step = kill primary, wait 1s, restart primary\n" ASKED,
            "step = kill primary: nobody asks while that lasts, and the title does not say `nobody asks`");
  expect_of("a clock", HELD "step = clock primary +60m\n" ASKED, NULL);
}

TEST(what_a_disk_has_is_looked_at) {
  static const char wiped[] = HELD "step = wipe primary, restart primary, observe key on primary\n" ASKED;
  char steps[400];
  expect_of("a server restarts empty", wiped, "it says what a disk has, and no premise looks at the record");
  snprintf(steps, sizeof steps, "%s[proof]\npremise = key absent on primary\n", wiped);
  expect_of("a server restarts empty", steps, NULL);
}

TEST(the_title_of_every_scenario_names_its_faults) {
  size_t count, timelines = 0, wrong = 0;
  char folder[1100], **names, **paths;
  snprintf(folder, sizeof folder, "%s/scenarios", getenv("LB_SOURCE_DIR"));
  assert_int_equal(lb_scenario_list(folder, &names, &paths, &count), 0);
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario s;
    if (lb_scenario_load(paths[i], &s, &err) < 0) fail_msg("%s", err.text);
    const char *missing = s.kind == LB_KIND_TIMELINE ? lacks(&s) : NULL; /* a campaign draws its faults */
    if (missing) print_error("%s: title = %s: %s\n", paths[i], s.title, missing), wrong++;
    timelines += s.kind == LB_KIND_TIMELINE;
    lb_scenario_clear(&s);
    free(names[i]), free(paths[i]);
  }
  free(names), free(paths);
  assert_true(timelines > 100);
  assert_int_equal(wrong, 0);
}
