/* SPDX-License-Identifier: MIT
 *
 * pg_client.h - clients of one PostgreSQL protocol on one test server, with short names for the hooks and relative
 * deadlines.
 */
#ifndef LB_TEST_PG_CLIENT_H
#define LB_TEST_PG_CLIENT_H

#include "backends/backend.h"
#include "backends/postgres/pg.h"
#include "client/env.h"
#include "pg_server.h"

struct client {
  const struct lb_protocol *protocol;
  struct lb_process_env env;
  struct lb_session *session;
  union lb_value options[8];
};

extern const struct lb_protocol lb_pg_row, lb_pg_lease, lb_pg_lease_client, lb_pg_advisory, lb_pg_advisory_xact,
    lb_pg_for_update;
extern const struct lb_protocol
    *tested;           /* what clients opened from now on speak; pg-row unless the test says otherwise */
extern int64_t ttl_ms; /* of every try; 1000 unless ... */
extern union lb_value
    settings[8]; /* options of clients opened from now on; lock_wait_ms is an argument of open_client() */

extern struct pg_server server;       /* the one that start_server() starts ... */
extern const struct lb_target target; /* ... as clients see it */
extern char base[];                   /* the folder of all servers of this test */
extern struct client a, b;            /* open in every test between open_clients() and close_clients() */

/* cmocka's hooks: of the group, and of one test. */
int start_server(void **state);
int stop_server(void **state);
int open_clients(void **state);
int close_clients(void **state);

lb_ns in_ms(struct client *client, int64_t ms);
int open_client(struct client *client, const char *name, const struct lb_target *at, int64_t lock_wait_ms,
                int64_t deadline_ms);
void close_client(struct client *client);
int try(struct client *client, const char *key, struct lb_grant *grant, int64_t ms);
int extend(struct client *client, const char *key, int64_t new_ttl_ms, struct lb_grant *grant, int64_t ms);
int release(struct client *client, const char *key, struct lb_grant *grant, int64_t ms);
int resolve(struct client *client, const char *key, struct lb_grant *grant, int64_t ms);
int holds(struct client *client, const char *key, const struct lb_grant *grant);
/* inspect() on the first server. */
int row(struct client *client, const char *key);

/* An operator's own connection, and a statement on it: the first field as a number, -1 without rows. */
struct pg_conn *operator_open(void);
int operator_says(struct pg_conn *conn, const char *sql);

#endif
