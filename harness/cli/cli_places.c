/* SPDX-License-Identifier: MIT
 *
 * Where things are: scenarios and suites by their names, and the folder that -o names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/files.h"
#include "base/suggest.h"
#include "cli.h"
#include "scenario/scenario.h"

/* ---- the folder of -o ----------------------------------------------------------------------- */

int lb_exit_of_place(int error, const char *out) {
  return out && error != -ENOMEM && error != -ENOSPC && error != -EMFILE ? LB_EXIT_USAGE : LB_EXIT_FAILURE;
}

int lb_try_folder(const char *command, const char *path, const char *out) {
  char file[4100];
  int r = lb_make_dirs(path);
  snprintf(file, sizeof file, "%s/.lockbench-XXXXXX", path);
  int fd = r == 0 ? mkostemp(file, O_CLOEXEC) : -1;
  if (r == 0 && fd < 0) r = -errno;
  if (fd >= 0) close(fd), unlink(file);
  return r < 0 ? lb_complain(lb_exit_of_place(r, out), "%s: cannot write to %s: %s", command, path, strerror(-r)) : 0;
}

/* ---- scenarios and suites ------------------------------------------------------------------- */

/* An .ini file below the root by its name, or as a path; malloc'd, NULL after one line on stderr.
 * What has a '/' or ends in .ini is a path, even if there is no such file: then the reader
 * complains, with the path. The name of a file is looked up in the folder, not put together,
 * because a scenario's file may begin with a number. `quiet`: without the line. */
static char *find_file(const char *what, const char *place, const char *name, bool quiet) {
  char folder[4096], **names = NULL, **paths = NULL, *found = NULL;
  size_t count = 0, length = strlen(name);
  if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0)) return strdup(name);
  snprintf(folder, sizeof folder, "%s/%s", lb_root(), place);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) found = strdup(paths[i]);
  const char *near = count ? lb_suggest(name, (const char *const *)names, count) : NULL;
  if (!found && !quiet && r < 0) lb_complain(0, "cannot read %s: %s", folder, strerror(-r));
  else if (!found && !quiet && near) lb_complain(0, "unknown %s '%s', did you mean '%s'?", what, name, near);
  else if (!found && !quiet)
    lb_complain(0, "unknown %s '%s', expected one of `%s list %ss` or a path to an .ini file", what, name, lb_called(), what);
  for (size_t i = 0; i < count; i++) free(names[i]), free(paths[i]);
  free(names);
  free(paths);
  return found;
}

char *lb_find_scenario(const char *name) { return find_file("scenario", LB_SCENARIOS, name, false); }

char *lb_look_for_scenario(const char *name) { return find_file("scenario", LB_SCENARIOS, name, true); }

char *lb_find_suite(const char *name) { return find_file("suite", LB_SUITES, name, false); }
