/* SPDX-License-Identifier: MIT
 *
 * A cut is a table of nftables on every host that is to receive nothing, with one counted drop rule
 * for each sender. The receiver drops, so the sender sees silence, as in a real partition, not an
 * error; and links are not taken down, because the peers would notice.
 *
 * The younger a cut, the earlier its rules: a packet that two cuts would drop is counted by the
 * younger, which is the one to be proved.
 */
#include "cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "tool.h"

/* True for the first of the ways that lead to the same host. What is done once per receiving host
 * is done at that one: its rules are made, read and deleted together. */
static bool is_first_to(const struct lb_cut *cut, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (cut->way[j].to == cut->way[i].to) return false;
  return true;
}

static int run_nft(const struct lb_host *host, const char *input, char **ret_output, char *err, size_t err_size) {
  char *argv[] = {(char *)"nft", (char *)"-f", (char *)"-", NULL};
  return lb_tool_run(host, argv, input, ret_output, err, err_size);
}

static void forget(struct lb_net *net, struct lb_cut *cut) {
  struct lb_cut **link = &net->cuts;
  while (*link != cut) link = &(*link)->older;
  *link = cut->older;
  free(cut->way);
  free(cut);
}

/* What stands in a rule besides the sender: nothing in the last, which is for all that is left. */
#define STRING_(text) #text
#define STRING(text) STRING_(text)
static const char *const probe_rules[] = {"tcp sport " STRING(LB_CUT_PROBE_PORT) " ", "tcp dport " STRING(LB_CUT_PROBE_PORT) " ", ""};
enum { RULE_COUNT = sizeof probe_rules / sizeof *probe_rules };

/* ---- making ---------------------------------------------------------------------------------- */

/* The rules of a cut on one host, to be freed; NULL = no memory.
 *
 * A rule for what a probe sends, one for the answers to it, and one for everybody else's packets. A
 * table for each cut, so that deleting the table heals this cut and no other. The priority is the
 * number of the cut, negative: nftables asks lower priorities first, hence the youngest cut. */
static char *rules_on(const struct lb_cut *cut, const struct lb_host *host) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "add table ip cut%d\nadd chain ip cut%d in { type filter hook input priority %d; }\n", cut->number, cut->number,
          -cut->number);
  for (size_t i = 0; i < cut->way_count; i++)
    for (size_t j = 0; cut->way[i].to == host && j < RULE_COUNT; j++)
      fprintf(out, "add rule ip cut%d in ip saddr %s %scounter drop\n", cut->number, cut->way[i].from->address, probe_rules[j]);
  return fclose(out) == 0 ? text : NULL;
}

/* Takes the tables of a cut away again, on every host, whatever fails on one of them. 0, or the first
 * -errno with err. */
static int remove_rules(const struct lb_cut *cut, char *err, size_t err_size) {
  char command[80], later[200];
  int r = 0;
  /* Added first, so that it is no error where making it has failed. */
  snprintf(command, sizeof command, "add table ip cut%d\ndelete table ip cut%d\n", cut->number, cut->number);
  for (size_t i = 0; i < cut->way_count; i++) {
    if (!is_first_to(cut, i)) continue;
    int one = run_nft(cut->way[i].to, command, NULL, r == 0 ? err : later, r == 0 ? err_size : sizeof later);
    if (r == 0) r = one;
  }
  return r;
}

static int add_rules(const struct lb_cut *cut, char *err, size_t err_size) {
  int r = 0;
  for (size_t i = 0; i < cut->way_count && r == 0; i++) {
    if (!is_first_to(cut, i)) continue;
    char *rules = rules_on(cut, cut->way[i].to);
    r = rules ? run_nft(cut->way[i].to, rules, NULL, err, err_size) : (lb_refuse(err, err_size, "out of memory"), -ENOMEM);
    free(rules);
  }
  return r;
}

/* It is in the list before its first rule is made: a cut that could be made on some hosts only is
 * then healed like any other. */
