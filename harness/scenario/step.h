/* SPDX-License-Identifier: MIT
 *
 * step.h - one step of a timeline, or one fault of a campaign: who (role.h), what (a verb), and the table with one row
 * per verb. The parser, the checks before a run, help, docs/steps.md, the timeline and the campaign ask the row
 * of a verb, not its name.
 *
 * A new verb is an enumerator here, its row in step.c, and what it does in trial/ (fault_*.c, or timeline*.c).
 */
#ifndef LB_STEP_H
#define LB_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "role.h"

enum { LB_LOCKS_MAX = 4 }; /* so many a timeline may speak of */

/* In the order of help. What each of them says and means stands in its row (step.c). */
enum lb_verb {
  LB_STEP_NONE, /* no step has it */
  LB_STEP_CUT,
  LB_STEP_CUT_TO,
  LB_STEP_SLOW,
  LB_STEP_HOLD,
  LB_STEP_DROP_NEXT,
  LB_STEP_HOLD_NEXT,
  LB_STEP_RELEASE_HELD,
  LB_STEP_RESET,
  LB_STEP_HEAL_ONE, /* before LB_STEP_HEAL: what is wrong with a role is then said of it */
  LB_STEP_HEAL,
  LB_STEP_KILL,
  LB_STEP_POWER_OFF,
  LB_STEP_SHUT_CLIENT, /* before LB_STEP_SHUT_DOWN: of a client its program is meant */
  LB_STEP_SHUT_DOWN,
  LB_STEP_DEPOSE,
  LB_STEP_REMOVE,
  LB_STEP_CANCEL,
  LB_STEP_DELETE_KEY,
  LB_STEP_END_SESSION,
  LB_STEP_END_RENEWALS,
  LB_STEP_BACK_UP,
  LB_STEP_RESTORE,
  LB_STEP_WIPE,
  LB_STEP_MOVE_SLOT,
  LB_STEP_STRAND_KEY,
  LB_STEP_FILL_MEMORY,
  LB_STEP_FREE_MEMORY,
  LB_STEP_FILL_DISK,
  LB_STEP_FREE_DISK,
  LB_STEP_STALL_DISK,
  LB_STEP_UNSTALL_DISK,
  LB_STEP_OCCUPY,
  LB_STEP_VACATE,
  LB_STEP_LOCK_TABLES,
  LB_STEP_UNLOCK_TABLES,
  LB_STEP_OPERATOR,
  LB_STEP_PAUSE,
  LB_STEP_RESUME,
  LB_STEP_RESTART,
  LB_STEP_UPGRADE,
  LB_STEP_CLOCK_JUMP,
  LB_STEP_CLOCK_RATE,
  LB_STEP_ACQUIRE,
  LB_STEP_BEGIN_ACQUIRE,
  LB_STEP_BEGIN_SECTION,
  LB_STEP_OPEN_SECTION,
  LB_STEP_MEANWHILE,
  LB_STEP_RELEASE,
  LB_STEP_RELEASE_OF,
  LB_STEP_RELEASE_ANYWAY,
  LB_STEP_WORK,
  LB_STEP_READ,
  LB_STEP_READ_EARLY,
  LB_STEP_WRITE,
  LB_STEP_WRITE_LATE,
  LB_STEP_DELIVER,
  LB_STEP_REOPEN,
  LB_STEP_START,
  LB_STEP_STOP_AT,
  LB_STEP_CRASH_AT,
  LB_STEP_HANG_AT,
  LB_STEP_GATE_AT,
  LB_STEP_PASS,
  LB_STEP_AWAIT_FAILOVER,
  LB_STEP_AWAIT_ASKS,
  LB_STEP_AWAIT_WAITS,
  LB_STEP_AWAIT_HOLDS,
  LB_STEP_AWAIT_GRANTED,
  LB_STEP_AWAIT_GAVE_UP,
  LB_STEP_AWAIT_PLACE,
  LB_STEP_AWAIT_WRITTEN,
  LB_STEP_AWAIT_STOPPED,
  LB_STEP_AWAIT_CRASHED,
  LB_STEP_AWAIT_WOKEN,
  LB_STEP_AWAIT_ABSENT,
  LB_STEP_AWAIT_CAUGHT_UP,
  LB_STEP_AWAIT_SESSION,
  LB_STEP_LET_FAILOVER,
  LB_STEP_LET_SYNC,
  LB_STEP_LET_HOLD,
  LB_STEP_LET_WRITE,
  LB_STEP_LET_EITHER_WRITE,
  LB_STEP_WAIT,
  LB_STEP_OBSERVE_KEY,
  LB_STEP_OBSERVE_CLIENT,
  LB_STEP_OBSERVE_SERVER,
  LB_STEP_OBSERVE_LEAVES,
  LB_VERB_COUNT
};

