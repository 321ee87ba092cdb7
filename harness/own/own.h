/* SPDX-License-Identifier: MIT
 *
 * own.h - servers of the user's own, named on the command line: where they are, how to log in, what they say of
 * themselves. Each kind (`--redis`, `--etcd` ...) becomes one more topology (`own-redis`). A trial there starts no
 * server and hurts none: it has clients only.
 *
 * There is one list of them per process. It is made before anything is planned, and never changed afterwards; trials
 * inherit it. A password stands in it, and in no text that is written.
 */
#ifndef LB_OWN_H
#define LB_OWN_H

#include "base/error.h"
#include "servers/topology.h"

enum lb_own_what {
  LB_OWN_REDIS,
  LB_OWN_SENTINEL,
  LB_OWN_CLUSTER,
  LB_OWN_ZOOKEEPER,
  LB_OWN_POSTGRES,
  LB_OWN_MARIADB,
  LB_OWN_ETCD,
  LB_OWN_MEMCACHED,
  LB_OWN_NATS,
  LB_OWN_COUNT
};

/* The kind of server that a login is for: a section of the file of --auth, and the middle of LOCKBENCH_..._PASSWORD. */
enum lb_own_login_of {
  LB_LOGIN_REDIS,
  LB_LOGIN_SENTINEL,
  LB_LOGIN_ZOOKEEPER,
  LB_LOGIN_POSTGRES,
  LB_LOGIN_MARIADB,
  LB_LOGIN_ETCD,
  LB_LOGIN_MEMCACHED,
  LB_LOGIN_NATS,
  LB_LOGIN_COUNT
};

#define LB_OWN_HOST_MAX 256
struct lb_own_address {
  char host[LB_OWN_HOST_MAX]; /* a name or a numeric address, of IPv6 without brackets */
  uint16_t port;
};

struct lb_own_login {
  char user[128], password[256]; /* "" = none */
  char ca[512];                  /* a file of certificates that the server's has to be signed by; "" = any is taken */
  bool tls;
};

/* What the servers have said. Filled by another process, hence without pointers. */
struct lb_own_found {
  struct lb_own_address server[LB_SERVERS_MAX]; /* those that hold locks first */
  size_t count, data_count;
  size_t shards, replicas; /* of struct lb_target */
  int64_t least_ttl_ms;    /* they grant no shorter session or lease; 0 = any */
  char version[64];        /* "redis 7.0.15" */
  char facts[32];          /* of struct lb_topology; "" = none */
};

struct lb_own;
struct lb_own_kind {
  const char *option, *topology; /* "--redis", "own-redis" */
  const char *takes;             /* "HOST:PORT[,HOST:PORT...]" */
  enum lb_own_login_of login;    /* of those that hold locks */
  uint16_t port;                 /* where none is named */
  const char *alone, *many;      /* the topologies that one server stands for, and several */
  bool no_tls;                   /* the client library here has none */
  /* Both run in a process of their own, in which a library may leave what it likes. Asks the servers of own->given;
   * fills `ret`. 0, or
   * -errno with the reason in env->err; -EACCES: they want a login, or another one. */
  int (*ask)(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret);
  /* Removes whatever any run of lockbench has left on them. 0 or -errno with env->err. */
  int (*clean)(struct lb_env *env, const struct lb_own *own, lb_ns deadline);
  /* Takes the value of the option apart, with one line in err where it has what does not belong there. NULL = it is a
   * list of HOST:PORT. */
  int (*read)(struct lb_own *own, const char *value, struct lb_error *err);
};

struct lb_own {
  const struct lb_own_kind *kind;
  struct lb_own_address given[LB_SERVERS_MAX]; /* as they were typed */
  size_t given_count;
  char master[64];   /* with Sentinel */
  char database[64]; /* of PostgreSQL */
  struct lb_own_found found;
  char summary[700]; /* "redis 7.0.15 at 127.0.0.1:6379" */
  /* It has the hooks of our family that ask, and none that starts, stops, orders or counts: other people's requests would
   * be counted, too. */
  struct lb_family family;
  struct lb_topology topology;
};

