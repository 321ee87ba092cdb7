/* SPDX-License-Identifier: MIT
 *
 * An error holds one line and a code, also where its own text is among the arguments, and where the text is too long.
 */
#include <errno.h>
#include <string.h>
#include "test.h"
#include "base/error.h"

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
