/* SPDX-License-Identifier: MIT
 *
 * The side of Curator: one JVM with all its clients, each a thread with a CuratorFramework of its own (BenchPeer.java).
 */
#include "peer.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LOG_FD = 3, ARGUMENTS_MAX = 40 };

/* Adds a word that outlives the exec. */
static void add(const char *argv[], size_t *count, const char *word) {
  if (*count + 1 >= ARGUMENTS_MAX) errx(1, "Curator: too many arguments");
  argv[(*count)++] = strdup(word);
  argv[*count] = NULL;
}

static void add_number(const char *argv[], size_t *count, long long number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", number);
  add(argv, count, text);
}

static _Noreturn void run_jvm(const struct peer_side *side, const struct peer_place *place, char *const command[],
                              int in, int out) {
  const char *argv[ARGUMENTS_MAX] = {NULL};
  char word[200];
  size_t count = 0;
  for (size_t i = 0; command[i]; i++) add(argv, &count, command[i]);
  snprintf(word, sizeof word, "/proc/self/fd/%d", LOG_FD);
  add(argv, &count, word);
  add_number(argv, &count, sizeof(struct peer_log));
  add_number(argv, &count, offsetof(struct peer_log, client));
  add_number(argv, &count, sizeof(struct peer_client));
  add_number(argv, &count, offsetof(struct peer_client, record));
  add_number(argv, &count, PEER_CLIENTS);
  add_number(argv, &count, place->ttl_ms);
  snprintf(word, sizeof word, "/%s-curator", place->prefix);
  add(argv, &count, word);
  for (size_t i = 0; i < place->target->count; i++) {
    snprintf(word, sizeof word, "%s:%u", place->target->endpoints[i].host, (unsigned)place->target->endpoints[i].port);
    add(argv, &count, word);
  }
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(side->log_fd, LOG_FD) < 0) err(1, "dup2");
  if (side->log_fd == LOG_FD) fcntl(LOG_FD, F_SETFD, 0);
  execvp(argv[0], (char *const *)argv);
  err(1, "%s", argv[0]);
}

void peer_curator_open(struct peer_side *side, const struct peer_place *place, char *const command[]) {
  int to[2], from[2];
  pid_t parent = getpid();
  side->name = "Curator";
  peer_log_make(side);
  if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) err(1, "pipe");
  pid_t pid = fork();
  if (pid < 0) err(1, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    run_jvm(side, place, command, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  side->command[0] = to[1];
  side->process[0] = pid;
  side->answer = from[0];
  peer_await(side, PEER_CLIENTS);
}

void peer_curator_work(struct peer_side *side, size_t first, size_t count) {
  char line[40];
  atomic_store(&side->log->stop, 0);
  for (size_t i = 0; i < PEER_CLIENTS; i++) atomic_store(&side->log->client[i].count, 0);
  side->at_work = count;
  int n = snprintf(line, sizeof line, "%zu %zu\n", first, count);
  if (write(side->command[0], line, (size_t)n) != n) err(1, "Curator");
}
