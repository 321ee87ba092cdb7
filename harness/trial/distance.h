/* SPDX-License-Identifier: MIT
 *
 * distance.h - machines that are apart: in a load with `round_trip_ms` what any host sends to another one
 * that it talks to is late by half of it, from before the load begins to its end.
 */
#ifndef LB_DISTANCE_H
#define LB_DISTANCE_H

#include "stage.h"

/* Makes all links long, once sessions are there, and proves it by a packet on each. 0, also where they are to have no length;
 * or -ECANCELED after lb_stage_doubt(). */
int lb_distance_make(struct lb_stage *stage);
/* Records what the line itself added, while it still holds. It ends with the site. */
void lb_distance_note(struct lb_stage *stage);

#endif
