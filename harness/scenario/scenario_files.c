/* SPDX-License-Identifier: MIT
 *
 * The files of scenarios: their names, and which there are.
 */
#include "reader.h"
#include "base/need.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

#define SUFFIX ".ini"

/* "scenarios/failover/failover.ini" -> "failover"; "05-failover.ini", too. */
char *lb_scenario_name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  size_t digits = strspn(base, "0123456789");
  if (digits > 0 && base[digits] == '-') base += digits + 1;
  size_t len = strlen(base);
  if (len > strlen(SUFFIX) && strcmp(base + len - strlen(SUFFIX), SUFFIX) == 0) len -= strlen(SUFFIX);
  return lb_need(strndup(base, len));
}

static int is_scenario_file(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return entry->d_name[0] != '.' && len > strlen(SUFFIX) && strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* By bytes, so that a run has the same order everywhere: alphasort() would follow the user's locale. */
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Themes, in the order in which people read them. A folder without them is one theme. */
static const char *const themes[] = {".",     "speed",   "failover", "partition", "pause",  "clock",
                                     "crash", "sharing", "protocol", "storm",     "museum", "peers"};

struct listing {
  char **names, **paths;
  size_t count;
};

static void add_file(struct listing *l, const char *folder, const char *theme, const char *file) {
  size_t names = l->count;
  bool top = strcmp(theme, ".") == 0;
  char *path = lb_need_printed("%s/%s%s%s", folder, top ? "" : theme, top ? "" : "/", file);
  LB_APPEND(l->names, names) = lb_scenario_name_of(path);
  LB_APPEND(l->paths, l->count) = path;
}

static int add_theme(struct listing *l, const char *folder, const char *theme) {
  char place[4096];
  struct dirent **entries = NULL;
  snprintf(place, sizeof place, "%s/%s", folder, theme);
  int count = scandir(place, &entries, is_scenario_file, by_name), r = count < 0 ? -errno : 0;
  for (int i = 0; i < count; i++) {
    add_file(l, folder, theme, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return r;
}

/* All or nothing: on an error every name that was made is freed again. */
int lb_scenario_list(const char *folder, char ***ret_names, char ***ret_paths, size_t *ret_count) {
  struct listing l = {0};
  int r = 0;
  for (size_t i = 0; r == 0 && i < sizeof themes / sizeof *themes; i++) {
    r = add_theme(&l, folder, themes[i]);
    if (r == -ENOENT && i > 0) r = 0;
  }
  if (r == 0) return *ret_names = l.names, *ret_paths = l.paths, *ret_count = l.count, 0;
  for (size_t i = 0; i < l.count; i++) free(l.names[i]), free(l.paths[i]);
  free(l.names);
  free(l.paths);
  return r;
}
