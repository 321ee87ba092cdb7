/* SPDX-License-Identifier: MIT
 *
 * family.h - one kind of server and what can be done with it: started, asked, promoted.
 *
 * A family is a table of hooks (family_*.c, one file each). It knows kinds, not numbers: how many
 * servers there are, what they keep and how they replicate stands in the row of the topology
 * (topology.h), and a hook reads it there, through its cluster (cluster.h). All hooks run in the
 * trial's controller process, on one thread. Waiting is polling with a deadline, never a blind
 * sleep.
 */
#ifndef LB_FAMILY_H
#define LB_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"

struct lb_cluster;
struct lb_server;
struct lb_own;
struct lb_topology;

/* ---- what servers say they have done so far, as named numbers: only differences mean something -- */

#define LB_COUNTS_MAX 64

struct lb_counts {
  struct lb_count {
    char what[40]; /* "command evalsha", "transactions": as a row of a table is called */
    uint64_t n;
  } count[LB_COUNTS_MAX];
  size_t size;
};

/* Adds n to what is called so; what is new beyond LB_COUNTS_MAX is dropped. */
void lb_counts_add(struct lb_counts *counts, const char *what, uint64_t n);
/* 0 if nothing is called so. */
uint64_t lb_counts_of(const struct lb_counts *counts, const char *what);

/* ---- what our servers are told that a user's are not, as a table of each family -----------------
 *
 * Servers are configured by these rows, and run.json lists them: so no setting can differ that is not listed. Where
 * faults are played, servers start often and notice a fault soon. Where speed is measured, they have the settings that
 * they come with, but for what many of them on one machine need. What only says where a server is (address, port,
 * folder, its neighbours) is no setting. */

enum lb_setting_place {
  LB_SETTING_FILE,      /* a line of its configuration */
  LB_SETTING_PROGRAM,   /* an option of its command line */
  LB_SETTING_ELSEWHERE, /* not written by these rows: of the program that makes its data folder, or of
                         * servers that hold no data */
};

struct lb_setting {     /* a table of these ends with .name = NULL */
  const char *name;     /* up to and with what stands before the value: "tickTime=", "-Xmx" */
  const char *stock;    /* what it is where nobody says anything; NULL = it is not there */
  const char *faults;   /* where faults are played; NULL = not written */
  const char *measured; /* where speed is measured; NULL = not written */
  const char *unsynced; /* in place of both, where the servers need not sync; NULL = no difference */
  enum lb_setting_place place;
};

#define LB_SETTING_TEXT_MAX 120

/* The value to be written, or NULL: none, the server's own stays. */
const char *lb_setting_value(const struct lb_setting *setting, bool measured, bool durable);
/* Appends the lines of a configuration file to a file below the server's folder. 0 or -errno with
 * cluster->err. */
int lb_setting_write(struct lb_cluster *cluster, const struct lb_server *server, const struct lb_setting *settings,
                     const char *file);
/* The options of the command line into texts[0..max), and pointers to them into argv. How many. */
size_t lb_setting_options(const struct lb_cluster *cluster, const struct lb_setting *settings,
                          char (*texts)[LB_SETTING_TEXT_MAX], const char **argv, size_t max);
/* All that differs from a server that nobody has configured, a line each: "tickTime=200 (else 2000)";
 * last the lines of the topology itself, which stand for rows of their names, too. malloc'd; NULL = no
 * memory. */
char *lb_setting_differing(const struct lb_topology *topology, bool measured, bool durable);

/* ---- a family -------------------------------------------------------------------------------- */

/* How a server is told to shut down as its operator would, and how it is seen to have done so. */
struct lb_ending {
  int signal;       /* to its first process */
  int status;       /* its exit status */
  bool by_signal;   /* ... or it dies of the signal, having tidied up */
  const char *says; /* in its log by then; NULL = nothing: it does not tidy up */
};

/* The clock by which a server itself ends what a silent client has there: a key with a ttl, a lease, a session. A lease
 * that only the statements of a protocol know is not the server's (LB_TRAIT_SERVER_CLOCK). */
enum lb_ends_by {
  LB_ENDS_BY_NO_CLOCK, /* by the connection, or by nothing */
  LB_ENDS_BY_WALL,
  LB_ENDS_BY_MONOTONIC, /* ticks, too */
};

