/* test: memory, beside, threads */
/* SPDX-License-Identifier: MIT
 *
 * The env on a host whose clocks are wrong, and are set while somebody sleeps by them.
 */
#include <pthread.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "client/env.h"

struct fixture {
  struct lb_process_env env;
  struct lb_skew *skew;
};
static struct fixture fixture, *const f = &fixture;

static int set_up(void **state) {
  lb_env_init(&f->env, 42);
  f->env.skew = f->skew = lb_skew_create(NULL);
  (void)state;
  return f->skew ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  lb_skew_unmap(f->skew);
  return 0;
}
EACH(set_up, tear_down);

static lb_ns ms(int64_t n) { return (lb_ns)n * LB_NS_PER_MS; }

/* ---- somebody sets the clock meanwhile --------------------------------------------------------------------------- */

struct setter {
  struct lb_skew *skew;
  int64_t offset_ns;
  pthread_t thread;
};

static void *set_soon(void *arg) {
  struct setter *s = arg;
  lb_clock_sleep_until(lb_clock_ns() + ms(15));
  lb_skew_jump(s->skew, true, s->offset_ns);
  return NULL;
}

static void jump_soon(struct setter *s, struct lb_skew *skew, int64_t offset_ms) {
  *s = (struct setter){.skew = skew, .offset_ns = offset_ms * (int64_t)LB_NS_PER_MS};
  assert_int_equal(pthread_create(&s->thread, NULL, set_soon, s), 0);
}

/* Nothing ever arrives at this end. */
static int silent_fd(int pair[2]) {
  assert_int_equal(pipe(pair), 0);
  return pair[0];
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

TEST(both_clocks_are_those_of_the_host) {
  lb_skew_jump(f->skew, false, -5 * (int64_t)LB_NS_PER_S);
  lb_skew_jump(f->skew, true, 7 * (int64_t)LB_NS_PER_S);
  int64_t wall_off = lb_wall_ms(&f->env.base) - lb_clock_wall_ms();
  int64_t mono_off = (int64_t)(lb_now(&f->env.base) - lb_clock_ns()) / (int64_t)LB_NS_PER_MS;
  assert_true(llabs(wall_off + 5000) < 2000);
  assert_true(llabs(mono_off - 7000) < 2000);
}

TEST(times_go_to_the_truth_and_back) {
  lb_ns now = lb_clock_ns();
  lb_skew_jump(f->skew, true, 7 * (int64_t)LB_NS_PER_S);
  assert_int_equal(lb_env_from_truth(&f->env, now), now + 7 * LB_NS_PER_S);
  assert_int_equal(lb_env_to_truth(&f->env, now + 7 * LB_NS_PER_S), now);
  assert_true(lb_env_from_truth(&f->env, LB_NEVER) == LB_NEVER);
  assert_true(lb_env_to_truth(&f->env, LB_NEVER) == LB_NEVER);
  f->env.skew = NULL;
  assert_int_equal(lb_env_from_truth(&f->env, now), now);
  assert_int_equal(lb_env_to_truth(&f->env, now), now);
}

TEST(a_slow_clock_makes_sleeps_longer) {
  lb_skew_rate(f->skew, 0.5);
  lb_ns begin = lb_clock_ns(), when = lb_now(&f->env.base) + ms(40);
  lb_sleep_until(&f->env.base, when);
  assert_true(lb_now(&f->env.base) >= when);
  assert_true(lb_clock_ns() - begin >= ms(79));
}

TEST(a_sleep_ends_early_when_the_clock_jumps_ahead) {
  struct setter setter;
  lb_ns begin = lb_clock_ns(), when = lb_now(&f->env.base) + 60 * LB_NS_PER_S;
  jump_soon(&setter, f->skew, 61000);
  lb_sleep_until(&f->env.base, when);
  assert_true(lb_now(&f->env.base) >= when);
  assert_true(lb_clock_ns() - begin < 30 * LB_NS_PER_S);
  pthread_join(setter.thread, NULL);
}

TEST(a_sleep_goes_on_when_the_clock_jumps_back) {
  struct setter setter;
  lb_ns when = lb_now(&f->env.base) + ms(60);
  jump_soon(&setter, f->skew, -100);
  lb_sleep_until(&f->env.base, when);
  pthread_join(setter.thread, NULL);
  assert_true(lb_now(&f->env.base) >= when);
}

TEST(a_wait_ends_early_when_the_clock_jumps_ahead) {
  struct setter setter;
  int pair[2], fd = silent_fd(pair);
  lb_ns begin = lb_clock_ns();
  jump_soon(&setter, f->skew, 61000);
  assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, lb_now(&f->env.base) + 60 * LB_NS_PER_S), 0);
  assert_true(lb_clock_ns() - begin < 30 * LB_NS_PER_S);
  pthread_join(setter.thread, NULL);
  close(pair[0]), close(pair[1]);
}

TEST(a_wait_goes_on_when_the_clock_jumps_back) {
  struct setter setter;
  int pair[2], fd = silent_fd(pair);
  lb_ns when = lb_now(&f->env.base) + ms(60);
  jump_soon(&setter, f->skew, -100);
  assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, when), 0);
  lb_ns end = lb_now(&f->env.base); /* before a setter that comes late on a busy machine */
  pthread_join(setter.thread, NULL);
  assert_true(end >= when);
  close(pair[0]), close(pair[1]);
}

TEST(a_wait_sees_what_arrives_with_or_without_skewed_clocks) {
  int pair[2], fd = silent_fd(pair);
  assert_int_equal(write(pair[1], "x", 1), 1);
  for (int skewed = 1; skewed >= 0; skewed--) {
    f->env.skew = skewed ? f->skew : NULL;
    assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, LB_NEVER), POLLIN);
    assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, lb_now(&f->env.base) + ms(5000)), POLLIN);
    assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, 0), POLLIN); /* too late to wait, not to look */
  }
  close(pair[0]), close(pair[1]);
}

TEST(a_wait_on_true_clocks_is_not_over_before_its_deadline) {
  int pair[2], fd = silent_fd(pair);
  f->env.skew = NULL;
  lb_ns when = lb_clock_ns() + ms(3);
  assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, when), 0);
  assert_true(lb_clock_ns() >= when);
  lb_sleep_until(&f->env.base, when = lb_clock_ns() + ms(3));
  assert_true(lb_clock_ns() >= when);
  close(pair[0]), close(pair[1]);
}

/* Each look of a wait, and of a sleep, tells how far the wall clock is ahead. */
TEST(a_wait_tells_what_its_wall_clock_shows) {
  struct lb_wall_told told = {0};
  int pair[2], fd = silent_fd(pair);
  f->env.told = &told;
  assert_int_equal(lb_wait_fd(&f->env.base, fd, POLLIN, lb_clock_ns() + ms(3)), 0);
  uint32_t looks = atomic_load(&told.looks);
  assert_true(looks > 0 && llabs(atomic_load(&told.ahead_ms)) < 100);
  lb_skew_jump(f->skew, false, -3600 * (int64_t)LB_NS_PER_S);
  lb_sleep_until(&f->env.base, lb_clock_ns() + ms(3));
  assert_true(atomic_load(&told.looks) > looks && llabs(atomic_load(&told.ahead_ms) + 3600000) < 100);
  f->env.told = NULL;
  close(pair[0]), close(pair[1]);
}
