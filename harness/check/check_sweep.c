/* SPDX-License-Identifier: MIT
 *
 * What the sweep remembers of clients and keys.
 */
#include "check_sweep.h"

#include "base/need.h"

struct pair *lb_check_pair(struct sweep *s, uint32_t client, uint32_t key) {
  uint32_t before = s->numbers.count, number = lb_pairs_number(&s->numbers, client, key);
  if (s->numbers.count > before) {
    s->pairs = lb_need_one_more(s->pairs, number, sizeof *s->pairs);
    s->pairs[number] =
        (struct pair){.client = client, .key = key, .end_t = NEVER, .shared_end_t = NEVER, .episode = NO_EPISODE};
  }
  return &s->pairs[number];
}
