/* SPDX-License-Identifier: MIT
 *
 * A write of the resource that is late: how it is known to be on its way, and how it arrives.
 *
 * It arrives by the hand of the controller, whatever its client does by then, and is recorded at that time as an access of that client: the resource
 * served it then.
 */
#include <errno.h>

#include "fault_parts.h"
#include "timeline_client.h"

/* What stands in its resource now. */
static uint64_t value_at(const struct lb_stage *s, const struct lb_client_state *state) {
  return atomic_load(&s->memory->resource[state->letter.key].value);
}

/* Proved by what is on its way and by the resource, which does not have it. A client that held nothing, or that its guard stopped, has sent
 * nothing. */
int lb_timeline_write_late(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client *client = lb_timeline_client(s, step);
  const struct lb_client_state *state = lb_stage_state(s, client);
  bool before = atomic_load(&state->on_its_way);
  lb_stage_fault(s, step);
  if (lb_timeline_tell(s, step, LB_DO_WRITE_LATE) < 0) return -ECANCELED;
  if (before || !atomic_load(&state->on_its_way)) return lb_stage_doubt(s, LB_UNDECIDED, "%s: no write of it has left", step->text);
  if (value_at(s, state) == state->letter.value) return lb_stage_doubt(s, LB_UNDECIDED, "%s: the resource has what it wrote already", step->text);
  lb_stage_proved(s, step);
  return 0;
}

/* Like an access that a client records itself (holder_access.c), right after it. */
static void note_arrival(struct lb_stage *s, const struct lb_client *client, const struct lb_letter *letter, bool accepted) {
  struct lb_event event = {.kind = LB_EV_WRITE,
                           .client = client->number,
                           .key = letter->key,
                           .fact = LB_NO_NAME,
                           .value = letter->value,
                           .fence = letter->fence,
                           .flags = LB_EVF_VALUE};
  if (event.fence) event.flags |= LB_EVF_FENCE;
  if (!accepted) event.flags |= LB_EVF_REFUSED;
  lb_memory_record(s->memory, s->memory->controller, event);
}

/* What the resource accepts it has, and what it refuses it has not. Where it has that value anyhow, nobody could see whether anything arrived. */
static int deliver(struct lb_doing *d) {
  struct lb_client *client = d->a->client[0];
  struct lb_client_state *state = lb_stage_state(d->s, client);
  if (!atomic_load(&state->on_its_way)) return lb_doing_fail(d, "%s: no write of it is on its way", d->step->text);
  uint64_t before = value_at(d->s, state);
  bool accepted = lb_letter_arrive(&state->letter, d->s->memory->resource);
  uint64_t after = value_at(d->s, state);
  note_arrival(d->s, client, &state->letter, accepted);
  atomic_store(&state->on_its_way, false);
  if (before == state->letter.value) return lb_doing_fail(d, "%s: the resource had the same value already, so nobody sees it arrive", d->step->text);
  if (after != (accepted ? state->letter.value : before)) return lb_doing_fail(d, "%s: the resource does not show it", d->step->text);
  return 0;
}

const struct lb_fault lb_faults_of_writes[LB_VERB_COUNT] = {
    [LB_STEP_DELIVER] = {deliver},
};
