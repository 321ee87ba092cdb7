/* SPDX-License-Identifier: MIT
 *
 * record.h - what the servers of a service keep of a lock that another program takes (foreign/foreign.h): a key, a row,
 * a folder. An adapter names such a record, and the service knows how to ask for it. Each service that knows has a table
 * of these hooks in its *_record.h, and foreign.c lists the tables.
 */
#ifndef LB_RECORD_H
#define LB_RECORD_H

#include "backends/backend.h"

#define LB_RECORD_MAX 300

struct lb_record_at { /* where it is asked for, and by when */
  struct lb_env *env;
  const struct lb_config *config;
  const char *key;
  size_t endpoint; /* index in config->target->endpoints */
  lb_ns deadline;
};

struct lb_record_hooks {
  const char *service; /* of an endpoint: "redis" */
  /* Whether that server alone has `record`. 1, 0, -errno. */
  int (*inspect)(const struct lb_record_at *at, const char *record);
  /* Removes it there. 1, 0, -errno. NULL = it cannot be removed. */
  int (*remove)(const struct lb_record_at *at, const char *record);
  /* After the run, on any server: removes what begins with `record`, which the adapter names as `pattern`, with {key} in
   * it. -errno; else it is done as far as possible. NULL = `clean_run`, or nothing does. */
  int (*clean)(const struct lb_record_at *at, const char *pattern, const char *record);
  /* The same for all that has the prefix of the run, whatever the records are. */
  int (*clean_run)(const struct lb_record_at *at);
};

#endif
