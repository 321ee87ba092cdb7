/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What is kept of a hunt: hunt.csv has the columns that results/SCHEMA.md names, whatever stands in them, and the share
 * of the common core is that of the timelines that were decided. A set is written in its simplest form, and says as
 * what it was found.
 */
#include <unistd.h>

#include "scenario/scenario_load.h"
#include "test.h"
#include "hunted_system.h"
#include "backends/registry.h"
#include "base/csv.h"
#include "base/files.h"
#include "hunt/keep.h"
#include "scenario/scenario.h"

static struct lb_hunt hunt;
static char folder[] = "/tmp/test-hunt-keep-XXXXXX";
static char path[200];

static int begin(void **state) {
  struct lb_hunt_system system;
  struct lb_error err;
  (void)state;
  lb_hunt_system_of(lb_protocol_find("redis-token"), lb_topology_find("redis"), &system);
  system.network = true; /* a machine without namespaces has a smaller core */
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  hunt = (struct lb_hunt){0};
  assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &hunt.space), 0);
  assert_int_equal(lb_hunt_journal_open(&hunt.journal, &hunt.space, path, "test", &err), 0);
  return 0;
}

static int end(void **state) {
  (void)state;
  lb_hunt_clear(&hunt);
  unlink(path);
  return 0;
}
EACH(begin, end);

static size_t find(const char *id) { return find_in(&hunt.space, id); }

static void enter(const char *id, enum lb_hunt_outcome outcome, int trials) {
  for (int i = 0; i < trials; i++) lb_hunt_journal_add(&hunt.journal, find(id), LB_GUARD_NONE, outcome, "");
}

static bool says(const char *file, const char *wanted) {
  char line[400];
  bool found = false;
  FILE *in = fopen(file, "re");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) found |= strcmp(line, wanted) == 0;
  fclose(in);
  return found;
}

TEST(only_what_was_decided_counts_of_the_core) {
  struct lb_hunt_share share = lb_hunt_journal_core(&hunt.journal);
  assert_int_equal(share.decided, 0);
  enter("L1.restart-P@H", LB_HUNT_LEASE, 2);
  enter("L1.kill-c2@H", LB_HUNT_SAFE, 1);
  enter("S1.pause-c1@H", LB_HUNT_EXPIRED, 1); /* not within a lease */
  enter("S1.restart-P@H", LB_HUNT_UNDECIDED, 3);
  enter("L2.restart-P@H+kill-c2@H", LB_HUNT_LEASE, 1); /* not of the core */
  share = lb_hunt_journal_core(&hunt.journal);
  assert_int_equal(share.decided, 3);
  assert_int_equal(share.broke, 1);
}

/* The columns of a table of the page. */
static size_t read_page(const char *title, char (*ret)[40], size_t max) {
  char line[2000];
  bool here = false;
  size_t count = 0;
  FILE *file = fopen(LB_SOURCE_ROOT "/results/SCHEMA.md", "re");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) && count < max) {
    if (strncmp(line, "## ", 3) == 0)
      here = strncmp(line + 3, title, strlen(title)) == 0 && line[3 + strlen(title)] == '\n';
    if (here) count += sscanf(line, "| `%39[a-z_]`", ret[count]) == 1;
  }
  fclose(file);
  return count;
}

TEST(the_table_has_the_columns_of_the_page) {
  enum { MAX = 20 };
  struct lb_error err;
  char column[MAX][40], csv_path[260], sets[260];
  size_t count = read_page("A hunt: hunt.csv", column, MAX), rows = 0, core = 0;
  struct lb_csv csv;
  enter("L1.restart-P@H", LB_HUNT_LEASE, LB_HUNT_SURE);
  lb_hunt_sets_find(&hunt.journal, &hunt.sets);
  assert_int_equal(lb_hunt_keep(&hunt, folder, &err), 0);
  snprintf(csv_path, sizeof csv_path, "%s/hunt.csv", folder);
  if (lb_csv_open(csv_path, &csv, &err) < 0) fail_msg("%s", err.text);
  assert_int_equal(csv.columns, count);
  for (size_t i = 0; i < count; i++) assert_string_equal(csv.header[i], column[i]);
  int is_core = lb_csv_column(&csv, "core", &err), r;
  while ((r = lb_csv_next(&csv, &err)) == 1) rows++, core += strcmp(csv.field[is_core], "yes") == 0;
  if (r < 0) fail_msg("%s", err.text);
  assert_int_equal(rows, hunt.space.count);
  assert_int_equal(core, 28);
  lb_csv_close(&csv);
  unlink(csv_path);
  snprintf(sets, sizeof sets, "%s/hunt", folder);
  lb_files_remove_tree(sets);
}

TEST(a_set_is_written_in_its_simplest_form) {
  struct lb_error err;
  char csv_path[260], sets[260], ini[300];
  struct lb_scenario scenario;
  enter("S1.restart-P@H", LB_HUNT_LEASE, LB_HUNT_SURE);
  enter("S0", LB_HUNT_SAFE, LB_HUNT_SURE);
  lb_hunt_sets_find(&hunt.journal, &hunt.sets);
  assert_int_equal(hunt.sets.count, 1);
  hunt.sets.set[0].simplest.without = LB_HUNT_WITHOUT_CLIENT_3 | LB_HUNT_WITHOUT_RENEWAL;
  assert_int_equal(lb_hunt_keep(&hunt, folder, &err), 0);
  snprintf(csv_path, sizeof csv_path, "%s/hunt.csv", folder);
  snprintf(sets, sizeof sets, "%s/hunt", folder);
  snprintf(ini, sizeof ini, "%s/01.ini", sets);
  if (lb_scenario_load(ini, &scenario, &err) < 0) fail_msg("%s", err.text);
  assert_int_equal(scenario.client_counts[0], 2);
  assert_false(scenario.renew);
  lb_scenario_clear(&scenario);
  assert_true(says(
      ini,
      "# It broke within a lease in 5 of 5 trials in this form, its simplest, without client 3 and without renewal.\n"));
  assert_true(says(ini, "# Found as S1.restart-P@H, which broke in 5 of 5, and no part of it in more than half.\n"));
  unlink(csv_path);
  lb_files_remove_tree(sets);
}

static int before_all(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  return 0;
}

static int after_all(void **state) {
  (void)state;
  rmdir(folder);
  return 0;
}

GROUP(before_all, after_all);