struct lb_family {
  const char *name; /* "sentinel" */
  enum lb_ends_by ends_by;
  /* Programs (found in PATH) and files (a path, wildcards allowed) it needs, each perhaps with
   * alternatives: "java or $JAVA_HOME/bin/java"; NULL-terminated. */
  const char *const *needs;
  const char *service;       /* endpoint.service of the data servers; NULL = there are no servers */
  const char *other_service; /* of the others; NULL = there are none */
  bool fronted; /* clients talk to the others alone, which stand before the data servers and speak as these do */
  const char *sentinel_master; /* lb_target.sentinel_master */
  const char *cause; /* how a line of the log begins that says why the server ended; NULL = its last line does */
  const struct lb_setting *settings; /* of its data servers, NULL = none */
  bool majority;                     /* several data servers serve only with a majority of them */
  bool all_serve; /* clients talk to any of several data servers, also to those that follow another */
  bool
      by_libc; /* its servers call the kernel through the C library only, so a preload library sees what they write and sync */
  int poll_ms; /* while somebody waits for them, its servers are asked again after so long: often enough, and not so often that the answers cost them much; 0 = 10 */
  bool independent; /* several data servers do not know each other: they never talk, and no one of them decides */
  /* Starts all servers and waits until each says it is ready and the cluster can serve (replicas
   * online, leader elected). Hosts, ports, folders and logs are already filled in. 0 or -errno with
   * cluster->err. NULL = nothing to start. */
  int (*start)(struct lb_cluster *cluster, lb_ns deadline);
  /* Starts the process of one server on its folder as it is now. Does not wait. 0 or -errno with
   * cluster->err. */
  int (*launch)(struct lb_cluster *cluster, size_t index);
  /* 0 = this server answers a request by itself; else not, with the reason in env->err. */
  int (*answers)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Lets transactions of nobody's keep the server processes of this pooler that it would hand out next, or ends them:
   * the next to ask gets another, and from then on these are the next again. 0 or -errno with env->err. NULL = it is no
   * pooler. */
  int (*occupy)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  int (*vacate)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* 0 = the servers are as good as those that have just been started: each answers, and has a role of a complete set,
   * if not the one that it began with; else not (yet), with the reason in env->err. NULL = nobody can say so. */
  int (*healthy)(struct lb_cluster *cluster, lb_ns deadline);
  /* Index of the data server that decides now (of several, for cluster->key), asked from the servers
   * themselves; -ENOENT = none right now; -errno. Quick: a server that does not answer within about 200 ms counts as
   * silent. */
  int (*primary)(struct lb_cluster *cluster, lb_ns deadline);
  /* The operator's move, where the system does not fail over by itself (PostgreSQL): makes another
   * data server than `old` the primary. 0 or -errno (-ENOENT: nobody answers that could be
   * promoted, so far). NULL = it fails over by itself. */
  int (*promote)(struct lb_cluster *cluster, int old, lb_ns deadline);
  /* What clients get, of servers that are not ours. NULL = the cluster knows. */
  void (*target)(const struct lb_own *own, struct lb_endpoint *endpoint, struct lb_target *ret);
  const struct lb_ending *ending; /* NULL = no server of ours */
  /* Lets this server, which decides, hand over to another one while all of them run: the operator's order. 0 when it
   * was taken, or
   * -errno with env->err. NULL = there is no such order. */
  int (*depose)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Takes this server out of its cluster, asked of another one: the operator's order. 0 when that one lists it no more,
   * or -errno with env->err. NULL = its cluster has no members that come and go. */
  int (*remove)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Cancels the statement with which a client at that address waits for the standby of this server, as an operator
   * does, when there is one. 0 when the server has been told, and then says `cancelled` in its log; or -errno with
   * env->err. NULL = nobody waits so. */
  int (*cancel)(struct lb_cluster *cluster, size_t index, const char *client, lb_ns deadline);
  const char *cancelled;
  /* Ends what a client at that address has at this server, as an operator does: its connections, or the session of that
   * number (lb_proofs.session_id; 0 = it is not known). 0 when the server says that it does not know them any more,
   * with what was ended in `said`; -ENOENT: it knew of none; or another -errno; both with env->err. NULL = there is no
   * such order. */
  int (*end_session)(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                     char *said, size_t size);
  /* Moves the slot of cluster->key to this server, with all its keys. 0, or -errno with env->err. NULL = the keys have
   * no slots. */
  int (*move_slot)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* What a data server keeps lies in these files and folders below its own, of which some may be missing; NULL at the
   * end. NULL = nobody has looked. */
  const char *const *files;
  /* Makes a server that keeps nothing on disk write the first of them, which it would read at its next start. 0 or
   * -errno with env->err. NULL = all of them do keep something. */
  int (*save)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Limits the memory of this server to little more than it uses now, tells it what to do when that is full (a word of
   * LB_POLICIES), and writes until it has given up keys, or refuses: says in `said` how that showed. free_memory takes
   * all of it back. 0 or -errno with env->err. NULL = its memory has no such limit. */
  int (*fill_memory)(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said,
                     size_t size);
  int (*free_memory)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* Makes this server, whose disk is full, write until it needs room there. -ENOSPC: it refused, for want of it, with
   * its words in env->err; 0: it found some all the same; other -errno, for one when it ended: then `no_room` is in its
   * log. NULL = nobody has seen what becomes of it. */
  int (*need_room)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  const char *no_room;
  /* 0 = this server follows `leader`, and by now has all that this one had when it was asked; else not (yet), with the
   * reason in env->err. NULL = nobody says so. */
  int (*caught_up)(struct lb_cluster *cluster, size_t index, size_t leader, lb_ns deadline);
  /* Whether this server knows a session of that number (lb_proofs.session_id): one that has run out counts until it has
   * been ended. 1, 0, or -errno with env->err. NULL = there are none, or it tells nobody. */
  int (*has_session)(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline);
  /* Whether it has left the others: by asking this very server. 1 = it says that it serves nobody now,
   * 0 = it serves, or -errno with env->err. NULL = it never says so. */
  int (*left)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* 0 = this server has started and says so, be it that it can serve nobody yet for want of a majority; or -errno with
   * env->err. NULL = it says nothing before it serves. */
  int (*runs)(struct lb_cluster *cluster, size_t index, lb_ns deadline);
  /* What its wall clock says, by asking this very server: ms since 1970. 0, or -errno with
   * env->err. NULL = nobody can be asked. */
  int (*wall_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* What its monotonic clock says, in ms from a moment of its own choice, by asking this very
   * server: only differences mean something. 0, or -errno with env->err. NULL = it tells nobody
   * (Redis, PostgreSQL). */
  int (*mono_ms)(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms);
  /* How many writes this server has committed since some moment, by asking it: only differences mean
   * something, and only while the same server decides. One that repeats another's says 0. 0, or
   * -errno with env->err. NULL = it does not count. */
  int (*commits)(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
  /* How many requests this server has received since some moment, by asking it: only differences mean something. The
   * asking counts, and so does what keeps a session up. 0, or -errno with env->err. NULL = it does not count them. */
  int (*requests)(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret);
  /* What else this server counts, by names of its own, added to `ret`: the commands that it executed, what it logs. The
   * asking may count. 0, or -errno with env->err. NULL = nothing. */
  int (*counts)(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret);
  /* Servers in a machine that compiles what it does often are slow until it has: CPU time that this one
   * has spent on compiling so far. 0, or -errno. NULL = as fast from the begin. */
  int (*compiling)(struct lb_cluster *cluster, size_t index, lb_ns *ret);
  /* The shortest session that its servers grant, in ms: a shorter ttl would be made longer without a
   * word. NULL = any. */
  int64_t (*least_ttl_ms)(const struct lb_topology *topology, bool measured);
  /* After all servers were killed: removes what they left outside their folders. NULL = nothing. */
  void (*clean)(struct lb_cluster *cluster);
  /* One line with the server's version, e.g. "redis 7.0.15", from the binaries, for run.json. 0 or
   * -errno. */
  int (*version)(char *buf, size_t size);
};

/* The families there are; the table of topologies is made of these. */
extern const struct lb_family lb_family_none, lb_family_redis, lb_family_sentinel, lb_family_cluster,
    lb_family_zookeeper, lb_family_postgres, lb_family_pooled, lb_family_etcd;

#endif
