/* SPDX-License-Identifier: MIT
 *
 * pg_advisory.h - the name of a key among PostgreSQL's advisory locks, for the two protocols that use them.
 */
#ifndef LB_PG_ADVISORY_H
#define LB_PG_ADVISORY_H

/* An advisory lock is called by a number of 64 bits. */
#define PG_ADVISORY_KEY "hashtextextended($1, 0)"

/* The row of pg_locks of who holds it. The number stands there in two halves; those of two numbers of 32 bits have an objsubid of 2. */
#define PG_ADVISORY_HELD                                                                                               \
  "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"                                      \
  " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"                                   \
  " AND ((classid::bigint << 32) | objid::bigint) = " PG_ADVISORY_KEY

#endif
