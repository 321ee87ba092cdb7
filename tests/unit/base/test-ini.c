/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Files of sections and keys, line by line: what a line is, where it stands, and what is refused.
 */
#include "test.h"
#include "base/ini.h"

static char said[8192];
static struct lb_error err;

/* Every line as "LINE [SECTION]", "LINE SECTION/KEY=VALUE" or "LINE SECTION/KEY+VALUE". */
static const char *read_bytes(const char *text, size_t size) {
  struct lb_ini ini;
  FILE *out = fmemopen(said, sizeof said, "w");
  said[0] = '\0'; /* nothing may follow */
  lb_ini_begin(&ini, "f.ini", text, size, &err);
  while (lb_ini_next(&ini))
    if (ini.kind == LB_INI_SECTION) fprintf(out, "%d [%s]\n", ini.line, ini.section);
    else
      fprintf(out, "%d %s/%s%c%s\n", ini.line, ini.section ? ini.section : "", ini.key,
              ini.kind == LB_INI_KEY ? '=' : '+', ini.value);
  fclose(out);
  return lb_ini_end(&ini) < 0 ? err.text : said;
}

static void reads(const char *text, const char *expected) {
  assert_string_equal(read_bytes(text, strlen(text)), expected);
}

STATES(a_line_is_a_section_a_key_or_nothing,
       reads("# a\n\n[one]\na = 1\n; b\n\nb: 2\r\n[two]\n", "3 [one]\n4 one/a=1\n7 one/b=2\n8 [two]\n"));

STATES(a_key_before_any_section_has_none, reads("a=1", "1 /a=1\n"));

STATES(the_first_sign_divides_key_and_value,
       reads("a = b = c\nd: e=f\n= g\nh =\n", "1 /a=b = c\n2 /d=e=f\n3 /=g\n4 /h=\n"));

STATES(a_comment_begins_behind_a_blank,
       reads("a = b;c # d\ne = f ; g = h\ni = ; j\n[k] ; l\n[m] # n\n", "1 /a=b;c # d\n2 /e=f\n3 /i=\n4 [k]\n5 [m]\n"));

STATES(an_indented_line_goes_on_with_the_key_above,
       reads("[s]\n x = 1\na = b\n  c = d ; e\n\t# f\n\n\t[g]\n[t]\n [u]\n",
             "1 [s]\n2 s/x=1\n3 s/a=b\n4 s/a+c = d\n7 s/a+[g]\n8 [t]\n9 [u]\n"));

STATES(a_mark_of_an_editor_is_no_text, reads("\xef\xbb\xbf[s]\n", "1 [s]\n"), reads("", ""));

TEST(a_line_is_as_long_as_its_file) {
  static char text[100 * 1024];
  struct lb_ini ini;
  memset(text, 'x', sizeof text);
  memcpy(text, "[s]\na =", 7);
  memcpy(text + sizeof text - 6, "\nb = 1", 6);
  lb_ini_begin(&ini, "f.ini", text, sizeof text, &err);
  assert_true(lb_ini_next(&ini) && lb_ini_next(&ini));
  assert_int_equal(strlen(ini.value), sizeof text - 7 - 6);
  assert_true(lb_ini_next(&ini));
  assert_int_equal(ini.line, 3);
  assert_string_equal(ini.value, "1");
  assert_int_equal(lb_ini_end(&ini), 0);
}

STATES(what_is_neither_is_refused_with_its_place,
       reads("[s]\nwhat\nno = 1\n", "f.ini:2: 'what': expected KEY = VALUE, a [section] or a comment (# ...)"),
       reads("[s\n", "f.ini:1: a section without its ']': expected [NAME]"),
       reads("\n[s] a = 1\n", "f.ini:2: text after the ']' of a section: expected it on a line of its own"),
       reads("a = \x01\n", "f.ini:1: byte 5 is 0x01: not a text file; expected UTF-8 without control characters"));

TEST(a_NUL_is_no_text) {
  static const char nul[] = "a = 1\nb\0 = 2\n";
  assert_string_equal(read_bytes(nul, sizeof nul - 1),
                      "f.ini:2: byte 2 is 0x00: not a text file; expected UTF-8 without control characters");
}

TEST(nothing_is_read_after_a_refusal_and_the_first_one_counts) {
  static const char text[] = "a = 1\nb = 2\nwhat\n";
  struct lb_ini ini;
  lb_ini_begin(&ini, "f.ini", text, sizeof text - 1, &err);
  assert_true(lb_ini_next(&ini) && lb_ini_next(&ini));
  assert_int_equal(lb_ini_refuse(&ini, -EINVAL, "%s = %s", ini.key, ini.value), -EINVAL);
  assert_false(lb_ini_next(&ini));
  assert_int_equal(lb_ini_refuse_twice(&ini, 1, "a"), -EINVAL);
  assert_int_equal(lb_ini_end(&ini), -EINVAL);
  assert_string_equal(err.text, "f.ini:2: b = 2");
}
