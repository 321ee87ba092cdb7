/* SPDX-License-Identifier: MIT
 *
 * space.h - all timelines of a hunt: a regime, and at most k faults in the order in which they are
 * done. Timelines that need not be run stand there, too, with the reason, so that a sample of them can
 * be run all the same.
 */
#ifndef LB_HUNT_SPACE_H
#define LB_HUNT_SPACE_H

#include <stdio.h>

#include "base/error.h"
#include "alphabet.h"

#define LB_HUNT_FAULTS_MAX 3
#define LB_HUNT_ID_MAX 128

/* Why a timeline need not be run. The first ones are sound: it cannot come out otherwise than another one that is run
 * (or means nothing). The last ones are bounds that the hunt declares (lb_hunt_prune_is_sound). */
enum lb_hunt_pruned {
  LB_HUNT_RUN,           /* it is run */
  LB_HUNT_CLIENT_WALL,   /* the wall clock of a client, of which this lock knows nothing */
  LB_HUNT_SAME_AS_H,     /* at A the reply has been read and no request follows: as at H */
  LB_HUNT_NO_LINKS,      /* a cut between servers that never talk to each other */
  LB_HUNT_SYMMETRIC,     /* the same with another name: a short cut of one of two servers from the other */
  LB_HUNT_DEAD_HOST,     /* all its hosts are dead or stopped by then: it cannot be done */
  LB_HUNT_CLIENT_1_DEAD, /* client 1 is dead by then, so this slot never comes */
  LB_HUNT_ORDER,         /* neighbours in one slot that touch no common host, no grant between: another order is run */
  LB_HUNT_NO_DRIFT,      /* of the regime drift, and no clock drifts: as in `long`. Run for the subsets of others */
  /* Bounds: the first one always, the others at two faults and more. */
  LB_HUNT_NO_QUEUE, /* a fault at W, where no client queues */
  LB_HUNT_FEWER_HOSTS, /* a majority, or one server of a minority: a part of all or of that minority, and run where these broke */
  LB_HUNT_HARMLESS_CLOCK, /* a clock that only makes leases longer */
  LB_HUNT_HOLDER_KILLED,  /* client 1 is killed after its grant */
  LB_HUNT_LATE_RESTART,   /* a restart at R */
  LB_HUNT_LATE_FOR_GOOD,  /* a fault after B that lasts until the end: not a primary with replicas that dies at H */
  LB_HUNT_TWICE,          /* the same done to the same host twice */
  LB_HUNT_STILL_CLOCK,    /* the clock of servers that are all dead or stopped by then */
  LB_HUNT_PRUNED_COUNT
};
bool lb_hunt_prune_is_sound(enum lb_hunt_pruned why);
/* One line: why it need not be run; "" of LB_HUNT_RUN. */
const char *lb_hunt_prune_text(enum lb_hunt_pruned why);

struct lb_hunt_timeline {
  enum lb_hunt_regime regime;
  size_t fault_count;
  struct lb_hunt_fault fault[LB_HUNT_FAULTS_MAX]; /* in the order in which they are done */
  enum lb_hunt_pruned pruned;
};
/* What is left out of a space, for tests of the hunt and to look closer. All 0 = nothing. */
struct lb_hunt_switches {
  unsigned without; /* kinds, 1 << enum lb_hunt_kind */
  bool no_client_3; /* timelines are written without it */
  bool no_lineage;  /* the order is the seed's alone (lineage.h) */
};
#define LB_HUNT_WITHOUT_MAX 160
/* Leaves out what the words say, as in "restart,client-3": kinds of faults, the client that opens its session afresh,
 * and the order by lineage. 0, or -EINVAL with one line in err. */
int lb_hunt_switches_parse(const char *words, struct lb_hunt_switches *ret, struct lb_error *err);
/* These words, in an order of their own; "" = nothing is left out. */
void lb_hunt_switches_format(const struct lb_hunt_switches *switches, char ret[LB_HUNT_WITHOUT_MAX]);

