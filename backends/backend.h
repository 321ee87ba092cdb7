/* SPDX-License-Identifier: MIT
 *
 * backend.h - the contract between lockbench and a lock protocol.
 *
 * A protocol is a file in this folder, which it may share with locks that differ in one step: a design comment (what it
 * promises, under which assumption, what breaks it, where the algorithm comes from), a handful of hooks, and one
 * `const struct lb_protocol` that names them. The harness knows protocols through this table only;
 * a protocol knows this header, its client library and its helpers, and nothing else.
 *
 * Rules for a protocol
 *  - It never blocks except in lb_wait_fd(), lb_wait_fds() and lb_sleep_until(), and it never reads a clock or
 *    a random number except through lb_now(), lb_wall_ms() and lb_random(). The same straight-line code can
 *    therefore run as one process per client, as coroutines, or against a fake clock.
 *  - Results: 0 is success; a positive value is a named outcome the caller has to handle
 *    (enum lb_result); a negative value is -errno, infrastructure that failed, passed up untouched.
 *    For every negative return the text for humans stands in env->err (lb_fail() puts it there).
 *  - Every deadline is absolute, on the clock of lb_now(). A hook returns at the latest about then: conform has
 *    half a second of patience.
 *  - A session belongs to one thread. Threads of a client library may signal it (an eventfd), never enter it.
 *  - What cannot be known is LB_UNKNOWN, never "failed": a request that may have reached the server may hold.
 */
#ifndef LB_BACKEND_H
#define LB_BACKEND_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds on CLOCK_MONOTONIC. Unsigned: subtract only what is known to be smaller. */
typedef uint64_t lb_ns;
#define LB_NS_PER_MS UINT64_C(1000000)
#define LB_NS_PER_S UINT64_C(1000000000)
#define LB_NEVER UINT64_MAX

enum lb_result {
  LB_OK = 0,      /* done; for acquire: granted */
  LB_BUSY = 1,    /* definite: somebody else holds it, this attempt does not */
  LB_TIMEOUT = 2, /* definite: the deadline passed, and nothing of this attempt took effect or remains */
  LB_LOST = 3,    /* was held, is no longer: expired, taken over, session gone */
  LB_UNKNOWN = 4, /* the request may or may not have taken effect: "may hold it" */
  LB_UNCONFIRMED =
      5, /* of holds only: a majority of the servers answered, and there is neither a majority of yes nor one of no */
};

/* ---- env: the world as one client sees it ------------------------------------------------------------- */

/* Provided by whoever runs the protocol: the harness (real time, poll), a test (fake clock). A hook never
 * stores more than the pointer. Use the lb_*() wrappers below. */
struct lb_env {
  lb_ns (*now)(struct lb_env *env);
  int64_t (*wall_ms)(struct lb_env *env);
  int (*wait_fds)(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);
  void (*sleep_until)(struct lb_env *env, lb_ns when);
  void (*random)(struct lb_env *env, void *buf, size_t size);
  void (*point)(struct lb_env *env, const char *name); /* NULL unless a point is armed */
  char err[256];                                       /* text of the latest negative return */
};

/* Monotonic time of this client, in ns. The only clock for deadlines and leases. */
static inline lb_ns lb_now(struct lb_env *env) { return env->now(env); }
/* Wall clock of this client, ms since 1970. Only protocols with LB_TRAIT_CLIENT_CLOCK may use it, and those with an
 * option `clock`. */
static inline int64_t lb_wall_ms(struct lb_env *env) { return env->wall_ms(env); }
/* Sleeps until `when` (or returns at once if it has passed). */
static inline void lb_sleep_until(struct lb_env *env, lb_ns when) { env->sleep_until(env, when); }
/* Fills buf with random bytes; seeded by the trial, so a schedule can be replayed. Unique over the clients of a
 * trial. */
static inline void lb_random(struct lb_env *env, void *buf, size_t size) { env->random(env, buf, size); }
/* poll(2) with our deadline: > 0 = number of ready fds (revents set), 0 = the deadline passed, -errno. */
static inline int lb_wait_fds(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  return env->wait_fds(env, fds, count, deadline);
}
/* One fd: > 0 = its revents, 0 = the deadline passed, -errno. */
static inline int lb_wait_fd(struct lb_env *env, int fd, short events, lb_ns deadline) {
  struct pollfd p = {.fd = fd, .events = events};
  int n = env->wait_fds(env, &p, 1, deadline);
  return n > 0 ? p.revents : n;
}
/* Names a place in the protocol where a scenario may stop or kill the client, e.g. "after-set". Free unless armed. The
 * table's `points` lists every such name, and says whether at an "after-" point the reply has been read. */
