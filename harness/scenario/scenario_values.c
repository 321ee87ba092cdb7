/* SPDX-License-Identifier: MIT
 *
 * The values of keys: one parser per type of value.
 *
 * A value is written straight into the field that the row of its key names by its offset. So a type
 * means both a notation and the C type of the field; a row with the wrong type would overwrite its
 * neighbour. A value that does not fit leaves the scenario as it was, and the message says what the
 * user wrote and what was expected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_parts.h"
#include "base/suggest.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Plain decimal notation only: strtod alone would take "inf", "0x10" and "1e9". */
static bool parse_decimal(const char *text, bool whole, double *ret) {
  const char *digits = text + (*text == '-');
  size_t before = strspn(digits, "0123456789"), after = 0;
  const char *end = digits + before;
  if (!whole && *end == '.') {
    after = strspn(end + 1, "0123456789");
    end += after + 1;
    if (after == 0) return false;
  }
  if (before == 0 || *end != '\0') return false;
  *ret = strtod(text, NULL);
  return true;
}

/* The bounds are those of the row. They keep later arithmetic (ms to ns, clients times keys) far
 * from overflow. */
static int parse_within(const struct lb_scenario_key *key, const char *value, double *ret, char *err, size_t err_size) {
  const char *kind = key->type == LB_KEY_REAL ? "number" : "whole number";
  if (parse_decimal(value, key->type != LB_KEY_REAL, ret) && *ret >= key->min && *ret <= key->max) return 0;
  return lb_refuse(err, err_size, "%s = %s: expected a %s from %.15g to %.15g%s", key->name, value, kind, key->min,
                   key->max, key->type == LB_KEY_WHOLE_OR_OWN ? ", or own" : "");
}

static int set_number(const struct lb_scenario_key *key, void *field, const char *value, char *err, size_t err_size) {
  double number = 0;
  bool own = key->type == LB_KEY_WHOLE_OR_OWN && strcmp(value, "own") == 0;
  int r = own ? 0 : parse_within(key, value, &number, err, err_size);
  if (r < 0) return r;
  if (key->type == LB_KEY_REAL) *(double *)field = number;
  else if (key->type == LB_KEY_MS) *(int64_t *)field = (int64_t)number;
  else *(int *)field = (int)number;
  return 0;
}

static int add_count(const struct lb_scenario_key *key, const char *word, int *counts, size_t *count, char *err,
                     size_t err_size) {
  double number = 0;
  int r = parse_within(key, word, &number, err, err_size);
  if (r < 0) return r;
  if (*count == LB_CLIENT_COUNTS_MAX)
    return lb_refuse(err, err_size, "%s: expected at most %d numbers", key->name, LB_CLIENT_COUNTS_MAX);
  for (size_t i = 0; i < *count; i++)
    if (counts[i] == (int)number) return lb_refuse(err, err_size, "%s: %d stands there twice", key->name, counts[i]);
  counts[(*count)++] = (int)number;
  return 0;
}

