/* SPDX-License-Identifier: MIT
 *
 * What all families do alike: find a program, write a server's files and settings, start its process, wait until it
 * answers, count what it does. Below that, the family without servers.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "preload/disk_page.h"
#include "preload/skew.h"

#define ASK_MS 200
#define POLL_MS 10
#define OUTPUT_MS 10000
#define ENV_MAX 16 /* of one server, beside its clocks */

/* ---- programs and files ---------------------------------------------------------------------- */

/* The last match: of several versions the newest, as long as their numbers have as many digits. */
static char *glob_last(const char *pattern) {
  glob_t found = {0};
  char *path = glob(pattern, 0, NULL, &found) == 0 ? strdup(found.gl_pathv[found.gl_pathc - 1]) : NULL;
  globfree(&found);
  return path;
}

/* "name", "/a/path*" or "$VARIABLE/a/path". */
static char *find_one(const char *text) {
  if (!strchr(text, '/')) return lb_proc_find(text, NULL);
  if (text[0] != '$') return glob_last(text);
  const char *rest = strchr(text, '/');
  char name[64], *joined = NULL;
  snprintf(name, sizeof name, "%.*s", (int)(rest - text) - 1, text + 1);
  const char *value = getenv(name);
  if (!value || !value[0] || asprintf(&joined, "%s%s", value, rest) < 0) return NULL;
  char *path = glob_last(joined);
  free(joined);
  return path;
}

char *lb_need_path(const char *need) {
  char *path = NULL;
  while (need && !path) {
    const char *next = strstr(need, " or ");
    char one[256];
    snprintf(one, sizeof one, "%.*s", next ? (int)(next - need) : (int)strlen(need), need);
    path = find_one(one);
    need = next ? next + 4 : NULL;
  }
  return path;
}

/* The output goes to a memory file, not through a pipe: lb_proc_run() returns when the command has ended, and a full
 * pipe would stop it before. */
int lb_program_output(const char *const argv[], const char *argv0, char *buf, size_t size) {
  struct lb_error err;
  char path[64];
  int fd = memfd_create("output", MFD_CLOEXEC);
  if (fd < 0) return -errno;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the child has it too until it becomes the program */
  int r = lb_proc_run(&(struct lb_proc_plan){.argv = argv, .argv0 = argv0, .log = path}, OUTPUT_MS, &err);
  ssize_t n = r < 0 ? 0 : pread(fd, buf, size - 1, 0);
  if (n < 0) r = -errno;
  buf[n > 0 ? n : 0] = '\0';
  close(fd);
  return r < 0 ? r : 0;
}

/* ---- configuration and start ----------------------------------------------------------------- */

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

/* ---- what many trials use -------------------------------------------------------------------- */

const char *lb_cluster_cache(const struct lb_cluster *cluster) {
  return cluster->cache_dir ? cluster->cache_dir : cluster->server[0].dir;
}

/* Polls, because waiting in flock() knows no deadline. */
int lb_cluster_lock_cache(struct lb_cluster *cluster, lb_ns deadline, int *ret_fd) {
  const char *base = lb_cluster_cache(cluster);
  int r = lb_make_dirs(base);
  if (r < 0) return lb_error(&cluster->err, r, "cannot make %s: %s", base, strerror(-r));
  int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  r = fd < 0 ? -errno : 0;
  while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) r = -errno;
    else if (lb_now(cluster->env) >= deadline) r = -ETIMEDOUT;
    else lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  if (r == 0) return *ret_fd = fd, 0;
  if (fd >= 0) close(fd);
  return lb_error(&cluster->err, r, "cannot lock %s: %s", base, strerror(-r));
}

/* ---- preload libraries ------------------------------------------------------------------------ */

static int copy_file(const char *from, const char *to) {
  FILE *out = fopen(to, "we");
  if (!out) return -errno;
  int r = lb_append_file(out, from), closed = lb_close_written(out);
  return r < 0 ? r : closed;
}

/* In memory what is zero takes no room, and no time to be copied. On a disk it has to have its room before it is
 * written, and where a disk may be full, too. */
