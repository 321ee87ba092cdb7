/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What messages are made of: an error, the known word that is nearest to a mistyped one, and text of others on a terminal.
 */
#include <errno.h>
#include <string.h>
#include "test.h"
#include "base/error.h"
#include "base/text.h"

/* ---- an error holds one line and a code, also where its own text is among the arguments, and where it is too long ---- */

TEST(a_text_and_its_code_are_set_at_once) {
  struct lb_error err;
  assert_int_equal(lb_error(&err, -EIO, "cannot read %s", "a"), -EIO);
  assert_int_equal(err.code, -EIO);
  assert_int_equal(lb_refuse(&err, "%s: found %d", err.text, 7), -EINVAL);
  assert_string_equal(err.text, "cannot read a: found 7");
  assert_int_equal(err.code, -EINVAL);
}

TEST(a_place_comes_before_the_text_and_keeps_the_code) {
  struct lb_error err;
  lb_error(&err, -ENOENT, "no such file");
  assert_int_equal(lb_error_prefix(&err, "%s:%d: ", "f.ini", 3), -ENOENT);
  assert_string_equal(err.text, "f.ini:3: no such file");
}

STATES(nobody_need_read_it, assert_int_equal(lb_error(NULL, -EIO, "unread"), -EIO),
       assert_int_equal(lb_refuse(NULL, "unread"), -EINVAL));

TEST(a_long_text_is_cut) {
  struct lb_error err;
  char text[2 * sizeof err.text];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  lb_refuse(&err, "%s", text);
  assert_int_equal(strlen(err.text), sizeof err.text - 1);
  lb_error_prefix(&err, "f.ini: ");
  assert_int_equal(strlen(err.text), sizeof err.text - 1);
  assert_memory_equal(err.text, "f.ini: xx", 9);
  lb_error_prefix(&err, "%s", text);
  assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* ---- which known word is near enough to a mistyped one ---- */

static const char *const words[] = {"acquire", "release", "read", "write", "redis-token@sentinel", "pg"};

static const char *nearest(const char *word) { return lb_text_suggest(word, words, sizeof words / sizeof *words); }

TEST(a_swap_of_neighbours_is_one_slip) {
  const char *const known[] = {"acquired", "acquire"}; /* plain Levenshtein would tie at two */
  assert_string_equal(lb_text_suggest("acquier", known, 2), "acquire");
  assert_string_equal(nearest("raed"), "read");
}

TEST(the_nearest_word_wins_and_the_first_of_equals) {
  const char *const known[] = {"cat", "car", "cab"};
  assert_string_equal(lb_text_suggest("cax", known, 3), "cat");
  assert_string_equal(lb_text_suggest("caab", known, 3), "cab");
  assert_string_equal(nearest("reads"), "read");
}

TEST(a_word_without_its_unit_suggests_the_one_with_it) {
  const char *const known[] = {"tries", "ttl_ms"};
  assert_string_equal(lb_text_suggest("ttl", known, 2), "ttl_ms");
}

TEST(a_known_word_suggests_itself) { assert_string_equal(nearest("write"), "write"); }

STATES(a_long_word_may_be_off_by_a_third, assert_string_equal(nearest("redis-tokne@sentinal"), "redis-token@sentinel"),
       assert_string_equal(nearest("redis_token@sntnel"), "redis-token@sentinel"),
       assert_null(nearest("redlock@redis-x5")));
STATES(a_far_word_suggests_nothing, assert_null(nearest("explode")), assert_null(nearest("x")),
       assert_null(nearest("xy")), assert_null(nearest("")), assert_null(lb_text_suggest("read", NULL, 0)));

TEST(endless_words_are_left_alone) {
  char endless[1000];
  memset(endless, 'r', sizeof endless);
  endless[sizeof endless - 1] = '\0';
  assert_null(nearest(endless));
  const char *const known[] = {endless, "read"};
  assert_string_equal(lb_text_suggest("rread", known, 2), "read");
}

/* ---- what moves a cursor, or is no UTF-8, is written out; everything else stays ---- */

static void becomes(const char *text, const char *expected) {
  char buf[100];
  lb_text_printable(text, buf, sizeof buf);
  assert_string_equal(buf, expected);
}

STATES(text_stays, becomes("", ""), becomes("control.local@none: 'a b'", "control.local@none: 'a b'"),
       becomes("Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x94\x92", "Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x94\x92"));

TEST(control_characters_are_written_out) {
  becomes("a\033[2Jb\n\t\r\177", "a\\x1b[2Jb\\n\\t\\x0d\\x7f");
  becomes("\xc2\x9b"
          "31m",
          "\\xc2\\x9b31m"); /* CSI, as one character */
}

TEST(what_is_no_utf8_is_written_out) {
  becomes("\xe9t\xe9", "\\xe9t\\xe9");
  becomes("\xc0\x80", "\\xc0\\x80");          /* too long for what it is */
  becomes("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
  becomes("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
  becomes("\xe2\x82", "\\xe2\\x82"); /* ends too early */
}

TEST(it_ends_before_what_has_no_room) {
  char buf[6];
  lb_text_printable("abc\033", buf, sizeof buf);
  assert_string_equal(buf, "abc");
  lb_text_printable("abcd\xe2\x82\xac", buf, sizeof buf);
  assert_string_equal(buf, "abcd");
  lb_text_printable("abcde", buf, sizeof buf);
  assert_string_equal(buf, "abcde");
  lb_text_printable("abc", buf, 1);
  assert_string_equal(buf, "");
}

/* ---- the parts of a list ---- */

static void has_parts(const char *list, const char *expected) {
  char all[100] = "";
  for (const char *rest = list; rest;) {
    size_t length;
    const char *part = lb_text_part(&rest, ',', &length);
    sprintf(all + strlen(all), "[%.*s]", (int)length, part);
  }
  assert_string_equal(all, expected);
}

STATES(blanks_around_parts_are_left_out, has_parts("a,b", "[a][b]"), has_parts(" a b\t, c ", "[a b][c]"));
STATES(nothing_is_an_empty_part, has_parts("", "[]"), has_parts("a,", "[a][]"), has_parts(" , ,a", "[][][a]"));

/* ---- lines ---- */

STATES(a_line_ends_at_a_blank, assert_int_equal(lb_text_fit("one two", 7), 7),
       assert_int_equal(lb_text_fit("one two", 6), 3), assert_int_equal(lb_text_fit("one two", 3), 3));
STATES(a_longer_word_has_a_line_or_is_broken_at_a_bar, assert_int_equal(lb_text_fit("wonderful day", 4), 9),
       assert_int_equal(lb_text_fit("  wonderful day", 4), 11), assert_int_equal(lb_text_fit("one|two|six", 9), 8));
