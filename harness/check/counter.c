/* SPDX-License-Identifier: MIT
 *
 * The table of counters, and what can be done with a number by its row alone.
 *
 * Every counter has 8 bytes, whatever its type: uint64_t, int64_t or double. So one can be copied, summed and printed
 * by its offset, and code that shows counters never names one.
 */
#include "counter.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_OF(field)                                                                                                 \
  _Generic(((struct lb_counters *)0)->field, uint64_t                                                                  \
           : LB_COUNTER_WHOLE, int64_t                                                                                 \
           : LB_COUNTER_SIGNED, double                                                                                 \
           : LB_COUNTER_REAL)
#define ROW(ctype, field, ...) {.type = TYPE_OF(field), .offset = offsetof(struct lb_counters, field), __VA_ARGS__},
const struct lb_counter lb_counter_rows[] = {LB_COUNTERS(ROW)};
const size_t lb_counter_row_count = sizeof lb_counter_rows / sizeof *lb_counter_rows;

/* Times are kept in ns, but those in s are real numbers of seconds already. */
static double per_unit(const struct lb_counter *row) {
  if (row->unit && strcmp(row->unit, "ms") == 0) return 1e6;
  return row->unit && strcmp(row->unit, "us") == 0 ? 1e3 : 1;
}

static const void *field(const struct lb_counter *row, const struct lb_counters *counters) {
  return (const char *)counters + row->offset;
}

/* A name comes out of the source and not from a user; a wrong one is a mistake of ours. */
const struct lb_counter *lb_counter_named(const char *name) {
  for (size_t i = 0; i < lb_counter_row_count; i++)
    if (strcmp(lb_counter_rows[i].name, name) == 0) return &lb_counter_rows[i];
  abort();
}

const struct lb_counter *lb_counter_next(const struct lb_counter *row, enum lb_counter_group group,
                                         enum lb_counter_place place) {
  for (row = row ? row + 1 : lb_counter_rows; row < lb_counter_rows + lb_counter_row_count; row++)
    if (row->group == group && row->places & place) return row;
  return NULL;
}

const char *lb_counter_name_in(const struct lb_counter *row, enum lb_counter_place place) {
  return place == LB_IN_CELLS && row->cell ? row->cell : row->name;
}

/* Read off the number itself. */
static bool is_seen(const struct lb_counter *row, const struct lb_counters *counters) {
  if (row->type == LB_COUNTER_REAL) return *(const double *)field(row, counters) >= 0;
  return row->type != LB_COUNTER_SIGNED || *(const int64_t *)field(row, counters) >= 0;
}

/* All conditions of the row have to hold. */
bool lb_counter_applies(const struct lb_counter *row, const struct lb_counters *counters, unsigned met) {
  bool seen = is_seen(row, counters);
  return (row->only & ~(met | LB_IF_SEEN)) == 0 && (seen || !(row->only & LB_IF_SEEN));
}

int64_t lb_counter_whole(const struct lb_counter *row, const struct lb_counters *counters) {
  return *(const int64_t *)field(row, counters); /* a count of either sign; none is near the end of its type */
}

double lb_counter_value(const struct lb_counter *row, const struct lb_counters *counters) {
  const void *at = field(row, counters);
  return (row->type == LB_COUNTER_REAL ? *(const double *)at : (double)*(const int64_t *)at) / per_unit(row);
}

void lb_counter_print(const struct lb_counter *row, const struct lb_counters *counters, FILE *out) {
  if (row->decimals) fprintf(out, "%.*f", row->decimals, lb_counter_value(row, counters));
  else fprintf(out, "%lld", (long long)lb_counter_whole(row, counters));
}

/* -1 where 0 would mean "at once": a time that was never measured. */
struct lb_counters lb_counters_none(void) {
  struct lb_counters none = {0};
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    void *at = (char *)&none + row->offset;
    if (!(row->only & LB_IF_SEEN)) continue;
    if (row->type == LB_COUNTER_REAL) *(double *)at = -1;
    else *(int64_t *)at = -1;
  }
  return none;
}

void lb_counters_take(struct lb_counters *counters, const struct lb_counters *from, enum lb_counter_source source) {
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    if (row->source == source) memcpy((char *)counters + row->offset, field(row, from), sizeof(int64_t));
  }
}

/* A sum of medians is no median: to show one, look at the trials. */
void lb_counters_add(struct lb_counters *sum, const struct lb_counters *trial) {
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    if (row->add != LB_ADD_SUM && row->add != LB_ADD_MAX) continue;
    int64_t *at = (int64_t *)((char *)sum + row->offset), x = lb_counter_whole(row, trial);
    if (row->add == LB_ADD_SUM) *at += x;
    else if (x > *at) *at = x;
  }
}

void lb_counters_json(json_t *object, const struct lb_counters *counters, const enum lb_counter_group *groups,
                      size_t count, enum lb_counter_place place, unsigned met) {
  for (size_t i = 0; i < count; i++)
    for (const struct lb_counter *row = NULL; (row = lb_counter_next(row, groups[i], place));) {
      bool applies = counters && lb_counter_applies(row, counters, met);
      json_t *value = !applies        ? json_null()
                      : row->decimals ? json_real(lb_counter_value(row, counters))
                                      : json_integer((json_int_t)lb_counter_whole(row, counters));
      json_object_set_new(object, lb_counter_name_in(row, place), value);
    }
}
