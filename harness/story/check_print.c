/* SPDX-License-Identifier: MIT
 *
 * A judgement as text: the verdict in the first line, the counts, and each episode as a short story around the moment
 * when a second client came in. Times in it count from the first event. And the same as JSON.
 */
#include "check_print.h"

#include "say.h"

enum {
  LEAD_IN = 2,  /* events shown before an episode, beside the grant of the first holder */
  HEAD = 4,     /* at its begin, the first grant too many included */
  TAIL = 3,     /* at its end */
  LEAD_OUT = 2, /* after it */
};

/* Less than a millisecond is shown with all its digits: 0.0 ms would read as no time at all. */
static void put_ms(uint64_t ns, FILE *out) {
  if (ns > 0 && ns < 1000000) fprintf(out, "0.%06llu ms", (unsigned long long)ns);
  else fprintf(out, "%.1f ms", (double)ns / 1e6);
}

/* ---- verdict and counts ------------------------------------------------------------------------------------------ */

/* ", 2 dirty accesses", or nothing for none. */
static void put_count(const char **separator, uint64_t count, const char *one, const char *many, FILE *out) {
  if (count == 0) return;
  fprintf(out, "%s%llu %s", *separator, (unsigned long long)count, count == 1 ? one : many);
  *separator = ", ";
}

static void put_clean(const struct lb_check *c, FILE *out) {
  const char *separator = "0 violations in ";
  put_count(&separator, c->grants, "grant", "grants", out);
  put_count(&separator, c->handoffs, "hand-off", "hand-offs", out);
  fputs(c->grants ? "\n" : "0 violations in 0 grants\n", out);
}

static void put_violations(const struct lb_check *c, FILE *out) {
  const char *separator = "";
  put_count(&separator, c->double_holds, "double hold", "double holds", out);
  if (c->double_holds) {
    fputs(" of ", out);
    put_ms(c->double_hold_ns, out);
    if (c->double_holds > 1) fputs(" in total", out);
    if (c->within_lease < c->double_holds) fprintf(out, " (%llu within a lease)", (unsigned long long)c->within_lease);
  }
  put_count(&separator, c->dirty_accesses, "dirty access", "dirty accesses", out);
  put_count(&separator, (uint64_t)c->lost_updates, "lost update", "lost updates", out);
  put_count(&separator, c->token_regressions, "token regression", "token regressions", out);
  if (lb_check_read_early(c))
    fputs(" (no two held at once: what was written had been read before the lock was asked for)", out);
  putc('\n', out);
}

void lb_check_print_verdict(const struct lb_check *check, bool past_lease, FILE *out) {
  struct lb_ruling ruling = lb_check_rule(check, past_lease);
  fprintf(out, "%s: ", lb_ruled_name(ruling.verdict));
  if (ruling.why) fprintf(out, "%s: ", ruling.why);
  if (lb_check_violated(check, true)) put_violations(check, out);
  else put_clean(check, out);
}

static void put_value(const struct lb_counter *row, const struct lb_check *c, FILE *out) {
  if (!lb_counter_applies(row, &c->counters, 0)) fprintf(out, "- (%s)", row->none);
  else if (row->unit)
    put_ms((uint64_t)lb_counter_whole(row, &c->counters), out); /* times are in ns until they are shown */
  else lb_counter_print(row, &c->counters, out);
}

/* Every row that has a line in the text (counter.h), group by group; a count of double holds says
 * at once how long and how many. */
static void put_counts(const struct lb_check *c, FILE *out) {
  static const enum lb_counter_group groups[] = {LB_COUNT_PROGRESS, LB_COUNT_EXCLUSION, LB_COUNT_GIVEN_UP,
                                                 LB_COUNT_LIVENESS};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    for (const struct lb_counter *row = NULL; (row = lb_counter_next(row, groups[i], LB_IN_TEXT));) {
      fprintf(out, "  %-18s ", row->label);
      put_value(row, c, out);
      if (row->offset == offsetof(struct lb_counters, double_holds) && c->double_holds) {
        fputs(" (", out);
        put_ms(c->double_hold_ns, out);
        fprintf(out, ", at most %llu holders at once)", (unsigned long long)c->depth);
      }
      putc('\n', out);
    }
}

