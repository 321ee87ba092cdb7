/* SPDX-License-Identifier: MIT
 *
 * A judgement as JSON: the verdict and why, the counts, and every episode. What does not apply is null.
 */
#include "check_json.h"

static double to_ms(uint64_t ns) { return (double)ns / 1e6; }

static json_t *ms_or_null(int64_t ns) { return ns < 0 ? json_null() : json_real(to_ms((uint64_t)ns)); }

static json_t *clients_of(const struct lb_history *h, const struct lb_episode *e) {
  json_t *clients = json_array();
  for (size_t i = 0; i < e->client_count; i++)
    json_array_append_new(clients, json_string(h->clients.name[e->clients[i]]));
  return clients;
}

static json_t *episode(const struct lb_history *h, const struct lb_episode *e) {
  uint64_t zero = h->events[0].t;
  return json_pack("{s:o, s:s, s:I, s:I, s:I, s:f, s:f}", "clients", clients_of(h, e), "key", h->keys.name[e->key],
                   "depth", (json_int_t)e->depth, "begin_ns", (json_int_t)e->begin_t, "end_ns", (json_int_t)e->end_t,
                   "begin_ms", to_ms(e->begin_t - zero), "end_ms", to_ms(e->end_t - zero));
}

json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, const char *excuse) {
  const struct lb_check *c = check;
  struct lb_ruling ruling = lb_check_rule(check, excuse);
  json_t *episodes = json_array();
  for (size_t i = 0; i < c->episode_count; i++) json_array_append_new(episodes, episode(history, &c->episodes[i]));
  return json_pack("{s:s, s:s?, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "verdict",
                   lb_ruled_name(ruling.verdict), "why", ruling.why, "double_holds", (json_int_t)c->double_holds,
                   "double_hold_ms", to_ms(c->double_hold_ns), "depth", (json_int_t)c->depth, "dirty_accesses",
                   (json_int_t)c->dirty_accesses, "lost_updates", (json_int_t)c->lost_updates, "stale_writes",
                   (json_int_t)c->stale_writes, "fenced_off", (json_int_t)c->fenced_off, "token_regressions",
                   (json_int_t)c->token_regressions, "grants", (json_int_t)c->grants, "handoffs",
                   (json_int_t)c->handoffs, "unavailable_ms", ms_or_null(c->unavailable_ns), "orphan_ms",
                   ms_or_null(c->orphan_ns), "blind_ms", ms_or_null(c->blind_ns), "episodes", episodes);
}
