/* SPDX-License-Identifier: MIT
 *
 * cut.h - cuts of a trial's network: counted drop rules of nftables at the hosts that are to receive nothing. Each cut
 * has a table of its own on every such host. So one direction can be cut, several cuts can hold at once, each tells
 * what it alone has dropped, and each is healed by itself.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_CUT_H
#define LB_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules.h"

/* A probe of a cut leaves from this port, or goes to it. This tells its packets and their answers from all other
 * packets. No program listens there. */
#define LB_CUT_PROBE_PORT 9

struct lb_cut {      /* one that holds */
  const void *owner; /* whatever the caller finds it by */
  int number;        /* from 1 in this net; never used again */
  struct lb_way *way;
  size_t way_count;
  struct lb_cut *older;
};

/* From now on no packet goes these ways, also on connections that exist. What goes the same way as
 * in an older cut is dropped by this one first. Each way stands once in `ways`. 0, and *ret until
 * it is healed; or -errno with err. Then nothing is cut, or, if a host would not take back what it had
 * done, the cut stands in net->cuts, and healing all tries again. */
int lb_cut_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count, struct lb_cut **ret,
                struct lb_error *err);
/* How many packets the rules of this cut have dropped, on each of its ways: ret[i] of cut->way[i].
 * *ret_others: on all ways together, those that are not of a probe; NULL = not asked. 0, or -errno
 * with err. */
int lb_cut_dropped(const struct lb_cut *cut, uint64_t *ret, uint64_t *ret_others, struct lb_error *err);
/* Undoes this cut alone, on every host, and frees it. 0, or the first -errno with err: then the cut
 * still stands in net->cuts. */
int lb_cut_heal(struct lb_net *net, struct lb_cut *cut, struct lb_error *err);
/* The same with all cuts: each is tried. 0, or the first -errno with err. */
int lb_cut_heal_all(struct lb_net *net, struct lb_error *err);
/* True if `newest` or an older cut drops packets between a and b, either way. */
bool lb_cut_parts(const struct lb_cut *newest, const struct lb_host *a, const struct lb_host *b);
/* Frees what is known of cuts without touching a rule: their hosts are gone. */
void lb_cut_forget_all(struct lb_net *net);

#endif
