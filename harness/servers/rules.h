/* SPDX-License-Identifier: MIT
 *
 * rules.h - counted drop rules of nftables at the hosts that are to receive nothing. Each fault of
 * links has a table of its own on every such host, so deleting the table undoes this fault and no
 * other, and its counters tell what it alone has dropped.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_RULES_H
#define LB_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

struct lb_way { /* one direction of a link */
  const struct lb_host *from, *to;
};

struct lb_rules {
  char table[16];           /* a name that no other rules of this net have */
  int priority;             /* nftables asks lower priorities first */
  const char *const *match; /* which packets of a sender: a rule for each, as nft writes it, with a blank behind it; "" = all that are left */
  size_t match_count;
  const struct lb_way *way; /* each way stands once */
  size_t way_count;
};

/* Makes them on every receiving host. 0, or -errno with err: then some may have been made. */
int lb_rules_add(const struct lb_rules *rules, char *err, size_t err_size);
/* Takes them away on every host, whatever fails on one of them, also those that were never made. 0,
 * or the first -errno with err. */
int lb_rules_remove(const struct lb_rules *rules, char *err, size_t err_size);
/* How many packets each rule has dropped: ret[i * match_count + j] of way i and match j. 0, or
 * -errno with err. */
int lb_rules_read(const struct lb_rules *rules, uint64_t *ret, char *err, size_t err_size);

#endif
