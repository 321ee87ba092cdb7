/* SPDX-License-Identifier: MIT
 *
 * redis_server.h - real Redis servers for tests: on a free loopback port, without persistence, dead when the test is.
 */
#ifndef LB_TEST_REDIS_SERVER_H
#define LB_TEST_REDIS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct redis_server {
  uint16_t port;
  pid_t pid; /* 0 = not running */
};

/* False: no Redis server on this machine. */
bool redis_server_installed(void);
/* Starts one on its port (0: a free one is chosen) in the folder `dir` and waits until it listens; extra arguments up
 * to NULL. Ends the program on failure, like all of these. */
void redis_server_start(struct redis_server *server, const char *dir, const char *const extra[]);
/* Starts a Sentinel with the configuration file `config`, which it will rewrite, and waits until it listens. */
void redis_sentinel_start(struct redis_server *sentinel, const char *dir, const char *config);
void redis_server_signal(const struct redis_server *server, int sig);
/* SIGKILL, and waits for its end. Not running is fine. */
void redis_server_kill(struct redis_server *server);
/* A port of 127.0.0.1 on which nobody listens. */
uint16_t redis_free_port(void);

#endif
