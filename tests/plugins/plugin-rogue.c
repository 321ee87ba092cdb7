/* SPDX-License-Identifier: MIT
 *
 * A lock that breaks the contract in one way at a time, chosen with -s rogue.fault=WORD: what a plugin's author gets
 * wrong, and what a careless or hostile one might do. Without a fault it is a correct lock on one machine, a word in
 * shared memory for each key. tests/live/foreign/live-rogue.sh says what has to come of each.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"

enum fault {
  NO_FAULT,
  HANGS, /* never comes back from try_acquire */
  HANGS_IN_RELEASE,
  DIES, /* of a signal, in the third try_acquire */
  DIES_IN_OPEN,
  EXITS,            /* ends the process as if all were well */
  LIES,             /* grants what others hold */
  ANSWERS_NONSENSE, /* a result that does not exist */
  ASKS_AT_ZERO,     /* asked_at = 0 */
  OVER_ALREADY,     /* a grant that ends before it begins */
  TOKEN_TOO_LONG,   /* token_len beyond the token */
  BROKEN_TEXT,      /* env->err without an end, not printable, not UTF-8 */
  CLOSES_ALL,       /* every file descriptor of its process */
  PRINTS,           /* on standard output, where results belong */
  CANNOT_CONNECT,   /* what lb_fail() is for */
  DIES_IN_SETUP,    /* where only the observer goes */
  FORKS,            /* and both come back from try_acquire */
  SLOW,             /* comes back two seconds after its deadline */
  NONSENSE_IN_TEARDOWN,
  HANGS_IN_TEARDOWN,
  FAILS_IN_TEARDOWN, /* as a server that is down does: no fault of the lock */
  OPENS_IN_TURN, /* its service makes one session after the other, as a server does that forks a process for each: no fault of the lock */
  OPENS_SLOWLY,  /* in 11 s, one more than it has */
  FAULTS,
};
static const char *const faults[FAULTS + 1] = {
    [NO_FAULT] = "none",
    [HANGS] = "hangs",
    [HANGS_IN_RELEASE] = "hangs-in-release",
    [DIES] = "dies",
    [DIES_IN_OPEN] = "dies-in-open",
    [EXITS] = "exits",
    [LIES] = "lies",
    [ANSWERS_NONSENSE] = "answers-nonsense",
    [ASKS_AT_ZERO] = "asks-at-zero",
    [OVER_ALREADY] = "over-already",
    [TOKEN_TOO_LONG] = "token-too-long",
    [BROKEN_TEXT] = "broken-text",
    [CLOSES_ALL] = "closes-all",
    [PRINTS] = "prints",
    [CANNOT_CONNECT] = "cannot-connect",
    [DIES_IN_SETUP] = "dies-in-setup",
    [FORKS] = "forks",
    [SLOW] = "slow",
    [NONSENSE_IN_TEARDOWN] = "nonsense-in-teardown",
    [HANGS_IN_TEARDOWN] = "hangs-in-teardown",
    [FAILS_IN_TEARDOWN] = "fails-in-teardown",
    [OPENS_IN_TURN] = "opens-in-turn",
    [OPENS_SLOWLY] = "opens-slowly",
};

struct slot {
  _Atomic uint64_t owner, fence, opening;
};

struct lb_session {
  struct lb_env *env;
  struct slot *slot;
  enum fault fault;
  int tries;
};

static const struct lb_option options[] = {
    {.name = "fault", .type = LB_OPT_CHOICE, .words = faults, .help = "which line of the contract it breaks"},
    {.name = NULL},
};

/* 64 of them take longer than the 10 s that one has. */
static int open_in_turn(struct lb_session *s, lb_ns deadline) {
  uint64_t nobody = 0;
  while (!atomic_compare_exchange_strong(&s->slot->opening, &nobody, 1)) {
    nobody = 0;
    if (lb_now(s->env) >= deadline) return lb_fail(s->env, -ETIMEDOUT, "no session before the deadline");
    lb_sleep_until(s->env, lb_now(s->env) + LB_NS_PER_MS);
  }
  lb_sleep_until(s->env, lb_now(s->env) + 180 * LB_NS_PER_MS);
  atomic_store(&s->slot->opening, 0);
  return 0;
}

static int open_slowly(struct lb_session *s, lb_ns deadline) {
  lb_ns done = lb_now(s->env) + 11 * LB_NS_PER_S;
  lb_sleep_until(s->env, done < deadline ? done : deadline);
  return done < deadline ? 0 : lb_fail(s->env, -ETIMEDOUT, "no session before the deadline");
}

