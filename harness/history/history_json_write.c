/* SPDX-License-Identifier: MIT
 *
 * Writing a history as JSON lines. Which members an event has and how they are written follows from
 * the table in history_form.c, so what is written here is what history_json.c reads.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "history_form.h"

static json_t *name_value(const struct lb_names *names, const void *at) {
  return json_string_nocheck(names->name[*(const uint32_t *)at]);
}

/* NULL = it is left out. */
static json_t *member_value(const struct lb_history *h, const struct lb_event *event, unsigned i) {
  const struct lb_member *member = &lb_members[i];
  const void *at = lb_member_at(member, event, lb_event_fact(h, event));
  switch (member->type) {
    case LB_T_NUMBER:
    case LB_T_POSITIVE: {
      uint64_t number = *(const uint64_t *)at;
      bool left_out = 1u << i == LB_M_S ? number == 0 : number > INT64_MAX;
      return left_out ? NULL : json_integer((json_int_t)number);
    }
    case LB_T_STEP: return json_integer(*(const uint32_t *)at);
    case LB_T_SIGNED: return json_integer(*(const int64_t *)at);
    case LB_T_CLIENT: return name_value(&h->clients, at);
    case LB_T_KEY: return name_value(&h->keys, at);
    case LB_T_NAME:
    case LB_T_TEXT: return name_value(&h->texts, at);
    case LB_T_KIND: return json_string_nocheck(lb_event_kind_name(event->kind));
    case LB_T_WORD: return json_string_nocheck(member->words[*(const uint8_t *)at]);
    case LB_T_YES: return json_boolean(*(const uint8_t *)at);
    case LB_T_OK: return json_false();
    case LB_T_FLAG: return json_true();
  }
  return NULL;
}

static json_t *event_to_json(const struct lb_history *history, const struct lb_event *event) {
  json_t *object = json_object();
  unsigned members = lb_event_members(history, event);
  for (unsigned i = 0; i < LB_MEMBER_COUNT; i++) {
    json_t *value = members & (1u << i) ? member_value(history, event, i) : NULL;
    if (value) json_object_set_new_nocheck(object, lb_members[i].name, value);
  }
  return object;
}

int lb_event_format_json(const struct lb_history *history, const struct lb_event *event, char *buf, size_t size) {
  json_t *object = event_to_json(history, event);
  char *text = json_dumps(object, JSON_COMPACT);
  json_decref(object);
  int used = snprintf(buf, size, "%s", text ? text : "");
  free(text);
  return used;
}

/* All events are checked before the first line is written: half a file would be worse than none. */
int lb_history_write_json(const struct lb_history *history, FILE *out) {
  char text[400];
  for (size_t i = 0; i < history->count; i++)
    if (lb_event_check(history, &history->events[i], text, sizeof text) < 0) return -EINVAL;
  fputs("{\"format\":2}\n", out);
  for (size_t i = 0; i < history->count; i++) {
    json_t *object = event_to_json(history, &history->events[i]);
    json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
    putc('\n', out);
  }
  errno = 0;
  if (fflush(out) != 0 || ferror(out)) return errno ? -errno : -EIO;
  return 0;
}
