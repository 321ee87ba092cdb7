/* test: memory, beside, threads */
/* SPDX-License-Identifier: MIT
 *
 * The resource: it never helps unless it checks fences, and then one access is one step, among threads and among
 * processes.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "client/resource.h"

enum { WORKERS = 2, ROUNDS = 300000 };

struct shared {
  struct lb_resource resource;
  _Atomic uint64_t fence, accepted, refused;
  _Atomic unsigned ready;
};

static struct shared *map_shared(void) {
  struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(s, MAP_FAILED);
  return s;
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

TEST(a_claim_is_always_taken_and_the_one_before_it_is_refused) {
  struct lb_resource r = {0};
  uint64_t a = 9, b = 9;
  lb_resource_claim(&r, 5, &a);
  assert_true(lb_resource_write_claimed(&r, 5, 7));
  lb_resource_claim(&r, 3, &b); /* a token has no order */
  assert_int_equal(a, 0);
  assert_int_equal(b, 7);
  assert_false(lb_resource_write_claimed(&r, 5, 8));
  assert_false(lb_resource_read_claimed(&r, 5, &a));
  assert_int_equal(a, 0);
  assert_true(lb_resource_read_claimed(&r, 3, &b));
  assert_int_equal(b, 7);
  assert_true(lb_resource_write_claimed(&r, 3, 8));
  assert_int_equal(atomic_load(&r.value), 8);
}

/* ---- statements about one access --------------------------------------------------------------------------------- */

TEST(without_checks_the_later_write_wins_whatever_it_shows) {
  struct lb_resource r = {0};
  uint64_t a, b;
  assert_true(lb_resource_read(&r, false, 1, &a));
  assert_true(lb_resource_read(&r, false, 2, &b));
  assert_int_equal(atomic_load(&r.fence_seen), 2);
  assert_true(lb_resource_write(&r, false, 2, b + 1));
  assert_true(lb_resource_write(&r, false, 1, a + 1));
  assert_int_equal(atomic_load(&r.value), 1); /* one update is lost */
  assert_int_equal(atomic_load(&r.fence_seen), 2);
}

TEST(the_largest_fence_is_remembered_from_reads_and_writes) {
  struct lb_resource r = {0};
  uint64_t value;
  assert_true(lb_resource_write(&r, false, 3, 1));
  assert_int_equal(atomic_load(&r.fence_seen), 3);
  assert_true(lb_resource_read(&r, false, 5, &value));
  assert_int_equal(atomic_load(&r.fence_seen), 5);
  assert_true(lb_resource_write(&r, false, 4, 2));
  assert_int_equal(atomic_load(&r.fence_seen), 5);
}

TEST(a_checked_access_accepts_an_equal_or_larger_fence) {
  struct lb_resource r = {0};
  uint64_t value = 99;
  assert_true(lb_resource_read(&r, true, 5, &value));
  assert_int_equal(value, 0);
  assert_true(lb_resource_write(&r, true, 5, 1));
  assert_true(lb_resource_write(&r, true, 9, 2));
  assert_int_equal(atomic_load(&r.value), 2);
  assert_int_equal(atomic_load(&r.fence_seen), 9);
}

TEST(a_refused_access_changes_nothing_and_tells_nothing) {
  struct lb_resource r = {0};
  uint64_t value = 99;
  assert_true(lb_resource_write(&r, true, 9, 42));
  assert_false(lb_resource_read(&r, true, 8, &value));
  assert_int_equal(value, 0);
  assert_false(lb_resource_write(&r, true, 8, 43));
  assert_false(lb_resource_write(&r, true, 0, 43)); /* none at all is the smallest */
  assert_int_equal(atomic_load(&r.value), 42);
  assert_int_equal(atomic_load(&r.fence_seen), 9);
}

/* ---- all at once ------------------------------------------------------------------------------------------------- */

/* Everybody writes what it read plus one, with a fence nobody else has. So each accepted write shows in the value. */
static void *hammer(void *arg) {
  struct shared *s = arg;
  atomic_fetch_add(&s->ready, 1);
  while (atomic_load(&s->ready) < WORKERS) {
  }
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t fence = atomic_fetch_add(&s->fence, 1) + 1, value;
    bool accepted =
        lb_resource_read(&s->resource, true, fence, &value) && lb_resource_write(&s->resource, true, fence, value + 1);
    atomic_fetch_add(accepted ? &s->accepted : &s->refused, 1);
  }
  return NULL;
}

static void assert_none_lost(struct shared *s) {
  assert_int_equal(atomic_load(&s->accepted) + atomic_load(&s->refused), WORKERS * ROUNDS);
  assert_true(atomic_load(&s->accepted) > 0);
  assert_int_equal(atomic_load(&s->resource.value), atomic_load(&s->accepted));
  munmap(s, sizeof *s);
}

TEST(fenced_threads_lose_no_update) {
  struct shared *s = map_shared();
  pthread_t thread[WORKERS];
  for (int i = 0; i < WORKERS; i++) assert_int_equal(pthread_create(&thread[i], NULL, hammer, s), 0);
  for (int i = 0; i < WORKERS; i++) pthread_join(thread[i], NULL);
  assert_none_lost(s);
}

TEST(fenced_processes_lose_no_update) {
  struct shared *s = map_shared();
  for (int i = 0; i < WORKERS; i++) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      hammer(s);
      _exit(0);
    }
  }
  for (int i = 0, status; i < WORKERS; i++) assert_true(wait(&status) > 0 && WIFEXITED(status));
  assert_none_lost(s);
}

/* Without checks nobody waits for anybody; still no fence that was shown is forgotten. */
static void *show_fences(void *arg) {
  struct shared *s = arg;
  atomic_fetch_add(&s->ready, 1);
  while (atomic_load(&s->ready) < WORKERS) {
  }
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t fence = atomic_fetch_add(&s->fence, 1) + 1, value;
    lb_resource_read(&s->resource, false, fence, &value);
    if (atomic_load(&s->resource.fence_seen) < fence) atomic_fetch_add(&s->refused, 1);
  }
  return NULL;
}

TEST(no_fence_that_was_shown_is_forgotten) {
  struct shared *s = map_shared();
  pthread_t thread[WORKERS];
  for (int i = 0; i < WORKERS; i++) assert_int_equal(pthread_create(&thread[i], NULL, show_fences, s), 0);
  for (int i = 0; i < WORKERS; i++) pthread_join(thread[i], NULL);
  assert_int_equal(atomic_load(&s->refused), 0);
  assert_int_equal(atomic_load(&s->resource.fence_seen), WORKERS * ROUNDS);
  munmap(s, sizeof *s);
}
