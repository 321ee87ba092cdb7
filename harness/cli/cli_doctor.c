/* SPDX-License-Identifier: MIT
 *
 * `lockbench doctor`: what this machine can and cannot run, and what to do about it. Every line
 * comes from the check that a run makes itself (programs, versions, namespaces by trying them), so
 * the doctor cannot say more or less than will happen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "servers/proc.h"
#include "servers/sandbox.h"
#include "servers/topology.h"

/* One line: "ok" with what was found, or "MISS" with what to do. Returns `good`. */
static bool report(bool good, const char *what, const char *how) {
  printf("%s  %s%s%s\n", good ? "ok  " : "MISS", what, how && *how ? ": " : "", how ? how : "");
  return good;
}

static bool check_topology(const struct lb_topology *t) {
  char text[300], version[128] = "";
  const char *missing = lb_topology_missing(t);
  if (missing) snprintf(text, sizeof text, "needs %s; ./bench installs what is missing", missing);
  else if (lb_topology_version(t, version, sizeof version) == 0) snprintf(text, sizeof text, "%s", version);
  else snprintf(text, sizeof text, "%s", t->summary);
  char name[100];
  snprintf(name, sizeof name, "topology %s", t->name);
  return report(!missing, name, text);
}

static bool check_namespaces(void) {
  const struct lb_isolation *isolation = lb_isolation_probe();
  if (isolation->kind == LB_ISOLATION_NONE) {
    report(false, "namespaces", isolation->why);
    puts("      without them trials run on loopback and scenarios that cut links are skipped");
    return false;
  }
  return report(true, "namespaces", isolation->kind == LB_ISOLATION_ROOT ? "as root" : "inside a user namespace");
}

/* servers/proc.c looks in the same folders: who is not root may not have sbin in PATH. */
static bool check_program(const char *name, const char *why) {
  static const char *const extra[] = {"/usr/sbin", "/sbin", NULL};
  char *path = lb_proc_find(name, extra);
  bool found = path != NULL;
  report(found, name, found ? path : why);
  free(path);
  return found;
}

int lb_cli_doctor(const struct lb_args *args) {
  if (args->word_count) return lb_complain(LB_EXIT_USAGE, "doctor: takes no argument, found '%s'", args->words[0]);
  bool good = true;
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) good &= check_topology(t);
  good &= check_program("ip", "package iproute2: builds the network of a trial");
  good &= check_program("nft", "package nftables: cuts links");
  good &= check_program("gnuplot", "package gnuplot-nox: draws the scaling once more");
  good &= check_namespaces();
  puts(good ? "this machine can run everything"
            : "some things cannot run here: their cells are skipped, with the reason");
  return good ? LB_EXIT_OK : LB_EXIT_MISSING;
}
