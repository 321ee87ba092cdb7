/* SPDX-License-Identifier: MIT
 *
 * Counters as members of JSON objects.
 */
#include "counter_json.h"

void lb_counters_json(json_t *object, const struct lb_counters *counters, const enum lb_counter_group *groups, size_t count,
                      enum lb_counter_place place, unsigned met) {
  for (size_t i = 0; i < count; i++)
    for (const struct lb_counter *row = NULL; (row = lb_counter_next(row, groups[i], place));) {
      bool applies = counters && lb_counter_applies(row, counters, met);
      json_t *value = !applies        ? json_null()
                      : row->decimals ? json_real(lb_counter_value(row, counters))
                                      : json_integer((json_int_t)lb_counter_whole(row, counters));
      json_object_set_new(object, lb_counter_name_in(row, place), value);
    }
}
