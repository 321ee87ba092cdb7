/* SPDX-License-Identifier: MIT
 *
 * Lost updates: every critical section writes what it read plus one, so the last value should have
 * grown over the first one read by the number of accepted writes. What is missing was overwritten
 * by a client that had read an older value.
 *
 * The same loss, write by write: a write that raises the latest value by one takes nothing away,
 * one that repeats it takes away one update, and one that raises it by more gives back what was
 * counted before. The sum over all writes is the loss of the key; the part of those writes that an
 * ended lease excuses is excused. So is the part of those counted whose clients had read too early.
 */
#include "check_parts.h"

/* Only what was accepted; the first read says where the value stood when the history began. */
void lb_check_value(struct lb_values *v, const struct lb_event *e, bool excused, bool early) {
  if (e->kind == LB_EV_WRITE) {
    __int128 taken = v->read || v->written ? 1 - ((__int128)e->value - (__int128)v->last) : 0;
    if (excused) v->excused += taken;
    if (early) v->early += taken;
    v->writes++;
    v->written = true;
    v->last = e->value;
  } else if (!v->read) {
    v->read = true;
    v->first_read = e->value;
    if (!v->written) v->last = e->value;
  }
}

/* Saturates: values come from files, where any number may stand. */
static void add(int64_t *sum, __int128 more) {
  __int128 total = *sum + more;
  *sum = total > INT64_MAX ? INT64_MAX : (int64_t)total;
}

void lb_check_lost_updates(struct lb_check *c, const struct lb_values *v) {
  if (!v->written || !v->read) return;
  __int128 lost = (__int128)v->writes - ((__int128)v->last - (__int128)v->first_read);
  if (lost <= 0) return;
  __int128 unexcused = lost - v->excused;
  add(&c->lost_updates, lost);
  if (unexcused > 0) add(&c->unexcused.lost_updates, unexcused < lost ? unexcused : lost);
  if (v->early > 0) add(&c->early_lost_updates, v->early < lost ? v->early : lost);
}