/* One step as parsed. Which of the fields mean something depends on the verb; the others are 0. It owns `text`. */
struct lb_step {
  enum lb_verb verb;
  struct lb_role a,
      b; /* b: the other side of a link, or the other client of whom one will do; LB_ROLE_NONE where a step speaks of none */
  int64_t within_ms; /* for acquire, release, await, wait; slow: how late */
  /* T is "delay" or "delay+DURATION": that of the scenario ([workload] delay_ms) and this much more.
   * Then within_ms is filled in by scenario.c. */
  bool delayed;
  int64_t beyond_ms;
  int64_t jitter_ms;        /* slow: by so much more or less, at most within_ms */
  double loss;              /* slow: so many of the packets are lost, from 0 to 1 */
  int lock;                 /* which lock a client asks for, lets go of or works under, from 0 */
  bool shared;              /* acquire: as a reader */
  int64_t ttl_ms;           /* acquire: of its lease; 0 = that of the scenario */
  int64_t hold_ms, rest_ms; /* meanwhile: how long it holds, and rests before it asks again */
  int after;                /* drop next, hold next: so many messages pass before */
  bool monotonic;           /* clock jump: of the monotonic clock, not the wall clock */
  int64_t offset_ms;        /* clock jump */
  double rate;              /* clock rate */
  char point[32];           /* stop, crash */
  const char *policy;       /* fill memory: a policy of Redis; NULL = another step */
  char *text;               /* as written */
  int line;
  uint32_t number; /* its place among the steps, from 1; of a drawn fault: in the schedule */
};

/* ---- the table ------------------------------------------------------------------------------- */

/* What kind of thing a verb is, which decides how it is treated: a fault has to be proved, a
 * condition that does not come in time makes the trial stuck or delayed. */
enum lb_step_class {
  LB_STEP_COMMAND,   /* a client does it */
  LB_STEP_FAULT,     /* done to hosts or to a client, and proved */
  LB_STEP_CURE,      /* takes back what earlier faults did */
  LB_STEP_CONDITION, /* waits until something is so; not in time = stuck or delayed */
  LB_STEP_PAUSES, /* the timeline does nothing for a while, or until something is so: whether it was, is recorded and decides nothing */
  LB_STEP_OBSERVATION, /* records a fact */
};
/* What has to be there before the step can be played: on this machine (network, clocks), in the
 * step itself (roles, a point), or among the steps before it. */
enum lb_step_need {
  LB_NEED_NETWORK = 1 << 0, /* hosts with links of their own, so the right to make network namespaces */
  LB_NEED_CLOCKS =
      1 << 1, /* clocks that can be set: servers under the clock shim, clients that read theirs from a page */
  LB_NEED_POINT = 1 << 2,      /* the point it names, in the program of a client */
  LB_NEED_SERVERS = 1 << 3,    /* A stands for servers */
  LB_NEED_ONE_SERVER = 1 << 4, /* A is one server, and not one that is drawn */
  LB_NEED_ASKED = 1 << 5,      /* an earlier step with which this client asked for the lock */
  LB_NEED_FAILOVER = 1 << 6,   /* an earlier fault of a server, and another server that can take over */
  LB_NEED_MEMBERS = 1 << 7,    /* servers that say when they have left the others */
  LB_NEED_DEAD = 1 << 8,       /* an earlier step that killed this client */
  LB_NEED_GATE = 1 << 10,      /* an earlier gate of this client that it has not been let through */
  LB_NEED_SYNCS = 1 << 11,     /* servers of which it is seen what they write and sync, and that do sync */
  LB_NEED_ORDERLY = 1 << 12,   /* servers that hand over on demand, and another one that takes over */
  LB_NEED_MEMORY = 1 << 13,    /* servers whose memory has a limit */
  LB_NEED_CANCEL = 1 << 14,    /* servers that wait for another one with a commit, until somebody tells them not to */
  LB_NEED_FOLLOWERS = 1 << 15, /* servers that say how far they follow another one */
  LB_NEED_WAKES = 1 << 16,     /* waiters that are told */
  LB_NEED_ROOM = 1 << 17,      /* servers with a disk that can be full, and of which it is known what they do then */
  LB_NEED_SESSION =
      1 << 18,              /* a lock that stands and falls with a session, and servers that say which ones there are */
  LB_NEED_RECORD = 1 << 19, /* a lock that has a record at its servers, which somebody can remove */
  LB_NEED_ENDING = 1 << 20, /* servers that end the session of a client by order */
  LB_NEED_FILES = 1 << 21,  /* servers with files that can be copied and put back */
  LB_NEED_BACKUP = 1 << 22, /* an earlier step that backed up the same servers */
  LB_NEED_SLOTS = 1 << 23,  /* servers that share the keys out by slots */
  LB_NEED_POOLER = 1 << 24, /* servers that lend out those of others */
  LB_NEED_MEMBERSHIP = 1 << 25, /* servers that are members of a cluster, which an operator can take one out of */
  LB_NEED_TABLES = 1 << 26,     /* servers that keep tables, which one transaction can have for itself */
  LB_NEED_EMPTY = 1 << 27,      /* servers that start without their files, as members that know nothing */
  LB_NEED_STALL = 1 << 28,      /* servers whose syncs somebody can keep */
  LB_NEED_RENEWALS = 1 << 30,   /* a hold that a loop of its client renews */
  LB_NEED_OUTSIDE = 1 << 9,     /* the point is in no call of a protocol */
  LB_NEED_PLACE = 1 << 29,      /* a lock whose waiters have a place at its servers, which somebody can ask for */
};
/* What is there when a fault of servers is taken back. Faults of clients leave nothing: each trial has its own clients.
 */
