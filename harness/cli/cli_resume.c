/* SPDX-License-Identifier: MIT
 *
 * Runs that go on: `--resume DIR` plays what is left of a stopped one, `lockbench merge` makes one of the folders of
 * shards. In both cases the arguments that their journal has are taken apart again, in the folder where the run was
 * called; for shards, where that is not here, in the user's.
 */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/need.h"
#include "run/journal.h"
#include "run/shard.h"

/* Everything else is said by the run itself. */
static bool has_others(const struct lb_args *args) {
  static const char *const may[] = {"--resume", "-j", "--jobs", "--budget", "--json", "-v", "--verbose"};
  for (int i = 1; i < args->argc; i++) {
    const char *word = args->argv[i];
    bool known = word[0] != '-' || (word[0] == '-' && word[1] == 'j');
    for (size_t m = 0; m < sizeof may / sizeof *may; m++)
      known |= strncmp(word, may[m], strlen(may[m])) == 0 && strchr("=", word[strlen(may[m])]);
    if (!known) return true;
  }
  return args->word_count > 0;
}

/* The arguments; of shards that are merged without what is of a shard alone, and with the JUnit file of the whole, NULL =
 * none. How many. */
static int words_of(const json_t *words, bool merges, const char *junit, char *ret[], int size) {
  static const char *const own[] = {"--shard", "--junit"};
  int argc = 0;
  for (size_t i = 0; i < json_array_size(words) && argc + 3 < size; i++) {
    const char *word = json_string_value(json_array_get(words, i));
    bool alone = false, joined = false;
    for (size_t k = 0; merges && word && k < sizeof own / sizeof *own; k++) {
      alone |= strcmp(word, own[k]) == 0;
      joined |= strncmp(word, own[k], strlen(own[k])) == 0 && word[strlen(own[k])] == '=';
    }
    i += alone;
    if (!alone && !joined) ret[argc++] = (char *)word;
  }
  if (merges && junit) ret[argc++] = (char *)"--junit", ret[argc++] = (char *)junit;
  ret[argc] = NULL;
  return argc;
}

static void shard_of(const json_t *head, struct lb_shard *ret) {
  const json_t *pair = json_object_get(head, "shard");
  ret->index = (int)json_integer_value(json_array_get(pair, 0));
  ret->of = (int)json_integer_value(json_array_get(pair, 1));
}

/* The texts of `head` live as long as the run. */
static int call_again(const struct lb_args *args, const json_t *head, const char *folder, const char *const *merged) {
  char *argv[LB_ARGS_MAX * 4], shard[40] = "";
  int argc = words_of(json_object_get(head, "argv"), merged, args->junit, argv, sizeof argv / sizeof *argv);
  struct lb_shard part;
  shard_of(head, &part);
  if (part.of && !merged) snprintf(shard, sizeof shard, "%d/%d", part.index, part.of);
  const struct lb_cli_command *command = argv[0] ? lb_cli_command_find(argv[0]) : NULL;
  if (!command || !(command->takes & (LB_ARG_RUN | LB_ARG_JUDGE)))
    return lb_complain(LB_EXIT_USAGE, "%s/resume.json: expected the arguments of a run, a suite or a judge", folder);
  const char *cwd = json_string_value(json_object_get(head, "cwd"));
  /* Shards may come from other machines: of the files that they name, those here are read. */
  if (chdir(cwd) < 0 && !(merged && errno == ENOENT))
    return lb_complain(LB_EXIT_USAGE, "%s: the folder where it was started is gone: %s: %s", folder, cwd,
                       strerror(errno));
  struct lb_args again;
  int r = lb_args_parse(argc, argv, command->takes, &again);
  if (r != 0) return LB_EXIT_USAGE;
  again.resumed = merged ? NULL : folder;
  again.merged = merged;
  again.out = merged ? args->out : NULL;
  again.shard = shard;
  again.has_seed = true;
  again.seed = (uint64_t)json_integer_value(json_object_get(head, "seed"));
  again.budget_s = args->budget_s;
  again.json = args->json;
  again.verbose = args->verbose;
  if (args->jobs) again.jobs = args->jobs;
  return command->run(&again);
}

