/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * What became of a client that does not answer: real processes with a protocol that dies, exits, hangs or closes what
 * is not its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/clock.h"
#include "client/driver.h"
#include "client/client.h"
#include "hook.h"

enum { SOON_MS = 50, PATIENCE_MS = 20000, CHILD_S = 20 };

/* ---- a protocol that misbehaves in try_acquire ------------------------------------------------------------------- */

static enum { DIE, EXIT, HANG, CLOSE, PRINT, LEAVE_CHILD } misdeed;
static int leash[2]; /* of the child: it lives for as long as the test has the other end */

struct lb_session {
  struct lb_env *env;
};

static int open_hook(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->env = config->env;
  return 0;
}

static void close_everything(void) {
  for (int fd = 3; fd < 64; fd++) close(fd);
}

/* The child keeps all that is open, for CHILD_S at most. */
static void leave_child(void) {
  char byte;
  if (fork() == 0) {
    alarm(CHILD_S);
    close(leash[1]);
    while (read(leash[0], &byte, 1) > 0) {
    }
  }
  _exit(0);
}

HOOK(try_acquire_hook) {
  if (misdeed == DIE) raise(SIGTERM);
  if (misdeed == EXIT) _exit(3);
  if (misdeed == CLOSE) close_everything();
  if (misdeed == PRINT) dprintf(1, "out "), dprintf(2, "err");
  if (misdeed == LEAVE_CHILD) leave_child();
  while (misdeed == HANG) pause();
  return LB_BUSY;
}

HOOK(release_hook) { return LB_OK; }

static const struct lb_protocol protocol = {.name = "misdeed",
                                            .session_size = sizeof(struct lb_session),
                                            .open = open_hook,
                                            .try_acquire = try_acquire_hook,
                                            .release = release_hook};

/* ---- one client -------------------------------------------------------------------------------------------------- */

struct fixture {
  struct lb_memory *memory;
  struct lb_client_plan plan;
  struct lb_client client;
  char fate[200];
};
static struct fixture fixture, *const f = &fixture;

static struct lb_host here = {.name = "here", .netns = -1};

static int set_up(void **state) {
  *f = (struct fixture){.memory = lb_memory_map(1, 1, 1)};
  f->plan = (struct lb_client_plan){
      .protocol = &protocol, .memory = f->memory, .ttl_ms = 1000, .seed = 1, .key_prefix = "test"};
  f->client = (struct lb_client){.driver = &lb_driver_process, .name = "client-1", .host = &here};
  (void)state;
  return f->memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_client_end(&f->client);
  lb_memory_unmap(f->memory);
  return 0;
}
EACH(set_up, tear_down);

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

/* A client that has been told to acquire. */
static void begin(int deed) {
  struct lb_reply reply;
  misdeed = deed;
  assert_int_equal(lb_client_start(&f->client, &f->plan), 0);
  struct lb_command command = {.verb = LB_DO_OPEN, .deadline = in_ms(PATIENCE_MS)};
  assert_int_equal(lb_client_call(&f->client, command, PATIENCE_MS, &reply), 0);
  command = (struct lb_command){.verb = LB_DO_ACQUIRE, .deadline = in_ms(SOON_MS)};
  assert_int_equal(lb_client_send(&f->client, command), 0);
}

/* What the controller reads when it has waited so long past the deadline; *ret is what its wait came to. */
static const char *await_fate(int64_t patience_ms, int *ret) {
  struct lb_reply reply;
  *ret = lb_client_await(&f->client, in_ms(SOON_MS + patience_ms), &reply);
  assert_int_not_equal(*ret, 0);
  lb_client_fate(&f->client, &f->memory->state[0], *ret, f->fate, sizeof f->fate);
  return f->fate;
}

static const char *fate_of(int deed, int64_t patience_ms) {
  int r;
  begin(deed);
  return await_fate(patience_ms, &r);
}

/* The process of the client has ended; whoever asks next still finds it so. */
static void await_exit(void) {
  siginfo_t end = {0};
  lb_ns deadline = in_ms(PATIENCE_MS);
  id_t pid = (id_t)atomic_load(&f->memory->state[0].pid);
  while (waitid(P_PID, pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(in_ms(1));
  assert_int_equal(end.si_pid, pid);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

TEST(a_signal_is_named_with_the_hook_it_came_in) {
  assert_string_equal(fate_of(DIE, PATIENCE_MS), "died of SIGTERM inside try_acquire");
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_DIED);
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_DIED); /* and stays so */
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), -ECHILD);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_STOP), -ESRCH);
}

TEST(an_exit_is_told_with_its_status) {
  assert_string_equal(fate_of(EXIT, PATIENCE_MS), "exited with status 3 inside try_acquire");
}

/* No end of its socket says so: the child has it, too. */
TEST(an_exit_is_told_although_a_child_lives_on) {
  int r;
  assert_int_equal(pipe2(leash, O_CLOEXEC), 0);
  begin(LEAVE_CHILD);
  await_exit();
  assert_string_equal(await_fate(SOON_MS, &r), "exited with status 0 inside try_acquire");
  assert_int_equal(r, LB_TIMEOUT);
  close(leash[0]), close(leash[1]);
}

TEST(who_hangs_is_told_with_the_hook_and_how_late_it_is) {
  const char *fate = fate_of(HANG, SOON_MS);
  unsigned late_ms = 0;
  assert_int_equal(sscanf(fate, "no answer in time, inside try_acquire, %u ms past its deadline", &late_ms), 1);
  assert_true(late_ms >= SOON_MS / 2);
  assert_true(lb_client_lives(&f->client));
}

TEST(who_closes_what_is_not_its_own_is_found_out) {
  const char *fate = fate_of(CLOSE, PATIENCE_MS); /* it ends, sooner or later */
  if (strcmp(fate, "closed its socket to the harness") != 0) assert_string_equal(fate, "exited with status 0");
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (lb_client_lives(&f->client) && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_string_equal(f->memory->state[0].breach, "a file descriptor that it did not open was closed");
}

TEST(what_a_client_prints_goes_where_it_was_told) {
  char path[] = "/tmp/test-driver-fate-XXXXXX", text[100] = "";
  f->plan.output = mkstemp(path);
  assert_true(f->plan.output > 0);
  struct lb_reply reply;
  misdeed = PRINT;
  assert_int_equal(lb_client_start(&f->client, &f->plan), 0);
  struct lb_command command = {.verb = LB_DO_OPEN, .deadline = in_ms(PATIENCE_MS)};
  assert_int_equal(lb_client_call(&f->client, command, PATIENCE_MS, &reply), 0);
  command = (struct lb_command){.verb = LB_DO_ACQUIRE, .deadline = in_ms(1)};
  assert_int_equal(lb_client_call(&f->client, command, PATIENCE_MS, &reply), 0);
  assert_int_equal(reply.result, LB_BUSY);
  assert_true(pread(f->plan.output, text, sizeof text - 1, 0) > 0);
  assert_int_equal(strncmp(text, "out err", 7), 0);
  close(f->plan.output);
  unlink(path);
}
