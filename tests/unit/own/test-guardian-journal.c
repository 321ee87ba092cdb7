/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a guardian has written down is read again after it was killed, or the disk was full, in the middle of a line.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own/guardian_journal.h"
#include "test.h"

static struct lb_own_operator rules = {.ward = {{.name = "one"}, {.name = "two"}}, .count = 2};
static struct lb_error err;

/* As the next guardian does. */
static int again(void) {
  if (lb_guardian.rules) close(lb_guardian.journal);
  lb_guardian = (struct lb_guardian){.rules = &rules};
  return lb_guardian_journal_open(&err);
}

static struct lb_guardian_fault *kill_ward(size_t ward) {
  return lb_guardian_journal_add(
      &(struct lb_guardian_fault){.verb = LB_MAY_KILL, .ward = ward, .other = rules.count, .identity = "me"}, &err);
}

static int set_up(void **state) {
  static char folder[] = "/tmp/lockbench-journal-XXXXXX";
  (void)state;
  strcpy(folder, "/tmp/lockbench-journal-XXXXXX");
  assert_non_null(mkdtemp(folder));
  setenv("XDG_STATE_HOME", folder, 1);
  snprintf(rules.path, sizeof rules.path, "%s", folder);
  assert_int_equal(again(), 0);
  return 0;
}

static int tear_down(void **state) {
  char command[100];
  (void)state;
  close(lb_guardian.journal);
  lb_guardian.rules = NULL;
  snprintf(command, sizeof command, "rm -r %s", getenv("XDG_STATE_HOME"));
  return system(command);
}
EACH(set_up, tear_down);

TEST(a_line_that_was_torn_counts_for_nothing) {
  assert_non_null(kill_ward(0));
  assert_non_null(kill_ward(1));
  assert_int_equal(write(lb_guardian.journal, "- 1", 3), 3); /* perhaps of "- 12" */
  assert_int_equal(again(), 0);
  assert_int_equal(lb_guardian.count, 2);
  lb_guardian_journal_strike(1);
  assert_int_equal(again(), 0);
  assert_int_equal(lb_guardian.count, 1);
  assert_string_equal(lb_guardian_name(lb_guardian.fault[0].ward), "one");
}

TEST(what_a_full_disk_takes_of_a_line_is_taken_back) {
  struct rlimit limit;
  struct stat st;
  assert_non_null(kill_ward(0));
  assert_int_equal(fstat(lb_guardian.journal, &st), 0);
  off_t size = st.st_size;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)size + 5, limit.rlim_max});
  struct lb_guardian_fault *added = kill_ward(1);
  setrlimit(RLIMIT_FSIZE, &limit);
  assert_null(added);
  assert_non_null(strstr(err.text, "cannot write down what is about to be done"));
  assert_int_equal(lb_guardian.count, 1);
  assert_int_equal(fstat(lb_guardian.journal, &st), 0);
  assert_int_equal(st.st_size, size);
}

TEST(what_a_clock_was_off_is_read_again_also_of_an_older_line_without_it) {
  struct lb_guardian_fault clock = {
      .verb = LB_MAY_CLOCK, .ward = 1, .other = rules.count, .offset_ms = 60000, .skew_ms = -1200, .identity = "me"};
  static const char older[] = "+ 2 clock one - -3000 an older one\n";
  assert_non_null(lb_guardian_journal_add(&clock, &err));
  assert_int_equal(write(lb_guardian.journal, older, strlen(older)), strlen(older));
  assert_int_equal(again(), 0);
  assert_int_equal(lb_guardian.count, 2);
  assert_int_equal(lb_guardian.fault[0].offset_ms, 60000);
  assert_int_equal(lb_guardian.fault[0].skew_ms, -1200);
  assert_string_equal(lb_guardian.fault[0].identity, "me");
  assert_int_equal(lb_guardian.fault[1].offset_ms, -3000);
  assert_int_equal(lb_guardian.fault[1].skew_ms, 0);
  assert_string_equal(lb_guardian.fault[1].identity, "an older one");
}

TEST(what_is_no_line_of_a_journal_is_refused) {
  assert_int_equal(write(lb_guardian.journal, "+ 1 kill\n", 9), 9);
  assert_true(again() < 0);
  assert_non_null(strstr(err.text, "'+ 1 kill', which is no line of a journal"));
}
