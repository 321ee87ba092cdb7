/* SPDX-License-Identifier: MIT
 *
 * origin.h - where the programs of servers come from, if not from this machine: a folder with another version of them.
 *
 * A root is the tree of a distribution or an image; a server from there sees it as "/" (network/root.h). A prefix is a
 * folder of programs that run on this machine's libraries.
 */
#ifndef LB_ORIGIN_H
#define LB_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct lb_origin {
  char name[64];     /* letters, digits, "._+-" */
  char folder[1000]; /* absolute, without links */
  bool is_root;      /* it has `usr` or `etc` */
};

/* By name, a folder of $LOCKBENCH_SERVERS, else of lockbench/servers in the user's cache, where `lockbench servers` puts
 * them; a word with '/' is the path of one, which is called by its last part. NULL with one line and the nearest name in
 * err. It lives as long as the process. */
const struct lb_origin *lb_origin_find(const char *word, struct lb_error *err);
/* The folder that a server from there sees as "/"; NULL = ours. `origin` may be NULL. */
const char *lb_origin_root(const struct lb_origin *origin);
/* The names there, in order, into words[0..max), each malloc'd. How many. */
size_t lb_origin_names(char **words, size_t max);

#endif
