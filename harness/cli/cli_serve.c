/* SPDX-License-Identifier: MIT
 *
 * `lockbench serve TOPOLOGY [-- COMMAND]` keeps the servers of a trial, and `lockbench fault STEP` does something to them. What is served and how is
 * serve/'s; here stands what a user may ask for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/suggest.h"
#include "cli.h"
#include "run/exit.h"
#include "run/rundir.h"
#include "serve/serve.h"

enum { TTL_MS = 10000, NAMES_MAX = 64, LINE_BYTES = 2000 };

/* One with servers, or NULL after a complaint. */
static const struct lb_topology *find(const char *name) {
  const char *names[NAMES_MAX];
  const struct lb_topology *t = lb_topology_find(name);
  if (t && t->data_count > 0) return t;
  if (t) return lb_complain(0, "serve %s: it has no servers", name), NULL;
  const char *near = lb_suggest(name, names, lb_topology_names(names, NAMES_MAX));
  if (near) lb_complain(0, "serve: unknown topology '%s', did you mean '%s'?", name, near);
  else lb_complain(0, "serve: unknown topology '%s', expected one of `%s list topologies`", name, lb_called());
  return NULL;
}

int lb_cli_serve(const struct lb_args *args) {
  struct lb_rundir dir;
  char err[600];
  int status = 0;
  const char *tmp = getenv("TMPDIR"), *missing;
  if (args->word_count != 1) return lb_complain(LB_EXIT_USAGE, "serve: expected one TOPOLOGY, and a command behind `--`");
  const struct lb_topology *topology = find(args->words[0]);
  if (!topology) return LB_EXIT_USAGE;
  if ((missing = lb_topology_missing(topology))) return lb_complain(LB_EXIT_MISSING, "serve %s: needs %s, which is not on this machine", topology->name, missing);
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "serve", NULL, err, sizeof err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err);
  struct lb_serve_plan plan = {.topology = topology,
                               .dir = &dir,
                               .command = args->command,
                               .hosts = args->hosts ? args->hosts : 1,
                               .ttl_ms = args->ttl_ms ? args->ttl_ms : TTL_MS,
                               .seed = lb_random_seed(),
                               .on_disk = args->storage ? strcmp(args->storage, "disk") == 0 : args->speed,
                               .measured = args->speed,
                               .clocks = args->clocks,
                               .out = stdout,
                               .notes = stderr};
  int r = lb_serve_run(&plan, &status, err, sizeof err);
  lb_rundir_close(&dir);
  if (r == -ENOENT) return lb_complain(127, "serve %s: %s", topology->name, err); /* as a shell says it of a command */
  return r < 0 ? lb_complain(LB_EXIT_FAILURE, "serve %s: %s", topology->name, err) : status;
}

/* The words of a step may be one argument, or several. */
int lb_cli_fault(const struct lb_args *args) {
  char line[LINE_BYTES] = "", err[600];
  const char *path = getenv(LB_SERVE_VARIABLE);
  size_t at = 0;
  if (args->word_count == 0) return lb_complain(LB_EXIT_USAGE, "fault: expected a step, as in 'kill primary'; `%s fault help` lists them", lb_called());
  for (int i = 0; i < args->word_count && at < sizeof line; i++)
    at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i ? " " : "", args->words[i]);
  if (at >= sizeof line) return lb_complain(LB_EXIT_USAGE, "fault: expected a step, found %zu bytes and more", sizeof line);
  if (!path || !*path) return lb_complain(LB_EXIT_FAILURE, "fault: " LB_SERVE_VARIABLE " is not set: `serve TOPOLOGY` sets it for its command, and prints it");
  int code = lb_serve_ask(path, line, stdout, err, sizeof err);
  fflush(stdout); /* before what is refused */
  return code == LB_EXIT_OK ? LB_EXIT_OK : lb_complain(code, "fault: %s", err);
}
