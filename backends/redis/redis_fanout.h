/* SPDX-License-Identifier: MIT
 *
 * redis_fanout.h - one command to N servers, at once or one after the other, and their votes.
 *
 * Whatever is late, broken or sent twice, a server has one vote in a round, and it is on the command of that round:
 * - A reply to an earlier round is still owed by the connection it was asked on (redis_owed), and is skipped before the
 *   vote.
 * - Where a connection broke, the reply to what went down it never comes any more. The server may have executed the
 *   command, so on the new connection it is asked in a form that knows its own earlier effect (`resent`), or it would
 *   count that as somebody else's.
 */
#ifndef LB_REDIS_FANOUT_H
#define LB_REDIS_FANOUT_H

#include "backends/doubt.h"
#include "redis_command.h"

enum redis_vote {
  REDIS_PENDING, /* may still answer */
  REDIS_YES,
  REDIS_NO,      /* a definite no */
  REDIS_SILENT,  /* no answer that counts will come in this round: down, too far behind, or it refused */
  REDIS_UNASKED, /* its turn has not come */
};

/* How a round goes through the servers. */
enum redis_fanout_way {
  REDIS_QUORUM,     /* to all at once, and no longer than until the votes decide */
  REDIS_ALL,        /* to all at once, until the last has answered */
  REDIS_ONE_BY_ONE, /* to the next one when the one before has answered, or its time is over */
};

struct redis_node {
  const struct lb_endpoint *endpoint;
  struct redis_conn *conn; /* NULL: the next round connects */
  lb_ns open_at;           /* not before: it was refused a moment ago */
  lb_ns heard_at;          /* when it answered last, or when we began to wait for it */
  size_t late;             /* replies to earlier rounds that come before the one to this round */
  enum redis_vote vote;
  /* In this round. */
  bool sent;       /* the command went down a connection, or may have */
  bool reopened;   /* that was given up for a new one */
  bool resent;     /* the command that is asked now is the one for who may have executed it already */
  uint64_t losses; /* connections to it that were given up */
  /* For redis_fanout_confirm(): whether it said yes in that round, and its losses then. */
  bool confirmed;
  uint64_t losses_confirmed;
  char trouble[160]; /* why its connection failed; empty since it answered */
};

typedef enum redis_vote redis_read_vote(const redisReply *reply, const void *context);

struct redis_round {
  struct redis_command command; /* a script is sent with its whole text */
  /* The same for a server that may have executed the command already. read_resent = NULL: it may be executed twice, and
   * says the same the second time. */
  struct redis_command resent;
  size_t owed_max; /* a server that owes this many replies is left out */
  redis_read_vote *read, *read_resent;
  const void *context;
  bool only_yes;          /* only those are asked that said yes in the round before; the others are silent */
  size_t yes, no, silent; /* counted so far */
};

struct redis_fanout {
  struct lb_env *env;
  const struct lb_endpoint *endpoints; /* of the target */
  struct redis_node node[REDIS_NODES_MAX];
  size_t count, quorum; /* quorum: more than half of all, up or not */
  enum redis_fanout_way way;
  struct lb_confirmed confirmed; /* the grant; losses are counted for each connection */
  lb_ns
      patience; /* how long a round waits for its answers; one by one: how long for each; 0 = as long as its deadline allows */
};

/* In zeroed memory, but for `way` and `patience`: starts to connect to all servers with service "redis", without
 * waiting. 0 or -errno (none, or too many). */
int redis_fanout_init(struct redis_fanout *fanout, struct lb_env *env, const struct lb_target *target);
void redis_fanout_deinit(struct redis_fanout *fanout);

/* Sends the round's command to every server, one by one to the first, without waiting. Replies not gathered are thrown
 * away in a later round. */
void redis_fanout_send(struct redis_fanout *fanout, struct redis_round *round);
/* Gathers votes until there is a quorum of yes, or no such quorum is possible against the definite no alone (with
 * silent_is_no: against no and silence), or all have voted, or the deadline or the patience is over. Only REDIS_QUORUM
 * ends before all have voted. */
void redis_fanout_gather(struct redis_fanout *fanout, struct redis_round *round, bool silent_is_no, lb_ns deadline);

/* Why one of the servers cannot be reached, if one cannot: ": TEXT", or "". For messages. */
const char *redis_fanout_trouble(struct redis_fanout *fanout);
/* A quorum has just confirmed the grant, which redis_fanout_doubt() will be asked about: those that said yes so far. A
 * yes that arrives later does not count, so after a round that ended with the quorum these are hardly more than that.
 * LB_OK. */
int redis_fanout_confirm(struct redis_fanout *fanout, const struct lb_grant *grant);
/* The servers that said so: 1 << i is the endpoint i of the target. */
uint64_t redis_fanout_yes(const struct redis_fanout *fanout);
/* The hook doubt: LB_UNKNOWN, unless a quorum of the connections to these has worked without a break since. */
int redis_fanout_doubt(struct redis_fanout *fanout, const struct lb_grant *grant);
/* Sends it to every server at once, whatever the way, and leaves the answers for later rounds to skip. */
void redis_fanout_tell(struct redis_fanout *fanout, struct redis_round *round);
/* Sends it and gathers; silence is no answer. */
void redis_fanout_run(struct redis_fanout *fanout, struct redis_round *round, lb_ns deadline);

#endif
