/* SPDX-License-Identifier: MIT
 *
 * Histories that are missing on purpose: which line speaks of one, and what is refused.
 */
#include <unistd.h>

#include "test.h"
#include "base/files.h"
#include "show/left_out.h"

static char dir[64], why[300];

static int make_folder(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "/tmp/test-left-out.XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  lb_remove_tree(dir);
  return 0;
}

static const char *path_of(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static int look(const char *text, const char *name) {
  FILE *file = fopen(path_of("left-out.txt"), "we");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  why[0] = '\0';
  return lb_left_out(path_of(name), why, sizeof why);
}

TEST_WITH(without_the_file_nothing_was_left_out, make_folder, remove_folder) {
  assert_int_equal(lb_left_out(path_of("a.hist"), why, sizeof why), 0);
  assert_int_equal(lb_left_out("/nowhere/at/all", why, sizeof why), 0);
}

TEST_WITH(the_first_pattern_that_fits_gives_the_reason, make_folder, remove_folder) {
  const char *text = "# comment: of a.hist\n\n  storm.* : too: large \r\n*.hist:second\na.hist: third\n";
  assert_int_equal(look(text, "storm.x@y.none.c1.t1.hist"), 1);
  assert_string_equal(why, "too: large");
  assert_int_equal(look(text, "a.hist"), 1);
  assert_string_equal(why, "second");
  assert_int_equal(look(text, "a.txt"), 0);
}

TEST_WITH(a_pattern_is_of_the_whole_name_and_not_of_the_path, make_folder, remove_folder) {
  assert_int_equal(look("a: no\ntmp*: no\n*.broken@*.hist: yes\n", "aa.hist"), 0);
  assert_int_equal(look("[ab]?.hist: yes", "ax.hist"), 1);
  assert_string_equal(why, "yes");
}

TEST_WITH(another_form_is_refused_with_its_line, make_folder, remove_folder) {
  const char *const bad[] = {"\nno colon\n", "#\n: reason\n", "a: b\npattern:\n"};
  const int lines[] = {2, 2, 2};
  char wanted[100];
  for (int i = 0; i < 3; i++) {
    assert_int_equal(look(bad[i], "x.hist"), -EINVAL);
    snprintf(wanted, sizeof wanted, "left-out.txt:%d: found '", lines[i]);
    if (!strstr(why, wanted) || !strstr(why, "expected PATTERN: reason")) fail_msg("%s", why);
  }
}
