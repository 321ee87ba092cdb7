/* SPDX-License-Identifier: MIT
 *
 * pg_record.h - what a PostgreSQL server has of a foreign lock. A record is `advisory`, `transaction`, TABLE, or
 * TABLE:COLUMN.
 */
#ifndef LB_PG_RECORD_H
#define LB_PG_RECORD_H

#include "backends/record.h"

extern const struct lb_record_hooks pg_record_hooks;

#endif
