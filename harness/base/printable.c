/* SPDX-License-Identifier: MIT
 *
 * A name of a file or an argument may hold what clears the screen, or looks like a line of ours.
 */
#include "printable.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the character at text, 0 = it is no UTF-8, or it is a control character. */
static size_t shown(const unsigned char *text) {
  static const unsigned least[] = {0x20, 0xa0, 0x800, 0x10000}; /* of so many further bytes */
  size_t more = text[0] < 0x80 ? 0 : text[0] < 0xc2 ? 4 : text[0] < 0xe0 ? 1 : text[0] < 0xf0 ? 2 : text[0] < 0xf5 ? 3 : 4;
  if (more == 4) return 0;
  unsigned code = more == 0 ? text[0] : text[0] & (0x3fu >> more);
  for (size_t i = 1; i <= more; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (text[i] & 0x3f);
  }
  return code < least[more] || code == 0x7f || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ? 0 : more + 1;
}

void lb_printable(const char *text, char *buf, size_t size) {
  size_t at = 0;
  while (*text && size > 0) {
    char escape[8];
    size_t bytes = shown((const unsigned char *)text), length = bytes;
    const char *piece = text;
    if (bytes == 0) {
      piece = escape, bytes = 1;
      if (*text == '\n' || *text == '\t') length = (size_t)snprintf(escape, sizeof escape, "\\%c", *text == '\n' ? 'n' : 't');
      else length = (size_t)snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)*text);
    }
    if (at + length >= size) break;
    memcpy(buf + at, piece, length);
    at += length;
    text += bytes;
  }
  if (size > 0) buf[at] = '\0';
}
