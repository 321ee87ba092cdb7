/* SPDX-License-Identifier: MIT
 *
 * json.h - what several rooms ask of JSON that was read.
 */
#ifndef LB_JSON_H
#define LB_JSON_H

#include <jansson.h>

/* A member of an object; "" where there is no such text. */
static inline const char *lb_text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

#endif
