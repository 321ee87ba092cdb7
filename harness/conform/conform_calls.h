/* SPDX-License-Identifier: MIT
 *
 * conform_calls.h - what the process of one statement works with: its sessions, calls of hooks that are held against
 * client/hook.h, and words for what was expected. Private to conform/.
 *
 * A statement returns if it holds; anything else ends its process in lb_conform_fail(), from whatever depth. So a
 * statement reads like a list of calls with what each has to answer.
 */
#ifndef LB_CONFORM_CALLS_H
#define LB_CONFORM_CALLS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "conform.h"
#include "base/clock.h"
#include "client/hook.h"
#include "client/env.h"

enum {
  LB_CONFORM_TTL_MS = 3000,
  LB_CONFORM_SESSIONS = 6,
  LB_CONFORM_PROCESSES = 40, /* of one statement, beside its own */
  LB_CONFORM_POINTS = 64,
  LB_CONFORM_POINT_BYTES = 32, /* with the NUL, as in a step of a scenario */
  LB_CONFORM_CALL_MS = 5000,   /* the deadline of a call that is not about deadlines */
  LB_CONFORM_LATE_MS = 500,    /* how far past its deadline a hook may come back: a machine is busy at times */
  LB_CONFORM_HOLD_MS = 200,
};

/* RUNS is set before the process begins; the process itself moves on to one of the others, once. If it is still RUNS
 * when the process has ended, something else has ended it: the protocol, as a rule. FAILS is the verdict of the
 * statement; BREAKS is that it got none, because a call broke the contract or met an error. */
enum lb_conform_state { LB_CONFORM_RUNS, LB_CONFORM_HOLDS, LB_CONFORM_FAILS, LB_CONFORM_BREAKS };
/* SERVE until the statement asks for SHALL_DIE. The controller kills them, or those behind the first `kept`, and answers
 * with DEAD. After SHALL_RESTART all SERVE again, or stay DEAD; a statement that does not ask for that has to be the last
 * one. */
enum lb_conform_servers { LB_CONFORM_SERVE, LB_CONFORM_SHALL_DIE, LB_CONFORM_DEAD, LB_CONFORM_SHALL_RESTART };

/* In memory that all processes of a system share: what a statement leaves behind, however it ends. */
struct lb_conform_shared {
  _Atomic int hook, session; /* where it is: enum lb_hook, and whose */
  _Atomic int state;         /* enum lb_conform_state */
  _Atomic int servers;       /* enum lb_conform_servers: the statement asks, the controller kills ... */
  _Atomic size_t kept;       /* ... all but so many data servers, 0 = also those that hold no locks */
  _Atomic unsigned keys, point_count;
  _Atomic bool told;                        /* somebody has begun to write `why` */
  _Atomic uint64_t inside, latest, arrived; /* for a statement of several processes: 0 at first */
  /* Names of points that some session came by, in any statement so far. */
  char point[LB_CONFORM_POINTS][LB_CONFORM_POINT_BYTES];
  char why[700], note[100];
  _Alignas(64) char table[1 << 17]; /* lb_target.shared */
};

/* What the process of one statement has. Its sessions are all in this one process. */
struct lb_conform {
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  const union lb_value *options;
  struct lb_target target;
  struct lb_conform_shared *shared;
  char key_prefix[24]; /* of this system in this run: nothing of an earlier run is in the way */
  struct lb_process_env env[LB_CONFORM_SESSIONS];
  struct lb_config config[LB_CONFORM_SESSIONS];
  struct lb_session *session[LB_CONFORM_SESSIONS]; /* NULL until the first call */
  int64_t ttl_ms[LB_CONFORM_SESSIONS];             /* of its latest try: what comes after that names the same */
  enum lb_hook hook; /* of the latest call, and its session: what lb_conform_want() speaks of */
  int caller;
  /* When it had to be back, LB_NEVER = it got no deadline. */
  lb_ns due;
  /* The latest call was repeated for so long; 0 = it was one. */
  int64_t within_ms;
  /* The wait of an env that holds nothing back. */
  int (*wait_fds)(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);
  /* For so long readiness may still be held back; when there last was one. */
  lb_ns hold_left, ready_at;
  /* Further processes of this statement (conform_process.c). */
  pid_t process[LB_CONFORM_PROCESSES];
  int process_count;
  /* Done once, by the first session, where it comes by this point; NULL = nothing. */
  const char *point;
  void (*at_point)(struct lb_conform *c);
  char name[24]; /* of the client that this process is, where it is one of several */
  /* How it asks from now on: struct lb_lock. */
  bool as_reader;
  int permits;
};

