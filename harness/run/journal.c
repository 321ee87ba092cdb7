/* SPDX-License-Identifier: MIT
 *
 * The journal: every outcome is a line on the disk before it counts, so a run that is stopped keeps what is decided,
 * and can go on.
 */
#include "journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "about.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/error.h"
#include "exit.h"
#include "results.h"

enum { PATH = 4200, FORMAT = 2 };

struct record {
  uint64_t job;     /* its index in the plan */
  uint64_t machine; /* place in "machines" of the head */
  double seconds;   /* of the run, when it ended */
  struct lb_outcome outcome;
  uint64_t sum; /* of all before it */
};

/* ---- digests --------------------------------------------------------------------------------- */

static uint64_t mix_json(uint64_t hash, json_t *o) {
  char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
  if (text) hash = lb_hash(hash, text, strlen(text));
  free(text);
  json_decref(o);
  return hash;
}

/* The digest of a tally without any result: its cells then say what is asked, and nothing that came of it. */
static uint64_t digest(const struct lb_plan *plan, const struct lb_run_info *info) {
  struct lb_tally nothing = {0};
  uint64_t hash = LB_HASH_BEGIN;
  lb_tally_begin(plan, &nothing);
  for (size_t i = 0; i < plan->scenario_count; i++) hash = mix_json(hash, lb_results_scenario(&plan->scenarios[i]));
  hash = mix_json(hash, lb_results_cells(&nothing));
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_trial_plan *trial = &plan->jobs[i].plan;
    hash = lb_hash(lb_hash(lb_hash(hash, trial->name, strlen(trial->name)), &trial->seed, sizeof trial->seed),
                   &trial->fault_seed, sizeof trial->fault_seed);
  }
  for (size_t i = 0; i < info->version_count; i++)
    hash = lb_hash(hash, info->versions[i].text, strlen(info->versions[i].text));
  lb_tally_clear(&nothing);
  return hash;
}

static void digest_text(uint64_t hash, char ret[20]) { snprintf(ret, 20, "%016llx", (unsigned long long)hash); }

/* ---- disk space ------------------------------------------------------------------------------ */

/* Kept free, so that results can be written when the disk is full: more than the tables of a run need. */
static void reserve(const char *folder, const struct lb_plan *plan) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/reserve", folder);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  off_t size = 256 * 1024 + 2048 * (off_t)plan->job_count + 8192 * (off_t)plan->cell_count;
  (void)!fallocate(fd, 0, 0, size); /* not on every file system: then there is no reserve */
  close(fd);
}

/* Gives the reserved disk space back. Closing does so, too. */
static void journal_free_reserve(const char *folder) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/reserve", folder);
  unlink(path);
}

/* ---- its two files --------------------------------------------------------------------------- */

static int fail(int r, const char *folder, struct lb_error *err) {
  return lb_error(err, r, "cannot keep the journal of the run in %s: %s", folder, strerror(-r));
}

static int open_records(struct lb_journal *journal, const char *folder) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/resume.bin", folder);
  journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return journal->fd < 0 ? -errno : 0;
}

/* Removes what is behind `end`, and keeps the disk space of all that is to come there: ftruncate() gives back what was
 * kept behind the end before, whether the file becomes shorter or not. */
static int end_records(const struct lb_journal *journal, off_t end, const struct lb_plan *plan) {
  if (ftruncate(journal->fd, end) < 0) return -errno;
  if (fallocate(journal->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(plan->job_count * sizeof(struct record))) < 0 &&
      errno == ENOSPC)
    return -ENOSPC;
  return 0;
}

static int write_head(const char *folder, const struct lb_plan *plan, const struct lb_run_info *info) {
  char path[PATH], cwd[PATH], text[20];
  snprintf(path, sizeof path, "%s/resume.json", folder);
  digest_text(digest(plan, info), text);
  json_t *head = json_pack("{s:i, s:o, s:o, s:s, s:I, s:I, s:s, s:I, s:s, s:i, s:[i,i], s:O}", "format", FORMAT, "tool",
                           lb_about_tool(), "argv", lb_about_argv(info->argv, info->argc), "cwd",
                           getcwd(cwd, sizeof cwd) ? cwd : "/", "seed", (json_int_t)plan->seed, "trials",
                           (json_int_t)plan->job_count, "plan", text, "record_bytes", (json_int_t)sizeof(struct record),
                           "started_utc", info->started_utc, "sittings", info->sittings, "shard", info->shard,
                           info->shards, "machines", info->machines);
  return lb_about_write(head, path);
}

