/* SPDX-License-Identifier: MIT
 *
 * What a run and a hunt say alike of themselves, and how such a file is written.
 */
#include "about.h"

#include <errno.h>
#include <stdio.h>

#include "base/files.h"
#include "protocols.h"
#include "servers/sandbox.h"
#include "version.h"

enum { PATH = 4200 };

json_t *lb_about_tool(void) { return json_pack("{s:s, s:s, s:s}", "version", LB_VERSION, "commit", LB_COMMIT, "protocols", LB_PROTOCOLS); }

json_t *lb_about_argv(const char *const *argv, int argc) {
  json_t *all = json_array();
  for (int i = 0; i < argc; i++) json_array_append_new(all, json_string(argv[i]));
  return all;
}

json_t *lb_about_machine(const struct lb_machine *m, double load_after, const char *namespaces) {
  return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:s, s:s}", "hostname", m->hostname, "kernel", m->kernel, "cpu", m->cpu, "cores",
                   (json_int_t)m->cores, "memory_mib", (json_int_t)m->memory_mib, "load_before", m->load, "load_after", load_after, "filesystem",
                   m->filesystem, "namespaces", namespaces);
}

void lb_about_namespaces(char *ret, size_t size) {
  const struct lb_isolation *isolation = lb_isolation_probe();
  if (isolation->kind == LB_ISOLATION_NONE) snprintf(ret, size, "none: %s", isolation->why);
  else snprintf(ret, size, "%s", lb_isolation_name(isolation->kind));
}

int lb_about_write(json_t *root, const char *path) {
  char part[PATH];
  snprintf(part, sizeof part, "%s.part", path);
  FILE *out = root ? fopen(part, "we") : NULL;
  int r = root ? (out ? 0 : -errno) : -EILSEQ; /* the only way json_pack fails here: a text that is not UTF-8 */
  if (out && json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0) r = errno ? -errno : -EIO;
  if (out) fputc('\n', out);
  int closed = out ? lb_close_written(out) : 0;
  json_decref(root);
  if (r == 0) r = closed;
  return r == 0 && rename(part, path) < 0 ? -errno : r;
}
