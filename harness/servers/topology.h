/* SPDX-License-Identifier: MIT
 *
 * topology.h - which servers a protocol can run on. A topology is one row of the table in topology.c: a family of
 * servers
 * (family.h), how many of them, what they keep. A running one is a cluster (cluster.h).
 */
#ifndef LB_TOPOLOGY_H
#define LB_TOPOLOGY_H

#include "family.h"
#include "mandate.h"
#include "origin.h"

#define LB_SERVERS_MAX 8 /* of one topology */

/* What a killed server comes back with, and how this goes with `storage` of the scenario. */
enum lb_keeps {
  LB_KEEPS_NOTHING,  /* nothing is written: a restarted server is empty, whatever `storage` says */
  LB_KEEPS_AS_ASKED, /* everything: with `disk` synced before it is acknowledged, with `memory` not synced at all */
  LB_KEEPS_ON_DISK,  /* everything, on disk whatever `storage` says; the row's settings say when it is synced */
};

struct lb_own;

struct lb_topology {
  const char *name;    /* "redis-x3": letters, digits, '-' */
  const char *summary; /* one line */
  const struct lb_family *family;
  size_t data_count;  /* servers that hold locks: masters, a primary and its replicas, members of an ensemble */
  size_t other_count; /* further servers (Sentinels, a pooler) */
  size_t shards;      /* parts that the keys are split into, each with a primary of its own; 0 = they are not split */
  /* With faults: how long a server has to be silent before the others take it for dead, by its settings; 0 = the
   * servers do not watch each other (single servers, an operator). */
  int64_t detector_ms;
  enum lb_keeps keeps;
  int start_ms;     /* processor time until servers and clients of a trial are there, as measured; 0 = hardly any */
  bool members;     /* there are no servers, because the clients are the cluster: they talk to each other */
  size_t favourite; /* the data server, from 1, that Sentinel promotes first, whatever it has received; 0 = none */
  bool synchronous; /* the primary acknowledges nothing that its replicas do not have */
  /* Lines at the end of the configuration of every data server; they win over the family's. NULL = none. */
  const char *settings;
  /* The same of the other servers; NULL = none. */
  const char *other_settings;
  /* Another topology that looks the same to clients: its protocols run here, too. A run takes this one only where it is
   * named ("PROTOCOL@TOPOLOGY"). NULL = only protocols that name it run here. */
  const char *stands_for;
  /* Facts that the other members do not say, in words of theory/facts.c: "copies=later takeover=replicas". Those of
   * `stands_for` come first. NULL = none. */
  const char *facts;
  const char *base;                 /* "sentinel" of "sentinel:valkey-9.1"; NULL = it has no origin */
  const struct lb_origin *origin;   /* where its servers' programs come from; NULL = this machine */
  const struct lb_own *own;         /* the user's own servers (own/own.h), which we do not start; NULL = ours */
  const struct lb_mandate *mandate; /* what may be done to those (mandate.h); NULL = nothing */
};

/* Adds a row behind all others, of the user's own servers. It lives as long as the process. */
void lb_topology_add(const struct lb_topology *topology);
/* The rows in order, "none" first; NULL behind the last. */
const struct lb_topology *lb_topology_at(size_t index);
/* By name, or NULL. */
const struct lb_topology *lb_topology_find(const char *name);
/* The same servers from there, "NAME:ORIGIN": made once, found by lb_topology_find() from then on, not among the rows. It
 * lives as long as the process. */
const struct lb_topology *lb_topology_from(const struct lb_topology *base, const struct lb_origin *origin);
/* The names of all of them into words[0..max), for lb_text_suggest(). How many. */
size_t lb_topology_names(const char **words, size_t max);
/* Whether a protocol that names these topologies (NULL-terminated) runs on this one. */
bool lb_topology_serves(const struct lb_topology *topology, const char *const *names);
/* First missing need (a static string), or NULL if all is there. */
const char *lb_topology_missing(const struct lb_topology *topology);
/* Its servers' version in one line. 0, or -errno (-ENOENT: it has no servers, or their programs are
 * missing; -ETIMEDOUT: a program hangs, and is not asked again). */
int lb_topology_version(const struct lb_topology *topology, char *buf, size_t size);
/* Whether several data servers serve only with a majority of them. */
bool lb_topology_majority(const struct lb_topology *topology);
/* Whether its servers' folders lie on a disk, with this `storage` of the scenario. */
bool lb_topology_on_disk(const struct lb_topology *topology, bool memory_storage);
/* "nothing", ... : what enum lb_keeps says, for people. */
const char *lb_topology_keeps_text(enum lb_keeps keeps);

#endif