int lb_cli_resume(const struct lb_args *args) {
  struct lb_error err;
  char folder[PATH_MAX];
  if (has_others(args))
    return lb_complain(
        LB_EXIT_USAGE,
        "--resume %s: expected nothing beside it but -j, -v, --json, and of `run` and `suite` --budget: the rest is as it was",
        args->resume);
  if (!realpath(args->resume, folder))
    return lb_complain(LB_EXIT_USAGE, "--resume %s: expected the folder of a run that was stopped: %s", args->resume,
                       strerror(errno));
  json_t *head = lb_journal_read(folder, &err);
  if (!head) return lb_complain(LB_EXIT_USAGE, "--resume %s", err.text);
  int code = call_again(args, head, folder, NULL);
  json_decref(head);
  return code;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

struct shards {                     /* owned; of which run they are is checked when they are read */
  char *folder[LB_SHARDS_MOST + 1]; /* NULL behind the last */
  size_t count;
};

static int add_shard(struct shards *s, const char *path) {
  char folder[PATH_MAX];
  if (!realpath(path, folder))
    return lb_complain(LB_EXIT_USAGE, "merge %s: expected the folder of a shard: %s", path, strerror(errno));
  if (s->count == LB_SHARDS_MOST)
    return lb_complain(LB_EXIT_USAGE, "merge: expected at most %d folders", LB_SHARDS_MOST);
  s->folder[s->count++] = lb_need_text(folder);
  return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_shard(const struct dirent *entry) { return strncmp(entry->d_name, "shard-", 6) == 0; }

/* A shard, or the folder of all of them. */
static int add_word(struct shards *s, const char *word) {
  char path[PATH_MAX];
  struct dirent **found;
  snprintf(path, sizeof path, "%s/resume.json", word);
  int count = access(path, F_OK) < 0 ? scandir(word, &found, is_shard, by_name) : 0, code = 0;
  if (count <= 0) return add_shard(s, word);
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s", word, found[i]->d_name);
    if (code == 0) code = add_shard(s, path);
    free(found[i]);
  }
  free(found);
  return code;
}

/* A shard that is there twice, or is one of another number of shards. What else has to be the same is in the digest of
 * the plan. */
static int check_shards(const struct shards *s, json_t *const head[]) {
  bool seen[LB_SHARDS_MOST + 1] = {false};
  struct lb_shard first, shard;
  shard_of(head[0], &first);
  for (size_t i = 0; i < s->count; i++) {
    shard_of(head[i], &shard);
    if (shard.index < 1 || shard.index > shard.of || shard.of > LB_SHARDS_MOST)
      return lb_complain(LB_EXIT_USAGE, "merge %s: is no shard, expected a run with --shard", s->folder[i]);
    if (shard.of != first.of)
      return lb_complain(LB_EXIT_USAGE, "merge %s: is one of %d shards, expected one of %d", s->folder[i], shard.of,
                         first.of);
    if (json_integer_value(json_object_get(head[i], "seed")) != json_integer_value(json_object_get(head[0], "seed")))
      return lb_complain(LB_EXIT_USAGE, "merge %s: has seed %lld, expected %lld", s->folder[i],
                         (long long)json_integer_value(json_object_get(head[i], "seed")),
                         (long long)json_integer_value(json_object_get(head[0], "seed")));
    if (!json_equal(json_object_get(head[i], "tool"), json_object_get(head[0], "tool")))
      return lb_complain(LB_EXIT_USAGE, "merge %s: was played by another build of lockbench than %s", s->folder[i],
                         s->folder[0]);
    if (!json_equal(json_object_get(head[i], "plan"), json_object_get(head[0], "plan")))
      return lb_complain(
          LB_EXIT_USAGE,
          "merge %s: scenarios, options, servers or libraries are not those of %s: expected the same plan",
          s->folder[i], s->folder[0]);
    if (seen[shard.index])
      return lb_complain(LB_EXIT_USAGE, "merge %s: shard %d of %d is there twice", s->folder[i], shard.index, shard.of);
    seen[shard.index] = true;
  }
  for (int i = 1; i <= first.of; i++)
    if (!seen[i]) lb_complain(0, "shard %d of %d is missing", i, first.of);
  return 0;
}

/* From the folder that the user is in. `path` may be NULL. */
static const char *absolute(const char *path, char buf[PATH_MAX]) {
  char cwd[PATH_MAX];
  if (!path || path[0] == '/' || !getcwd(cwd, sizeof cwd)) return path;
  snprintf(buf, PATH_MAX, "%.*s/%s", PATH_MAX / 2, cwd, path);
  return buf;
}

static int merge(const struct lb_args *args, const struct shards *s, json_t *head[]) {
  struct lb_error err;
  struct lb_args here = *args;
  char out[PATH_MAX], junit[PATH_MAX];
  for (size_t i = 0; i < s->count; i++)
    if (!(head[i] = lb_journal_read(s->folder[i], &err)))
      return lb_cli_is_run_folder(s->folder[i])
                 ? lb_complain(LB_EXIT_USAGE,
                               "merge %s: is a whole run, expected the folder of a shard (run --shard I/N)",
                               s->folder[i])
                 : lb_complain(LB_EXIT_USAGE, "merge %s", err.text);
  int code = check_shards(s, head);
  if (code) return code;
  here.out = absolute(args->out, out);
  here.junit = absolute(args->junit, junit);
  return call_again(&here, head[0], s->folder[0], (const char *const *)s->folder);
}

static int merge_command(const struct lb_args *args) {
  struct shards *s = lb_need(calloc(1, sizeof *s));
  int code = args->word_count ? 0 : lb_complain(LB_EXIT_USAGE, "merge: expected the folders of shards");
  for (int i = 0; code == 0 && i < args->word_count; i++) code = add_word(s, args->words[i]);
  json_t **head = lb_need(calloc(s->count + 1, sizeof *head));
  if (code == 0) code = merge(args, s, head);
  for (size_t i = 0; i < s->count; i++) {
    json_decref(head[i]);
    free(s->folder[i]);
  }
  free(head);
  free(s);
  return code;
}

const struct lb_cli_command lb_command_merge = {
    "merge",
    merge_command,
    LB_ARG_MERGE | LB_ARG_JSON,
    "DIR...",
    "makes one run of the folders of its shards, or of all shards in a folder",
    NULL};
