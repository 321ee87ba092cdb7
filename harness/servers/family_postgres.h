/* SPDX-License-Identifier: MIT
 *
 * family_postgres.h - what PostgreSQL needs and how it is set, with a pooler before it and without. Private to
 * family_postgres.c and family_pooled.c.
 */
#ifndef LB_FAMILY_POSTGRES_H
#define LB_FAMILY_POSTGRES_H

#include "family_util.h"

#define LB_NEED_POSTGRES "postgres or /usr/lib/postgresql/*/bin/postgres"
#define LB_NEED_INITDB "initdb or /usr/lib/postgresql/*/bin/initdb"

extern const struct lb_setting lb_pg_settings[];

#endif