int lb_journal_begin(struct lb_journal *journal, const char *folder, const struct lb_plan *plan,
                     const struct lb_run_info *info, struct lb_error *err) {
  *journal = (struct lb_journal){.fd = -1, .begin_ns = lb_clock_ns()};
  reserve(folder, plan);
  int r = open_records(journal, folder);
  if (r == 0) r = end_records(journal, 0, plan);
  if (r == 0) r = write_head(folder, plan, info);
  if (r < 0) lb_journal_close(journal);
  return r < 0 ? fail(r, folder, err) : 0;
}

json_t *lb_journal_read(const char *folder, struct lb_error *err) {
  char path[PATH];
  json_error_t error;
  snprintf(path, sizeof path, "%s/resume.json", folder);
  if (access(path, R_OK) < 0) {
    snprintf(path, sizeof path, "%s/run.json", folder);
    lb_refuse(err,
              access(path, R_OK) == 0 ? "%s: this run is whole, nothing of it is left to play"
                                      : "%s: expected the folder of a run that was stopped, or of a shard",
              folder);
    return NULL;
  }
  json_t *head = json_load_file(path, 0, &error);
  if (!head) lb_refuse(err, "%s:%d: %s", path, error.line, error.text);
  else if (json_array_size(json_object_get(head, "argv")) == 0 || !json_is_integer(json_object_get(head, "seed")) ||
           !json_is_string(json_object_get(head, "cwd")))
    lb_refuse(err, "%s: expected argv, cwd and seed of a run", path), json_decref(head), head = NULL;
  return head;
}

/* Whether it is of this build and this plan. */
static int check_head(const char *folder, const json_t *head, const struct lb_plan *plan,
                      const struct lb_run_info *info, struct lb_error *err) {
  char text[20];
  json_t *tool = lb_about_tool();
  bool same = json_equal(json_object_get(head, "tool"), tool) &&
              json_integer_value(json_object_get(head, "format")) == FORMAT &&
              json_is_array(json_object_get(head, "machines")) &&
              json_integer_value(json_object_get(head, "record_bytes")) == (json_int_t)sizeof(struct record);
  const char *commit = json_string_value(json_object_get(json_object_get(head, "tool"), "commit"));
  json_decref(tool);
  if (!same)
    return lb_refuse(err, "%s: was played by another build of lockbench (commit %s), expected this one", folder,
                     commit ? commit : "unknown");
  digest_text(digest(plan, info), text);
  const char *was = json_string_value(json_object_get(head, "plan"));
  if (was && strcmp(was, text) == 0) return 0;
  return lb_refuse(
      err,
      "%s: scenarios, options, installed servers or libraries are not those of that run any more: expected the same plan",
      folder);
}

static bool is_same(const json_t *a, const json_t *b) { return (!a && !b) || json_equal(a, b); }

/* The place of a machine in `machines`, where it is added if it is not there. Its load does not count. */
static int place_of(json_t *machines, json_t *machine) {
  static const char *const same[] = {"hostname", "cpu", "cores", "memory_mib"};
  size_t i;
  json_t *known;
  json_array_foreach(machines, i, known) {
    size_t k = 0;
    while (k < sizeof same / sizeof *same &&
           is_same(json_object_get(known, same[k]), json_object_get(machine, same[k])))
      k++;
    if (k == sizeof same / sizeof *same) return (int)i;
  }
  json_array_append(machines, machine);
  return (int)i;
}

/* Speeds of different machines are never put side by side. */
static int check_machines(const struct lb_tally *tally, const char *folder, struct lb_error *err) {
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *done = &tally->jobs[i];
    if (!done->done || !lb_job_measures(done->job) || done->machine == tally->machine) continue;
    for (size_t k = 0; k < tally->plan->job_count; k++) {
      const struct lb_job_result *left = &tally->jobs[k];
      if (!left->done && !left->elsewhere && lb_job_measures(left->job) &&
          strcmp(left->job->plan.scenario->base, done->job->plan.scenario->base) == 0)
        return lb_refuse(err, "%s: %s measures speed, expected the machine that has played its other trials", folder,
                         left->job->plan.scenario->base);
    }
  }
  return 0;
}

/* Reading ends with the first record that is not whole or not of the plan. Where that is. */
static off_t read_records(int fd, struct lb_tally *tally, double *ret_seconds) {
  struct record record;
  off_t good = 0;
  int here = tally->machine;
  while (pread(fd, &record, sizeof record, good) == (ssize_t)sizeof record) {
    if (record.sum != lb_hash(LB_HASH_BEGIN, &record, offsetof(struct record, sum)) ||
        record.job >= tally->plan->job_count)
      break;
    struct lb_job_result *result = &tally->jobs[record.job];
    tally->machine = (int)record.machine;
    if (!result->done) lb_tally_add(tally, result, &record.outcome);
    *ret_seconds = record.seconds;
    good += (off_t)sizeof record;
  }
  tally->machine = here;
  return good;
}

