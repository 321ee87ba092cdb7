/* SPDX-License-Identifier: MIT
 *
 * nats-kv - a key of a JetStream key-value bucket, made if it is not there. The bucket's age limit is the lease.
 *
 * A bucket is a stream that keeps one message for each key. Its revisions are the numbers of these messages. A client
 * publishes with "expected last revision of this key: 0" to create it. The holder extends by writing over the revision
 * that it wrote last, and releases by erasing the message of that number.
 *
 * Promises    One holder per key while the servers keep what they were told, their clocks run at nearly the rate of the
 *             clients', and their replicas agree. A fencing token: the revision that made the key. It grows over
 *             releases, expiry and restarts. A release or an extension never touches somebody else's key.
 * Assumes     Servers keep what they have confirmed, and a new leader of the stream has what the old one confirmed.
 * Breaks it   A holder that works on past its lease. A loss of power: nats-server acknowledges what it has not
 *             synced (2.9 knows no other way), so it may forget the grant and repeat revisions. Replicas: each removes
 *             what is too old by its own clock, and compares the expected revision with what itself still has. If a
 *             client creates the key when the leader has removed the old one and a follower has not, the follower
 *             refuses what the leader has confirmed. From then on they differ. If that follower leads next, it grants
 *             once more, perhaps with the same revision (paper/findings/nats-kv-cluster.md).
 * Source      The key-value store of NATS's clients: Create, and Update with the last revision (NATS ADR-8). They
 *             release by a delete marker: see nats-kv-marker.
 *
 * One lease   2.9 has no expiry of single keys: the bucket's age limit holds for all of them. So a bucket serves locks
 *             of one ttl. A lock that asks for less is held for less, and its key stays until the bucket removes it.
 * Reading     Only from the stream's leader. One that was cut off answers for ten to twenty seconds from what it had,
 *             so `recheck` may be late; a direct read, which any replica answers, always may.
 * Waiting     Who has released tells those who listen, in a message that no server keeps. Expiry is not told, and a
 *             message may be missed, so a waiter looks again every quarter of a second.
 * Unknown     A create without an answer is sent again, and the key says whose it is. One that is still on its way when
 *             its client gives up may make a key that no client knows of, for one lease.
 *
 * nats-kv-marker - the same on a cluster, released by a delete marker, as NATS's client libraries do it.
 *
 * A marker occupies its key for as long as a lease. Who creates the key then is refused, finds the marker, and writes
 * over its revision. So an acquire after a release takes three requests.
 *
 * Promises    What nats-kv does, on one server.
 * Assumes     That no other client asks while the leader replicates a write: a millisecond here, more between machines.
 * Breaks it   Two clients that write over the same marker at once. The leader of 2.9.10 (Debian's) compares the expected
 *             revision before it replicates, and does not look at what is on its way: it confirms both (nats-server
 *             issue 4320). A key that is not there at all is given to one of them. One server alone gives the marker to
 *             one of them, too.
 * Source      kvStore_Create of nats.c, Create of nats.go.
 *
 * nats-kv-ttl - a key with an end of its own, and a delete marker that ends, too: NATS from 2.11 on.
 *
 * The headers of a message say how long it stays (Nats-TTL). So a bucket serves locks of any length, and has no age
 * limit. When a key ends the server writes a marker in its place, which waiters hear.
 *
 * Promises    What nats-kv does. No marker stays for ever.
 * Assumes     What nats-kv does. The server counts whole seconds, and one at least: a key stays up to a second longer.
 * Breaks it   A holder that works on past its lease, and a loss of power. (With markers, removals go through the log
 *             of the leader: nats-server PR 6776, 2.11.) An extension without the header, as Update of nats.go writes
 *             it, makes a key without an end; here each write has the header.
 * Source      NATS ADR-43 and ADR-48; KeyTTL() and PurgeTTL() of nats.go.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/doubt.h"
#include "backends/etcd/etcd.h"
#include "nats.h"

enum { PATIENCE_MS = 300, PAUSE_MS = 10, LOOK_MS = 250, VALUE_SIZE = 33, NAME_MAX_BYTES = 160, MARKER_S = 1 };
/* JetStream's numbers of errors. From 2.12 on a cluster says BEHIND of a write that another one is on its way before. Of a message to be deleted a cluster says NO_SUCH_NUMBER, one server NOT_DELETED. */
enum {
  WRONG_REVISION = 10071,
  BEHIND = 10164,
  NO_MESSAGE = 10037,
  NO_SUCH_NUMBER = 10043,
  NOT_DELETED = 10057,
  NO_STREAM = 10059
};

