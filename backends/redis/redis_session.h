/* SPDX-License-Identifier: MIT
 *
 * redis_session.h - one client's session with the Redis server that decides, and what can be known of a request whose
 * reply never came. For protocols that ask one server at a time; redlock.h is for those that ask several.
 *
 * Unknown outcomes. A SET without a reply may have been executed, or may still be on its way. Three things keep the
 * answers true afterwards:
 *  - The connection stays. Redis executes a connection's commands in order, so a GET (or the delete) that is answered
 *    there settles what the SET before it did, and nothing can follow.
 *  - Where the server has ended the connection, what it had not executed it never will: a new one tells the truth.
 *  - Only a connection given up because it stays silent leaves doubt: its SET may arrive after we looked elsewhere. Own
 *    token found = held. Not found = unknown until the lease would have run out anyway; from then on the client could
 *    not believe in it, which makes "not held" definite. All a SET can do after that is block others for one ttl.
 * A silent connection gets a short grace in the next redis_session_ask(), and none from a redis_session_once().
 *
 * In a cluster the key of a request says which server decides (redis_link). The connection is the one to that server;
 * those to others are kept for later, unless they are silent. A request that is sent on (MOVED, ASK) was not executed,
 * and goes on at once; what is refused because no server decides (CLUSTERDOWN) is refused to the caller.
 *
 * Source: the order of a connection's commands is Redis's own promise (redis.io, "Pipelining"); the rest follows.
 */
#ifndef LB_REDIS_SESSION_H
#define LB_REDIS_SESSION_H

#include "backends/doubt.h"
#include "redis_command.h"
#include "redis_link.h"

struct redis_session { /* one thread; the fields are its own but env, link.target and, to look at, conn */
  struct lb_env *env;
  struct redis_link link;
  const char *prefix;                         /* of the run */
  struct redis_conn *conn;                    /* NULL: the next use connects */
  struct redis_conn *parked[REDIS_NODES_MAX]; /* of a cluster: to the other servers, in the order of the endpoints */
  bool sent_on;                               /* the latest reply named another server */
  lb_ns used_at;                              /* when conn last answered */
  uint64_t losses;                            /* connections that were given up */
  struct lb_confirmed confirmed;
  struct {          /* attempts, by asked_at, whose request got no reply */
    lb_ns from, to; /* both 0: none */
    lb_ns until;    /* their leases end before, whenever the server started them while it mattered */
    bool in_conn;   /* their requests all stand in front of what conn will execute next */
  } doubt;
};

/* One request, and what came of it. What does not matter stays 0. The strings are the caller's and outlive the call. */
struct redis_request {
  struct redis_command command;
  struct lb_grant *grant; /* the attempt that it takes the lock for, or undoes; else NULL */
  /* for redis_session_once() */
  bool repeated; /* the attempt sent such a request before: its asked_at stays */
  bool
      stays; /* only over the connection of the request before it, wherever its key belongs: -ENOTCONN if that is gone */
  int64_t ttl_ms;             /* of the lease that it starts, 0 = for ever */
  const char *before, *after; /* points: connected, nothing sent yet; the reply has been read, or given up */
  /* for redis_session_ask() */
  bool undoes; /* after it nothing is left of the grant, whatever stood before it in the same connection */
  /* the outcome */
  redisReply *reply; /* the answer, of any type but error, when 0 was returned, else NULL. The caller frees it */
  lb_ns sent_at;     /* once: lb_now() just before the try that returned left */
  bool unsure;       /* ask: it was executed perhaps, before the try that answered */
};

/* Looks for the server in config->target. Connects at the first use: a client may be started while the server is down.
 * 0, or -EINVAL: the target has no such server. */
int redis_session_open(struct redis_session *session, const struct lb_config *config);
/* For the hook teardown: removes all keys of the run, over a connection of its own. */
int redis_session_teardown(struct redis_session *session, lb_ns deadline);
/* For the hook server: index of the endpoint that the connection leads to, -ENOENT = there is none now, or it leads
 * elsewhere. */
int redis_session_server(const struct redis_session *session);
/* Gives the connection up, as what it knows is not wanted any more (a transaction that was begun). */
void redis_session_hang_up(struct redis_session *session);
/* Closes the connection. A zeroed session is fine. */
void redis_session_close(struct redis_session *session);

/* A request that takes the lock, or another that must not be executed twice. It does not wait behind a connection that
 * is silent. It is sent again only while that is harmless and time is left: on a new connection when the old one was
 * lost before anything was sent, with Sentinel when the server is no master any more (the search for the master
 * does the waiting), and in a cluster where it is sent on; one that `stays` never. Sets the grant's asked_at, unless it
 * is repeated. 0: request->reply. LB_UNKNOWN: no reply came; the attempt is in doubt from now on. -errno: refused, or
 * never sent; nothing of this request remains. */
int redis_session_once(struct redis_session *session, struct redis_request *request, lb_ns deadline);
/* MULTI, the command (no script) and EXEC, sent together over the connection of the request before, or not at all. 0:
 * *reply, which the caller frees, is what EXEC said, nil if something watched has changed. LB_UNKNOWN: no reply came.
 * -errno: nothing was changed, and the connection is given up. */
int redis_session_exec(struct redis_session *session, const struct redis_command *command, redisReply **reply,
                       lb_ns deadline);
/* A request that may be executed twice: a read, or a script that looks at the token first. A connection that existed
 * before and fails is replaced within the call: it may have been stale, silent, or to a server that is no master any
 * more. 0: request->reply. LB_UNKNOWN: executed perhaps, no reply. -errno: not executed. */
int redis_session_ask(struct redis_session *session, struct redis_request *request, lb_ns deadline);
/* The server has just said that the key is the grant's. Returns LB_OK. */
int redis_session_confirm(struct redis_session *session, const struct lb_grant *grant);
/* Sends `command`, which moves the end of the grant's key and answers 1 or OK where it did, and which may be executed twice:
 * the hook extend. LB_OK, LB_LOST, LB_UNKNOWN, -errno; valid_until as lb_lease_extended() says. */
int redis_session_extend(struct redis_session *session, struct redis_command command, int64_t ttl_ms,
                         struct lb_grant *grant, lb_ns deadline);
/* The hook doubt: LB_OK, or LB_UNKNOWN with a text: the connection is closed by now, or another one had to be made
 * since the grant was confirmed. One system call that does not wait. */
int redis_session_doubt(struct redis_session *session, const struct lb_grant *grant);
/* The server has said that the key is not the grant's. `result`, or LB_UNKNOWN with a text in env->err as long as the
 * attempt is in doubt: its request may still arrive. */
int redis_session_absent(struct redis_session *session, const struct lb_grant *grant, int result);

#endif
