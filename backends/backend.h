/* SPDX-License-Identifier: MIT
 *
 * backend.h - the contract between lockbench and a lock protocol.
 *
 * A protocol is a file in this folder: a design comment, some hooks, and one `const struct lb_protocol` that names
 * them. The harness knows protocols through this table only. A protocol knows this header, its client library and its
 * helpers, and nothing else.
 *
 * Rules for a protocol
 *  - It blocks only in lb_wait_fd(), lb_wait_fds() and lb_sleep_until(). It reads clocks and random numbers only
 *    through lb_now(), lb_wall_ms() and lb_random(). So the same code runs against real time or a fake clock.
 *  - A hook returns 0 for success, a positive enum lb_result that the caller has to handle, or -errno for failed
 *    infrastructure. For every -errno the text for people stands in env->err (lb_fail()).
 *  - Every deadline is absolute, on the clock of lb_now(). conform allows a hook half a second more.
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
  LB_OK = 0,          /* done; for acquire: granted */
  LB_BUSY = 1,        /* definite: somebody else holds it, this attempt does not */
  LB_TIMEOUT = 2,     /* definite: the deadline passed, and nothing of this attempt took effect or remains */
  LB_LOST = 3,        /* was held, is no longer: expired, taken over, session gone */
  LB_UNKNOWN = 4,     /* the request may or may not have taken effect: "may hold it" */
  LB_UNCONFIRMED = 5, /* of holds only: a majority of the servers answered, with no majority for yes or for no */
};

/* ---- env: the world as one client sees it ------------------------------------------------------------- */

/* The caller provides it: the harness (real time) or a test (fake clock). A hook stores no more than the pointer. Use
 * the wrappers below. */
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
/* Wall clock of this client, ms since 1970. Only for protocols with LB_TRAIT_CLIENT_CLOCK or an option `clock`. */
static inline int64_t lb_wall_ms(struct lb_env *env) { return env->wall_ms(env); }
/* Sleeps until `when` (or returns at once if it has passed). */
static inline void lb_sleep_until(struct lb_env *env, lb_ns when) { env->sleep_until(env, when); }
/* Random bytes from the seed of the trial, so that it can be replayed. Each client gets other ones. */
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
/* A point: a place where a scenario may stop or kill the client, e.g. "after-set". Free unless armed. `points` of the
 * table lists every name, and says whether at an "after-" point the reply has been read. */