enum lb_step_trace {
  LB_TRACE_LASTS, /* something: these servers serve no other timeline */
  LB_TRACE_ASKED, /* perhaps a new process, another leader or an old connection: the servers have to say that they are well (lb_family.healthy) */
};
struct lb_step_row {
  const char *
      form; /* "client N acquire within T": A, B are roles, N and M numbers of clients, T a time, [word] and [word VALUE] may be left out */
  const char *help; /* one line */
  enum lb_step_class class;
  unsigned needs;     /* enum lb_step_need */
  bool drawn;         /* a campaign may draw it */
  bool asks;          /* the client asks for the lock */
  bool beside;        /* the client does it while the next steps are done; its next step awaits the outcome */
  bool opens;         /* the client has no session before it */
  bool among_clients; /* A and B may both be clients */
  bool armed; /* it acts when somebody does something later: its proof is there by the end, or when it is undone */
  bool kills; /* who it hits has no further steps, unless it is started again */
  const char
      *named; /* of a fault: how the title of a scenario names it, one of "WORD|WORD"; the begin of a word is enough */
  enum lb_step_trace trace; /* of a fault */
  enum lb_verb
      undone_by[2]; /* verbs that take it back; first the one that takes back nothing else. LB_STEP_NONE = none */
};
extern const struct lb_step_row lb_step_rows[LB_VERB_COUNT]; /* by verb; that of LB_STEP_NONE is empty */

const struct lb_step_row *lb_step_row(const struct lb_step *step);
/* True if the step needs it: one of enum lb_step_need. */
bool lb_step_needs(const struct lb_step *step, enum lb_step_need need);
/* True if `cure` takes back what the earlier step did. */
bool lb_step_undoes(const struct lb_step *cure, const struct lb_step *earlier);
/* True for a fault of a server, or of a link of one. */
bool lb_step_hits_server(const struct lb_step *step);
/* True if servers that it was done to serve no other timeline, even when it was taken back. */
bool lb_step_outlives(const struct lb_step *step);
/* True for a form with this part: "A", "B", "N", ... */
bool lb_step_form_has(const struct lb_step_row *row, const char *part);
/* "cut, kill, pause or clock": the first words of the verbs that are chosen, each once, in the order of the table. */
void lb_step_list(const bool chosen[LB_VERB_COUNT], char *buf, size_t size);

/* ---- text ------------------------------------------------------------------------------------ */

/* The number of the primary N, from 2, that the step speaks of; 0 = of none but the first. */
int lb_step_later_primary(const struct lb_step *step);
/* The order of `operator "ORDER"`: where it begins in the text, and how long it is. */
const char *lb_step_order(const struct lb_step *step, int *ret_length);
/* True if hosts or the network are touched by a person, not by lockbench. */
bool lb_step_by_hand(const struct lb_step *step);
/* One step from its text. 0, or -EINVAL with err = what was found and expected (no place). step->line is left alone. */
int lb_step_parse(const char *text, struct lb_step *ret, struct lb_error *err);

#endif
