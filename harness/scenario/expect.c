/* SPDX-License-Identifier: MIT
 *
 * What a scenario expects of whom: the sections [expect ...] of its file.
 */
#include "expect.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/need.h"
#include "base/text.h"
#include "reader.h"

#define WORDS "safe, violated, stuck, delayed, mixed, n/a or race"

/* ---- the guards of a section ----------------------------------------------------------------- */

static int refuse_guard(const char *section, const char *word, struct lb_error *err) {
  const char *known[LB_GUARD_COUNT];
  char list[128] = "";
  for (size_t i = 0, at = 0; i < LB_GUARD_COUNT && at < sizeof list; i++) {
    known[i] = lb_guard_name((enum lb_guard)i);
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                           i == 0                    ? ""
                           : i + 1 == LB_GUARD_COUNT ? " or "
                                                     : ", ",
                           known[i]);
  }
  const char *near = lb_text_suggest(word, known, LB_GUARD_COUNT);
  if (near) return lb_refuse(err, "[%s]: no guard '%s', did you mean '%s'? expected %s", section, word, near, list);
  return lb_refuse(err, "[%s]: no guard '%s': expected %s", section, word, list);
}

int lb_expect_guards(const char *section, unsigned *ret, struct lb_error *err) {
  char copy[80];
  unsigned guards = 0;
  snprintf(copy, sizeof copy, "%s", section);
  char *rest = copy, *word = strsep(&rest, LB_BLANKS);
  if (strcmp(word, LB_EXPECT) != 0) return -ENOENT;
  while ((word = strsep(&rest, LB_BLANKS))) {
    if (*word == '\0') continue;
    int guard = lb_guard_find(word);
    if (guard < 0) return refuse_guard(section, word, err);
    if (guards & 1u << guard) return lb_refuse(err, "[%s]: %s stands there twice", section, word);
    guards |= 1u << guard;
  }
  *ret = guards ? guards : 1u << LB_GUARD_NONE;
  return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Form only: this room knows no protocols, and one may be a plugin that is not loaded now. */
static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-*",
                    kinds[] = "abcdefghijklmnopqrstuvwxyz0123456789-*:";
  size_t protocol = strspn(name, kinds);
  if (strcmp(name, "*") == 0) return true;
  if (protocol == 0 || name[protocol] != '@') return false;
  size_t topology = strspn(name + protocol + 1, letters);
  return topology > 0 && name[protocol + 1 + topology] == '\0';
}

/* The kind of a foreign lock stands before its `@`, an origin behind it. */
size_t lb_expect_name_length(const char *system) {
  const char *at = strchr(system, '@');
  return at ? (size_t)(at - system) + strcspn(at, ":") : strlen(system);
}

bool lb_expect_is_exact(const struct lb_expect *expect) { return !strchr(expect->system, '*'); }

/* True if its name is or matches that of the system. The guard is not looked at. */
static bool expect_fits(const struct lb_expect *expect, const char *system) {
  return fnmatch(expect->system, system, 0) == 0;
}

/* How much a line says of the systems that it fits: its letters without the `*`, and more than any
 * pattern can have for the system itself. */
static size_t exactness(const struct lb_expect *expect) {
  size_t letters = 0;
  if (lb_expect_is_exact(expect)) return SIZE_MAX;
  for (const char *at = expect->system; *at; at++) letters += *at != '*';
  return letters;
}

/* Leaves out those that fit `but` as well (NULL = leaves out none). Of two lines that are as exact, the first one
 * counts. */
static const struct lb_expect *find_best(const struct lb_scenario *scenario, const char *system, const char *but,
                                         enum lb_guard guard) {
  const struct lb_expect *best = NULL;
  for (size_t i = 0; i < scenario->expect_count; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    if (expect->guard != guard || !expect_fits(expect, system) || (but && expect_fits(expect, but))) continue;
    if (!best || exactness(expect) > exactness(best)) best = expect;
  }
  return best;
}

const struct lb_expect *lb_scenario_expect(const struct lb_scenario *scenario, const char *system,
                                           enum lb_guard guard) {
  return find_best(scenario, system, NULL, guard);
}

