/* SPDX-License-Identifier: MIT
 *
 * explain_marks.h - what is wrong about which event of a history, by the rules of the checker (check.h), and with which
 * other event it collides.
 */
#ifndef LB_EXPLAIN_MARKS_H
#define LB_EXPLAIN_MARKS_H

#include "history/history.h"

#define LB_NO_EVENT SIZE_MAX

enum lb_wrong { /* flags: one event may be wrong in many ways */
                LB_WRONG_DOUBLE =
                    1 << 0, /* granted while another client holds that it may not hold together with: `other` */
                LB_WRONG_FENCE =
                    1 << 1, /* granted with a fence that does not grow, or is another client's: of grant `second` */
                LB_WRONG_DIRTY = 1 << 2, /* an access while another client holds (grant `other`), or without a hold */
                LB_WRONG_STALE =
                    1 << 3,             /* an accepted write of an overtaken holder: by grant `other`, which was used */
                LB_WRONG_LOST = 1 << 4, /* an accepted write whose value does not grow: it overwrote `second` */
                LB_WRONG_FENCED_OFF =
                    1 << 5, /* a write with a fence smaller than that of `fence_seen`; it may have been refused */
};
#define LB_WRONG_DAMAGE (LB_WRONG_STALE | LB_WRONG_LOST)

struct lb_mark {
  unsigned flags;
  size_t other, second, fence_seen; /* events, LB_NO_EVENT = none */
  /* Not wrong, but part of its story. For `lost`: the first grant of another client since its own. For a refused
   * access: the latest access of another client. */
  size_t before;
};

/* Looks at every event: one mark for each of history->count, malloc'd. */
struct lb_mark *lb_explain_marks(const struct lb_history *history);

#endif