static inline void lb_point(struct lb_env *env, const char *name) {
  if (env->point) env->point(env, name);
}
/* Puts a printf text into env->err and returns `negative_errno` (which must be < 0). */
int lb_fail(struct lb_env *env, int negative_errno, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- where the servers are ---------------------------------------------------------------------------- */

/* If a protocol cannot use a password or TLS, it refuses with one clear error. It never goes on without. */
struct lb_endpoint {
  const char *service; /* "redis", "sentinel", "zookeeper", "postgres", "mariadb", "memcached", "etcd", "nats" */
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
  size_t shards; /* parts that the keys are split into, each with a primary of its own (Redis Cluster); 0 = none */
  /* Only for servers that are not ours. */
  const char *database; /* of PostgreSQL; NULL = "postgres" */
  const char *ca_file;  /* for tls: certificates, one of which must have signed the server's; NULL = any server */
};

/* ---- options ------------------------------------------------------------------------------------------ */

/* These names mean the same everywhere:
 * - `fence` (bool): grants carry a fencing token. The guard `fence` switches it on.
 * - `wake` (bool): waiters are told of a release. When it is off, the hook wait is not called. Such a protocol has no
 *   LB_TRAIT_WAKES.
 * - `check_validity` (bool): when it is off, a grant is handed out although its lease was over when the reply was
 *   read, and the client believes it.
 * - `clock` with the word `wall`: valid_until comes from the client's wall clock, and is as wrong as that clock.
 * - `renewed_for_ms` (int): a hold is not renewed any more so long after its request; 0 = it always is.
 * - `poll_ms` (int): how long a refused client pauses before its next try. No table has it: the tool adds it behind the
 *   options of every lock that polls (lb_option_at()).
 *
 * The guard `fence` needs LB_TRAIT_FENCED or an option `fence` (lb_protocol_can_fence() in registry.h). */
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
 * and there it has to fail. An answer outside the contract is never a flaw. */
struct lb_flaw {         /* a table of these ends with .statement = NULL */
  const char *statement; /* as conform says it: "a stale release leaves the next holder alone" */
  const char *reason;    /* one line: "the release deletes any client's key" */
  const char *where; /* the flaw is there with this value of a bool or choice option only: "token=no"; NULL = always */
};

/* ---- a lock ------------------------------------------------------------------------------------------- */

/* What is asked for. It belongs to the caller and is valid for the call. All calls about one attempt name the same key
 * and ttl, except extend, whose ttl is the new one. New fields come at the end, and 0 means what it meant before them:
 * so initialise by name, and never copy it into an array. */
struct lb_lock {
  const char *key; /* the whole name, [a-z0-9:-], at most 63 bytes; it begins with the prefix of the run */
  int64_t ttl_ms;  /* length of the lease */
  bool shared;     /* with LB_TRAIT_SHARED: a reader asks, which others may share */
  int permits;     /* with LB_TRAIT_PERMITS: so many may hold at once; 0 and 1 = one */
  bool patient;    /* where lb_waits_inside(): the try may wait for its turn until its deadline; false = it may not */
};

/* ---- a grant ------------------------------------------------------------------------------------------ */

#define LB_TOKEN_MAX 160

/* One attempt to get a lock and, if it succeeds, the hold. The caller owns it. LB_GRANT_INIT starts a new attempt; the
 * same grant, handed back unchanged, continues one. So a repeated acquire is idempotent. */
struct lb_grant {
  char token[LB_TOKEN_MAX]; /* what proves ownership: random bytes, a znode path, an owner id; empty = a new attempt */
  size_t token_len;
  uint64_t fence; /* fencing token, larger for later grants of the same key; 0 = the protocol has none, or it is off */
  lb_ns asked_at; /* lb_now() just before the first request of this attempt left */
  /* The client may believe it holds until then. LB_TRAIT_LEASED: at most asked_at + ttl, so it counts from before the
   * request. LB_TRAIT_SESSION: when the session would end without further contact, counted from before the latest
   * request; or LB_NEVER if the lock ends with its process or connection. LB_TRAIT_NO_EXPIRY: LB_NEVER. */
  lb_ns valid_until;
};
#define LB_GRANT_INIT ((struct lb_grant){0})

/* The end of a lease of ttl_ms that was requested at `asked_at`, less 1 % for clock rates and 2 ms for a server's
 * rounding. */
lb_ns lb_lease_end(lb_ns asked_at, int64_t ttl_ms);
/* After an extension with this `result`; `end` is lb_lease_end() of the time before its request left. LB_OK moves
 * valid_until there. LB_UNKNOWN does so only if that is earlier, as both ends may be true. Returns `result`. */
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
  /* No lock: the bare commands of one, on a key of each client's own. It runs where no two clients meet, and nothing is
   * said of it but its speed. Its name begins with "floor-". Needs LB_TRAIT_UNSAFE. */
  LB_TRAIT_FLOOR = 1 << 7,
  /* The service knows that a lock is held, not by whom (a SETNX without a token). release removes any record: LB_OK,
   * there was one, perhaps another client's; LB_LOST, there was none. holds and extend likewise: LB_OK, some client
   * holds it; LB_LOST, none does. A repeated try of a granted attempt may say LB_BUSY. */
  LB_TRAIT_NO_OWNER = 1 << 11,
  /* A session that holds may be granted the same lock again, by another attempt with a grant of its own. Others are
   * refused until it has released all of them, in any order. Without this trait such a session is refused. (The same
   * attempt, handed back, is no second one: see try_acquire.) */
  LB_TRAIT_REENTRANT = 1 << 12,
  /* The client of this lock has a watchdog: holds are renewed every third of the ttl until they are released. The
   * caller calls extend, never beside another hook. Needs extend. */
  LB_TRAIT_RENEWED = 1 << 13,
  /* A try may wait for its turn until its deadline, if `patient` of struct lb_lock says so: its library has a blocking
   * acquire. It ends with LB_BUSY, LB_TIMEOUT or LB_UNKNOWN, and no pause is needed before the next try. */
  LB_TRAIT_WAITS_INSIDE = 1 << 14,
  LB_TRAIT_TRUE_CLOCK = 1 << 15, /* its clocks are the machine's and cannot be set */
  /* A foreign program behind a pipe (foreign.h): each session is a process, stopped and killed with its client. Its
   * -EPROTO says that the program broke the rules of the pipe. It need not have extend, holds and inspect. */
  LB_TRAIT_FOREIGN = 1 << 16,
  LB_TRAIT_OWN_THREADS =
      1 << 22,               /* its client library has threads: many clients in one process would be measured by them */
  LB_TRAIT_SHARED = 1 << 20, /* has readers beside writers: readers together, a writer alone */
  LB_TRAIT_PERMITS = 1 << 21, /* a semaphore: lets in as many as it is told */
  /* What exclusion rests on besides: "Assumes" of the design comment. lb_assumptions has the words. */
  LB_TRAIT_NEEDS_MEMORY = 1 << 17, /* a server that comes back has what it had confirmed */
  LB_TRAIT_NEEDS_SUCCESSOR =
      1 << 18,                   /* a new primary has what was confirmed, and the old one grants and ends nothing */
  LB_TRAIT_NEEDS_RATE = 1 << 19, /* the clocks that count a lease run at nearly the rate of the holder's */
};

