/* SPDX-License-Identifier: MIT
 *
 * Which cell is meant by a few words, and what is said when it is none or more than one.
 */
#include "test.h"
#include "show/explain_run.h"

static struct lb_error err;

static json_t *cells_of(const char *const *names) { /* "scenario system guard [verdict]" */
  json_t *cells = json_array();
  for (; *names; names++) {
    char scenario[60], system[60], guard[20], verdict[20] = "safe";
    assert_true(sscanf(*names, "%59s %59s %19s %19s", scenario, system, guard, verdict) >= 3);
    json_array_append_new(cells, json_pack("{s:s, s:s, s:s, s:s}", "scenario", scenario, "system", system, "guard",
                                           guard, "verdict", verdict));
  }
  return cells;
}

static const char *const run[] = {"failover token@sentinel none", "failover token@sentinel fence",
                                  "failover row@pg none",         "failover row@pg-sync none",
                                  "control token@redis none",     "control row@pg none",
                                  "storm.v2 token@redis none",    NULL};

/* The name of the cell, or what is said; `words` are taken apart at spaces. */
static const char *named_in(const char *const *names, const char *words) {
  static char ret[LB_CELL_NAME_MAX];
  char text[600];
  const char *word[20];
  int count = 0;
  snprintf(text, sizeof text, "%s", words);
  for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) word[count++] = at;
  json_t *cells = cells_of(names);
  const json_t *cell = lb_cell_named(cells, word, count, &err);
  if (cell) lb_cell_name(cell, ret);
  json_decref(cells);
  return cell ? ret : err.text;
}

static const char *named(const char *words) { return named_in(run, words); }

TEST(a_whole_name_is_that_cell) {
  assert_string_equal(named("failover.token@sentinel"), "failover.token@sentinel");
  assert_string_equal(named("failover.token@sentinel.none"), "failover.token@sentinel");
  assert_string_equal(named("failover token@sentinel fence"), "failover.token@sentinel.fence");
  assert_string_equal(named("storm.v2 token@redis"), "storm.v2.token@redis");
}

TEST(cells_without_a_question_stand_in_nobodys_way) {
  static const char *const one[] = {"load broken none violated", "load broken fence n/a", "load broken claim n/a",
                                    NULL};
  static const char *const two[] = {"load broken none violated", "load broken fence safe", "load broken claim n/a",
                                    NULL};
  static const char *const none[] = {"load broken fence n/a", "load broken claim n/a", NULL};
  assert_string_equal(named_in(one, "load"), "load.broken");
  assert_string_equal(named_in(one, "claim"), "load.broken.claim");
  assert_non_null(strstr(named_in(two, "load"), "could be any of 3 cells"));
  assert_non_null(strstr(named_in(none, "load"), "could be any of 2 cells"));
}

TEST(what_only_one_cell_has_is_that_cell) {
  assert_string_equal(named("fence"), "failover.token@sentinel.fence");
  assert_string_equal(named("row@pg-sync"), "failover.row@pg-sync");
  assert_string_equal(named("control token"), "control.token@redis");
  assert_string_equal(named("control.row"), "control.row@pg");
  assert_string_equal(named("token.control"), "control.token@redis");
  assert_string_equal(named("storm.v2"), "storm.v2.token@redis");
}

/* A dot stands in the names of variants, too. */
TEST(a_name_is_cut_at_the_dots_that_are_not_its_own) {
  static const char *const variants[] = {"load~hold_ms=0.5 token@redis none", "load~hold_ms=0.5 token@redis fence",
                                         "load~hold_ms=0.6 token@redis none", "load row@pg none", NULL};
  assert_string_equal(named_in(variants, "load~hold_ms=0.6.token@redis"), "load~hold_ms=0.6.token@redis");
  assert_string_equal(named_in(variants, "load~hold_ms=0.5.token@redis.fence"), "load~hold_ms=0.5.token@redis.fence");
  assert_string_equal(named_in(variants, "load~hold_ms=0.6.token"), "load~hold_ms=0.6.token@redis");
  assert_string_equal(named_in(variants, "fence.load~hold_ms=0.5.token"), "load~hold_ms=0.5.token@redis.fence");
  assert_string_equal(named_in(variants, "token.load~hold_ms=0.6"), "load~hold_ms=0.6.token@redis");
  assert_string_equal(named_in(variants, "load.row"), "load.row@pg");
}

