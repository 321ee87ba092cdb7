/* SPDX-License-Identifier: MIT
 *
 * skip.h - leaving a statement that this machine cannot judge. cmocka 1.1.5 writes a skipped test as "not ok ... #
 * SKIP", which readers of TAP take for a failure; so a statement says why it stops, and ends.
 */
#ifndef LB_TESTS_SKIP_H
#define LB_TESTS_SKIP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define SKIP(why)                                                                                                      \
  do {                                                                                                                 \
    printf("# not judged here: " why "\n");                                                                            \
    return;                                                                                                            \
  } while (0)

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

/* Whether this machine has ::1; where it has not, what is said of IPv6 cannot be tried. */
static inline bool has_ipv6(void) {
  struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool there = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
  if (fd >= 0) close(fd);
  return there;
}

#endif
