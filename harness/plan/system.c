/* SPDX-License-Identifier: MIT
 *
 * Names of systems, PROTOCOL@TOPOLOGY, and of groups of them.
 */
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/process.h"
#include "base/error.h"
#include "base/ini.h"
#include "base/text.h"
#include "peers.h"
#include "own/own.h"
#include "theory/theory.h"
#include "theory/versions.h"

enum { WORDS_MAX = 512 };

/* The nearest word, or where all of them are listed. -EINVAL. */
static int unknown_word(const char *what, const char *word, const char *const *words, size_t count, const char *list,
                        struct lb_error *err) {
  const char *near = lb_text_suggest(word, words, count);
  if (near) return lb_refuse(err, "unknown %s '%s', did you mean '%s'?", what, word, near);
  return lb_refuse(err, "unknown %s '%s', expected one of `%s list %s`", what, word, lb_process_called(), list);
}

/* A foreign lock is meant by its name alone, too: "redis-py" is nearest to "peer:redis-py". */
const char *lb_system_near(const char *name) {
  const char *words[WORDS_MAX];
  size_t count = 0;
  const struct lb_protocol *p;
  for (size_t i = 0; count < WORDS_MAX && (p = lb_protocol_at(i)); i++) words[count++] = p->name;
  for (size_t i = 0; count < WORDS_MAX && !strchr(name, ':') && (p = lb_protocol_at(i)); i++)
    if (strchr(p->name, ':')) words[count++] = strchr(p->name, ':') + 1;
  const char *near = lb_text_suggest(name, words, count);
  for (size_t i = 0; near && (p = lb_protocol_at(i)); i++) {
    const char *colon = strchr(p->name, ':');
    if (colon && colon + 1 == near) return p->name;
  }
  return near;
}

enum { GROUPS_MAX = 8, LIST_MAX = 4000 };

static struct { char name[32], systems[LIST_MAX]; } groups[GROUPS_MAX];
static size_t group_count;

/* `rest` stands behind the name: "@TOPOLOGY" or nothing. -EINVAL. */
static int find_protocol(const char *name, const char *rest, const struct lb_protocol **ret, struct lb_error *err) {
  *ret = lb_protocol_find(name);
  const char *near = *ret ? NULL : lb_system_near(name), *colon = near ? strchr(near, ':') : NULL;
  if (*ret) return 0;
  const char *names[GROUPS_MAX];
  for (size_t i = 0; i < group_count; i++) names[i] = groups[i].name; /* a group stands where a protocol does */
  if (!near) return unknown_word("protocol", name, names, *rest ? 0 : group_count, "protocols", err);
  const struct lb_protocol *meant = near ? lb_protocol_find(near) : NULL;
  if (!colon) rest = ""; /* its name alone is misspelt */
  if (!meant || !lb_peers_missing_file(meant))
    return lb_refuse(err, "unknown protocol '%s', did you mean '%s%s'?", name, near, rest);
  return lb_refuse(err, "unknown protocol '%s', did you mean '%s%s'? It is not installed: `%s %s` installs it", name,
                   near, rest, lb_process_peers_installer(), lb_peers_name(meant));
}

static int find_row(const char *name, const struct lb_topology **ret, struct lb_error *err) {
  const char *words[WORDS_MAX];
  size_t count = lb_topology_names(words, WORDS_MAX - LB_OWN_COUNT);
  *ret = lb_topology_find(name);
  for (int i = 0; !*ret && i < LB_OWN_COUNT; i++) {
    const struct lb_own_kind *kind = lb_own_kinds[i];
    if (strcmp(kind->topology, name) == 0)
      return lb_refuse(err, "topology '%s' is servers of your own: expected %s %s", name, kind->option, kind->takes);
    words[count++] = kind->topology;
  }
  return *ret ? 0 : unknown_word("topology", name, words, count, "topologies", err);
}