/* ---- what a statement needs of a system ------------------------------------------------------ */

enum {
  /* Each says one thing that not every system has. A statement runs if all that it needs is there. */
  LB_NEEDS_SAFE = 1 << 0,    /* not LB_TRAIT_UNSAFE */
  LB_NEEDS_MEMORY = 1 << 1,  /* safe, or at least able to say who holds */
  LB_NEEDS_OWNER = 1 << 2,   /* not LB_TRAIT_NO_OWNER */
  LB_NEEDS_ANYBODY = 1 << 3, /* LB_TRAIT_NO_OWNER */
  LB_NEEDS_LEASE = 1 << 4,
  LB_NEEDS_FENCE = 1 << 5, /* by trait, or by an option that is on */
  LB_NEEDS_NO_FENCE = 1 << 6,
  LB_NEEDS_EXTEND = 1 << 7, /* these hooks */
  LB_NEEDS_HOLDS = 1 << 8,
  LB_NEEDS_WAIT = 1 << 9,
  LB_NEEDS_INSPECT = 1 << 10,
  LB_NEEDS_SERVERS = 1 << 11, /* that hold locks */
  LB_NEEDS_TEARDOWN = 1 << 12,
  LB_NEEDS_DOUBT = 1 << 13,
  LB_NEEDS_SERVER = 1 << 14, /* the hook */
  LB_NEEDS_SEEN = 1 << 15,
  LB_NEEDS_FIFO = 1 << 16,
  LB_NEEDS_DEPTH = 1 << 17,    /* LB_TRAIT_REENTRANT */
  LB_NEEDS_NO_DEPTH = 1 << 18, /* not that */
  LB_NEEDS_END = 1 << 19,      /* a lease or a session: an unreleased lock ends by itself */
  LB_NEEDS_POINTS = 1 << 20,
  LB_NEEDS_SHARED = 1 << 21,               /* LB_TRAIT_SHARED */
  LB_NEEDS_PERMITS = 1 << 22,              /* LB_TRAIT_PERMITS */
  LB_NEEDS_OF_TOPOLOGY = LB_NEEDS_SERVERS, /* what the table of a protocol does not say */
};

/* By subject, in the order they run; text = NULL at the end. */
extern const struct lb_conform_statement lb_conform_of_lock[], lb_conform_of_sharing[], lb_conform_of_time[],
    lb_conform_of_service[], lb_conform_of_faults[];
extern const struct lb_conform_statement lb_conform_adapter_of_lock[],
    lb_conform_adapter_of_ends[]; /* about the lines of an adapter */
/* What a system has of the above; what an adapter says that it has, in bits of its own. */
unsigned lb_conform_has(const struct lb_conform *c);
unsigned lb_conform_adapter_has(const struct lb_conform *c);

/* CUT_TTL_MS is a lease that does not end while a statement breaks something. SLACK_MS is how long a service may take
 * to come to its senses. */
enum { TTL_MS = LB_CONFORM_TTL_MS, CUT_TTL_MS = 8000, SLACK_MS = 3000 };

/* A statement reads as: on this key, this call has to answer that. */
#define KEY const char *key = lb_conform_key(c)
#define WANT(result, call) lb_conform_want(c, result, call)

