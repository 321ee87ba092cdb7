/* SPDX-License-Identifier: MIT
 *
 * pg-row.c - a row with a unique name is the lock: INSERT takes it, DELETE of one's own row frees it.
 *
 * Promises: one holder per key, as long as a committed row is not forgotten. The primary key decides between two
 * inserts, and the owner column, unique per attempt, keeps anybody from deleting somebody else's row. Acquire and
 * release are one round trip and one commit each. Nothing depends on any clock.
 *
 * Assumes: one primary at a time, which keeps what it has committed.
 *
 * Breaks: a holder that dies leaves its row for ever (no expiry). An asynchronous standby, when promoted, may lack the
 * newest rows, so a second client is granted while the first one holds; synchronous_commit=off loses them in a crash.
 * An old primary that is cut off, yet still answers its clients, grants by itself.
 *
 * What an unanswered INSERT means: its transaction may not have started, be waiting (for another client's uncommitted
 * row, or for a standby's copy), or be committed; and closing the connection stops none of this: what already lies in
 * the server's socket is still read and executed. So a missing row proves nothing while the server process that got the
 * statement lives. The attempt therefore remembers that process. resolve() says "not held, and never will be" only
 * after it has ended (or the primary is another server now, which replays nothing of the old one any more) and the row
 * is still missing, asked in this order. A repeated acquire settles the earlier one first, so at most one INSERT of an
 * attempt is under way, and none can come after its DELETE. Nothing is cancelled: a cancelled wait for a standby ends
 * in a row that is committed on the primary only.
 *
 * A try may wait for a transaction that has inserted or deleted this row and not committed yet; lock_timeout bounds
 * that. It says BUSY then, like for a row that is there.
 *
 * Source: the lock table of many schedulers, e.g. the JDBC providers of ShedLock and Spring Integration, in its
 * plainest form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "pg_util.h"

struct lb_session {
  struct pg_primary primary;
  const char *client;
};

/* What a grant's token says: "owner", or while a statement of the attempt is unanswered "owner@i PID BORN" (insert),
 * "owner@d PID BORN". */
struct attempt {
  char owner[64];
  char pending; /* 'i', 'd', or 0 */
  struct pg_origin origin;
};

enum { OPT_LOCK_WAIT };
static const struct lb_option options[] = {
    [OPT_LOCK_WAIT] = {"lock_wait_ms", LB_OPT_INT, 100, 1, 60000,
                       "a try waits this long for an uncommitted insert or delete of the row"},
    {0},
};

static const struct pg_stmt insert_sql = {
    0, "INSERT INTO lockbench_row(name, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING", 2};
static const struct pg_stmt delete_sql = {1, "DELETE FROM lockbench_row WHERE name = $1 AND owner = $2", 2};
static const struct pg_stmt owner_sql = {2, "SELECT owner FROM lockbench_row WHERE name = $1", 1};
/* Rows are inserted and deleted, never updated, so pages need no free space left for updates: fillfactor 100. Each
 * pair leaves a dead row behind. Vacuum has to come by count, since a share of a table of a few live rows means
 * nothing, at full speed, and without giving the file's end back, for which it would lock the table. */
static const struct pg_stmt create_sql = {
    3,
    "CREATE TABLE IF NOT EXISTS lockbench_row(name text PRIMARY KEY, owner text NOT NULL) WITH (fillfactor = 100,"
    " autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0,"
    " vacuum_truncate = off)",
    0};

/* ---- the attempt in the token ---------------------------------------------------------------------------- */

static void put_attempt(const struct attempt *attempt, struct lb_grant *grant) {
  int n = attempt->pending ? snprintf(grant->token, sizeof grant->token, "%s@%c %d %s", attempt->owner,
                                      attempt->pending, attempt->origin.pid, attempt->origin.born)
                           : snprintf(grant->token, sizeof grant->token, "%s", attempt->owner);
  grant->token_len = (size_t)n;
}

static struct attempt get_attempt(const struct lb_grant *grant) {
  struct attempt attempt = {0};
  char text[LB_TOKEN_MAX + 1];
  snprintf(text, sizeof text, "%.*s", (int)grant->token_len, grant->token);
  int fields =
      sscanf(text, "%63[^@]@%c %d %31s", attempt.owner, &attempt.pending, &attempt.origin.pid, attempt.origin.born);
  if (fields != 4) attempt.pending = 0;
  return attempt;
}

static struct attempt new_attempt(struct lb_session *session) {
  struct attempt attempt = {0};
  uint64_t unique;
  lb_random(session->primary.env, &unique, sizeof unique);
  snprintf(attempt.owner, sizeof attempt.owner, "%.40s-%016" PRIx64, session->client, unique);
  for (char *at = attempt.owner; (at = strchr(at, '@'));) *at = '-';
  return attempt;
}