int lb_server_copy_template(struct lb_cluster *cluster, const struct lb_server *server, const char *template) {
  char to[300];
  snprintf(to, sizeof to, "%s/data", server->dir);
  int r = lb_copy_tree(template, to, !cluster->durable && !server->own_disk);
  return r < 0 ? lb_error(&cluster->err, r, "%s: cannot copy %s: %s", server->name, template, strerror(-r)) : 0;
}

/* The dynamic linker takes blanks and colons in LD_PRELOAD for separators, so the path is short and relative to the
 * folder the process starts in. A link is enough, and works where nothing in that folder may be executed. A server that
 * drops its rights may not be able to follow it (a build below /root), and gets a copy. */
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
  int r = drops ? copy_file(shim, path) : symlink(shim, path) < 0 ? -errno : 0;
  return r < 0 ? lb_error(&cluster->err, r, "%s: cannot make %s: %s", server->name, path, strerror(-r)) : 0;
}

static void name_clock_page(const struct lb_server *server, char *buf, size_t size) {
  snprintf(buf, size, "%s/clock.page", server->dir);
}

int lb_cluster_skew(struct lb_cluster *cluster, size_t index) {
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
  int r = lb_proc_start(&server->proc,
                        &(struct lb_proc_plan){.host = server->host,
                                               .argv = argv,
                                               .argv0 = argv0,
                                               .dir = server->dir,
                                               .log = server->log,
                                               .unprivileged = unprivileged,
                                               .stall = server->stall,
                                               .env_extra = env},
                        &cluster->err);
  return r < 0 ? lb_error_prefix(&cluster->err, "%s: ", server->name) : 0;
}

int lb_cluster_launch_all(struct lb_cluster *cluster) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++) r = cluster->topology->family->launch(cluster, i);
  return r;
}

/* ---- waiting --------------------------------------------------------------------------------- */

lb_ns lb_ask_until(struct lb_env *env, lb_ns deadline) {
  lb_ns soon = lb_now(env) + ASK_MS * LB_NS_PER_MS;
  return soon < deadline ? soon : deadline;
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

/* A server that has ended will never be ready: waiting for the deadline would hide its own last
 * words, which usually name the cause. */
static int check_all_alive(struct lb_cluster *cluster) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++)
    if (cluster->server[i].proc.pid != 0)
      r = lb_server_check_alive(cluster, &cluster->server[i]); /* 0 = its turn to start has not come */
  return r;
}

void lb_cluster_doze(const struct lb_cluster *cluster) {
  int poll_ms = cluster->topology->family->poll_ms;
  lb_sleep_until(cluster->env, lb_now(cluster->env) + (lb_ns)(poll_ms > 0 ? poll_ms : POLL_MS) * LB_NS_PER_MS);
}

/* Once: which server is silent, or what is not so although all answer. The wait goes on, for many are only slow. */
static void tell_slow(struct lb_cluster *cluster, lb_ns begin, lb_ns deadline, const char *what) {
  struct lb_slow *slow = cluster->slow;
  size_t i = 0;
  if (!slow || atomic_load(&slow->said) || lb_now(cluster->env) < begin + LB_SLOW_S * LB_NS_PER_S) return;
  while (i < cluster->server_count &&
         cluster->topology->family->answers(cluster, i, lb_ask_until(cluster->env, deadline)) == 0)
    i++;
  int most_s = (int)((deadline - begin + LB_NS_PER_S / 2) / LB_NS_PER_S);
  if (i < cluster->server_count)
    snprintf(slow->line, sizeof slow->line, "%s has not answered for %d s (log: %s), waiting up to %d s",
             cluster->server[i].name, LB_SLOW_S, cluster->server[i].log, most_s);
  else
    snprintf(slow->line, sizeof slow->line, "%s: for %d s not yet: %s (logs: %.*s), waiting up to %d s",
             cluster->topology->name, LB_SLOW_S, what,
             (int)(strrchr(cluster->server[0].log, '/') - cluster->server[0].log), cluster->server[0].log, most_s);
  atomic_store(&slow->said, true);
}

