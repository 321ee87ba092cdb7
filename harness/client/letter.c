/* SPDX-License-Identifier: MIT
 *
 * A write arrives at the resource.
 */
#include "letter.h"

bool lb_letter_arrive(const struct lb_letter *letter, struct lb_resource *resources) {
  struct lb_resource *resource = &resources[letter->key];
  uint64_t before;
  if (letter->guard != LB_GUARD_CLAIM) return lb_resource_write(resource, letter->guard == LB_GUARD_FENCE, letter->fence, letter->value);
  if (letter->claims) lb_resource_claim(resource, letter->claim, &before);
  return lb_resource_write_claimed(resource, letter->claim, letter->value);
}
