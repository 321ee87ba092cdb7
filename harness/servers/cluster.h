/* SPDX-License-Identifier: MIT
 *
 * cluster.h - a running topology: real servers, started fresh, proven ready by asking them, roles
 * found by asking them.
 *
 * All of it runs in the trial's controller process, on one thread.
 */
#ifndef LB_CLUSTER_H
#define LB_CLUSTER_H

#include <stdatomic.h>

#include "base/error.h"
#include "network/net.h"
#include "network/proc.h"
#include "topology.h"

enum { LB_SLOW_S = 10 };

struct lb_server {
  char name[32];       /* "redis-1", "sentinel-2", "zookeeper-1": also its log file (NAME.log) and data folder */
  const char *service; /* endpoint.service */
  struct lb_host *host;
  uint16_t port;          /* where clients reach it */
  uint16_t extra_port[2]; /* further free ports on its host (ZooKeeper quorum and election) */
  bool data;              /* holds lock state: counts for node N, replicas, majority (a Sentinel does not) */
  char dir[256];          /* its own data folder, empty and existing before start */
  char log[256];
  const char *const *env;       /* "NAME=value" for its process, NULL-terminated; NULL = nothing extra */
  char journal[300];            /* the file in which a preload library keeps what it writes, see disk.h; "" = none */
  struct lb_stall *stall;       /* its disk, which may stall; NULL = it may not */
  bool wiped;                   /* its files were removed, so it does not begin a cluster: it joins one */
  bool own_disk;                /* its folder is a file system of its own, which may be filled (disk.h) */
  struct lb_disk_page *counted; /* what it writes, see lb_disk_watch; NULL = not counted */
  struct lb_skew *skew; /* its clocks, see lb_cluster_skew; NULL = true ones, it runs without the preload library */
  struct lb_proc proc;
};

/* What a person should hear while servers are waited for; may be in memory that the tool shares. */
struct lb_slow {
  _Atomic bool said; /* then the line stays as it is */
  char line[400];
};

struct lb_cluster {
  const struct lb_topology *topology;
  struct lb_env *env;                      /* of the controller */
  struct lb_server server[LB_SERVERS_MAX]; /* data servers first, in node order */
  size_t server_count, data_count;
  int64_t late_ms;       /* how much longer than detector_ms of its row a silent primary leads, as the servers say */
  int64_t ttl_ms;        /* of the trial: session timeouts must be within the servers' bounds */
  bool measured;         /* speed is measured: the servers have a user's settings (family.h) */
  bool durable;          /* true: on disk, fsync as a careful operator would; false: memory, for directed faults */
  const char *key;       /* the lock that `primary` is about, where the servers share the keys out; NULL = whichever */
  const char *cache_dir; /* a folder that outlives the trial within one run, for templates (initdb once); may be NULL */
  struct lb_slow *slow;  /* is told of a server that does not answer for LB_SLOW_S; may be NULL */
  struct lb_error err;   /* after a negative return */
  struct lb_endpoint endpoint[LB_SERVERS_MAX]; /* filled by lb_cluster_target */
};

/* An empty cluster with its servers' names, services and whether they hold locks. The caller fills
 * in ttl_ms, durable, key and cache_dir, and for each server host, ports, folder and log; then it
 * starts. */
void lb_cluster_init(struct lb_cluster *ret, const struct lb_topology *topology, struct lb_env *env);
/* Starts all servers and waits until the cluster serves. 0 or -errno with err. Where there are no
 * servers: 0. */
int lb_cluster_start(struct lb_cluster *cluster, lb_ns deadline);
/* Waits until all servers run and say that they are as good as new. 0, or -errno with err. Returns at once if one has
 * ended, or if the family cannot tell (-EOPNOTSUPP). */
int lb_cluster_await_health(struct lb_cluster *cluster, lb_ns deadline);
/* Index of the data server that decides now; -ENOENT = none right now, or there are no servers;
 * -errno. */
