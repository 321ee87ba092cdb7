/* SPDX-License-Identifier: MIT
 *
 * mandate.h - what the owner of servers that are not ours lets be done to them, and who does it: a guardian outside of
 * the sandbox, which proves it and undoes it (own/guardian.h). The trial only gives the orders.
 */
#ifndef LB_MANDATE_H
#define LB_MANDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct lb_topology;

enum lb_mandate_verb {
  LB_MAY_KILL,
  LB_MAY_RESTART,
  LB_MAY_PAUSE,
  LB_MAY_RESUME,
  LB_MAY_CUT,
  LB_MAY_HEAL,
  LB_MAY_CLOCK,
  LB_MAY_DEPOSE,
  LB_MAY_STOP,
  LB_MAY_COUNT
};
#define LB_MAY_NEVER (1u << LB_MAY_COUNT) /* no operator is asked for that */

enum { LB_MANDATE_MOST = 64 }; /* servers or links of one order */

struct lb_mandate_order {
  enum lb_mandate_verb verb;
  size_t count;
  uint8_t server[LB_MANDATE_MOST]; /* their places in the topology */
  uint8_t other[LB_MANDATE_MOST];  /* of a link: its other end */
  int64_t offset_ms;               /* of a clock */
};

struct lb_mandate {
  unsigned may;    /* a bit for each verb */
  size_t at_once;  /* so many servers at most, at a time */
  unsigned known;  /* a bit for each server that the owner has named */
  bool fails_over; /* somebody of theirs promotes a standby, as Patroni does */
  /* Has it done and proved. 0, or -1 with err; what was done is undone in any case. */
  int (*carry_out)(const struct lb_topology *topology, const struct lb_mandate_order *order, struct lb_error *err);
  /* 0 = whatever was done and not taken back by an order still lasts. */
  int (*holds)(struct lb_error *err);
};

/* "kill", by verb. */
extern const char *const lb_mandate_verbs[LB_MAY_COUNT];
/* "kill and restart" into buf, which it returns. */
const char *lb_mandate_say(unsigned verbs, char *buf, size_t size);
/* The verb that takes it back; LB_MAY_COUNT = none has to. */
enum lb_mandate_verb lb_mandate_undo(enum lb_mandate_verb verb);

#endif
