/* SPDX-License-Identifier: MIT
 *
 * holder.h - what a client does with a lock, once for all protocols: blocking acquire with backoff or wake-up, the
 * critical section on the resource, release, and every event of it in the history. One per client process, one thread.
 */
#ifndef LB_HOLDER_H
#define LB_HOLDER_H

#include "backends/backend.h"
#include "base/rng.h"
#include "memory.h"
#include "scenario/scenario.h"

#define LB_DEBTS_MAX 16
/* The pause of a client that polls: at random up to the first, which doubles with each try up to the last. */
enum { LB_POLL_FIRST_MS = 1, LB_POLL_LAST_MS = 16 };
#define LB_KEY_NAME_MAX 64
#define LB_HOLDS_MAX 8 /* of one client at a time: of several locks, or of one that it was granted more than once */

struct lb_holder {
  const struct lb_protocol *protocol;
  struct lb_session *session;
  struct lb_env *env;
  struct lb_memory *memory;
  uint32_t client;     /* its number */
  size_t log;          /* of the memory, which this thread writes */
  int64_t ttl_ms;      /* of what it asks for, or is busy with */
  int64_t next_ttl_ms; /* of the next acquire; 0 = as before */
  /* How long it waits for the reply to one request before it retries, as a client library with a time limit does; 0 =
   * until the deadline of the acquire. Not for a protocol that queues, whose try may be the wait for its turn. */
  int64_t request_ms;
  size_t endpoint_count; /* of the target of its session ... */
  size_t endpoint_base;  /* ... which are those of the trial's target from this one on */
  bool names_server;     /* records which server each outcome of an acquire came from */
  const char *prefix;    /* of the names of this trial's keys at the service */
  struct lb_rng rng;     /* backoff */
  enum lb_guard guard;
  bool polls;         /* does not use the protocol's hook wait */
  bool waits_inside;  /* a try waits for its turn, if it may */
  int64_t poll_ms;    /* the pause before a try that follows a refusal (lb_poll_ms()); 0 = backoff */
  bool believes_late; /* also a grant whose lease was over when its answer was read (lb_believes_late()) */
  bool by_wall;       /* the protocol counts leases by the wall clock (lb_counts_by_wall()) */
  bool renew;         /* renews every third of the ttl while it holds, if the protocol can extend */
  lb_ns
      renewed_for; /* but not any more so long after a hold was asked for (lb_renewed_for()); 0 = there is no such end */
  lb_ns renew_at;  /* when the next renewal is due, on the clock of env; of use only while `holding`. LB_NEVER = none */
  /* Converts env's time to true time, which histories have. NULL = env's clock is the true one. */
  lb_ns (*to_truth)(struct lb_env *env, lb_ns ns);

  bool breached;                   /* a hook broke the contract: nothing of this client counts any more */
  lb_ns latest_now, hook_deadline; /* of hook.c */
  char error[256];                 /* text of the latest failure of a hook in this acquire, or since; empty = none */

  lb_ns due; /* when the next acquire was to begin, in true time, for its event; 0 = it begins when it begins */
  bool holding;
  bool refused;   /* in the acquire under way the service has said that somebody else holds it */
  uint64_t voted; /* with names_server: those of several that said yes to some try of it, as bits */
  int asked;      /* with names_server: the server when the latest try began, -ENOENT = none */
  int failed_at;  /* with names_server: the latest that answered a try of this acquire with an error, -ENOENT = none */
  bool shared;    /* it asks as a reader, until told otherwise */
  int permits;    /* so many may hold at once; 0 and 1 = it is a lock */
  uint32_t key;   /* index of the key held or asked for last */
  struct lb_grant grant;
  uint64_t value_read;
  uint64_t claim; /* of the guard `claim`: a number that no other grant of the trial has */
  bool claimed;   /* it stands in the resource since this hold's first access, or did */
  /* Its other holds, the latest one last. */
  struct lb_hold {
    uint32_t key;
    int64_t ttl_ms;
    struct lb_grant grant;
    uint64_t value_read, claim;
    bool claimed;
    lb_ns renew_at;
  } kept[LB_HOLDS_MAX];
  size_t kept_count;
  /* Attempts of unknown outcome, and holds given up while the service may still keep them. They are released before the
   * next attempt and, while it is refused, during it. */
  struct lb_debt {
    uint32_t key;
    int64_t ttl_ms;
    struct lb_grant grant;
  } debt[LB_DEBTS_MAX];
  size_t debt_count;
  struct lb_debt ended; /* the hold that it ended last, or released for another client; asked_at 0 = there was none */
};

/* Asks for `key` until granted or the deadline. Point "before-wait" after each refusal. Events: `acquire`, then one of
 * granted, busy, timeout, unknown; with names_server one `server`.
 * LB_OK: granted. LB_BUSY: the service said at least once that another client holds it. LB_TIMEOUT: it never said so.
 * LB_UNKNOWN: may be held; kept as a debt, event `released` when it is paid. The latest failure stands in env->err.
 * Other holds are kept. -EMFILE, without an event: it holds LB_HOLDS_MAX. After a breach of the contract (hooks.h) it
 * gives up at once. */