int lb_cluster_primary(struct lb_cluster *cluster, lb_ns deadline);
/* Fills `ret` for clients; points into cluster. */
void lb_cluster_target(struct lb_cluster *cluster, struct lb_target *ret);
/* Kills all servers (SIGKILL), removes what they left outside their folders, and frees their
 * clocks. */
void lb_cluster_stop(struct lb_cluster *cluster);
/* Gives one server clocks that can be set, true ones for now: server->skew. They start with the
 * server and outlive its restarts, so call it when its folder exists and before start(). 0 or
 * -errno with err (-ENOENT: there is no preload library). */
int lb_cluster_skew(struct lb_cluster *cluster, size_t index);
/* Asks one server for its wall clock in ms since 1970. 0, or -errno with the reason in env->err;
 * -EOPNOTSUPP: it cannot be asked. */
int lb_cluster_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* The same for its monotonic clock, from a moment of its own choice. */
int lb_cluster_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
/* Whether this server says that it has left the others: 1, 0, or -errno with the reason in env->err;
 * -EOPNOTSUPP: it never says so. */
int lb_cluster_left(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* How many writes the cluster has committed, from a moment of its own choice: what the server that
 * decides says, or of servers that decide each for itself or for its keys the sum. 0, or -errno with the reason in
 * env->err; -EOPNOTSUPP: they do not count. */
int lb_cluster_commits(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret);
/* How many requests the clients have sent, as the servers count them, from a moment of its own choice: of those that
 * clients talk to, the sum. 0, or -errno with the reason in env->err; -EOPNOTSUPP: they do not count. */
int lb_cluster_requests(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret);
/* CPU time that its servers have spent on compiling themselves so far. 0, or -errno; -EOPNOTSUPP: they
 * are as fast from the begin. */
int lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret);
/* Starts servers again on what they left behind and waits until they answer. They are killed first if they run or are
 * stopped. Their clocks stay as they are. All at once, as when the power comes back: where they answer only with a
 * majority (ZooKeeper), the first one alone would never answer. 0 or -errno with err. */
int lb_cluster_restart_many(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline);
/* Its two halves: kills them and starts them on what they left behind; and waits until each of them answers. 0 or
 * -errno with cluster->err. */
int lb_cluster_begin_restart(struct lb_cluster *cluster, const size_t index[], size_t count);
int lb_cluster_await_answers(struct lb_cluster *cluster, const size_t index[], size_t count, lb_ns deadline);
/* The same for one that has no majority with those whom it reaches: it is enough that it says that it has started. */
int lb_cluster_await_alone(struct lb_cluster *cluster, size_t index, lb_ns deadline);
/* `await failover`: promotes where needed, then waits until another server than `old` decides (with
 * independent masters: until a majority answers without `old`). 0, LB_TIMEOUT, or -errno. */
int lb_cluster_failover(struct lb_cluster *cluster, int old, lb_ns deadline);

/* ---- the servers of one topology on loopback, started fresh, for callers that only call a protocol ----
 *
 * No faults, no clients. (A trial has its site, trial/site.h.) In a sandbox of its own (sandbox.h), which ends what is
 * left. */

#define LB_STAND_PATH 200

struct lb_stand {
  /* The caller's, before lb_stand_up(). */
  char folder[3200]; /* where its servers and templates may lie */
  int64_t ttl_ms;
  bool on_disk;    /* else in memory */
  bool watch_disk; /* what servers write is counted */
  bool measured;   /* they have the settings of a user (family.h) */
  /* From then on. */
  struct lb_net net;
  struct lb_cluster cluster;
  struct lb_target target;
  char scratch[LB_STAND_PATH], cache[3300];
};

/* Everything else in it is 0 before. 0, or -errno with a line in err; lb_stand_down() is called after both. */
int lb_stand_up(struct lb_stand *stand, const struct lb_topology *topology, struct lb_env *env, struct lb_error *err);
void lb_stand_down(struct lb_stand *stand);

#endif
