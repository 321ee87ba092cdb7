/* SPDX-License-Identifier: MIT
 *
 * Connections are read from /proc/PID/net/tcp of a server: the kernel shows there those of its host, with the number of times that each has sent
 * the same again without an answer.
 */
#include "rest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "tool.h"

/* States and timers of /proc/net/tcp. */
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3, CLOSE_WAIT = 8 };
enum { TIMER_AGAIN = 1, TIMER_WINDOW = 4 };

static bool is_server(const struct lb_cluster *cluster, unsigned address) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (inet_addr(cluster->server[i].host->address) == address) return true;
  return false;
}

/* "  1: 0100600A:1F90 0200600A:9C40 01 00000000:00000000 01:00000014 00000003 ...": addresses, state, queues, timer, how often it was sent again. */
static bool is_restless(const struct lb_cluster *cluster, const char *line) {
  unsigned to, state, timer, again;
  if (sscanf(line, " %*u: %*8x:%*x %8x:%*x %x %*x:%*x %x:%*x %x", &to, &state, &timer, &again) != 4 || !is_server(cluster, to)) return false;
  if (state == SYN_SENT || state == SYN_RECV) return true;
  return (state == ESTABLISHED || state == CLOSE_WAIT) && again > 0 && (timer == TIMER_AGAIN || timer == TIMER_WINDOW);
}

bool lb_rest_of_links(const struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[64], line[300];
  bool restless = false;
  if (server->host->netns < 0) return true;
  snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)server->proc.pid);
  FILE *in = fopen(path, "re");
  if (!in) return false;
  while (!restless && fgets(line, sizeof line, in)) restless = is_restless(cluster, line);
  fclose(in);
  return !restless;
}

static int tables_on(const struct lb_host *host, char *err, size_t err_size) {
  char *argv[] = {(char *)"nft", (char *)"list", (char *)"tables", NULL}, *said = NULL;
  int r = lb_tool_run(host, argv, "", &said, err, err_size);
  if (r == 0 && said && strstr(said, "table ")) r = (lb_refuse(err, err_size, "rules are left on %s", host->name), -EBUSY);
  free(said);
  return r;
}

int lb_rest_of_rules(const struct lb_net *net, char *err, size_t err_size) {
  char *forget[] = {(char *)"ip", (char *)"tcp_metrics", (char *)"flush", (char *)"all", NULL};
  int r = 0;
  for (size_t i = 0; i < net->count && net->separate && r == 0; i++) {
    r = tables_on(&net->host[i], err, err_size);
    if (r == 0) r = lb_tool_run(&net->host[i], forget, "", NULL, err, err_size);
  }
  return r;
}
