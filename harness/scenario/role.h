/* SPDX-License-Identifier: MIT
 *
 * role.h - how a step names hosts without knowing the topology.
 */
#ifndef LB_ROLE_H
#define LB_ROLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define LB_CLIENTS_MAX 128 /* largest N of `client N`, and `clients` of a process each */

enum lb_role_kind {
  LB_ROLE_NONE,
  LB_ROLE_PRIMARY, /* the server that decides; bound when a timeline first names it. Number 2: the server that took over from it, and so on */
  LB_ROLE_CURRENT_PRIMARY, /* asked again each time */
  LB_ROLE_REPLICAS, /* the other data servers, as seen from `primary`; in a step that names primary N from that one, and `number` is N */
  LB_ROLE_NODE,      /* node N, from 1 */
  LB_ROLE_MAJORITY,  /* the smallest majority of the data servers that contains the primary */
  LB_ROLE_PARTNERS,  /* the others of it, beside the primary */
  LB_ROLE_MINORITY,  /* the rest of the data servers */
  LB_ROLE_PROXY,     /* the server that stands before the data servers */
  LB_ROLE_WITNESS,   /* witness N, from 1: of the servers that hold no locks */
  LB_ROLE_ALL,       /* all servers */
  LB_ROLE_CLIENT,    /* client N, from 1 */
  LB_ROLE_CLIENTS,   /* all clients */
  LB_ROLE_HOLDER,    /* the client that holds now */
  LB_ROLE_WAITERS,   /* the clients that ask now */
  LB_ROLE_SERVER_OF, /* the server that client N talks to now; `number` is N */
};
struct lb_role {
  enum lb_role_kind kind;
  int number; /* node, client: from 1; 0 = `any`, drawn from the seed (faults of a [campaign] only). Primary: 0, or from 2 */
};
enum { LB_PRIMARIES_MAX = 9 }; /* so many may lead one after the other in a timeline */

/* A role as a step would write it: "current primary", "node 2". 32 bytes are enough. */
void lb_role_format(struct lb_role role, char *buf, size_t size);
/* True if it is told from `primary` who plays this role; `primary` does, too. */
bool lb_role_is_relative(struct lb_role role);
/* True for roles of clients. */
bool lb_role_is_client(struct lb_role role);
/* True for the same words. */
bool lb_role_equal(struct lb_role a, struct lb_role b);

/* A role from words[0..count): number of words taken, or -EINVAL with err. */
int lb_role_parse(char *const *words, size_t count, struct lb_role *ret, struct lb_error *err);
/* The number of a node or client, from 1 to max; `kind` is the word before it, `word` may be NULL.
 * 0, or -EINVAL with err. */
int lb_role_number_parse(const char *kind, const char *word, int max, int *ret, struct lb_error *err);
/* True for roles that name exactly one server, and not one that is drawn. `current primary` may be
 * another one each time. */
bool lb_role_is_one_server(struct lb_role role);
/* True for `node any` and `client any`. */
bool lb_role_is_any(struct lb_role role);

#endif
