/* SPDX-License-Identifier: MIT
 *
 * What changed with a version of the servers: sections "[SERVER < VERSION]" of versions.ini, and in them facts of
 * locks. A server's version is asked only when its facts are needed: not every command has to start every server's
 * program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"
#include "backends/registry.h"
#include "base/error.h"
#include "base/ini.h"
#include "base/text.h"
#include "facts.h"

enum { ROWS_MAX = 64, PARTS = 4, FAMILIES_MAX = 64, LOCKS_MAX = 256 };

struct version {
  int part[PARTS];
};

static struct row {
  char server[32], lock[64], words[200];
  struct version version;
  bool below; /* else from there on */
} rows[ROWS_MAX];
static size_t row_count;

/* ---- versions ------------------------------------------------------------------------------------------------ */

/* "3.4.23" and what may follow it. False: there is no number. */
static bool read_version(const char *text, struct version *ret) {
  *ret = (struct version){{0}};
  char *end = (char *)text;
  for (size_t i = 0; i < PARTS; i++) {
    ret->part[i] = (int)strtol(text, &end, 10);
    if (end == text) return i > 0;
    if (*end != '.') return true;
    text = end + 1;
  }
  return true;
}

static bool is_below(const struct version *a, const struct version *b) {
  for (size_t i = 0; i < PARTS; i++)
    if (a->part[i] != b->part[i]) return a->part[i] < b->part[i];
  return false;
}

/* Finds the version of one server in "postgresql 15.18, patroni 3.0.2". */
static bool find_version(const char *text, const char *server, struct version *ret) {
  size_t length = strlen(server);
  for (const char *at = text; (at = strstr(at, server)); at += length)
    if ((at == text || at[-1] == ' ') && at[length] == ' ' && read_version(at + length + 1, ret)) return true;
  return false;
}

/* Those of one family and origin have the same programs;
 * of the user's own, each its own. */
const char *lb_versions_of(const struct lb_topology *topology) {
  static struct {
    const struct lb_family *family;
    const struct lb_origin *origin;
    char text[200];
  } known[FAMILIES_MAX];
  static char own[1024];
  const char *assumed = getenv("LOCKBENCH_VERSIONS");
  size_t i = 0;
  if (assumed && *assumed) return assumed;
  if (topology->own) return lb_topology_version(topology, own, sizeof own) == 0 ? own : "";
  while (i < FAMILIES_MAX - 1 && known[i].family &&
         (known[i].family != topology->family || known[i].origin != topology->origin))
    i++;
  if (known[i].family == topology->family && known[i].origin == topology->origin) return known[i].text;
  if (lb_topology_version(topology, known[i].text, sizeof known[i].text) < 0) known[i].text[0] = '\0';
  known[i].family = topology->family;
  known[i].origin = topology->origin;
  return known[i].text;
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

/* "etcd < 3.5", "etcd >= 3.5" */
static int begin_section(struct lb_ini *ini, struct row *ret) {
  char sign[3], number[24], rest;
  *ret = (struct row){.server = ""};
  if (sscanf(ini->section, "%31s %2[<>=] %23[0-9.]%c", ret->server, sign, number, &rest) != 3 ||
      (strcmp(sign, "<") != 0 && strcmp(sign, ">=") != 0) || !read_version(number, &ret->version))
    return lb_ini_refuse(ini, -EINVAL, "[%s]: expected [SERVER < VERSION] or [SERVER >= VERSION]", ini->section);
  ret->below = sign[0] == '<';
  return 0;
}

static int refuse_lock(struct lb_ini *ini) {
  const char *words[LOCKS_MAX];
  const struct lb_protocol *lock;
  size_t count = 0;
  while (count < LOCKS_MAX && (lock = lb_protocol_at(count))) words[count++] = lock->name;
  const char *near = lb_text_suggest(ini->key, words, count);
  if (near) return lb_ini_refuse(ini, -EINVAL, "no lock '%s', did you mean '%s'?", ini->key, near);
  return lb_ini_refuse(ini, -EINVAL, "no lock '%s', expected a lock of ours", ini->key);
}

static int take_key(struct lb_ini *ini, const struct row *section) {
  struct lb_facts facts;
  struct lb_error why;
  if (!section->server[0])
    return lb_ini_refuse(ini, -EINVAL, "'%s' stands before the first section: expected [SERVER < VERSION]", ini->key);
  if (!lb_protocol_find(ini->key)) return refuse_lock(ini);
  if (row_count == ROWS_MAX) return lb_ini_refuse(ini, -EINVAL, "too many lines");
  lb_facts_default(&facts);
  if (lb_facts_take(&facts, ini->value, LB_TERM_OF_LOCK, &why) < 0) return lb_ini_refuse(ini, -EINVAL, "%s", why.text);
  struct row *row = &rows[row_count];
  *row = *section;
  snprintf(row->lock, sizeof row->lock, "%s", ini->key);
  if (snprintf(row->words, sizeof row->words, "%s", ini->value) >= (int)sizeof row->words)
    return lb_ini_refuse(ini, -EINVAL, "too many facts");
  row_count++;
  return 0;
}

int lb_versions_parse(const char *path, const char *data, size_t size, struct lb_error *err) {
  struct lb_ini ini;
  struct row section = {.server = ""};
  row_count = 0;
  lb_ini_begin(&ini, path, data, size, err);
  while (lb_ini_next(&ini))
    if (ini.indented) lb_ini_refuse_indented(&ini);
    else if (ini.kind == LB_INI_SECTION) begin_section(&ini, &section);
    else take_key(&ini, &section);
  int r = lb_ini_end(&ini);
  if (r < 0) row_count = 0;
  return r;
}

int lb_versions_load(const char *path, struct lb_error *err) {
  char *data;
  size_t size;
  int r = lb_ini_load(path, &data, &size, err);
  if (r == 0) r = lb_versions_parse(path, data, size, err), free(data);
  return r;
}

/* ---- applying it --------------------------------------------------------------------------------------------- */

void lb_versions_add(const char *lock, const struct lb_topology *topology, struct lb_facts *facts) {
  struct lb_error err;
  struct version has;
  for (size_t i = 0; i < row_count; i++) {
    const struct row *row = &rows[i];
    if (strcmp(row->lock, lock) != 0 || !find_version(lb_versions_of(topology), row->server, &has)) continue;
    if (is_below(&has, &row->version) == row->below) lb_facts_take(facts, row->words, LB_TERM_OF_LOCK, &err);
  }
}

/* One of "redis >= 7.2 or valkey >= 7.2". */
static bool is_met(const char *needs, const char *versions) {
  char server[32], number[24];
  struct version has, least;
  for (const char *next = needs; next; next = strstr(next, " or ")) {
    if (next != needs) next += strlen(" or ");
    if (sscanf(next, "%31s >= %23[0-9.]", server, number) == 2 && read_version(number, &least) &&
        find_version(versions, server, &has) && !is_below(&has, &least))
      return true;
  }
  return false;
}

bool lb_versions_meet(const struct lb_protocol *lock, const struct lb_topology *topology, char *why, size_t size) {
  const char *has = lock->needs ? lb_versions_of(topology) : "";
  if (!lock->needs || is_met(lock->needs, has)) return true;
  snprintf(why, size, "needs %s; this is %s", lock->needs, *has ? has : "a server that does not tell its version");
  return false;
}