/* "1, 4, 16". An empty word, as behind a last comma, is no number and refused like any other. */
static int set_counts(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, char *err,
                      size_t err_size) {
  int counts[LB_CLIENT_COUNTS_MAX] = {0};
  size_t count = 0;
  for (const char *at = value;; at++) {
    char word[32];
    size_t len = strcspn(at, ",");
    size_t blanks = strspn(at, " \t"), used = len;
    while (used > blanks && (at[used - 1] == ' ' || at[used - 1] == '\t')) used--;
    snprintf(word, sizeof word, "%.*s", used > blanks ? (int)(used - blanks) : 0, at + blanks);
    int r = add_count(key, word, counts, &count, err, err_size);
    if (r < 0) return r;
    at += len;
    if (*at == '\0') break;
  }
  memcpy(scenario->client_counts, counts, sizeof counts);
  scenario->client_count_count = count;
  return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Frees what stood there: a scenario is changed in place. */
static int set_text(char **field, const char *value) {
  char *copy = strdup(value);
  if (!copy) return -ENOMEM;
  free(*field);
  *field = copy;
  return 0;
}

static int set_storage(bool *field, const char *value, char *err, size_t err_size) {
  if (strcmp(value, "memory") != 0 && strcmp(value, "disk") != 0)
    return lb_refuse(err, err_size, "storage = %s: expected memory or disk", value);
  *field = value[0] == 'm';
  return 0;
}

static int set_yes_no(const struct lb_scenario_key *key, bool *field, const char *value, char *err, size_t err_size) {
  if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return lb_refuse(err, err_size, "%s = %s: expected yes or no", key->name, value);
  *field = value[0] == 'y';
  return 0;
}

/* "key absent on current primary": the text, in one spelling, and what it asks for. The judge
 * compares the parsed fact; the text is for people. */
static int set_fact(const struct lb_scenario_key *key, struct lb_scenario *scenario, char **field, const char *value, char *err, size_t err_size) {
  char copy[256], fact[80], role_name[32], why[LB_SCENARIO_ERR];
  char *words[8];
  struct lb_role role = {0};
  snprintf(copy, sizeof copy, "%s", value);
  size_t count = lb_split_words(copy, words, 8);
  bool form = count >= 4 && count <= 8 && strcmp(words[0], "key") == 0 && strcmp(words[2], "on") == 0 &&
              (strcmp(words[1], "absent") == 0 || strcmp(words[1], "present") == 0);
  int taken = form ? lb_role_parse(words + 3, count - 3, &role, why, sizeof why) : 0;
  if (taken < 0) return lb_refuse(err, err_size, "%s = %s: %s", key->name, value, why);
  if (!form || (size_t)taken != count - 3)
    return lb_refuse(err, err_size, "%s = %s: expected key absent on A or key present on A, as in observe key on A",
                     key->name, value);
  lb_role_format(role, role_name, sizeof role_name);
  snprintf(fact, sizeof fact, "key %s on %s", words[1], role_name);
  scenario->proof_role = role;
  scenario->proof_present = strcmp(words[1], "present") == 0;
  return set_text(field, fact);
}

static int add_premise(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, int line, char *err,
                       size_t err_size) {
  char why[LB_SCENARIO_ERR];
  struct lb_premise premise = {.of_safe = strcmp(key->name, "safe") == 0, .line = line};
  int r = lb_premise_parse(value, &premise, why, sizeof why);
  if (r == -EINVAL) return lb_refuse(err, err_size, "%s = %s: %s", key->name, value, why);
  if (r < 0) return r;
  struct lb_premise *premises = realloc(scenario->premises, (scenario->premise_count + 1) * sizeof *premises);
  if (!premises) return free(premise.text), -ENOMEM;
  scenario->premises = premises;
  premises[scenario->premise_count++] = premise;
  return 0;
}

/* "PROTOCOL.fence=yes": its form only. */
static int add_option(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *value, char *err, size_t err_size) {
  const char *dot = strchr(value, '.'), *equals = strchr(value, '=');
  bool form = dot && equals && dot > value && equals > dot + 1 && equals[1] && strcspn(value, " \t") == strlen(value);
  if (!form) return lb_refuse(err, err_size, "%s = %s: expected %s", key->name, value, lb_scenario_type_name(key->type));
  char *copy = strdup(value), **options = realloc(scenario->options, (scenario->option_count + 1) * sizeof *options);
  if (options) scenario->options = options;
  if (!copy || !options) return free(copy), -ENOMEM;
  options[scenario->option_count++] = copy;
  return 0;
}

/* A list gets one more entry with each call, that of steps one or several (step_list.c). What is expected has a parser of its own
 * (expect.c). */
int lb_scenario_key_set(const struct lb_scenario_key *key, struct lb_scenario *scenario, const char *name,
                        const char *value, int line, char *err, size_t err_size) {
  void *field = (char *)scenario + key->offset;
  int r = 0;
  if (*value == '\0')
    return lb_refuse(err, err_size, "%s is empty: expected %s", name, lb_scenario_type_name(key->type));
  switch (key->type) {
    case LB_KEY_TEXT: r = set_text(field, value); break;
    case LB_KEY_WHOLE:
    case LB_KEY_WHOLE_OR_OWN:
    case LB_KEY_MS:
    case LB_KEY_REAL: return set_number(key, field, value, err, err_size);
    case LB_KEY_WHOLE_LIST: return set_counts(key, scenario, value, err, err_size);
    case LB_KEY_YES_NO: return set_yes_no(key, field, value, err, err_size);
    case LB_KEY_STORAGE: return set_storage(field, value, err, err_size);
    case LB_KEY_OPTION: r = add_option(key, scenario, value, err, err_size); break;
    case LB_KEY_STEP:
      if (key->offset == offsetof(struct lb_scenario, steps)) r = lb_scenario_add_steps(value, line, scenario, err, err_size);
      else r = lb_scenario_add_step(name, value, line, &scenario->faults, &scenario->fault_count, err, err_size);
      break;
    case LB_KEY_FACT: r = set_fact(key, scenario, field, value, err, err_size); break;
    case LB_KEY_PREMISE: r = add_premise(key, scenario, value, line, err, err_size); break;
    case LB_KEY_VERDICT: break;
  }
  if (r == -ENOMEM) lb_refuse(err, err_size, "out of memory");
  return r;
}
