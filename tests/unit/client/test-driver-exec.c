/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * A client with a foreign program is one client: the driver exec stops, continues and kills the process of ours, the
 * adapter and all that the adapter has started together, also what left their process group.
 */

#include <unistd.h>

#include "test.h"
#include "backends/foreign/foreign.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/driver.h"

enum { PATIENCE_MS = 20000, HELPERS = 2 };

/* An adapter with two helpers, one of them in a session of its own; their pids go to a file. It grants whatever it is
 * asked for. */
static const char adapter[] =
    "sh -c 'echo lockbench-adapter 1 name=tree topologies=none ends=session;"
    " sleep 600 & echo $! >\"$LB_TEST_PIDS\"; setsid sleep 600 & echo $! >>\"$LB_TEST_PIDS\"; echo $$ >>\"$LB_TEST_PIDS\";"
    " while read -r n word rest; do case $word in acquire) echo $n granted ;; *) echo $n ok ;; esac; done'";

static char pids_path[] = "/tmp/test-driver-exec-XXXXXX";

static struct world {
  struct lb_memory *memory;
  struct lb_target target;
  struct lb_host here;
  union lb_value options[4];
  struct lb_client_plan plan;
  struct lb_client client;
} w;

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

static void call(enum lb_client_verb verb) {
  struct lb_reply reply;
  assert_int_equal(
      lb_client_call(&w.client, (struct lb_command){.verb = verb, .deadline = in_ms(PATIENCE_MS)}, 1000, &reply), 0);
  if (reply.result != LB_OK) fail_msg("%s", reply.err);
}

static int set_up(void **state) {
  static const struct lb_protocol *protocol;
  struct lb_foreign_plan foreign = {
      .kind = "exec", .command = adapter, .says = "name=tree topologies=none ends=session"};
  struct lb_error err;
  (void)state;
  setenv("LB_TEST_PIDS", pids_path, 1);
  if (!protocol) protocol = lb_foreign_add(&foreign, &err);
  if (!protocol) return -1;
  w = (struct world){.memory = lb_memory_map(1, 1, 1), .here = {.name = "here", .netns = -1}};
  w.target = (struct lb_target){.topology = "none"};
  w.plan = (struct lb_client_plan){.protocol = protocol,
                                   .target = &w.target,
                                   .options = w.options,
                                   .memory = w.memory,
                                   .ttl_ms = 1000,
                                   .seed = 7,
                                   .key_prefix = "test"};
  w.client = (struct lb_client){.driver = lb_client_driver_of(protocol, false), .name = "client-1", .host = &w.here};
  assert_ptr_equal(w.client.driver, &lb_driver_exec);
  assert_int_equal(lb_client_start(&w.client, &w.plan), 0);
  call(LB_DO_OPEN);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  lb_client_end(&w.client);
  lb_memory_unmap(w.memory);
  return 0;
}
EACH(set_up, tear_down);

/* Of the adapter's processes, the letter that /proc has for each; '-' = gone, or dead and not waited for. */
static void states(char ret[HELPERS + 2]) {
  int pid;
  size_t n = 0;
  FILE *in = fopen(pids_path, "re");
  assert_non_null(in);
  while (n < HELPERS + 1 && fscanf(in, "%d", &pid) == 1) {
    char path[64], line[512] = "", letter = '-';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "re");
    if (stat && fgets(line, sizeof line, stat) && strrchr(line, ')')) sscanf(strrchr(line, ')') + 1, " %c", &letter);
    if (stat) fclose(stat);
    ret[n++] = letter == 'Z' ? '-' : letter;
  }
  fclose(in);
  ret[n] = '\0';
}

static void assert_all(const char *letters) {
  char now[HELPERS + 2] = "";
  for (lb_ns deadline = in_ms(PATIENCE_MS); lb_clock_ns() < deadline; lb_clock_sleep_until(in_ms(5))) {
    states(now);
    if (strlen(now) == HELPERS + 1 && strspn(now, letters) == HELPERS + 1) return;
  }
  fail_msg("its processes are '%s', expected letters of '%s'", now, letters);
}

TEST(stopped_and_continued_together) {
  char now[HELPERS + 2];
  assert_int_equal(lb_client_signal(&w.client, LB_CLIENT_STOP), 0);
  assert_int_equal(lb_client_look(&w.client), LB_LIFE_STOPPED);
  states(now);
  assert_string_equal(now, "TTT"); /* at once: who says stopped means all of it */
  assert_int_equal(lb_client_signal(&w.client, LB_CLIENT_CONTINUE), 0);
  assert_all("SR");
  call(LB_DO_ACQUIRE);
}

/* A client that stops itself: the program's own process is the first to stand still, and counts as stopped only when
 * the rest does, too. */
TEST(at_a_point_together) {
  char now[HELPERS + 2];
  struct lb_reply reply;
  struct lb_command arm = {.verb = LB_DO_ARM, .deadline = in_ms(PATIENCE_MS), .argument = LB_AT_POINT_STOP};
  snprintf(arm.text, sizeof arm.text, "before-check");
  assert_int_equal(lb_client_call(&w.client, arm, 1000, &reply), 0);
  call(LB_DO_ACQUIRE);
  assert_int_equal(lb_client_send(&w.client, (struct lb_command){.verb = LB_DO_READ, .deadline = in_ms(PATIENCE_MS)}),
                   0);
  for (lb_ns deadline = in_ms(PATIENCE_MS); lb_client_look(&w.client) != LB_LIFE_STOPPED && lb_clock_ns() < deadline;)
    lb_clock_sleep_until(in_ms(1));
  assert_int_equal(lb_client_look(&w.client), LB_LIFE_STOPPED);
  states(now);
  assert_string_equal(now, "TTT");
  assert_int_equal(lb_client_signal(&w.client, LB_CLIENT_CONTINUE), 0);
  assert_int_equal(lb_client_await(&w.client, in_ms(PATIENCE_MS), &reply), 0);
}

STATES(killed_together, assert_int_equal(lb_client_signal(&w.client, LB_CLIENT_KILL), 0),
       assert_int_equal(lb_client_look(&w.client), LB_LIFE_KILLED), assert_all("-"));
STATES(ended_together, lb_client_end(&w.client), assert_all("-"));

static int before_all(void **state) {
  (void)state;
  int fd = mkstemp(pids_path);
  if (fd < 0) return 1;
  close(fd);
  return 0;
}

static int after_all(void **state) {
  (void)state;
  unlink(pids_path);
  return 0;
}

GROUP(before_all, after_all);
