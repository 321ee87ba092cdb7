/* SPDX-License-Identifier: MIT
 *
 * A plain connection to a test's PostgreSQL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pg_client.h"

const struct lb_protocol *tested = &lb_pg_row;
int64_t ttl_ms = 1000;
union lb_value settings[8];

struct pg_server server;
struct client a, b;
char base[] = "/tmp/lockbench-live-pg-XXXXXX";

static struct lb_endpoint endpoint = {"postgres", "127.0.0.1", 0};
const struct lb_target target = {.topology = "pg", .endpoints = &endpoint, .count = 1};

lb_ns in_ms(struct client *client, int64_t ms) { return lb_now(&client->env.base) + (lb_ns)ms * LB_NS_PER_MS; }

int open_client(struct client *client, const char *name, const struct lb_target *at, int64_t lock_wait_ms,
                int64_t deadline_ms) {
  static uint64_t seed;
  client->protocol = tested;
  lb_env_init(&client->env, ++seed);
  memcpy(client->options, settings, sizeof settings);
  if (tested->options[0].type == LB_OPT_INT) client->options[0].i = lock_wait_ms;
  client->session = calloc(1, client->protocol->session_size);
  assert_non_null(client->session);
  struct lb_config config = {.env = &client->env.base,
                             .target = at,
                             .options = client->options,
                             .ttl_ms = 1000,
                             .client = name,
                             .protocol = tested,
                             .prefix = "k"};
  return client->protocol->open(client->session, &config, in_ms(client, deadline_ms));
}

void close_client(struct client *client) {
  client->protocol->close(client->session);
  free(client->session);
  client->session = NULL;
}

int try(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return client->protocol->try_acquire(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, ms));
}
int extend(struct client *client, const char *key, int64_t new_ttl_ms, struct lb_grant *grant, int64_t ms) {
  return client->protocol->extend(client->session, &(struct lb_lock){key, new_ttl_ms}, grant, in_ms(client, ms));
}
int release(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return client->protocol->release(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, ms));
}
int resolve(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return client->protocol->resolve(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, ms));
}
int holds(struct client *client, const char *key, const struct lb_grant *grant) {
  return client->protocol->holds(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, 2000));
}
int row(struct client *client, const char *key) {
  return client->protocol->proofs->inspect(client->session, &(struct lb_lock){.key = key}, 0, in_ms(client, 2000));
}

struct pg_conn *operator_open(void) {
  struct pg_conn *conn = NULL;
  assert_int_equal(pg_open(&a.env.base, NULL, &endpoint, "k", in_ms(&a, 2000), &conn), 0);
  return conn;
}
int operator_says(struct pg_conn *conn, const char *sql) {
  PGresult *result = NULL;
  assert_int_equal(pg_query(conn, in_ms(&a, 2000), &result, sql, 0, NULL), 0);
  int n = PQntuples(result) ? atoi(PQgetvalue(result, 0, 0)) : -1;
  PQclear(result);
  return n;
}

int start_server(void **state) {
  (void)state;
  if (!mkdtemp(base)) return -1;
  pg_server_create(&server, base, "primary", NULL);
  pg_server_start(&server);
  endpoint.port = server.port;
  return 0;
}

int stop_server(void **state) {
  (void)state;
  char command[64];
  pg_server_kill(&server);
  snprintf(command, sizeof command, "rm -rf %s", base);
  return system(command);
}

int open_clients(void **state) {
  (void)state;
  assert_int_equal(open_client(&a, "a", &target, 100, 10000), 0);
  assert_int_equal(open_client(&b, "b", &target, 100, 10000), 0);
  assert_int_equal(tested->setup(a.session, in_ms(&a, 5000)), 0);
  return 0;
}

int close_clients(void **state) {
  (void)state;
  close_client(&a);
  close_client(&b);
  return 0;
}
