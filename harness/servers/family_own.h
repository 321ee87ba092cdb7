/* SPDX-License-Identifier: MIT
 *
 * family_own.h - the families of the user's own servers: nothing is started, stopped or counted there. How each kind is asked who it is,
 * and how what runs have left is removed. Private to own.c and family_own*.c.
 */
#ifndef LB_FAMILY_OWN_H
#define LB_FAMILY_OWN_H

#include "own.h"

extern const struct lb_family lb_family_own_redis, lb_family_own_sentinel, lb_family_own_cluster, lb_family_own_zookeeper, lb_family_own_postgres,
    lb_family_own_etcd;

/* Every name that a run gives to what it makes begins with this and eight of these. */
#define LB_OWN_PREFIX "lockbench:"
#define LB_OWN_DIGIT "[0-9a-f]"
#define LB_OWN_DIGITS LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT LB_OWN_DIGIT

typedef int lb_own_ask_hook(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret);
typedef int lb_own_clean_hook(struct lb_env *env, const struct lb_own *own, lb_ns deadline);
lb_own_ask_hook lb_own_redis_ask, lb_own_sentinel_ask, lb_own_cluster_ask, lb_own_zookeeper_ask, lb_own_postgres_ask, lb_own_etcd_ask;
lb_own_clean_hook lb_own_redis_clean, lb_own_zookeeper_clean, lb_own_postgres_clean, lb_own_etcd_clean;

/* Takes a CONNINFO of libpq apart, with one line in err where it has what does not belong there (family_own_postgres.c). */
int lb_own_read_conninfo(struct lb_own *own, const char *text, char *err, size_t err_size);
/* One more server, "HOST:PORT". `text` is written to. */
int lb_own_add_address(struct lb_own *own, char *text, char *err, size_t err_size);
/* -EINVAL with the line that says where a password belongs. */
int lb_own_refuse_login(const struct lb_own_kind *kind, char *err, size_t err_size);
/* Adds a server to those that were found. 0, or -E2BIG with env->err. */
int lb_own_note(struct lb_env *env, const struct lb_own *own, struct lb_own_found *found, const char *host, uint16_t port);

#endif
