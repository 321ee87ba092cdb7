/* SPDX-License-Identifier: MIT
 *
 * family.h - one kind of server: what it is, how it is started, configured and asked. What an operator does to it is a
 * table of its own (operator.h).
 *
 * A family is a table of hooks (family_*.c, one file each). It has no numbers of its own: the row of the topology
 * (topology.h) says how many servers there are, what they keep and how they replicate. A hook reads it through its
 * cluster (cluster.h). All hooks run in the controller of the trial, on one thread, and poll with a deadline.
 *
 * Unless a comment says otherwise, a hook returns 0 or -errno, with the reason in env->err. NULL = the family cannot do
 * it.
 */
#ifndef LB_FAMILY_H
#define LB_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "counts.h"
#include "operator.h"
#include "setting.h"

struct lb_cluster;
struct lb_origin;
struct lb_own;
struct lb_topology;

enum { LB_STATED_MAX = 32 };

/* The clock by which a server ends what a silent client has there: a key with a ttl, a lease, a session. A lease that
 * only a protocol's statements know is not the server's (LB_TRAIT_SERVER_CLOCK). */
enum lb_ends_by {
  LB_ENDS_BY_NO_CLOCK, /* by the connection, or by nothing */
  LB_ENDS_BY_WALL,
  LB_ENDS_BY_MONOTONIC, /* ticks, too */
};

struct lb_family {
  const char *name; /* "sentinel" */
  enum lb_ends_by ends_by;
  /* Programs (in PATH) and files (a path with wildcards) that it needs, perhaps with alternatives: "java or
   * $JAVA_HOME/bin/java"; NULL-terminated. */
  const char *const *needs;
  const char *service;       /* endpoint.service of the data servers; NULL = there are no servers */
  const char *other_service; /* of the others; NULL = there are none */
  bool fronted; /* clients talk to the others alone, which stand before the data servers and speak as these do */
  const char *sentinel_master; /* lb_target.sentinel_master */
  const char *cause; /* how a line of the log begins that says why the server ended; NULL = its last line does */
  const struct lb_setting *settings; /* of its data servers, NULL = none */
  bool majority;                     /* several data servers serve only with a majority of them */
  bool all_serve;   /* clients talk to any of several data servers, also to those that follow another */
  bool by_libc;     /* its servers call the kernel through the C library, so a preload library sees writes and syncs */
  int poll_ms;      /* pause between two questions to a server that is waited for; 0 = 10 */
  bool independent; /* several data servers do not know each other: they never talk, and no one of them decides */

  /* ---- start, configure ---- */

  /* Starts all servers and waits until the cluster can serve (replicas online, leader elected). Hosts, ports, folders
   * and logs are filled in. On error cluster->err says why. NULL = nothing to start. */
  int (*start)(struct lb_cluster *cluster, lb_ns deadline);
  /* Starts the process of one server on its folder. Does not wait. On error cluster->err says why. */
  int (*launch)(struct lb_cluster *cluster, size_t index);

  /* ---- ask: of servers of the user's own, too, so with the login of lb_cluster_endpoint(), and nothing is set ---- */

  /* 0 = this server answers a request by itself. */
  int (*answers)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* 0 = a later timeline may use these servers: each answers, and has a role of a complete set. -ESTALE: they never will
   * be as good as new. NULL = unknown. */
  int (*healthy)(struct lb_cluster *cluster, lb_ns deadline);
  /* Index of the data server that decides now (of several, for cluster->key), asked from the servers; -ENOENT = none. A
   * server that does not answer within about 200 ms counts as silent. */
  int (*primary)(struct lb_cluster *cluster, lb_ns deadline);
  /* 0 = this server follows `leader` and has all that this one had when it was asked. */
  int (*caught_up)(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline);
  /* 1 = this server knows the session with that number (lb_proofs.session_id), 0 = not. One that has run out counts
   * until it was ended. */
  int (*has_session)(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline);
  /* 1 = this server has a place in a queue for the client with this address or this session, a hold included; 0 = it has
   * none. NULL = it cannot be asked. */
  int (*has_place)(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline);
  /* 1 = this server says that it serves no client now, 0 = it serves. NULL = it never says so. */
  int (*left)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* 0 = this server says that it has started, although it may not serve yet for want of a majority. NULL = it says
   * nothing before it serves. */
  int (*runs)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* What changes with each start of this server, in words of its own; of MariaDB the second. NULL = nothing that it tells. */
  int (*identity)(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size);
  /* How many clients are connected to this server, beside the one that asks. Servers that talk to each other are none.
   * NULL = it cannot be asked. */
  int (*others)(struct lb_cluster *cluster, size_t index, lb_ns deadline, size_t *ret);
  /* The version that this server states, "7.0.15". NULL = lockbench starts none on what another version left. */
  int (*stated)(struct lb_cluster *cluster, size_t index, lb_ns deadline, char ret[LB_STATED_MAX]);
  /* This server's wall clock, in ms since 1970, by asking it. */
  int (*wall_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* This server's monotonic clock in ms, by asking it; only differences mean something. NULL = it does not tell (Redis,
   * PostgreSQL). */
  int (*mono_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* How many writes this server has committed; only differences mean something, and only while the same server decides.
   * A replica says 0. NULL = it does not count. */
  int (*commits)(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
  /* How many requests this server has received; only differences mean something. The question counts, and so do session
   * heartbeats. NULL = it does not count them. */
  int (*requests)(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
  /* What else this server counts, added to `ret`: commands, log entries. The question may count. NULL = nothing. */
  int (*counts)(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret);
  /* CPU time that this server's JVM has spent on compiling so far. NULL = it does not compile. */
  int (*compiling)(struct lb_cluster *cluster, size_t index, lb_ns *ret);
  /* The shortest session in ms that its servers grant. They would make a shorter ttl longer without a word. NULL = any.
   * */
  int64_t (*least_ttl_ms)(const struct lb_topology *topology, bool measured);

  /* ---- stop, and what needs no server of ours ---- */

  /* Removes what killed servers left outside their folders. NULL = nothing. */
  void (*clean)(struct lb_cluster *cluster);
  /* The server's version in one line, "redis 7.0.15", from the binaries of an origin (NULL: this machine's). */
  int (*version)(const struct lb_origin *origin, char *buf, size_t size);
  /* What clients get of the user's own servers. NULL = the cluster knows. */
  void (*target)(const struct lb_own *own, struct lb_endpoint *endpoint, struct lb_target *ret);

  struct lb_operator orders;
};

/* The families there are; the table of topologies is made of these. */
extern const struct lb_family lb_family_none, lb_family_members, lb_family_redis, lb_family_sentinel, lb_family_cluster,
    lb_family_zookeeper, lb_family_postgres, lb_family_pooled, lb_family_patroni, lb_family_mariadb,
    lb_family_memcached, lb_family_etcd, lb_family_nats;

#endif
