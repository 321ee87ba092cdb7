/* SPDX-License-Identifier: MIT
 *
 * What a service said of a hold, as a guard and a renewal record it.
 */
#include <errno.h>

#include "holder_parts.h"

/* Who could not even be reached gave no answer. Any other failure is an error. */
static bool is_out_of_reach(int error) {
  static const int codes[] = {ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE,     ENOTCONN, ETIMEDOUT,
                              EHOSTUNREACH, ENETUNREACH, EHOSTDOWN,   ENETDOWN};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (error == -codes[i]) return true;
  return false;
}

enum lb_check_result lb_holder_answer(int result) {
  switch (result) {
    case LB_OK: return LB_CHECK_PASSED;
    case LB_LOST: return LB_CHECK_TOLD_NO;
    case LB_UNCONFIRMED: return LB_CHECK_NO_MAJORITY;
    case LB_UNKNOWN: return LB_CHECK_NO_ANSWER;
    default: return is_out_of_reach(result) ? LB_CHECK_NO_ANSWER : LB_CHECK_ERROR;
  }
}