/* Only reads: the outcomes in `folder` into a tally of which nothing is done, and how long the run took.
 * 0 or -errno. For who has the plan of that run in memory. */
static int journal_load(const char *folder, struct lb_tally *tally, double *ret_seconds) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/resume.bin", folder);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  read_records(fd, tally, ret_seconds);
  close(fd);
  return 0;
}

int lb_journal_resume(struct lb_journal *journal, const char *folder, struct lb_tally *tally, struct lb_run_info *info,
                      struct lb_error *err) {
  *journal = (struct lb_journal){.fd = -1, .begin_ns = lb_clock_ns()};
  json_t *head = lb_journal_read(folder, err);
  if (!head) return -EINVAL;
  const char *started = json_string_value(json_object_get(head, "started_utc"));
  if (started) snprintf(info->started_utc, sizeof info->started_utc, "%s", started);
  info->sittings = 1 + (int)json_integer_value(json_object_get(head, "sittings"));
  int r = check_head(folder, head, tally->plan, info, err);
  json_t *machines = json_incref(json_object_get(head, "machines"));
  json_decref(head);
  if (r < 0) return json_decref(machines), r;
  tally->machine = place_of(machines, json_array_get(info->machines, 0));
  json_decref(info->machines);
  info->machines = machines;
  reserve(folder, tally->plan);
  r = open_records(journal, folder);
  if (r == 0) r = end_records(journal, read_records(journal->fd, tally, &journal->before_s), tally->plan);
  if (r < 0) fail(r, folder, err);
  else r = check_machines(tally, folder, err);
  if (r == 0 && (r = write_head(folder, tally->plan, info)) < 0) fail(r, folder, err);
  if (r < 0) lb_journal_close(journal);
  return r;
}

static int copy_file(const char *from, const char *to) {
  FILE *out = fopen(to, "wxe");
  if (!out) return errno == EEXIST ? 0 : -errno;
  int r = lb_files_append(out, from), closed = lb_files_close_written(out);
  return r < 0 ? r : closed;
}

/* The tree `from` below `to`, which is made if missing: hard links, or copies where that is another file system. A file
 * that is there already stays. 0 (also when there is no `from`) or -errno. */
static int link_tree(const char *from, const char *to) {
  char source[4200], target[4200];
  struct stat st;
  DIR *dir = opendir(from);
  if (!dir) return errno == ENOENT ? 0 : -errno;
  int r = lb_files_make_dirs(to);
  for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
    snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
    if (lstat(source, &st) < 0) r = -errno;
    else if (S_ISDIR(st.st_mode)) r = link_tree(source, target);
    else if (S_ISREG(st.st_mode) && link(source, target) < 0 && errno != EEXIST) r = copy_file(source, target);
  }
  closedir(dir);
  return r;
}

/* A shard's files are named after its trials, and no other shard has them. */
static int take_files(const char *from, const char *to) {
  char source[PATH], target[PATH];
  int r = 0;
  for (const struct lb_rundir_file *file = lb_rundir_files; r == 0 && file->folder; file++) {
    if (file->kind == LB_RUNDIR_SCRATCH) continue;
    snprintf(source, sizeof source, "%s/%s", from, file->folder);
    snprintf(target, sizeof target, "%s/%s", to, file->folder);
    r = link_tree(source, target);
  }
  return r;
}

/* Adds what `part` has, whose machines are `machines`. */
static int add_part(struct lb_tally *tally, const struct lb_tally *part, const char *from, const json_t *machines,
                    struct lb_run_info *info, struct lb_error *err) {
  int here = tally->machine, r = 0;
  for (size_t i = 0; r == 0 && i < part->plan->job_count; i++) {
    const struct lb_job_result *result = &part->jobs[i];
    if (!result->done) continue;
    if (tally->jobs[i].done)
      r = lb_refuse(err, "%s: has %s, which another of these folders has, too", from, result->job->plan.name);
    tally->machine = place_of(info->machines, json_array_get(machines, (size_t)result->machine));
    if (r == 0) lb_tally_add(tally, &tally->jobs[i], &result->outcome);
  }
  tally->machine = here;
  return r;
}