int lb_cluster_await(struct lb_cluster *cluster, lb_ns deadline,
                     int (*ready)(struct lb_cluster *cluster, lb_ns deadline), const char *what) {
  struct lb_env *env = cluster->env;
  lb_ns begin = lb_now(env);
  for (;;) {
    int r = check_all_alive(cluster);
    if (r < 0) return r;
    env->err[0] = '\0';
    if (ready(cluster, deadline) == 0) return 0;
    if (lb_now(env) >= deadline)
      return lb_error(&cluster->err, -ETIMEDOUT, "%s: not in time: %s; last seen: %s", cluster->topology->name, what,
                      env->err);
    tell_slow(cluster, begin, deadline, what);
    lb_cluster_doze(cluster);
  }
}

int lb_cluster_all_answer(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++)
    r = cluster->topology->family->answers(cluster, i, deadline);
  return r;
}

/* ---- settings: from a row to a line of a file, an option of a program, or a line of run.json ------ */

const char *lb_setting_value(const struct lb_setting *setting, bool measured, bool durable) {
  if (!durable && setting->unsynced) return setting->unsynced;
  return measured ? setting->measured : setting->faults;
}

int lb_setting_write(struct lb_cluster *cluster, const struct lb_server *server, const struct lb_setting *settings,
                     const char *file) {
  int r = 0;
  for (const struct lb_setting *row = settings; row->name && r == 0; row++) {
    const char *value = lb_setting_value(row, cluster->measured, cluster->durable);
    if (value && row->place == LB_SETTING_FILE)
      r = lb_server_write(cluster, server, true, file, "%s%s\n", row->name, value);
  }
  return r;
}

size_t lb_setting_options(const struct lb_cluster *cluster, const struct lb_setting *settings,
                          char (*texts)[LB_SETTING_TEXT_MAX], const char **argv, size_t max) {
  size_t count = 0;
  for (const struct lb_setting *row = settings; row->name && count < max; row++) {
    const char *value = lb_setting_value(row, cluster->measured, cluster->durable);
    if (!value || row->place != LB_SETTING_PROGRAM) continue;
    snprintf(texts[count], LB_SETTING_TEXT_MAX, "%s%s", row->name, value);
    argv[count] = texts[count];
    count++;
  }
  return count;
}

/* What is written as it is anyway, differs in nothing. */
static void print_row(const struct lb_setting *row, const char *value, FILE *out) {
  if (!value || (row->stock && strcmp(value, row->stock) == 0)) return;
  fprintf(out, "%s%s", row->name, value);
  if (row->stock) fprintf(out, " (else %s)", row->stock);
  putc('\n', out);
}

/* Lines of a topology come last in the file, so what they say counts. */
static bool is_overruled(const struct lb_setting *row, const char *lines) {
  size_t length = strlen(row->name);
  for (const char *at = lines; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
    if (strncmp(at, row->name, length) == 0) return true;
  return false;
}

char *lb_setting_differing(const struct lb_topology *topology, bool measured, bool durable) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (const struct lb_setting *row = topology->family->settings; row && row->name; row++)
    if (!is_overruled(row, topology->settings)) print_row(row, lb_setting_value(row, measured, durable), out);
  if (topology->settings) fputs(topology->settings, out);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- counts ----------------------------------------------------------------------------------- */

void lb_counts_add(struct lb_counts *counts, const char *what, uint64_t n) {
  size_t i = 0;
  while (i < counts->size && strcmp(counts->count[i].what, what) != 0) i++;
  if (i == LB_COUNTS_MAX) return;
  if (i == counts->size) {
    snprintf(counts->count[i].what, sizeof counts->count[i].what, "%s", what);
    counts->count[i].n = 0;
    counts->size++;
  }
  counts->count[i].n += n;
}

uint64_t lb_counts_of(const struct lb_counts *counts, const char *what) {
  for (size_t i = 0; i < counts->size; i++)
    if (strcmp(counts->count[i].what, what) == 0) return counts->count[i].n;
  return 0;
}

/* ---- no servers: for protocols that live in the harness's own memory. It isolates what the harness itself costs */

static int no_version(char *buf, size_t size) {
  if (size > 0) buf[0] = '\0';
  return 0;
}

const struct lb_family lb_family_none = {.name = "none", .version = no_version};
/* Members that are not heard of for long enough are taken for dead, and their locks with them. */
const struct lb_family lb_family_members = {
    .name = "client-cluster", .version = no_version, .ends_by = LB_ENDS_BY_MONOTONIC};
