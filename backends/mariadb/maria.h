/* SPDX-License-Identifier: MIT
 *
 * maria.h - what a lock at MariaDB needs of its server (sql.h), on the calls of MariaDB's client library that do
 * not block. Private to the MariaDB protocols and the harness's MariaDB topologies.
 */
#ifndef LB_MARIA_H
#define LB_MARIA_H

#include "backends/sql/sql.h"

/* The numbers of grants that a statement draws, for sql_schema_make(). Neither CREATE SEQUENCE nor NEXTVAL flushes the
 * log, whatever innodb_flush_log_at_trx_commit says: a server that is killed before the log is next written (a commit, or a second)
 * comes back with a sequence without its row, and NEXTVAL fails with error 1032 (seen in MariaDB 10.11). So something that
 * commits is made behind it. */
#define MARIA_CREATE_FENCE "CREATE SEQUENCE IF NOT EXISTS lockbench_fence NOCACHE ENGINE=InnoDB"
/* A name of a key or an owner. Locks are told apart by their bytes: the collation of a table would not. */
#define MARIA_NAME "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin"

extern const char *const maria_topologies[];
extern const struct sql_server maria_server;

#endif
