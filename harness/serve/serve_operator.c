/* SPDX-License-Identifier: MIT
 *
 * Servers of `serve` can be played as servers of the user's own. This makes the user their operator, too.
 */
#include "serve_operator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK = 1, CLOCK = 2 };

static bool can(const struct lb_serve *v, int needs, bool depose) {
  const struct lb_topology *t = v->plan->topology;
  if (needs == LINK) return v->stage.net.separate && t->data_count > 1;
  if (needs == CLOCK) return v->plan->clocks && t->family->wall_ms;
  return !depose || (t->data_count > 1 && t->family->orders.depose);
}

/* Prints a text as one word of sh. */
static void put_quoted(const char *text, FILE *out) {
  fputc('\'', out);
  for (; *text; text++) fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
  fputc('\'', out);
}

/* `fault` takes the names of servers for roles. */
static const struct {
  const char *verb, *step;
  int needs;
} verbs[] = {
    {"kill", "kill {name}", 0},
    {"restart", "restart {name}", 0},
    {"pause", "pause {name}", 0},
    {"resume", "resume {name}", 0},
    {"cut", "cut {name} from {other}", LINK},
    {"heal", "heal {name} from {other}", LINK},
    {"clock", "clock {name} wall {offset-ms}ms", CLOCK},
    {"depose", "depose {name}", 0},
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static bool has(const struct lb_serve *v, size_t verb) {
  return can(v, verbs[verb].needs, strcmp(verbs[verb].verb, "depose") == 0);
}

static void write_verbs(const struct lb_serve *v, const char *tool, FILE *out) {
  fputs("[verbs]\n", out);
  for (size_t i = 0; i < VERB_COUNT; i++) {
    if (!has(v, i)) continue;
    fprintf(out, "%s = " LB_SERVE_VARIABLE "=", verbs[i].verb);
    put_quoted(v->socket_path, out);
    fputc(' ', out);
    put_quoted(tool, out);
    fprintf(out, " fault \"%s\"\n", verbs[i].step);
  }
}

static void write_all(const struct lb_serve *v, const char *tool, FILE *out) {
  const struct lb_cluster *cluster = &v->stage.cluster;
  /* --sentinel names its Sentinels, too. What else holds no locks has no option of its own. */
  size_t named = v->stage.target.sentinel_master ? cluster->server_count : cluster->data_count;
  fputs("[operator]\nmay =", out);
  for (size_t i = 0, said = 0; i < VERB_COUNT; i++)
    if (has(v, i)) fprintf(out, "%s %s", said++ ? "," : "", verbs[i].verb);
  fprintf(out, "\nat-once = %zu\nundo-after = 2m\n", cluster->data_count);
  if (cluster->data_count > 1 && !cluster->topology->family->orders.promote) fputs("fails-over = yes\n", out);
  for (size_t i = 0; i < named; i++)
    fprintf(out, "[%s]\naddress = %s:%u\n", cluster->server[i].name, cluster->server[i].host->address,
            (unsigned)cluster->server[i].port);
  write_verbs(v, tool, out);
}

int lb_serve_operator(struct lb_serve *v, struct lb_error *err) {
  char tool[4096];
  ssize_t n = readlink("/proc/self/exe", tool, sizeof tool - 1);
  tool[n > 0 ? n : 0] = '\0';
  snprintf(v->operator_path, sizeof v->operator_path, "%.*s/operator.ini",
           (int)(strrchr(v->socket_path, '/') - v->socket_path), v->socket_path);
  FILE *out = fopen(v->operator_path, "we");
  bool written = out && fchmod(fileno(out), 0600) == 0;
  if (written) write_all(v, tool, out);
  if (out) written = fclose(out) == 0 && written;
  return written ? 0 : lb_error(err, -EIO, "cannot write %s: %s", v->operator_path, strerror(errno));
}
