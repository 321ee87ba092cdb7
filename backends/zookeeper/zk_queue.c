/* SPDX-License-Identifier: MIT
 *
 * An attempt's node in a queue: made, found again, placed, believed in, waited for, deleted.
 */
#include "zk_queue.h"

#include "zk_name.h"
#include "zk_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------------------- */

int zk_queue_dir(struct zk_queue *q, const char *key, char dir[ZK_PATH_MAX]) {
  return zk_name_queue(q->run.env, q->run.root, key, dir);
}

static void name_attempt(struct zk_queue *q, const char *dir, struct lb_grant *grant) {
  char guid[ZK_GUID_SIZE];
  zk_name_guid(q->run.env, q->run.zk, guid);
  grant->token_len =
      (size_t)snprintf(grant->token, sizeof grant->token, "%s/%s%s", dir, guid, q->reads ? ZK_READ_MARK : ZK_LOCK_MARK);
}

void zk_queue_forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

/* Without a number the name is only what a node would be called, if there is one. */
bool zk_queue_has_node(const struct lb_grant *grant) {
  return grant->token_len && grant->token[grant->token_len - 1] != '-';
}

/* False: it died with an earlier session. */
static bool is_alive(const struct zk_queue *q, const struct lb_grant *grant) {
  return zk_name_is_alive(q->run.zk, strrchr(grant->token, '/') + 1);
}

/* ---- the session --------------------------------------------------------------------------------------- */

int zk_queue_open(struct zk_queue *q, const struct lb_config *config, lb_ns deadline) {
  *q = (struct zk_queue){0};
  int result = zk_run_open(&q->run, config, deadline);
  q->life = (struct zk_life){.env = q->run.env, .zk = q->run.zk};
  return result;
}

int zk_queue_connect(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  int result = zk_connect(q->run.zk, deadline);
  if (!result && grant->token_len && (!is_alive(q, grant) || zk_is_doomed(q->run.zk, grant->token)))
    zk_queue_forget(grant);
  return result;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The situation after a result that is neither success nor a missing node. */
static int after(struct zk_queue *q, struct lb_grant *grant, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  if (zk_is_unknown(rc) || zk_is_expiry(rc)) return ZK_AGAIN;
  if (zk_queue_has_node(grant)) zk_doom(q->run.zk, grant->token);
  zk_queue_forget(grant);
  return zk_fail(q->run.zk, what, rc);
}

/* czxid 0: not known yet. */
static void note_place(struct zk_queue *q, const struct lb_grant *grant, uint64_t czxid) {
  memcpy(q->place.own, grant->token, sizeof q->place.own);
  q->place.ahead[0] = '\0';
  q->place.czxid = czxid;
  q->place.alone = false;
}

static void take_node(struct zk_queue *q, struct lb_grant *grant, const char *path, uint64_t czxid) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", path);
  note_place(q, grant, czxid);
}

/* LB_OK: first in the queue. LB_BUSY: the node before the own one is noted. ZK_AGAIN: the own node has gone. */
static int judge(struct zk_queue *q, const char *dir, struct lb_grant *grant, const struct zk_call *children) {
  const char *ahead;
  q->seen = (uint64_t)children->stat.pzxid;
  if (!zk_name_place(children, strrchr(grant->token, '/') + 1, &ahead)) {
    zk_queue_forget(grant);
    return ZK_AGAIN;
  }
  if (strcmp(q->place.own, grant->token) != 0) note_place(q, grant, 0);
  q->place.ahead[0] = '\0';
  q->place.alone = children->count == 1;
  if (ahead) snprintf(q->place.ahead, sizeof q->place.ahead, "%s/%s", dir, ahead);
  return ahead ? LB_BUSY : LB_OK;
}