/* ---- statements ------------------------------------------------------------------------------------------ */

static int refused(struct lb_session *session, const PGresult *result) {
  const char *text = PQresultErrorMessage(result);
  int code = pg_is(result, "42P01") ? -ENOENT : pg_is(result, "57014") ? -ECANCELED : -EPROTO;
  return lb_fail(session->primary.env, code, "postgres: %.*s", (int)strcspn(text, "\n"), text);
}

/* Runs a statement that changes rows. LB_BUSY: it waited too long for another transaction. */
static int change(struct lb_session *session, const struct pg_stmt *stmt, const char *key, struct attempt *attempt,
                  lb_ns deadline, bool *ret_changed) {
  PGresult *result = NULL;
  const char *params[] = {key, attempt->owner};
  int rc = pg_primary_call(&session->primary, deadline, &result, stmt, params, &attempt->origin);
  if (rc) return rc;
  if (PQresultStatus(result) == PGRES_COMMAND_OK) *ret_changed = *PQcmdTuples(result) != '0';
  else rc = pg_is(result, "55P03") ? LB_BUSY : refused(session, result);
  PQclear(result);
  return rc;
}

/* LB_OK: the row is there and ours; LB_BUSY: it is not. LB_TIMEOUT and LB_UNKNOWN both mean: no answer. */
static int look(struct lb_session *session, const char *key, const char *owner, lb_ns deadline) {
  PGresult *result = NULL;
  int rc = pg_primary_call(&session->primary, deadline, &result, &owner_sql, &key, NULL);
  if (rc) return rc;
  if (PQresultStatus(result) != PGRES_TUPLES_OK) rc = refused(session, result);
  else rc = PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), owner) == 0 ? LB_OK : LB_BUSY;
  PQclear(result);
  return rc;
}

/* What became of an unanswered INSERT: LB_OK it stands, LB_BUSY it never will, LB_UNKNOWN, -errno. */
static int settle(struct lb_session *session, const char *key, const struct attempt *attempt, lb_ns deadline) {
  struct lb_env *env = session->primary.env;
  for (;;) {
    int settled = attempt->pending ? pg_primary_settled(&session->primary, deadline, &attempt->origin) : 1;
    if (settled < 0) return settled == -ETIMEDOUT ? LB_UNKNOWN : settled;
    int rc = look(session, key, attempt->owner, deadline);
    if (rc == LB_TIMEOUT || rc == LB_UNKNOWN) return LB_UNKNOWN;
    if (rc != LB_BUSY || settled) return rc;
    lb_ns now = lb_now(env), next = now + 5 * LB_NS_PER_MS;
    if (next >= deadline) return LB_UNKNOWN;
    lb_sleep_until(env, next);
  }
}

/* ---- the hooks ------------------------------------------------------------------------------------------- */

static int row_open(struct lb_session *session, const struct lb_config *config, lb_ns deadline) {
  session->client = config->client;
  session->primary = (struct pg_primary){
      .env = config->env, .target = config->target, .lock_timeout_ms = config->options[OPT_LOCK_WAIT].i};
  return pg_primary_get(&session->primary, deadline);
}

static void row_close(struct lb_session *session) { pg_primary_drop(&session->primary); }

static int row_setup(struct lb_session *session, lb_ns deadline) {
  PGresult *result = NULL;
  int rc;
  /* Unanswered is repeated: the statement does nothing when the table is there. */
  do rc = pg_primary_call(&session->primary, deadline, &result, &create_sql, NULL, NULL);
  while (rc == LB_UNKNOWN && lb_now(session->primary.env) < deadline);
  if (rc)
    return rc < 0 ? rc : lb_fail(session->primary.env, -ETIMEDOUT, "postgres: table not created before the deadline");
  /* Two sessions that create it at once collide in the catalog; either way it exists then. */
  if (PQresultStatus(result) != PGRES_COMMAND_OK && !pg_is(result, "23505")) rc = refused(session, result);
  PQclear(result);
  return rc;
}