/* What exclusion rests on. A lock declares it by one of the traits. The table ends with a NULL name. */
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
  /* Unique to the run, [a-z0-9:-]. Every key is <prefix>-<more>. Whatever a protocol makes on a server carries it, so
   * that teardown finds all of it and nothing else. */
  const char *prefix;
  bool looks_on; /* this session asks for no lock: it sets up, inspects, tears down */
};

/* A plug-in runs with the contract that it was compiled against: this grows by one with any change of this header. */
#define LB_ABI 6

/* Hooks that only proofs use, not clients. Each is optional: NULL where the protocol cannot tell. */
struct lb_proofs {
  /* Asks one server, target->endpoints[endpoint], without quorum: 1 = it has a record that a client holds the key, 0 =
   * none, -errno. */
  int (*inspect)(struct lb_session *session, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
  /* The server that the latest answer came from: its index in target->endpoints; -ENOENT = none, or several at once
   * (then env->err may stay empty). Sends nothing and does not wait. Scenarios cut or kill that server, and every
   * outcome of an acquire records it. Without it an acquire that timed out may have asked a server or not. */
  int (*server)(struct lb_session *session);
  /* Where several servers vote: those that said yes to the latest try, as bits (1 << i is target->endpoints[i]).
   * Called right after that try, granted or not; sends nothing and does not wait. */
  uint64_t (*voters)(struct lb_session *session);
  /* How old the state was in which the latest grant was read: a number that grows with every change of the lock, the
   * same at all servers (ZooKeeper: the last transaction of the lock's folder). 0 = not known. Called right after that
   * grant; sends nothing and does not wait. */
  uint64_t (*seen)(struct lb_session *session);
  /* The service's number of the session that this attempt or hold depends on (ZooKeeper: the session, etcd: the lease);
   * 0 = none now. Called right after a try; sends nothing and does not wait. A scenario waits until the servers have
   * ended that session. */
  uint64_t (*session_id)(struct lb_session *session, const struct lb_grant *grant);
};

struct lb_protocol {
  uint32_t abi;        /* LB_ABI */
  const char *name;    /* "redis-token" */
  const char *summary; /* one line */
  /* A few lines each for `lockbench show`, of a plug-in. NULL in backends/: the comment at the head of the file says
   * it. */
  const char *promises;            /* what holds, and under which assumption */
  const char *breaks;              /* what breaks it */
  const char *source;              /* where the algorithm comes from */
  const char *const *topologies;   /* those it can run on, default first, NULL at the end; "none" = no servers */
  unsigned traits;                 /* enum lb_trait */
  const char *unsafe_why;          /* with LB_TRAIT_UNSAFE */
  const struct lb_option *options; /* NULL = none */
  const char *const *points;       /* names given to lb_point(), NULL at the end; NULL = none */
  size_t session_size;

