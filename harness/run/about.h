/* SPDX-License-Identifier: MIT
 *
 * about.h - members that every kind of results has in common (results/SCHEMA.md): which tool made them, called how, on
 * which machine.
 */
#ifndef LB_ABOUT_H
#define LB_ABOUT_H

#include <jansson.h>
#include <stddef.h>

#include "base/machine.h"
#include "plan/plan.h"

/* Each a new reference, NULL when out of memory or where a text is not UTF-8. */
json_t *lb_about_tool(void);
json_t *lb_about_argv(const char *const *argv, int argc);
/* `load_after` is the load when all trials are over; `namespaces` is lb_about_namespaces(). */
json_t *lb_about_machine(const struct lb_machine *machine, double load_after, const char *namespaces);
/* "root", "user", or "none: why". */
void lb_about_namespaces(char *ret, size_t size);
/* Writes `root` as the file `path`, first under another name beside it. Takes over the reference, also on error; NULL
 * is -EILSEQ. 0 or -errno. */
int lb_about_write(json_t *root, const char *path);

/* What a reader has to know of a run beside its plan and what came of it: where, when,
 * on which versions. What has to be asked is asked before the run. */

struct lb_version { /* of the servers of a topology */
  const char *topology;
  char text[700];
};

struct lb_library {   /* of others, behind an adapter */
  const char *name;   /* of its protocol */
  const char *stated; /* the version that peers.ini names */
  char version[48];   /* that is here */
};

struct lb_run_info {
  /* Borrowed, as argv is. The caller fills in what lb_run_info_ask() does not set. */
  const char *id;
  const char *const *argv;
  int argc;
  char started_utc[32];
  double seconds; /* of all sittings */
  int sittings;   /* 1 = it was never stopped and resumed */
  int jobs;
  int shard, shards; /* 1..shards; 0 = the run is not shared out */
  struct lb_machine before;
  json_t *machines; /* owned: where its trials were played, as lb_about_machine() has them */
  /* Set by the caller when all trials are over. */
  double load_after;
  /* "root", "user", or "none: why". */
  char namespaces[300];
  /* The versions of topologies that say theirs, in the order of the plan. Owned. */
  struct lb_version *versions;
  size_t version_count;
  /* The versions of libraries that say theirs. Owned. */
  struct lb_library *libraries;
  size_t library_count;
  /* First line of the summary (exit.h). */
  char verdict[1200];
  int exit_code;
};

/* Asks the machine, the servers' programs and the clock; the run's files go to `run_dir`. Sets
 * started_utc, before, namespaces and versions. Release with lb_run_info_clear(). */
void lb_run_info_ask(struct lb_run_info *info, const struct lb_plan *plan, const char *run_dir);
void lb_run_info_clear(struct lb_run_info *info);

#endif
