/* SPDX-License-Identifier: MIT
 *
 * html.h - text into HTML: what goes through here can neither end an element nor an attribute.
 * Errors of the stream stay on the stream; check it once, when it is closed.
 *
 * Markup itself is written with fputs() and fprintf(), and may only contain what is in the
 * source.
 */
#ifndef LB_HTML_H
#define LB_HTML_H

#include <stdio.h>

/* Writes text, escaped for elements and for attributes in double or single quotes; NULL writes
 * nothing. Control characters, which HTML cannot carry, become the replacement character. */
void lb_html_text(FILE *out, const char *text);
/* The same for a printf text: all of it is escaped, the format too. */
void lb_html_textf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a relative path as the value of href or src: percent-encoded, and never read as a scheme
 * such as "javascript:". */
void lb_html_path(FILE *out, const char *path);

#endif
