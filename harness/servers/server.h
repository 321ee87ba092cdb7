/* SPDX-License-Identifier: MIT
 *
 * server.h - one server of a cluster: its files, its process, its clocks.
 */
#ifndef LB_SERVER_H
#define LB_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/net.h"
#include "network/proc.h"
#include "preload/skew.h"

struct lb_cluster;
struct lb_disk_page;
struct lb_origin;
struct lb_stall;

struct lb_server {
  char name[32];       /* "redis-1", "sentinel-2", "zookeeper-1": also its log file (NAME.log) and data folder */
  const char *service; /* endpoint.service */
  struct lb_host *host;
  const struct lb_origin *origin; /* of its program; that of the topology, until it starts as another version */
  uint16_t port;                  /* where clients reach it */
  uint16_t extra_port[2];         /* further free ports on its host (ZooKeeper quorum and election) */
  bool data;                      /* holds lock state: counts for node N, replicas, majority (a Sentinel does not) */
  char dir[256];                  /* its own data folder, empty and existing before start */
  char log[256];
  const char *const *env;       /* "NAME=value" for its process, NULL-terminated; NULL = nothing extra */
  char journal[300];            /* the file in which a preload library keeps what it writes, see power.h; "" = none */
  struct lb_stall *stall;       /* its disk, which may stall; NULL = it may not */
  bool wiped;                   /* its files were removed, so it does not begin a cluster: it joins one */
  bool own_disk;                /* its folder is a file system of its own, which may be filled (room.h) */
  bool sparse;                  /* it takes no room on disk ahead (network/sparse.h) */
  struct lb_disk_page *counted; /* what it writes, see lb_disk_watch; NULL = not counted */
  struct lb_skew *skew; /* its clocks, see lb_server_skew; NULL = true ones, it runs without the preload library */
  struct lb_proc proc;
};

/* Writes a file below the server's folder; append = after what is there. 0 or -errno with
 * cluster->err. */
int lb_server_write(struct lb_cluster *cluster, const struct lb_server *server, bool append, const char *name,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Gives one server clocks that can be set, true ones for now: server->skew. They start with the
 * server and outlive its restarts, so call it when its folder exists and before start(). 0 or
 * -errno with err (-ENOENT: there is no preload library). */
int lb_server_skew(struct lb_cluster *cluster, size_t index);
/* Puts a preload library within reach of its process. 0 or -errno with cluster->err. */
int lb_server_bring(struct lb_cluster *cluster, const struct lb_server *server, enum lb_shim which);
/* Its next start takes the program of that origin. 0 or -errno with cluster->err. */
int lb_server_move(struct lb_cluster *cluster, struct lb_server *server, const struct lb_origin *origin);
/* Starts the server's process in its folder, with the preload libraries that it needs; argv[0] is a need
 * (lb_family.needs). 0 or -errno with cluster->err. */
int lb_server_start(struct lb_cluster *cluster, struct lb_server *server, const char *const argv[], const char *argv0,
                    bool unprivileged);
/* 0; -EIO if its process has ended, with its last words in cluster->err. */
int lb_server_check_alive(struct lb_cluster *cluster, struct lb_server *server);

#endif