int zk_queue_join(struct zk_queue *q, const char *dir, struct lb_grant *grant, const char *made, lb_ns deadline) {
  name_attempt(q, dir, grant);
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *create = zk_create(q->run.zk, grant->token, q->run.client, ZOO_EPHEMERAL_SEQUENTIAL);
  struct zk_call *children = zk_children(q->run.zk, dir);
  int result, rc = zk_life_await(&q->life, create, mark, deadline);
  if (rc == ZNONODE) {
    zk_queue_forget(grant);
    rc = zk_make_path(q->run.zk, dir, deadline);
    result = rc == ZOK ? ZK_AGAIN : rc == ZK_NO_REPLY ? LB_TIMEOUT : after(q, grant, "create the lock's folder", rc);
  } else if (rc != ZOK) {
    result = after(q, grant, "create the lock's node", rc);
  } else {
    take_node(q, grant, create->path, (uint64_t)create->stat.czxid);
    if (made) lb_point(q->run.env, made);
    rc = zk_wait(q->run.zk, children, deadline);
    result = rc == ZOK ? judge(q, dir, grant, children) : after(q, grant, "list the lock's nodes", rc);
  }
  zk_drop(create);
  zk_drop(children);
  return result;
}

int zk_queue_find(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(q->run.zk, grant->token, deadline, path);
  if (rc != ZOK && rc != ZNONODE) return after(q, grant, "look for the lock's node", rc);
  if (rc == ZOK) take_node(q, grant, path, 0);
  else zk_queue_forget(grant);
  return ZK_AGAIN;
}

/* By the one that was ahead. */
static bool was_passed_on(struct zk_queue *q, const struct lb_grant *grant) {
  const char *ahead = zk_queue_ahead(q, grant);
  return ahead && zk_was_written(q->run.zk, ahead);
}

int zk_queue_look(struct zk_queue *q, const char *dir, struct lb_grant *grant, bool by_write, lb_ns deadline) {
  if (!by_write && !q->recipe && !q->shared && was_passed_on(q, grant)) return q->seen = 0, LB_OK;
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *write = by_write ? zk_set(q->run.zk, dir, "") : NULL;
  struct zk_call *children = zk_children(q->run.zk, dir);
  int result, rc = by_write ? zk_life_await(&q->life, write, mark, deadline) : ZOK;
  if (rc == ZOK) rc = zk_wait(q->run.zk, children, deadline);
  if (rc == ZOK) {
    result = judge(q, dir, grant, children);
  } else if (rc == ZNONODE) {
    zk_queue_forget(grant);
    result = ZK_AGAIN;
  } else {
    result = after(q, grant, "list the lock's nodes", rc);
  }
  zk_drop(write);
  zk_drop(children);
  return result;
}

/* Writes to the key's folder until the session is known to live: zk_life_make_sure(). To the folder, because a write to
 * the own node would wake the next in the queue. Answers like a step, with LB_OK = it is known. */
static int make_sure(struct zk_queue *q, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  int rc = zk_life_make_sure(&q->life, dir, deadline);
  if (rc != ZNONODE) return rc == ZOK ? LB_OK : after(q, grant, "write to the lock's folder", rc);
  zk_queue_forget(grant);
  return ZK_AGAIN;
}

const char *zk_queue_ahead(const struct zk_queue *q, const struct lb_grant *grant) {
  bool known = grant->token_len && strcmp(grant->token, q->place.own) == 0 && q->place.ahead[0];
  return known && is_alive(q, grant) ? q->place.ahead : NULL;
}

/* The transaction that created the grant's node, a number that grows over the whole ensemble. LB_OK; ZK_AGAIN: the node
 * has gone; LB_UNKNOWN, -errno as above. */
static int number(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline, uint64_t *ret_czxid) {
  if (!q->place.czxid) {
    struct zk_call *exists = zk_exists(q->run.zk, grant->token);
    int rc = zk_wait(q->run.zk, exists, deadline);
    if (rc == ZOK) q->place.czxid = (uint64_t)exists->stat.czxid;
    zk_drop(exists);
    if (rc == ZNONODE) return ZK_AGAIN;
    if (rc != ZOK) return after(q, grant, "read the lock's node", rc);
  }
  *ret_czxid = q->place.czxid;
  return LB_OK;
}