/* ---- the story of an episode ------------------------------------------------------------------------------------- */

static bool belongs(const struct lb_event *event, uint32_t key) {
  return event->key == key || event->key == LB_NO_NAME; /* of this key; or a fault, a note, a crash */
}

static void put_event(const struct lb_history *h, const struct lb_event *e, bool within, FILE *out) {
  fprintf(out, "  %c %14.6f ms  ", within ? '|' : ' ', (double)(e->t - h->events[0].t) / 1e6);
  if (lb_event_is_fact(e)) {
    fputs(e->kind == LB_EV_FAULT ? "fault: " : "note: ", out);
    lb_say_event(h, e, out);
  } else {
    lb_say_text(h->clients.name[e->client], out);
    fprintf(out, " %s", lb_event_kind_name(e->kind));
  }
  if (e->flags & LB_EVF_VALUE) fprintf(out, " value %llu", (unsigned long long)e->value);
  if (e->flags & LB_EVF_FENCE) fprintf(out, " fence %llu", (unsigned long long)e->fence);
  if (e->kind == LB_EV_RENEWED && e->flags & LB_EVF_UNTIL)
    fprintf(out, " until %.6f ms", ((double)e->until - (double)h->events[0].t) / 1e6);
  if (e->flags & LB_EVF_DUE) fprintf(out, " due %.6f ms", ((double)e->due - (double)h->events[0].t) / 1e6);
  if (e->flags & LB_EVF_REFUSED) fputs(" (refused)", out);
  if (e->flags & LB_EVF_SHARED) fputs(" (shared)", out);
  if (e->flags & LB_EVF_EARLY) fputs(" (before it asked for the lock)", out);
  if (e->flags & LB_EVF_CHECK) fprintf(out, ": %s", lb_say_check(e->check));
  if (h->lines) fprintf(out, "  (line %llu, at %llu ns)", (unsigned long long)e->s, (unsigned long long)e->t);
  putc('\n', out);
}

/* Goes `steps` events that belong to the key back from `from`, or to the begin of the history. */
static size_t back(const struct lb_history *h, uint32_t key, size_t from, unsigned steps) {
  size_t at = from;
  for (size_t i = from; i > 0 && steps > 0; i--) {
    if (!belongs(&h->events[i - 1], key)) continue;
    at = i - 1;
    steps--;
  }
  return at;
}

/* The same forward; the result is behind the last of them. */
static size_t ahead(const struct lb_history *h, uint32_t key, size_t from, unsigned steps) {
  size_t at = from;
  for (size_t i = from; i < h->count && steps > 0; i++) {
    if (!belongs(&h->events[i], key)) continue;
    at = i + 1;
    steps--;
  }
  return at;
}

static void put_events(const struct lb_history *h, const struct lb_episode *e, size_t from, size_t to, FILE *out) {
  for (size_t i = from; i < to; i++)
    if (belongs(&h->events[i], e->key)) put_event(h, &h->events[i], i >= e->begin_event && i <= e->end_event, out);
}

/* The latest grant of the key to a client before event `before`; `before` if there is none. */
static size_t grant_before(const struct lb_history *h, uint32_t key, uint32_t client, size_t before) {
  for (size_t i = before; i-- > 0;)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == key && h->events[i].client == client) return i;
  return before;
}

static void put_left_out(const struct lb_history *h, uint32_t key, size_t from, size_t to, char mark, FILE *out) {
  size_t count = 0;
  for (size_t i = from; i < to; i++) count += belongs(&h->events[i], key);
  if (count) fprintf(out, "  %c %14s %zu more\n", mark, "...", count);
}

/* From a little before the episode to a little after it; what is left out in the middle is counted.
 * The grant of the first holder comes first even if it was long before. */
