/* SPDX-License-Identifier: MIT
 *
 * memcached: one server, which keeps everything in memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/memcached_util.h"
#include "family.h"
#include "family_util.h"

#define NEED_MEMCACHED "memcached or /usr/bin/memcached"

static const struct lb_setting settings[] = {
    {.name = "--conn-limit=", .stock = "1024", .faults = "1024", .place = LB_SETTING_PROGRAM},
    {.name = "--threads=", .stock = "4", .faults = "1", .place = LB_SETTING_PROGRAM},
    {0},
};
enum { OPTIONS_MAX = sizeof settings / sizeof *settings };

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char *program = lb_need_path(NEED_MEMCACHED), port[16], texts[OPTIONS_MAX][LB_SETTING_TEXT_MAX];
  if (!program) return lb_cluster_fail(cluster, -ENOENT, "%s: memcached is not installed", server->name);
  snprintf(port, sizeof port, "%u", (unsigned)server->port);
  const char *const fixed[] = {"-l", server->host->address, "-p", port, "-U", "0", NULL};
  const char *argv[1 + OPTIONS_MAX + sizeof fixed / sizeof *fixed] = {program};
  size_t count = 1 + lb_setting_options(cluster, settings, texts, argv + 1, OPTIONS_MAX);
  memcpy(argv + count, fixed, sizeof fixed);
  int r = lb_server_start(cluster, server, argv, NULL, true); /* it refuses uid 0, too */
  free(program);
  return r;
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  const struct lb_server *server = &cluster->server[index];
  struct lb_endpoint at = {.service = server->service, .host = server->host->address, .port = server->port};
  struct mc_conn conn = {.fd = -1};
  struct mc_reply reply;
  lb_ns until = lb_ask_until(cluster->env, deadline);
  int r = mc_open(&conn, cluster->env, &at, until);
  if (r == 0) r = mc_call(&conn, until, "mn\r\n", &reply);
  mc_close(&conn);
  return r > 0 ? -ETIMEDOUT : r;
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, lb_cluster_all_answer, "the server answers");
}

static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  return answers(cluster, 0, deadline) == 0 ? 0 : -ENOENT;
}

static int version(char *buf, size_t size) {
  char said[100], number[40], *program = lb_need_path(NEED_MEMCACHED);
  if (!program) return -ENOENT;
  int r = lb_program_output((const char *const[]){program, "--version", NULL}, NULL, said, sizeof said);
  free(program);
  if (r < 0) return r;
  if (sscanf(said, "memcached %39s", number) != 1) return -EPROTO;
  return snprintf(buf, size, "memcached %s", number), 0;
}

static const struct lb_ending ending = {.signal = SIGTERM};

const struct lb_family lb_family_memcached = {
    .name = "memcached",
    .ends_by = LB_ENDS_BY_MONOTONIC,
    .needs = (const char *const[]){NEED_MEMCACHED, NULL},
    .service = "memcached",
    .ending = &ending,
    .settings = settings,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = lb_cluster_all_answer,
    .primary = primary,
    .version = version,
};
