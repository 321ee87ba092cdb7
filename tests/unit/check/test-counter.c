/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The table of counters is one that every reader can go by, and a row is enough to show, to add and to leave out its
 * number.
 */
#include "test.h"
#include "check/counter.h"

static const char *printed(const char *name, const struct lb_counters *counters) {
  static char text[60];
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text - 1, "w");
  assert_non_null(out);
  lb_counter_print(lb_counter_named(name), counters, out);
  fclose(out);
  return text;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

TEST(every_row_says_all_that_its_places_need) {
  static const char *const units[] = {"ms", "us", "s", "1/s", "kB"};
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    bool unit = !row->unit, in_cells = row->places & LB_IN_CELLS, in_text = row->places & LB_IN_TEXT;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) unit = unit || strcmp(row->unit, units[u]) == 0;
    if (!row->name || !row->help || !row->places || !unit) fail_msg("row %zu is incomplete", i + 1);
    if ((in_cells || in_text) && !row->label) fail_msg("%s has no label", row->name);
    if (in_cells && row->add != LB_ADD_SUM && row->add != LB_ADD_MAX) fail_msg("%s of a cell is not said", row->name);
    if (row->places & (LB_IN_CHECK | LB_IN_TEXT) && row->source != LB_FROM_CHECK)
      fail_msg("check has no %s", row->name);
    if (in_text && row->only && !row->none) fail_msg("%s: why there is none is not said", row->name);
    if (row->only & LB_IF_SEEN && row->type == LB_COUNTER_WHOLE) fail_msg("%s cannot be -1", row->name);
    bool is_time = row->unit && (strcmp(row->unit, "ms") == 0 || strcmp(row->unit, "us") == 0);
    if (is_time && row->type == LB_COUNTER_REAL) fail_msg("%s: a time is kept in whole ns", row->name);
    for (size_t k = 0; k < i; k++)
      if (strcmp(row->name, lb_counter_rows[k].name) == 0) fail_msg("%s stands twice", row->name);
  }
}

TEST(a_row_is_found_by_its_name) {
  for (size_t i = 0; i < lb_counter_row_count; i++)
    assert_ptr_equal(lb_counter_named(lb_counter_rows[i].name), &lb_counter_rows[i]);
}

TEST(a_group_stands_together) {
  for (size_t i = 2; i < lb_counter_row_count; i++)
    for (size_t k = 0; k + 1 < i; k++)
      if (lb_counter_rows[k].group == lb_counter_rows[i].group)
        assert_int_equal(lb_counter_rows[i - 1].group, lb_counter_rows[i].group);
}

/* A number may be below 0 and mean something; -1 stands for none only where the row says so. */
TEST(what_need_not_be_seen_applies_below_0) {
  struct lb_counter row = *lb_counter_named("no_grant_ms");
  struct lb_counters counters = lb_counters_none();
  assert_true(row.only & LB_IF_SEEN);
  assert_false(lb_counter_applies(&row, &counters, row.only));
  row.only &= ~(unsigned)LB_IF_SEEN;
  assert_true(lb_counter_applies(&row, &counters, row.only));
}

TEST(a_group_is_walked_in_order_and_only_where_it_is_shown) {
  const struct lb_counter *row = lb_counter_next(NULL, LB_COUNT_TRIAL, LB_IN_TRIALS);
  assert_string_equal(row->name, "start_ms");
  assert_string_equal((row = lb_counter_next(row, LB_COUNT_TRIAL, LB_IN_TRIALS))->name, "trial_ms");
  assert_string_equal((row = lb_counter_next(row, LB_COUNT_TRIAL, LB_IN_TRIALS))->name, "stall_ms");
  assert_string_equal((row = lb_counter_next(row, LB_COUNT_TRIAL, LB_IN_TRIALS))->name, "again");
  assert_null(lb_counter_next(row, LB_COUNT_TRIAL, LB_IN_TRIALS));
  row = lb_counter_next(NULL, LB_COUNT_TRIAL, LB_IN_CELLS);
  assert_string_equal(lb_counter_name_in(row, LB_IN_CELLS), "max_stall_ms");
  assert_null(lb_counter_next(NULL, LB_COUNT_TRIAL, LB_IN_CHECK));
}

/* ---- a number ---------------------------------------------------------------------------------------------------- */

