/* SPDX-License-Identifier: MIT
 *
 * printable.h - text of others on one line of a terminal.
 */
#ifndef LB_PRINTABLE_H
#define LB_PRINTABLE_H

#include <stddef.h>

/* Copies `text` into buf, with "\n", "\t" or "\x1b" for each control character, and "\xff" for each byte that is no UTF-8. Cut off where buf ends,
 * but never inside of a character or an escape. */
void lb_printable(const char *text, char *buf, size_t size);

#endif
