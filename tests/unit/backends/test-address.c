/* test: memory, beside, threads */
/* SPDX-License-Identifier: MIT
 *
 * The address behind a host: numeric ones ask nobody, names are waited for in the env and nowhere else.
 */
#include <dirent.h>
#include <pthread.h>

#include "test.h"
#include "backends/address.h"
#include "base/clock.h"
#include "client/env.h"

static struct lb_process_env env;
static char found[LB_ADDRESS_MAX];
static int waits;

static int count_waits(struct lb_env *base, struct pollfd *fds, size_t count, lb_ns deadline) {
  (void)base, (void)fds, (void)count, (void)deadline;
  waits++;
  return 0; /* the deadline has passed */
}

static int threads(void) {
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  int n = -2; /* . and .. */
  while (readdir(tasks)) n++;
  closedir(tasks);
  return n;
}

static int threads_before;

/* Who is not waited for still ends: a thread that the process takes down in the middle of its lookup
 * would look like a leak. */
static int all_have_ended(void **state) {
  (void)state;
  for (lb_ns end = lb_clock_ns() + 60 * LB_NS_PER_S; threads() > threads_before;) {
    assert_true(lb_clock_ns() < end);
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  }
  return 0;
}

static int set_up(void **state) {
  (void)state;
  lb_env_init(&env, 1);
  threads_before = threads();
  waits = 0;
  return 0;
}
EACH(set_up, all_have_ended);

static int address(const char *host) {
  return lb_address(&env.base, host, lb_now(&env.base) + 10 * LB_NS_PER_S, found);
}

TEST(a_numeric_address_is_as_it_stands_and_nobody_waits) {
  static const char *const numeric[] = {"127.0.0.1", "10.77.0.3", "::1", "2001:db8::7"};
  env.base.wait_fds = count_waits;
  for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++) {
    assert_int_equal(address(numeric[i]), 0);
    assert_string_equal(found, numeric[i]);
  }
  assert_int_equal(waits, 0);
}

STATES(a_name_has_an_address_and_that_of_ipv4_comes_first, assert_int_equal(address("localhost"), 0),
       assert_string_equal(found, "127.0.0.1"));

TEST(a_lookup_that_is_not_answered_in_time_is_left) {
  env.base.wait_fds = count_waits;
  for (int i = 0; i < 20; i++) assert_int_equal(address("localhost"), -ETIMEDOUT);
  assert_int_equal(waits, 20);
  assert_string_equal(env.base.err, "no address of localhost in time");
}

TEST(what_is_no_name_is_refused_with_a_text) {
  char long_name[300];
  memset(long_name, 'a', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  assert_int_equal(address(""), -EINVAL);
  assert_int_equal(address(NULL), -EINVAL);
  assert_int_equal(address(long_name), -EINVAL);
  assert_int_equal(address("no name at all"), -ENOENT);
  assert_non_null(strstr(env.base.err, "no address of no name at all: "));
}

static void *nothing(void *arg) { return arg; }

static int before_all(void **state) {
  (void)state;
  pthread_t first; /* a sanitizer may start a thread of its own beside it, which stays */
  if (pthread_create(&first, NULL, nothing, NULL) != 0 || pthread_join(first, NULL) != 0) return 1;
  return 0;
}

GROUP(before_all, NULL);
