/* SPDX-License-Identifier: MIT
 *
 * The steps of a directed timeline: its items in their order, those of faults that are left out skipped.
 *
 * A client's request is a step of its own only where a fault lies between it and its answer, else client 1 acquires where it was granted, and client 2
 * asks when client 1 holds.
 */
#include "directed_parts.h"

static bool is_fresh(const struct lb_directed_writer *w, int client) { return lb_directed_is_fresh(w->d, w->keep, client); }
static bool is_stopped(const struct lb_directed_writer *w) { return lb_directed_stops_1(w->d, w->keep); }

/* ---- clients ----------------------------------------------------------------------------------------- */

static void ask_2(struct lb_directed_writer *w) {
  if (w->began[2]) return;
  w->began[2] = true;
  lb_directed_step(w, "client 2 %sbegin section within %lldms", is_fresh(w, 2) ? "open and " : "", 2 * w->of->ttl_ms + LB_DIRECTED_PROLOGUE_MS);
}

/* What begins behind this item. */
static void begin(struct lb_directed_writer *w, size_t place) {
  bool before = place < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1);
  for (int client = 1; client <= 2; client++) {
    if (lb_directed_begins(w->d, w->keep, client) != place) continue;
    if (before) lb_directed_take_ahead(w, place);
    if (client == 2) ask_2(w);
    else w->began[1] = true, lb_directed_step(w, "client 1 begin acquire within %lldms", w->of->ttl_ms + 2 * LB_DIRECTED_PROLOGUE_MS);
  }
}

static void end_1(struct lb_directed_writer *w) {
  if (w->ended_1) return;
  w->ended_1 = true;
  lb_directed_step(w, "client 1 write");
  lb_directed_step(w, "client 1 release within %dms", LB_DIRECTED_RELEASE_MS);
}

static void hold_1(struct lb_directed_writer *w, size_t place) {
  long long within = w->of->ttl_ms + LB_DIRECTED_PROLOGUE_MS;
  if (!w->began[1] && is_fresh(w, 1)) lb_directed_step(w, "client 1 reopen within %dms", LB_DIRECTED_PROLOGUE_MS);
  if (w->began[1]) lb_directed_step(w, "let client 1 hold within %lldms", within);
  else lb_directed_step(w, "client 1 acquire within %lldms", within);
  lb_directed_step(w, "client 1 read");
  if (lb_directed_place(w->d, LB_DIRECTED_ASKS_2) < place) ask_2(w);
  if (!w->d->late || is_stopped(w)) return;
  ask_2(w);
  w->wait_ms += (long long)w->of->hold_ms;
  end_1(w);
}

/* Client 2 is given the time to show that it holds. Of an overlap after the lease only while a fault keeps client 1 from going on. */
static void hold_2(struct lb_directed_writer *w) {
  ask_2(w);
  if (!w->d->late) lb_directed_step(w, "let client 2 write within %lldms", w->of->ttl_ms);
  else if (is_stopped(w) && !w->ended_1) lb_directed_step(w, "let client 2 write within %lldms", w->of->ttl_ms * 3 / 2 + 1000);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void play(struct lb_directed_writer *w, size_t i) {
  const struct lb_directed_item *item = &w->d->item[i];
  if (!lb_directed_is_kept(w->keep, item)) return;
  if (w->waits[i]) w->wait_ms += item->gap_ms;
  switch (item->kind) {
    case LB_DIRECTED_DO: lb_directed_begin_fault(w, i); break;
    case LB_DIRECTED_UNDO: lb_directed_end_fault(w, item->fault); break;
    case LB_DIRECTED_HOLDS_1: hold_1(w, i); break;
    case LB_DIRECTED_HOLDS_2: hold_2(w); break;
    case LB_DIRECTED_ASKS_1: case LB_DIRECTED_ASKS_2: break;
  }
  begin(w, i);
}

void lb_directed_steps(const struct lb_directed *directed, const bool keep[], const struct lb_directed_of *of, FILE *file) {
  struct lb_directed_writer writer = {.d = directed, .of = of, .keep = keep, .file = file}, *w = &writer;
  lb_directed_waits(directed, keep, w->waits);
  for (int n = 1; n <= (is_fresh(w, 2) ? 1 : 2); n++) {
    lb_directed_step(w, "client %d acquire within %dms", n, LB_DIRECTED_PROLOGUE_MS);
    lb_directed_step(w, "client %d release within %dms", n, LB_DIRECTED_RELEASE_MS);
  }
  for (size_t i = 0; i < w->d->item_count; i++) play(w, i);
  end_1(w);
}
