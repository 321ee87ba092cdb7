/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The journal of a run: what was added is read back, in whichever state the file was left, and nothing is
 * taken from the journal of another plan.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "base/files.h"
#include "run/journal.h"
#include "run/results.h"
#include "skip.h"

struct world {
  struct lb_error err;
  char folder[64];
  struct lb_plan plan;
  struct lb_tally tally;
  struct lb_run_info info;
  struct lb_journal journal;
};

static void plan_of_seed(struct world *w, struct lb_plan *ret, uint64_t seed) {
  static char path[4096];
  const char *root = getenv("LB_SOURCE_DIR"), *paths[] = {path};
  snprintf(path, sizeof path, "%s/scenarios/speed/contention.ini", root ? root : ".");
  struct lb_plan_request request = {.systems = "local", .trials = 4, .seed = seed};
  if (lb_plan_load(paths, 1, &request, ret, &w->err) < 0) fail_msg("%s", w->err.text);
}

static const char *const words[] = {"run"};

static int set_up(void **state) {
  struct world *w = *state = calloc(1, sizeof *w);
  snprintf(w->folder, sizeof w->folder, "/tmp/test-journal.XXXXXX");
  if (!mkdtemp(w->folder)) return -1;
  w->info = (struct lb_run_info){.argv = words, .argc = 1, .sittings = 1, .started_utc = "then"};
  w->info.machines = json_pack("[{s:s, s:i}]", "hostname", "here", "cores", 2);
  plan_of_seed(w, &w->plan, 7);
  if (lb_journal_begin(&w->journal, w->folder, &w->plan, &w->info, &w->err) < 0) fail_msg("%s", w->err.text);
  lb_tally_begin(&w->plan, &w->tally);
  return 0;
}

static int tear_down(void **state) {
  struct world *w = *state;
  lb_journal_close(&w->journal);
  lb_tally_clear(&w->tally);
  lb_plan_clear(&w->plan);
  lb_files_remove_tree(w->folder);
  json_decref(w->info.machines);
  free(w);
  return 0;
}
EACH(set_up, tear_down);

/* The job ends, and is kept. */
static void end(struct world *w, size_t job, enum lb_verdict verdict, const char *why) {
  struct lb_outcome x = {.verdict = verdict, .counters = lb_counters_none()};
  snprintf(x.why, sizeof x.why, "%s", why);
  lb_tally_add(&w->tally, &w->tally.jobs[job], &x);
  assert_int_equal(lb_journal_add(&w->journal, &w->tally, &w->tally.jobs[job]), 0);
}

/* What another sitting finds there: which jobs are done. It goes on with the journal. */
static void read_back(struct world *w, struct lb_journal *journal, struct lb_tally *ret) {
  lb_tally_begin(&w->plan, ret);
  if (lb_journal_resume(journal, w->folder, ret, &w->info, &w->err) < 0) fail_msg("%s", w->err.text);
}

static char *records(const struct world *w) {
  static char path[100];
  snprintf(path, sizeof path, "%s/resume.bin", w->folder);
  return path;
}

static off_t size_of(const char *path) {
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  return st.st_size;
}

TEST(what_was_added_is_read_back) {
  struct world *w = *state;
  struct lb_tally tally;
  struct lb_journal journal;
  assert_int_equal(size_of(records(w)),
                   0); /* its space is reserved, but a folder without outcomes is one to be removed */
  end(w, 2, LB_UNDECIDED, "because");
  end(w, 0, LB_SAFE, "");
  read_back(w, &journal, &tally);
  assert_int_equal(tally.done, 2);
  assert_true(tally.jobs[0].done && !tally.jobs[1].done && tally.jobs[2].done && !tally.jobs[3].done);
  assert_memory_equal(&tally.jobs[2].outcome, &w->tally.jobs[2].outcome, sizeof w->tally.jobs[2].outcome);
  assert_int_equal(w->info.sittings, 2);
  assert_string_equal(w->info.started_utc, "then");
  lb_journal_close(&journal);
  lb_tally_clear(&tally);
}

/* Wherever the last record was cut off, the others are there, and the next one is read back, too. */
TEST(half_a_record_is_none) {
  struct world *w = *state;
  end(w, 0, LB_SAFE, "");
  off_t one = size_of(records(w));
  for (off_t left = 0; left < one; left += one / 8 + 1) {
    struct lb_tally tally;
    struct lb_journal journal;
    end(w, 1, LB_SAFE, "");
    assert_int_equal(truncate(records(w), one + left), 0);
    read_back(w, &journal, &tally);
    assert_int_equal(tally.done, 1);
    assert_int_equal(size_of(records(w)), one);
    lb_journal_close(&journal);
    lb_tally_clear(&tally);
    w->tally.jobs[1].done = false;
  }
}

