/* SPDX-License-Identifier: MIT
 *
 * pg_template.h - a freshly initialised PostgreSQL data folder, made once per run and copied for
 * every server. Private to family_postgres.c and family_pooled.c, as is the table of settings that both have.
 */
#ifndef LB_PG_TEMPLATE_H
#define LB_PG_TEMPLATE_H

#include "family_util.h"
#include "setting.h"

#define LB_NEED_POSTGRES "postgres or /usr/lib/postgresql/*/bin/postgres"
#define LB_NEED_INITDB "initdb or /usr/lib/postgresql/*/bin/initdb"

extern const struct lb_setting lb_pg_settings[]; /* family_postgres.c */

/* "15.12" of this program. 0 or -errno. */
int lb_pg_version(const char *postgres, char *buf, size_t size);
/* Path of the template in cluster->cache_dir, made now if there is none yet. Several processes may
 * ask at once. 0 or -errno with cluster->err. */
int lb_pg_template(struct lb_cluster *cluster, lb_ns deadline, char *ret, size_t size);
/* Copies it to the server's folder as `data`. 0 or -errno with cluster->err. */
int lb_pg_copy(struct lb_cluster *cluster, const struct lb_server *server, const char *template, int64_t timeout_ms);

#endif
