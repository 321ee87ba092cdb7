/* SPDX-License-Identifier: MIT
 *
 * guard.h - what a client does before it touches the resource, chosen per cell.
 *
 * A guard protects the resource, not the lock: whatever it does, two clients may still believe that
 * they hold. Under any guard but `none` a trial is therefore judged by the damage at the resource
 * (lost updates, writes of an overtaken holder).
 */
#ifndef LB_GUARD_H
#define LB_GUARD_H

#include <stddef.h>

enum lb_guard {
  LB_GUARD_NONE,     /* touches the resource as long as nobody told it that it lost the lock */
  LB_GUARD_DEADLINE, /* looks at its own monotonic clock: not after valid_until */
  LB_GUARD_SIGNAL,   /* asks nobody: not once its client library or connection has said that the session is lost or in doubt */
  LB_GUARD_RECHECK,  /* asks the server whether it still holds: not unless the server says so */
  LB_GUARD_CLAIM,    /* writes its unique token into the resource first, and the resource refuses once another one stands there */
  LB_GUARD_FENCE,    /* shows its fencing token, and the resource refuses one smaller than the largest it has seen */
};
#define LB_GUARD_COUNT 6
/* All of them, as a sentence names them. */
#define LB_GUARD_NAMES "none, deadline, signal, recheck, claim or fence"

/* "none", "deadline" ... */
const char *lb_guard_name(enum lb_guard guard);
/* One line for help and charts. */
const char *lb_guard_help(enum lb_guard guard);
/* The guard of that name, or -1. */
int lb_guard_find(const char *name);

#endif