struct kind {
  bool marks;      /* a release leaves a delete marker, as client libraries do */
  bool ends_alone; /* each message has an end of its own, not the bucket */
};

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *prefix;
  int64_t ttl_ms, age_ms; /* of the trial; of the bucket, 0 = not asked yet */
  bool marks, ends_alone;
  size_t member; /* whom it asks now */
  struct nats_conn conn;
  struct lb_confirmed confirmed;
};

/* ---- requests ------------------------------------------------------------------------------------------------ */

static lb_ns earlier(lb_ns a, lb_ns b) { return a < b ? a : b; }

static const char *subject_of(const struct lb_session *s, const struct lb_lock *lock, char buf[NAME_MAX_BYTES]) {
  char bucket[NATS_NAME_MAX], key[NATS_NAME_MAX];
  snprintf(buf, NAME_MAX_BYTES, "$KV.%s.%s", nats_spell(s->prefix, bucket), nats_spell(lock->key, key));
  return buf;
}

/* Where waiters listen: a marker is a message of the key itself. */
static const char *news_of(const struct lb_session *s, const struct lb_lock *lock, char buf[NAME_MAX_BYTES]) {
  char key[NATS_NAME_MAX];
  if (s->marks) return subject_of(s, lock, buf);
  snprintf(buf, NAME_MAX_BYTES, "released.%s", nats_spell(lock->key, key));
  return buf;
}

static const char *api(const struct lb_session *s, const char *call, char buf[NAME_MAX_BYTES]) {
  char stream[NATS_NAME_MAX];
  snprintf(buf, NAME_MAX_BYTES, "$JS.API.STREAM.%s.%s", call, nats_stream(s->prefix, stream));
  return buf;
}

static int error_of(const json_t *said) { return (int)nats_number(json_object_get(said, "error"), "err_code"); }

static int surprise(struct lb_session *s, const json_t *said) {
  const char *text = json_string_value(json_object_get(json_object_get(said, "error"), "description"));
  return lb_fail(s->env, -EPROTO, "nats: %s", text ? text : "an answer that is none of JetStream's");
}

static int ask_once(struct lb_session *s, const struct nats_request *q, lb_ns until, struct nats_reply *ret) {
  *ret = (struct nats_reply){0};
  if (!nats_is_open(&s->conn)) {
    int r = nats_open(&s->conn, s->env, &s->target->endpoints[s->member], until);
    if (r) return r;
  }
  int r = nats_call(&s->conn, q, until, ret);
  int code = (int)nats_number(json_object_get(ret->said, "error"), "code");
  if (r == 0 && ret->status != 503 && code != 503) return 0;
  json_decref(ret->said);
  ret->said = NULL;
  return r ? r : lb_fail(s->env, -EAGAIN, "nats: nobody leads the bucket");
}

/* Asks one server after the other. LB_OK with *ret; LB_TIMEOUT: nothing has left; LB_UNKNOWN; -errno. *unsure (may be
 * NULL): it was done perhaps, before the try that answered. Among several servers a silent one is left. */