int lb_journal_take(struct lb_journal *journal, const char *folder, const char *from, struct lb_tally *tally,
                    struct lb_run_info *info, struct lb_error *err) {
  struct lb_tally part = {0};
  double seconds = 0;
  json_t *head = lb_journal_read(from, err);
  int r = head ? check_head(from, head, tally->plan, info, err) : -EINVAL;
  if (r == 0) lb_tally_begin(tally->plan, &part);
  if (r == 0 && (r = journal_load(from, &part, &seconds)) < 0) lb_error(err, r, "%s: %s", from, strerror(-r));
  if (r == 0) r = add_part(tally, &part, from, json_object_get(head, "machines"), info, err);
  if (r == 0 && (r = take_files(from, folder)) < 0)
    lb_error(err, r, "cannot copy the files of %s: %s", from, strerror(-r));
  const char *started = json_string_value(json_object_get(head, "started_utc"));
  if (started && strcmp(started, info->started_utc) < 0)
    snprintf(info->started_utc, sizeof info->started_utc, "%s", started);
  if (seconds > journal->before_s) journal->before_s = seconds;
  lb_tally_clear(&part);
  json_decref(head);
  return r;
}

int lb_journal_add_all(const struct lb_journal *journal, const char *folder, const struct lb_tally *tally,
                       const struct lb_run_info *info, struct lb_error *err) {
  int r = write_head(folder, tally->plan, info);
  for (size_t i = 0; r == 0 && i < tally->plan->job_count; i++)
    if (tally->jobs[i].done) r = lb_journal_add(journal, tally, &tally->jobs[i]);
  return r < 0 ? fail(r, folder, err) : 0;
}

double lb_journal_seconds(const struct lb_journal *journal) {
  return journal->before_s + (double)(lb_clock_ns() - journal->begin_ns) / 1e9;
}

int lb_journal_add(const struct lb_journal *journal, const struct lb_tally *tally, const struct lb_job_result *result) {
  struct record record;
  memset(&record, 0, sizeof record); /* also between its members: all of it is summed */
  record.job = (uint64_t)(result - tally->jobs);
  record.machine = (uint64_t)result->machine;
  record.seconds = lb_journal_seconds(journal);
  record.outcome = result->outcome;
  record.sum = lb_hash(LB_HASH_BEGIN, &record, offsetof(struct record, sum));
  off_t end = lseek(journal->fd, 0, SEEK_END);
  ssize_t n = write(journal->fd, &record, sizeof record);
  if (n == (ssize_t)sizeof record) return 0;
  int r = n < 0 ? -errno : -ENOSPC;
  end_records(journal, end, tally->plan); /* half a record would hide those behind it */
  return r;
}

void lb_journal_close(struct lb_journal *journal) {
  if (journal->fd >= 0) close(journal->fd);
  journal->fd = -1;
}

/* The tool calls this when it was told to stop, the guardian when the tool has died. In both cases a trial
 * may have been killed while it wrote its files: none of these may be taken for whole. */

static void remove_at(const char *folder, const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  lb_files_remove_tree(path);
}

/* Servers that were killed have filled scratch/, which may be what the disk is full of. */
static void make_room(const char *folder) {
  journal_free_reserve(folder);
  remove_at(folder, "scratch");
}

int lb_journal_keep_part(const struct lb_tally *tally, struct lb_run_info *info, struct lb_rundir *dir,
                         struct lb_error *err) {
  if (tally->done == 0 && tally->wanted > 0) return -ENOENT;
  bool whole = tally->done == tally->plan->job_count && !info->shards; /* a shard's journal is what is merged */
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (!tally->jobs[i].done) lb_rundir_forget(dir->partial, tally->jobs[i].job->plan.name, true);
  make_room(dir->partial);
  int r = lb_results_write(tally, info, dir->partial, err);
  if (r < 0) lb_rundir_forget_results(dir); /* tables that could not be written whole are none */
  int committed = lb_rundir_commit(dir, whole && r == 0, err);
  return r < 0 ? r : committed;
}

/* Its own tally: that of the tool went with it. */
void lb_journal_rescue_part(void *data) {
  struct lb_part_of *of = data;
  struct lb_tally tally = {0};
  struct lb_machine after;
  struct lb_error err;
  lb_tally_begin(of->plan, &tally);
  if (journal_load(of->dir->partial, &tally, &of->info->seconds) < 0) return;
  lb_machine_read(&after, of->dir->partial);
  of->info->load_after = after.load;
  of->info->exit_code = lb_exit_of_stopped(&tally, false, of->info->verdict, sizeof of->info->verdict);
  lb_journal_keep_part(&tally, of->info, of->dir, &err);
}
