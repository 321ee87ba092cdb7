/* SPDX-License-Identifier: MIT
 *
 * Text of others on a terminal: what moves a cursor, or is no UTF-8, is written out; everything else stays.
 */
#include "test.h"
#include "base/text.h"

static void becomes(const char *text, const char *expected) {
  char buf[100];
  lb_printable(text, buf, sizeof buf);
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
  lb_printable("abc\033", buf, sizeof buf);
  assert_string_equal(buf, "abc");
  lb_printable("abcd\xe2\x82\xac", buf, sizeof buf);
  assert_string_equal(buf, "abcd");
  lb_printable("abcde", buf, sizeof buf);
  assert_string_equal(buf, "abcde");
  lb_printable("abc", buf, 1);
  assert_string_equal(buf, "");
}