int zk_queue_inspect(struct zk_queue *q, const char *key, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int children = 0, result = zk_queue_dir(q, key, dir);
  if (!result) result = zk_record_inspect(&q->run, endpoint, dir, deadline, &children);
  return result < 0 ? result : children > 0;
}

int zk_queue_break(struct zk_queue *q, const char *key, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(q, key, dir);
  return result ? result : zk_record_break(&q->run, endpoint, dir, true, deadline);
}

/* ---- a node that is there, or may be: asked for, doubted, deleted for sure ----------------------------------- */

/* ZK_AGAIN: the connection was lost meanwhile. */
static int ask_node(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(grant->token, '/') - grant->token), grant->token);
  struct zk_mark mark = zk_life_mark(&q->life);
  struct zk_call *before = by_write ? zk_set(q->run.zk, dir, "") : zk_sync(q->run.zk, grant->token);
  struct zk_call *call = zk_exists(q->run.zk, grant->token);
  int result, rc = by_write ? zk_life_await(&q->life, before, mark, deadline) : zk_wait(q->run.zk, before, deadline);
  if (rc == ZOK) rc = zk_wait(q->run.zk, call, deadline);
  if (rc == ZOK) result = call->stat.ephemeralOwner == zk_id(q->run.zk) ? LB_OK : LB_LOST;
  else if (rc == ZNONODE || zk_is_expiry(rc)) result = LB_LOST;
  else if (rc == ZK_NO_REPLY) result = LB_UNKNOWN;
  else result = zk_is_unknown(rc) ? ZK_AGAIN : zk_fail(q->run.zk, "ask for the lock's node", rc);
  zk_drop(before);
  zk_drop(call);
  return result;
}

/* Asks until there is an answer whether the grant's node is there and belongs to this session: by a read after a write
 * to the folder, or after a sync, in the same breath. (After a sync the read shows what had been committed when the
 * sync came to the leader. A leader that was deposed and does not know it yet answers a sync without asking a quorum,
 * ZOOKEEPER-1675: so the read is no proof of the moment, as the write is.) *ret_sent: when the answered question left;
 * untouched if none did. LB_OK, LB_LOST (also: the session is over), LB_UNKNOWN: no answer by the deadline; -errno. */
