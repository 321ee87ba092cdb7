/* SPDX-License-Identifier: MIT
 *
 * redlock.h - the options of Redlock, for tests and benchmarks that set them.
 */
#ifndef LB_REDLOCK_H
#define LB_REDLOCK_H

#include "backends/backend.h"

enum {
  REDLOCK_NODE_TIMEOUT,
  REDLOCK_FANOUT,
  REDLOCK_DRIFT,
  REDLOCK_DRIFT_MS,
  REDLOCK_MIN_VALIDITY,
  REDLOCK_CHECK_VALIDITY,
  REDLOCK_CLOCK,
  REDLOCK_TRIES,
  REDLOCK_RETRY,
  REDLOCK_RETRY_MS,
  REDLOCK_EXTENSIONS_MAX,
  REDLOCK_KEEP_FAILED,
  REDLOCK_RELEASE,
  REDLOCK_EXTENSION,
  REDLOCK_OPTION_COUNT,
};
extern const struct lb_option redlock_options[REDLOCK_OPTION_COUNT + 1];

#endif
