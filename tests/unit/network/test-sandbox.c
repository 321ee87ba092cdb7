/* test: beside, wraps open64 */
/* SPDX-License-Identifier: MIT
 *
 * What is said where namespaces cannot be had. AppArmor's refusal on Ubuntu 24.04 is played: the namespace is made, and
 * /proc/self/setgroups cannot be opened.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/error.h"
#include "network/sandbox.h"

enum { NOBODY = 65534 };

static int refused_with; /* errno of who opens setgroups; 0 = nothing is refused */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open64(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
  va_end(args);
  if (refused_with && strcmp(path, "/proc/self/setgroups") == 0) return errno = refused_with, -1;
  return __real_open64(path, flags, mode);
}

/* What a user without rights is told; its kind is the first character. A probe asks once in a process. */
static const char *probe(int refused) {
  static char said[1300];
  int ends[2], status;
  ssize_t n;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    refused_with = refused;
    if (geteuid() == 0 &&
        (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
      _exit(1);
    prctl(PR_SET_DUMPABLE, 1); /* else its files in /proc are those of root */
    const struct lb_isolation *isolation = lb_isolation_probe();
    dprintf(ends[1], "%d%s", isolation->kind, isolation->why.text);
    _exit(0);
  }
  close(ends[1]);
  n = read(ends[0], said, sizeof said - 1);
  close(ends[0]);
  waitpid(pid, &status, 0);
  assert_true(n > 0);
  said[n] = '\0';
  return said;
}

static const char *no_namespaces(void) {
  return probe(0)[0] - '0' == LB_ISOLATION_USER ? NULL : "no user namespaces for users here";
}
NEEDS(no_namespaces);

TEST(a_denied_mapping_names_the_sysctl_of_Ubuntu) {
  const char *said = probe(EACCES);
  assert_int_equal(said[0] - '0', LB_ISOLATION_NONE);
  assert_non_null(strstr(said, "kernel.apparmor_restrict_unprivileged_userns=1"));
}

TEST(another_refusal_does_not) {
  const char *said = probe(EIO);
  assert_int_equal(said[0] - '0', LB_ISOLATION_NONE);
  assert_string_equal(said + 1, "a namespace could not be set up: Input/output error");
}
