/* SPDX-License-Identifier: MIT
 *
 * The guards by name, with a line of help each. What a guard does to an access stands with the
 * client (client/holder.c) and with the resource; here is only what a scenario, an option and a
 * chart need.
 */
#include "guard.h"

#include <string.h>

static const struct {
  const char *name, *help;
} guards[LB_GUARD_COUNT] = {
    [LB_GUARD_NONE] = {"none", "the client trusts its grant until somebody tells it that it lost the lock"},
    [LB_GUARD_DEADLINE] = {"deadline", "before each access the client looks at its own clock: not after the end of its lease"},
    [LB_GUARD_SIGNAL] = {"signal", "before each access the client looks whether its session or connection was reported lost or in doubt"},
    [LB_GUARD_RECHECK] = {"recheck", "before each access the client asks the server whether it still holds"},
    [LB_GUARD_CLAIM] = {"claim", "the first access writes the holder's unique token into the resource, which refuses later ones once another token stands there"},
    [LB_GUARD_FENCE] = {"fence", "the resource refuses a fencing token smaller than the largest it has seen"},
};

const char *lb_guard_name(enum lb_guard guard) { return guards[guard].name; }

const char *lb_guard_help(enum lb_guard guard) { return guards[guard].help; }

int lb_guard_find(const char *name) {
  for (int i = 0; i < LB_GUARD_COUNT; i++)
    if (strcmp(guards[i].name, name) == 0) return i;
  return -1;
}
