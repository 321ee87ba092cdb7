/* SPDX-License-Identifier: MIT
 *
 * What the counts amount to: whether exclusion was lost, whether the resource was damaged, and the
 * verdict on a history of which nothing else is known.
 */
#include "check.h"

bool lb_check_violated(const struct lb_check *check, bool past_lease) {
  if (check->token_regressions > 0) return true;
  if (!past_lease)
    return check->within_lease > 0 || check->unexcused.dirty_accesses > 0 || check->unexcused.lost_updates > 0;
  return check->double_holds > 0 || check->dirty_accesses > 0 || check->lost_updates > 0;
}

bool lb_check_damaged(const struct lb_check *check, bool past_lease) {
  if (!past_lease) return check->unexcused.lost_updates > 0 || check->unexcused.stale_writes > 0;
  return check->lost_updates > 0 || check->stale_writes > 0;
}

bool lb_check_read_early(const struct lb_check *check) {
  bool exclusion = check->double_holds == 0 && check->dirty_accesses == 0 && check->token_regressions == 0;
  return exclusion && check->early_lost_updates > 0 && check->early_lost_updates >= check->lost_updates;
}

const char *lb_ruled_name(enum lb_ruled verdict) {
  return verdict == LB_RULED_SAFE ? "safe" : verdict == LB_RULED_VIOLATED ? "violated" : "undecided";
}

struct lb_ruling lb_check_rule(const struct lb_check *check, bool past_lease) {
  if (lb_check_violated(check, past_lease)) return (struct lb_ruling){LB_RULED_VIOLATED, NULL};
  if (lb_check_violated(check, true)) return (struct lb_ruling){LB_RULED_UNDECIDED, LB_CHECK_LATE};
  if (check->handoffs == 0) return (struct lb_ruling){LB_RULED_UNDECIDED, "no hand-off put the lock to the test"};
  return (struct lb_ruling){LB_RULED_SAFE, NULL};
}
