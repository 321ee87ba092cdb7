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

#include <nftables/libnftables.h>

#include "base/need.h"

/* True for the first of the ways that lead to the same host. What is done once per receiving host
 * is done at that one: its rules are made, read and deleted together. */
static bool is_first_to(const struct lb_rules *rules, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (rules->way[j].to == rules->way[i].to) return false;
  return true;
}

/* What is told to the firewall of a host, and what is done with what it printed. */
struct order {
  void (*write)(const struct lb_rules *rules, const struct lb_host *host, FILE *out);
  int (*take)(const struct lb_rules *rules, const struct lb_host *host, const char *output, uint64_t *ret,
              struct lb_error *err); /* NULL: nothing */
};

/* The library's socket belongs to the network in which it was made. Making it takes ten times as long as an order. */
static struct nft_ctx *begin(void) {
  struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
  if (nft && nft_ctx_buffer_output(nft) == 0 && nft_ctx_buffer_error(nft) == 0) return nft;
  if (nft) nft_ctx_free(nft);
  return NULL;
}

static int tell(struct lb_host *host, const char *text, struct lb_error *err) {
  int home = lb_host_enter(host), r = 0;
  if (home < 0) return lb_error(err, home, "no rules on %s: its network: %s", host->name, strerror(-home));
  if (!host->nft) host->nft = begin();
  if (!host->nft) r = lb_error(err, -EPERM, "no rules on %s: libnftables does not begin", host->name);
  else if (nft_run_cmd_from_buffer(host->nft, text) != 0) {
    const char *why = nft_ctx_get_error_buffer(host->nft);
    r = lb_error(err, -EPERM, "no rules on %s: %.*s", host->name, (int)strcspn(why, "\n"), why);
  }
  lb_host_leave(home);
  return r;
}

static int give(const struct lb_rules *rules, const struct order *order, struct lb_host *host, uint64_t *ret,
                struct lb_error *err) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = lb_need(open_memstream(&text, &size));
  order->write(rules, host, out);
  fclose(out);
  lb_need(text);
  int r = tell(host, text, err);
  free(text);
  return r == 0 && order->take ? order->take(rules, host, nft_ctx_get_output_buffer(host->nft), ret, err) : r;
}

/* On every receiving host, whatever fails on another one. 0, or the first -errno with err. */
static int on_each(const struct lb_rules *rules, const struct order *order, uint64_t *ret, struct lb_error *err) {
  int r = 0;
  for (size_t i = 0; i < rules->way_count; i++) {
    int one = is_first_to(rules, i) ? give(rules, order, rules->way[i].to, ret, r == 0 ? err : NULL) : 0;
    if (r == 0) r = one;
  }
  return r;
}

static void table_on(const struct lb_rules *rules, const struct lb_host *host, FILE *out) {
  fprintf(out, "add table ip %s\nadd chain ip %s in { type filter hook input priority %d; }\n", rules->table,
          rules->table, rules->priority);
  for (size_t i = 0; i < rules->way_count; i++)
    for (size_t j = 0; rules->way[i].to == host && j < rules->match_count; j++)
      fprintf(out, "add rule ip %s in ip saddr %s %scounter drop\n", rules->table, rules->way[i].from->address,
              rules->match[j]);
}

int lb_rules_add(const struct lb_rules *rules, struct lb_error *err) {
  return on_each(rules, &(struct order){table_on, NULL}, NULL, err);
}

/* Added first, so that it is no error where making it has failed. */
static void removal_on(const struct lb_rules *rules, const struct lb_host *host, FILE *out) {
  (void)host;
  fprintf(out, "add table ip %s\ndelete table ip %s\n", rules->table, rules->table);
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

static void question_on(const struct lb_rules *rules, const struct lb_host *host, FILE *out) {
  (void)host;
  fprintf(out, "list table ip %s\n", rules->table);
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

void lb_rules_forget_all(struct lb_net *net) {
  for (size_t i = 0; i < net->count; i++) {
    if (net->host[i].nft) nft_ctx_free(net->host[i].nft);
    net->host[i].nft = NULL;
  }
}
