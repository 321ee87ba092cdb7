/* SPDX-License-Identifier: MIT
 *
 * need.h - memory without which the tool has nothing left to do: plans, lists, tables. Lack of it ends the process with
 * one line, as in git, so callers have no path for it. What runs inside a client or a plug-in reports -ENOMEM instead.
 */
#ifndef LB_NEED_H
#define LB_NEED_H

#include <stddef.h>

/* Returns what an allocation gave; ends the process with exit code 1 if that is NULL. */
void *lb_need(void *memory);
/* A copy of `text`; a text put together as asprintf() does. */
char *lb_need_text(const char *text);
char *lb_need_printed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Memory, zero at first, that processes forked from now on share. */
void *lb_need_shared(size_t size);
/* Room for one more element behind `count` of them, `size` bytes each. The room doubles when count is a power of two,
 * so no caller keeps a capacity: such an array grows only here. Returns the array, which may have moved. */
void *lb_need_one_more(void *array, size_t count, size_t size);
/* Appends an element; an lvalue, not yet written. Evaluates its arguments more than once. */
#define LB_APPEND(array, count) ((array) = lb_need_one_more((array), (count), sizeof *(array)), &(array)[(count)++])[0]

#endif
