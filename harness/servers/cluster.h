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
#include "server.h"
#include "topology.h"

enum { LB_SLOW_S = 10 };

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
  bool measured;         /* speed is measured: the servers have a user's settings (setting.h) */
  bool durable;          /* true: on disk, fsync as a careful operator would; false: memory, for directed faults */
  const char *key;       /* the lock that `primary` is about, where the servers share the keys out; NULL = whichever */
  const char *cache_dir; /* a folder that outlives the trial within one run, for templates (initdb once); may be NULL */
  bool promoted;         /* an order made another server the primary: the one before does not follow it */
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
/* Where a server is asked, with its login if it is not ours; points into cluster. `ret`: what else clients get. */
const struct lb_endpoint *lb_cluster_endpoint(struct lb_cluster *cluster, size_t index, struct lb_target *ret);
/* Kills all servers (SIGKILL), removes what they left outside their folders, and frees their
 * clocks. */
void lb_cluster_stop(struct lb_cluster *cluster);
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

/* ---- for families (family_*.c) --------------------------------------------------------------- */

/* Starts all servers of the cluster. */
int lb_cluster_launch_all(struct lb_cluster *cluster);
/* Until its servers are asked again (lb_family.poll_ms). */
void lb_cluster_doze(const struct lb_cluster *cluster);
/* Asks `ready` (0 = yes; -ESTALE = never; else not yet; why not, in env->err) until it says yes. 0; -ETIMEDOUT; -ESTALE;
 * -EIO when a server ended meanwhile, with its last words; cluster->err says what was awaited and what came
 * instead. */
int lb_cluster_await(struct lb_cluster *cluster, lb_ns deadline,
                     int (*ready)(struct lb_cluster *cluster, lb_ns deadline), const char *what);
/* Every server answers by itself: a `ready` for lb_cluster_await. */
int lb_cluster_all_answer(struct lb_cluster *cluster, lb_ns deadline);
/* The deadline for one question to one server, so that a silent one does not eat the time of the
 * others. */
lb_ns lb_cluster_ask_until(struct lb_cluster *cluster, lb_ns deadline);

#endif
