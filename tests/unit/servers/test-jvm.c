/* test: memory, beside, threads */
/* SPDX-License-Identifier: MIT
 *
 * What the compilers of a JVM have run, by the names of its threads. This process plays the JVM; its threads say what
 * they have run themselves.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "test.h"
#include "servers/jvm.h"

enum { MS = 1000000, WORK_MS = 60 };

struct thread {
  const char *name;
  pthread_t id;
  lb_ns ran; /* by its own clock, when it had worked */
};

static pthread_barrier_t worked, leave;

static lb_ns ran(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (lb_ns)t.tv_sec * 1000 * MS + (lb_ns)t.tv_nsec;
}

static void *work(void *of) {
  struct thread *thread = of;
  pthread_setname_np(pthread_self(), thread->name);
  while (ran() < WORK_MS * (lb_ns)MS) {
  }
  thread->ran = ran();
  pthread_barrier_wait(&worked);
  pthread_barrier_wait(&leave);
  return NULL;
}

TEST(only_the_compilers_are_counted) {
  struct thread threads[] = {{.name = "C1 CompilerThre"}, {.name = "GC Thread#0"}, {.name = "C2 CompilerThre"}};
  enum { COUNT = sizeof threads / sizeof *threads };
  lb_ns compiling;
  pthread_barrier_init(&worked, NULL, COUNT + 1);
  pthread_barrier_init(&leave, NULL, COUNT + 1);
  for (int i = 0; i < COUNT; i++) assert_int_equal(pthread_create(&threads[i].id, NULL, work, &threads[i]), 0);
  pthread_barrier_wait(&worked);
  int r = lb_jvm_compiling(getpid(), &compiling);
  pthread_barrier_wait(&leave);
  for (int i = 0; i < COUNT; i++) pthread_join(threads[i].id, NULL);
  assert_int_equal(r, 0);
  /* What a thread ran after it had looked is little; the kernel may count the last slice of one that has just left its
   * processor late. */
  lb_ns expected = threads[0].ran + threads[2].ran;
  assert_in_range(compiling, expected - 12 * MS, expected + 20 * MS);
}

TEST(nobody_compiles_here) {
  lb_ns compiling = 1;
  assert_int_equal(lb_jvm_compiling(getpid(), &compiling), 0);
  assert_int_equal(compiling, 0);
}

TEST(no_process_is_an_error) {
  lb_ns compiling;
  assert_int_equal(lb_jvm_compiling(0, &compiling), -ESRCH);
}