int lb_system_topology(const char *text, const struct lb_topology **ret, struct lb_error *err) {
  const char *colon = strchr(text, ':');
  char row[64];
  if (!colon) return find_row(text, ret, err);
  snprintf(row, sizeof row, "%.*s", (int)(colon - text), text);
  int r = find_row(row, ret, err);
  if (r < 0) return r;
  if ((*ret)->own || (*ret)->data_count == 0)
    return lb_refuse(err, "'%s': %s has no servers that we start, so they come from nowhere else", text, row);
  const struct lb_origin *origin = lb_origin_find(colon + 1, err);
  if (!origin) return -EINVAL;
  *ret = lb_topology_from(*ret, origin);
  return 0;
}

/* A protocol and a topology may both exist and still not go together: that has a message of its
 * own. */
int lb_system_parse(const char *text, struct lb_system *ret, struct lb_error *err) {
  char protocol[64];
  const char *at = strchr(text, '@');
  size_t length = at ? (size_t)(at - text) : strlen(text);
  if (length == 0 || length >= sizeof protocol) return lb_refuse(err, "system '%s': expected PROTOCOL@TOPOLOGY", text);
  memcpy(protocol, text, length);
  protocol[length] = '\0';
  int r = find_protocol(protocol, at ? at : "", &ret->protocol, err);
  if (r < 0) return r;
  r = lb_system_topology(at ? at + 1 : ret->protocol->topologies[0], &ret->topology, err);
  if (r < 0) return r;
  if (!lb_topology_serves(ret->topology, ret->protocol->topologies))
    return lb_refuse(err, "%s does not run on topology '%s', see `%s show %s`", protocol, ret->topology->name,
                     lb_process_called(), protocol);
  snprintf(ret->name, sizeof ret->name, "%s@%s", protocol, ret->topology->name);
  return 0;
}

/* ---- groups of systems ---- */

const char *lb_system_group(const char *name) {
  for (size_t i = 0; i < group_count; i++)
    if (strcmp(groups[i].name, name) == 0) return groups[i].systems;
  return NULL;
}

/* A group may stand in several lines. Blanks are for people. */
static int take_group(struct lb_ini *ini, const char *name, const char *value) {
  size_t i = 0, at;
  while (i < group_count && strcmp(groups[i].name, name) != 0) i++;
  if (i == GROUPS_MAX || (at = strlen(groups[i].systems)) + strlen(value) + 2 > LIST_MAX ||
      strlen(name) >= sizeof groups[i].name)
    return lb_ini_refuse(ini, -EINVAL, "too many groups, or too long a list");
  if (i == group_count) snprintf(groups[group_count++].name, sizeof groups[i].name, "%s", name);
  if (at) groups[i].systems[at++] = ',';
  for (; *value; value++)
    if (*value != ' ') groups[i].systems[at++] = *value;
  groups[i].systems[at] = '\0';
  return 0;
}

int lb_system_groups_load(const char *path, struct lb_error *err) {
  struct lb_ini ini;
  char *data;
  size_t size;
  memset(groups, 0, sizeof groups);
  group_count = 0;
  int r = lb_ini_load(path, &data, &size, err);
  if (r < 0) return r;
  lb_ini_begin(&ini, path, data, size, err);
  free(data);
  while (lb_ini_next(&ini))
    if (ini.indented) lb_ini_refuse_indented(&ini);
    else if (ini.kind == LB_INI_KEY) take_group(&ini, ini.key, ini.value);
  return lb_ini_end(&ini);
}

int lb_system_load_known(const char *root, struct lb_error *err) {
  char path[4096];
  int r = lb_peers_load(root, err);
  snprintf(path, sizeof path, "%s/scenarios/theory/rules.ini", root);
  if (r == 0) r = lb_theory_load(path, err);
  snprintf(path, sizeof path, "%s/scenarios/theory/versions.ini", root);
  if (r == 0) r = lb_versions_load(path, err);
  snprintf(path, sizeof path, "%s/scenarios/theory/systems.ini", root);
  return r == 0 ? lb_system_groups_load(path, err) : r;
}