static void put_story(const struct lb_history *h, const struct lb_episode *e, FILE *out) {
  size_t behind = e->end_event < h->count ? e->end_event + 1 : h->count;
  size_t head = back(h, e->key, e->begin_event, LEAD_IN), head_end = ahead(h, e->key, e->begin_event, HEAD);
  size_t tail = back(h, e->key, behind, TAIL), first = grant_before(h, e->key, e->clients[0], e->begin_event);
  if (head_end > behind) head_end = behind;
  if (tail < head_end) tail = head_end;
  if (first < head) {
    put_event(h, &h->events[first], false, out);
    put_left_out(h, e->key, first + 1, head, ' ', out);
  }
  put_events(h, e, head, head_end, out);
  put_left_out(h, e->key, head_end, tail, '|', out);
  put_events(h, e, tail, ahead(h, e->key, behind, LEAD_OUT), out);
  if (e->end_event == h->count) fputs("  | the history ends\n", out);
}

static void put_episode(const struct lb_history *h, const struct lb_check *c, size_t number, FILE *out) {
  const struct lb_episode *e = &c->episodes[number];
  uint64_t zero = h->events[0].t;
  fprintf(out, "\ndouble hold %zu of %zu: key ", number + 1, c->episode_count);
  lb_say_text(h->keys.name[e->key], out);
  fputs(", held by ", out);
  for (size_t i = 0; i < e->client_count; i++) {
    fputs(i == 0 ? "" : i + 1 < e->client_count ? ", " : " and ", out);
    lb_say_text(h->clients.name[e->clients[i]], out);
  }
  fprintf(out, "\n  from %.6f to %.6f ms (", (double)(e->begin_t - zero) / 1e6, (double)(e->end_t - zero) / 1e6);
  put_ms(e->end_t - e->begin_t, out);
  fprintf(out, "), at most %u at once", e->depth);
  uint64_t permits = lb_history_permits(h, e->key);
  if (permits > 1) fprintf(out, " where %llu may", (unsigned long long)permits);
  fprintf(out, ", %s\n", e->within_lease ? "within a lease" : "after the earlier lease was over");
  put_story(h, e, out);
}

void lb_check_print(const struct lb_history *history, const struct lb_check *check, bool past_lease,
                    size_t max_episodes, FILE *out) {
  lb_check_print_verdict(check, past_lease, out);
  put_counts(check, out);
  for (size_t i = 0; i < check->episode_count && i < max_episodes; i++) put_episode(history, check, i, out);
  if (check->episode_count > max_episodes)
    fprintf(out, "\n... and %zu more double holds\n", check->episode_count - max_episodes);
}

/* ---- as JSON: what does not apply is null ------------------------------------------------------------------------ */

static double to_ms(uint64_t ns) { return (double)ns / 1e6; }

static json_t *clients_of(const struct lb_history *h, const struct lb_episode *e) {
  json_t *clients = json_array();
  for (size_t i = 0; i < e->client_count; i++)
    json_array_append_new(clients, json_string(h->clients.name[e->clients[i]]));
  return clients;
}

static json_t *episode_json(const struct lb_history *h, const struct lb_episode *e) {
  uint64_t zero = h->events[0].t;
  return json_pack("{s:o, s:s, s:I, s:b, s:I, s:I, s:f, s:f}", "clients", clients_of(h, e), "key", h->keys.name[e->key],
                   "depth", (json_int_t)e->depth, "within_lease", e->within_lease, "begin_ns", (json_int_t)e->begin_t,
                   "end_ns", (json_int_t)e->end_t, "begin_ms", to_ms(e->begin_t - zero), "end_ms",
                   to_ms(e->end_t - zero));
}

json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, bool past_lease) {
  static const enum lb_counter_group groups[] = {LB_COUNT_EXCLUSION, LB_COUNT_GUARD, LB_COUNT_PROGRESS,
                                                 LB_COUNT_GIVEN_UP, LB_COUNT_LIVENESS};
  struct lb_ruling ruling = lb_check_rule(check, past_lease);
  json_t *episodes = json_array(),
         *o = json_pack("{s:s, s:s?}", "verdict", lb_ruled_name(ruling.verdict), "why", ruling.why);
  for (size_t i = 0; i < check->episode_count; i++)
    json_array_append_new(episodes, episode_json(history, &check->episodes[i]));
  lb_counters_json(o, &check->counters, groups, sizeof groups / sizeof *groups, LB_IN_CHECK, 0);
  json_object_set_new(o, "episodes", episodes);
  return o;
}
