/* SPDX-License-Identifier: MIT
 *
 * rules.h - the rules of a firewall on hosts: which packets are dropped on which ways, and how many were.
 */
#ifndef LB_RULES_H
#define LB_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net.h"

struct lb_way { /* one direction of a link */
  const struct lb_host *from;
  struct lb_host *to; /* the rules stand there */
};

struct lb_rules {
  char table[16]; /* a name that no other rules of this net have */
  int priority;   /* nftables asks lower priorities first */
  const char *const *
      match; /* which packets of a sender: a rule for each, as nft writes it, with a blank behind it; "" = all that are left */
  size_t match_count;
  const struct lb_way *way; /* each way stands once */
  size_t way_count;
};

/* Makes them on every receiving host. 0, or -errno with err: then some may have been made. */
int lb_rules_add(const struct lb_rules *rules, struct lb_error *err);
/* Takes them away on every host, whatever fails on one of them, also those that were never made. 0,
 * or the first -errno with err. */
int lb_rules_remove(const struct lb_rules *rules, struct lb_error *err);
/* How many packets each rule has dropped: ret[i * match_count + j] by match[j] on way[i]. 0, or -errno with err. */
int lb_rules_read(const struct lb_rules *rules, uint64_t *ret, struct lb_error *err);

/* Closes what each host keeps to make rules with. The rules stay. */
void lb_rules_forget_all(struct lb_net *net);

#endif