static off_t room_of(const char *path) {
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  return (off_t)st.st_blocks * 512;
}

/* A disk that fills up meanwhile does not stop a run from keeping its outcomes. */
TEST(a_resumed_run_has_room_for_all_outcomes) {
  struct world *w = *state;
  struct lb_tally tally;
  struct lb_journal journal;
  end(w, 0, LB_SAFE, "");
  off_t one = size_of(records(w)), all = one * (off_t)w->plan.job_count;
  if (room_of(records(w)) < all) SKIP("this file system keeps no room");
  for (int whole = 0; whole < 2; whole++) {
    if (!whole) assert_int_equal(truncate(records(w), one - 1), 0);
    read_back(w, &journal, &tally);
    assert_int_equal(tally.done, whole);
    assert_true(room_of(records(w)) >= all);
    lb_journal_close(&journal);
    lb_tally_clear(&tally);
    w->tally.jobs[0].done = false;
    if (!whole) end(w, 0, LB_SAFE, "");
  }
}

TEST(a_record_with_a_wrong_byte_is_none) {
  struct world *w = *state;
  struct lb_tally tally;
  struct lb_journal journal;
  end(w, 0, LB_SAFE, "");
  off_t one = size_of(records(w));
  end(w, 1, LB_SAFE, "");
  FILE *file = fopen(records(w), "r+e");
  assert_non_null(file);
  assert_int_equal(fseek(file, one + one / 2, SEEK_SET), 0);
  int byte = fgetc(file);
  assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
  fputc(byte ^ 1, file);
  assert_int_equal(lb_files_close_written(file), 0);
  read_back(w, &journal, &tally);
  assert_int_equal(tally.done, 1);
  lb_journal_close(&journal);
  lb_tally_clear(&tally);
}

TEST(the_journal_of_another_plan_is_refused) {
  struct world *w = *state;
  struct lb_plan other;
  struct lb_tally tally;
  struct lb_journal journal;
  end(w, 0, LB_SAFE, "");
  off_t size = size_of(records(w));
  plan_of_seed(w, &other, 8);
  lb_tally_begin(&other, &tally);
  assert_int_equal(lb_journal_resume(&journal, w->folder, &tally, &w->info, &w->err), -EINVAL);
  assert_int_equal(tally.done, 0);
  assert_int_equal(size_of(records(w)), size);
  lb_tally_clear(&tally);
  lb_plan_clear(&other);
}

