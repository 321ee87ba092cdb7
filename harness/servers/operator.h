/* SPDX-License-Identifier: MIT
 *
 * operator.h - what an operator does to running servers of a family: shuts them down, promotes one, removes one, ends a
 * session, backs up. What they are and how they are asked: family.h.
 *
 * Each hook is an order to one server, by its index in the cluster. It returns 0 when the server has taken the order,
 * or -errno with the reason in cluster->env->err; it polls until its deadline. NULL = the family cannot do it. A table
 * without hooks is that of servers that are not ours.
 */
#ifndef LB_OPERATOR_H
#define LB_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "base/text.h"

struct lb_cluster;

typedef int lb_operator_order(struct lb_cluster *cluster, size_t index, lb_ns deadline);

/* How a server is shut down, and what proves it. */
struct lb_ending {
  int signal;       /* to its first process */
  int status;       /* its exit status */
  bool by_signal;   /* ... or it dies of the signal, having tidied up */
  const char *says; /* in its log by then; NULL = nothing: it does not tidy up */
};

struct lb_operator {
  const struct lb_ending *ending; /* NULL = no server of ours */

  /* ---- who decides, and who is a member ---- */

  /* Promotes another data server than `old`, where an operator has to (PostgreSQL). -ENOENT: none that could be
   * promoted answers so far; else the reason is in cluster->err. NULL = it fails over by itself. */
  int (*promote)(struct lb_cluster *cluster, int old, lb_ns deadline);
  /* Orders this server, which decides, to step down for another one. -ENOENT: as with promote. */
  lb_operator_order *depose;
  /* Removes this server from its cluster, by an order to another one. 0 = that one no longer lists it. */
  lb_operator_order *remove;
  /* Moves the slot of cluster->key to this server, with all its keys; or without, and the one that had them has none
   * then. */
  lb_operator_order *move_slot, *strand_key;

  /* ---- clients ---- */

  /* Cancels the statement with which a client at that address waits for the standby of this server. 0 = the server was
   * told, and then says `cancelled` in its log; -EAGAIN: the client does not wait yet. */
  int (*cancel)(struct lb_cluster *cluster, size_t index, const char *client, lb_ns deadline);
  const char *cancelled;
  /* Ends what a client at that address has at this server: its connections, or the session with that number
   * (lb_proofs.session_id; 0 = not known). 0 = the server no longer knows them, with what was ended in `said`; -ENOENT
   * = it knew of none. */
  int (*end_session)(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                     struct lb_text *said);
  /* Keeps the server processes that this pooler would lend next busy with idle transactions, or ends these: the next
   * client gets another process. NULL = it is no pooler. */
  lb_operator_order *occupy, *vacate;
  /* Takes the tables of the locks for one transaction, as an upgrade does, until unlock_tables ends it. 0 = the server,
   * asked over another connection, lists them as locked. */
  lb_operator_order *lock_tables, *unlock_tables;

  /* ---- what a server keeps (datadir.h) ---- */

  /* The files and folders, below its own, in which a data server keeps its data; some may be missing. NULL-terminated.
   * NULL = not known. */
  const char *const *files;
  bool starts_empty; /* without these it starts as a member that knows nothing */
  /* Makes a server that keeps nothing on disk write the first of them, which it would read at its next start. NULL =
   * all of them keep something. */
  lb_operator_order *save;

  /* ---- what it lives on ---- */

  /* Limits the memory of this server, sets the policy (a word of step_parse.c), and writes until it evicts keys or
   * refuses; `said` tells how that showed. free_memory undoes it. */
  int (*fill_memory)(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said,
                     size_t size);
  lb_operator_order *free_memory;
  const char *policy; /* the only one that it has; NULL = all */
  /* Makes this server, whose disk is full (room.h), need room. -ENOSPC: it refused, with its words in env->err. 0: it
   * found some. Other -errno: perhaps it ended; then `no_room` is in its log. */
  lb_operator_order *need_room;
  const char *no_room;
};

#endif
