/* SPDX-License-Identifier: MIT
 *
 * The verbs of an operator: their names, and what takes each of them back.
 */
#include "mandate.h"

#include <stdbool.h>
#include <stdio.h>

const char *const lb_mandate_verbs[LB_MAY_COUNT] = {"kill", "restart", "pause",  "resume", "cut",
                                                    "heal", "clock",   "depose", "stop"};

const char *lb_mandate_say(unsigned verbs, char *buf, size_t size) {
  size_t at = 0;
  buf[0] = '\0';
  for (unsigned i = 0; i < LB_MAY_COUNT && at < size; i++) {
    bool last = !(verbs >> (i + 1));
    if (verbs >> i & 1)
      at += (size_t)snprintf(buf + at, size - at, "%s%s", !at ? "" : last ? " and " : ", ", lb_mandate_verbs[i]);
  }
  return buf;
}

enum lb_mandate_verb lb_mandate_undo(enum lb_mandate_verb verb) {
  switch (verb) {
    case LB_MAY_KILL:
    case LB_MAY_STOP: return LB_MAY_RESTART;
    case LB_MAY_PAUSE: return LB_MAY_RESUME;
    case LB_MAY_CUT: return LB_MAY_HEAL;
    case LB_MAY_CLOCK: return LB_MAY_CLOCK;
    default: return LB_MAY_COUNT;
  }
}
