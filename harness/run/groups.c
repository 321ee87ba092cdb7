/* SPDX-License-Identifier: MIT
 *
 * Groups of systems.
 */
#include "groups.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "peers.h"
#include "theory/theory.h"

enum { GROUPS_MAX = 8, LIST_MAX = 4000 };

static struct {
  char name[32], systems[LIST_MAX];
} groups[GROUPS_MAX];
static size_t group_count;

const char *lb_group(const char *name) {
  for (size_t i = 0; i < group_count; i++)
    if (strcmp(groups[i].name, name) == 0) return groups[i].systems;
  return NULL;
}

/* A group may stand in several lines. Blanks are for people. */
static int take(void *user, const char *section, const char *key, const char *value) {
  bool *full = user;
  size_t i = 0, at;
  (void)section;
  while (i < group_count && strcmp(groups[i].name, key) != 0) i++;
  if (i == GROUPS_MAX || (at = strlen(groups[i].systems)) + strlen(value) + 2 > LIST_MAX || strlen(key) >= sizeof groups[i].name) return *full = true, 0;
  if (i == group_count) snprintf(groups[group_count++].name, sizeof groups[i].name, "%s", key);
  if (at) groups[i].systems[at++] = ',';
  for (; *value; value++)
    if (*value != ' ') groups[i].systems[at++] = *value;
  groups[i].systems[at] = '\0';
  return 1;
}

int lb_groups_load(const char *path, char *err, size_t err_size) {
  bool full = false;
  memset(groups, 0, sizeof groups);
  group_count = 0;
  int r = ini_parse(path, take, &full);
  if (full) return lb_refuse(err, err_size, "%s: too many groups, or too long a list", path);
  if (r > 0) return lb_refuse(err, err_size, "%s:%d: expected NAME = SYSTEM, SYSTEM ...", path, r);
  return r < 0 ? lb_refuse(err, err_size, "%s: it cannot be read", path) : 0;
}

char *lb_group_of_protocol(const char *protocol) {
  static const char *const order[] = {"standard", "all", "libraries"};
  char *ret = calloc(1, LIST_MAX);
  size_t length = strlen(protocol), at = 0;
  for (size_t g = 0; ret && !at && g < sizeof order / sizeof *order; g++) {
    for (const char *word = lb_group(order[g]); word && *word; word += word[strcspn(word, ",")] ? strcspn(word, ",") + 1 : strcspn(word, ",")) {
      if (strncmp(word, protocol, length) != 0 || word[length] != '@') continue;
      at += (size_t)snprintf(ret + at, LIST_MAX - at, "%s%.*s", at ? "," : "", (int)strcspn(word, ","), word);
    }
  }
  return ret;
}

char *lb_groups_expand(const char *systems) {
  char *list = NULL, *copy = strdup(systems), *rest = copy;
  size_t size;
  FILE *out = open_memstream(&list, &size);
  const char *between = "";
  for (char *word; copy && out && (word = strsep(&rest, ","));) {
    const char *group = lb_group(word);
    fprintf(out, "%s%s", between, group ? group : word);
    between = ",";
  }
  if (out) fclose(out);
  free(copy);
  return list;
}

char *lb_systems_expand(const char *systems, bool missing_too) {
  char *list = lb_groups_expand(systems);
  char *ret = list ? lb_peers_expand(list, missing_too) : NULL;
  free(list);
  return ret;
}

int lb_load_known(const char *root, char *err, size_t err_size) {
  char path[4096];
  int r = lb_peers_load(root, err, err_size);
  snprintf(path, sizeof path, "%s/scenarios/theory/rules.ini", root);
  if (r == 0) r = lb_theory_load(path, err, err_size);
  snprintf(path, sizeof path, "%s/scenarios/theory/systems.ini", root);
  return r == 0 ? lb_groups_load(path, err, err_size) : r;
}
