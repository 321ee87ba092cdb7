/* test: bare */
/* SPDX-License-Identifier: MIT
 *
 * Says what it takes the time to be, once for each way to ask: lines "NAME SECONDS.NANOSECONDS". For the tests of the
 * preload library, which is not for programs with sanitizers; this one never has them.
 *
 * Usage: clock-reader           reads once, waits for a line on stdin, reads again, and so on
 *        clock-reader --cost    prints what one reading costs, in ns
 *        clock-reader --wait N  waits on a condition variable until N ms from now on a clock, in three ways; prints how
 *                               long each took, truly
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const struct {
  const char *name;
  clockid_t clock;
} clocks[] = {
    {"realtime", CLOCK_REALTIME},
    {"realtime-coarse", CLOCK_REALTIME_COARSE},
    {"tai", CLOCK_TAI},
    {"monotonic", CLOCK_MONOTONIC},
    {"monotonic-coarse", CLOCK_MONOTONIC_COARSE},
    {"monotonic-raw", CLOCK_MONOTONIC_RAW},
    {"boottime", CLOCK_BOOTTIME},
    {"cpu", CLOCK_PROCESS_CPUTIME_ID},
};

static void tell(const char *name, long long s, long ns) { printf("%s %lld.%09ld\n", name, s, ns); }

static void read_all(void) {
  struct timespec ts;
  struct timeval tv;
  time_t t, same = time(&t);
  for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
    if (clock_gettime(clocks[i].clock, &ts) == 0) tell(clocks[i].name, ts.tv_sec, ts.tv_nsec);
  gettimeofday(&tv, NULL);
  tell("gettimeofday", tv.tv_sec, tv.tv_usec * 1000L);
  tell("time", t == same ? t : 0, 0);
  if (timespec_get(&ts, TIME_UTC) == TIME_UTC) tell("timespec-get", ts.tv_sec, ts.tv_nsec);
  printf("bad-clock %d\n", clock_gettime(1000, &ts));
  puts("end");
  fflush(stdout);
}

/* Past the library. */
static double true_ms(void) {
  struct timespec ts;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void cost(void) {
  struct timespec ts;
  const int calls = 5000000;
  for (int round = 0; round < 3; round++) {
    double begin = true_ms();
    for (int i = 0; i < calls; i++) clock_gettime(CLOCK_MONOTONIC, &ts);
    printf("%.2f ns\n", (true_ms() - begin) * 1e6 / calls);
  }
}

static void wait_on(clockid_t clock, long ms, int name_clock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_condattr_t attr;
  pthread_cond_t cond;
  struct timespec until;
  pthread_condattr_init(&attr);
  if (!name_clock) pthread_condattr_setclock(&attr, clock);
  pthread_cond_init(&cond, &attr);
  double begin = true_ms(); /* before it is said until when: what passes in between is waited for, too */
  clock_gettime(clock, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&mutex);
  while ((name_clock ? pthread_cond_clockwait(&cond, &mutex, clock, &until)
                     : pthread_cond_timedwait(&cond, &mutex, &until)) == 0) {
  }
  printf("%s%s %.0f\n", clock == CLOCK_MONOTONIC ? "monotonic" : "realtime", name_clock ? "-named" : "",
         true_ms() - begin);
  pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
  char line[8];
  alarm(10); /* of a clock that this library does not touch: no test waits for an hour */
  if (argc == 2 && strcmp(argv[1], "--cost") == 0) return cost(), 0;
  if (argc == 3 && strcmp(argv[1], "--wait") == 0) {
    wait_on(CLOCK_MONOTONIC, atol(argv[2]), 0);
    wait_on(CLOCK_REALTIME, atol(argv[2]), 0);
    wait_on(CLOCK_MONOTONIC, atol(argv[2]), 1);
    return 0;
  }
  do read_all();
  while (fgets(line, sizeof line, stdin));
  return 0;
}
