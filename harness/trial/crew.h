/* SPDX-License-Identifier: MIT
 *
 * crew.h - the client processes of a trial: started on their hosts, sessions opened, started again after a campaign killed one.
 */
#ifndef LB_CREW_H
#define LB_CREW_H

#include "stage.h"

/* Fills stage->client_plan from the plan and the running cluster. */
void lb_crew_plan(struct lb_stage *stage);
/* Starts the observer (which runs the protocol's setup) and all clients, and opens their sessions. 0, or -ECANCELED after
 * lb_stage_doubt(). */
int lb_crew_start(struct lb_stage *stage);
/* Starts client `index`, which is dead, again, and sends it back to work. 0, or -1 with err. */
int lb_crew_restart(struct lb_stage *stage, size_t index, char *err, size_t err_size);
/* SIGKILL to all; from then on nobody writes into the memory. */
void lb_crew_end(struct lb_stage *stage);
/* What no step ended must still be there at the end: a trial whose client or server died by itself shows something else. */
void lb_crew_count_heads(struct lb_stage *stage);

#endif
