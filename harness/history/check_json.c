/* SPDX-License-Identifier: MIT
 *
 * A judgement as JSON: the verdict and why, the counts, and every episode. What does not apply is
 * null.
 */
#include "check_json.h"

#include "counter_json.h"

static double to_ms(uint64_t ns) { return (double)ns / 1e6; }

static json_t *clients_of(const struct lb_history *h, const struct lb_episode *e) {
  json_t *clients = json_array();
  for (size_t i = 0; i < e->client_count; i++)
    json_array_append_new(clients, json_string(h->clients.name[e->clients[i]]));
  return clients;
}

static json_t *episode(const struct lb_history *h, const struct lb_episode *e) {
  uint64_t zero = h->events[0].t;
  return json_pack("{s:o, s:s, s:I, s:b, s:I, s:I, s:f, s:f}", "clients", clients_of(h, e), "key", h->keys.name[e->key],
                   "depth", (json_int_t)e->depth, "within_lease", e->within_lease, "begin_ns", (json_int_t)e->begin_t, "end_ns", (json_int_t)e->end_t,
                   "begin_ms", to_ms(e->begin_t - zero), "end_ms", to_ms(e->end_t - zero));
}

json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  static const enum lb_counter_group groups[] = {LB_COUNT_EXCLUSION, LB_COUNT_GUARD, LB_COUNT_PROGRESS, LB_COUNT_GIVEN_UP,
                                                LB_COUNT_LIVENESS};
  struct lb_ruling ruling = lb_check_rule(check, past_lease);
  json_t *episodes = json_array(), *o = json_pack("{s:s, s:s?}", "verdict", lb_ruled_name(ruling.verdict), "why", ruling.why);
  for (size_t i = 0; i < check->episode_count; i++) json_array_append_new(episodes, episode(history, &check->episodes[i]));
  lb_counters_json(o, &check->counters, groups, sizeof groups / sizeof *groups, LB_IN_CHECK, 0);
  json_object_set_new(o, "episodes", episodes);
  return o;
}
