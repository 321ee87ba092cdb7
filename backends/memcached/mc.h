/* SPDX-License-Identifier: MIT
 *
 * mc.h - a connection to memcached with our own deadlines. Private to the memcached protocols and the
 * harness's memcached topology.
 */
#ifndef LB_MC_H
#define LB_MC_H

#include "backends/backend.h"

struct mc_conn { /* one thread; zeroed with fd -1 = closed */
  struct lb_env *env;
  int fd;
  char got[1024]; /* read and not used yet */
  size_t got_size;
  unsigned owed;   /* answers of earlier requests that are still to come */
  uint64_t losses; /* connections that were lost or closed */
};

/* Connects. 0, or -errno with env->err. */
int mc_open(struct mc_conn *conn, struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline);
/* Closed is fine. */
void mc_close(struct mc_conn *conn);
/* Whether it is open, as far as has been heard by now. Neither asks nor waits. */
bool mc_is_open(struct mc_conn *conn);
struct mc_reply {
  char line[256];  /* the first one, without its end */
  char value[256]; /* of a VA, else "" */
};

/* One request, with its \r\n. 0. LB_UNKNOWN: sent, and not answered in time: its answer is read before the next
 * one's; or the connection is lost. -errno: not sent. */
int mc_call(struct mc_conn *conn, lb_ns deadline, const char *text, struct mc_reply *ret);
/* The number of this row of `stats`. 0, or -errno (-ETIMEDOUT). */
int mc_stat(struct mc_conn *conn, const char *row, lb_ns deadline, uint64_t *ret);
/* Deletes every key that begins with `prefix`. 0, or -errno (-ETIMEDOUT). */
int mc_delete_all(struct mc_conn *conn, const char *prefix, lb_ns deadline);

#endif
