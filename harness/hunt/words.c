/* SPDX-License-Identifier: MIT
 *
 * The words of the hunt: those that ids are made of, and the sentences that a scenario file tells about
 * its faults.
 */
#include "alphabet.h"

#include <stdio.h>

static const struct {
  const char *name;
  const char *said; /* behind who it is done to */
  bool unreal; /* no machine does it */
} kinds[LB_HUNT_KIND_COUNT] = {
    [LB_HUNT_RESTART] = {"restart", "killed and started again at once", false},
    [LB_HUNT_KILL] = {"kill", "killed", false},
    [LB_HUNT_PAUSE] = {"pause", "stopped", false},
    [LB_HUNT_ISOLATE] = {"isolate", "cut off from all other servers", false},
    [LB_HUNT_PART] = {"part", "cut off from its replicas, but not from who watches it", false},
    [LB_HUNT_CUT] = {"cut", "cut off from some of the servers", false},
    [LB_HUNT_CUT_OFF] = {"cutoff", "cut off from all servers", false},
    [LB_HUNT_AHEAD] = {"ahead", "given a wall clock that jumps an hour ahead", false},
    [LB_HUNT_BACK] = {"behind", "given a wall clock that jumps an hour back", false},
    [LB_HUNT_FAST] = {"fast", "given clocks that run twice as fast", true},
    [LB_HUNT_CUT_ONE] = {"cutone", "cut off from one of the servers", false},
    [LB_HUNT_SLOW] = {"slow", "given clocks that run half as fast", true},
};
static const struct {
  const char *name, *said;
} targets[LB_HUNT_TARGET_COUNT] = {
    [LB_HUNT_P] = {"P", "the primary is"},
    [LB_HUNT_F] = {"f", "who is outside the primary's majority is"},
    [LB_HUNT_ALL] = {"all", "all servers are"},
    [LB_HUNT_C1] = {"c1", "client 1 is"},
    [LB_HUNT_C2] = {"c2", "client 2 is"},
    [LB_HUNT_ONE] = {"one", "one of those outside the primary's majority is"},
    [LB_HUNT_MOST] = {"most", "a majority of the servers are"},
};
static const struct {
  const char *name, *said;
} slots[LB_HUNT_SLOT_COUNT] = {
    [LB_HUNT_BEFORE] = {"B", "before client 1 asks for the lock"},
    [LB_HUNT_ASKING] = {"A", "while client 1 is inside its acquire"},
    [LB_HUNT_HOLDING] = {"H", "while client 1 holds"},
    [LB_HUNT_CHECKED] = {"X", "between the check of client 1 and its write"},
    [LB_HUNT_DONE] = {"R", "between the write of client 1 and its release"},
    [LB_HUNT_WOKEN] = {"W", "when client 1 has released, and the waiter that is woken stands still"},
};
static const struct {
  const char *name, *said;
} undos[LB_HUNT_UNDO_COUNT] = {
    [LB_HUNT_STAYS] = {"", ""},
    [LB_HUNT_MID] = {"mid", ", until shortly before another server would take over"},
    [LB_HUNT_AFTER] = {"back", ", until another server has had the time to take over"},
    [LB_HUNT_GONE] = {"gone", ", until all is over"},
};
static const char *const regimes[LB_HUNT_REGIME_COUNT] = {[LB_HUNT_LONG] = "long", [LB_HUNT_SHORT] = "short", [LB_HUNT_DRIFT] = "drift"};

bool lb_hunt_is_unreal(struct lb_hunt_fault f) { return kinds[f.kind].unreal; }
const char *lb_hunt_kind_name(enum lb_hunt_kind kind) { return kinds[kind].name; }
const char *lb_hunt_target_name(enum lb_hunt_target target) { return targets[target].name; }
const char *lb_hunt_slot_name(enum lb_hunt_slot slot) { return slots[slot].name; }
const char *lb_hunt_undo_name(enum lb_hunt_undo undo) { return undos[undo].name; }
const char *lb_hunt_regime_name(enum lb_hunt_regime regime) { return regimes[regime]; }

void lb_hunt_fault_format(struct lb_hunt_fault f, char *buf, size_t size) {
  const char *undo = undos[f.undo].name;
  snprintf(buf, size, "%s-%s@%s%s%s", kinds[f.kind].name, targets[f.target].name, slots[f.slot].name, *undo ? "-" : "", undo);
}

void lb_hunt_fault_say(struct lb_hunt_fault f, char *buf, size_t size) {
  bool client_stops = f.kind == LB_HUNT_PAUSE && lb_hunt_of_client(f);
  snprintf(buf, size, "%s %s %s%s", targets[f.target].said, kinds[f.kind].said, slots[f.slot].said,
           client_stops ? ", until another one has written" : undos[f.undo].said);
}
