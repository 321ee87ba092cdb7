/* SPDX-License-Identifier: MIT
 *
 * A row is found by the key in any of its columns: the table is the library's own, and its columns are not known here.
 */
#include "pg_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pg.h"

/* "TABLE" or "TABLE:COLUMN": a row with the key in some column, of which COLUMN is not null. */
static int ask_of_row(char *sql, size_t size, const char *record) {
  const char *column = strchr(record, ':');
  size_t table = column ? (size_t)(column - record) : strlen(record), plain;
  plain = strspn(record, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.\"");
  if (table == 0 || plain < table || (column && (!column[1] || strpbrk(column + 1, ":'\\")))) return -EINVAL;
  snprintf(
      sql, size,
      "SELECT FROM %.*s t WHERE EXISTS (SELECT FROM jsonb_each_text(to_jsonb(t)) c WHERE c.value = $1)%s%s%s LIMIT 1",
      (int)table, record, column ? " AND to_jsonb(t)->>'" : "", column ? column + 1 : "",
      column ? "' IS NOT NULL" : "");
  return 0;
}

/* The servers of a trial are its own: whatever advisory lock there is, is this one; and so is a transaction that has
 * locked or changed a row, for others have no number. */
static int inspect(const struct lb_record_at *at, const char *record) {
  const struct lb_target *target = at->config->target;
  char sql[LB_RECORD_MAX * 3] = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted LIMIT 1";
  bool row = strcmp(record, "advisory") != 0 && strcmp(record, "transaction") != 0;
  struct pg_conn *conn = NULL;
  PGresult *result = NULL;
  if (strcmp(record, "transaction") == 0)
    snprintf(sql, sizeof sql,
             "SELECT FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' LIMIT 1");
  if (row && ask_of_row(sql, sizeof sql, record) < 0)
    return lb_fail(at->env, -EINVAL, "record=%.100s: expected advisory, transaction, TABLE or TABLE:COLUMN", record);
  int r = pg_open(at->env, target, &target->endpoints[at->endpoint], NULL, at->deadline, &conn);
  if (!r) r = pg_query(conn, at->deadline, &result, sql, row, &at->key);
  if (!r) r = pg_refusal(at->env, result);
  if (!r) r = PQntuples(result) > 0;
  else if (r > 0) r = -ETIMEDOUT;
  PQclear(result);
  pg_close(conn);
  return r;
}

const struct lb_record_hooks pg_record_hooks = {.service = "postgres", .inspect = inspect};