static struct lb_cut *new_cut(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count) {
  struct lb_cut *cut = malloc(sizeof *cut);
  struct lb_way *own = cut ? malloc((count + 1) * sizeof *own) : NULL;
  if (!own) return free(cut), NULL;
  memcpy(own, ways, count * sizeof *own);
  *cut = (struct lb_cut){.owner = owner, .number = ++net->cuts_made, .way = own, .way_count = count, .older = net->cuts};
  net->cuts = cut;
  return cut;
}

int lb_cut_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count, struct lb_cut **ret, char *err,
                size_t err_size) {
  char why[200];
  if (!net->separate) return lb_refuse(err, err_size, "hosts share one loopback here: nothing to cut"), -ENOTSUP;
  struct lb_cut *cut = new_cut(net, owner, ways, count);
  if (!cut) return lb_refuse(err, err_size, "out of memory"), -ENOMEM;
  int r = add_rules(cut, err, err_size);
  if (r == 0) return *ret = cut, 0;
  /* What cannot be undone stays in the list: whoever heals later finds it, and fails loudly. */
  if (remove_rules(cut, why, sizeof why) == 0) forget(net, cut);
  return r;
}

/* ---- what it has dropped --------------------------------------------------------------------- */

/* nft prints a rule as it was written: "ip saddr 10.77.0.1 tcp sport 9 counter packets 3 bytes 180
 * drop". -1: no such rule. */
static int64_t packets_of(const char *listing, const char *address, const char *probe_rule) {
  char rule[80];
  unsigned long long packets;
  snprintf(rule, sizeof rule, "ip saddr %s %scounter packets ", address, probe_rule);
  const char *at = strstr(listing, rule);
  return at && sscanf(at + strlen(rule), "%llu", &packets) == 1 ? (int64_t)packets : -1;
}

static int read_way(const char *listing, const char *address, uint64_t *ret, uint64_t *others, char *err, size_t err_size) {
  *ret = 0;
  for (size_t j = 0; j < RULE_COUNT; j++) {
    int64_t packets = packets_of(listing, address, probe_rules[j]);
    if (packets < 0) return lb_refuse(err, err_size, "nft does not know the rule for %s", address), -ENOENT;
    *ret += (uint64_t)packets;
    if (j == RULE_COUNT - 1) *others += (uint64_t)packets;
  }
  return 0;
}

static int read_host(const struct lb_cut *cut, const struct lb_host *host, uint64_t *ret, uint64_t *others, char *err, size_t err_size) {
  char command[40], *listing;
  snprintf(command, sizeof command, "list table ip cut%d\n", cut->number);
  int r = run_nft(host, command, &listing, err, err_size);
  if (r < 0) return r;
  for (size_t i = 0; i < cut->way_count && r == 0; i++)
    if (cut->way[i].to == host) r = read_way(listing, cut->way[i].from->address, &ret[i], others, err, err_size);
  free(listing);
  return r;
}

int lb_cut_dropped(const struct lb_cut *cut, uint64_t *ret, uint64_t *ret_others, char *err, size_t err_size) {
  uint64_t others = 0;
  int r = 0;
  for (size_t i = 0; i < cut->way_count && r == 0; i++)
    if (is_first_to(cut, i)) r = read_host(cut, cut->way[i].to, ret, &others, err, err_size);
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
int lb_cut_heal(struct lb_net *net, struct lb_cut *cut, char *err, size_t err_size) {
  int r = remove_rules(cut, err, err_size);
  if (r == 0) forget(net, cut);
  return r;
}

int lb_cut_heal_all(struct lb_net *net, char *err, size_t err_size) {
  char later[200];
  int r = 0;
  for (struct lb_cut *cut = net->cuts, *older; cut; cut = older) {
    older = cut->older; /* the cut itself may be freed */
    int one = lb_cut_heal(net, cut, r == 0 ? err : later, r == 0 ? err_size : sizeof later);
    if (r == 0) r = one;
  }
  return r;
}

void lb_cut_forget_all(struct lb_net *net) {
  while (net->cuts) forget(net, net->cuts);
}