static int granted(const struct attempt *attempt, struct lb_grant *grant) {
  struct attempt done = *attempt;
  done.pending = 0;
  put_attempt(&done, grant);
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

/* The INSERT itself, while nothing of the attempt is under way. `maybe`: the row may be there already, from an earlier
 * call. */
static int insert(struct lb_session *session, const char *key, struct attempt *attempt, bool maybe, lb_ns deadline) {
  bool inserted = false;
  lb_point(session->primary.env, "before-insert");
  int rc = change(session, &insert_sql, key, attempt, deadline, &inserted);
  attempt->pending = rc == LB_UNKNOWN ? 'i' : 0;
  if (rc == LB_OK && inserted) lb_point(session->primary.env, "after-insert");
  if (rc == LB_OK && !inserted) rc = maybe ? look(session, key, attempt->owner, deadline) : LB_BUSY;
  /* Neither "timed out" nor "no server" may be said of an attempt that may have its row. */
  return maybe && rc != LB_OK && rc != LB_BUSY ? LB_UNKNOWN : rc;
}

static int row_try(struct lb_session *session, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                   lb_ns deadline) {
  (void)ttl_ms;
  bool repeated = grant->token_len > 0, unsettled;
  struct attempt attempt = repeated ? get_attempt(grant) : new_attempt(session);
  int rc = LB_BUSY;
  if (attempt.pending == 'd') return lb_fail(session->primary.env, -EINVAL, "postgres: this attempt is being released");
  unsettled = attempt.pending;
  if (!repeated) grant->asked_at = lb_now(session->primary.env);
  if (unsettled) rc = settle(session, key, &attempt, deadline);
  if (rc < 0) rc = LB_UNKNOWN;
  if (rc == LB_BUSY) rc = insert(session, key, &attempt, repeated && !unsettled, deadline);
  if (rc == LB_OK) return granted(&attempt, grant);
  if (rc == LB_UNKNOWN || repeated) put_attempt(&attempt, grant);
  return rc;
}

static int row_release(struct lb_session *session, const char *key, struct lb_grant *grant, lb_ns deadline) {
  struct attempt attempt = get_attempt(grant);
  bool sent_before = attempt.pending == 'd', deleted = false;
  int rc = attempt.pending == 'i' ? settle(session, key, &attempt, deadline) : LB_OK;
  if (rc) return rc == LB_BUSY ? LB_OK : rc;
  lb_point(session->primary.env, "before-delete");
  do rc = change(session, &delete_sql, key, &attempt, deadline, &deleted);
  while (rc == LB_BUSY && lb_now(session->primary.env) < deadline);
  attempt.pending = rc == LB_UNKNOWN || (rc && sent_before) ? 'd' : 0;
  put_attempt(&attempt, grant);
  if (rc) return rc < 0 ? rc : LB_UNKNOWN;
  /* No row: an unanswered DELETE before this one took it, or, if it was ever granted, somebody without a right to. */
  return deleted || sent_before || grant->valid_until != LB_NEVER ? LB_OK : LB_LOST;
}

static int row_resolve(struct lb_session *session, const char *key, struct lb_grant *grant, lb_ns deadline) {
  struct attempt attempt = get_attempt(grant);
  int rc = settle(session, key, &attempt, deadline);
  return rc == LB_OK ? granted(&attempt, grant) : rc;
}

static int row_holds(struct lb_session *session, const char *key, const struct lb_grant *grant, lb_ns deadline) {
  struct attempt attempt = get_attempt(grant);
  int rc = look(session, key, attempt.owner, deadline);
  return rc == LB_BUSY ? LB_LOST : rc == LB_TIMEOUT ? LB_UNKNOWN : rc;
}

static int row_inspect(struct lb_session *session, size_t endpoint, const char *key, lb_ns deadline) {
  const struct lb_endpoint *at = &session->primary.target->endpoints[endpoint];
  struct pg_conn *conn = NULL;
  PGresult *result = NULL;
  int rc = pg_open(session->primary.env, at->host, at->port, deadline, &conn);
  if (rc) return rc;
  rc = pg_query(conn, deadline, &result, owner_sql.sql, 1, &key);
  if (rc > 0) rc = lb_fail(session->primary.env, -ETIMEDOUT, "postgres: no answer from %s", at->host);
  else if (rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK) rc = PQntuples(result) > 0;
  else if (rc == 0 && !pg_is(result, "42P01")) rc = refused(session, result); /* no table: no record */
  PQclear(result);
  pg_close(conn);
  return rc;
}

static const char *const topologies[] = {"pg", "pg-async", "pg-sync", NULL};
static const char *const points[] = {"before-insert", "after-insert", "before-delete", NULL};

const struct lb_protocol lb_pg_row = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "pg-row",
    .summary = "a row with a unique name: INSERT takes the lock, DELETE of one's own row frees it",
    .promises = "One holder per key as long as the one primary keeps what it has committed. No clock is involved.\n"
                "Only the owner's own row is ever deleted.",
    .breaks =
        "A dead holder blocks the key for ever. Losing committed rows (promotion of an asynchronous standby,\n"
        "synchronous_commit=off and a crash) or a cut-off old primary that still answers lets a second client in.",
    .source = "the lock table of ShedLock's and Spring Integration's JDBC providers, without the lease",
    .topologies = topologies,
    .traits = LB_TRAIT_NO_EXPIRY,
    .options = options,
    .points = points,
    .session_size = sizeof(struct lb_session),
    .open = row_open,
    .close = row_close,
    .try_acquire = row_try,
    .release = row_release,
    .setup = row_setup,
    .resolve = row_resolve,
    .holds = row_holds,
    .inspect = row_inspect,
};
