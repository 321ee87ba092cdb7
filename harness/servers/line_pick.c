/* SPDX-License-Identifier: MIT
 *
 * Connections are counted from the first packet that is seen of them, each by itself. Where there are
 * more than the table has places for, the others pass and are not counted.
 */
#include "line_pick.h"

static bool is_of(const struct lb_pick_connection *c, size_t way, const struct lb_frame *f) {
  return c->way == way + 1 && c->from_port == f->from_port && c->to_port == f->to_port;
}

/* NULL = no place is left. */
static struct lb_pick_connection *find(struct lb_line_picker *p, size_t way, const struct lb_frame *f) {
  size_t at = (way * 31 + f->from_port * 7u + f->to_port) % LB_PICK_CONNECTIONS;
  for (size_t tries = 0; tries < LB_PICK_CONNECTIONS; tries++, at = (at + 1) % LB_PICK_CONNECTIONS) {
    struct lb_pick_connection *c = &p->connection[at];
    if (c->way == 0) *c = (struct lb_pick_connection){.way = way + 1, .from_port = f->from_port, .to_port = f->to_port};
    if (is_of(c, way, f)) return c;
  }
  return NULL;
}

/* True if it carries bytes that were not seen before. */
static bool is_new(struct lb_pick_connection *c, const struct lb_frame *f) {
  uint32_t end = f->seq + (uint32_t)f->data_bytes;
  if (f->data_bytes == 0 || (c->heard && (int32_t)(end - c->next) <= 0)) return false;
  c->heard = true;
  c->next = end;
  return true;
}

/* Whether the message is in this packet of its connection, once more. */
static bool is_again(const struct lb_line_picked *m, const struct lb_frame *f) { return f->data_bytes > 0 && m->seq - f->seq < f->data_bytes; }

static bool follows(const struct lb_line_picker *p, size_t way, const struct lb_frame *f, struct lb_line_picked *picked) {
  if (!is_of(p->picked, way, f)) return false;
  if (is_again(picked, f)) atomic_fetch_add(&picked->again, 1);
  return true;
}

bool lb_line_pick(struct lb_line_picker *p, unsigned after, size_t way, const struct lb_frame *f, uint64_t now, struct lb_line_picked *picked) {
  if (!f->is_tcp) return false;
  if (p->picked) return follows(p, way, f, picked);
  struct lb_pick_connection *c = find(p, way, f);
  if (c && f->opens) c->heard = false, c->messages = 0; /* another connection with these ports */
  if (!c || !is_new(c, f) || c->messages++ < after) return false;
  p->picked = c;
  picked->way = way;
  picked->at = now;
  picked->from_port = f->from_port;
  picked->to_port = f->to_port;
  picked->bytes = f->data_bytes;
  picked->before = after;
  picked->seq = f->seq;
  atomic_store(&picked->fired, true);
  return true;
}