  /* ---- mandatory ----------------------------------------------------------------------------------------- */

  /* Prepares a session in zeroed memory of session_size bytes. Connecting may happen here or at the first use.
   * 0 or -errno; after an error close() is still called. */
  int (*open)(struct lb_session *session, const struct lb_config *config, lb_ns deadline);
  /* Gives up all resources without waiting for the network for long. Accepts a half-opened session. */
  void (*close)(struct lb_session *session);
  /* One attempt, without waiting for other holders. (Options may ask for several tries with pauses, as one call of a
   * library makes them.)
   * LB_OK: granted, *grant complete. LB_BUSY: with LB_TRAIT_QUEUES *grant keeps the place in the queue. LB_TIMEOUT: the
   * deadline passed before anything could take effect. LB_UNKNOWN: *grant names the attempt, for resolve() or
   * release(). -errno: refused or no server; nothing remains. -EMFILE: this session holds as many locks as it can. */
  int (*try_acquire)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* Ends an attempt, granted, queued or unknown. LB_OK: nothing of it remains at the service. LB_LOST: it was not held
   * any more, and another client's lock was left alone. LB_UNKNOWN: may still be there, call again. -errno. */
  int (*release)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);

  /* ---- optional: NULL where a protocol has no such thing ----------------------------------------------------- */

