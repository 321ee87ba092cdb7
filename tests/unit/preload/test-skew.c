/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * Skewed clocks: the arithmetic of the page, its readers in other processes while it changes, and the preload library
 * in a program that knows nothing of it (clock_reader.c).
 */

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "preload/skew_page.h"
#include "preload/skew.h"
#include "skip.h"

#define S UINT64_C(1000000000)
#define NOON (UINT64_C(1700000000) * S) /* some wall time */
#define UPTIME (UINT64_C(123456) * S)

static struct lb_skew *page;

static int fresh(void **state) {
  (void)state;
  page = lb_skew_create(NULL);
  return page ? 0 : -1;
}

static int gone(void **state) {
  (void)state;
  lb_skew_unmap(page);
  return 0;
}
EACH(fresh, gone);

/* Of the true wall clock, now. */
static int64_t wall_offset(const struct lb_skew *skew) {
  uint64_t now = lb_clock_wall_ns();
  return (int64_t)(lb_skew_wall_ns(skew, now) - now);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

STATES(a_new_page_is_true, assert_true(lb_skew_wall_ns(page, NOON) == NOON),
       assert_true(lb_skew_mono_ns(page, UPTIME) == UPTIME), assert_true(lb_skew_mono_true_ns(page, UPTIME) == UPTIME),
       assert_true(wall_offset(page) == 0));
STATES(no_page_is_the_truth, assert_true(lb_skew_wall_ns(NULL, NOON) == NOON),
       assert_true(lb_skew_mono_ns(NULL, UPTIME) == UPTIME), assert_true(lb_skew_mono_true_ns(NULL, UPTIME) == UPTIME),
       assert_true(wall_offset(NULL) == 0), lb_skew_unmap(NULL));

TEST(a_jump_moves_one_clock) {
  lb_skew_jump(page, false, 31 * (int64_t)S);
  assert_true(lb_skew_wall_ns(page, NOON) == NOON + 31 * S);
  assert_true(lb_skew_mono_ns(page, UPTIME) == UPTIME);
  assert_true(wall_offset(page) == 31 * (int64_t)S);
  lb_skew_jump(page, true, -5);
  assert_true(lb_skew_wall_ns(page, NOON) == NOON + 31 * S);
  assert_true(lb_skew_mono_ns(page, UPTIME) == UPTIME - 5);
}

TEST(jumps_add_up) {
  lb_skew_jump(page, false, 31 * (int64_t)S);
  lb_skew_jump(page, false, -40 * (int64_t)S);
  assert_true(lb_skew_wall_ns(page, NOON) == NOON - 9 * S);
  assert_true(wall_offset(page) == -9 * (int64_t)S);
}

TEST(a_reset_is_the_truth_again) {
  lb_skew_jump(page, false, 7);
  lb_skew_rate(page, 1.02);
  lb_skew_reset(page);
  a_new_page_is_true(state);
  lb_skew_jump(page, true, 3); /* and nothing of before comes back */
  assert_true(lb_skew_mono_ns(page, UPTIME) == UPTIME + 3);
  assert_true(lb_skew_wall_ns(page, NOON) == NOON);
}

/* Between two readings around the change both clocks move as the old or the new rate says, or something between. */
static void changes_without_a_jump(double before, double after) {
  lb_skew_rate(page, before);
  uint64_t w1 = lb_clock_wall_ns(), wall = lb_skew_wall_ns(page, w1), m1 = lb_clock_ns(),
           mono = lb_skew_mono_ns(page, m1);
  lb_skew_rate(page, after);
  uint64_t m2 = lb_clock_ns(), w2 = lb_clock_wall_ns();
  double least = (before < after ? before : after), most = (before < after ? after : before);
  double moved = (double)(int64_t)(lb_skew_mono_ns(page, m2) - mono), passed = (double)(m2 - m1);
  assert_true(moved >= passed * least - 3 && moved <= passed * most + 3);
  moved = (double)(int64_t)(lb_skew_wall_ns(page, w2) - wall), passed = (double)(w2 - w1);
  assert_true(moved >= passed * least - 3 && moved <= passed * most + 3);
  assert_true(lb_skew_mono_ns(page, m2 + S) - lb_skew_mono_ns(page, m2) - (uint64_t)(after * (double)S) + 2 <= 4);
  assert_true(lb_skew_wall_ns(page, w2 + S) - lb_skew_wall_ns(page, w2) - (uint64_t)(after * (double)S) + 2 <= 4);
}

TEST(a_rate_changes_without_a_jump) {
  changes_without_a_jump(1, 0.98);
  changes_without_a_jump(0.98, 1.02);
  changes_without_a_jump(1.02, 0.5);
  changes_without_a_jump(2, 1);
  lb_skew_jump(page, true, -3 * (int64_t)S);
  changes_without_a_jump(1, 1.02);
}

TEST(a_rate_keeps_the_jumps) {
  lb_skew_jump(page, false, 31 * (int64_t)S);
  lb_skew_jump(page, true, 10 * (int64_t)S);
  lb_skew_rate(page, 1.02);
  uint64_t now = lb_clock_ns();
  int64_t ahead = (int64_t)(lb_skew_mono_ns(page, now) - now), wall = wall_offset(page);
  assert_in_range(ahead, 10 * S, 10 * S + S / 10); /* a fiftieth of at most five seconds */
  assert_in_range(wall, 31 * S, 31 * S + S / 10);
  lb_skew_jump(page, true, (int64_t)S);
  assert_true((int64_t)(lb_skew_mono_ns(page, now) - now) == ahead + (int64_t)S);
}

static void is_inverse(uint64_t true_ns) {
  uint64_t reads = lb_skew_mono_ns(page, true_ns), when = lb_skew_mono_true_ns(page, reads);
  assert_true(lb_skew_mono_ns(page, when) >= reads);
  assert_true(lb_skew_mono_ns(page, when) - reads <= 2);
  assert_true(when - true_ns + 3 <= 6);
}

TEST(the_inverse_finds_the_true_time) {
  const double rates[] = {1, 0.98, 1.02, 0.5, 2};
  lb_skew_jump(page, true, -5 * (int64_t)S);
  assert_true(lb_skew_mono_true_ns(page, UPTIME) == UPTIME + 5 * S);
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    lb_skew_rate(page, rates[i]);
    uint64_t now = lb_clock_ns();
    for (uint64_t ahead = 0; ahead < 100 * S; ahead = ahead * 3 + 1) is_inverse(now + ahead);
  }
}

