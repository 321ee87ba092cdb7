/* SPDX-License-Identifier: MIT
 *
 * `lockbench which`: the locks that should survive some faults, by the rules. Where none does: what stands against the best one, and which guard or fact would help.
 * The whole answer is made as JSON first (cli_which_find.c) and then told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "cli.h"
#include "cli_table.h"
#include "cli_which.h"

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* "a, b and c", at most `most` of them. */
static void join(const json_t *list, size_t most, const char *last, char *ret, size_t size) {
  size_t i, at = 0, count = json_array_size(list);
  const json_t *word;
  *ret = '\0';
  json_array_foreach(list, i, word) {
    if (at >= size || i >= most) break;
    at += (size_t)snprintf(ret + at, size - at, "%s%s", i == 0 ? "" : i + 1 == count ? last : ", ", json_string_value(word));
  }
  if (count > most && at < size) snprintf(ret + at, size - at, " and %zu more", count - most);
}

/* ---- where some are left --------------------------------------------------------------------- */

/* Why a step cannot be done names the lock, so locks that it cannot be done to would all differ. */
static const char *reason_of(const json_t *cell) { return strcmp(text_of(cell, "source"), "fit") == 0 ? "it cannot be put to this lock" : text_of(cell, "reason"); }

static bool are_alike(const json_t *a, const json_t *b) {
  size_t i;
  const json_t *cell;
  json_array_foreach(json_object_get(a, "cells"), i, cell) {
    const json_t *other = json_array_get(json_object_get(b, "cells"), i);
    if (strcmp(text_of(cell, "verdict"), text_of(other, "verdict")) != 0 || strcmp(reason_of(cell), reason_of(other)) != 0) return false;
  }
  return true;
}

/* Locks with the same cells stand together: their names, then the cells. */
static void print_group(const json_t *systems, size_t first) {
  json_t *system = json_array_get(systems, first), *names = json_array(), *other;
  char line[2000];
  size_t i;
  const json_t *cell;
  for (i = first; i < json_array_size(systems); i++) {
    other = json_array_get(systems, i);
    if (json_integer_value(json_object_get(other, "lost")) || !are_alike(system, other)) continue;
    json_array_append(names, json_object_get(other, "system"));
    json_object_set_new(other, "told", json_true());
  }
  join(names, SIZE_MAX, ", ", line, sizeof line);
  putchar('\n');
  lb_table_wrap(line, 0, 0);
  json_decref(names);
  json_array_foreach(json_object_get(system, "cells"), i, cell) {
    snprintf(line, sizeof line, "%s: %s: %s", text_of(cell, "scenario"), text_of(cell, "verdict"), reason_of(cell));
    fputs("  ", stdout);
    lb_table_wrap(line, 2, 4);
  }
}

static void print_number(const json_t *cost, const char *key, double unit, int decimals) {
  const json_t *value = json_object_get(cost, key);
  if (json_is_real(value)) printf(" %12.*f", decimals, json_real_value(value) / unit);
  else printf(" %12s", "-");
}

/* Of the locks without a reference run nothing is said. */
static void print_costs(const json_t *systems) {
  bool any = false;
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system) {
    const json_t *cost = json_object_get(system, "cost");
    if (json_integer_value(json_object_get(system, "lost")) || !json_is_object(cost)) continue;
    if (!any) printf("\n%-28s %12s %12s %12s  measured in\n", "cost without a guard", "1 client/s", "16 clients/s", "hand-off ms");
    any = true;
    printf("%-28s", text_of(system, "system"));
    print_number(cost, "grants_per_s_1", 1, 0);
    print_number(cost, "grants_per_s_16", 1, 0);
    print_number(cost, "handoff_us_16", 1000, 2);
    printf("  %s\n", text_of(cost, "run"));
  }
  if (!any) puts("\nno reference run has measured what these cost");
}

static bool any_nothing(const json_t *systems) {
  size_t i, c;
  const json_t *system, *cell;
  json_array_foreach(systems, i, system) {
    if (json_integer_value(json_object_get(system, "lost"))) continue;
    json_array_foreach(json_object_get(system, "cells"), c, cell) if (strcmp(text_of(cell, "verdict"), "n/a") == 0) return true;
  }
  return false;
}