static inline void lb_point(struct lb_env *env, const char *name) {
  if (env->point) env->point(env, name);
}
/* Puts a printf text into env->err and returns `negative_errno` (which must be < 0). */
int lb_fail(struct lb_env *env, int negative_errno, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- where the servers are ---------------------------------------------------------------------------- */

/* What a protocol cannot give a server (a password, TLS) it refuses with one clear error, it never goes on without. */
struct lb_endpoint {
  const char *service; /* "redis", "sentinel", "zookeeper", "postgres" */
  const char *host;    /* a name, or a numeric address, of IPv6 without brackets */
  uint16_t port;
  bool tls; /* encrypted, or not at all */
  const char *user,
      *password; /* NULL = none is asked for; a password without a user belongs to the server's default user */
};

/* What a session may talk to. Endpoints stand in node order ("node 1" first); all of it outlives the session. */
struct lb_target {
  const char *topology;
  const struct lb_endpoint *endpoints;
  size_t count;
  const char *sentinel_master; /* name of the monitored master, NULL without Sentinel */
  size_t replicas;             /* servers that follow the one that decides; 0 = none, or each decides for itself */
  void *shared;                /* memory shared by all clients of the trial, zeroed; for local and broken */
  size_t shared_size;
  size_t
      shards; /* parts that the keys are split into by their names, each with a server of its own that decides (Redis Cluster); 0 = they are not */
  /* Of servers that are not ours. */
  const char *database; /* of PostgreSQL; NULL = "postgres" */
  const char *
      ca_file; /* where an endpoint says tls: certificates, one of which has to have signed the server's; NULL = any server is believed */
};

/* ---- options ------------------------------------------------------------------------------------------ */

/* One name means the same everywhere: a boolean option `fence` gives grants a fencing token, at a price that is not
 * paid without it. A boolean option `wake` says whether waiters are told of a release or poll: without it the hook wait
 * is not called, and the trait LB_TRAIT_WAKES is left out. A boolean option `check_validity` that is off: a grant whose
 * lease is over by the time its answer was read is handed out all the same, and the client believes it. A choice
 * `clock` with the word `wall`: valid_until is what the wall clock of the client makes of the lease, and as wrong as
 * that clock. A whole number `renewed_for_ms`: a hold is not renewed any more so long after it was asked for, whoever
 * renews it; 0 = it is for as long as it lasts. The guard `fence` switches `fence` on. A protocol is fit for that guard
 * if it has LB_TRAIT_FENCED (always numbered) or such an option: lb_protocol_can_fence() in registry.h. */
enum lb_option_type {
  LB_OPT_INT,
  LB_OPT_REAL,
  LB_OPT_BOOL,
  LB_OPT_TEXT,   /* printable, min to max bytes long */
  LB_OPT_CHOICE, /* one of the words */
};
struct lb_option {  /* a table of these ends with .name = NULL */
  const char *name; /* unit last: "retry_ms" */
  enum lb_option_type type;
  double def, min, max; /* bool: 0 or 1. text: def 0. choice: def is the index of a word, min and max are 0 */
  const char *help;
  const char *text;         /* the default of a text */
  const char *const *words; /* of a choice: [a-z0-9_-], NULL at the end */
};
union lb_value {
  int64_t i; /* of a choice: the index of the word */
  double f;
  bool b;
  const char *text; /* ends with NUL, outlives the session */
};

/* ---- flaws -------------------------------------------------------------------------------------------- */

/* A promise of the contract that a protocol does not keep, by its design. `lockbench conform` asks for it all the same,
 * and there it has to fail: a flaw that does not show is not there. It is about promises only; answers that the
 * contract does not know are never a flaw. */
struct lb_flaw {         /* a table of these ends with .statement = NULL */
  const char *statement; /* as conform says it: "a stale release leaves the next holder alone" */
  const char *reason;    /* one line: "the release deletes the key, whoever set it" */
  const char *where; /* the flaw is there with this value of a bool or choice option only: "token=no"; NULL = always */
};

/* ---- a lock ------------------------------------------------------------------------------------------- */

/* What is asked for. The caller's; it is valid for the call. All calls about one attempt name the same key and ttl, but
 * for extend, whose ttl is the new one. It grows at its end, by what a request can know besides (how many may share the
 * lock, who asks): 0 there always means what a protocol did that knew nothing of it. So it is written with the names of
 * its fields, and never copied into an array. */
struct lb_lock {
  const char
      *key; /* the whole name, [a-z0-9:-], at most 63 bytes; it begins with the prefix of the run (struct lb_config) */
  int64_t ttl_ms; /* length of the lease */
  bool shared;    /* with LB_TRAIT_SHARED: a reader asks, which others may share */
  int permits;    /* with LB_TRAIT_PERMITS: so many may hold at once; 0 and 1 = one */
  bool patient;   /* with LB_TRAIT_WAITS_INSIDE: the try may wait for its turn until its deadline; false = it may not */
};

/* ---- a grant ------------------------------------------------------------------------------------------ */

#define LB_TOKEN_MAX 160

/* One attempt to get a lock and, if it succeeds, the hold. Zeroed by the caller (LB_GRANT_INIT) to start a new attempt;
 * handed back unchanged to go on with the same one (so a repeated acquire is idempotent). Owned by the caller. */
struct lb_grant {
  char token[LB_TOKEN_MAX]; /* what proves ownership: random bytes, a znode path, an owner id; empty = a new attempt */
  size_t token_len;
  uint64_t fence; /* fencing token, larger for later grants of the same key; 0 = the protocol has none, or it is off */
  lb_ns asked_at; /* lb_now() just before the first request of this attempt left */
  /* The client may believe it holds until then. LB_TRAIT_LEASED: at most asked_at + ttl, so it counts from before the
   * request, never from the reply. LB_TRAIT_SESSION: when the session would end without further contact, counted from
   * before the latest request; or LB_NEVER where the client cannot know, as the lock ends with its process or its
   * connection. LB_TRAIT_NO_EXPIRY: LB_NEVER. */
  lb_ns valid_until;
};
#define LB_GRANT_INIT ((struct lb_grant){0})

/* Until when a client may count on a lease of ttl_ms that it asked for at `asked_at`: without the drift, 1 % for clocks
 * that run at different speeds and 2 ms for a server's rounding. */
lb_ns lb_lease_end(lb_ns asked_at, int64_t ttl_ms);
/* After an extension that came to `result`; `end` is lb_lease_end() of the time before its request left. Moves
 * valid_until there for LB_OK, and for LB_UNKNOWN only if that is earlier than the old end, because both may be the
 * truth. Returns `result`. */
int lb_lease_extended(struct lb_grant *grant, int result, lb_ns end);

/* ---- the table ---------------------------------------------------------------------------------------- */

enum lb_trait {
  LB_TRAIT_LEASED = 1 << 0,       /* a grant ends by itself after ttl */
  LB_TRAIT_SESSION = 1 << 1,      /* a grant lives as long as a session with the service */
  LB_TRAIT_NO_EXPIRY = 1 << 2,    /* a dead holder blocks for ever */
  LB_TRAIT_FENCED = 1 << 3,       /* grants carry a fencing token, without any option */
  LB_TRAIT_FIFO = 1 << 4,         /* grants in order of arrival */
  LB_TRAIT_WAKES = 1 << 5,        /* has a wait hook: waiters are told, they do not poll; not with an option `wake` */
  LB_TRAIT_QUEUES = 1 << 6,       /* BUSY leaves a place in a queue: giving up needs release() */
  LB_TRAIT_CLIENT_CLOCK = 1 << 8, /* correctness depends on the client's wall clock */
  LB_TRAIT_SERVER_CLOCK = 1 << 9, /* correctness depends on a server's clock */
  LB_TRAIT_UNSAFE = 1 << 10,      /* known not to exclude even without a fault; unsafe_why says why */
  /* The service knows that a lock is held, not by whom (a SETNX without a token). release removes whatever record is
   * there: LB_OK, a record was removed, perhaps somebody else's; LB_LOST, there was none. holds: LB_OK, somebody holds
   * it; LB_LOST, nobody does. extend likewise. A repeated try of an attempt that was granted may say LB_BUSY. */
  LB_TRAIT_NO_OWNER = 1 << 11,
  /* A session that holds may be granted the same lock again: another attempt, with a grant of its own. Others are
   * refused until it has released as many grants as it was given, in any order. Without this trait a session that holds
   * is refused like anybody else. (The same attempt, handed back, is no second one: see try_acquire.) */
  LB_TRAIT_REENTRANT = 1 << 12,
  /* Holds are renewed beside the program, every third of the ttl until they are released, without being asked to: the
   * client of this lock has a watchdog. Whoever runs the protocol calls extend then; no hook does, and none runs beside
   * another. Needs extend. */
  LB_TRAIT_RENEWED = 1 << 13,
  /* A try waits for its turn by itself, until its deadline, if it is told that it may (struct lb_lock, `patient`): the
   * library behind it has a blocking acquire with pauses or a queue of its own. It comes back with LB_BUSY, LB_TIMEOUT
   * or LB_UNKNOWN, and nobody need pause before the next one. */
  LB_TRAIT_WAITS_INSIDE = 1 << 14,
  LB_TRAIT_TRUE_CLOCK =
      1 << 15, /* its clocks are the machine's, and cannot be set: a program that asks the kernel for them */
  /* A program of somebody else behind a pipe (foreign.h): a session is a process of its own beside the client, which it
   * is stopped and killed with. Its
   * -EPROTO says that the program broke the rules of the pipe. It need not have extend, holds and inspect. */
  LB_TRAIT_FOREIGN = 1 << 16,
  LB_TRAIT_SHARED = 1 << 20,  /* has readers beside writers: readers together, a writer alone */
  LB_TRAIT_PERMITS = 1 << 21, /* a semaphore: lets in as many as it is told */
  /* What exclusion rests on besides, as the design comment of the file says under "Assumes"; lb_assumptions has all of
   * it in words. */
  LB_TRAIT_NEEDS_MEMORY = 1 << 17, /* a server that comes back has what it had confirmed */
  LB_TRAIT_NEEDS_SUCCESSOR =
      1 << 18, /* who takes over has what was confirmed, and who was replaced grants nothing and ends nothing */
  LB_TRAIT_NEEDS_RATE = 1 << 19, /* the clocks that count a lease run at nearly the rate of the holder's */
};

/* What a lock declares that its exclusion rests on: it is one of these if it has one of the traits. In the order of a
 * table, a NULL name behind the last. */
struct lb_assumption {
  const char *name; /* "memory" */
  const char *text; /* what has to be so, as a clause */
  unsigned traits;
};
extern const struct lb_assumption lb_assumptions[];

struct lb_session; /* private: every protocol file defines its own body */

/* What open() gets. All pointers outlive the session. */
struct lb_config {
  struct lb_env *env;
  const struct lb_target *target;
  const union lb_value *options;      /* in the order of the protocol's option table */
  int64_t ttl_ms;                     /* of the trial; session protocols use it as their session timeout */
  const char *client;                 /* name of this client, at most 31 bytes, for owner tags and logs */
  const struct lb_protocol *protocol; /* the table it is opened as: its `data` tells the members of a family apart */
  /* Of the run, [a-z0-9:-], no other run has it: every key is called <prefix>-<more>, and everything that a protocol
   * makes on a server carries it, so that teardown finds all of it and nothing else. */
  const char *prefix;
  bool looks_on; /* this session asks for no lock: it sets up, inspects, tears down */
};

/* A plugin is compiled against one contract and runs with that one: this grows by one with whatever changes in this
 * header. */
#define LB_ABI 3

/* What scenarios and recorded grants are proved with, and no client asks. Every hook is optional: NULL where nobody can
 * tell. */
struct lb_proofs {
  /* Asks one server, target->endpoints[endpoint], what it knows by itself, without quorum: 1 = it has a record that
   * somebody holds the key, 0 = it has none, -errno. */
  int (*inspect)(struct lb_session *session, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
  /* The server that this session talks to, the one its latest answer came from: its index in target->endpoints; -ENOENT
   * = to none now, or to several at once (then env->err may stay empty). Asks nobody and does not wait. A scenario cuts
   * or kills that server, and every outcome of an acquire says who was asked. NULL = no client can tell. Of who cannot,
   * here or by
   * -ENOENT, nobody knows that an acquire that timed out had asked anybody. */
  int (*server)(struct lb_session *session);
  /* Where several servers vote: those that had said yes when the latest try was granted, in bits: 1 << i is
   * target->endpoints[i]. Called right after that grant, asks nobody and does not wait. Every grant of a timeline or
   * campaign is recorded with it. NULL = nobody votes. */
  uint64_t (*voters)(struct lb_session *session);
  /* How old the state was in which the latest try was granted: a number that grows with every change of the lock at the
   * service, and is the same at all its servers (ZooKeeper: the transaction that changed the lock's folder last); 0 =
   * that is not known. Called right after that grant, asks nobody and does not wait. Of two grants the one with the
   * smaller number has read the older state. NULL = the service has no such number, or does not tell. */
  uint64_t (*seen)(struct lb_session *session);
  /* The session at the service that an attempt or a hold stands and falls with, by its number there (ZooKeeper: the
   * session, etcd: the lease); 0 = it has none now. Called right after a try that was granted or refused, asks nobody
   * and does not wait. A scenario waits until the servers have ended that session. NULL = the service has no sessions,
   * or does not tell. */
  uint64_t (*session_id)(struct lb_session *session, const struct lb_grant *grant);
};

struct lb_protocol {
  uint32_t abi;        /* LB_ABI */
  const char *name;    /* "redis-token" */
  const char *summary; /* one line */
  /* A few lines each for `lockbench show`, of a plug-in. NULL in backends/: the comment at the head of the file says it. */
  const char *promises;            /* what holds, and under which assumption */
  const char *breaks;              /* what breaks it */
  const char *source;              /* where the algorithm comes from */
  const char *const *topologies;   /* those it can run on, default first, NULL at the end; "none" = no servers */
  unsigned traits;                 /* enum lb_trait */
  const char *unsafe_why;          /* with LB_TRAIT_UNSAFE */
  const struct lb_option *options; /* NULL = none */
  const char *const *points;       /* names given to lb_point(), NULL at the end; NULL = none */
  size_t session_size;

  /* Mandatory. ------------------------------------------------------------------------------------------ */

  /* Prepares a session in zeroed memory of session_size bytes. Connecting may happen here or at the first use.
   * 0 or -errno; after an error close() is still called. */
  int (*open)(struct lb_session *session, const struct lb_config *config, lb_ns deadline);
  /* Gives up all resources without waiting for the network for long. Accepts a half-opened session. */
  void (*close)(struct lb_session *session);
  /* One attempt, no waiting for other holders.
   * (Options may ask for several tries and the pauses between them, as one call of a library makes them.)
   * LB_OK: granted, *grant complete. LB_BUSY: see enum (with LB_TRAIT_QUEUES the place in the queue is kept in *grant).
   * LB_TIMEOUT: the deadline passed before anything was sent or could take effect. LB_UNKNOWN: *grant names the
   * attempt, to be given to resolve() or release(). -errno: a definite refusal or no server; nothing remains. -EMFILE:
   * this session holds as many locks as it can. */
  int (*try_acquire)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* Ends an attempt, granted, queued or unknown. LB_OK: nothing of it remains at the service. LB_LOST: it was not
   * held any more (somebody else's lock was left alone). LB_UNKNOWN: may still be there; call again. -errno. */
  int (*release)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);

  /* Optional: NULL where a protocol has no such thing. ----------------------------------------------------- */

  /* Once per trial, before any client's first acquire, in one session: create tables, parents, scripts. LB_OK,
   * LB_TIMEOUT, LB_UNKNOWN,
   * -errno; everything but LB_OK ends the trial. */
  int (*setup)(struct lb_session *session, lb_ns deadline);
  /* Renews the lease: LB_OK (grant->valid_until moved, unless it is LB_NEVER), LB_LOST, LB_UNKNOWN (valid_until not
   * moved out), -errno. Mandatory for LB_TRAIT_LEASED, like holds and inspect. */
  int (*extend)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* After BUSY: sleeps until a new try is worth it. LB_OK: try again. LB_TIMEOUT: the deadline passed. -errno. */
  int (*wait)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* After UNKNOWN from try_acquire: asks the server. LB_OK: it is held (*grant complete). LB_BUSY: not held, and it
   * never will be. LB_UNKNOWN: still not known. -errno. */
  int (*resolve)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* Asks the server: LB_OK: it has just confirmed that the lock is ours. LB_LOST. LB_UNCONFIRMED, where several servers
   * vote: see enum, it may still be ours. LB_UNKNOWN: too few answered. -errno (that no server could be
   * reached, as ECONNREFUSED and ETIMEDOUT say, counts as no answer, too). */
  int (*holds)(struct lb_session *session, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);

  /* For protocols that share hooks: what makes this one of them, given to open() as config->protocol->data. NULL =
   * nothing. */
  const void *data;
  /* Once per trial, when nobody else uses the servers any more, in the session of setup or in a new one: removes what
   * setup made and what all clients left, which is everything that carries the prefix of the run. Harmless to repeat,
   * and without a setup before it. LB_OK: nothing of it remains. LB_TIMEOUT, LB_UNKNOWN: some of it may. -errno. NULL =
   * a run leaves nothing on any server. What teardown never got to remove has an end by itself where the server knows
   * such a thing (a lease, a session, an expiry). */
  int (*teardown)(struct lb_session *session, lb_ns deadline);
  /* What the client library, or the connection itself, has said of the session since the attempt of *grant: without
   * waiting, and without asking anybody. LB_OK: nothing. LB_UNKNOWN: in doubt, as the connection was broken or the
   * library disconnected, even if it is back by now: the lock may still be held. LB_LOST: the session that held it is
   * over. -errno. Unless it is LB_OK env->err says what was said. It notices what has arrived by now: of packets that
   * are dropped nobody tells. NULL = a loss of the connection is told to nobody. */
  int (*doubt)(struct lb_session *session, const struct lb_lock *lock, const struct lb_grant *grant);
  /* What conform asks of it in vain. NULL = nothing. */
  const struct lb_flaw *flaws;
  /* How long who is refused, and is not told of a release, pauses before it asks again, where the algorithm says so. 0
   * = as the harness does it: at random, of up to 1 ms at first, and up to 16 ms later. */
  int64_t poll_ms;
  /* What stands between the client and its library, if that is another process: how long a call takes there and back
   * that asks for nothing, as it was measured when the session was opened, in ns. NULL = nothing does. */
  lb_ns (*round_trip)(struct lb_session *session);
  /* The one of its points that lies in the middle of an acquire: something of it has been done, replies are still to be
   * read or requests to be sent. NULL = there is none: at its points nothing was sent, or all is decided. */
  const char *midway;
  /* What its traits and hooks do not say, as words NAME=VALUE of the table in harness/theory/facts.c: "release=blind
   * lost=blind". From them it is predicted what each fault does to it. NULL = as a sound lock of its kind. */
  const char *facts;
  const struct lb_proofs *proofs; /* NULL = none */
  /* Removes, at target->endpoints[endpoint], the record that somebody holds the key, as an operator does who breaks a
   * lock: whosever it is, and telling nobody (of a queue its head). 1 = there was one, and the server says that it has
   * removed it; 0 = there was none; -errno. For faults, not for clients. NULL = there is no record that could be
   * removed (a lock of a session). */
  int (*break_lock)(struct lb_session *session, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
};

/* Its proofs, never NULL. */
static inline const struct lb_proofs *lb_proofs(const struct lb_protocol *protocol) {
  static const struct lb_proofs none;
  return protocol->proofs ? protocol->proofs : &none;
}

/* Whether waiters of this protocol are told: it has the hook wait and, if it has an option `wake`, that is on.
 * `options` as in lb_config, NULL = none was given a value, so `wake` is off. */
bool lb_wakes(const struct lb_protocol *protocol, const union lb_value *options);
/* Whether a grant that came too late is believed (`check_validity` is off), and whether leases are counted by the
 * client's wall clock (`clock` is `wall`). False without such an option. */
bool lb_believes_late(const struct lb_protocol *protocol, const union lb_value *options);
bool lb_counts_by_wall(const struct lb_protocol *protocol, const union lb_value *options);
/* For how long after it was asked for a hold is renewed; 0 = for as long as it lasts. */
lb_ns lb_renewed_for(const struct lb_protocol *protocol, const union lb_value *options);

/* The one symbol a plugin exports: `const struct lb_protocol *const LB_PLUGIN_SYMBOL = &protocol;` */
#define LB_PLUGIN_SYMBOL lockbench_plugin

#endif
