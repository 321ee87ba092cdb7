/* SPDX-License-Identifier: MIT
 *
 * history_form.h - what the two file forms of a history share; private to history*.c.
 */
#ifndef LB_HISTORY_FORM_H
#define LB_HISTORY_FORM_H

#include "history.h"

/* The members of an event, named as in the JSON form; lb_member_names[i] belongs to the bit 1 << i. */
enum {
  LB_M_T = 1 << 0,
  LB_M_S = 1 << 1,
  LB_M_C = 1 << 2,
  LB_M_K = 1 << 3,
  LB_M_E = 1 << 4,
  LB_M_FENCE = 1 << 5,
  LB_M_UNTIL = 1 << 6,
  LB_M_VALUE = 1 << 7,
  LB_M_OK = 1 << 8,
  LB_M_WHAT = 1 << 9,
};
#define LB_MEMBER_COUNT 10
extern const char *const lb_member_names[LB_MEMBER_COUNT];
#define LB_KIND_COUNT (LB_EV_RENEWED + 1)

/* 0, or -EINVAL with "found ..., expected ..." in text if an event of this kind cannot have exactly these members. */
int lb_event_check_members(unsigned kind, unsigned members, char *text, size_t size);
/* The same for an event in memory: its kind, flags, indexes and members. */
int lb_event_check(const struct lb_history *history, const struct lb_event *event, char *text, size_t size);
/* Length of the valid UTF-8 sequence that starts at text (of at most `size` bytes), 0 if there is none. */
size_t lb_utf8_length(const char *text, size_t size);

/* The two readers, into an empty history; after an error the caller clears it. */
int lb_history_parse_json(const char *name, const char *data, size_t size, struct lb_history *ret, char *err,
                          size_t err_size);
int lb_history_parse_binary(const char *name, const char *data, size_t size, struct lb_history *ret, char *err,
                            size_t err_size);

#endif
