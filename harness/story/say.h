/* SPDX-License-Identifier: MIT
 *
 * say.h - a fact as English, for people. Nothing reads it back: what decides anything looks at the
 * fields.
 */
#ifndef LB_SAY_H
#define LB_SAY_H

#include "history/history.h"

/* Writes a fact as a short sentence without its end: "key absent on primary", "kill primary" of a
 * fault. Nothing for an event that is no fact. Its texts come out of files, so bytes that could
 * move a terminal's cursor are written as '?'. */
void lb_say_event(const struct lb_history *history, const struct lb_event *event, FILE *out);
/* A name or text out of a file, cleaned in the same way. */
void lb_say_text(const char *text, FILE *out);

/* What stands between the two sides of a link in a fact of whom a fault touched: " from " or " to ". */
const char *lb_say_touched(const struct lb_history *history, const struct lb_fact *touched);

/* What a guard's check came to, of enum lb_check_result: "lease over", "told no"; "" for any other
 * number. */
const char *lb_say_check(unsigned check);

#endif