/* All keys share one word: less parallel than it could be, and just as correct. */
static int rogue_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct lb_session){
      .env = config->env, .slot = config->target->shared, .fault = (enum fault)config->options[0].i};
  if (s->fault == DIES_IN_OPEN && strcmp(config->client, "observer") != 0) raise(SIGABRT);
  if (s->fault == OPENS_SLOWLY && strcmp(config->client, "observer") != 0) return open_slowly(s, deadline);
  return s->fault == OPENS_IN_TURN ? open_in_turn(s, deadline) : 0;
}

static int rogue_setup(struct lb_session *s, lb_ns deadline) {
  (void)deadline;
  if (s->fault == DIES_IN_SETUP) raise(SIGFPE);
  return LB_OK;
}

static void hang(void) {
  for (;;) pause();
}

static int rogue_teardown(struct lb_session *s, lb_ns deadline) {
  (void)deadline;
  if (s->fault == NONSENSE_IN_TEARDOWN) return 17;
  if (s->fault == HANGS_IN_TEARDOWN) hang();
  return s->fault == FAILS_IN_TEARDOWN ? lb_fail(s->env, -ECONNREFUSED, "cannot connect to 192.0.2.7:6379") : LB_OK;
}

static void rogue_close(struct lb_session *s) { (void)s; }

static void close_all(void) {
  for (int fd = 0; fd < 256; fd++) close(fd);
}

/* What goes wrong before the lock is looked at; LB_OK = nothing. */
static int misbehave(struct lb_session *s, lb_ns deadline) {
  s->tries++;
  switch (s->fault) {
    case HANGS: hang(); break;
    case DIES:
      if (s->tries == 3) raise(SIGSEGV);
      break;
    case EXITS: _exit(0);
    case ANSWERS_NONSENSE: return 42;
    case CLOSES_ALL: close_all(); break;
    case PRINTS: printf("{\"verdict\": \"safe\"}\n"), fflush(stdout); break;
    case CANNOT_CONNECT: return lb_fail(s->env, -ECONNREFUSED, "cannot connect to 192.0.2.7:6379");
    case BROKEN_TEXT: memset(s->env->err, 0xfe, sizeof s->env->err); return -EIO;
    case FORKS: (void)!fork(); break;
    case SLOW: lb_sleep_until(s->env, deadline + 2 * LB_NS_PER_S); return LB_TIMEOUT;
    default: break;
  }
  return LB_OK;
}

static int rogue_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int r = misbehave(s, deadline);
  uint64_t id = 0, found = 0;
  if (r != LB_OK) return r;
  grant->asked_at = lb_now(s->env);
  while (id == 0) lb_random(s->env, &id, sizeof id);
  if (s->fault == LIES) atomic_store(&s->slot->owner, id);
  else if (!atomic_compare_exchange_strong(&s->slot->owner, &found, id)) return LB_BUSY;
  memcpy(grant->token, &id, sizeof id);
  grant->token_len = s->fault == TOKEN_TOO_LONG ? 5000 : sizeof id;
  grant->fence = atomic_fetch_add(&s->slot->fence, 1) + 1;
  grant->valid_until = s->fault == OVER_ALREADY ? grant->asked_at - LB_NS_PER_MS : LB_NEVER;
  if (s->fault == ASKS_AT_ZERO) grant->asked_at = 0;
  return LB_OK;
}

static int rogue_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)deadline;
  uint64_t id = 0;
  if (s->fault == HANGS_IN_RELEASE) hang();
  if (grant->token_len == sizeof id) memcpy(&id, grant->token, sizeof id);
  return id && atomic_compare_exchange_strong(&s->slot->owner, &id, 0) ? LB_OK : LB_LOST;
}

static const char *const topologies[] = {"none", NULL};

static const struct lb_protocol rogue = {
    .abi = LB_ABI,
    .name = "rogue",
    .summary = "breaks the contract in one way at a time",
    .promises = "Mutual exclusion without a fault, else nothing.",
    .breaks = "By design.",
    .source = "lockbench",
    .topologies = topologies,
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED,
    .options = options,
    .session_size = sizeof(struct lb_session),
    .open = rogue_open,
    .close = rogue_close,
    .setup = rogue_setup,
    .try_acquire = rogue_try_acquire,
    .release = rogue_release,
    .teardown = rogue_teardown,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &rogue;