static void print_left(const json_t *systems) {
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system)
    if (!json_integer_value(json_object_get(system, "lost")) && !json_object_get(system, "told")) print_group(systems, i);
  if (any_nothing(systems)) puts("\nn/a: by its facts, the fault takes nothing from the lock, or the question cannot be put to it");
  print_costs(systems);
}

/* ---- where none is --------------------------------------------------------------------------- */

static const json_t *find(const json_t *systems, const char *name) {
  size_t i;
  const json_t *system;
  json_array_foreach(systems, i, system) if (strcmp(text_of(system, "system"), name) == 0) return system;
  return NULL;
}

/* What would make this cell safe. */
static void print_remedies(const json_t *cell) {
  char line[2000];
  size_t i;
  const json_t *change;
  if (json_array_size(json_object_get(cell, "survives_under"))) {
    join(json_object_get(cell, "survives_under"), SIZE_MAX, " or ", line, sizeof line);
    printf("      survives under the guard %s\n", line);
  } else {
    puts("      no guard helps");
  }
  json_array_foreach(json_object_get(cell, "survives_if"), i, change) {
    snprintf(line, sizeof line, "survives if %s=%s instead of %s: %s: %s", text_of(change, "fact"), text_of(change, "value"), text_of(change, "now"),
             text_of(change, "verdict"), text_of(change, "reason"));
    fputs("      ", stdout);
    lb_table_wrap(line, 6, 8);
  }
  if (!i) puts("      no single fact helps");
}

static void print_nearest(const json_t *answer) {
  const json_t *fewest = json_object_get(answer, "fewest"), *system = find(json_object_get(answer, "systems"), json_string_value(json_array_get(fewest, 0))), *cell;
  char line[2000];
  size_t i;
  json_t *others = json_copy((json_t *)fewest);
  json_array_remove(others, 0);
  char also[300];
  join(others, 3, " and ", also, sizeof also);
  json_decref(others);
  snprintf(line, sizeof line, "%s is lost in %lld of %zu, the fewest%s%s", text_of(system, "system"), (long long)json_integer_value(json_object_get(system, "lost")),
           json_array_size(json_object_get(system, "cells")), *also ? "; as few: " : "", also);
  putchar('\n');
  lb_table_wrap(line, 0, 4);
  json_array_foreach(json_object_get(system, "cells"), i, cell) {
    if (!json_is_true(json_object_get(cell, "stands_against"))) continue;
    snprintf(line, sizeof line, "%s: %s: %s", text_of(cell, "scenario"), text_of(cell, "verdict"), text_of(cell, "reason"));
    fputs("  ", stdout);
    lb_table_wrap(line, 2, 4);
    print_remedies(cell);
  }
}

/* How many are left under each guard. */
static void print_guards(const json_t *answer) {
  const char *guard;
  const json_t *count;
  bool any = false;
  json_object_foreach((json_t *)json_object_get(answer, "left_under"), guard, count) {
    if (!json_integer_value(count)) continue;
    printf("%s%lld under %s", any ? ", " : "\nleft: ", (long long)json_integer_value(count), guard);
    any = true;
  }
  puts(any ? " (--guard)" : "\nno guard leaves one");
}

/* ---- all ------------------------------------------------------------------------------------- */

void lb_which_tell(const json_t *answer) {
  const json_t *systems = json_object_get(answer, "systems"), *left = json_object_get(answer, "left");
  char scenarios[1000], servers[300], line[2000];
  bool guarded = strcmp(text_of(answer, "guard"), "none") != 0;
  size_t count = json_array_size(left);
  join(json_object_get(answer, "scenarios"), 6, " and ", scenarios, sizeof scenarios);
  join(json_object_get(answer, "on"), 6, " or ", servers, sizeof servers);
  char number[24] = "each";
  if (count) snprintf(number, sizeof number, "%zu", count);
  snprintf(line, sizeof line, "%s of %zu locks%s%s should %s %s %s%s", number, json_array_size(systems), *servers ? " on " : "", servers, count ? "not be lost to" : "be lost to some of", scenarios,
           guarded ? "under the guard " : "without a guard", guarded ? text_of(answer, "guard") : "");
  lb_table_wrap(line, 0, 0);
  if (count) return print_left(systems);
  print_nearest(answer);
  print_guards(answer);
}
