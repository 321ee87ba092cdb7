/* SPDX-License-Identifier: MIT
 *
 * The connections of one session, and what they hold. Only what the client itself knows: nobody is asked here.
 */
#include "pg_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pg_lines_open(struct pg_lines *lines, const struct pg_primary *like, bool one_each) {
  lines->one_each = one_each;
  lines->latest = lines->line;
  for (size_t i = 0; i < PG_LINES_MAX; i++) lines->line[i].primary = *like;
}

void pg_lines_drop(struct pg_lines *lines) {
  for (size_t i = 0; i < PG_LINES_MAX; i++) pg_primary_drop(&lines->line[i].primary);
}

void pg_lines_close(struct pg_lines *lines) {
  pg_lines_drop(lines);
  free(lines->held);
}

/* A connection that has ended is dropped, and what it held is forgotten. */
static void look_after(struct pg_lines *lines) {
  size_t kept = 0;
  for (size_t i = 0; i < PG_LINES_MAX; i++) {
    struct pg_primary *primary = &lines->line[i].primary;
    if (primary->conn && !pg_still_open(primary->conn)) pg_primary_drop(primary);
  }
  for (size_t i = 0; i < lines->held_count; i++)
    if (lines->held[i].losses == lines->held[i].line->primary.losses) lines->held[kept++] = lines->held[i];
  lines->held_count = kept;
}

/* Room is made before the lock is taken: afterwards it must not fail. */
static bool has_room(struct pg_lines *lines) {
  if (lines->held_count < lines->held_room) return true;
  size_t room = lines->held_room ? 2 * lines->held_room : 4;
  struct pg_held *held = realloc(lines->held, room * sizeof *held);
  if (!held) return false;
  lines->held = held;
  lines->held_room = room;
  return true;
}

static bool holds(const struct pg_lines *lines, const struct pg_line *line) {
  for (size_t i = 0; i < lines->held_count; i++)
    if (lines->held[i].line == line) return true;
  return false;
}

struct pg_line *pg_lines_free(struct pg_lines *lines, int *ret_error) {
  struct pg_line *line = lines->line, *end = lines->line + PG_LINES_MAX;
  struct lb_env *env = line->primary.env;
  look_after(lines);
  while (lines->one_each && line < end && holds(lines, line)) line++;
  *ret_error = 0;
  if (line == end)
    *ret_error =
        lb_fail(env, -EMFILE, "postgres: each of the %d connections of this session holds a lock", PG_LINES_MAX);
  else if (!has_room(lines)) *ret_error = lb_fail(env, -ENOMEM, "postgres: out of memory");
  if (*ret_error) return NULL;
  if (!line->primary.conn) line->primary.endpoint = lines->latest->primary.endpoint;
  return lines->latest = line;
}

struct pg_held *pg_lines_held(struct pg_lines *lines, const char *owner) {
  look_after(lines);
  for (size_t i = 0; i < lines->held_count; i++) {
    struct pg_held *held = &lines->held[i];
    if (strcmp(held->owner, owner) != 0) continue;
    lines->latest = held->line;
    return held;
  }
  return NULL;
}

void pg_lines_remember(struct pg_lines *lines, struct pg_line *line, const char *owner, const char *key) {
  struct pg_held *held = &lines->held[lines->held_count++];
  *held = (struct pg_held){.line = line, .losses = line->primary.losses};
  snprintf(held->owner, sizeof held->owner, "%s", owner);
  snprintf(held->key, sizeof held->key, "%s", key);
}

void pg_lines_forget(struct pg_lines *lines, struct pg_held *held) { *held = lines->held[--lines->held_count]; }

bool pg_lines_lead_to(struct pg_lines *lines, const struct pg_origin *origin) {
  look_after(lines);
  for (size_t i = 0; i < PG_LINES_MAX; i++) {
    const struct pg_primary *primary = &lines->line[i].primary;
    if (!primary->conn || primary->pid != origin->pid) continue;
    if (strcmp(primary->born, origin->born) == 0) return true;
  }
  return false;
}
