/* SPDX-License-Identifier: MIT
 *
 * A table on every host that is to receive nothing, with one counted drop rule for each sender and match. The receiver
 * drops, so the sender sees silence, as in a real partition, not an error; and links are not taken down, because the
 * peers would notice.
 */
#include "rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "proc.h"

enum { TOGETHER = 16 };

/* True for the first of the ways that lead to the same host. What is done once per receiving host
 * is done at that one: its rules are made, read and deleted together. */
static bool is_first_to(const struct lb_rules *rules, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (rules->way[j].to == rules->way[i].to) return false;
  return true;
}

/* What nft is told on a host, and what is done with what it printed. */
struct order {
  char *(*input)(const struct lb_rules *rules, const struct lb_host *host); /* to be freed */
  int (*take)(const struct lb_rules *rules, const struct lb_host *host, const char *output, uint64_t *ret,
              struct lb_error *err); /* NULL: nothing */
};

static char *const nft[] = {(char *)"nft", (char *)"-f", (char *)"-", NULL};

static int begin(const struct lb_rules *rules, const struct order *order, const struct lb_host *host,
                 struct lb_tool *ret, struct lb_error *err) {
  char *input = order->input(rules, host);
  int r = lb_tool_start(host, nft, input, ret, err);
  free(input);
  return r;
}

static int end(const struct lb_rules *rules, const struct order *order, const struct lb_host *host,
               struct lb_tool *tool, uint64_t *ret, struct lb_error *err) {
  char *output = NULL;
  int r = lb_tool_end(tool, nft[0], &output, err);
  if (r == 0 && order->take) r = order->take(rules, host, output, ret, err);
  free(output);
  return r;
}

/* On every receiving host, whatever fails on another one, side by side: the links of a fault are to go together, and
 * quickly. 0, or the first -errno with err. */
static int on_each(const struct lb_rules *rules, const struct order *order, uint64_t *ret, struct lb_error *err) {
  struct lb_tool tool[TOGETHER];
  const struct lb_host *host[TOGETHER];
  int r = 0;
  for (size_t at = 0; at < rules->way_count;) {
    size_t count = 0;
    for (; at < rules->way_count && count < TOGETHER; at++) {
      if (!is_first_to(rules, at)) continue;
      host[count] = rules->way[at].to;
      int one = begin(rules, order, host[count], &tool[count], r == 0 ? err : NULL);
      if (one == 0) count++;
      if (r == 0) r = one;
    }
    for (size_t i = 0; i < count; i++) {
      int one = end(rules, order, host[i], &tool[i], ret, r == 0 ? err : NULL);
      if (r == 0) r = one;
    }
  }
  return r;
}

/* The table for one host, to be freed. */
static char *table_on(const struct lb_rules *rules, const struct lb_host *host) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = lb_need(open_memstream(&text, &size));
  fprintf(out, "add table ip %s\nadd chain ip %s in { type filter hook input priority %d; }\n", rules->table,
          rules->table, rules->priority);
  for (size_t i = 0; i < rules->way_count; i++)
    for (size_t j = 0; rules->way[i].to == host && j < rules->match_count; j++)
      fprintf(out, "add rule ip %s in ip saddr %s %scounter drop\n", rules->table, rules->way[i].from->address,
              rules->match[j]);
  return lb_need(fclose(out) == 0 ? text : NULL);
}

int lb_rules_add(const struct lb_rules *rules, struct lb_error *err) {
  return on_each(rules, &(struct order){table_on, NULL}, NULL, err);
}

/* Added first, so that it is no error where making it has failed. */
static char *removal_on(const struct lb_rules *rules, const struct lb_host *host) {
  (void)host;
  return lb_need_printed("add table ip %s\ndelete table ip %s\n", rules->table, rules->table);
}

int lb_rules_remove(const struct lb_rules *rules, struct lb_error *err) {
  return on_each(rules, &(struct order){removal_on, NULL}, NULL, err);
}

/* ---- what they have dropped ------------------------------------------------------------------ */

/* nft prints a rule as it was written: "ip saddr 10.77.0.1 tcp sport 9 counter packets 3 bytes 180
 * drop". -1: no such rule. */
static int64_t packets_of(const char *listing, const char *address, const char *match) {
  char rule[120];
  unsigned long long packets;
  snprintf(rule, sizeof rule, "ip saddr %s %scounter packets ", address, match);
  const char *at = strstr(listing, rule);
  return at && sscanf(at + strlen(rule), "%llu", &packets) == 1 ? (int64_t)packets : -1;
}

static int read_way(const struct lb_rules *rules, size_t i, const char *listing, uint64_t *ret, struct lb_error *err) {
  const char *address = rules->way[i].from->address;
  for (size_t j = 0; j < rules->match_count; j++) {
    int64_t packets = packets_of(listing, address, rules->match[j]);
    if (packets < 0) return lb_error(err, -ENOENT, "nft does not know the rule for %s", address);
    ret[i * rules->match_count + j] = (uint64_t)packets;
  }
  return 0;
}

static char *question_on(const struct lb_rules *rules, const struct lb_host *host) {
  (void)host;
  return lb_need_printed("list table ip %s\n", rules->table);
}

static int read_host(const struct lb_rules *rules, const struct lb_host *host, const char *listing, uint64_t *ret,
                     struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; i < rules->way_count && r == 0; i++)
    if (rules->way[i].to == host) r = read_way(rules, i, listing, ret, err);
  return r;
}

int lb_rules_read(const struct lb_rules *rules, uint64_t *ret, struct lb_error *err) {
  return on_each(rules, &(struct order){question_on, read_host}, ret, err);
}
