/* SPDX-License-Identifier: MIT
 *
 * The command is put together from what the run says of itself: the cell, the workload of its
 * scenario, and the options that the run was started with.
 *
 * What only a suite of somebody's own has changed (of the shipped ones, everything is in the
 * workload) is not known here: for those the command is a beginning.
 */
#include "explain_again.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"

struct command {
  char *text;
  size_t size;
};

static const char *text(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "";
}

/* Text that does not fit is cut. */
static void append(struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct command *c, const char *format, ...) {
  size_t used = strlen(c->text);
  va_list args;
  va_start(args, format);
  vsnprintf(c->text + used, c->size - used, format, args);
  va_end(args);
}

/* One word of a shell, quoted where a shell would take it apart. It comes from a file that somebody
 * may have been sent, so control characters become question marks. */
static void append_word(struct command *c, const char *word) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  const char *quote = *word && strspn(word, plain) == strlen(word) ? "" : "'";
  append(c, " %s", quote);
  for (; *word; word++) {
    if (*word == '\'') append(c, "'\\''");
    else append(c, "%c", (unsigned char)*word < ' ' || *word == 127 ? '?' : *word);
  }
  append(c, "%s", quote);
}

/* A scenario that was shipped is known by its name, any other by its file. Older runs have `file` without the folder of its theme.
 * A variant comes back with the others of its base: its trials are drawn by its name, which the list of values makes. */
static void append_scenario(struct command *c, const struct lb_told *told) {
  const char *file = text(told->scenario, "file");
  bool shipped = !*file || strncmp(file, "scenarios/", 10) == 0;
  const char *base = text(told->scenario, "base");
  append_word(c, !shipped ? file : *base ? base : text(told->cell, "scenario"));
}

/* Keys that suites change, as the run had them. A timeline has one number of clients, which its
 * file states. */
static void append_workload(struct command *c, const struct lb_told *told) {
  static const char *const keys[] = {"duration_s", "warmup_s", "settle_s"};
  const json_t *workload = json_object_get(told->scenario, "workload"), *value;
  if (json_array_size(json_object_get(told->scenario, "steps")) == 0) {
    append(c, " -s");
    char clients[40];
    snprintf(clients, sizeof clients, "clients=%s", told->trial.clients);
    append_word(c, clients);
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if ((value = json_object_get(workload, keys[i])) && json_number_value(value) > 0)
      append(c, " -s %s=%.15g", keys[i], json_number_value(value));
}

/* True for what append_workload() and the seed have said already: that is exact where argv may
 * speak of several numbers of clients. */
static bool is_said(const char *setting) {
  static const char *const said[] = {"clients=", "duration_s=", "warmup_s=", "settle_s=", "trials="};
  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    if (strncmp(setting, said[i], strlen(said[i])) == 0) return true;
  return false;
}

/* Each -s and --plugin, with the value that stands behind it. */
static void append_options(struct command *c, const struct lb_told *told) {
  const json_t *argv = json_object_get(told->run, "argv");
  for (size_t i = 0; i + 1 < json_array_size(argv); i++) {
    const char *option = json_string_value(json_array_get(argv, i)), *value = json_string_value(json_array_get(argv, i + 1));
    if (!option || !value) continue;
    bool plugin = strcmp(option, "--plugin") == 0, set = strcmp(option, "-s") == 0 || strcmp(option, "--set") == 0;
    if (!plugin && (!set || is_said(value))) continue;
    append(c, plugin ? " --plugin" : " -s");
    append_word(c, value);
    i++;
  }
}

/* Trials are numbered from 1, so `-n TRIAL` makes all up to the chosen one, which has the same seed
 * again. */
void lb_told_again(const struct lb_told *told, char *ret, size_t size) {
  struct command c = {ret, size};
  const json_t *seed = json_object_get(told->run, "seed");
  *ret = '\0';
  append(&c, "%s run", lb_called());
  append_scenario(&c, told);
  append(&c, " -b");
  append_word(&c, text(told->cell, "system"));
  append(&c, " -g");
  append_word(&c, text(told->cell, "guard"));
  append(&c, " -n");
  append_word(&c, told->trial.trial);
  append_workload(&c, told);
  append_options(&c, told);
  if (json_is_integer(seed)) append(&c, " --seed %lld", (long long)json_integer_value(seed));
}
