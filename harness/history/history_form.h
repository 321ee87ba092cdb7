/* SPDX-License-Identifier: MIT
 *
 * history_form.h - what the two file forms of a history share: the members an event can have, and
 * which kind has which; and what all readers share. Private to history*.c.
 */
#ifndef LB_HISTORY_FORM_H
#define LB_HISTORY_FORM_H

#include "base/error.h"
#include "history.h"

/* The members of an event, named as in the JSON form. The bit 1 << i belongs to lb_members[i]. */
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
  LB_M_DUE = 1 << 10,
  LB_M_STEP = 1 << 11,
  LB_M_VERB = 1 << 12,
  LB_M_ROLE = 1 << 13,
  LB_M_FROM = 1 << 14,
  LB_M_HOST = 1 << 15,
  LB_M_PHASE = 1 << 16,
  LB_M_ANSWER = 1 << 17,
  LB_M_WHY = 1 << 18,
  LB_M_PRESENT = 1 << 19,
  LB_M_CLOCK = 1 << 20,
  LB_M_MS = 1 << 21,
  LB_M_IN_MS = 1 << 22,
  LB_M_KEPT = 1 << 23,
  LB_M_TOTAL = 1 << 24,
  LB_M_CHECK = 1 << 25,
  LB_M_SHARED = 1 << 26,
  LB_M_EARLY = 1 << 27,
};
#define LB_MEMBER_COUNT 28
#define LB_KIND_COUNT (LB_EV_SILENT + 1)

enum lb_member_type {
  LB_T_NUMBER,   /* uint64_t, at most 2^63 - 1 */
  LB_T_POSITIVE, /* the same, from 1; 0 in memory = absent */
  LB_T_STEP,     /* uint32_t, from 1; 0 = absent */
  LB_T_SIGNED,   /* int64_t */
  LB_T_CLIENT,   /* uint32_t, index into the names of clients */
  LB_T_KEY,      /* of keys */
  LB_T_NAME,     /* of texts, not empty */
  LB_T_TEXT,     /* of texts */
  LB_T_KIND,     /* uint16_t, a word */
  LB_T_OK,       /* true, or false = LB_EVF_REFUSED */
  LB_T_FLAG,     /* true = its flag, or false = absent */
  LB_T_YES,      /* uint8_t, true or false */
  LB_T_WORD,     /* uint8_t, one of words[1...]; 0 = absent */
};

struct lb_member { /* lb_members[i] belongs to the bit 1 << i */
  const char *name;
  enum lb_member_type type;
  size_t offset; /* in struct lb_event or, of_fact, in struct lb_fact */
  bool of_fact;
  uint16_t flag;            /* LB_EVF_*: it is there; 0 = its value says so */
  const char *const *words; /* of LB_T_WORD: words[0] is NULL, and so is the last */
};
extern const struct lb_member lb_members[LB_MEMBER_COUNT];

/* 0, or -EINVAL with "found ..., expected ..." in err if an event of this kind cannot have exactly
 * these members. */
int lb_event_check_members(unsigned kind, unsigned members, struct lb_error *err);
/* The same for its numbers, where one limits another or its kind limits it. */
int lb_event_check_numbers(const struct lb_event *event, const struct lb_fact *fact, struct lb_error *err);
/* The same for an event in memory: its kind, flags, indexes and members. */
int lb_event_check(const struct lb_history *history, const struct lb_event *event, struct lb_error *err);
/* The members that an event has (bits). */
unsigned lb_event_members(const struct lb_history *history, const struct lb_event *event);
/* Where the value of a member is, in the event or in its fact (which must be the event's own). */
const void *lb_member_at(const struct lb_member *member, const struct lb_event *event, const struct lb_fact *fact);

struct lb_line { /* what is being read, and where complaints go */
  const char *name;
  size_t number;
  struct lb_error *err;
};
/* -EINVAL with "NAME:NUMBER: " before the text, on one line and without terminal codes. */
int lb_history_refuse_line(const struct lb_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same: "found WHAT "grnted" (did you mean "granted"?), expected one of: acquire granted ..." */
int lb_history_refuse_word(const struct lb_line *line, const char *what, const char *word, const char *const *words,
                           size_t count);

struct lb_part { /* of a file */
  const char *data;
  size_t size;
  bool last;
};

/* The readers, into an empty history; after an error the caller clears it. `taken`: the data is a map, which is the
 * history's from when it becomes true; NULL = it is none. */
int lb_history_parse_json(const char *name, const char *data, size_t size, struct lb_history *ret,
                          struct lb_error *err);
/* The next part of a file: all lines that are whole, and at the end the last one. `line` begins with number 0. *used: so
 * many bytes. */
int lb_history_parse_json_part(struct lb_line *line, const struct lb_part *part, struct lb_history *to, size_t *used);
int lb_history_parse_binary(const char *name, const char *data, size_t size, bool *taken, struct lb_history *ret,
                            struct lb_error *err);

#endif