static inline lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }
static inline bool has(const struct lb_conform *c, unsigned traits) { return c->protocol->traits & traits; }
static inline bool has_owner(const struct lb_conform *c) { return !has(c, LB_TRAIT_NO_OWNER); }

/* ---- calls (conform_calls.c) ----------------------------------------------------------------- */

/* Fills in env and config. Sessions open with their first call. */
void lb_conform_prepare(struct lb_conform *c);
/* Closes one session, which opens again with its next call; closes all. */
void lb_conform_hang_up(struct lb_conform *c, int i);
void lb_conform_close(struct lb_conform *c);
/* "first", ...: what a session is called. */
const char *lb_conform_ordinal(int i);
/* A key of its own, [a-z0-9-]; valid until four more were asked for. */
const char *lb_conform_key(struct lb_conform *c);

/* Calls of the hooks on session i. The statement fails at once if the call broke the contract
 * (client/hook.h) or came back long after its deadline; else its result. */
int lb_conform_setup(struct lb_conform *c, int i);
int lb_conform_teardown(struct lb_conform *c, int i);
int lb_conform_try_for(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                       lb_ns deadline);
int lb_conform_try(struct lb_conform *c, int i, const char *key,
                   struct lb_grant *grant); /* the usual ttl and deadline */
static inline int try_for(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  return lb_conform_try_for(c, i, key, ttl_ms, grant, in_ms(LB_CONFORM_CALL_MS));
}
int lb_conform_release(struct lb_conform *c, int i, const char *key, struct lb_grant *grant);
int lb_conform_release_by(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, lb_ns deadline);
int lb_conform_extend(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant);
int lb_conform_extend_by(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                         lb_ns deadline);
int lb_conform_resolve(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant);
int lb_conform_wait(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms);
int lb_conform_holds(struct lb_conform *c, int i, const char *key, const struct lb_grant *grant);
int lb_conform_inspect(struct lb_conform *c, int i, const char *key, size_t endpoint);
/* The endpoint to inspect for a held key: the first; where the keys are split, the first that has it. */
size_t lb_conform_who_knows(struct lb_conform *c, int i, const char *key);
/* Fails also if the hook waits: it may not sleep, and not poll beyond what is there by now. */
int lb_conform_doubt(struct lb_conform *c, int i, const char *key, const struct lb_grant *grant);
/* The same of the hook `server`: an index into the target's endpoints, or -ENOENT. */
int lb_conform_server(struct lb_conform *c, int i);
/* And of the hook `seen`. */
uint64_t lb_conform_seen(struct lb_conform *c, int i);
/* Tries until it is not LB_BUSY, or for ms. */
int lb_conform_acquire(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms);
/* As a client does who needs the lock: waits for a release where the protocol tells of one, and else
 * asks again after a few ms. The last answer. */
int lb_conform_queue_up(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms);
/* Gives up what was refused: a place in a queue has to be given back. */
void lb_conform_leave(struct lb_conform *c, int i, const char *key, struct lb_grant *grant);

/* From now on session i is told late that a server has answered, each time by LB_CONFORM_HOLD_MS, in all by most_ms:
 * what a protocol counts from a reply then ends later than what it counts from its request. Without servers it has no
 * effect. */
void lb_conform_hold_back(struct lb_conform *c, int i, int64_t most_ms);

/* Fails unless the latest call answered `wanted`: "expected BUSY from try_acquire, got OK (second session)". */
void lb_conform_want(struct lb_conform *c, int wanted, int got);

/* ---- the verdict -------------------------------------------------------------------------------- */

/* Fails with a printf text unless `good`. */
void lb_conform_check(struct lb_conform *c, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Says of a statement that holds how much of it was asked: printed behind it. */
void lb_conform_note(struct lb_conform *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process of the statement without a verdict: something else is in the way. */
_Noreturn void lb_conform_break(struct lb_conform *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process of the statement: it does not hold. */
_Noreturn void lb_conform_fail(struct lb_conform *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