TEST(never_stays_never) {
  lb_skew_jump(page, true, 5);
  lb_skew_rate(page, 0.98);
  assert_true(lb_skew_mono_true_ns(page, UINT64_MAX) == UINT64_MAX);
  assert_true(lb_skew_mono_ns(page, UINT64_MAX) == UINT64_MAX);
  lb_skew_rate(page, 0); /* a clock that stands */
  uint64_t now = lb_clock_ns(), stands = lb_skew_mono_ns(page, now);
  assert_true(lb_skew_mono_ns(page, now + S) == stands);
  assert_true(lb_skew_mono_true_ns(page, stands) <= now);
  assert_true(lb_skew_mono_true_ns(page, stands + 1) == UINT64_MAX);
}

STATES(no_clock_reads_less_than_zero, lb_skew_jump(page, true, -(int64_t)UPTIME - 1),
       assert_true(lb_skew_mono_ns(page, UPTIME) == 0), assert_true(lb_skew_mono_ns(page, UPTIME + 2) == 1),
       assert_true(lb_skew_mono_true_ns(page, 1) == UPTIME + 2));

/* ---- readers ----------------------------------------------------------------------------------------------------- */

#define CHANGES 20000
#define SEEN_MAX 20000
#define READERS 2

struct shared {
  _Atomic bool stop;
  _Atomic int ready;
  _Atomic size_t seen[READERS];
  struct lb_skew_line line[READERS][SEEN_MAX];
};

static bool same(const struct lb_skew_line *a, const struct lb_skew_line *b) {
  return a->since_ns == b->since_ns && a->value_ns == b->value_ns && a->rate == b->rate;
}

/* Notes every line it sees, once. */
static void read_on(struct shared *shared, int me) {
  struct lb_skew_line line;
  size_t n = 0;
  shared->ready++;
  while (!shared->stop && n < SEEN_MAX)
    if (lb_skew_read(page, LB_SKEW_MONO, &line) && (n == 0 || !same(&line, &shared->line[me][n - 1]))) {
      shared->line[me][n] = line;
      shared->seen[me] = ++n;
    }
  _exit(0);
}

