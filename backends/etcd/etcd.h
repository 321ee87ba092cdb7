/* SPDX-License-Identifier: MIT
 *
 * etcd.h - one HTTP connection to one etcd server, by whose gateway every call of its API is a POST of JSON that
 * is answered by JSON. Private to the protocols on etcd and to family_etcd.c.
 *
 * libcurl's multi interface does HTTP and never waits: all waiting is done here, in env, until an absolute deadline.
 * One request at a time. Its outcome is LB_OK; or what could be known when there was no answer:
 *  - LB_TIMEOUT, or -errno: nothing of it had left (the connection could not be made, or was not in time).
 *  - LB_UNKNOWN: it had left, or part of it. The connection is given up, so a late answer is never taken for another
 *    one's.
 * libcurl sends a request again by itself, if a connection that it kept was closed before it read an answer. The server
 * may have executed it. So the body is given to libcurl in a way that cannot be repeated: it fails instead, and that is
 * LB_UNKNOWN.
 *
 * Sources: libcurl-multi(3); etcd.io/docs/v3.4/dev-guide/api_grpc_gateway.
 */
#ifndef LB_ETCD_H
#define LB_ETCD_H

#include <jansson.h>

#include "backends/backend.h"

struct etcd_link;

/* Numeric addresses and names. With a password it logs in, and all further requests carry what that gave; else it sends
 * nothing yet. With TLS the certificate has to be of the host and signed by one of target->ca_file (NULL, or no target:
 * any is believed). 0; -EACCES: it does not take the user or the password; -errno. */
int etcd_open(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline,
              struct etcd_link **ret);
/* The same for one more connection of a client, which needs no login of its own: it carries what that of `other`
 * gave. */
int etcd_open_beside(const struct etcd_link *other, struct lb_env *env, const struct lb_target *target,
                     const struct lb_endpoint *at, lb_ns deadline, struct etcd_link **ret);
/* NULL is fine. A request that is not answered yet is given up. */
void etcd_close(struct etcd_link *link);

/* Sends a request ("/v3/kv/txn"; NULL as the body: a GET), as far as it goes without waiting. Takes the reference to
 * `body`. An earlier one that is not answered yet is given up. 0 or -errno: nothing has left. */
int etcd_send(struct etcd_link *link, const char *path, json_t *body);
/* Waits for the answer. LB_OK: *ret is what the server said, freed by the caller with json_decref(). LB_BUSY: the
 * deadline came first, and the request is still under way: ask again, or give it up. LB_UNKNOWN; -errno: refused by the
 * server for good (-ENOENT: no such lease; -EPROTO), or not sent. */
int etcd_receive(struct etcd_link *link, lb_ns deadline, json_t **ret);
/* For an answer that is a stream, as of a watch: waits until `text` has come in it. LB_OK; LB_BUSY: not yet;
 * LB_UNKNOWN, -errno: it has ended. */
int etcd_await_text(struct etcd_link *link, const char *text, lb_ns deadline);
/* "NAME 1.7e9", that row of the server's metrics. LB_OK, LB_TIMEOUT, -errno. */
int etcd_metric(struct etcd_link *link, const char *name, lb_ns deadline, char *ret, size_t size);
/* Waits until the answer can be received at once. LB_OK; LB_BUSY: not yet; -errno. */
int etcd_await(struct etcd_link *link, lb_ns deadline);
/* Whether a request is under way. */
bool etcd_is_asking(const struct etcd_link *link);
/* Gives up what is under way: the connection is closed. LB_UNKNOWN, or LB_TIMEOUT: nothing of it had left. */
int etcd_give_up(struct etcd_link *link);
/* All of it, until the deadline: LB_OK, LB_TIMEOUT, LB_UNKNOWN, -errno. */
int etcd_call(struct etcd_link *link, const char *path, json_t *body, lb_ns deadline, json_t **ret);

/* How many connections were lost so far: closed by the server, or given up. With `look` also one that was closed since.
 * Does not wait. */
uint64_t etcd_losses(struct etcd_link *link, bool look);

/* Numbers of 64 bits are texts in this JSON, and 0 is left out. */
uint64_t etcd_number(const json_t *object, const char *name);
/* Keys and values are base64 there. The text as JSON; and back, 0 or -EPROTO. */
json_t *etcd_text(const char *text);
int etcd_read_text(const json_t *text, char *buf, size_t size);
/* For the hook break_lock: deletes, at one member, the key of that range (key, range_end) which was made first. Takes
 * the reference. 1, 0, -errno. */
int etcd_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, json_t *range, lb_ns deadline);

#endif
