/* SPDX-License-Identifier: MIT
 *
 * The times of the latest writes, and what they prove together.
 */
#include "zk_alive.h"

void zk_alive_meet(struct zk_alive *alive, int64_t session, lb_ns begun, lb_ns timeout) {
  if (alive->session == session) return;
  lb_ns span = timeout / 12 * 5;
  *alive = (struct zk_alive){
      .session = session, .timeout = timeout, .span = span, .answered = begun, .base = begun, .until = begun + span};
}

/* Half a tick is at most that. */
static lb_ns half_a_tick(const struct zk_alive *alive) { return (alive->timeout + 3) / 4; }

struct zk_mark zk_alive_mark(const struct zk_alive *alive, lb_ns now) {
  struct zk_mark mark = {.session = alive->session, .sent = now, .base = alive->base, .named = alive->named};
  for (size_t i = 0; i < ZK_ALIVE_WRITES; i++)
    if (alive->write[i].read + half_a_tick(alive) <= now && alive->write[i].sent > mark.heard)
      mark.heard = alive->write[i].sent;
  return mark;
}

/* From when on what two quick writes say counts, for one that was sent and answered. A slow write within half a tick
 * before it was perhaps the last that the library had sent by then. */
static lb_ns base_of(const struct zk_alive *alive, lb_ns sent) {
  lb_ns least = alive->slow.sent + (alive->timeout - alive->span);
  return sent < alive->slow.read + half_a_tick(alive) && least < sent ? least : sent;
}

static void note_slow(struct zk_alive *alive, lb_ns sent, lb_ns read) {
  if (read - sent <= alive->timeout / 3) return;
  bool follows =
      alive->slow.read && sent < alive->slow.read + half_a_tick(alive); /* one stretch of time with the one before */
  if (!follows) alive->slow.sent = sent;
  alive->slow.read = read;
}

/* The ring has to reach back for half a tick and more: T/3. */
static void note_write(struct zk_alive *alive, lb_ns sent, lb_ns read) {
  lb_ns latest = alive->write[(alive->next + ZK_ALIVE_WRITES - 1) % ZK_ALIVE_WRITES].sent;
  if (sent < latest + alive->timeout / (3 * ZK_ALIVE_WRITES)) return;
  alive->write[alive->next].sent = sent;
  alive->write[alive->next].read = read;
  alive->next = (alive->next + 1) % ZK_ALIVE_WRITES;
}

static void lives_until(struct zk_alive *alive, lb_ns until) {
  if (until > alive->until) alive->until = until;
}

void zk_alive_answered(struct zk_alive *alive, struct zk_mark mark, lb_ns now) {
  if (mark.session != alive->session) return;
  lives_until(alive, mark.base + alive->span);
  if (mark.named) lives_until(alive, mark.named + alive->timeout);
  if (mark.heard > alive->named) alive->named = mark.heard;
  if (mark.sent > alive->answered) {
    alive->answered = mark.sent;
    alive->base = base_of(alive, mark.sent);
  }
  note_slow(alive, mark.sent, now);
  note_write(alive, mark.sent, now);
}

void zk_alive_given_up(struct zk_alive *alive, struct zk_mark mark, lb_ns now) {
  if (mark.session == alive->session) note_slow(alive, mark.sent, now);
}

/* The knowledge that a write brings counts from the one before it. */
lb_ns zk_alive_renew_at(const struct zk_alive *alive) { return alive->answered + alive->span / 4; }
