/* plugin: abi -DLB_TEST_ABI=999 */
/* plugin: hook -DLB_TEST_HOOK */
/* plugin: point -DLB_TEST_POINT */
/* plugin: option -DLB_TEST_OPTION */
/* plugin: text -DLB_TEST_TEXT */
/* plugin: facts -DLB_TEST_FACTS="releases=blind" */
/* SPDX-License-Identifier: MIT
 *
 * A whole protocol as a plugin: a lock file that only its creator may remove. It is correct on one machine and has no
 * expiry. What is in the file says whose it is: the token of the attempt that made it. Only who finds his own token
 * there removes the file, so nobody can put another one between his look and his unlink.
 *
 * The folder of the files is an option of type text: -s lock-file.folder=/dev/shm. Every file's name begins with the
 * prefix of the run, so that teardown finds all of them.
 *
 * LB_TEST_ABI builds the same thing for a contract of another version, LB_TEST_HOOK one that lacks a hook;
 * LB_TEST_POINT, LB_TEST_OPTION, LB_TEST_TEXT and LB_TEST_FACTS put strings into the table that do not belong there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"

#ifndef LB_TEST_ABI
#define LB_TEST_ABI LB_ABI
#endif

#define FILE_PREFIX "lockbench-plugin-"

enum { OPT_FOLDER, FOLDER_MAX = 200, PATH_ROOM = 512 };

struct lb_session {
  struct lb_env *env;
  const char *folder, *prefix;
};

static void path_of(const struct lb_session *s, const struct lb_lock *lock, char path[PATH_ROOM]) {
  snprintf(path, PATH_ROOM, "%s/" FILE_PREFIX "%s", s->folder, lock->key);
}

static int file_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  *s = (struct lb_session){config->env, config->options[OPT_FOLDER].text, config->prefix};
  return 0;
}

static void file_close(struct lb_session *s) { (void)s; }

static void new_token(struct lb_session *s, struct lb_grant *grant) {
  unsigned char random[16];
  lb_random(s->env, random, sizeof random);
  for (size_t i = 0; i < sizeof random; i++) snprintf(grant->token + 2 * i, 3, "%02x", random[i]);
  grant->token_len = 2 * sizeof random;
}

/* Whether the file is there and has the token of this grant in it: 1, 0, -errno. A token that is not whole yet is not
 * ours. */
static int is_mine(struct lb_session *s, const char *path, const struct lb_grant *grant) {
  char found[LB_TOKEN_MAX];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : lb_fail(s->env, -errno, "cannot open %s: %m", path);
  ssize_t n = read(fd, found, sizeof found);
  close(fd);
  if (n < 0) return lb_fail(s->env, -EIO, "cannot read %s", path);
  return grant->token_len > 0 && (size_t)n == grant->token_len && memcmp(found, grant->token, grant->token_len) == 0;
}

static int file_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  char path[PATH_ROOM];
  path_of(s, lock, path);
  int mine = grant->token_len > 0 ? is_mine(s, path, grant) : 0; /* a repeated try is granted what it has */
  if (mine != 0) return mine > 0 ? LB_OK : LB_UNKNOWN;
  new_token(s, grant);
  grant->asked_at = lb_now(s->env);
  int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) {
    *grant = LB_GRANT_INIT;
    return errno == EEXIST ? LB_BUSY : lb_fail(s->env, -errno, "cannot create %s: %m", path);
  }
  bool written = write(fd, grant->token, grant->token_len) == (ssize_t)grant->token_len;
  close(fd);
  if (!written) {
    unlink(path);
    *grant = LB_GRANT_INIT;
    return lb_fail(s->env, -EIO, "cannot write %s", path);
  }
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int file_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  char path[PATH_ROOM];
  path_of(s, lock, path);
  int mine = is_mine(s, path, grant);
  return mine < 0 ? mine : mine ? LB_OK : LB_LOST;
}

#ifndef LB_TEST_HOOK
static int file_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  char path[PATH_ROOM];
  path_of(s, lock, path);
  int mine = is_mine(s, path, grant);
  if (mine <= 0) return mine < 0 ? mine : LB_LOST;
  return unlink(path) == 0 ? LB_OK : lb_fail(s->env, -errno, "cannot remove %s: %m", path);
}
#endif

/* LB_OK: no file of this run is left. */
static int file_teardown(struct lb_session *s, lb_ns deadline) {
  (void)deadline;
  char path[PATH_ROOM], begin[100];
  int rc = LB_OK;
  DIR *folder = opendir(s->folder);
  if (!folder) return lb_fail(s->env, -errno, "cannot read %s: %m", s->folder);
  snprintf(begin, sizeof begin, FILE_PREFIX "%s-", s->prefix);
  for (struct dirent *file; (file = readdir(folder));) {
    if (strncmp(file->d_name, begin, strlen(begin)) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", s->folder, file->d_name);
    if (unlink(path) < 0) rc = lb_fail(s->env, -errno, "cannot remove %s: %m", path);
  }
  closedir(folder);
  return rc;
}

#ifdef LB_TEST_POINT
static const char *const points[] = {"before-the-file-is-made-by-whoever", NULL};
#else
static const char *const points[] = {NULL};
#endif

#ifdef LB_TEST_OPTION
static const struct lb_option options[] = {{"retry ms", LB_OPT_INT, 0, 0, 1, "not a name"}, {0}};
#else
static const struct lb_option options[] = {[OPT_FOLDER] = {.name = "folder",
                                                           .type = LB_OPT_TEXT,
                                                           .text = "/tmp",
                                                           .min = 1,
                                                           .max = FOLDER_MAX,
                                                           .help = "where the lock files are"},
                                           {.name = NULL}};
#endif

#ifdef LB_TEST_TEXT
#define SUMMARY "a file that \033[2J exists"
#else
#define SUMMARY "a file that exists: an example of a plugin"
#endif

static const char *const topologies[] = {"none", NULL};

static const struct lb_protocol lock_file = {
    .abi = LB_TEST_ABI,
    .name = "lock-file",
    .summary = SUMMARY,
    .promises = "Mutual exclusion among the processes of one machine.",
    .breaks = "A holder that dies keeps the lock.",
    .source = "open(2), O_EXCL",
    .topologies = topologies,
    .traits = LB_TRAIT_NO_EXPIRY,
    .options = options,
    .points = points,
    .session_size = sizeof(struct lb_session),
    .open = file_open,
    .close = file_close,
    .try_acquire = file_try_acquire,
    .holds = file_holds,
    .teardown = file_teardown,
#ifdef LB_TEST_FACTS
    .facts = LB_TEST_FACTS,
#endif
#ifndef LB_TEST_HOOK
    .release = file_release,
#endif
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &lock_file;
