/* SPDX-License-Identifier: MIT
 *
 * The tool calls this when it was told to stop, the guardian when the tool has died. In both cases a trial
 * may have been killed while it wrote its files: none of these may be taken for whole.
 */
#include "part.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/files.h"
#include "exit.h"
#include "results.h"

static void remove_at(const char *folder, const char *place, const char *name, const char *ending) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s/%s%s", folder, place, name, ending);
  lb_remove_tree(path);
}

static void forget(const char *folder, const char *trial) {
  static const struct {
    const char *place, *ending;
  } files[] = {{"histories", ".hist"}, {"parts", ".latency"}, {"parts", ".series"}, {"faults", ".jsonl"}, {"schedules", ".txt"}, {"logs", ""}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) remove_at(folder, files[i].place, trial, files[i].ending);
}

/* Servers that were killed have filled scratch/, which may be what the disk is full of. */
static void make_room(const char *folder) {
  lb_journal_free_reserve(folder);
  remove_at(folder, ".", "scratch", "");
}

/* Tables that could not be written whole are none. */
static void remove_tables(const char *folder) {
  static const char *const names[] = {"trials.csv", "latency.csv", "series.csv", "run.json", "run.json.part"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove_at(folder, ".", names[i], "");
}

int lb_part_keep(const struct lb_tally *tally, struct lb_run_info *info, struct lb_rundir *dir, char *err, size_t err_size) {
  if (tally->done == 0 && tally->plan->job_count > 0) return -ENOENT;
  bool whole = tally->done == tally->plan->job_count;
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (!tally->jobs[i].done) forget(dir->partial, tally->jobs[i].job->plan.name);
  make_room(dir->partial);
  int r = lb_results_write(tally, info, dir->partial, err, err_size);
  if (r < 0) remove_tables(dir->partial);
  int committed = lb_rundir_commit(dir, whole && r == 0, err, err_size);
  return r < 0 ? r : committed;
}

/* Its own tally: that of the tool went with it. */
void lb_part_rescue(void *data) {
  struct lb_part_of *of = data;
  struct lb_tally tally = {0};
  struct lb_machine after;
  char err[600];
  if (lb_tally_begin(of->plan, &tally) < 0) return;
  if (lb_journal_load(of->dir->partial, &tally, &of->info->seconds) < 0) return;
  lb_machine_read(&after, of->dir->partial);
  of->info->load_after = after.load;
  of->info->exit_code = lb_exit_of_stopped(&tally, of->info->verdict, sizeof of->info->verdict);
  lb_part_keep(&tally, of->info, of->dir, err, sizeof err);
}