static int ask(struct lb_session *s, const struct nats_request *q, lb_ns deadline, struct nats_reply *ret,
               bool *unsure) {
  bool left = false;
  for (size_t tries = 1;; tries++) {
    lb_ns until = s->target->count > 1 ? earlier(deadline, lb_now(s->env) + PATIENCE_MS * LB_NS_PER_MS) : deadline;
    int r = ask_once(s, q, until, ret);
    left |= r == LB_UNKNOWN;
    if (unsure) *unsure |= left;
    if (r == 0) return LB_OK;
    if (r != -EAGAIN || s->target->count > 1) nats_close(&s->conn);
    s->member = (s->member + 1) % s->target->count;
    if (r < 0 && !left && tries >= s->target->count) return r == -ETIMEDOUT ? LB_TIMEOUT : r;
    if (lb_now(s->env) >= deadline) return left ? LB_UNKNOWN : LB_TIMEOUT;
    lb_sleep_until(s->env, earlier(deadline, lb_now(s->env) + PAUSE_MS * LB_NS_PER_MS));
  }
}

/* Writes the key if its last revision is `expected`; value NULL = a delete marker. LB_OK with its revision; LB_LOST:
 * refused; LB_UNKNOWN; LB_TIMEOUT; -errno. */
static int publish(struct lb_session *s, const struct lb_lock *lock, const char *value, uint64_t *revision,
                   lb_ns deadline, bool *unsure) {
  char subject[NAME_MAX_BYTES], headers[120];
  struct nats_reply reply;
  int at = snprintf(headers, sizeof headers, "%sNats-Expected-Last-Subject-Sequence: %" PRIu64 "\r\n",
                    value ? "" : "KV-Operation: DEL\r\n", *revision);
  if (s->ends_alone)
    snprintf(headers + at, sizeof headers - (size_t)at, "Nats-TTL: %" PRId64 "s\r\n",
             value ? (lock->ttl_ms + 999) / 1000 : MARKER_S);
  int r = ask(s, &(struct nats_request){subject_of(s, lock, subject), headers, value}, deadline, &reply, unsure);
  if (r) return r;
  *revision = nats_number(reply.said, "seq");
  int code = error_of(reply.said);
  if (code == WRONG_REVISION || code == BEHIND) r = LB_LOST;
  else if (code || !*revision) r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

/* Erases the message with this number. LB_OK; LB_LOST: it is not there; LB_UNKNOWN; LB_TIMEOUT; -errno. */
static int erase(struct lb_session *s, uint64_t revision, lb_ns deadline, bool *unsure) {
  char call[NAME_MAX_BYTES], body[64];
  struct nats_reply reply;
  snprintf(body, sizeof body, "{\"seq\":%" PRIu64 ",\"no_erase\":true}", revision);
  int r = ask(s, &(struct nats_request){api(s, "MSG.DELETE", call), NULL, body}, deadline, &reply, unsure);
  if (r) return r;
  int code = error_of(reply.said);
  if (code == NO_SUCH_NUMBER || code == NOT_DELETED || code == NO_MESSAGE) r = LB_LOST;
  else if (code || !reply.said) r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

struct record {
  uint64_t revision;
  char value[VALUE_SIZE + 32]; /* "" = a delete marker */
};

/* What the leader has. LB_OK; LB_LOST: nothing, not even a marker; LB_UNKNOWN; LB_TIMEOUT; -errno. */
static int look(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline, struct record *ret) {
  char subject[NAME_MAX_BYTES], call[NAME_MAX_BYTES], body[NAME_MAX_BYTES + 24];
  struct nats_reply reply;
  snprintf(body, sizeof body, "{\"last_by_subj\":\"%s\"}", subject_of(s, lock, subject));
  int r = ask(s, &(struct nats_request){api(s, "MSG.GET", call), NULL, body}, deadline, &reply, NULL);
  if (r) return r;
  const json_t *message = json_object_get(reply.said, "message"), *data = json_object_get(message, "data");
  *ret = (struct record){.revision = nats_number(message, "seq")};
  if (error_of(reply.said) == NO_MESSAGE) r = LB_LOST;
  else if (!ret->revision || (data && etcd_read_text(data, ret->value, sizeof ret->value) < 0))
    r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

/* The bucket's age limit, once. */
static int know_age(struct lb_session *s, lb_ns deadline) {
  char call[NAME_MAX_BYTES];
  struct nats_reply reply;
  if (s->ends_alone) s->age_ms = INT64_MAX;
  if (s->age_ms) return LB_OK;
  int r = ask(s, &(struct nats_request){api(s, "INFO", call), NULL, NULL}, deadline, &reply, NULL);
  if (r) return r == LB_UNKNOWN ? LB_TIMEOUT : r;
  s->age_ms = (int64_t)nats_number(json_object_get(reply.said, "config"), "max_age") / (1000 * 1000);
  if (s->age_ms <= 0) s->age_ms = 0, r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

/* ---- grants: the token is the value, '@', and the last revision that is known to be ours ---------------------- */

static uint64_t revision_of(const struct lb_grant *grant) {
  const char *at = memchr(grant->token, '@', grant->token_len);
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void value_of(const struct lb_grant *grant, char value[VALUE_SIZE]) {
  snprintf(value, VALUE_SIZE, "%.*s", (int)grant->token_len, grant->token);
}

static bool is_own(const struct record *record, const struct lb_grant *grant) {
  char value[VALUE_SIZE];
  value_of(grant, value);
  return value[0] && strcmp(record->value, value) == 0;
}

static lb_ns end_of(const struct lb_session *s, const struct lb_lock *lock, lb_ns asked) {
  return lb_lease_end(asked, lock->ttl_ms < s->age_ms ? lock->ttl_ms : s->age_ms);
}

static void note(struct lb_session *s, struct lb_grant *grant, uint64_t revision) {
  char value[VALUE_SIZE];
  value_of(grant, value);
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s@%" PRIu64, value, revision);
  lb_confirm(&s->confirmed, grant, s->conn.losses);
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

static int open_session(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->env = config->env;
  s->target = config->target;
  s->prefix = config->prefix;
  s->ttl_ms = config->ttl_ms;
  const struct kind *kind = config->protocol->data;
  s->marks = kind && kind->marks;
  s->ends_alone = kind && kind->ends_alone;
  s->conn.fd = -1;
  (void)deadline;
  if (config->target->count == 0) return lb_fail(s->env, -EINVAL, "the target has no NATS server");
  /* Clients begin with different servers, as behind a balancer. */
  for (const char *c = config->client; *c; c++)
    s->member = (s->member * 31 + (unsigned char)*c) % config->target->count;
  return 0;
}

static void close_session(struct lb_session *s) {
  if (s->env) nats_close(&s->conn);
}

/* Older servers do not know these settings. */
static const char own_ends[] = ",\"allow_msg_ttl\":true,\"subject_delete_marker_ttl\":1000000000";

/* A bucket that is there with these settings is as good as a new one. */
static int setup(struct lb_session *s, lb_ns deadline) {
  char call[NAME_MAX_BYTES], body[700], bucket[NATS_NAME_MAX], stream[NATS_NAME_MAX];
  struct nats_reply reply;
  int64_t age_ns = s->ends_alone ? 0 : s->ttl_ms * (int64_t)LB_NS_PER_MS;
  snprintf(body, sizeof body,
           "{\"name\":\"%s\",\"subjects\":[\"$KV.%s.>\"],\"retention\":\"limits\",\"discard\":\"new\",\"storage\":"
           "\"file\",\"max_msgs_per_subject\":1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_msg_size\":-1,\"max_consumers\":"
           "-1,\"max_age\":%" PRId64 ",\"duplicate_window\":%" PRId64 "000000,\"num_replicas\":%zu,"
           "\"allow_rollup_hdrs\":true,\"allow_direct\":true%s}",
           nats_stream(s->prefix, stream), nats_spell(s->prefix, bucket), age_ns, s->ttl_ms, s->target->count,
           s->ends_alone ? own_ends : "");
  const struct nats_request create = {api(s, "CREATE", call), NULL, body};
  int r = nats_open(&s->conn, s->env, &s->target->endpoints[s->member], deadline);
  if (r == 0) r = nats_call(&s->conn, &create, deadline, &reply); /* the servers elect a leader for it first */
  if (r) return r;
  if (error_of(reply.said) || !reply.said) r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

struct attempt {
  uint64_t revision; /* of the own record */
  bool found;        /* it was there before */
  bool unsure;       /* something was sent that was not answered */
};

/* Until it is made, or somebody else's. */
static int create(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline,
                  struct attempt *attempt) {
  char value[VALUE_SIZE];
  struct record record = {0};
  value_of(grant, value);
  for (;;) {
    attempt->revision = s->marks ? record.revision : 0;
    int r = publish(s, lock, value, &attempt->revision, deadline, &attempt->unsure);
    if (r != LB_LOST) return r;
    r = look(s, lock, deadline, &record);
    if (r == LB_LOST) record.revision = 0; /* it has just expired */
    else if (r) return r;
    else if (is_own(&record, grant)) return attempt->revision = record.revision, attempt->found = true, LB_OK;
    else if (record.value[0]) return LB_BUSY;
    if (lb_now(s->env) >= deadline) return LB_BUSY;
  }
}

static void begin(struct lb_session *s, struct lb_grant *grant, lb_ns asked) {
  uint64_t random[2];
  lb_random(s->env, random, sizeof random);
  grant->token_len =
      (size_t)snprintf(grant->token, sizeof grant->token, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  grant->asked_at = asked;
}

static int try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct attempt attempt = {.unsure = grant->token_len > 0};
  int r = know_age(s, deadline);
  if (r) return attempt.unsure ? LB_UNKNOWN : r;
  lb_ns asked = lb_now(s->env);
  if (!grant->token_len) begin(s, grant, asked);
  lb_point(s->env, "before-create");
  r = create(s, lock, grant, deadline, &attempt);
  lb_point(s->env, "after-create");
  if (r == LB_OK) {
    if (!attempt.found || !grant->valid_until)
      grant->valid_until = end_of(s, lock, attempt.found ? grant->asked_at : asked);
    if (!attempt.found || !grant->fence) grant->fence = attempt.revision;
    return note(s, grant, attempt.revision), LB_OK;
  }
  if (r != LB_BUSY && attempt.unsure) return LB_UNKNOWN;
  if (r == LB_UNKNOWN) r = LB_TIMEOUT; /* the question was lost, and what was written before it was refused */
  *grant = LB_GRANT_INIT;
  return r;
}

static int resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return grant->token_len ? try_acquire(s, lock, grant, deadline) : LB_BUSY;
}

/* Writes over the own record, whose revision may be a later one than is known; value NULL: removes it. LB_OK with its
 * revision; LB_LOST; LB_UNKNOWN; LB_TIMEOUT; -errno. */
static int replace(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, const char *value,
                   lb_ns deadline, uint64_t *revision) {
  bool unsure = false;
  struct record record = {.revision = revision_of(grant)};
  for (;;) {
    *revision = record.revision;
    int r = value || s->marks ? publish(s, lock, value, revision, deadline, &unsure)
                              : erase(s, *revision, deadline, &unsure);
    if (r != LB_LOST) return unsure && r ? LB_UNKNOWN : r;
    uint64_t before = record.revision;
    r = look(s, lock, deadline, &record);
    if (r == LB_OK && !is_own(&record, grant)) r = LB_LOST;
    if (r == LB_LOST && unsure && !value) return LB_OK; /* it was done perhaps, so that nothing is left is no loss */
    if (r) return unsure && r != LB_LOST ? LB_UNKNOWN : r;
    if (record.revision == before && lb_now(s->env) >= deadline) return LB_TIMEOUT;
  }
}

static int release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char subject[NAME_MAX_BYTES];
  bool sure = grant->valid_until != 0;
  uint64_t revision;
  if (!grant->token_len) return LB_OK;
  lb_point(s->env, "before-release");
  if (!revision_of(grant)) { /* what was sent is settled first: it may be on its way */
    int r = try_acquire(s, lock, grant, deadline);
    if (r != LB_OK) return r == LB_BUSY ? LB_OK : LB_UNKNOWN;
  }
  int r = replace(s, lock, grant, NULL, deadline, &revision);
  if (r == LB_OK && !s->marks) nats_tell(&s->conn, news_of(s, lock, subject));
  if (r == LB_UNKNOWN) grant->valid_until = 0;
  if (r == LB_TIMEOUT) return LB_UNKNOWN;
  return r == LB_LOST && !sure ? LB_OK : r;
}

static int extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char value[VALUE_SIZE];
  uint64_t revision;
  int r = know_age(s, deadline);
  if (r) return r == LB_TIMEOUT ? LB_UNKNOWN : r;
  lb_ns end = end_of(s, lock, lb_now(s->env));
  value_of(grant, value);
  r = replace(s, lock, grant, value, deadline, &revision);
  if (r == LB_TIMEOUT) r = LB_UNKNOWN;
  lb_lease_extended(grant, r, end);
  if (r == LB_OK) note(s, grant, revision);
  return r;
}

static int holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct record record;
  int r = look(s, lock, deadline, &record);
  if (r == LB_TIMEOUT) return LB_UNKNOWN;
  if (r == LB_OK && !is_own(&record, grant)) return LB_LOST;
  if (r == LB_OK) lb_confirm(&s->confirmed, grant, s->conn.losses);
  return r;
}

static int wait_for(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char subject[NAME_MAX_BYTES];
  struct record record;
  (void)grant;
  while (lb_now(s->env) < deadline) {
    int r = nats_is_open(&s->conn) ? nats_listen(&s->conn, news_of(s, lock, subject)) : 0;
    s->conn.heard = false;
    if (r == 0) r = look(s, lock, deadline, &record);
    if (r == LB_LOST || (r == LB_OK && !record.value[0])) return LB_OK;
    if (r < 0 || r == LB_UNKNOWN) return r < 0 ? r : LB_TIMEOUT;
    lb_ns again = earlier(deadline, lb_now(s->env) + LOOK_MS * LB_NS_PER_MS);
    r = s->conn.listening[0] ? nats_hear(&s->conn, again) : 0;
    if (r == LB_OK && s->conn.listening[0]) return LB_OK;
    if (r < 0) return r;
  }
  return LB_TIMEOUT;
}

static int doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  if (nats_is_open(&s->conn) && lb_still_confirmed(&s->confirmed, grant, s->conn.losses)) return LB_OK;
  lb_fail(s->env, -ENOTCONN, "nats: the connection was lost since the grant");
  return LB_UNKNOWN;
}

static int server(struct lb_session *s) { return nats_is_open(&s->conn) ? (int)s->member : -ENOENT; }

/* ---- proofs, over a connection of its own -------------------------------------------------------------------- */

static int ask_alone(struct lb_session *s, const struct nats_request *q, size_t endpoint, lb_ns deadline,
                     struct nats_reply *ret) {
  struct nats_conn conn = {.fd = -1};
  if (endpoint >= s->target->count) return lb_fail(s->env, -EINVAL, "nats: there is no server %zu", endpoint + 1);
  int r = nats_open(&conn, s->env, &s->target->endpoints[endpoint], deadline);
  if (r == 0) r = nats_call(&conn, q, deadline, ret);
  nats_close(&conn);
  if (r) return r < 0 ? r : lb_fail(s->env, -ETIMEDOUT, "nats: no answer");
  return 0;
}

static bool is_gone(struct lb_session *s, size_t endpoint, lb_ns deadline) {
  char call[NAME_MAX_BYTES];
  struct nats_reply reply;
  int r = ask_alone(s, &(struct nats_request){api(s, "INFO", call), NULL, NULL}, endpoint, deadline, &reply);
  bool gone = r == 0 && error_of(reply.said) == NO_STREAM;
  json_decref(r == 0 ? reply.said : NULL);
  return gone;
}

/* A direct read is answered by the replica at that server. While it changes its role another one is asked, which may be
 * cut off: so again. A marker has no body. No server answers for a bucket that is gone. */
static int inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char subject[NAME_MAX_BYTES], call[3 * NAME_MAX_BYTES], stream[NATS_NAME_MAX];
  snprintf(call, sizeof call, "$JS.API.DIRECT.GET.%s.%s", nats_stream(s->prefix, stream), subject_of(s, lock, subject));
  for (;;) {
    struct nats_reply reply = {0};
    lb_ns until = earlier(deadline, lb_now(s->env) + PATIENCE_MS * LB_NS_PER_MS);
    int r = ask_alone(s, &(struct nats_request){call, NULL, NULL}, endpoint, until, &reply);
    json_decref(reply.said);
    if (r == 0 && (!reply.status || reply.status == 404)) return !reply.status && reply.size > 0;
    if (r == 0) r = lb_fail(s->env, -EAGAIN, "nats: status %d of a direct read", reply.status);
    if (r != -EAGAIN && r != -ETIMEDOUT) return r;
    if (is_gone(s, endpoint, earlier(deadline, lb_now(s->env) + PATIENCE_MS * LB_NS_PER_MS))) return 0;
    if (lb_now(s->env) >= deadline) return r;
    lb_sleep_until(s->env, earlier(deadline, lb_now(s->env) + PAUSE_MS * LB_NS_PER_MS));
  }
}

static int break_lock(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char subject[NAME_MAX_BYTES], call[NAME_MAX_BYTES], body[NAME_MAX_BYTES + 24];
  struct nats_reply reply;
  snprintf(body, sizeof body, "{\"filter\":\"%s\"}", subject_of(s, lock, subject));
  int r = ask_alone(s, &(struct nats_request){api(s, "PURGE", call), NULL, body}, endpoint, deadline, &reply);
  if (r) return r;
  r = nats_number(reply.said, "purged") > 0;
  if (error_of(reply.said) || !reply.said) r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

static int teardown(struct lb_session *s, lb_ns deadline) {
  char call[NAME_MAX_BYTES];
  struct nats_reply reply;
  int r = ask(s, &(struct nats_request){api(s, "DELETE", call), NULL, NULL}, deadline, &reply, NULL);
  if (r) return r;
  if (error_of(reply.said) && error_of(reply.said) != NO_STREAM) r = surprise(s, reply.said);
  json_decref(reply.said);
  return r;
}

static const struct lb_proofs proofs = {.inspect = inspect, .server = server};

/* after-create: every answer has been read or given up. */
static const char *const points[] = {"before-create", "after-create", "before-release", NULL};

#define NATS_HOOKS                                                                                                     \
  .session_size = sizeof(struct lb_session), .open = open_session, .close = close_session, .setup = setup,             \
  .try_acquire = try_acquire, .release = release, .extend = extend, .wait = wait_for, .resolve = resolve,              \
  .holds = holds, .teardown = teardown, .doubt = doubt, .proofs = &proofs, .break_lock = break_lock, .points = points
enum {
  TRAITS = LB_TRAIT_LEASED | LB_TRAIT_FENCED | LB_TRAIT_WAKES | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY |
           LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE
};

const struct lb_protocol lb_nats_kv = {
    .abi = LB_ABI,
    .name = "nats-kv",
    .summary = "NATS JetStream: a key of a bucket, made if it is not there; the bucket's age limit is the lease",
    .facts = "number=log",
    .topologies = (const char *const[]){"nats", "nats-x3", NULL},
    .traits = TRAITS,
    NATS_HOOKS,
};

const struct lb_protocol lb_nats_kv_marker = {
    .abi = LB_ABI,
    .name = "nats-kv-marker",
    .summary = "NATS JetStream: the same, released by a delete marker, as client libraries do it",
    .facts = "number=log",
    .topologies = (const char *const[]){"nats-x3", NULL},
    .traits = TRAITS | LB_TRAIT_UNSAFE,
    .unsafe_why = "two clients that write over the same delete marker at once are both told that they hold",
    .data = &(const struct kind){.marks = true},
    NATS_HOOKS,
};

const struct lb_protocol lb_nats_kv_ttl = {
    .abi = LB_ABI,
    .name = "nats-kv-ttl",
    .summary = "NATS JetStream: a key with an end of its own, released by a delete marker",
    .facts = "number=log",
    .needs = "nats-server >= 2.11",
    .topologies = (const char *const[]){"nats", "nats-x3", NULL},
    .traits = TRAITS,
    .data = &(const struct kind){.marks = true, .ends_alone = true},
    NATS_HOOKS,
};