  /* Once per trial, in one session, before any client's first acquire: tables, parents, scripts. LB_OK, LB_TIMEOUT,
   * LB_UNKNOWN, -errno; all but LB_OK end the trial. */
  int (*setup)(struct lb_session *session, lb_ns deadline);
  /* Renews the lease: LB_OK (grant->valid_until moved, unless it is LB_NEVER), LB_LOST, LB_UNKNOWN (valid_until not
   * moved out), -errno. Mandatory for LB_TRAIT_LEASED, like holds and inspect. */
  int (*extend)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* After BUSY: sleeps until a new try is worth it. LB_OK: try again. LB_TIMEOUT: the deadline passed. -errno. */
  int (*wait)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* After UNKNOWN from try_acquire: asks the server. LB_OK: it is held (*grant complete). LB_BUSY: not held, and it
   * never will be. LB_UNKNOWN: still not known. -errno. */
  int (*resolve)(struct lb_session *session, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
  /* Asks the server. LB_OK: it has just confirmed the hold. LB_LOST. LB_UNCONFIRMED: see enum. LB_UNKNOWN: too few
   * answered. -errno; ECONNREFUSED and ETIMEDOUT count as no answer. */
  int (*holds)(struct lb_session *session, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);

  /* For protocols that share hooks: what tells them apart, as config->protocol->data. NULL = nothing. */
  const void *data;
  /* Once per trial, after all clients have ended, in the session of setup or a new one: removes everything with the
   * prefix of the run. May be repeated, also without a setup. LB_OK: nothing remains. LB_TIMEOUT, LB_UNKNOWN: some may.
   * -errno. NULL = a run leaves nothing on any server. Where the server can, what stays ends by itself (a lease, a
   * session, an expiry). */
  int (*teardown)(struct lb_session *session, lb_ns deadline);
  /* What the client library or the connection has said of the session since the attempt of *grant. Sends nothing and
   * does not wait. LB_OK: nothing. LB_UNKNOWN: in doubt, as the connection was broken, even if it is back. LB_LOST: the
   * session that held is over. -errno. Except for LB_OK, env->err says what was said. Dropped packets tell nothing.
   * NULL = the library does not tell of a lost connection. */
  int (*doubt)(struct lb_session *session, const struct lb_lock *lock, const struct lb_grant *grant);
  /* Promises that it breaks by design. NULL = none. */
  const struct lb_flaw *flaws;
  /* How long a refused client that polls pauses before its next try, if the algorithm says so. 0 = the harness's
   * backoff, at random up to 1 ms at first and up to 16 ms later. The option `poll_ms` wins over it. */
  int64_t poll_ms;
  /* If the library runs in another process: the time in ns of an empty call there and back, measured when the session
   * was opened. NULL = it does not. */
  lb_ns (*round_trip)(struct lb_session *session);
  /* The point in the middle of an acquire: something was done, and replies or requests are outstanding. NULL = there is
   * none. */
  const char *midway;
  /* Facts that traits and hooks do not say, as NAME=VALUE of the table in harness/theory/facts.c: "release=blind
   * lost=blind". The rules predict from them what each fault does. NULL = as a sound lock of its kind. */
  const char *facts;
  const struct lb_proofs *proofs; /* NULL = none */
  /* Removes the record of the lock at target->endpoints[endpoint], as an operator does who breaks a lock (of a queue
   * its head). It tells no client. 1 = removed, 0 = there was none, -errno. For faults, not for clients. NULL = there
   * is no such record (a lock of a session). */
  int (*break_lock)(struct lb_session *session, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
  /* Tells the library to stop in good order, while its caller works on: what it does then to renewals is its affair.
   * LB_OK, -errno. NULL = there is no such call. */
  int (*stop)(struct lb_session *session, lb_ns deadline);
  /* What a holder does under its lock, where that can meet the lock: statements of its connection, for example. LB_OK.
   * LB_TIMEOUT: it was not over by the deadline, and is given up. LB_UNKNOWN. -errno: it failed. NULL = nothing. */
  int (*work)(struct lb_session *session, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
  /* Versions of servers that know its commands: "redis >= 7.2 or valkey >= 7.2", by the names of `doctor`. On others a
   * cell is skipped. NULL = any. */
  const char *needs;
};

/* Its proofs, never NULL. */
static inline const struct lb_proofs *lb_proofs(const struct lb_protocol *protocol) {
  static const struct lb_proofs none;
  return protocol->proofs ? protocol->proofs : &none;
}

/* The options of a lock in the order of their values: those of its table, then `poll_ms` if it polls. NULL = no more. */
const struct lb_option *lb_option_at(const struct lb_protocol *protocol, size_t i);
/* NULL: it has no option of this name. */
const struct lb_option *lb_option_find(const struct lb_protocol *protocol, const char *name);
/* Where the value of an option that was found stands in `options`. */
size_t lb_option_index(const struct lb_protocol *protocol, const struct lb_option *option);

/* Whether waiters of this protocol are told: it has the hook wait, and its option `wake`, if any, is on. `options` as
 * in lb_config; NULL = `wake` is off. */
bool lb_wakes(const struct lb_protocol *protocol, const union lb_value *options);
/* Whether its tries wait for their turn: LB_TRAIT_WAITS_INSIDE, or an option `wait` that is `block`. */
bool lb_waits_inside(const struct lb_protocol *protocol, const union lb_value *options);
/* Whether a client believes a grant that came too late (`check_validity` is off), and whether leases count by its wall
 * clock (`clock` is `wall`). False without such an option. */
bool lb_believes_late(const struct lb_protocol *protocol, const union lb_value *options);
bool lb_counts_by_wall(const struct lb_protocol *protocol, const union lb_value *options);
/* The pause of a refused client before its next try; 0 = the harness's backoff. `options` as in lb_wakes(). */
int64_t lb_poll_ms(const struct lb_protocol *protocol, const union lb_value *options);
/* How long after its request a hold is renewed; 0 = as long as it lasts. */
lb_ns lb_renewed_for(const struct lb_protocol *protocol, const union lb_value *options);

/* The one symbol that a plug-in exports: `const struct lb_protocol *const LB_PLUGIN_SYMBOL = &protocol;` */
#define LB_PLUGIN_SYMBOL lockbench_plugin

#endif
