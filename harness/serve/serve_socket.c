/* SPDX-License-Identifier: MIT
 *
 * `lockbench fault`: a line comes through a local socket, and what was done goes back. The socket lies in a folder that only its user can enter,
 * so nobody else can reach it; a local socket is reached from every network namespace.
 *
 * The answer: what was done and proved, a NUL byte, the exit code in one digit, and what was refused.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/refuse.h"
#include "run/exit.h"
#include "serve_parts.h"

enum { LINE_BYTES = 1000, ERR_BYTES = 600, ASKED_S = 5 };

int lb_serve_listen(struct lb_serve *v, char *err, size_t err_size) {
  char folder[3100];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(folder, sizeof folder, "%s/serve", v->plan->dir->partial);
  if (snprintf(v->socket_path, sizeof v->socket_path, "%s/socket", folder) >= (int)sizeof v->socket_path)
    return lb_refuse(err, err_size, "%s: the path of a socket has at most %zu bytes: choose another TMPDIR", folder, sizeof v->socket_path - 1), -ENAMETOOLONG;
  memcpy(address.sun_path, v->socket_path, sizeof address.sun_path);
  if (mkdir(folder, 0700) < 0) return lb_refuse(err, err_size, "cannot make %s: %s", folder, strerror(errno)), -EIO;
  v->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (v->socket >= 0 && bind(v->socket, (struct sockaddr *)&address, sizeof address) == 0 && listen(v->socket, 8) == 0) return 0;
  return lb_refuse(err, err_size, "cannot listen at %s: %s", v->socket_path, strerror(errno)), -EIO;
}

/* Up to the end of the line. False: whoever asked has gone, says too much, or nothing for seconds. */
static bool read_line(int fd, char line[LINE_BYTES]) {
  struct timeval patience = {.tv_sec = ASKED_S};
  size_t at = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (at < LINE_BYTES) {
    ssize_t n = read(fd, line + at, LINE_BYTES - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    char *end = memchr(line + at, '\n', (size_t)n);
    if (end) return *end = '\0', true;
    at += (size_t)n;
  }
  return false;
}

void lb_serve_answer(struct lb_serve *v) {
  char line[LINE_BYTES], err[ERR_BYTES] = "";
  int fd = accept4(v->socket, NULL, NULL, SOCK_CLOEXEC);
  FILE *out = fd >= 0 ? fdopen(fd, "r+") : NULL;
  if (!out) {
    if (fd >= 0) close(fd);
    return;
  }
  if (read_line(fd, line)) {
    int code = lb_serve_line(v, line, out, err, sizeof err);
    fprintf(out, "%c%d%s", '\0', code, code == LB_EXIT_OK ? "" : err);
  }
  fclose(out);
}

/* ---- the other side ---------------------------------------------------------------------------------------- */

/* The whole answer, malloc'd, with a NUL behind it; NULL with errno. */
static char *ask(int fd, const char *line, size_t *ret_size) {
  char *answer = NULL, some[4096];
  FILE *out = open_memstream(&answer, ret_size);
  ssize_t n;
  if (!out) return NULL;
  bool sent = send(fd, line, strlen(line), MSG_NOSIGNAL) >= 0 && send(fd, "\n", 1, MSG_NOSIGNAL) == 1;
  while (sent && ((n = read(fd, some, sizeof some)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) fwrite(some, 1, (size_t)n, out);
  fclose(out);
  return answer;
}

int lb_serve_ask(const char *path, const char *line, FILE *out, char *err, size_t err_size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t size = 0;
  if (strlen(line) >= LINE_BYTES || strchr(line, '\n')) return lb_refuse(err, err_size, "expected one line of less than %d bytes", LINE_BYTES), LB_EXIT_USAGE;
  if (strlen(path) >= sizeof address.sun_path) return lb_refuse(err, err_size, "%s: too long for the path of a socket", path), LB_EXIT_FAILURE;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code = LB_EXIT_FAILURE;
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    lb_refuse(err, err_size, "nobody serves at %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return code;
  }
  char *answer = ask(fd, line, &size);
  size_t told = answer ? strlen(answer) : 0; /* up to the NUL before the code */
  if (told > 0) fwrite(answer, 1, told, out);
  if (told + 1 < size) code = answer[told + 1] - '0', lb_refuse(err, err_size, "%s", answer + told + 2);
  else lb_refuse(err, err_size, "whoever served at %s has ended", path);
  free(answer);
  close(fd);
  return code;
}
