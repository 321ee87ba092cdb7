/* SPDX-License-Identifier: MIT
 *
 * Words of the line protocol: apart, together, and as they may be printed.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "foreign_parts.h"

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place: what it says is never longer than what it was. */
static int decode(char *word) {
  char *to = word;
  for (const char *from = word; *from; from++) {
    if (*from != '%') {
      *to++ = *from;
      continue;
    }
    int high = digit(from[1]), low = high < 0 ? -1 : digit(from[2]);
    if (low < 0 || high * 16 + low == 0) return -EINVAL;
    *to++ = (char)(high * 16 + low);
    from += 2;
  }
  *to = '\0';
  return 0;
}

int foreign_split(char *line, struct foreign_words *ret) {
  ret->count = 0;
  for (char *rest = line, *word; (word = strsep(&rest, " "));) {
    if (!*word) continue;
    if (ret->count == FOREIGN_WORDS_MAX) return -EINVAL;
    /* A text for people stands without a name, and is not encoded. */
    if (strchr(word, '=') && decode(word) < 0) return -EINVAL;
    ret->word[ret->count++] = word;
  }
  return 0;
}

const char *foreign_value(const struct foreign_words *words, size_t first, const char *name) {
  size_t length = strlen(name);
  for (size_t i = first; i < words->count; i++)
    if (strncmp(words->word[i], name, length) == 0 && words->word[i][length] == '=') return words->word[i] + length + 1;
  return NULL;
}

bool foreign_append(char *line, size_t size, const char *text) {
  size_t length = strlen(line);
  return (size_t)snprintf(line + length, size - length, "%s", text) < size - length;
}

bool foreign_append_value(char *line, size_t size, const char *text, bool url) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    char piece[4];
    bool plain = url ? isalnum(c) || strchr("-._~", c) : c > ' ' && c < 0x7f && c != '%';
    snprintf(piece, sizeof piece, plain ? "%c" : "%%%02X", c);
    if (!foreign_append(line, size, piece)) return false;
  }
  return true;
}

void foreign_quote(const char *text, char *buf, size_t size) {
  size_t n = 0;
  for (; *text && n + 4 < size; text++) buf[n++] = (unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? '?' : *text;
  snprintf(buf + n, size - n, "%s", *text ? "..." : "");
}
