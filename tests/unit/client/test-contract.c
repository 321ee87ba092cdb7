/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a single call of a hook may answer: every result of every hook, and grants with one thing wrong at a time.
 */
#include <limits.h>

#include "test.h"
#include "client/contract.h"

#define MS(n) ((lb_ns)(n)*LB_NS_PER_MS)

static struct lb_error complaint;

static const char *result_of(enum lb_hook hook, int result) {
  complaint.text[0] = '\0';
  int r = lb_contract_result(hook, result, &complaint);
  assert_int_equal(r, complaint.text[0] ? -EINVAL : 0);
  return complaint.text;
}

/* As the comments in backend.h have it; one letter per result. */
TEST(every_hook_has_its_results_and_no_others) {
  static const char letters[] = "OBTLUC";
  static const struct {
    enum lb_hook hook;
    const char *allowed;
  } table[] = {{LB_HOOK_OPEN, "O"},       {LB_HOOK_SETUP, "OTU"},    {LB_HOOK_TRY_ACQUIRE, "OBTU"},
               {LB_HOOK_RELEASE, "OLU"},  {LB_HOOK_EXTEND, "OLU"},   {LB_HOOK_WAIT, "OT"},
               {LB_HOOK_RESOLVE, "OBU"},  {LB_HOOK_HOLDS, "OLUC"},   {LB_HOOK_INSPECT, "OB"},
               {LB_HOOK_TEARDOWN, "OTU"}, {LB_HOOK_BREAK_LOCK, "OB"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    for (int r = 0; r <= LB_UNCONFIRMED; r++)
      assert_int_equal(result_of(table[i].hook, r)[0] == '\0', strchr(table[i].allowed, letters[r]) != NULL);
    assert_string_equal(result_of(table[i].hook, -EIO), "");
    assert_string_not_equal(result_of(table[i].hook, 6), "");
    assert_string_not_equal(result_of(table[i].hook, INT_MAX), "");
    assert_string_not_equal(result_of(table[i].hook, INT_MIN), "");
  }
  assert_string_not_equal(result_of(LB_HOOK_CLOSE, -EIO), "");
  assert_string_not_equal(result_of(LB_HOOK_COUNT, 0), "");
}

TEST(a_server_is_one_of_the_endpoints_or_none) {
  struct lb_error said = {0};
  assert_int_equal(lb_contract_server(0, 3, &said), 0);
  assert_int_equal(lb_contract_server(2, 3, &said), 0);
  assert_int_equal(lb_contract_server(-ENOENT, 0, &said), 0);
  assert_string_equal(said.text, "");
  assert_int_equal(lb_contract_server(3, 3, &said), -EINVAL);
  assert_string_equal(said.text, "server answered 3, which is neither -ENOENT nor one of 3 endpoints");
  assert_int_equal(lb_contract_server(-EIO, 3, &said), -EINVAL);
  assert_int_equal(lb_contract_server(0, 0, &said), -EINVAL);
}

TEST(what_was_seen_is_a_number_that_a_history_can_hold) {
  struct lb_error said;
  assert_int_equal(lb_contract_seen(0, &said), 0);
  assert_int_equal(lb_contract_seen(INT64_MAX, &said), 0);
  assert_int_equal(lb_contract_seen((uint64_t)INT64_MAX + 1, &said), -EINVAL);
  assert_string_equal(said.text, "seen answered a number of more than 63 bits");
}

TEST(voters_are_some_of_the_endpoints) {
  struct lb_error said = {0};
  assert_int_equal(lb_contract_voters(5, 3, &said), 0);
  assert_int_equal(lb_contract_voters(UINT64_MAX, 64, &said), 0);
  assert_string_equal(said.text, "");
  assert_int_equal(lb_contract_voters(0, 3, &said), -EINVAL);
  assert_string_equal(said.text, "voters named nobody");
  assert_int_equal(lb_contract_voters(8, 3, &said), -EINVAL);
  assert_string_equal(said.text, "voters named more than the 3 endpoints");
}

TEST(a_complaint_says_what_was_answered) {
  assert_string_equal(result_of(LB_HOOK_TRY_ACQUIRE, 42), "try_acquire answered 42, which is no result of it");
  assert_string_equal(result_of(LB_HOOK_TRY_ACQUIRE, LB_LOST),
                      "try_acquire answered 3 (LOST), which is no result of it");
  assert_string_equal(result_of(LB_HOOK_INSPECT, 2), "inspect answered 2, which is no result of it");
  assert_string_equal(result_of(LB_HOOK_BREAK_LOCK, 2), "break_lock answered 2, which is no result of it");
  assert_string_equal(result_of(LB_HOOK_HOLDS, -100000), "holds answered -100000, which is no -errno");
  assert_string_equal(lb_hook_name(LB_HOOK_EXTEND), "extend");
  assert_string_equal(lb_hook_name(LB_HOOK_NONE), "no hook");
  assert_string_equal(lb_hook_name(LB_HOOK_COUNT), "no hook");
}

/* Asked at 1000 ms, looked at until 1010 ms, for 500 ms. */
static const char *grant_of(unsigned traits, struct lb_grant grant) {
  complaint.text[0] = '\0';
  int r = lb_contract_grant(traits & LB_TRAIT_LEASED, &grant, MS(1000), MS(1010), 500, &complaint);
  assert_int_equal(r, complaint.text[0] ? -EINVAL : 0);
  return complaint.text;
}

TEST(a_good_grant_is_left_alone) {
  const lb_ns ends[] = {MS(1001), lb_lease_end(MS(1000), 500), MS(1500)};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    assert_string_equal(grant_of(LB_TRAIT_LEASED, (struct lb_grant){.asked_at = MS(1000), .valid_until = ends[i]}), "");
  struct lb_grant earlier = {.asked_at = MS(300), .valid_until = MS(1510), .token_len = LB_TOKEN_MAX};
  assert_string_equal(grant_of(LB_TRAIT_LEASED, earlier), ""); /* repeated, and granted by the last try */
  struct lb_grant endless = {.asked_at = MS(1010), .valid_until = LB_NEVER};
  assert_string_equal(grant_of(LB_TRAIT_NO_EXPIRY, endless), "");
}

TEST(a_lease_that_the_drift_eats_up_is_no_breach) {
  struct lb_grant g = {.asked_at = MS(1000), .valid_until = lb_lease_end(MS(1000), 2)};
  assert_int_equal(lb_contract_grant(true, &g, MS(1000), MS(1010), 2, &complaint), 0);
  g.valid_until--;
  assert_int_equal(lb_contract_grant(true, &g, MS(1000), MS(1010), 2, &complaint), -EINVAL);
}

TEST(a_broken_grant_is_named) {
  assert_string_equal(grant_of(0, (struct lb_grant){.valid_until = LB_NEVER}), "granted with asked_at = 0");
  assert_string_equal(grant_of(0, (struct lb_grant){.asked_at = MS(1000)}), "granted with valid_until = 0");
  assert_string_equal(grant_of(0, (struct lb_grant){.asked_at = MS(1012), .valid_until = LB_NEVER}),
                      "granted with an asked_at 2 ms in the future");
  assert_string_equal(grant_of(0, (struct lb_grant){.asked_at = LB_NEVER, .valid_until = LB_NEVER}),
                      "granted with asked_at = LB_NEVER");
  assert_string_equal(grant_of(0, (struct lb_grant){.asked_at = MS(1000), .valid_until = MS(960)}),
                      "granted what was over before it began (valid_until is 40 ms before asked_at)");
  assert_string_equal(grant_of(0, (struct lb_grant){.asked_at = MS(1000), .valid_until = LB_NEVER, .token_len = 5000}),
                      "granted with token_len = 5000, at most 160");
  assert_string_equal(grant_of(LB_TRAIT_LEASED, (struct lb_grant){.asked_at = MS(1000), .valid_until = MS(1507)}),
                      "claims the lock for 7 ms longer than the lease");
  assert_string_equal(grant_of(LB_TRAIT_LEASED, (struct lb_grant){.asked_at = MS(300), .valid_until = MS(1511)}),
                      "claims the lock for 1 ms longer than the lease");
  assert_string_equal(grant_of(LB_TRAIT_LEASED, (struct lb_grant){.asked_at = MS(1000), .valid_until = LB_NEVER}),
                      "claims the lock for ever, though its grants end with the lease");
}

static const char *text_of(const char *err, size_t size) {
  complaint.text[0] = '\0';
  int r = lb_contract_text(err, size, &complaint);
  assert_int_equal(r, complaint.text[0] ? -EINVAL : 0);
  return complaint.text;
}

TEST(a_negative_result_needs_one_printable_line) {
  assert_string_equal(text_of("no route to caf\xc3\xa9", 18), "");
  assert_string_equal(text_of("", 1), "left no text in env->err");
  assert_string_equal(text_of("abc", 3), "left a text in env->err that does not end");
  assert_string_equal(text_of("a\nb", 4), "left a text in env->err whose byte 2 (0x0a) cannot be printed");
  assert_string_equal(text_of("a\xff", 3), "left a text in env->err whose byte 2 (0xff) cannot be printed");
}

static const char *cleaned(const char *bytes, size_t size) {
  static char text[16];
  memcpy(text, bytes, size);
  lb_contract_clean_text(text, size);
  return text;
}

TEST(a_text_is_made_printable) {
  assert_string_equal(cleaned("abc", 4), "abc");
  assert_string_equal(cleaned("abcd", 4), "abc");                /* it did not end */
  assert_string_equal(cleaned("\x1b[2J\r\n\x7f", 8), "?[2J  ?"); /* nothing reaches a terminal */
  assert_string_equal(cleaned("\xc3\xa4\xc2\x9b", 5), "\xc3\xa4??");
  assert_string_equal(cleaned("a\xff\xe2\x82", 5), "a???"); /* cut off within a character */
  assert_string_equal(cleaned("\xe2\x82\xac", 4), "\xe2\x82\xac");
  assert_string_equal(cleaned("x", 1), "");
  assert_string_equal(cleaned("ab \r\n", 6), "ab"); /* an answer of several lines ends with one */
  assert_string_equal(cleaned("\n\n", 3), "");
}
