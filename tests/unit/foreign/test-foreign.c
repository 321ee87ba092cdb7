/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * Foreign locks: words of a line, what an adapter says of itself, its process and its pipes, and the hooks against
 * adapters of a few lines of shell.
 */

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "backends/foreign/foreign_ask.h"
#include "backends/foreign/foreign_server.h"
#include "backends/foreign/talk.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/env.h"

enum { PATIENCE_MS = 20000, SOON_MS = 100 };

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

/* ---- words ------------------------------------------------------------------------------------------------------- */

static int tear_down(void **state);

TEST(a_line_is_taken_apart) {
  struct foreign_words words;
  char line[] = "granted token=a%20b%25  fence=7 100%", bad[] = "x=%2", nul[] = "x=%00", many[400] = "";
  assert_int_equal(foreign_line_split(line, &words), 0);
  assert_int_equal(words.count, 4);
  assert_string_equal(foreign_line_value(&words, 1, "token"), "a b%");
  assert_string_equal(foreign_line_value(&words, 1, "fence"), "7");
  assert_null(foreign_line_value(&words, 1, "fenc"));
  assert_null(foreign_line_value(&words, 3, "fence"));
  assert_string_equal(words.word[3], "100%"); /* a text for people is not encoded */
  assert_int_equal(foreign_line_split(bad, &words), -EINVAL);
  assert_int_equal(foreign_line_split(nul, &words), -EINVAL);
  for (int i = 0; i <= FOREIGN_WORDS_MAX; i++) strcat(many, "w ");
  assert_int_equal(foreign_line_split(many, &words), -EINVAL);
}

TEST(a_value_comes_back_as_it_was) {
  struct foreign_words words;
  char line[60] = "password=";
  assert_true(foreign_line_append_value(line, sizeof line, "a %\n\xc3\xa4=@", false));
  assert_string_equal(line, "password=a%20%25%0A%C3%A4=@");
  assert_int_equal(foreign_line_split(line, &words), 0);
  assert_string_equal(foreign_line_value(&words, 0, "password"), "a %\n\xc3\xa4=@");
  line[0] = '\0';
  assert_true(foreign_line_append_value(line, sizeof line, "p@ss:w/rd", true));
  assert_string_equal(line, "p%40ss%3Aw%2Frd");
  char small[6] = "";
  assert_false(foreign_line_append_value(small, sizeof small, "too long", false));
  foreign_line_quote("\033[31mred\x80", line, sizeof line);
  assert_string_equal(line, "?[31mred?");
  foreign_line_quote("a long text", small, sizeof small);
  assert_string_equal(small, "a ...");
}

/* ---- what it says of itself -------------------------------------------------------------------------------------- */

TEST(a_first_line_becomes_traits) {
  struct foreign_says says;
  struct lb_error err;
  char line[] =
      "name=my-lock version=1.2%20rc topologies=redis,sentinel ends=session can=extend,fence,signal,record record=a{key},b later=1 clock=no";
  assert_int_equal(foreign_line_read_says(line, &says, &err), 0);
  assert_string_equal(says.name, "my-lock");
  assert_string_equal(says.version, "1.2 rc");
  assert_int_equal(says.topology_count, 2);
  assert_string_equal(says.topology[1], "sentinel");
  assert_int_equal(says.record_count, 2);
  assert_true(says.can_extend && says.can_signal && says.can_record && !says.can_holds && !says.can_validity);
  assert_int_equal(says.traits,
                   LB_TRAIT_FOREIGN | LB_TRAIT_WAITS_INSIDE | LB_TRAIT_SESSION | LB_TRAIT_FENCED | LB_TRAIT_TRUE_CLOCK);
}

