/* SPDX-License-Identifier: MIT
 *
 * A whole protocol as a plugin: a lock file that only its creator may remove. It is correct on one machine and has no expiry.
 * LB_TEST_ABI builds the same thing for a contract of another version, LB_TEST_HOOK one that lacks a hook.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../backends/backend.h"

#ifndef LB_TEST_ABI
#define LB_TEST_ABI LB_ABI
#endif

struct lb_session {
  struct lb_env *env;
};

static void path_of(const char *key, char *path, size_t size) { snprintf(path, size, "/tmp/lockbench-plugin-%s", key); }

static int file_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->env = config->env;
  return 0;
}

static void file_close(struct lb_session *s) { (void)s; }

static int file_try_acquire(struct lb_session *s, const char *key, int64_t ttl_ms, struct lb_grant *grant, lb_ns deadline) {
  (void)ttl_ms, (void)deadline;
  char path[200];
  path_of(key, path, sizeof path);
  grant->asked_at = lb_now(s->env);
  int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return errno == EEXIST ? LB_BUSY : lb_fail(s->env, -errno, "cannot create %s: %m", path);
  close(fd);
  grant->token_len = 1;
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int file_release(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline) {
  (void)s, (void)deadline;
  char path[200];
  path_of(key, path, sizeof path);
  bool ours = grant->token_len > 0;
  grant->token_len = 0;
  return ours && unlink(path) == 0 ? LB_OK : LB_LOST;
}

static const char *const topologies[] = {"none", NULL};

static const struct lb_protocol lock_file = {
    .abi = LB_TEST_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "lock-file",
    .summary = "a file that exists: an example of a plugin",
    .promises = "Mutual exclusion among the processes of one machine.",
    .breaks = "A holder that dies keeps the lock.",
    .source = "open(2), O_EXCL",
    .topologies = topologies,
    .traits = LB_TRAIT_NO_EXPIRY,
    .session_size = sizeof(struct lb_session),
    .open = file_open,
    .close = file_close,
    .try_acquire = file_try_acquire,
#ifndef LB_TEST_HOOK
    .release = file_release,
#endif
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &lock_file;

#ifdef LB_TEST_HOOK
int lb_test_unused(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline);
int lb_test_unused(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline) { return file_release(s, key, grant, deadline); }
#endif
