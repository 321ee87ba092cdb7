/* SPDX-License-Identifier: MIT
 *
 * What a run says of itself: program, arguments, machine and its load, namespaces.
 */
#include "about.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/foreign/foreign.h"
#include "base/need.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "protocols.h"
#include "network/sandbox.h"
#include "plan/fit.h"
#include "plan/peers.h"
#include "version.h"

enum { PATH = 4200 };

json_t *lb_about_tool(void) {
  return json_pack("{s:s, s:s, s:s}", "version", LB_VERSION, "commit", LB_COMMIT, "protocols", LB_PROTOCOLS);
}

json_t *lb_about_argv(const char *const *argv, int argc) {
  json_t *all = json_array();
  for (int i = 0; i < argc; i++) json_array_append_new(all, json_string(argv[i]));
  return all;
}

json_t *lb_about_machine(const struct lb_machine *m, double load_after, const char *namespaces) {
  return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:s, s:s}", "hostname", m->hostname, "kernel", m->kernel, "cpu",
                   m->cpu, "cores", (json_int_t)m->cores, "memory_mib", (json_int_t)m->memory_mib, "load_before",
                   m->load, "load_after", load_after, "filesystem", m->filesystem, "namespaces", namespaces);
}

void lb_about_namespaces(char *ret, size_t size) {
  const struct lb_isolation *isolation = lb_isolation_probe();
  if (isolation->kind == LB_ISOLATION_NONE) snprintf(ret, size, "none: %s", isolation->why.text);
  else snprintf(ret, size, "%s", lb_isolation_name(isolation->kind));
}

int lb_about_write(json_t *root, const char *path) {
  char part[PATH];
  snprintf(part, sizeof part, "%s.part", path);
  FILE *out = root ? fopen(part, "we") : NULL;
  int r = root ? (out ? 0 : -errno) : -EILSEQ; /* the only way json_pack fails here: a text that is not UTF-8 */
  if (out && json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0) r = errno ? -errno : -EIO;
  if (out) fputc('\n', out);
  int closed = out ? lb_files_close_written(out) : 0;
  json_decref(root);
  if (r == 0) r = closed;
  return r == 0 && rename(part, path) < 0 ? -errno : r;
}

/* ---- Where a run takes place, and on what: the load of the machine, whether hosts can have namespaces, which version
 * of a server runs. It is asked before the run, as a trial changes the load. Also, a server that is replaced meanwhile
 * would be taken for the one that ran. ---- */

/* Several cells share a topology. Only one that has answered is in the list. */
static bool is_asked(const struct lb_run_info *info, const char *topology) {
  for (size_t i = 0; i < info->version_count; i++)
    if (strcmp(info->versions[i].topology, topology) == 0) return true;
  return false;
}

/* One that says nothing is asked again for the next cell: there may be few of those. */
static void ask_version(struct lb_run_info *info, const struct lb_topology *t) {
  struct lb_version *next = &info->versions[info->version_count];
  if (!t || is_asked(info, t->name)) return;
  next->topology = t->name;
  if (lb_topology_version(t, next->text, sizeof next->text) == 0 && next->text[0]) info->version_count++;
}

static void ask_versions(struct lb_run_info *info, const struct lb_plan *plan) {
  struct lb_error err;
  info->versions = lb_need(calloc(2 * plan->cell_count + 1, sizeof *info->versions));
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (cell->skip[0]) continue;
    ask_version(info, cell->topology);
    ask_version(info, lb_fit_next(cell->scenario, cell->topology, &err));
  }
}

static bool is_known(const struct lb_run_info *info, const char *library) {
  for (size_t i = 0; i < info->library_count; i++)
    if (strcmp(info->libraries[i].name, library) == 0) return true;
  return false;
}

/* Asking leaves no child of the process that asks (foreign_ask.h), and the guardians of this run are ours. So that is a
 * process of its own. "" = the library does not say. */
static void ask_library(const struct lb_protocol *p, char *ret, size_t size) {
  char *said = lb_need_shared(size);
  pid_t pid = lb_process_fork();
  if (pid == 0) {
    lb_foreign_ask_version(p, said, size);
    _exit(0);
  }
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  snprintf(ret, size, "%s", said);
  munmap(said, size);
}

/* A finding stands for the version it was made with; the one that is here may be another. */
static void ask_libraries(struct lb_run_info *info, const struct lb_plan *plan) {
  info->libraries = lb_need(calloc(plan->cell_count + 1, sizeof *info->libraries));
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_protocol *p = plan->cells[i].protocol;
    struct lb_library *next = &info->libraries[info->library_count];
    if (plan->cells[i].skip[0] || !lb_peers_has(p) || is_known(info, p->name)) continue;
    next->name = p->name;
    next->stated = lb_foreign_version(p);
    ask_library(p, next->version, sizeof next->version);
    if (next->version[0]) info->library_count++;
  }
}

/* What the machine does not say stays empty; that is no reason not to run. */
void lb_run_info_ask(struct lb_run_info *info, const struct lb_plan *plan, const char *run_dir) {
  struct tm tm = lb_clock_utc();
  strftime(info->started_utc, sizeof info->started_utc, "%Y-%m-%dT%H:%M:%SZ", &tm);
  lb_machine_read(&info->before, run_dir);
  lb_about_namespaces(info->namespaces, sizeof info->namespaces);
  info->machines = lb_need(json_pack("[o]", lb_about_machine(&info->before, info->before.load, info->namespaces)));
  ask_versions(info, plan);
  ask_libraries(info, plan);
}

void lb_run_info_clear(struct lb_run_info *info) {
  free(info->versions);
  free(info->libraries);
  json_decref(info->machines);
  info->machines = NULL;
  info->versions = NULL;
  info->libraries = NULL;
  info->library_count = 0;
  info->version_count = 0;
}