/* Until every reader has seen something new: on a busy machine they get a turn late. */
static void await_readers(const struct shared *shared, const size_t before[READERS]) {
  for (uint64_t end = lb_clock_ns() + 60 * S; lb_clock_ns() < end; lb_clock_sleep_until(lb_clock_ns() + S / 20000)) {
    bool all = true;
    for (int i = 0; i < READERS; i++) all &= shared->seen[i] > before[i];
    if (all) return;
  }
  fail_msg("a reader saw nothing new for a minute");
}

/* Every line that a reader in another process has ever seen was once published, whole. */
TEST(readers_see_whole_changes) {
  static struct lb_skew_line published[CHANGES];
  pid_t pid[READERS];
  size_t before[READERS] = {0};
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  for (int i = 0; i < READERS; i++)
    if ((pid[i] = fork()) == 0) read_on(shared, i);
  while (shared->ready < READERS) lb_clock_sleep_until(lb_clock_ns() + S / 1000);
  for (int i = 0; i < CHANGES; i++) {
    lb_skew_rate(page, 1 + (i % 1000) / 1000.0);
    if (!lb_skew_read(page, LB_SKEW_MONO, &published[i])) fail();
    if (i % 1000 == 999) await_readers(shared, before);
    if (i % 1000 == 999)
      for (int k = 0; k < READERS; k++) before[k] = shared->seen[k];
  }
  shared->stop = true;
  for (int i = 0; i < READERS; i++) assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
  for (int i = 0; i < READERS; i++) {
    assert_true(shared->seen[i] > 10);
    size_t at = 0; /* they come in order */
    for (size_t k = 0; k < shared->seen[i]; k++) {
      while (at < CHANGES && !same(&published[at], &shared->line[i][k])) at++;
      assert_true(at < CHANGES);
    }
  }
  munmap(shared, sizeof *shared);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

TEST(a_file_is_for_everybody_to_read) {
  char dir[] = "/tmp/test-skew-XXXXXX", path[64];
  struct stat st;
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/clock.page", dir);
  mode_t mask = umask(077);
  struct lb_skew *first = lb_skew_create(path);
  umask(mask);
  assert_non_null(first);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0644);
  struct lb_skew *second = lb_skew_create(path); /* another page: the first is still whole */
  assert_non_null(second);
  lb_skew_jump(first, false, 9);
  assert_true(lb_skew_wall_ns(first, NOON) == NOON + 9);
  assert_true(lb_skew_wall_ns(second, NOON) == NOON);
  lb_skew_unmap(first);
  lb_skew_unmap(second);
  assert_int_equal(stat(path, &st), 0);
  unlink(path);
  rmdir(dir);
  errno = 0;
  assert_null(lb_skew_create(path));
  assert_int_equal(errno, ENOENT);
}

/* ---- the preload library ----------------------------------------------------------------------------------------- */

struct reader { /* a clock-reader under the library */
  char dir[32], path[64];
  struct lb_skew *clocks;
  FILE *in, *out;
  pid_t pid;
};

static const char *reader_program(void) {
  static char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 20);
  if (n <= 0) return NULL;
  path[n] = '\0';
  strcpy(strrchr(path, '/') + 1, "clock-reader");
  return access(path, X_OK) == 0 ? path : NULL;
}

/* With a sanitizer's own library preloaded into us, the reader would get it, too. */
static bool can_read(void) {
  return lb_shim_path(LB_SHIM_CLOCK) && reader_program() && !strpbrk(lb_shim_path(LB_SHIM_CLOCK), " :");
}

static void make_page(struct reader *r) {
  *r = (struct reader){.dir = "/tmp/test-skew-XXXXXX"};
  assert_non_null(mkdtemp(r->dir));
  snprintf(r->path, sizeof r->path, "%s/clock.page", r->dir);
  assert_non_null(r->clocks = lb_skew_create(r->path));
}

