/* SPDX-License-Identifier: MIT
 *
 * A cut is rules (rules.h) and a place in the list of those that hold.
 */
#include "cut.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/need.h"
#include "line.h"

/* A rule for what a probe sends, one for the answers to it, and one for all other packets. */
#define STRING_(text) #text
#define STRING(text) STRING_(text)
static const char *const probe_rules[] = {"tcp sport " STRING(LB_CUT_PROBE_PORT) " ",
                                          "tcp dport " STRING(LB_CUT_PROBE_PORT) " ", ""};
enum { RULE_COUNT = sizeof probe_rules / sizeof *probe_rules };

/* The priority is the number of the cut, negative: hence the youngest cut first. A packet that two cuts would drop is
 * counted by the younger, which is the one to be proved. */
static struct lb_rules rules_of(const struct lb_cut *cut) {
  struct lb_rules rules = {.priority = -cut->number,
                           .match = probe_rules,
                           .match_count = RULE_COUNT,
                           .way = cut->way,
                           .way_count = cut->way_count};
  snprintf(rules.table, sizeof rules.table, "cut%d", cut->number);
  return rules;
}

static void forget(struct lb_net *net, struct lb_cut *cut) {
  struct lb_cut **link = &net->cuts;
  while (*link != cut) link = &(*link)->older;
  *link = cut->older;
  free(cut->way);
  free(cut);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* It is in the list before its first rule is made: a cut that could be made on some hosts only is
 * then healed like any other. */
static struct lb_cut *new_cut(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count) {
  struct lb_cut *cut = lb_need(malloc(sizeof *cut));
  struct lb_way *own = lb_need(malloc((count + 1) * sizeof *own));
  memcpy(own, ways, count * sizeof *own);
  *cut =
      (struct lb_cut){.owner = owner, .number = ++net->cuts_made, .way = own, .way_count = count, .older = net->cuts};
  net->cuts = cut;
  return cut;
}

int lb_cut_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count, struct lb_cut **ret,
                struct lb_error *err) {
  if (!net->separate) return lb_error(err, -ENOTSUP, "hosts share one loopback here: nothing to cut");
  struct lb_cut *cut = new_cut(net, owner, ways, count);
  struct lb_rules rules = rules_of(cut);
  lb_line_silence(net, ways, count, true);
  int r = lb_rules_add(&rules, err);
  lb_line_silence(net, ways, count, false);
  if (r == 0) return *ret = cut, 0;
  /* A cut that cannot be undone stays in the list: a later heal finds it, and fails with an error. */
  if (lb_rules_remove(&rules, NULL) == 0) forget(net, cut);
  return r;
}

/* ---- what it has dropped --------------------------------------------------------------------- */

int lb_cut_dropped(const struct lb_cut *cut, uint64_t *ret, uint64_t *ret_others, struct lb_error *err) {
  const struct lb_rules rules = rules_of(cut);
  uint64_t *packets = lb_need(calloc(cut->way_count * RULE_COUNT + 1, sizeof *packets)), others = 0;
  int r = lb_rules_read(&rules, packets, err);
  for (size_t i = 0; i < cut->way_count && r == 0; i++) {
    ret[i] = 0;
    for (size_t j = 0; j < RULE_COUNT; j++) ret[i] += packets[i * RULE_COUNT + j];
    others += packets[i * RULE_COUNT + RULE_COUNT - 1];
  }
  free(packets);
  if (ret_others) *ret_others = others;
  return r;
}

bool lb_cut_parts(const struct lb_cut *newest, const struct lb_host *a, const struct lb_host *b) {
  for (const struct lb_cut *cut = newest; cut; cut = cut->older)
    for (size_t i = 0; i < cut->way_count; i++)
      if ((cut->way[i].from == a && cut->way[i].to == b) || (cut->way[i].from == b && cut->way[i].to == a)) return true;
  return false;
}

/* ---- healing --------------------------------------------------------------------------------- */

/* A cut of which some rule is left still holds, and stays in the list. */
int lb_cut_heal(struct lb_net *net, struct lb_cut *cut, struct lb_error *err) {
  const struct lb_rules rules = rules_of(cut);
  int r = lb_rules_remove(&rules, err);
  if (r == 0) forget(net, cut);
  return r;
}

int lb_cut_heal_all(struct lb_net *net, struct lb_error *err) {
  int r = 0;
  for (struct lb_cut *cut = net->cuts, *older; cut; cut = older) {
    older = cut->older; /* the cut itself may be freed */
    int one = lb_cut_heal(net, cut, r == 0 ? err : NULL);
    if (r == 0) r = one;
  }
  return r;
}

void lb_cut_forget_all(struct lb_net *net) {
  while (net->cuts) forget(net, net->cuts);
}