TEST(none_is_a_guard_and_no_topology) {
  static const char *const fenced[] = {"a local@none fence", "a row@pg none", NULL};
  assert_string_equal(named_in(fenced, "a local@none"), "a.local@none.fence");
  assert_string_equal(named_in(fenced, "none"), "a.row@pg");
  named_in(fenced, "a.local@none.none");
  assert_non_null(strstr(err.text, "unknown cell 'a.local@none.none'"));
}

TEST(what_several_have_is_answered_with_these) {
  assert_string_equal(named("failover"), "'failover' could be any of 4 cells: failover.token@sentinel, "
                                         "failover.token@sentinel.fence, failover.row@pg, failover.row@pg-sync");
  assert_string_equal(named("failover row"),
                      "'failover.row' could be any of 2 cells: failover.row@pg, failover.row@pg-sync");
  assert_string_equal(named("row@pg"), "'row@pg' could be any of 2 cells: failover.row@pg, control.row@pg");
}

TEST(a_list_of_many_cells_ends_with_how_many_more_there_are) {
  enum { MANY = 80 };
  char text[MANY][40];
  const char *names[MANY + 1] = {0};
  for (int i = 0; i < MANY; i++)
    snprintf(text[i], sizeof text[i], "failover lock-%02d@sentinel none", i), names[i] = text[i];
  const char *said = named_in(names, "failover"), *last = strrchr(said, ',') + strlen(", failover.lock-");
  char rest[40];
  snprintf(rest, sizeof rest, "@sentinel and %d more", MANY - 1 - atoi(last));
  assert_string_equal(last + 2, rest);
}

TEST(a_misspelt_word_is_answered_with_the_nearest) {
  assert_string_equal(named("failover.tokn@sentinel"),
                      "unknown cell 'failover.tokn@sentinel', did you mean 'failover.token@sentinel'?");
  assert_string_equal(named("failovr"), "unknown cell 'failovr', did you mean 'failover'?");
  assert_string_equal(named("token@sentinel failovr"),
                      "unknown cell 'token@sentinel.failovr': there is no 'failovr', did you mean 'failover'?");
}

TEST(what_no_cell_has_is_answered_with_what_there_is) {
  assert_string_equal(named("control fence"),
                      "unknown cell 'control.fence', this run has control.token@redis, control.row@pg");
  assert_string_equal(named("control qqqqqqqqqq"),
                      "unknown cell 'control.qqqqqqqqqq', this run has control.token@redis, control.row@pg");
  assert_string_equal(named_in((const char *const[]){"a b@c none", NULL}, "qqqqqq"),
                      "unknown cell 'qqqqqq', this run has a.b@c");
  assert_string_equal(named_in((const char *const[]){NULL}, "x"), "unknown cell 'x', this run has no cells");
}

TEST(without_a_word_there_is_everything) {
  const char *const many[] = {"a x@t none", "a y@t none", "a z@t none", "b x@t none", "b y@t none",
                              "b z@t none", "c x@t none", "c y@t none", "c z@t none", "a x@u none",
                              "b x@u none", "c x@u none", "d x@u none", NULL};
  assert_string_equal(named_in(run + 4, ""),
                      "expected a cell, this run has control.token@redis, control.row@pg, storm.v2.token@redis");
  assert_string_equal(named_in(many, ""), "expected a cell, this run has cells of a, b, c, d");
  assert_string_equal(named_in(many, "qqqq"), "unknown cell 'qqqq', this run has cells of a, b, c, d");
  assert_string_equal(named_in((const char *const[]){"a b@c none", NULL}, ""), "a.b@c");
}

TEST(words_without_end_are_of_no_cell) {
  char words[500] = "fence ";
  memset(words + 6, 'x', 300);
  named(words);
  assert_non_null(strstr(err.text, "unknown cell 'fence.xxx"));
  assert_non_null(strstr(
      named("fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence.fence"),
      "unknown cell"));
}
