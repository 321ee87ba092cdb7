/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * A loss of power: what a program had synced is there afterwards, what it had not is gone, and neither is believed
 * without a look. The program knows nothing of it (disk_writer.c).
 */

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "base/files.h"
#include "scratch.h"
#include "servers/cluster.h"
#include "preload/disk_page.h"
#include "servers/power.h"
#include "servers/room.h"

static char scratch[200], writer[PATH_MAX + 20];
static struct lb_cluster cluster;
static struct lb_server *server = &cluster.server[0];

static int fresh(void **state) {
  (void)state;
  if (!scratch_folder(scratch, sizeof scratch, "power")) return -1;
  lb_proc_sandboxed = true; /* it stays who we are */
  static const struct lb_topology topology;
  cluster = (struct lb_cluster){.topology = &topology, .server_count = 1};
  snprintf(server->name, sizeof server->name, "disk-1");
  snprintf(server->dir, sizeof server->dir, "%s/disk-1", scratch);
  snprintf(server->log, sizeof server->log, "%s/log", scratch);
  if (lb_files_make_dirs(server->dir) < 0) return -1;
  return lb_power_watch(&cluster, 0);
}

static int gone(void **state) {
  (void)state;
  lb_files_remove_tree(scratch);
  return 0;
}
EACH(fresh, gone);

/* Lets it write, to its end. */
static void writes(const char *const argv[]) {
  if (lb_server_start(&cluster, server, argv, NULL, false) < 0) fail_msg("%s", cluster.err.text);
  while (lb_proc_alive(&server->proc)) lb_clock_sleep_until(lb_clock_ns() + 1000000);
}
#define WRITES(...) writes((const char *const[]){writer, __VA_ARGS__, NULL})

static void path_of_data(char *path, size_t size) { snprintf(path, size, "%s/data", server->dir); }

static void data_is(const char *wanted) {
  char path[300], text[100] = "";
  path_of_data(path, sizeof path);
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  text[fread(text, 1, sizeof text - 1, in)] = '\0';
  fclose(in);
  assert_string_equal(text, wanted);
}

static void cut(uint64_t written, uint64_t lost) {
  struct lb_power_loss loss;
  if (lb_power_cut(&cluster, 0, &loss) < 0) fail_msg("%s", cluster.err.text);
  assert_int_equal(loss.written, written);
  assert_int_equal(loss.lost, lost);
}

STATES(what_was_not_synced_is_gone, WRITES("append", "kept", "sync", "append", "gone", "append", "too"),
       data_is("keptgonetoo"), cut(11, 7), data_is("kept"));
STATES(what_was_synced_is_all_there, WRITES("append", "kept", "put", "1", "EP", "sync"), cut(6, 0), data_is("kEPt"));
STATES(what_was_overwritten_is_there_again, WRITES("append", "abcdef", "sync", "put", "1", "XY", "put", "2", "Z12345"),
       data_is("aXZ12345"), cut(14, 8), data_is("abcdef"));
STATES(a_server_that_came_back_can_lose_its_power_again, WRITES("append", "one", "sync", "append", "two"), cut(6, 3),
       WRITES("append", "three", "sync", "append", "four"), cut(9, 4), data_is("onethree"));

TEST(what_nobody_has_seen_is_not_believed) {
  struct lb_power_loss loss;
  assert_int_equal(lb_power_cut(&cluster, 0, &loss), -ENODATA);
  assert_string_equal(cluster.err.text, "disk-1: nobody has seen what it writes");
}

TEST(a_file_that_lacks_what_was_synced_is_no_disk) {
  char path[300];
  struct lb_power_loss loss;
  WRITES("append", "kept", "sync", "append", "gone");
  path_of_data(path, sizeof path);
  assert_int_equal(truncate(path, 2), 0);
  assert_int_equal(lb_power_cut(&cluster, 0, &loss), -EIO);
  assert_string_equal(cluster.err.text, "disk-1: what it had synced is not there");
}

static void synced_is(int wanted) {
  int r = lb_power_is_synced(&cluster, 0);
  if (r < 0) fail_msg("%s", cluster.err.text);
  assert_int_equal(r, wanted);
}

TEST(a_server_has_synced_when_nothing_came_behind_its_last_sync) {
  char path[300];
  WRITES("append", "one");
  synced_is(0);
  WRITES("sync");
  synced_is(1);
  WRITES("append", "two", "sync", "append", "three");
  synced_is(0);
  data_is("onetwothree"); /* a look takes nothing out */
  cut(11, 5);
  WRITES("append", "four");
  path_of_data(path, sizeof path);
  assert_int_equal(unlink(path), 0);
  synced_is(1); /* of a file that is there no more nothing can be lost */
}

/* Until its moment is there a write may still be under way, and until its size is there an entry cannot be read. */
TEST(what_is_not_in_the_journal_yet_is_not_synced) {
  WRITES("append", "one", "sync");
  int fd = open(server->journal, O_RDWR | O_CLOEXEC);
  struct lb_journal *journal = mmap(NULL, LB_JOURNAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_true(fd >= 0 && journal != MAP_FAILED);
  struct lb_journal_entry *write = (struct lb_journal_entry *)journal->entries;
  uint64_t moment = atomic_load(&write->moment), written = write->written;
  synced_is(1);
  atomic_store(&write->moment, 0);
  write->written = 0;
  synced_is(0);
  atomic_store(&write->moment, moment);
  write->written = written;
  atomic_fetch_add(&journal->used, sizeof *write);
  synced_is(0);
  munmap(journal, LB_JOURNAL_BYTES);
  close(fd);
}

STATES(of_whom_nobody_has_seen_what_it_writes_it_is_not_said,
       assert_int_equal(lb_power_is_synced(&cluster, 0), -ENODATA),
       assert_string_equal(cluster.err.text, "disk-1: nobody has seen what it writes"));

/* Or the disk of whoever runs the tool would be full. */
STATES(a_folder_that_is_no_disk_of_its_own_is_not_filled, assert_int_equal(lb_room_fill(&cluster, 0), -EPERM),
       assert_non_null(strstr(cluster.err.text, "it has no disk of its own")));

static int before_all(void **state) {
  (void)state;
  char exe[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (length < 0) return 1;
  exe[length] = '\0';
  *strrchr(exe, '/') = '\0';
  snprintf(writer, sizeof writer, "%s/disk-writer", exe);
  return 0;
}

GROUP(before_all, NULL);
