/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What stands in a cell of the table of campaigns: no bound that is there becomes 0, and no rate is made of too little.
 */
#include "test.h"
#include "show/campaign_text.h"

static const char *share(double value, double low, double high) {
  static char text[80];
  lb_campaign_text_share(&(struct lb_rate){value, low, high}, true, text, sizeof text);
  return text;
}

static const char *rate(enum lb_campaign_exposure of, uint64_t events, double exposure, int trials) {
  static char text[80];
  struct lb_campaign_rate x = {of, {4.938, 0.0094, 11.04}, events, exposure, trials};
  lb_campaign_text_rate(&x, text, sizeof text);
  return text;
}

TEST(a_share_is_in_per_cent_with_two_digits) {
  char text[80];
  assert_string_equal(share(0.25, 0.0456, 0.6994), "25 [4.6,70]");
  assert_string_equal(share(0.0094, 0.00004, 0.05), "0.94 [0.004,5]");
  assert_string_equal(share(1, 0.5, 1), "100 [50,100]");
  assert_string_equal(share(0, 0, 0.5271), "0 (<53)");
  lb_campaign_text_share(&(struct lb_rate){0}, false, text, sizeof text);
  assert_string_equal(text, "-");
}

STATES(a_lower_bound_is_not_0_unless_it_is, assert_string_equal(rate(LB_PER_HOUR, 12, 1, 2), "4.9 [0.0094,11]"),
       assert_string_equal(share(0.2, 0, 0.999), "20 [0,100]"));

TEST(measured_time_is_in_seconds) {
  char text[40];
  lb_campaign_text_seconds(4.25 / 3600, text, sizeof text);
  assert_string_equal(text, "4.2");
  lb_campaign_text_seconds(64.8 / 3600, text, sizeof text);
  assert_string_equal(text, "65");
}

TEST(large_numbers_are_not_powers_of_ten) {
  char text[80];
  struct lb_campaign_rate x = {LB_PER_HOUR, {153361, 134185, 99.6}, 215, 1, 5};
  lb_campaign_text_rate(&x, text, sizeof text);
  assert_string_equal(text, "150k [130k,100]");
}

struct shown {
  enum lb_campaign_exposure of;
  uint64_t events;
  double exposure;
  int trials;
  const char *text;
};

static void each_is_shown_as(const struct shown *cells, size_t count) {
  for (size_t i = 0; i < count; i++)
    assert_string_equal(rate(cells[i].of, cells[i].events, cells[i].exposure, cells[i].trials), cells[i].text);
}

TEST(fewer_than_five_events_are_a_count_with_its_bound) {
  static const struct shown cells[] = {{LB_PER_HOUR, 5, 1, 2, "4.9 [0.0094,11]"},
                                       {LB_PER_HOUR, 4, 1, 2, "4 (<11)"},
                                       {LB_PER_1000, 1, 1000, 1, "1 (<11)"},
                                       {LB_PER_1000, 0, 1000, 1, "0 (<11)"}};
  each_is_shown_as(cells, sizeof cells / sizeof *cells);
}

/* Of one trial nobody knows what its violations have in common, so they have no bound either. */
STATES(many_events_of_one_trial_are_a_count, assert_string_equal(rate(LB_PER_HOUR, 215, 5.0 / 3600, 1), "215 in 5 s"),
       assert_string_equal(rate(LB_PER_1000, 215, 1793, 1), "215 in 1793"));

TEST(fewer_than_100_handoffs_make_no_rate_and_no_bound) {
  static const struct shown cells[] = {
      {LB_PER_1000, 12, 2, 5, "12 in 2"},
      {LB_PER_1000, 0, 99, 5, "0 in 99"},
      {LB_PER_1000, 12, 100, 5, "4.9 [0.0094,11]"},
      {LB_PER_1000, 0, 0, 5, "-"},
      {LB_PER_HOUR, 12, 0.001, 5, "4.9 [0.0094,11]"}, /* an hour has no hand-offs */
  };
  each_is_shown_as(cells, sizeof cells / sizeof *cells);
}

TEST(kinds_are_added_up_and_those_that_never_came_are_named) {
  struct lb_campaign_notes notes = {0};
  char text[400];
  lb_campaign_text_kinds(&notes, text, sizeof text);
  assert_string_equal(text, "");
  lb_campaign_notes_kind(&notes, "b", 0);
  lb_campaign_text_kinds(&notes, text, sizeof text);
  assert_string_equal(text, "never proved: b");
  lb_campaign_notes_kind(&notes, "a", 2);
  lb_campaign_notes_kind(&notes, "c", 1);
  lb_campaign_notes_kind(&notes, "a", 3);
  lb_campaign_notes_kind(&notes, "d", 0);
  lb_campaign_text_kinds(&notes, text, sizeof text);
  assert_string_equal(text, "proved over all rows: 5 a, 1 c; never: b, d");
}

TEST(what_the_control_does_not_separate_is_named_first) {
  struct lb_campaign_notes notes = {0};
  char text[1400];
  lb_campaign_text_control(&notes, text, sizeof text);
  assert_string_equal(text, "");
  lb_campaign_notes_control(&notes, "a@t", "none", 1);
  lb_campaign_text_control(&notes, text, sizeof text);
  assert_string_equal(
      text, "By violations per hour, every row that has any lies above the control, the same load without faults.");
  lb_campaign_notes_control(&notes, "b@t", "none", -1);
  lb_campaign_text_control(&notes, text, sizeof text);
  assert_string_equal(
      text,
      "Nothing tells what some of these rows would be without faults: that takes 2 decided trials of a row, and 2 of a control of the same load.");
  lb_campaign_notes_control(&notes, "c@t", "none", 0);
  lb_campaign_notes_control(&notes, "d@t", "fence", 0);
  lb_campaign_text_control(&notes, text, sizeof text);
  assert_non_null(strstr(text, "does not separate from c@t, d@t (fence): "));
}

/* Of 40 names of 31 bytes 30 have room. */
TEST(no_name_is_cut_in_the_middle) {
  struct lb_campaign_notes notes = {0};
  char text[1400];
  for (int i = 0; i < 40; i++) lb_campaign_notes_control(&notes, "a-rather-long-protocol@topology", "none", 0);
  lb_campaign_text_control(&notes, text, sizeof text);
  assert_int_equal(notes.below_count, 40);
  assert_non_null(strstr(text, ", a-rather-long-protocol@topology and 10 more: by violations per hour"));
}
