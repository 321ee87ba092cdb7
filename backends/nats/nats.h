/* SPDX-License-Identifier: MIT
 *
 * nats.h - a connection to a NATS server with our own deadlines: requests and their answers, and one subject that
 * is listened to. Private to the NATS protocols and the harness's NATS topologies.
 *
 * NATS's C client has threads of its own, and its calls wait for them on condition variables, which no env can do. So
 * this speaks the protocol itself (docs.nats.io, "Client Protocol"), which is text.
 */
#ifndef LB_NATS_H
#define LB_NATS_H

#include <jansson.h>

#include "backends/backend.h"

enum { NATS_NAME_MAX = 64 };
/* A name of ours as a bucket or a key may have it: without colons. Returns `buf`. */
const char *nats_spell(const char *name, char buf[NATS_NAME_MAX]);
/* The stream behind the bucket of that name: "KV_lockbench_0a1b2c3d" of "lockbench:0a1b2c3d". Returns `buf`. */
const char *nats_stream(const char *name, char buf[NATS_NAME_MAX]);

struct nats_conn { /* one thread; zeroed with fd -1 = closed */
  struct lb_env *env;
  int fd;
  char got[16384]; /* read and not used yet */
  size_t got_size;
  char inbox[24], server_id[64], server_name[80], version[24]; /* of the server; the id is of this start */
  uint64_t asked;      /* number of the latest request: what answers an earlier one is dropped */
  char listening[160]; /* to this subject; "" = to none */
  bool heard;          /* a message came there, and nats_hear() has not told of it yet */
  uint64_t losses;     /* connections that were lost or closed */
};

/* Connects, with endpoint.user and password if there are any. 0, or -errno with env->err. */
int nats_open(struct nats_conn *conn, struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline);
/* Closed is fine. */
void nats_close(struct nats_conn *conn);
/* Whether it is open, as far as has been heard by now. Neither asks nor waits. */
bool nats_is_open(struct nats_conn *conn);

struct nats_request {
  const char *subject, *headers, *body; /* headers: "NAME: VALUE\r\n" each; NULL = none */
};
struct nats_reply {
  int status;   /* in its headers: 503 = the subject has no listener, 404; 0 = none */
  size_t size;  /* of its body */
  json_t *said; /* the body if it is JSON, else NULL; the caller's */
};

/* One request. 0. LB_UNKNOWN: sent, and not answered in time, or the connection is lost. -errno: not sent. */
int nats_call(struct nats_conn *conn, const struct nats_request *request, lb_ns deadline, struct nats_reply *ret);
/* A number of an answer, 0 = none. Some are larger than a signed one of 64 bits, so all are read as floating ones. */
uint64_t nats_number(const json_t *object, const char *name);
/* A message without a body and without an answer. */
void nats_tell(struct nats_conn *conn, const char *subject);
/* From now on messages to this subject are heard. 0 or -errno. */
int nats_listen(struct nats_conn *conn, const char *subject);
/* Until one is heard. LB_OK, LB_TIMEOUT, -errno: the connection is lost. */
int nats_hear(struct nats_conn *conn, lb_ns deadline);

#endif
