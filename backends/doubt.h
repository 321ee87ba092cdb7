/* SPDX-License-Identifier: MIT
 *
 * doubt.h - what the hook `doubt` of every protocol with a connection goes by: a session counts how often its
 * connection was lost, and remembers the count at which the service last confirmed a grant. A loss since then is a
 * doubt, also when the connection is back: the client was not told what happened meanwhile. Another confirmation
 * (extend, holds) ends it.
 *
 * For ZooKeeper this is stricter than Curator and kazoo need to be: a client that is connected again with the same
 * session still has its nodes, so RECONNECTED ends their SUSPENDED without a question. The holds that are given up for
 * that are the price of one rule for all locks; a trial shows them as stops in doubt of a client that no other client
 * had overtaken.
 */
#ifndef LB_DOUBT_H
#define LB_DOUBT_H

#include <string.h>

#include "backend.h"

struct lb_confirmed { /* the latest grant that was confirmed; zeroed = none */
  char token[LB_TOKEN_MAX];
  size_t token_len;
  uint64_t losses; /* of connections, when the question left that was answered */
};

/* The service has confirmed this grant; `losses` were counted before it was asked. */
static inline void lb_confirm(struct lb_confirmed *confirmed, const struct lb_grant *grant, uint64_t losses) {
  memcpy(confirmed->token, grant->token, sizeof confirmed->token);
  confirmed->token_len = grant->token_len;
  confirmed->losses = losses;
}

/* Whether it is the latest one that was. */
static inline bool lb_is_confirmed(const struct lb_confirmed *confirmed, const struct lb_grant *grant) {
  return confirmed->token_len == grant->token_len && !memcmp(confirmed->token, grant->token, grant->token_len);
}

/* True if no connection was lost since the grant was last confirmed. Of a grant that is not the latest one nothing is
 * known: false, if any was lost at all. */
static inline bool lb_still_confirmed(const struct lb_confirmed *confirmed, const struct lb_grant *grant,
                                      uint64_t losses) {
  return losses == (lb_is_confirmed(confirmed, grant) ? confirmed->losses : 0);
}

#endif
