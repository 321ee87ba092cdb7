/* SPDX-License-Identifier: MIT
 *
 * foreign.h - locks of programs that somebody else has written: an adapter, which speaks the line protocol of
 * peers/README.md on its stdin and stdout, becomes a protocol like those of this folder. Each session runs one such
 * program; its calls become lines.
 *
 * What the contract of backend.h asks of a protocol is promised as far as a pipe can. A foreign library knows nothing
 * of our deadlines and of leases that count from before a request, so: a call that is not answered by its deadline is
 * LB_UNKNOWN, and its answer is taken when it comes; a lease whose library does not say what is left of it counts from
 * when the answer was read (its caller knows nothing else). An answer that the line protocol does not know, an end of
 * the program or a flood of lines is -EPROTO, which hook.c treats as a breach of the contract (LB_TRAIT_FOREIGN).
 */
#ifndef LB_FOREIGN_H
#define LB_FOREIGN_H

#include "backends/backend.h"

struct lb_error; /* base/error.h */

#define LB_FOREIGN_LINE_MAX 4096

/* How a foreign lock is called. The texts are copied. */
struct lb_foreign_plan {
  const char *kind;    /* in front of its name: "peer", "exec" */
  const char *command; /* for /bin/sh: "python3 mylock.py" */
  const char *folder;  /* where it is called; NULL = where we are */
  const char
      *says; /* the words of its first line, "name=... topologies=..."; without version= where that is not known yet */
  const char *version; /* of its library when it was looked at; NULL = not known */
  const char *like;    /* the protocol of ours with the same algorithm; NULL = none */
  const char *summary; /* one line; NULL = made of its name */
  int start_ms;        /* processor time until its first line; 0 = not known */
};

/* Makes a protocol of it and puts it into the registry (registry.h), under the name KIND:NAME. It stays until the
 * process ends. NULL with one line in err: a word that is missing, unknown or wrong, a name that is taken, no
 * memory. */
const struct lb_protocol *lb_foreign_add(const struct lb_foreign_plan *plan, struct lb_error *err);
/* Only for a foreign protocol: lb_protocol.data of others is something else. */
const char *lb_foreign_version(const struct lb_protocol *protocol); /* of the plan, or that it said; "" = not known */
/* Starts it and asks for the version that is here; "" = it says none. 0 or -errno. */
int lb_foreign_ask_version(const struct lb_protocol *protocol, char *buf, size_t size);
const char *lb_foreign_like(const struct lb_protocol *protocol); /* NULL = none */
const char *lb_foreign_command(const struct lb_protocol *protocol);
/* Processor time that its program takes to start, for each client: as measured, or that of a usual interpreter. */
int lb_foreign_start_ms(const struct lb_protocol *protocol);
/* Whether its first line says that grants carry what is left of them, and what a server has of a held lock. */
bool lb_foreign_tells_validity(const struct lb_protocol *protocol);
/* Whether a release takes the token of a grant of any client. */
bool lb_foreign_takes_tokens(const struct lb_protocol *protocol);
bool lb_foreign_names_record(const struct lb_protocol *protocol);
/* Whether the adapter itself looks up what there is of a lock (can=record). */
bool lb_foreign_looks_up(const struct lb_protocol *protocol);
/* Whether that is data: not an advisory lock, nor what a transaction has locked. */
bool lb_foreign_names_data(const struct lb_protocol *protocol);

#endif
