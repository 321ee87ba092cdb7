/* SPDX-License-Identifier: MIT
 *
 * A hunt that several processes have shared: what the shards have seen becomes the journal of the hunt that goes on.
 * A shard's folder is shard-I-of-N, beside those of the systems; in it each system has its own.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/need.h"
#include "cli.h"
#include "run/shard.h"

enum { PATH = 4200, LINE = 600 };

struct join {
  FILE *out;        /* the journal */
  char first[LINE]; /* its first line, which says of which hunt it is; "" = not known yet */
  json_t *sittings; /* of hunt.json */
  bool *seen;       /* by the index of the shard */
  int of, count;
};

static int is_shard(const struct dirent *entry) {
  int index, of, end = 0;
  return sscanf(entry->d_name, "shard-%4d-of-%4d%n", &index, &of, &end) == 2 && !entry->d_name[end] && index >= 1 &&
         index <= of && of <= LB_SHARDS_MOST;
}

/* Its whole lines: a last one that was cut off is left out, so that the next file does not go on in it. */
static int copy(struct join *j, FILE *in, const char *path) {
  char line[LINE];
  if (!fgets(line, sizeof line, in)) return 0; /* the shard had just begun */
  if (!j->first[0]) fputs(strcpy(j->first, line), j->out);
  if (strcmp(line, j->first) != 0)
    return lb_complain(LB_EXIT_USAGE, "hunt: %s:1: found '%.*s', expected '%.*s': shards of one hunt", path,
                       (int)strcspn(line, "\n"), line, (int)strcspn(j->first, "\n"), j->first);
  while (fgets(line, sizeof line, in) && strchr(line, '\n')) fputs(line, j->out);
  return 0;
}

static void take_sittings(struct join *j, const char *folder) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/hunt.json", folder);
  json_t *root = json_load_file(path, 0, NULL);
  json_array_extend(j->sittings, json_object_get(root, "sittings"));
  json_decref(root);
}

/* `name` is shard-I-of-N, `system` the folder in it. */
static int take(struct join *j, const char *of_hunt, const char *name, const char *system) {
  char folder[PATH], path[PATH + 20];
  int index, of;
  if (sscanf(name, "shard-%4d-of-%4d", &index, &of) != 2) return 0;
  snprintf(folder, sizeof folder, "%s/%s/%s", of_hunt, name, system);
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  FILE *in = fopen(path, "re");
  if (!in) return 0; /* of another system */
  int code = 0;
  if (j->of && of != j->of)
    code = lb_complain(LB_EXIT_USAGE, "hunt: %s is one of %d shards, expected one of %d", path, of, j->of);
  if (!j->seen) j->seen = lb_need(calloc((size_t)of + 1, sizeof *j->seen));
  if (code == 0) code = copy(j, in, path);
  if (code == 0) j->of = of, j->seen[index] = true, j->count++, take_sittings(j, folder);
  fclose(in);
  return code;
}

static int take_all(struct join *j, const char *of_hunt, const char *system) {
  struct dirent **found = NULL;
  int count = scandir(of_hunt, &found, is_shard, alphasort), code = 0;
  for (int i = 0; i < count; i++) {
    if (code == 0) code = take(j, of_hunt, found[i]->d_name, system);
    free(found[i]);
  }
  free(found);
  return code;
}

/* The journal last: as long as it is not there, all of this is done again. */
static int write_both(const struct join *j, const char *partial, const char *folder) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/hunt.json", folder);
  json_t *root = json_pack("{s:O}", "sittings", j->sittings);
  int failed = json_dump_file(root, path, JSON_INDENT(1)) < 0;
  json_decref(root);
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  failed |= rename(partial, path) < 0;
  return failed ? lb_complain(LB_EXIT_FAILURE, "hunt: cannot write %s", path) : 0;
}

static bool has(const json_t *sittings, const json_t *sitting) {
  const json_t *one;
  size_t i;
  json_array_foreach(sittings, i, one)
    if (json_equal(one, sitting)) return true;
  return false;
}

/* A hunt may go on after a join: its journal lacks what a shard has played since the hunt began. */
static void name_late(const struct join *j, const char *of_hunt, const char *system) {
  struct dirent **found = NULL;
  int count = scandir(of_hunt, &found, is_shard, alphasort);
  for (int i = 0; i < count; i++) {
    struct join shard = {.sittings = json_array()};
    char folder[PATH];
    json_t *one;
    size_t k, late = 0;
    snprintf(folder, sizeof folder, "%s/%s/%s", of_hunt, found[i]->d_name, system);
    take_sittings(&shard, folder);
    json_array_foreach(shard.sittings, k, one) late += !has(j->sittings, one);
    if (late)
      lb_complain(0, "hunt %s: %s ended after this hunt began, so what it saw is not taken; with %s/%s away it is",
                  system, found[i]->d_name, of_hunt, system);
    json_decref(shard.sittings);
    free(found[i]);
  }
  free(found);
}

int lb_cli_hunt_join(const char *of_hunt, const char *folder) {
  char path[PATH];
  const char *system = strrchr(folder, '/') + 1;
  struct join j = {.sittings = json_array()};
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  if (access(path, F_OK) == 0) { /* it goes on */
    take_sittings(&j, folder);
    name_late(&j, of_hunt, system);
    return json_decref(j.sittings), LB_EXIT_OK;
  }
  snprintf(path, sizeof path, "%s/.trials.partial", folder);
  if (!(j.out = fopen(path, "we")))
    return json_decref(j.sittings), lb_complain(LB_EXIT_FAILURE, "hunt: cannot write %s: %s", path, strerror(errno));
  int code = take_all(&j, of_hunt, system);
  if (fclose(j.out) != 0 && code == 0) code = lb_complain(LB_EXIT_FAILURE, "hunt: cannot write %s", path);
  if (code == 0 && j.count > 0) code = write_both(&j, path, folder);
  for (int i = 1; i <= j.of && code == 0; i++)
    if (!j.seen[i]) lb_complain(0, "hunt %s: shard %d of %d is missing, so its part is played here", system, i, j.of);
  unlink(path);
  free(j.seen);
  json_decref(j.sittings);
  return code;
}
