/* SPDX-License-Identifier: MIT
 *
 * skip.h - leaving a statement that this machine cannot judge. cmocka 1.1.5 writes a skipped test as "not ok ... # SKIP", which readers of
 * TAP take for a failure; so a statement says why it stops, and ends.
 */
#ifndef LB_TESTS_SKIP_H
#define LB_TESTS_SKIP_H

#include <stdio.h>

#define SKIP(why)                        \
  do {                                   \
    printf("# not judged here: " why "\n"); \
    return;                              \
  } while (0)

/* Of a whole program: `return skip_all("no server")` in main, before any test. */
static inline int skip_all(const char *why) {
  printf("1..0 # SKIP %s\n", why);
  return 0;
}

/* ThreadSanitizer runs a thread of its own, and a process with threads may not enter a new user namespace. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#endif
