/* SPDX-License-Identifier: MIT
 *
 * topology.h - the real servers a protocol runs on: started fresh, proven ready by asking them, roles found by asking
 * them.
 *
 * A topology is a table of hooks (topology_*.c, one file per server kind); topology.c holds the one list. All of it
 * runs in the trial's controller process, on one thread. Waiting is polling with a deadline, never a blind sleep.
 */
#ifndef LB_TOPOLOGY_H
#define LB_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"
#include "host.h"
#include "proc.h"

#define LB_SERVERS_MAX 8

struct lb_server {
  char name[32];       /* "redis-1", "sentinel-2", "zk-1", "pg-1": also its log file (NAME.log) and data folder */
  const char *service; /* endpoint.service */
  struct lb_host *host;
  uint16_t port;       /* where clients reach it */
  uint16_t extra_port[2]; /* further free ports on its host (ZooKeeper quorum and election) */
  bool data;           /* holds lock state: counts for node N, replicas, majority (a Sentinel does not) */
  char dir[256];       /* its own data folder, empty and existing before start */
  char log[256];
  const char *const *env; /* "NAME=value" for its process, NULL-terminated; NULL = nothing extra */
  struct lb_skew *skew;   /* its clocks, see lb_cluster_skew; NULL = true ones, it runs without the preload library */
  struct lb_proc proc;
};

struct lb_cluster { /* one running topology */
  const struct lb_topology *topology;
  struct lb_env *env; /* of the controller */
  struct lb_server server[LB_SERVERS_MAX]; /* data servers first, in node order */
  size_t server_count, data_count;
  int64_t ttl_ms;     /* of the trial: session timeouts must be within the servers' bounds */
  bool durable;       /* true: on disk, fsync as a careful operator would; false: memory, for directed faults */
  const char *cache_dir; /* a folder that outlives the trial within one run, for templates (initdb once); may be NULL */
  char err[512];      /* one line after a negative return */
  void *state;        /* the topology's own, freed by stop */
  struct lb_endpoint endpoint[LB_SERVERS_MAX]; /* filled by lb_cluster_target */
};

struct lb_topology {
  const char *name;        /* "sentinel" */
  const char *summary;     /* one line */
  /* Programs (found in PATH) and files (a path, wildcards allowed) it needs, each perhaps with alternatives: "java or
   * $JAVA_HOME/bin/java"; NULL-terminated. */
  const char *const *needs;
  size_t data_count;       /* data servers */
  size_t other_count;      /* further servers (Sentinels) */
  const char *service;     /* of the data servers */
  const char *other_service;
  const char *sentinel_master; /* lb_target.sentinel_master */
  bool majority;           /* true: it serves only with a majority of its data servers (redis-x3, redis-x5, zk-x3) */
  bool independent;        /* true: its data servers do not know each other; no one of them decides (redis-x3, -x5) */
  /* Starts all servers and waits until each says it is ready and the cluster can serve (replicas online, leader
   * elected). Hosts, ports, folders and logs are already filled in. 0 or -errno with cluster->err. */
  int (*start)(struct lb_cluster *cluster, lb_ns deadline);
  /* Starts the process of one server on its folder as it is now. Does not wait. 0 or -errno with cluster->err. */
  int (*launch)(struct lb_cluster *cluster, size_t index);
  /* 0 = this server answers a request by itself; else not, with the reason in env->err. */
  int (*answers)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Index of the data server that decides now, asked from the servers themselves; -ENOENT = none right now; -errno.
   * Quick: a server that does not answer within about 200 ms counts as silent. */
  int (*primary)(struct lb_cluster *cluster, lb_ns deadline);
  /* The operator's move, where the system does not fail over by itself (PostgreSQL): makes another data server than
   * `old` the primary. 0 or -errno (-ENOENT: nobody answers that could be promoted, so far). NULL = it fails over by itself, or there is nothing to promote. */
  int (*promote)(struct lb_cluster *cluster, int old, lb_ns deadline);
  /* What its wall clock says, by asking this very server: ms since 1970. 0, or -errno with env->err. NULL = nobody can be asked. */
  int (*wall_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* What its monotonic clock says, in ms from a moment of its own choice, by asking this very server: only differences mean
   * something. 0, or -errno with env->err. NULL = it tells nobody (Redis, PostgreSQL). */
  int (*mono_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* After all servers were killed: removes what they left outside their folders. NULL = nothing. */
  void (*clean)(struct lb_cluster *cluster);
  /* One line with the server's version, e.g. "redis 7.0.15", from the binaries, for run.json. 0 or -errno. */
  int (*version)(char *buf, size_t size);
};

extern const struct lb_topology *const lb_topologies[]; /* NULL at the end; "none" first */
extern const size_t lb_topology_count;

/* By name, or NULL. */
const struct lb_topology *lb_topology_find(const char *name);
/* First missing need (a static string), or NULL if all is there. */
const char *lb_topology_missing(const struct lb_topology *topology);
/* Fills `ret` for clients; points into cluster. */
void lb_cluster_target(struct lb_cluster *cluster, struct lb_target *ret);
/* Kills all servers (SIGKILL) and frees state and clocks. */
void lb_cluster_stop(struct lb_cluster *cluster);
/* Gives one server clocks that can be set, true ones for now: server->skew. They start with the server and outlive its restarts, so
 * call it when its folder exists and before start(). 0 or -errno with err (-ENOENT: there is no preload library). */
int lb_cluster_skew(struct lb_cluster *cluster, size_t index);
/* Asks one server for its wall clock in ms since 1970. 0, or -errno with the reason in env->err; -EOPNOTSUPP: it cannot be asked. */
int lb_cluster_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* The same for its monotonic clock, from a moment of its own choice. */
int lb_cluster_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* Starts one server again on what it left behind and waits until it answers. It is killed first if it runs or is stopped. Its clocks
 * stay as they are. 0 or -errno with err. */
int lb_cluster_restart(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* The same for several at once, as when the power comes back: where they answer only with a majority (ZooKeeper), one after the other
 * would wait in vain. */
int lb_cluster_restart_many(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline);
/* `await failover`: promotes where needed, then waits until primary() names a server other than `old` (for a majority
 * topology of independent masters: until a majority answers without `old`). 0, LB_TIMEOUT, or -errno. */
int lb_cluster_failover(struct lb_cluster *cluster, int old, lb_ns deadline);

#endif
