/* SPDX-License-Identifier: MIT
 *
 * circle.h - a deadlock: clients each of which holds a key that the next one waits for. Reads histories only.
 */
#ifndef LB_CIRCLE_H
#define LB_CIRCLE_H

#include "history/history.h"

enum { LB_CIRCLE_MAX = 8 };

struct lb_circle {
  size_t count; /* of clients; the last one waits for what the first one holds */
  struct {
    uint32_t client, holds, waits; /* keys */
  } link[LB_CIRCLE_MAX];
};

/* The first circle of at most LB_CIRCLE_MAX clients, before the lock was asked for again at the end (`closing`); it begins
 * with the first of them by name. A client waits from `acquire` to the outcome. A key of readers or of several permits has
 * no one holder, and is passed over. False: there was none. */
bool lb_circle_find(const struct lb_history *history, struct lb_circle *ret);
/* "client-1 holds a and waits for b, client-2 holds b and waits for a": what snprintf() would return. */
int lb_circle_format(const struct lb_history *history, const struct lb_circle *circle, char *buf, size_t size);

#endif