TEST(a_folder_without_a_journal_is_refused) {
  struct world *w = *state;
  assert_null(lb_journal_read("/tmp", &w->err));
  assert_non_null(strstr(w->err.text, "expected the folder of a run that was stopped"));
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static char *in_folder(const struct world *w, const char *format, const char *name) {
  static char path[300];
  int before = (int)strcspn(format, "@");
  snprintf(path, sizeof path, "%s/%.*s%s%s", w->folder, before, format, name, format + before + 1);
  return path;
}

static void write_text(const char *path, const char *text) {
  FILE *out = fopen(path, "we");
  assert_non_null(out);
  fputs(text, out);
  assert_int_equal(lb_files_close_written(out), 0);
}

static void assert_text(const char *path, const char *expected) {
  char text[200] = "";
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  size_t n = fread(text, 1, sizeof text - 1, in);
  fclose(in);
  assert_int_equal(n, strlen(expected));
  assert_string_equal(text, expected);
}

/* The rows of the last trial cannot be read, when all others are written. */
TEST(a_table_that_is_not_whole_does_not_take_its_name) {
  struct world *w = *state;
  static const char *const tables[] = {"latency", "series"};
  const char *trial = w->plan.jobs[w->plan.job_count - 1].plan.name;
  for (size_t i = 0; i < 2; i++) {
    char rows[300];
    write_text(in_folder(w, "@.csv", tables[i]), "the one before\n");
    snprintf(rows, sizeof rows, "parts/%s.%s", trial, tables[i]);
    assert_int_equal(lb_files_make_dirs(in_folder(w, "@", rows)), 0);
    assert_true(lb_results_write(&w->tally, &w->info, w->folder, &w->err) < 0);
    assert_text(in_folder(w, "@.csv", tables[i]), "the one before\n");
    assert_int_equal(access(in_folder(w, "@.csv", "trials"), F_OK), 0);
    assert_int_equal(rmdir(in_folder(w, "@", rows)), 0);
  }
}

/* ---- machines and shards ----------------------------------------------------------------------------------------- */

static void play_on(struct world *w, const char *hostname, struct lb_tally *ret) {
  struct lb_run_info info = {
      .argv = words, .argc = 1, .machines = json_pack("[{s:s, s:i}]", "hostname", hostname, "cores", 2)};
  struct lb_journal journal;
  lb_journal_close(&w->journal);
  lb_tally_begin(&w->plan, ret);
  int r = lb_journal_resume(&journal, w->folder, ret, &info, &w->err);
  lb_journal_close(&journal);
  json_decref(info.machines);
  if (r != (strcmp(hostname, "here") == 0 ? 0 : -EINVAL)) fail_msg("%d: %s", r, w->err.text);
}

/* The scenario measures speed. */
TEST(no_second_machine_measures_on) {
  struct world *w = *state;
  struct lb_tally tally;
  end(w, 0, LB_SAFE, "");
  play_on(w, "there", &tally);
  assert_non_null(strstr(w->err.text, "expected the machine"));
  lb_tally_clear(&tally);
  play_on(w, "here", &tally);
  assert_int_equal(tally.done, 1);
  assert_int_equal(tally.jobs[0].machine, 0);
  lb_tally_clear(&tally);
}

struct parts {
  struct world *of[2];
};

/* Two folders of one plan, each with two of its jobs, which other machines have played. */
static int set_up_parts(void **state) {
  struct parts *p = calloc(1, sizeof *p);
  for (size_t i = 0; i < 2; i++) {
    void *world = NULL;
    if (set_up(&world) < 0) return -1;
    p->of[i] = world;
  }
  json_object_set_new(json_array_get(p->of[1]->info.machines, 0), "hostname", json_string("there"));
  assert_int_equal(
      lb_journal_add_all(&p->of[1]->journal, p->of[1]->folder, &p->of[1]->tally, &p->of[1]->info, &p->of[1]->err), 0);
  *state = p;
  return 0;
}

static int tear_down_parts(void **state) {
  struct parts *p = *state;
  for (size_t i = 0; i < 2; i++) {
    void *world = p->of[i];
    tear_down(&world);
  }
  free(p);
  return 0;
}

/* What is taken of both, into a third folder. */
static int take(const struct parts *p, struct world *into) {
  for (size_t i = 0; i < 2; i++) {
    int r = lb_journal_take(&into->journal, into->folder, p->of[i]->folder, &into->tally, &into->info, &into->err);
    if (r < 0) return r;
  }
  return 0;
}

TEST_WITH(shards_add_up, set_up_parts, tear_down_parts) {
  const struct parts *p = *state;
  void *third;
  end(p->of[0], 0, LB_SAFE, "");
  end(p->of[1], 2, LB_VIOLATED, "seen");
  assert_int_equal(set_up(&third), 0);
  struct world *into = third;
  assert_int_equal(take(p, into), 0);
  assert_int_equal(into->tally.done, 2);
  assert_int_equal(into->tally.jobs[0].machine, 0);
  assert_int_equal(into->tally.jobs[2].machine, 1);
  assert_string_equal(into->tally.jobs[2].outcome.why, "seen");
  assert_int_equal(json_array_size(into->info.machines), 2);
  tear_down(&third);
}

/* The path of such a file in a folder. */
static const char *file_in(const struct world *w, const struct lb_rundir_file *file, const char *trial) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s/%s%s", w->folder, file->folder, trial, file->ending);
  return path;
}

TEST_WITH(what_the_trials_of_a_shard_have_is_taken_along, set_up_parts, tear_down_parts) {
  const struct parts *p = *state;
  bool has_waits = false;
  void *third;
  assert_int_equal(set_up(&third), 0);
  struct world *into = third;
  for (const struct lb_rundir_file *file = lb_rundir_files; file->folder; file++) {
    char folder[200];
    snprintf(folder, sizeof folder, "%s/%s", p->of[1]->folder, file->folder);
    assert_int_equal(lb_files_make_dirs(folder), 0);
    FILE *out = fopen(file_in(p->of[1], file, "trial"), "we");
    assert_true(out && fclose(out) == 0);
    has_waits |= strcmp(file->folder, "waits") == 0;
  }
  assert_true(has_waits);
  assert_int_equal(take(p, into), 0);
  for (const struct lb_rundir_file *file = lb_rundir_files; file->folder; file++)
    assert_int_equal(access(file_in(into, file, "trial"), F_OK) == 0, file->kind != LB_RUNDIR_SCRATCH);
  tear_down(&third);
}

TEST_WITH(a_trial_of_two_shards_is_refused, set_up_parts, tear_down_parts) {
  const struct parts *p = *state;
  void *third;
  end(p->of[0], 1, LB_SAFE, "");
  end(p->of[1], 1, LB_SAFE, "");
  assert_int_equal(set_up(&third), 0);
  struct world *into = third;
  assert_int_equal(take(p, into), -EINVAL);
  assert_non_null(strstr(into->err.text, p->of[1]->folder));
  assert_non_null(strstr(into->err.text, into->plan.jobs[1].plan.name));
  tear_down(&third);
}