TEST(a_bad_first_line_is_refused_with_what_is_wrong) {
  static const struct {
    const char *line, *why;
  } bad[] = {{"topologies=none ends=lease", "no name="},
             {"name=a ends=lease", "no topologies="},
             {"name=a topologies=none", "no ends="},
             {"name=A topologies=none ends=lease", "name=A: expected"},
             {"name=a topologies=NONE ends=lease", "'NONE' is no name"},
             {"name=a topologies= ends=lease", "names none"},
             {"name=a topologies=none ends=soon", "expected lease, session or never"},
             {"name=a topologies=none ends=lease can=fly", "'fly' is unknown"},
             {"name=a topologies=none ends=lease can=shard", "'shard' is unknown, expected extend"},
             {"name=a topologies=none ends=lease can=records", "'records' is unknown, expected extend"},
             {"name=a topologies=none ends=lease clock=maybe", "clock=maybe"},
             {"name=a topologies=none ends=lease permits=2", "permits=2"},
             {"name=a topologies=none ends=lease mode=shared", "mode=shared"},
             {"name=a topologies=none ends=lease word", "expected NAME=VALUE"},
             {"name=a topologies=none ends=lease record=a,b,c,d,e", "at most 4"},
             {"name=%zz", "without two digits"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct foreign_says says;
    struct lb_error err = {0};
    char line[200];
    snprintf(line, sizeof line, "%s", bad[i].line);
    assert_int_equal(foreign_line_read_says(line, &says, &err), -EINVAL);
    if (!strstr(err.text, bad[i].why)) fail_msg("%s: '%s'", bad[i].line, err.text);
  }
  struct lb_error err;
  assert_string_equal(foreign_line_first("lockbench-adapter 1 name=a", &err), "name=a");
  assert_null(foreign_line_first("lockbench-adapter 10 name=a", &err));
  assert_non_null(strstr(err.text, "another version"));
  assert_null(foreign_line_first("Hello", &err));
  assert_non_null(strstr(err.text, "'Hello'"));
}

/* ---- its process ------------------------------------------------------------------------------------------------- */

static struct foreign_child child;

static int next(char **ret) {
  int r;
  while ((r = foreign_child_next_line(&child, ret)) == 0) {
    struct pollfd p = {.fd = child.out, .events = POLLIN};
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
  }
  return r;
}

TEST(lines_come_whole) {
  char *line, fate[100];
  assert_int_equal(
      foreign_child_start(
          &child, "sh -c 'printf \"one\\ntwo\\r\\n\\nth\"; read x; printf \"ree\\n%04095d\\nrest\" 0; exit 7'", NULL),
      0);
  assert_int_equal(next(&line), 1);
  assert_string_equal(line, "one");
  assert_int_equal(next(&line), 1);
  assert_string_equal(line, "two");
  assert_int_equal(next(&line), 1);
  assert_string_equal(line, "");
  assert_int_equal(foreign_child_write(&child, "go\n"), 0);
  assert_int_equal(next(&line), 1);
  assert_string_equal(line, "three");
  assert_int_equal(next(&line), 1);
  assert_int_equal(strlen(line), LB_FOREIGN_LINE_MAX - 1);
  assert_int_equal(next(&line), -ENODATA); /* what has no end is no line */
  assert_true(foreign_child_end(&child, PATIENCE_MS, fate, sizeof fate));
  assert_string_equal(fate, "exited with status 7");
}

TEST(a_line_that_does_not_end_is_told) {
  char *line;
  assert_int_equal(foreign_child_start(&child, "sh -c 'printf %04096d 0; read x'", NULL), 0);
  assert_int_equal(next(&line), -EMSGSIZE);
  foreign_child_end(&child, PATIENCE_MS, NULL, 0);
}

TEST(who_does_not_read_is_told_apart_from_who_cannot) {
  char line[LB_FOREIGN_LINE_MAX], *read;
  int r;
  memset(line, 'x', sizeof line - 2);
  strcpy(line + sizeof line - 2, "\n");
  assert_int_equal(foreign_child_start(&child, "sleep 1000", NULL), 0);
  for (int i = 0; i < 1000 && (r = foreign_child_write(&child, line)) == 0; i++) {
  }
  assert_int_equal(r, -EAGAIN);
  assert_false(foreign_child_end(&child, 1, NULL, 0));
  assert_int_equal(foreign_child_start(&child, "sh -c 'exec <&-; echo closed; exec sleep 1000'", NULL), 0);
  assert_int_equal(next(&read), 1);
  assert_int_equal(foreign_child_write(&child, line), -EPIPE);
  assert_false(foreign_child_end(&child, 1, NULL, 0));
  foreign_child_end(&child, 0, NULL, 0); /* safe on one that has ended */
}

/* Its parent dies without a word: the kernel ends it. */
TEST(it_does_not_outlive_us) {
  int leash[2];
  char byte;
  assert_int_equal(pipe(leash), 0);
  pid_t pid = fork();
  if (pid == 0) {
    char command[80], *line;
    snprintf(command, sizeof command, "sh -c 'trap \"\" HUP TERM; echo up; exec sleep 1000 >&%d'", leash[1]);
    if (foreign_child_start(&child, command, NULL) == 0 && next(&line) == 1) kill(getpid(), SIGKILL);
    _exit(1);
  }
  close(leash[1]); /* the other end is with the adapter now */
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  struct pollfd p = {.fd = leash[0], .events = POLLIN};
  assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
  assert_int_equal(read(leash[0], &byte, 1), 0);
  close(leash[0]);
}

/* ---- what the machine takes from it ------------------------------------------------------------------------------ */

/* 0.1 s of work or so, on a processor that a rival uses: it gets a tenth of it. */
#define HARD_WORK "nice -n 10 taskset -c 0 sh -c 'i=0; while [ $i -lt 120000 ]; do i=$((i+1)); done; "

static pid_t rival(void) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  cpu_set_t one;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (;;) {
  }
}

