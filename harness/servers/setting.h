/* SPDX-License-Identifier: MIT
 *
 * setting.h - what our servers are told that a user's are not, as a table of each family.
 *
 * Servers are configured by these rows, and run.json lists them: so no setting can differ that is not listed. Where
 * faults are played, servers start often and notice a fault soon. Where speed is measured, they have the settings that
 * they come with, but for what many of them on one machine need. What only says where a server is (address, port,
 * folder, its neighbours) is no setting.
 */
#ifndef LB_SETTING_H
#define LB_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct lb_cluster;
struct lb_server;
struct lb_topology;

enum lb_setting_place {
  LB_SETTING_FILE,      /* a line of its configuration */
  LB_SETTING_PROGRAM,   /* an option of its command line */
  LB_SETTING_ELSEWHERE, /* not written by these rows: of the program that makes its data folder, or of
                         * servers that hold no data */
};

struct lb_setting {     /* a table of these ends with .name = NULL */
  const char *name;     /* up to and with what stands before the value: "tickTime=", "-Xmx" */
  const char *stock;    /* its value without a line of ours; NULL = it is not there */
  const char *faults;   /* where faults are played; NULL = not written */
  const char *measured; /* where speed is measured; NULL = not written */
  const char *unsynced; /* in place of both, where the servers need not sync; NULL = no difference */
  enum lb_setting_place place;
};

#define LB_SETTING_TEXT_MAX 120

/* The value to be written, or NULL: none, the server's own stays. */
const char *lb_setting_value(const struct lb_setting *setting, bool measured, bool durable);
/* Appends the lines of a configuration file to a file below the server's folder. 0 or -errno with
 * cluster->err. */
int lb_setting_write(struct lb_cluster *cluster, const struct lb_server *server, const struct lb_setting *settings,
                     const char *file);
/* The options of the command line into texts[0..max), and pointers to them into argv. How many. */
size_t lb_setting_options(const struct lb_cluster *cluster, const struct lb_setting *settings,
                          char (*texts)[LB_SETTING_TEXT_MAX], const char **argv, size_t max);
/* All that differs from a server in its default configuration, a line each: "tickTime=200 (else 2000)". The lines of
 * the topology itself come last, and replace rows of their names. malloc'd. */
char *lb_setting_differing(const struct lb_topology *topology, bool measured, bool durable);

#endif
