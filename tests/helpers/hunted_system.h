/* SPDX-License-Identifier: MIT
 *
 * hunted_system.h - a system as a hunt knows it, by its name, wherever the test runs.
 */
#ifndef LB_HUNTED_SYSTEM_H
#define LB_HUNTED_SYSTEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "hunt/space.h"
#include "plan/system.h"

/* A machine without network namespaces has a smaller alphabet: here all of it is wanted. */
static inline struct lb_hunt_system system_of(const char *name) {
  struct lb_hunt_system ret;
  struct lb_system system;
  struct lb_error err;
  assert_int_equal(lb_system_parse(name, &system, &err), 0);
  lb_hunt_system_of(system.protocol, system.topology, &ret);
  ret.network = ret.count > 0 && !ret.own;
  return ret;
}

/* The index of a timeline by its id, which has to be there. */
static inline size_t find_in(const struct lb_hunt_space *space, const char *id) {
  struct lb_hunt_timeline timeline;
  struct lb_error err;
  assert_int_equal(lb_hunt_timeline_of_id(id, &timeline, &err), 0);
  ptrdiff_t at = lb_hunt_space_find(space, &timeline);
  if (at < 0) fail_msg("there is no %s", id);
  return (size_t)at;
}

#endif