struct lb_hunt_space {
  struct lb_hunt_system system;
  struct lb_hunt_switches switches;
  int faults_max;
  struct lb_hunt_timeline *timeline; /* by number of faults, then regime, then the order of the alphabet */
  size_t count;
  size_t *place; /* by the hash of a timeline: 1 + its index; 0 = none */
  size_t places;
};

/* All timelines of at most faults_max (0..3) faults. 0, or -EINVAL (faults_max) and *ret is empty. */
int lb_hunt_space_make(const struct lb_hunt_system *system, int faults_max, const struct lb_hunt_switches *switches,
                       struct lb_hunt_space *ret);
void lb_hunt_space_clear(struct lb_hunt_space *space);

/* "S2.kill-P@B-back+pause-c1@H": regime (L, S, D), number of faults, faults. Says what the timeline is, wherever it
 * stands. */
void lb_hunt_timeline_id(const struct lb_hunt_timeline *timeline, char buf[LB_HUNT_ID_MAX]);
/* The timeline of an id, whether it is run or not; it need not stand in a space. 0, or -EINVAL with one line in err. */
int lb_hunt_timeline_of_id(const char *id, struct lb_hunt_timeline *ret, struct lb_error *err);
/* Its index in the space by regime and faults, or -1. */
ptrdiff_t lb_hunt_space_find(const struct lb_hunt_space *space, const struct lb_hunt_timeline *timeline);
/* Its proper subsets, of the same regime, with fewer faults first (the first has none): at most 7. In a space an order
 * that is pruned as LB_HUNT_ORDER is replaced by the one that is run; `pruned` says of each whether the space would run
 * it. How many. */
#define LB_HUNT_SUBSETS_MAX 7
size_t lb_hunt_space_subsets(const struct lb_hunt_space *space, const struct lb_hunt_timeline *timeline,
                             struct lb_hunt_timeline ret[LB_HUNT_SUBSETS_MAX]);
/* Servers and clients to which its faults are done. A client that cannot reach some of the servers counts as these; one
 * that reaches none as itself. */
struct lb_hunt_hosts {
  size_t servers, clients;
};
struct lb_hunt_hosts lb_hunt_hosts_of(const struct lb_hunt_system *system, const struct lb_hunt_timeline *timeline);
/* True if one of its faults is of an unreal kind. */
bool lb_hunt_timeline_has_unreal(const struct lb_hunt_timeline *timeline);
/* "It hits 3 of 5 servers and a client". 60 bytes are enough; "" of a timeline without faults. */
void lb_hunt_hosts_say(const struct lb_hunt_system *system, const struct lb_hunt_timeline *timeline, char *buf,
                       size_t size);
/* True of a timeline of one fault that every system with a server of its own has: shares of what breaks compare only
 * over these (28 of them; fewer where clocks cannot be set, links cannot be cut or a lock has no points). */
bool lb_hunt_timeline_is_core(const struct lb_hunt_timeline *timeline);
/* Why it need not be run in this system (prune.c); timelines of a space have it filled in. */
enum lb_hunt_pruned lb_hunt_prune(const struct lb_hunt_system *system, const struct lb_hunt_timeline *timeline);

/* prune.c: true if a fault stands behind a larger one of its slot that it could be moved in front of: where it stands,
 * and where it belongs. */
bool lb_hunt_prune_is_moved(const struct lb_hunt_timeline *timeline, size_t *ret_from, size_t *ret_to);
/* The timeline as which one that is soundly pruned has to come out, by the reason for which it is: without a fault that
 * means nothing, in another slot, in another order. It may be one that a bound leaves out. False if there is none: of
 * one that is run, or left out by a bound, and where the same would be done twice. */
bool lb_hunt_prune_stand_in(const struct lb_hunt_system *system, const struct lb_hunt_timeline *timeline,
                            struct lb_hunt_timeline *ret);

#endif