int lb_holder_acquire(struct lb_holder *holder, uint32_t key, lb_ns deadline);
/* Ends the hold. Event `release`, point "before-release", the request, then `released` or `lost`. LB_OK, LB_LOST,
 * LB_UNKNOWN (kept as a debt). LB_BUSY: it held nothing, but debts are paid. */
int lb_holder_release(struct lb_holder *holder, lb_ns deadline);
/* The hook work, which the protocol has to have. Event `work-failed`, unless LB_OK. LB_BUSY: it held nothing. */
int lb_holder_work(struct lb_holder *holder, lb_ns deadline);
/* The hold is another client's to release: it does not end yet, and this client neither renews nor uses it. LB_OK.
 * LB_BUSY: it held nothing. */
int lb_holder_hand_over(struct lb_holder *holder);
/* Ends the hold that another client (its number) has handed over, with the events of a release of that client. As
 * lb_holder_release(), but nothing is owed. */
int lb_holder_release_of(struct lb_holder *holder, uint32_t owner, lb_ns deadline);
/* The request of its latest release of `key` once more; no event, as that hold is over. LB_OK and LB_LOST: answered.
 * -ENOENT: it has never held that key. */
int lb_holder_release_anyway(struct lb_holder *holder, uint32_t key, lb_ns deadline);
/* Nothing is renewed from now on. LB_BUSY: nothing was to be. */
int lb_holder_end_renewals(struct lb_holder *holder);
/* Selects the latest hold of `key` for release, read and write; if there is none, they hold nothing. */
void lb_holder_turn_to(struct lb_holder *holder, uint32_t key);
bool lb_holder_holds(const struct lb_holder *holder); /* something */
/* Reads the resource without a hold or a guard; its later write builds on that. LB_OK. */
int lb_holder_read_early(struct lb_holder *holder, uint32_t key);
/* Reads the resource; writes what was read plus one; both only if the guard allows it. Point "before-check", event
 * `check`, point "after-check", the access, after a write point "after-write".
 * LB_OK. LB_BUSY: it held nothing and did not touch the resource. LB_LOST: the guard or the resource said no; event
 * `lost` (after the refused access), and the hold is over. */
int lb_holder_read(struct lb_holder *holder);
int lb_holder_write(struct lb_holder *holder);
/* The write leaves the client and is on its way (memory.h) until a step delivers it. The client is never told of its
 * outcome, so there is no event. -EBUSY: an earlier one is still on its way. */
int lb_holder_write_late(struct lb_holder *holder);
lb_ns lb_holder_due(const struct lb_holder *holder); /* when the next renewal of a hold is due; LB_NEVER = none */
/* Renews each hold whose renewal is due, within half a second. Event `renewed`, or `not-renewed` and then `lost` if the
 * lease is gone. LB_OK, also if none was due. LB_LOST. LB_UNKNOWN, -errno: it still believes that it holds, and retries
 * after a tenth of the ttl. Under the guard `deadline` the hold ends with its lease: events `check` and `lost`,
 * LB_LOST. */
int lb_holder_renew(struct lb_holder *holder);
/* Index of the server that its session talks to now, or -ENOENT; noted in the client's state. */
int lb_holder_server(struct lb_holder *holder);
/* The points of every client; protocols have more. NULL-terminated. */
extern const char *const lb_holder_points[];
void lb_holder_key_name(const char *prefix, uint32_t key, char name[LB_KEY_NAME_MAX]);
/* Key number `key` of a trial as the service knows it; its name is written to `name`, which has to live as long. */
struct lb_lock lb_holder_lock(const struct lb_holder *holder, uint32_t key, char name[LB_KEY_NAME_MAX]);

/* ---- for holder_access.c ---- */

/* Records an event with this client and its key. */
void lb_holder_record(struct lb_holder *holder, enum lb_event_kind kind, struct lb_event event);
/* Stops using the resource while the service may still keep the lock: event `lost`, and a debt. LB_LOST. */
int lb_holder_give_up_hold(struct lb_holder *holder);

static inline lb_ns lb_earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }
static inline struct lb_client_state *lb_holder_state(struct lb_holder *h) { return &h->memory->state[h->client]; }
/* A part of the ttl. */
static inline lb_ns lb_holder_ttl_over(const struct lb_holder *h, lb_ns parts) {
  return (lb_ns)h->ttl_ms * LB_NS_PER_MS / parts;
}
/* The end of the lease has come, by the clock of the client. */
static inline bool lb_holder_is_over(struct lb_holder *h) { return lb_now(h->env) >= h->grant.valid_until; }

#endif
