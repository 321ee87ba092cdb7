/* SPDX-License-Identifier: MIT
 *
 * settings.h - `-s KEY=VALUE`: a key of a scenario, or `PROTOCOL.OPTION`. A word is taken apart and checked here, once.
 * A struct lb_change says all that its text said.
 */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "base/error.h"
#include "backends/backend.h"

enum { LB_SETTING_VALUES_MAX = 16 };

struct lb_change {
  char *key;              /* "ttl_ms", "PROTOCOL.OPTION" */
  const char **value;     /* as they were written; more than one make variants. The first may point into the word */
  union lb_value *parsed; /* of an option: the same */
  size_t count;
  const struct lb_protocol *protocol; /* of an option; NULL = a key of scenarios */
  size_t option;                      /* its place among those of the protocol */
  char *list;                         /* the text of several values */
};
struct lb_settings {
  struct lb_change *of;
  size_t count;
};

/* Adds those of some words, "KEY=VALUE"; several values, "hold_ms=0.5,0.6", of a key or an option that may be varied: not of a
 * list, and not of a text, which may have commas of its own. 0, or -EINVAL with one line. The words must outlive the
 * settings, and values of texts. What lb_settings_clear() releases is there after an error, too. */
int lb_settings_parse(struct lb_settings *settings, const char *const *words, size_t count, struct lb_error *err);
void lb_settings_clear(struct lb_settings *settings);

/* The default values of a protocol's options, owned by the caller. */
union lb_value *lb_settings_defaults(const struct lb_protocol *protocol);
/* Puts one of the values of a setting (the first one is 0), if it is of this protocol. */
void lb_settings_put_one(const struct lb_change *setting, size_t which, const struct lb_protocol *protocol,
                         union lb_value *values);
/* Puts all that have one value. */
void lb_settings_put(const struct lb_settings *settings, const struct lb_protocol *protocol, union lb_value *values);

/* ---- For commands that have no plan ---- */

/* Checks words. 0, or -EINVAL with one line. */
int lb_settings_check(const char *const *words, size_t count, struct lb_error *err);
/* The option values of a protocol: defaults, then the (checked) words. Owned by the caller, but for texts, which point
 * into the words. No word has several values. */
union lb_value *lb_settings_options(const struct lb_protocol *protocol, const char *const *words, size_t count);
/* True if a word is of a protocol's option: its name is copied to `ret`. */
bool lb_settings_protocol(const char *word, char *ret, size_t size);

#endif
