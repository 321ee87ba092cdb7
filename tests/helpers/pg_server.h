/* SPDX-License-Identifier: MIT
 *
 * pg_server.h - real PostgreSQL servers for tests: on a free loopback port, in a folder that vanishes, dead when the
 * test is.
 */
#ifndef LB_TEST_PG_SERVER_H
#define LB_TEST_PG_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pg_server {
  char dir[256]; /* its data folder */
  uint16_t port;
  pid_t pid; /* of the postmaster; 0 = not running */
};

/* False: no PostgreSQL on this machine. */
bool pg_server_installed(void);
/* Creates the data folder `base`/`name` with initdb, or as a copy of a stopped server's that will then be a standby
 * without a primary. Ends the program on failure, like all of these. */
void pg_server_create(struct pg_server *server, const char *base, const char *name, const struct pg_server *copy_of);
/* Starts it; the caller waits until it answers. */
void pg_server_start(struct pg_server *server);
/* Sends a signal to the postmaster and all its children: they are session leaders, so no process group holds them. */
void pg_server_signal(const struct pg_server *server, int sig);
/* SIGKILL to all of them; waits for their end. */
void pg_server_kill(struct pg_server *server);
/* Clean shutdown. */
void pg_server_stop(struct pg_server *server);
/* A port of 127.0.0.1 on which nobody listens. */
uint16_t free_port(void);

#endif
