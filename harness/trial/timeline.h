/* SPDX-License-Identifier: MIT
 *
 * timeline.h - plays a trial: the steps of its scenario, one after the other. All that return an int: 0, or -ECANCELED
 * after lb_stage_doubt().
 */
#ifndef LB_TIMELINE_H
#define LB_TIMELINE_H

#include "cast.h"

int lb_timeline_play(struct lb_stage *stage);
/* Plays one step. The step must outlive what it did. */
int lb_timeline_step(struct lb_stage *stage, const struct lb_step *step);
/* Waits for the proofs that take their time (a packet that is to come late). */
int lb_timeline_settle(struct lb_stage *stage);
/* True if something plays this verb. For the test that no verb was forgotten. */
bool lb_timeline_knows(enum lb_verb verb);
/* The most that a timeline asks again at its end: a ttl, half of one for the servers, and what a cluster takes to
 * notice a failure. */
int64_t lb_timeline_closing_ms(const struct lb_scenario *scenario);

/* ---- what the files of the timeline share ---- */

enum { LB_GRACE_MS = 3000 }; /* so much later than the deadline of a command an answer may come */

struct lb_play { /* what plays a verb: its row in the table of its file */
  int (*play)(struct lb_stage *stage,
              const struct lb_step *step);          /* NULL = it stands in another table, or is a fault */
  enum lb_client_verb command;                      /* what the client is told */
  bool (*met)(const struct lb_client_state *state); /* the condition that is awaited */
};
extern const struct lb_play lb_parts_of_clients[LB_VERB_COUNT];    /* timeline_client.c */
extern const struct lb_play lb_parts_of_conditions[LB_VERB_COUNT]; /* timeline_await.c */

/* The hosts of both sides of the step; a side that it does not name is empty. */
int lb_timeline_cast(struct lb_stage *stage, const struct lb_step *step, struct lb_cast *ret_a, struct lb_cast *ret_b);
/* Sleeps between two polls: 0.5 ms, or a twentieth of the wait since then, up to 5 ms. */
void lb_timeline_doze(lb_ns since);
/* The client that a step names. */
struct lb_client *lb_timeline_client(struct lb_stage *stage, const struct lb_step *step);
/* The answer that the client owes, until its deadline; nothing where it owes none. */
int lb_timeline_collect(struct lb_stage *stage, struct lb_client *client);
/* The same of a client that stood still in the middle of a command and goes on now. */
int lb_timeline_finish(struct lb_stage *stage, struct lb_client *client);
/* Tells those that go on to the end to stop, and holds them to their proof. */
int lb_timeline_end_repeats(struct lb_stage *stage);
/* Records the points at which clients have arrived since, in a command that had only begun. */
int lb_timeline_look_at_points(struct lb_stage *stage);

#endif
