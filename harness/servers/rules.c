/* SPDX-License-Identifier: MIT
 *
 * A table on every host that is to receive nothing, with one counted drop rule for each sender and
 * match. The receiver drops, so the sender sees silence, as in a real partition, not an error; and
 * links are not taken down, because the peers would notice.
 */
#include "rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "tool.h"

/* True for the first of the ways that lead to the same host. What is done once per receiving host
 * is done at that one: its rules are made, read and deleted together. */
static bool is_first_to(const struct lb_rules *rules, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (rules->way[j].to == rules->way[i].to) return false;
  return true;
}

static int run_nft(const struct lb_host *host, const char *input, char **ret_output, char *err, size_t err_size) {
  char *argv[] = {(char *)"nft", (char *)"-f", (char *)"-", NULL};
  return lb_tool_run(host, argv, input, ret_output, err, err_size);
}

/* The table for one host, to be freed; NULL = no memory. */
static char *table_on(const struct lb_rules *rules, const struct lb_host *host) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "add table ip %s\nadd chain ip %s in { type filter hook input priority %d; }\n", rules->table, rules->table,
          rules->priority);
  for (size_t i = 0; i < rules->way_count; i++)
    for (size_t j = 0; rules->way[i].to == host && j < rules->match_count; j++)
      fprintf(out, "add rule ip %s in ip saddr %s %scounter drop\n", rules->table, rules->way[i].from->address, rules->match[j]);
  return fclose(out) == 0 ? text : NULL;
}

int lb_rules_add(const struct lb_rules *rules, char *err, size_t err_size) {
  int r = 0;
  for (size_t i = 0; i < rules->way_count && r == 0; i++) {
    if (!is_first_to(rules, i)) continue;
    char *table = table_on(rules, rules->way[i].to);
    r = table ? run_nft(rules->way[i].to, table, NULL, err, err_size) : (lb_refuse(err, err_size, "out of memory"), -ENOMEM);
    free(table);
  }
  return r;
}

int lb_rules_remove(const struct lb_rules *rules, char *err, size_t err_size) {
  char command[80], later[200];
  int r = 0;
  /* Added first, so that it is no error where making it has failed. */
  snprintf(command, sizeof command, "add table ip %s\ndelete table ip %s\n", rules->table, rules->table);
  for (size_t i = 0; i < rules->way_count; i++) {
    if (!is_first_to(rules, i)) continue;
    int one = run_nft(rules->way[i].to, command, NULL, r == 0 ? err : later, r == 0 ? err_size : sizeof later);
    if (r == 0) r = one;
  }
  return r;
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

static int read_way(const struct lb_rules *rules, size_t i, const char *listing, uint64_t *ret, char *err, size_t err_size) {
  const char *address = rules->way[i].from->address;
  for (size_t j = 0; j < rules->match_count; j++) {
    int64_t packets = packets_of(listing, address, rules->match[j]);
    if (packets < 0) return lb_refuse(err, err_size, "nft does not know the rule for %s", address), -ENOENT;
    ret[i * rules->match_count + j] = (uint64_t)packets;
  }
  return 0;
}

static int read_host(const struct lb_rules *rules, const struct lb_host *host, uint64_t *ret, char *err, size_t err_size) {
  char command[40], *listing;
  snprintf(command, sizeof command, "list table ip %s\n", rules->table);
  int r = run_nft(host, command, &listing, err, err_size);
  if (r < 0) return r;
  for (size_t i = 0; i < rules->way_count && r == 0; i++)
    if (rules->way[i].to == host) r = read_way(rules, i, listing, ret, err, err_size);
  free(listing);
  return r;
}

int lb_rules_read(const struct lb_rules *rules, uint64_t *ret, char *err, size_t err_size) {
  int r = 0;
  for (size_t i = 0; i < rules->way_count && r == 0; i++)
    if (is_first_to(rules, i)) r = read_host(rules, rules->way[i].to, ret, err, err_size);
  return r;
}