static void start_reader(struct reader *r, bool with_page, const char *const args[]) {
  int to[2], from[2];
  assert_true(pipe(to) == 0 && pipe(from) == 0);
  if ((r->pid = fork()) == 0) {
    dup2(to[0], 0), dup2(from[1], 1);
    for (int i = 0; i < 2; i++) close(to[i]), close(from[i]);
    setenv("LD_PRELOAD", lb_shim_path(LB_SHIM_CLOCK), 1);
    if (with_page) setenv("LOCKBENCH_SKEW", r->path, 1);
    else unsetenv("LOCKBENCH_SKEW");
    execv(reader_program(), (char *const *)args);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  r->out = fdopen(to[1], "w");
  r->in = fdopen(from[0], "r");
}

static void end_reader(struct reader *r) {
  fclose(r->out), fclose(r->in);
  assert_int_equal(waitpid(r->pid, NULL, 0), r->pid);
  lb_skew_unmap(r->clocks);
  unlink(r->path), rmdir(r->dir);
}

/* Reads one block "NAME SECONDS" and checks that each clock is as far from the truth as expected, give or take a
 * second: time() knows whole ones. */
static void reads(struct reader *r, double wall_s, double mono_s) {
  char name[40];
  double value;
  int seen = 0;
  const double slack = 1.1;
  double now_wall = (double)lb_clock_wall_ns() / 1e9, now_mono = (double)lb_clock_ns() / 1e9;
  while (fscanf(r->in, "%39s", name) == 1 && strcmp(name, "end") != 0) {
    assert_int_equal(fscanf(r->in, "%lf", &value), 1);
    seen++;
    if (strcmp(name, "cpu") == 0) assert_true(value < 10);
    else if (strcmp(name, "bad-clock") == 0) assert_true(value == -1);
    else {
      struct timespec ts;
      bool mono = strncmp(name, "mono", 4) == 0 || strcmp(name, "boottime") == 0, tai = strcmp(name, "tai") == 0;
      double expected = mono ? now_mono + mono_s : now_wall + wall_s;
      if (strcmp(name, "monotonic-raw") == 0 && clock_gettime(CLOCK_MONOTONIC_RAW, &ts) == 0)
        expected = (double)ts.tv_sec + mono_s;
      if (strcmp(name, "boottime") == 0 && clock_gettime(CLOCK_BOOTTIME, &ts) == 0)
        expected = (double)ts.tv_sec + mono_s;
      if (tai && clock_gettime(CLOCK_TAI, &ts) == 0) expected = (double)ts.tv_sec + wall_s;
      if (value < expected - slack || value > expected + slack)
        fail_msg("%s reads %.3f, expected %.3f", name, value, expected);
    }
  }
  assert_true(seen >= 12);
}

static void ask_again(struct reader *r) { fputs("\n", r->out), fflush(r->out); }

TEST(every_reading_follows_the_page) {
  struct reader r;
  if (!can_read()) SKIP("no preload library");
  make_page(&r);
  start_reader(&r, true, (const char *const[]){"clock-reader", NULL});
  reads(&r, 0, 0);
  lb_skew_jump(r.clocks, false, 3600 * (int64_t)S);
  ask_again(&r), reads(&r, 3600, 0);
  lb_skew_jump(r.clocks, true, 50 * (int64_t)S);
  ask_again(&r), reads(&r, 3600, 50);
  lb_skew_jump(r.clocks, false, -7200 * (int64_t)S);
  ask_again(&r), reads(&r, -3600, 50);
  lb_skew_reset(r.clocks);
  ask_again(&r), reads(&r, 0, 0);
  end_reader(&r);
}

TEST(without_a_page_clocks_are_true) {
  struct reader r;
  if (!can_read()) SKIP("no preload library");
  make_page(&r);
  start_reader(&r, false, (const char *const[]){"clock-reader", NULL});
  reads(&r, 0, 0);
  end_reader(&r);
}

/* A program that waits until 100 ms from now, on its clock, does so in 100 ms, although its clocks are an hour away. */
TEST(waits_end_when_the_skewed_clock_says) {
  struct reader r = {0};
  char name[40];
  double ms;
  if (!can_read()) SKIP("no preload library");
  make_page(&r);
  lb_skew_jump(r.clocks, true, 3600 * (int64_t)S);
  lb_skew_jump(r.clocks, false, -3600 * (int64_t)S);
  start_reader(&r, true, (const char *const[]){"clock-reader", "--wait", "100", NULL});
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fscanf(r.in, "%39s %lf", name, &ms), 2);
    if (ms < 99 || ms > 3000) fail_msg("%s waited for %.0f ms", name, ms);
  }
  end_reader(&r);
}
