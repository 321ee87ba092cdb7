/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * A deadlock is found and named, and what only looks like one is not.
 */
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "check/circle.h"

#define EVENT(t, c, k, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"" k "\",\"e\":\"" e "\"}\n"
#define ENDED(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"crash\"}\n"

static char text[600];

/* "" = none. */
static const char *circle(const char *lines) {
  struct lb_history h;
  struct lb_error err;
  struct lb_circle found;
  if (parse_lines("test", lines, &h, &err) != 0) fail_msg("%s", err.text);
  text[0] = '\0';
  if (lb_circle_find(&h, &found)) lb_circle_format(&h, &found, text, sizeof text);
  lb_history_clear(&h);
  return text;
}

#define BOTH_HOLD EVENT(1, "a", "x", "granted") EVENT(2, "b", "y", "granted")

TEST(two_locks_in_opposite_order_are_a_circle) {
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "a", "y", "acquire") EVENT(4, "b", "x", "acquire")),
                      "a holds x and waits for y, b holds y and waits for x");
}

TEST(it_is_told_alike_whoever_asked_last) {
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "b", "x", "acquire") EVENT(4, "a", "y", "acquire")),
                      "a holds x and waits for y, b holds y and waits for x");
}

TEST(a_circle_may_have_three_clients) {
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "c", "z", "granted") EVENT(4, "a", "y", "acquire")
                                 EVENT(5, "b", "z", "acquire") EVENT(6, "c", "x", "acquire")),
                      "a holds x and waits for y, b holds y and waits for z, c holds z and waits for x");
}

TEST(who_has_let_go_or_given_up_is_in_none) {
  assert_string_equal(
      circle(BOTH_HOLD EVENT(3, "a", "y", "acquire") EVENT(4, "a", "y", "busy") EVENT(5, "b", "x", "acquire")), "");
  assert_string_equal(
      circle(BOTH_HOLD EVENT(3, "a", "y", "acquire") EVENT(4, "b", "y", "release") EVENT(5, "b", "x", "acquire")), "");
  assert_string_equal(
      circle(BOTH_HOLD EVENT(3, "a", "y", "acquire") EVENT(4, "b", "y", "lost") EVENT(5, "b", "x", "acquire")), "");
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "a", "y", "acquire") ENDED(4, "a") EVENT(5, "b", "x", "acquire")), "");
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "b", "y", "granted") EVENT(4, "b", "y", "release")
                                 EVENT(5, "a", "y", "acquire") EVENT(6, "b", "x", "acquire")),
                      "a holds x and waits for y, b holds y and waits for x"); /* it was granted twice */
}

TEST(who_waits_for_one_that_waits_for_nobody_is_in_none) {
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "a", "y", "acquire")), "");
  assert_string_equal(circle(EVENT(1, "a", "x", "granted") EVENT(2, "b", "y", "granted") EVENT(3, "a", "x", "acquire")),
                      "");
  assert_string_equal(circle(BOTH_HOLD EVENT(3, "a", "y", "acquire")
                                 EVENT(4, "b", "x", "acquire") "{\"t\":0,\"e\":\"permits\",\"total\":2}\n"),
                      ""); /* of several holders none is the one that is waited for */
  assert_string_equal(circle(EVENT(1, "a", "x", "granted") EVENT(2, "b", "x", "acquire")), "");
}
