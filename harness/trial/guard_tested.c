/* SPDX-License-Identifier: MIT
 *
 * The rows of the table at the head of judge.c: what each guard has to have done.
 */
#include "guard_tested.h"

#include <stdio.h>

#include "history/evidence.h"

/* So many servers have to be out of a client's reach before none can answer for the lock: all of
 * them, or of servers that decide each for itself so many that no majority is left. */
static size_t servers_to_cut_off(const struct lb_stage *s) {
  size_t count = s->cluster.data_count;
  return count > 1 && s->target.replicas == 0 ? count - count / 2 : count;
}

static bool doubt_guard(char *why, size_t size, const char *text) {
  snprintf(why, size, "%s", text);
  return false;
}

static bool resource_was_tested(const struct lb_stage *s, bool held_twice, char *why, size_t size) {
  if (!held_twice || lb_evidence_refused(&s->history)) return true;
  return doubt_guard(why, size, "two clients held at once, and the resource refused none that another one had overtaken: "
                                "it was not the guard that kept it whole");
}

static bool checks_were_tested(const struct lb_stage *s, bool held_twice, char *why, size_t size) {
  const char *names[LB_SERVERS_MAX];
  uint32_t client;
  for (size_t i = 0; i < s->cluster.data_count; i++) names[i] = s->cluster.server[i].name;
  switch (lb_evidence_guard(&s->history, names, s->cluster.data_count, servers_to_cut_off(s), &client)) {
    case LB_GUARD_WORKED: return true;
    case LB_GUARD_STOPPED_NOBODY:
      if (!held_twice) return true;
      return doubt_guard(why, size, "two clients held at once, and the guard stopped none that another one had overtaken: "
                                    "it was not the guard that kept the resource whole");
    case LB_GUARD_NOT_ASKED: return doubt_guard(why, size, "nobody came to a check of the guard, so it had nothing to decide");
    case LB_GUARD_NOT_ANSWERED: return doubt_guard(why, size, "no check of the guard was ever answered, so it protected nothing");
    case LB_GUARD_STOPPED_UNANSWERED:
      snprintf(why, size, "the guard stopped %s because nobody answered, though it was not cut off: that is no protection",
               s->history.clients.name[client]);
  }
  return false;
}

bool lb_guard_was_tested(const struct lb_stage *s, bool held_twice, char *why, size_t size) {
  switch (s->plan->guard) {
    case LB_GUARD_NONE: return true;
    case LB_GUARD_CLAIM:
    case LB_GUARD_FENCE: return resource_was_tested(s, held_twice, why, size);
    case LB_GUARD_DEADLINE:
    case LB_GUARD_SIGNAL:
    case LB_GUARD_RECHECK: return checks_were_tested(s, held_twice, why, size);
  }
  return false;
}
