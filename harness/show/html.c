/* SPDX-License-Identifier: MIT
 *
 * Escaping at the one place where text meets markup. What a protocol answers, an error text or a
 * title out of a scenario may hold anything; nobody who writes a part of the page has to think of
 * it.
 */
#include "html.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes from 0x80 on pass: texts are UTF-8, and none of those bytes means anything to markup. */
static void put_char(FILE *out, unsigned char c) {
  switch (c) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    case '\'': fputs("&#39;", out); break;
    default:
      if ((c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f) fputs("\xEF\xBF\xBD", out);
      else fputc(c, out);
  }
}

void lb_html_text(FILE *out, const char *text) {
  for (; text && *text; text++) put_char(out, (unsigned char)*text);
}

/* Formatted first and escaped afterwards, so that an argument cannot smuggle in markup. Out of
 * memory writes nothing. */
void lb_html_textf(FILE *out, const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  va_end(args);
  lb_html_text(out, text);
  free(text);
}

/* "./" goes before, or "a:b" would be read as a scheme. '/' stays: a path may have folders. */
void lb_html_path(FILE *out, const char *path) {
  if (path[0] != '/') fputs("./", out);
  for (; *path; path++) {
    unsigned char c = (unsigned char)*path;
    if (isalnum(c) || strchr("-._~/@", c)) fputc(c, out);
    else fprintf(out, "%%%02X", c);
  }
}
