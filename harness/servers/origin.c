/* SPDX-License-Identifier: MIT */
#include "origin.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/need.h"
#include "base/process.h"
#include "base/text.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

enum { NAMES_MAX = 64 };

static struct lb_origin **origins;
static size_t origin_count;

static const char *home(void) {
  static char path[600];
  const char *said = getenv("LOCKBENCH_SERVERS"), *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
  if (said && *said) snprintf(path, sizeof path, "%s", said);
  else if (cache && *cache) snprintf(path, sizeof path, "%s/lockbench/servers", cache);
  else snprintf(path, sizeof path, "%s/.cache/lockbench/servers", user && *user ? user : "");
  return path;
}

static bool is_folder(const char *folder, const char *name) {
  char path[PATH_MAX];
  struct stat st;
  snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

size_t lb_origin_names(char **words, size_t max) {
  size_t count = 0;
  struct dirent **entries;
  int n = scandir(home(), &entries, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    const char *name = entries[i]->d_name;
    if (count < max && name[0] != '.' && is_folder(home(), name)) words[count++] = lb_need_text(name);
    free(entries[i]);
  }
  if (n >= 0) free(entries);
  return count;
}

static int refuse_unknown(const char *word, struct lb_error *err) {
  char *words[NAMES_MAX];
  size_t count = lb_origin_names(words, NAMES_MAX);
  const char *near = lb_text_suggest(word, (const char *const *)words, count);
  if (near) lb_refuse(err, "unknown origin '%s', did you mean '%s'?", word, near);
  else
    lb_refuse(err, "unknown origin '%s', expected a folder in %s or a path: `%s` lists and fetches them", word, home(),
              lb_process_servers_installer());
  for (size_t i = 0; i < count; i++) free(words[i]);
  return -EINVAL;
}

/* The absolute path of the folder, and the name that systems bear. */
static int place(const char *word, struct lb_origin *ret, struct lb_error *err) {
  char given[PATH_MAX], real[PATH_MAX];
  bool is_path = strchr(word, '/');
  snprintf(given, sizeof given, "%s%s%s", is_path ? "" : home(), is_path ? "" : "/", word);
  if (!is_path && (strspn(word, NAME_CHARS) != strlen(word) || word[0] == '.' || !*word || !is_folder(given, "")))
    return refuse_unknown(word, err);
  if (!realpath(given, real) || !is_folder(real, ""))
    return lb_refuse(err, "origin '%s': expected a folder: %s", word, strerror(errno ? errno : ENOTDIR));
  const char *name = is_path ? strrchr(real, '/') + 1 : word;
  if (!*name || strspn(name, NAME_CHARS) != strlen(name) || strlen(name) >= sizeof ret->name ||
      strlen(real) >= sizeof ret->folder)
    return lb_refuse(err, "origin '%s': expected a folder called by letters, digits and ._+-", word);
  snprintf(ret->name, sizeof ret->name, "%.63s", name);
  snprintf(ret->folder, sizeof ret->folder, "%.999s", real);
  ret->is_root = is_folder(real, "usr") || is_folder(real, "etc");
  return 0;
}

const struct lb_origin *lb_origin_find(const char *word, struct lb_error *err) {
  struct lb_origin found;
  if (place(word, &found, err) < 0) return NULL;
  for (size_t i = 0; i < origin_count; i++) {
    if (strcmp(origins[i]->name, found.name) != 0) continue;
    if (strcmp(origins[i]->folder, found.folder) == 0) return origins[i];
    lb_refuse(err, "origin '%s': another one is called '%s', too: %s", word, found.name, origins[i]->folder);
    return NULL;
  }
  struct lb_origin *origin = lb_need(malloc(sizeof *origin));
  *origin = found;
  LB_APPEND(origins, origin_count) = origin;
  return origin;
}

const char *lb_origin_root(const struct lb_origin *origin) { return origin && origin->is_root ? origin->folder : NULL; }
