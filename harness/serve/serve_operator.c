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

static bool has(const struct lb_serve *v, enum lb_mandate_verb verb) {
  const struct lb_topology *t = v->plan->topology;
  switch (verb) {
    case LB_MAY_CUT:
    case LB_MAY_HEAL: return v->stage.net.separate && t->data_count > 1;
    case LB_MAY_CLOCK: return v->plan->clocks && t->family->wall_ms;
    case LB_MAY_DEPOSE: return t->data_count > 1 && t->family->orders.depose;
    default: return true;
  }
}

/* Prints a text as one word of sh. */
static void put_quoted(const char *text, FILE *out) {
  fputc('\'', out);
  for (; *text; text++) fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
  fputc('\'', out);
}

/* `fault` takes the names of servers for roles. */
static const char *const steps[LB_MAY_COUNT] = {
    [LB_MAY_KILL] = "kill {name}",
    [LB_MAY_RESTART] = "restart {name}",
    [LB_MAY_PAUSE] = "pause {name}",
    [LB_MAY_RESUME] = "resume {name}",
    [LB_MAY_CUT] = "cut {name} from {other}",
    [LB_MAY_HEAL] = "heal {name} from {other}",
    [LB_MAY_CLOCK] = "clock {name} wall {offset-ms}ms",
    [LB_MAY_DEPOSE] = "depose {name}",
    [LB_MAY_STOP] = "shut down {name}",
};

static void write_verbs(const struct lb_serve *v, FILE *out) {
  fputs("[verbs]\n", out);
  for (enum lb_mandate_verb i = 0; i < LB_MAY_COUNT; i++) {
    if (!has(v, i)) continue;
    fprintf(out, "%s = " LB_SERVE_VARIABLE "=", lb_mandate_verbs[i]);
    put_quoted(v->socket_path, out);
    fputc(' ', out);
    put_quoted(v->tool, out);
    fprintf(out, " fault \"%s\"\n", steps[i]);
  }
}

static void write_all(const struct lb_serve *v, FILE *out) {
  const struct lb_cluster *cluster = &v->stage.cluster;
  /* --sentinel names its Sentinels, too. What else holds no locks has no option of its own. */
  size_t named = v->stage.target.sentinel_master ? cluster->server_count : cluster->data_count;
  fputs("[operator]\nmay =", out);
  for (enum lb_mandate_verb i = 0; i < LB_MAY_COUNT; i++)
    if (has(v, i)) fprintf(out, "%s %s", i ? "," : "", lb_mandate_verbs[i]);
  fprintf(out, "\nat-once = %zu\nundo-after = 2m\n", cluster->data_count);
  if (cluster->data_count > 1 && !cluster->topology->family->orders.promote) fputs("fails-over = yes\n", out);
  for (size_t i = 0; i < named; i++)
    fprintf(out, "[%s]\naddress = %s:%u\n", cluster->server[i].name, cluster->server[i].host->address,
            (unsigned)cluster->server[i].port);
  write_verbs(v, out);
}

int lb_serve_operator(struct lb_serve *v, struct lb_error *err) {
  snprintf(v->operator_path, sizeof v->operator_path, "%.*s/operator.ini",
           (int)(strrchr(v->socket_path, '/') - v->socket_path), v->socket_path);
  FILE *out = fopen(v->operator_path, "we");
  bool written = out && fchmod(fileno(out), 0600) == 0;
  if (written) write_all(v, out);
  if (out) written = fclose(out) == 0 && written;
  return written ? 0 : lb_error(err, -EIO, "cannot write %s: %s", v->operator_path, strerror(errno));
}
