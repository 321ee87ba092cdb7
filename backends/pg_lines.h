/* SPDX-License-Identifier: MIT
 *
 * pg_lines.h - the connections of one session to the primary, and what the server processes behind them hold.
 */
#ifndef LB_PG_LINES_H
#define LB_PG_LINES_H

#include "pg_wake.h"

enum { PG_LINES_MAX = 32 };

struct pg_line {
  struct pg_primary primary;
  struct pg_ear ear; /* what it listens to */
};

/* One attempt that is held for. */
struct pg_held {
  char owner[64], key[LB_TOKEN_MAX];
  struct pg_line *line;
  uint64_t losses; /* of the line, when it was granted: with another connection it is not held any more */
};

/* Zeroed = closed. */
struct pg_lines {
  bool one_each; /* a line holds one lock, and is of no other use meanwhile; else the first one holds all */
  struct pg_line line[PG_LINES_MAX], *latest; /* latest: the one that was used last */
  struct pg_held *held;
  size_t held_count, held_room;
};

/* All lines are made like `like`, and none is connected. */
void pg_lines_open(struct pg_lines *lines, const struct pg_primary *like, bool one_each);
void pg_lines_close(struct pg_lines *lines);
/* Drops all connections, and what is held with them. */
void pg_lines_drop(struct pg_lines *lines);

/* A line for the next lock, or for a question that belongs to none, with room to remember what it will hold. It may have no connection
 * yet, and then begins to look for the primary where that was last. NULL with env->err: each of them holds, or no memory (*ret_error:
 * -EMFILE, -ENOMEM). */
struct pg_line *pg_lines_free(struct pg_lines *lines, int *ret_error);
/* What is held for the attempt `owner`, as far as this session knows: its connection stands, without a word of its end. NULL = it is not. Valid
 * until the next call of a pg_lines function. */
struct pg_held *pg_lines_held(struct pg_lines *lines, const char *owner);
/* The line has been granted `key` for `owner`. It came from pg_lines_free(). */
void pg_lines_remember(struct pg_lines *lines, struct pg_line *line, const char *owner, const char *key);
void pg_lines_forget(struct pg_lines *lines, struct pg_held *held);
/* Whether one of the connections leads to this server process. */
bool pg_lines_lead_to(struct pg_lines *lines, const struct pg_origin *origin);

#endif
