/* SPDX-License-Identifier: MIT
 *
 * How etcd's gateway writes numbers and keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etcd_util.h"

uint64_t etcd_number(const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? strtoull(text, NULL, 10) : 0;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

json_t *etcd_text(const char *text) {
  size_t size = strlen(text), n = 0;
  char out[400];
  for (size_t i = 0; i < size && n + 5 <= sizeof out; i += 3) {
    size_t left = size - i;
    unsigned three = (unsigned)(unsigned char)text[i] << 16 | (left > 1 ? (unsigned)(unsigned char)text[i + 1] << 8 : 0) | (left > 2 ? (unsigned char)text[i + 2] : 0);
    out[n++] = digits[three >> 18 & 63];
    out[n++] = digits[three >> 12 & 63];
    out[n++] = left > 1 ? digits[three >> 6 & 63] : '=';
    out[n++] = left > 2 ? digits[three & 63] : '=';
  }
  return json_stringn(out, n);
}

int etcd_read_text(const json_t *text, char *buf, size_t size) {
  const char *at = json_string_value(text);
  unsigned bits = 0, value = 0;
  size_t n = 0;
  for (; at && *at && *at != '='; at++) {
    const char *digit = strchr(digits, *at);
    if (!digit) return -EPROTO;
    value = value << 6 | (unsigned)(digit - digits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (n + 1 >= size) return -EPROTO;
    buf[n++] = (char)(value >> bits);
  }
  buf[n] = '\0';
  return at ? 0 : -EPROTO;
}
