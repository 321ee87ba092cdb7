/* SPDX-License-Identifier: MIT
 *
 * own_operator.h - the file of --operator: what may be done to the user's own servers, how they are called, and by which
 * commands it is done.
 */
#ifndef LB_OWN_OPERATOR_H
#define LB_OWN_OPERATOR_H

#include "own.h"

enum { LB_WARDS_MAX = LB_SERVERS_MAX * LB_OWN_COUNT, LB_OWN_COMMAND_MAX = 2000 };

struct lb_own_ward { /* a server that the file names */
  char name[64];
  struct lb_own_address at;
  int line;
};

struct lb_own_operator {
  char path[4096];
  unsigned may; /* a bit for each enum lb_mandate_verb */
  size_t at_once;
  int64_t undo_after_ms;
  bool others;     /* may use these servers meanwhile */
  bool fails_over; /* of PostgreSQL and MariaDB: somebody promotes a standby */
  struct lb_own_ward ward[LB_WARDS_MAX];
  size_t count;
  char command[LB_MAY_COUNT][1000]; /* "" = none */
};

/* Reads a file. 0, or -EINVAL with one line in err: FILE:LINE: what was found, what was expected. */
int lb_own_operator_read(const char *path, struct lb_own_operator *ret, struct lb_error *err);
/* Holds it against the servers that have been asked: each that holds locks is named, and no others are. Likewise. */
int lb_own_operator_check(const struct lb_own_operator *rules, struct lb_error *err);
/* The ward with the address of server `index`; `count` of wards = none has it. */
size_t lb_own_operator_ward(const struct lb_own_operator *rules, const struct lb_own *own, size_t index);
/* The other way: the servers that it is one of, and its place there; NULL = it is in none. */
const struct lb_own *lb_own_operator_server(const struct lb_own_operator *rules, size_t ward, size_t *ret_index);
/* The command for sh, with the names filled in. `other` is used by links, `offset_ms` by clocks. */
const char *lb_own_operator_command(const struct lb_own_operator *rules, enum lb_mandate_verb verb, size_t ward,
                                    size_t other, int64_t offset_ms);

#endif