static void end_rival(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

TEST(who_gets_no_processor_is_held_up_and_who_sleeps_is_not) {
  char *line;
  pid_t other = rival();
  /* Of what a command starts, too. */
  static const char script[] =
      "sh -c 'nice -n 10 taskset -c 0 sh -c \"i=0; while [ \\$i -lt 120000 ]; do i=\\$((i+1)); done; echo done; read x\"; true'";
  assert_int_equal(foreign_child_start(&child, script, NULL), 0);
  assert_int_equal(next(&line), 1);
  assert_true(foreign_child_held_up(&child) > 100 * LB_NS_PER_MS);
  end_rival(other);
  lb_ns before = foreign_child_held_up(&child);
  lb_clock_sleep_until(in_ms(200));
  assert_true(foreign_child_held_up(&child) < before + 100 * LB_NS_PER_MS);
  foreign_child_end(&child, 0, NULL, 0);
  assert_int_equal(foreign_child_held_up(&child), 0);
}

/* Its own time, not that of the rival. */
TEST(what_its_start_costs_is_measured) {
  struct lb_error err;
  char says[LB_FOREIGN_LINE_MAX];
  int quick = 0, slow = 0;
  assert_int_equal(
      lb_foreign_ask("sh -c 'sleep 0.2; echo lockbench-adapter 1 name=x topologies=redis ends=lease can=; read x'",
                     says, sizeof says, &quick, &err),
      0);
  assert_int_equal(
      lb_foreign_ask(
          "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo lockbench-adapter 1 name=x topologies=redis ends=lease can=; read x'",
          says, sizeof says, &slow, &err),
      0);
  assert_in_range(quick, 1, 100);
  assert_true(slow > quick + 50);
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

static struct lb_process_env env;
static struct lb_config config;
static struct lb_target target = {.topology = "none"};
static const struct lb_protocol *lock_of;
static struct lb_session *session;
static struct lb_grant grant;
static const struct lb_lock lock = {.key = "run-1", .ttl_ms = 60000, .patient = true};

/* Answers each request with ok, but those in `cases`: "acquire) echo $n granted;;". `before`: what stands before its
 * first line, a quote open. */
static int open_with(const char *before, const char *cases, int64_t within_ms) {
  static int count;
  struct lb_error err;
  char command[1500], says[200];
  snprintf(says, sizeof says, "name=t%d version=1 topologies=none ends=lease can=extend,holds,signal", ++count);
  snprintf(command, sizeof command,
           "%secho \"lockbench-adapter 1 %s\"; while read n word rest; do case $word in %s *) echo $n ok;; esac; done'",
           before, says, cases);
  lock_of = lb_foreign_add(&(struct lb_foreign_plan){.kind = "unit", .command = command, .says = says}, &err);
  if (!lock_of) fail_msg("%s", err.text);
  lb_env_init(&env, 1);
  grant = LB_GRANT_INIT;
  config = (struct lb_config){
      .env = &env.base, .target = &target, .ttl_ms = 1000, .client = "client-1", .protocol = lock_of, .prefix = "run"};
  session = calloc(1, lock_of->session_size);
  assert_non_null(session);
  return lock_of->open(session, &config, in_ms(within_ms));
}

static int open_adapter(const char *cases) { return open_with("sh -c '", cases, PATIENCE_MS); }

static int tear_down(void **state) {
  (void)state;
  if (session) lock_of->close(session);
  free(session);
  session = NULL;
  return 0;
}
EACH(NULL, tear_down);

static int try(int64_t ms) { return lock_of->try_acquire(session, &lock, &grant, in_ms(ms)); }
static int release(int64_t ms) { return lock_of->release(session, &lock, &grant, in_ms(ms)); }
static int resolve(int64_t ms) { return lock_of->resolve(session, &lock, &grant, in_ms(ms)); }

TEST(each_answer_has_its_result) {
  assert_int_equal(
      open_adapter(
          "acquire) i=$((i+1)); set -- \"granted token=abc\" busy \"timeout it is late\" \"unknown no reply\" \"error broken\"; shift $((i-1)); echo $n $1;; "
          "release) echo $n lost;; extend) echo $n error no;; holds) echo $n lost;;"),
      0);
  assert_int_equal(try(PATIENCE_MS), LB_OK);
  assert_string_equal(grant.token, "abc");
  assert_true(grant.valid_until > lb_clock_ns());
  assert_int_equal(lock_of->holds(session, &lock, &grant, in_ms(PATIENCE_MS)), LB_LOST);
  assert_int_equal(lock_of->extend(session, &lock, &grant, in_ms(PATIENCE_MS)), LB_UNKNOWN);
  assert_int_equal(release(PATIENCE_MS), LB_LOST);
  assert_int_equal(try(PATIENCE_MS), LB_BUSY);
  assert_int_equal(try(PATIENCE_MS), LB_TIMEOUT);
  assert_string_equal(env.base.err, "it is late");
  assert_int_equal(try(PATIENCE_MS), LB_UNKNOWN);
  assert_string_equal(env.base.err, "no reply");
  assert_int_equal(try(PATIENCE_MS), -EIO);
  assert_string_equal(env.base.err, "broken");
  assert_true(lock_of->round_trip(session) > 0);
}

TEST(a_validity_without_an_end_is_no_lease_that_is_over) {
  assert_int_equal(open_adapter("acquire) echo $n granted validity_ms=9223372036854775807;;"), 0);
  assert_int_equal(try(PATIENCE_MS), LB_OK);
  assert_true(grant.valid_until > lb_clock_ns());
}

/* The answer to acquire waits for a file that the test makes. */
#define HELD_BACK(answer) "acquire) while ! [ -e %s ]; do sleep 0.01; done; echo $n " answer ";;"
static char gate[] = "/tmp/lockbench-gate-XXXXXX";

static void open_held_back(const char *format) {
  char cases[600];
  strcpy(gate + strlen(gate) - 6, "XXXXXX");
  int fd = mkstemp(gate);
  assert_true(fd >= 0);
  close(fd);
  unlink(gate);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(cases, sizeof cases, format, gate);
#pragma GCC diagnostic pop
  assert_int_equal(open_adapter(cases), 0);
}
static void let_it_answer(void) {
  FILE *file = fopen(gate, "we");
  assert_non_null(file);
  fclose(file);
}

TEST(a_late_grant_is_found_by_resolve) {
  open_held_back(HELD_BACK("granted token=late"));
  assert_int_equal(try(SOON_MS), LB_UNKNOWN);
  assert_string_equal(env.base.err, "the adapter has not answered acquire in time");
  assert_int_equal(resolve(SOON_MS), LB_UNKNOWN);
  let_it_answer();
  assert_int_equal(resolve(PATIENCE_MS), LB_OK);
  assert_string_equal(grant.token, "late");
  assert_int_equal(release(PATIENCE_MS), LB_OK);
  unlink(gate);
}

TEST(a_late_grant_is_ended_by_release) {
  open_held_back(HELD_BACK("granted") " release) echo $n lost;;"); /* so it was asked */
  assert_int_equal(try(SOON_MS), LB_UNKNOWN);
  assert_int_equal(release(SOON_MS), LB_UNKNOWN);
  let_it_answer();
  assert_int_equal(release(PATIENCE_MS), LB_LOST);
  unlink(gate);
}

STATES(a_late_refusal_leaves_nothing_to_release,
       open_held_back(HELD_BACK("busy") " release) echo $n error nobody should ask;;"),
       assert_int_equal(try(SOON_MS), LB_UNKNOWN), let_it_answer(), assert_int_equal(release(PATIENCE_MS), LB_OK),
       unlink(gate));

TEST(no_question_is_put_before_the_last_one_is_answered) {
  open_held_back(HELD_BACK("busy"));
  assert_int_equal(try(SOON_MS), LB_UNKNOWN);
  grant = LB_GRANT_INIT;
  assert_int_equal(try(SOON_MS), LB_TIMEOUT); /* this one was not asked */
  let_it_answer();
  assert_int_equal(try(PATIENCE_MS), LB_BUSY);
  unlink(gate);
}

static int doubt_within(int64_t ms) {
  int r;
  for (lb_ns end = in_ms(ms); (r = lock_of->doubt(session, &lock, &grant)) == LB_OK && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(1));
  return r;
}

TEST(what_the_library_tells_is_kept) {
  assert_int_equal(
      open_adapter(
          "acquire) echo $n granted; i=$((i+1)); if [ $i = 1 ]; then echo \"! doubt it is suspended\"; fi;; holds) echo \"! lost the session is over\"; echo $n lost;;"),
      0);
  assert_int_equal(try(PATIENCE_MS), LB_OK);
  assert_int_equal(doubt_within(PATIENCE_MS), LB_UNKNOWN);
  assert_string_equal(env.base.err, "the library says: it is suspended");
  assert_int_equal(lock_of->holds(session, &lock, &grant, in_ms(PATIENCE_MS)), LB_LOST);
  assert_int_equal(lock_of->doubt(session, &lock, &grant), LB_LOST);
  assert_string_equal(env.base.err, "the library says: the session is over");
  assert_int_equal(try(PATIENCE_MS), LB_OK); /* a new attempt */
  assert_int_equal(lock_of->doubt(session, &lock, &grant), LB_OK);
}

/* What no adapter may do is told in every call from then on. */
static void breaks(const char *cases, const char *why) {
  int r = open_adapter(cases);
  if (r == 0) r = try(PATIENCE_MS);
  assert_int_equal(r, -EPROTO);
  if (!strstr(env.base.err, why)) fail_msg("'%s', expected '%s'", env.base.err, why);
  assert_int_equal(release(PATIENCE_MS), -EPROTO);
  assert_non_null(strstr(env.base.err, why));
  tear_down(NULL);
}

TEST(what_breaks_the_rules_is_told_once_and_for_all) {
  breaks("acquire) echo 99 granted;;", "wrote '99 granted', which answers no open question");
  breaks("acquire) echo hello;;", "wrote 'hello', expected '");
  breaks("acquire) echo $n perhaps;;", "answered 'perhaps' to acquire, expected granted, busy");
  breaks("acquire) echo $n granted fence=1712345678.91;;", "says fence=1712345678.91, expected a whole number");
  breaks("acquire) echo $n granted fence=-1;;", "says fence=-1, expected a whole number");
  breaks("acquire) echo $n granted fence=99999999999999999999;;", "expected a whole number");
  breaks("acquire) echo $n granted fence=;;", "says fence=, expected a whole number");
  breaks("acquire) echo $n granted validity_ms=2.9e3;;", "says validity_ms=2.9e3, expected a whole number");
  breaks("acquire) echo \"! nonsense\";;", "expected '! lost TEXT' or '! doubt TEXT'");
  breaks("acquire) kill -SEGV $$;;", "the adapter died of SIGSEGV, and nobody had asked it to end");
  breaks("acquire) exit 3;;", "the adapter exited with status 3");
  breaks("acquire) exec sleep 1000 1>&-;;", "the adapter closed its stdout");
  breaks("acquire) printf %05000d 0;;", "4096 bytes and no end of a line");
  breaks("acquire) echo $n \"x=%zz\";;", "cannot be read");
  breaks("acquire) i=0; while [ $i -lt 1001 ]; do echo \"! doubt x\"; i=$((i+1)); done; echo $n busy;;",
         "more than 1000 lines");
  breaks("ping) echo $n no;;", "answered 'no' to ping");
}

STATES(an_open_that_fails_says_why, assert_int_equal(open_adapter("open) echo $n error no such server;;"), -EIO),
       assert_string_equal(env.base.err, "no such server"));

/* It starts in a tenth of a second of its own, and has half a second. */
TEST(a_start_that_the_machine_holds_up_is_no_breach) {
  pid_t other = rival();
  int r = open_with(HARD_WORK, "", 500);
  end_rival(other);
  if (r != 0) fail_msg("%s", env.base.err);
}

TEST(a_start_that_sleeps_is_late) {
  pid_t other = rival();
  int r = open_with("sh -c 'exec sleep 1000; ", "", 300);
  end_rival(other);
  assert_int_equal(r, -EPROTO);
  assert_non_null(strstr(env.base.err, "has not said what it is in time"));
}

static int before_all(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN); /* as in every client */
  return 0;
}

GROUP(before_all, NULL);
