/* SPDX-License-Identifier: MIT
 *
 * check_sweep.h - the state of the sweep over a history: who holds which key at the moment, and what
 * has to be remembered of earlier moments. Private to check.c, check_access.c and check_order.c.
 */
#ifndef LB_CHECK_SWEEP_H
#define LB_CHECK_SWEEP_H

#include "check.h"

#define NONE UINT32_MAX /* no pair, no client */
#define NO_EPISODE SIZE_MAX
#define NEVER UINT64_MAX

struct lb_values { /* of a key at the resource; zeroed at the begin */
  bool read, written;
  __int128 first_read,
      last; /* last: the latest value that is known, read or written. A first write of 0 came after -1 */
  uint64_t writes;
  __int128 excused; /* what writes that an ended lease excuses took away, all in all */
  __int128 early;   /* the same of clients that had read before they asked for the lock */
};

enum overlap { /* what a hold had to do with others of its key so far */
               OVERLAP_NONE,
               OVERLAP_LATE, /* at each moment at most one of those that held had a lease that ran */
               OVERLAP_WITHIN, /* at some moment its lease ran, and so did another holder's: the service had promised twice */
};

struct pair { /* a client and a key: the present hold, or the last one */
  uint32_t client, key;
  uint32_t next, previous;  /* holders of the same key */
  uint32_t next_of_client;  /* pairs of the same client that a crash has to look at */
  bool holds, listed;       /* listed: is among those pairs */
  uint64_t depth;           /* of the present hold: grants less releases */
  bool shared;              /* the present hold: no grant of it was exclusive */
  uint64_t alone_t;         /* ... if it is not: since this grant */
  uint64_t shared_end_t;    /* a shared hold ended or became exclusive then, NEVER = none did */
  size_t entry;             /* event: begin of the present hold, or the grant that made it exclusive */
  bool overtaken;           /* since then (mark_overlap()) */
  bool read_early;          /* its latest accepted read was one */
  bool granted;             /* ever ... */
  uint64_t granted_t;       /* ... and last then */
  bool endless;             /* the lease of the hold, by its latest grant or renewal: no end was said ... */
  uint64_t until;           /* ... or this one */
  bool silent;              /* ... which is that of a silence */
  enum overlap overlap;     /* of the present hold, or of the last one */
  bool other_granted;       /* to another client, during this hold and beside its right ... */
  uint64_t other_granted_t; /* ... for the first time then */
  uint64_t
      overtaken_t; /* another client was granted the key for the first time after granted_t; until then of no meaning */
  uint64_t begin_t, end_t; /* of the present hold; of the last one that ended, NEVER = none did */
  size_t episode;          /* the last one that names the client */
  bool asked;              /* it was granted the key, or may have been */
  bool lost;               /* its last hold ended so, and it has not let go since */
  bool stranger;           /* its latest release was of what it had never asked for, while another client held */
};

struct orphan { /* a holder that died */
  uint32_t client;
  bool shared; /* it was a reader: who keeps whom out shows in an exclusive grant only */
  uint64_t t;
};

struct key {
  uint64_t permits;              /* so many may hold it */
  uint32_t first, last, holders; /* list of pairs that hold it */
  uint32_t exclusive;            /* of them: those that do not share */
  uint32_t last_granted;         /* pair of the latest grant, NONE = no grant yet */
  bool touched;
  size_t begin_event, end_event; /* of the latest hold that began or became exclusive, of the latest that ended */
  size_t episode;                /* the present one */
  uint32_t access_client;        /* accessed in an earlier instant under the latest grant, NONE = no client */
  uint64_t access_granted_t;     /* that grant */
  struct lb_values values;
  bool freed_by_stranger; /* of struct lb_check, on this key */
  bool full;              /* as many held it at once as it has permits, of several */
  bool wanted_alone;      /* an exclusive request came after the latest exclusive grant */
  struct orphan *orphans; /* that no other client was granted the key after */
  size_t orphan_count;
};

struct charged { /* a fault, and what it cost */
  uint64_t t;
  uint32_t step; /* ties its proof to it */
  bool proved, unused, granted, overlapped, within_lease, damaged;
};

struct sweep {
  const struct lb_history *history;
  size_t whole; /* so many events it has with those after `closing` */
  struct lb_check *check;
  struct lb_pairs numbers;
  struct pair *pairs;
  struct key *keys;
  uint64_t *permits;      /* by key */
  uint32_t *client_pairs; /* by client: head of the list through next_of_client */
  uint32_t *touched;      /* keys whose holders changed in this instant */
  size_t touched_count;
  struct charged *faults;
  size_t fault_count;
};

/* What is known of this client and this key, made new at the first time. The array may
 * move: no pointer to a pair outlives the next call. */
struct pair *lb_check_pair(struct sweep *sweep, uint32_t client, uint32_t key);
/* A time is -1 until there was one; so the first of length 0 is kept, too. */
static inline void lb_keep_longest(int64_t *longest, uint64_t from, uint64_t to) {
  if ((int64_t)(to - from) > *longest) *longest = (int64_t)(to - from);
}

#endif
