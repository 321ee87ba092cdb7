/* SPDX-License-Identifier: MIT
 *
 * What several commands say alike of protocols: lists of words, traits, and the server whose locks they
 * are.
 */
#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "cli.h"
#include "servers/topology.h"

void lb_print_words(const char *const *words) {
  for (; words && *words; words++) printf("%s%s", *words, words[1] ? ", " : "");
}

static const struct {
  unsigned trait;
  const char *name;
} trait_names[] = {
    {LB_TRAIT_LEASED, "leased"},
    {LB_TRAIT_SESSION, "session"},
    {LB_TRAIT_NO_EXPIRY, "no-expiry"},
    {LB_TRAIT_FENCED, "fenced"},
    {LB_TRAIT_FIFO, "fifo"},
    {LB_TRAIT_WAKES, "wakes-waiters"},
    {LB_TRAIT_QUEUES, "queues"},
    {LB_TRAIT_CLIENT_CLOCK, "uses-client-clock"},
    {LB_TRAIT_SERVER_CLOCK, "uses-server-clock"},
    {LB_TRAIT_UNSAFE, "known-unsafe"},
    {LB_TRAIT_NO_OWNER, "no-owner"},
    {LB_TRAIT_REENTRANT, "reentrant"},
    {LB_TRAIT_RENEWED, "renewed"},
};

void lb_print_traits(unsigned traits) {
  const char *between = "";
  for (size_t i = 0; i < sizeof trait_names / sizeof *trait_names; i++)
    if (traits & trait_names[i].trait) printf("%s%s", between, trait_names[i].name), between = ", ";
}

/* The servers whose locks there are, in the order of the list. Who keeps what in memory alone stands
 * behind them all. */
static const struct {
  const char *service, *title;
} servers[] = {{"redis", "Redis"}, {"zookeeper", "ZooKeeper"}, {"postgres", "PostgreSQL"}, {"etcd", "etcd"}, {NULL, "none"}};
enum { SERVER_COUNT = sizeof servers / sizeof *servers };

/* By the topology that it runs on by default. A topology that only a plugin knows has no servers of ours. */
static size_t server_of(const struct lb_protocol *p) {
  const struct lb_topology *t = lb_topology_find(p->topologies[0]);
  size_t i = 0;
  while (i < SERVER_COUNT - 1 && !(t && t->family->service && strcmp(servers[i].service, t->family->service) == 0)) i++;
  return i;
}

const char *lb_server_title_at(size_t index) { return index < SERVER_COUNT ? servers[index].title : NULL; }

const char *lb_server_title(const struct lb_protocol *protocol) { return servers[server_of(protocol)].title; }
