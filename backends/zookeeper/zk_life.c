/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of zk_life.h, then the writes and what they say of the session.
 */
#include "zk_life.h"

#include <errno.h>

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

/* ---- the writes --------------------------------------------------------------------------------------------- */

const struct zk_alive *zk_life_known(struct zk_life *life) {
  zk_alive_meet(&life->alive, zk_id(life->zk), zk_begun(life->zk), zk_timeout_ns(life->zk));
  return &life->alive;
}

bool zk_life_lasts(struct zk_life *life, lb_ns least) { return zk_life_known(life)->until > lb_now(life->env) + least; }

bool zk_life_is_known(struct zk_life *life) { return zk_life_lasts(life, zk_life_known(life)->span / 3); }

struct zk_mark zk_life_mark(struct zk_life *life) {
  return zk_alive_mark(zk_life_known(life), lb_now(life->env));
}

int zk_life_await(struct zk_life *life, struct zk_call *write, struct zk_mark mark, lb_ns deadline) {
  int rc = zk_wait(life->zk, write, deadline);
  if (rc == ZOK) zk_alive_answered(&life->alive, mark, lb_now(life->env));
  if (rc == ZK_NO_REPLY) zk_alive_given_up(&life->alive, mark, lb_now(life->env));
  return rc;
}

int zk_life_touch(struct zk_life *life, const char *path, lb_ns deadline) {
  struct zk_mark mark = zk_life_mark(life);
  struct zk_call *write = zk_set(life->zk, path, "");
  int rc = zk_life_await(life, write, mark, deadline);
  zk_drop(write);
  return rc;
}

int zk_life_make_sure(struct zk_life *life, const char *path, lb_ns deadline) {
  int rc = ZOK;
  for (int writes = 0; rc == ZOK && !zk_life_is_known(life) && (writes < 2 || !zk_life_lasts(life, 0)); writes++)
    rc = zk_life_touch(life, path, deadline);
  return rc;
}

int zk_life_doubt(struct zk_life *life, const struct lb_confirmed *confirmed, const struct lb_grant *grant,
                  bool is_alive) {
  bool connected;
  if (!is_alive) return lb_fail(life->env, -ENOTCONN, "the ZooKeeper session of this grant is over"), LB_LOST;
  uint64_t losses = zk_losses(life->zk, &connected);
  if (connected && lb_still_confirmed(confirmed, grant, losses)) return LB_OK;
  return lb_fail(life->env, -ENOTCONN, "ZooKeeper: disconnected%s",
                 connected ? " since the grant, and connected again" : ""),
         LB_UNKNOWN;
}