/* ---- the list ------------------------------------------------------------------------- */

extern const struct lb_own_kind *const lb_own_kinds[LB_OWN_COUNT];
/* Adds the servers that an option names. 0, or -EINVAL with one line in err, which never repeats a password. */
int lb_own_add(enum lb_own_what what, const char *value, struct lb_error *err);
/* NULL behind the last. */
struct lb_own *lb_own_at(size_t index);
/* Adds "own-sentinel" as if servers were named, as many as those have that they stand for. Nothing can run there. False:
 * there is no such kind. */
bool lb_own_suppose(const char *topology);
/* What clients get; it points into `own`, and the logins. Before lb_own_ask() it lists what was typed. `endpoint` has
 * room for LB_SERVERS_MAX. */
void lb_own_target(const struct lb_own *own, struct lb_endpoint *endpoint, struct lb_target *ret);

/* ---- logins (own_login.c) --------------------------------------------------------------------- */

struct lb_own_login *lb_own_login(enum lb_own_login_of whom);
/* "redis": the section, and in capitals the part of the names in the environment. */
extern const char *const lb_own_login_names[LB_LOGIN_COUNT];
/* Takes LOCKBENCH_REDIS_USER, _PASSWORD, _TLS and _CA and so on out of the environment, so that no child inherits them.
 * 0, or -EINVAL with one line in err. */
int lb_own_take_environment(struct lb_error *err);
/* Reads a file of logins. What is in it wins over the environment. 0, or -EINVAL with one line in err (no such file;
 * one that others may read; FILE:LINE: what was found, what was expected). */
int lb_own_read_logins(const char *path, struct lb_error *err);
/* From now on no core of this process or its children is written, and none of them can be looked into. Nothing, if
 * there is no password. */
void lb_own_keep_secrets(void);
/* Takes the logins out of this process, which needs none: it may be looked into again, as its tools have to. */
void lb_own_forget_logins(void);

/* ---- asking them -------------------------------------------------------------------- */

/* Asks who they are, in a process of its own, and completes the topology. 0, or -errno with one line in err; -EACCES:
 * they want a login. */
int lb_own_ask(struct lb_own *own, struct lb_env *env, struct lb_error *err);
/* Removes what runs have left on them, likewise. */
int lb_own_clean(struct lb_own *own, struct lb_env *env, struct lb_error *err);

/* ---- private to this room: one file for each kind of server ------------------------------------- */

extern const struct lb_own_kind lb_own_kind_redis, lb_own_kind_sentinel, lb_own_kind_cluster, lb_own_kind_zookeeper,
    lb_own_kind_postgres, lb_own_kind_mariadb, lb_own_kind_etcd, lb_own_kind_memcached, lb_own_kind_nats;

/* Every name that a run gives to what it makes begins with this and eight of these. */
#define LB_OWN_PREFIX "lockbench:"
#define LB_OWN_DIGIT "[0-9a-f]"
#define LB_OWN_DIGITS                                                                                                  \
  LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT

/* Whether a text behind the prefix begins with them, and with no more. */
bool lb_own_names_run(const char *behind);

/* "host", "host:6379", "[::1]:6379"; without a port it gets this one. `text` is written to. */
bool lb_own_read_address(char *text, uint16_t port, struct lb_own_address *ret);
/* One more server, "HOST:PORT". `text` is written to. */
int lb_own_add_address(struct lb_own *own, char *text, struct lb_error *err);
/* -EINVAL with the line that says where a password belongs. */
int lb_own_refuse_login(const struct lb_own_kind *kind, struct lb_error *err);
/* Adds a server to those that were found. 0, or -E2BIG with env->err. */
int lb_own_note(struct lb_env *env, const struct lb_own *own, struct lb_own_found *found, const char *host,
                uint16_t port);

#endif
