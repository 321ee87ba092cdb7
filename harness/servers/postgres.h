/* SPDX-License-Identifier: MIT
 *
 * postgres.h - what PostgreSQL needs and how it is set: alone, behind a pooler, under Patroni. Private to these three families.
 */
#ifndef LB_SERVERS_POSTGRES_H
#define LB_SERVERS_POSTGRES_H

#include "cluster.h"

#define LB_NEED_POSTGRES "postgres or /usr/lib/postgresql/*/bin/postgres"
#define LB_NEED_INITDB "initdb or /usr/lib/postgresql/*/bin/initdb"

/* What the primary's standbys are told makes a primary notice within seconds, not a minute, that one
 * was cut off; and a standby that was started before its primary asks again soon. POSIX segments would
 * outlive a killed server. Clients are up to 128. */
#define LB_POSTGRES_SETTINGS                                                                                           \
  {.name = "shared_buffers = ", .stock = "128MB", .faults = "32MB"},                                                   \
      {.name = "max_connections = ", .stock = "100", .faults = "200", .measured = "200"},                              \
      {.name = "dynamic_shared_memory_type = ", .stock = "posix", .faults = "mmap", .measured = "mmap"},               \
      {.name = "fsync = ", .stock = "on", .unsynced = "off"},                                                          \
      {.name = "wal_sender_timeout = ", .stock = "60s", .faults = "5s"},                                               \
      {.name = "wal_receiver_timeout = ", .stock = "60s", .faults = "5s"},                                             \
      {.name = "wal_retrieve_retry_interval = ", .stock = "5s", .faults = "100ms", .measured = "100ms"},               \
      {.name = "wal_receiver_status_interval = ", .stock = "10s", .faults = "1s"}, {                                   \
    .name = "initdb --locale=", .stock = "the machine's", .faults = "C", .measured = "C",                              \
    .place = LB_SETTING_ELSEWHERE                                                                                      \
  }

extern const struct lb_setting lb_postgres_settings[];

/* The folder of postgres' programs in an origin (NULL: this machine's), behind all links. 0 or -errno. */
int lb_postgres_folder(const struct lb_origin *origin, char *buf, size_t size);
/* lb_family.version. */
int lb_postgres_version(const struct lb_origin *origin, char *buf, size_t size);
/* The path of a freshly initialised data folder, made now if there is none yet. 0 or -errno with cluster->err. */
int lb_postgres_template(struct lb_cluster *cluster, lb_ns deadline, char *ret, size_t size);

struct pg_conn;
/* One statement whose rows do not matter. */
int lb_postgres_say(struct lb_cluster *cluster, struct pg_conn *conn, lb_ns deadline, const char *sql);

#endif
