/* SPDX-License-Identifier: MIT
 *
 * hook.h - a hook of a protocol under test: HOOK(release_late) { return LB_TIMEOUT; }. It has `s`, `lock`, `grant` and
 * `deadline` and need not look at them. ASKS() has a grant that it may not change.
 */
#ifndef LB_TESTS_HOOK_H
#define LB_TESTS_HOOK_H

#include "backends/backend.h"

#define LB_UNUSED __attribute__((unused))
#define LB_HOOK(name, constant)                                                                                        \
  static int name(struct lb_session *s LB_UNUSED, const struct lb_lock *lock LB_UNUSED,                                \
                  constant struct lb_grant *grant LB_UNUSED, lb_ns deadline LB_UNUSED)
#define HOOK(name) LB_HOOK(name, )
#define ASKS(name) LB_HOOK(name, const)

#endif