TEST(a_number_is_shown_in_its_unit) {
  struct lb_counters x = {.grants = UINT64_C(9007199254740993),
                          .stall_ns = 1234567,
                          .wait_p99_ns = 1234567,
                          .jain = 0.123456,
                          .measured_s = 2};
  assert_string_equal(printed("grants", &x), "9007199254740993"); /* more than a double holds */
  assert_string_equal(printed("stall_ms", &x), "1.235");
  assert_string_equal(printed("wait_p99_us", &x), "1234.567");
  assert_string_equal(printed("jain", &x), "0.12346");
  assert_string_equal(printed("measured_s", &x), "2.000");
}

static bool applies(const char *name, const struct lb_counters *counters, unsigned met) {
  return lb_counter_applies(lb_counter_named(name), counters, met);
}

TEST(what_was_not_seen_not_measured_or_no_campaign_does_not_apply) {
  struct lb_counters x = lb_counters_none();
  assert_true(applies("grants", &x, 0));
  assert_false(applies("orphan_ms", &x, 0));
  assert_false(applies("wait_p50_us", &x, LB_IF_CAMPAIGN));
  assert_true(applies("wait_p50_us", &x, LB_IF_MEASURED));
  assert_false(applies("handoff_p50_us", &x, LB_IF_MEASURED));
  assert_false(applies("faults", &x, LB_IF_MEASURED));
  assert_true(applies("faults", &x, LB_IF_CAMPAIGN | LB_IF_MEASURED));
  x.orphan_ns = x.handoff_p50_ns = 0;
  assert_true(applies("orphan_ms", &x, 0));
  assert_true(applies("handoff_p50_us", &x, LB_IF_MEASURED));
  assert_false(applies("handoff_p50_us", &x, 0));
}

TEST(a_real_number_that_was_not_seen_does_not_apply) {
  struct lb_counters x = lb_counters_none();
  assert_false(applies("commits", &x, LB_IF_MEASURED));
  assert_false(applies("commits_per_handoff", &x, LB_IF_MEASURED));
  assert_false(applies("requests_per_handoff", &x, LB_IF_MEASURED));
  x.commits = 0, x.commits_per_handoff = 0, x.requests_per_handoff = 0;
  assert_true(applies("requests_per_handoff", &x, LB_IF_MEASURED));
  assert_true(applies("commits", &x, LB_IF_MEASURED));
  assert_true(applies("commits_per_handoff", &x, LB_IF_MEASURED));
  assert_true(applies("grants_per_s", &x, LB_IF_MEASURED)); /* one that every measured trial has */
}

TEST(trials_add_up_as_the_row_says) {
  struct lb_counters sum = lb_counters_none(), a = {.grants = 3, .depth = 2, .orphan_ns = -1, .blind_ns = 5, .jain = 1},
                     b = {.grants = 4, .depth = 1, .orphan_ns = -1, .blind_ns = 0, .jain = 1};
  lb_counters_add(&sum, &a), lb_counters_add(&sum, &b);
  assert_int_equal(sum.grants, 7);
  assert_int_equal(sum.depth, 2);
  assert_int_equal(sum.orphan_ns, -1);
  assert_int_equal(sum.blind_ns, 5);
  assert_true(sum.jain == 0);
}

TEST(only_the_counters_of_a_source_are_taken) {
  struct lb_counters to = {.stall_ns = 1, .busy = 2}, from = {.stall_ns = 7, .busy = 7, .grants = 7};
  lb_counters_take(&to, &from, LB_FROM_CHECK);
  assert_int_equal(to.grants, 7);
  assert_int_equal(to.busy, 2);
  assert_int_equal(to.stall_ns, 1);
}

TEST(as_json_what_does_not_apply_is_null) {
  static const enum lb_counter_group groups[] = {LB_COUNT_LIVENESS, LB_COUNT_TRIAL};
  struct lb_counters x = lb_counters_none();
  json_t *o = json_object();
  x.blind_ns = 1500000;
  lb_counters_json(o, &x, groups, 2, LB_IN_CELLS, 0);
  char *text = json_dumps(o, JSON_COMPACT);
  assert_string_equal(
      text, "{\"unavailable_ms\":null,\"orphan_ms\":null,\"blind_ms\":1.5,\"no_grant_ms\":null,\"max_stall_ms\":0.0}");
  free(text);
  lb_counters_json(o, NULL, groups, 2, LB_IN_CELLS, 0);
  assert_true(json_is_null(json_object_get(o, "max_stall_ms")));
  json_decref(o);
}