static int zk_queue_confirm(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline,
                            lb_ns *ret_sent) {
  int result = ZK_AGAIN;
  while (result == ZK_AGAIN && is_alive(q, grant)) {
    result = zk_connect(q->run.zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    bool connected;
    q->losses = zk_losses(q->run.zk, &connected);
    *ret_sent = lb_now(q->run.env);
    result = is_alive(q, grant) ? ask_node(q, grant, by_write, deadline) : LB_LOST;
  }
  return result == ZK_AGAIN ? LB_LOST : result;
}

int zk_queue_doubt(struct zk_queue *q, const struct lb_grant *grant) {
  return zk_life_doubt(&q->life, &q->confirmed, grant, zk_queue_has_node(grant) && is_alive(q, grant));
}

/* A list may be old: then somebody does stand behind it, who reads the list when the node goes. */
static bool was_alone(const struct zk_queue *q, const struct lb_grant *grant) {
  return q->place.alone && strcmp(q->place.own, grant->token) == 0;
}

/* Once: ZOK, ZNONODE or any other result. */
static int delete_own(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  memcpy(path, grant->token, sizeof path);
  int rc = zk_queue_has_node(grant) ? ZOK : zk_find(q->run.zk, grant->token, deadline, path);
  if (rc != ZOK) return rc;
  struct zk_mark mark = zk_life_mark(&q->life);
  bool tells = pass_on && !was_alone(q, grant);
  struct zk_call *delete = tells ? zk_write_and_delete(q->run.zk, path) : zk_delete(q->run.zk, path);
  rc = zk_life_await(&q->life, delete, mark, deadline);
  zk_drop(delete);
  return rc;
}

int zk_queue_leave(struct zk_queue *q, struct lb_grant *grant, bool pass_on, lb_ns deadline) {
  bool must_exist = grant->valid_until != 0;
  if (!grant->token_len) return LB_OK;
  while (is_alive(q, grant)) {
    int result = zk_connect(q->run.zk, deadline);
    int rc = result ? ZK_NO_REPLY : is_alive(q, grant) ? delete_own(q, grant, pass_on, deadline) : ZSESSIONEXPIRED;
    if (rc == ZOK) return LB_OK;
    if (rc == ZNONODE || zk_is_expiry(rc)) break;
    if (!zk_is_unknown(rc)) return zk_fail(q->run.zk, "delete the lock's node", rc);
    if (rc == ZK_NO_REPLY) {
      zk_doom(q->run.zk, grant->token);
      grant->valid_until = 0;
      return result < 0 ? result : LB_UNKNOWN;
    }
    must_exist = false;
  }
  return must_exist ? LB_LOST : LB_OK;
}

/* ---- what a client that stands in the queue may believe, and until when -----------------------------------------
 *
 * Why a list may be old, and a session may not
 *  - Reads are answered by the server at hand, which may be behind, by as much as the network makes it. Its state is
 *    one that the ensemble was in, some time ago.
 *  - Numbers only grow: a folder gives each once, and cannot be removed and made anew while a node stands in it.
 *    Deletions are permanent. So whose node was the first in any state, however old, is the first in every later one in
 *    which the node still exists. And the node exists as long as the session lives, for no other client deletes it.
 *  - So a list is believed, whatever its age, while it is known that the session lives; and that is known from the
 *    client's own answered writes and its own clock (zk_life.h), not from the server at hand.
 *  - The next holder has seen a state in which this node is gone. So the session had ended then, which cannot be before
 *    `valid_until`. Until then one holds; afterwards the other.
 *  - What costs nothing where locks change hands quickly: the create of the next attempt and the delete of the one
 *    before are such writes. Who waits for long keeps the knowledge up in the background of its wait (below). Only a
 *    client that has written nothing for a while asks first: with a write more, beside its create, before it holds.
 *  - A holder deletes its node in a way that tells the next one that this was the first (zk_queue.h). That is as good
 *    as a list: it is a state that the ensemble was in. So a hand-off is one commit, the deletion, and one event; and
 *    one read more, of the list, where a node went in another way: its client gave up, its session ended, or the
 *    connection was lost meanwhile.
 *
 * The published steps (queue->recipe) ask for no answer's age. There what was read is trusted, as clients do, until the
 * library would leave a silent server: for 2/3 of the session timeout after the answer was read. */

/* At best. */
static lb_ns trust(struct zk_queue *q) {
  return q->recipe ? zk_timeout_ns(q->run.zk) / 3 * 2 : zk_life_known(&q->life)->span;
}

/* What was confirmed just now. */
static lb_ns believed_until(struct zk_queue *q) {
  return q->recipe ? lb_now(q->run.env) + trust(q) : zk_life_known(&q->life)->until;
}

int zk_queue_grant(struct zk_queue *q, const char *dir, struct lb_grant *grant, uint64_t losses, lb_ns deadline) {
  uint64_t czxid = 0;
  int result = number(q, grant, deadline, &czxid);
  if (result == LB_OK && !q->recipe) result = make_sure(q, dir, grant, deadline);
  if (result != LB_OK) return result;
  lb_ns until = believed_until(q);
  if (lb_now(q->run.env) >= until) return ZK_AGAIN;
  grant->fence = czxid;
  grant->valid_until = until;
  lb_confirm(&q->confirmed, grant, losses);
  return LB_OK;
}

/* zk_queue_confirm(), and an answer that is read when the time it could be good for is over is asked for again.
 * LB_UNKNOWN: also, the deadline has come by then. */
static int confirm(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  for (lb_ns sent = 0;;) {
    int result = zk_queue_confirm(q, grant, by_write, deadline, &sent);
    if (result != LB_OK || lb_now(q->run.env) < sent + trust(q)) return result;
    if (lb_now(q->run.env) >= deadline) return LB_UNKNOWN;
  }
}

int zk_queue_extend(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  if (!zk_queue_has_node(grant) || !grant->valid_until) return LB_LOST;
  int result = confirm(q, grant, true, deadline);
  if (result == LB_OK && !q->recipe && !zk_life_lasts(&q->life, trust(q) / 4 * 3))
    result = confirm(q, grant, true, deadline);
  if (result != LB_OK) return result;
  lb_ns until = believed_until(q);
  if (lb_now(q->run.env) >= until) return LB_UNKNOWN;
  grant->valid_until = until;
  lb_confirm(&q->confirmed, grant, q->losses);
  return LB_OK;
}

int zk_queue_holds(struct zk_queue *q, const struct lb_grant *grant, lb_ns deadline) {
  if (!zk_queue_has_node(grant)) return grant->token_len ? LB_UNKNOWN : LB_LOST;
  int result = grant->valid_until ? confirm(q, grant, false, deadline) : LB_LOST;
  if (result == LB_OK) lb_confirm(&q->confirmed, grant, q->losses);
  return result;
}

/* ---- waiting ---------------------------------------------------------------------------------------------
 *
 * Waiting in a queue without forgetting that one lives. Who waits for long would have to ask anew whether its session
 * lives before it may believe that it is the first, and that question would stand between a release and the next
 * holder. So it is asked meanwhile, in the background of the wait: one write to the folder after the other, each sent
 * when the one before has been answered and a quarter of the span of zk_life.h has passed. No call waits for the
 * answer; who is woken before it comes goes on with what is known by then. */

struct renewal {
  struct zk_call *write; /* on its way; NULL = none is */
  struct zk_mark mark;
  lb_ns again; /* not before */
};

static void take_answer(struct zk_queue *q, struct renewal *r) {
  int rc = r->write ? zk_wait(q->run.zk, r->write, lb_now(q->run.env)) : ZK_NO_REPLY;
  if (rc == ZK_NO_REPLY) return;
  if (rc == ZOK) zk_alive_answered(&q->life.alive, r->mark, lb_now(q->run.env));
  zk_drop(r->write);
  r->write = NULL;
}

/* Sends what is due. When to look again. */
static lb_ns keep_up(struct zk_queue *q, const char *dir, struct renewal *r) {
  take_answer(q, r);
  lb_ns now = lb_now(q->run.env), due = zk_alive_renew_at(&q->life.alive);
  if (due < r->again) due = r->again;
  if (now < due) return due;
  if (!r->write) {
    r->mark = zk_alive_mark(&q->life.alive, now);
    r->write = zk_set(q->run.zk, dir, "");
  }
  return r->again = now + q->life.alive.span / 4;
}

int zk_queue_await_turn(struct zk_queue *q, const char *dir, const char *ahead, lb_ns deadline) {
  if (zk_was_written(q->run.zk, ahead)) return LB_OK; /* between two waits */
  int result = zk_await_watch(q->run.zk, zk_watch(q->run.zk, ahead), deadline);
  if (result != LB_OK) return result == LB_BUSY ? LB_OK : result;
  lb_ns bound = lb_now(q->run.env) + zk_timeout_ns(q->run.zk); /* a lost event must not cost more */
  if (bound > deadline) bound = deadline;
  struct renewal renewal = {0};
  zk_life_known(&q->life); /* of this session */
  do {
    lb_ns look = keep_up(q, dir, &renewal);
    result = zk_wait_event(q->run.zk, look < bound ? look : bound);
  } while (result == LB_TIMEOUT && lb_now(q->run.env) < bound);
  take_answer(q, &renewal);
  if (renewal.write) zk_alive_given_up(&q->life.alive, renewal.mark, lb_now(q->run.env));
  zk_drop(renewal.write);
  return result == LB_TIMEOUT && bound < deadline ? LB_OK : result;
}