const struct lb_expect *lb_scenario_expect_like(const struct lb_scenario *scenario, const char *system,
                                                const char *like, enum lb_guard guard) {
  const struct lb_expect *own = find_best(scenario, system, like, guard);
  return own ? own : lb_scenario_expect(scenario, like, guard);
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* Only verdicts that can be expected of a cell: not undecided, not skipped. */
static int parse_verdict(const char *system, const char *word, enum lb_verdict *ret, struct lb_error *err) {
  static const enum lb_verdict wanted[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_MIXED, LB_NA, LB_ANY};
  const char *known[sizeof wanted / sizeof *wanted];
  const size_t count = sizeof wanted / sizeof *wanted;
  for (size_t i = 0; i < count; i++) {
    known[i] = lb_verdict_name(wanted[i]);
    if (strcmp(known[i], word) != 0) continue;
    *ret = wanted[i];
    return 0;
  }
  const char *near = lb_text_suggest(word, known, count);
  if (near) return lb_refuse(err, "%s = %s: did you mean '%s'? expected " WORDS, system, word, near);
  return lb_refuse(err, "%s = %s: expected " WORDS ", and a reason: %s = safe: REASON", system, word, system);
}

static void append(struct lb_scenario *scenario, enum lb_guard guard, const char *system, enum lb_verdict verdict,
                   const char *reason) {
  LB_APPEND(scenario->expect, scenario->expect_count) =
      (struct lb_expect){guard, lb_need_text(system), verdict, lb_need_text(reason)};
}

/* One name of the key, under each guard of the section. */
static int add_name(struct lb_scenario *scenario, unsigned guards, const char *system, enum lb_verdict verdict,
                    const char *reason, struct lb_error *err) {
  if (!is_name(system))
    return lb_refuse(err, "'%s' is not a system: expected PROTOCOL@TOPOLOGY, in which * stands for any text, or *",
                     system);
  for (size_t i = 0; i < scenario->expect_count; i++)
    if (guards & 1u << scenario->expect[i].guard && strcmp(scenario->expect[i].system, system) == 0)
      return lb_refuse(err, "%s is expected twice", system);
  for (int g = 0; g < LB_GUARD_COUNT; g++)
    if (guards & 1u << g) append(scenario, (enum lb_guard)g, system, verdict, reason);
  return 0;
}

/* A file may write `:` for `=`, so "peer:kazoo@zk = safe: ..." comes here as "peer" and "kazoo@zk = safe: ...". The
 * last name decides: one that is the kind of a foreign lock alone goes on in the value. */
static const char *go_on(const char *names, const char *value, char *list, size_t size) {
  static const char *const kinds[] = {"peer", "exec"};
  const char *comma = strrchr(names, ','), *last = comma ? comma + 1 : names, *equals = strchr(value, '=');
  last += strspn(last, LB_BLANKS);
  snprintf(list, size, "%s", names);
  for (size_t i = 0; equals && i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(last, kinds[i]) != 0) continue;
    snprintf(list, size, "%s:%.*s", names, (int)(equals - value), value);
    value = equals + 1;
    return value + strspn(value, LB_BLANKS);
  }
  return value;
}

/* "safe: a majority has to agree": the verdict, and behind the first colon the reason, which tables
 * and reports show. */
int lb_expect_add(struct lb_scenario *scenario, unsigned guards, const char *names, const char *value,
                  struct lb_error *err) {
  char word[256], list[1024];
  enum lb_verdict verdict = LB_SAFE;
  value = go_on(names, value, list, sizeof list);
  size_t len = strcspn(value, ":");
  const char *reason = value[len] ? value + len + 1 : value + len;
  reason += strspn(reason, LB_BLANKS);
  while (len > 0 && strchr(LB_BLANKS, value[len - 1])) len--;
  snprintf(word, sizeof word, "%.*s", (int)len, value);
  int r = *value ? parse_verdict(names, word, &verdict, err)
                 : lb_refuse(err, "%s is empty: expected %s", names, lb_scenario_type_name(LB_KEY_VERDICT));
  for (char *rest = list, *name; r == 0 && (name = strsep(&rest, ","));) {
    name += strspn(name, LB_BLANKS);
    for (size_t end = strlen(name); end > 0 && strchr(LB_BLANKS, name[end - 1]); end--) name[end - 1] = '\0';
    r = add_name(scenario, guards, name, verdict, reason, err);
  }
  return r;
}
