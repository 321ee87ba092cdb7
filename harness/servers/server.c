/* SPDX-License-Identifier: MIT
 *
 * What all families do alike with a server: write its files, start its process with the preload libraries that it needs,
 * and read its last words.
 */
#include "server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "binary.h"
#include "cluster.h"
#include "preload/disk_page.h"

#define ENV_MAX 16 /* of one server, beside its clocks */

int lb_server_write(struct lb_cluster *cluster, const struct lb_server *server, bool append, const char *name,
                    const char *format, ...) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", server->dir, name);
  FILE *out = fopen(path, append ? "ae" : "we");
  if (!out) return lb_error(&cluster->err, -errno, "%s: cannot write %s: %m", server->name, path);
  va_list args;
  va_start(args, format);
  int written = vfprintf(out, format, args);
  va_end(args);
  if (fclose(out) != 0 || written < 0)
    return lb_error(&cluster->err, -EIO, "%s: cannot write %s: %m", server->name, path);
  return 0;
}

static int copy_file(const char *from, const char *to) {
  FILE *out = fopen(to, "we");
  if (!out) return -errno;
  int r = lb_files_append(out, from), closed = lb_files_close_written(out);
  return r < 0 ? r : closed;
}

/* The dynamic linker takes blanks and colons in LD_PRELOAD for separators, so the path is short and relative to the
 * folder the process starts in. A link is enough, and works where nothing in that folder may be executed. A server that
 * drops its rights may not be able to follow it (a build below /root), and one in a root of its own cannot: they get a
 * copy. */
int lb_server_bring(struct lb_cluster *cluster, const struct lb_server *server, enum lb_shim which) {
  static const char *const name[] = {LB_CLOCK_SHIM, LB_DISK_SHIM},
                           *const variable[] = {LB_CLOCK_SHIM_VARIABLE, LB_DISK_SHIM_VARIABLE},
                           *const cannot[] = {"no clock can be set", "nobody sees what is written"};
  const char *shim = lb_shim_path(which);
  char path[300];
  if (!shim)
    return lb_error(&cluster->err, -ENOENT, "%s: %s is neither beside the program nor named by %s", cannot[which],
                    name[which], variable[which]);
  snprintf(path, sizeof path, "%s/%s", server->dir, name[which]);
  if (unlink(path) < 0 && errno != ENOENT) return lb_error(&cluster->err, -errno, "%s: %s: %m", server->name, path);
  bool drops = geteuid() == 0 && !lb_proc_sandboxed;
  int r = drops || lb_origin_root(server->origin) ? copy_file(shim, path) : symlink(shim, path) < 0 ? -errno : 0;
  return r < 0 ? lb_error(&cluster->err, r, "%s: cannot make %s: %s", server->name, path, strerror(-r)) : 0;
}

static void name_clock_page(const struct lb_server *server, char *buf, size_t size) {
  snprintf(buf, size, "%s/clock.page", server->dir);
}

int lb_server_skew(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char path[300];
  int r = lb_server_bring(cluster, server, LB_SHIM_CLOCK);
  if (r < 0) return r;
  name_clock_page(server, path, sizeof path);
  lb_skew_unmap(server->skew);
  server->skew = lb_skew_create(path);
  return server->skew ? 0 : lb_error(&cluster->err, -errno, "%s: cannot make its clocks in %s: %m", server->name, path);
}

static bool is_seen_writing(const struct lb_server *server) { return server->journal[0] || server->counted; }

/* A root cannot follow the links to the libraries that a server of this machine had. */
int lb_server_move(struct lb_cluster *cluster, struct lb_server *server, const struct lb_origin *origin) {
  server->origin = origin;
  int r = server->skew ? lb_server_bring(cluster, server, LB_SHIM_CLOCK) : 0;
  return r == 0 && is_seen_writing(server) ? lb_server_bring(cluster, server, LB_SHIM_DISK) : r;
}

/* What is preloaded anyway stays behind our libraries. */
static const char *preload(const struct lb_server *server, char *buf, size_t size) {
  const char *others = getenv("LD_PRELOAD");
  snprintf(buf, size, "LD_PRELOAD=%s%s%s", server->skew ? "./" LB_CLOCK_SHIM ":" : "",
           is_seen_writing(server) ? "./" LB_DISK_SHIM ":" : "", others ? others : "");
  return buf;
}

int lb_server_start(struct lb_cluster *cluster, struct lb_server *server, const char *const argv[], const char *argv0,
                    bool unprivileged) {
  char library[4096], path[300], page[350], counts[350], journal[350];
  const char *env[ENV_MAX + 5];
  size_t count = 0;
  for (; server->env && server->env[count]; count++) {
    if (count == ENV_MAX) return lb_error(&cluster->err, -E2BIG, "%s: too many variables", server->name);
    env[count] = server->env[count];
  }
  name_clock_page(server, path, sizeof path);
  snprintf(page, sizeof page, "LOCKBENCH_SKEW=%s", path);
  snprintf(counts, sizeof counts, LB_DISK_VARIABLE "=%s/" LB_DISK_PAGE, server->dir);
  snprintf(journal, sizeof journal, LB_JOURNAL_VARIABLE "=%s", server->journal);
  if (server->skew || is_seen_writing(server)) env[count++] = preload(server, library, sizeof library);
  if (server->skew) env[count++] = page;
  if (server->counted) env[count++] = counts;
  if (server->journal[0]) env[count++] = journal;
  env[count] = NULL;
  char *program = lb_binary_find(server->origin, argv[0]);
  if (!program) return lb_error(&cluster->err, -ENOENT, "%s: not installed: %s", server->name, argv[0]);
  int r = lb_proc_start(&server->proc,
                        &(struct lb_proc_plan){.host = server->host,
                                               .argv = argv,
                                               .path = program,
                                               .argv0 = argv0 ? argv0 : program,
                                               .dir = server->dir,
                                               .log = server->log,
                                               .root = lb_origin_root(server->origin),
                                               .keep = cluster->cache_dir,
                                               .unprivileged = unprivileged,
                                               .stall = server->stall,
                                               .sparse = server->sparse,
                                               .env_extra = env},
                        &cluster->err);
  free(program);
  return r < 0 ? lb_error_prefix(&cluster->err, "%s: ", server->name) : 0;
}

/* Why a server ended, in its own words: the last line of its log that begins so, else the last one
 * that says something, or "". */
static void last_words(const char *path, const char *begin, char *buf, size_t size) {
  char line[300];
  bool is_cause = false;
  buf[0] = '\0';
  FILE *in = fopen(path, "re");
  while (in && fgets(line, sizeof line, in)) {
    bool begins = begin && strncmp(line, begin, strlen(begin)) == 0;
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] && (begins || !is_cause)) snprintf(buf, size, "%s", line);
    is_cause |= begins;
  }
  if (in) fclose(in);
}

int lb_server_check_alive(struct lb_cluster *cluster, struct lb_server *server) {
  char words[300];
  if (lb_proc_alive(&server->proc)) return 0;
  last_words(server->log, cluster->topology->family->cause, words, sizeof words);
  return lb_error(&cluster->err, -EIO, "%s ended while it was starting: %s", server->name,
                  words[0] ? words : "it said nothing");
}
