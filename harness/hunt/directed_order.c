/* SPDX-License-Identifier: MIT
 *
 * The order of a directed timeline: which items lie between which, where time passes, and when each of the two clients begins to ask.
 */
#include <stdint.h>
#include <string.h>

#include "directed_parts.h"

bool lb_directed_is_fault(const struct lb_directed_item *item) { return item->kind == LB_DIRECTED_DO || item->kind == LB_DIRECTED_UNDO; }

bool lb_directed_is_kept(const bool keep[], const struct lb_directed_item *item) {
  return !lb_directed_is_fault(item) || keep[item->fault];
}

size_t lb_directed_place(const struct lb_directed *d, enum lb_directed_kind kind) {
  size_t i = 0;
  while (i < d->item_count && d->item[i].kind != kind) i++;
  return i;
}

bool lb_directed_parted(const struct lb_directed *d, const bool keep[], size_t from, size_t to) {
  for (size_t i = from + 1; i < to; i++)
    if (lb_directed_is_fault(&d->item[i]) && keep[d->item[i].fault]) return true;
  return false;
}

bool lb_directed_stops_1(const struct lb_directed *d, const bool keep[]) {
  for (size_t i = lb_directed_place(d, LB_DIRECTED_HOLDS_1) + 1; i < d->item_count; i++) {
    const struct lb_directed_fault *f = &d->fault[d->item[i].fault];
    if (d->item[i].kind == LB_DIRECTED_DO && keep[d->item[i].fault] && f->client == 1 && f->step.verb == LB_STEP_PAUSE) return true;
  }
  return false;
}

void lb_directed_waits(const struct lb_directed *d, const bool keep[], bool ret[LB_DIRECTED_ITEMS_MAX]) {
  size_t held = lb_directed_place(d, LB_DIRECTED_HOLDS_1), met = lb_directed_place(d, LB_DIRECTED_HOLDS_2);
  bool begun = false;
  for (size_t i = 0; i < d->item_count; i++) {
    const struct lb_directed_item *item = &d->item[i];
    bool kept = lb_directed_is_kept(keep, item);
    ret[i] = kept && begun && i < met && (item->within < 0 || keep[item->within]);
    begun |= kept && (lb_directed_is_fault(item) || i == held || (i < held && lb_directed_parted(d, keep, i, held)));
  }
}

/* ---- which server answered ---------------------------------------------------------------------------- */

/* Where the latest fault of one server begins that this client met before it was granted the lock; SIZE_MAX = it met none. */
static size_t met_fault(const struct lb_directed *d, const bool keep[], int client) {
  size_t granted = lb_directed_place(d, client == 1 ? LB_DIRECTED_HOLDS_1 : LB_DIRECTED_HOLDS_2), at = SIZE_MAX;
  for (size_t i = 0; i < granted && i < d->item_count; i++) {
    const struct lb_directed_fault *f = &d->fault[d->item[i].fault];
    if (d->item[i].kind == LB_DIRECTED_DO && keep[d->item[i].fault] && f->reign >= 0 && f->step.verb != LB_STEP_CLOCK_JUMP && f->step.verb != LB_STEP_CLOCK_RATE) at = i;
  }
  return at;
}

static size_t end_of(const struct lb_directed *d, size_t fault) {
  for (size_t i = 0; i < d->item_count; i++)
    if (d->item[i].kind == LB_DIRECTED_UNDO && d->item[i].fault == fault) return i;
  return d->item_count;
}

/* It had asked that server before the fault was over, and that server answered it. */
static bool is_stuck(const struct lb_directed *d, const bool keep[], int client) {
  size_t at = met_fault(d, keep, client), asked = lb_directed_place(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2);
  return at != SIZE_MAX && *d->by[client - 1] && strcmp(d->by[client - 1], d->fault[d->item[at].fault].host) == 0 && asked < end_of(d, d->item[at].fault);
}

static bool has_moved(const struct lb_directed *d, const bool keep[], int client) {
  size_t at = met_fault(d, keep, client);
  return at != SIZE_MAX && *d->by[client - 1] && strcmp(d->by[client - 1], d->fault[d->item[at].fault].host) != 0;
}

/* ---- the two clients ---------------------------------------------------------------------------------- */

bool lb_directed_may(const struct lb_directed *d, const bool keep[], enum lb_directed_way way) {
  bool hit_1 = false, hit_2 = false;
  for (size_t i = 0; i < d->fault_count; i++) hit_1 |= keep[i] && d->fault[i].client == 1, hit_2 |= keep[i] && d->fault[i].client == 2;
  bool moved_1 = has_moved(d, keep, 1), moved_2 = has_moved(d, keep, 2), stuck = is_stuck(d, keep, 1) || is_stuck(d, keep, 2);
  if (way == LB_DIRECTED_FRESH) return !hit_2;
  if (way == LB_DIRECTED_BY_SERVER) return (stuck || moved_1 || moved_2) && !(moved_1 && hit_1) && !(moved_2 && hit_2);
  return true;
}

bool lb_directed_is_fresh(const struct lb_directed *d, const bool keep[], int client) {
  return (d->way == LB_DIRECTED_FRESH && client == 2) || (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client));
}

size_t lb_directed_begins(const struct lb_directed *d, const bool keep[], int client) {
  size_t asked = lb_directed_place(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2), held = lb_directed_place(d, LB_DIRECTED_HOLDS_1);
  bool late = client == 2 && asked > held;
  if (d->way == LB_DIRECTED_BY_SERVER && is_stuck(d, keep, client)) {
    size_t at = met_fault(d, keep, client);
    return at > asked ? at : asked;
  }
  if (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client)) return late ? asked : SIZE_MAX;
  return late || lb_directed_parted(d, keep, asked, held) ? asked : SIZE_MAX;
}
