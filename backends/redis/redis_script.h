/* SPDX-License-Identifier: MIT
 *
 * redis_script.h - scripts that look at the token in a key before they touch it.
 */
#ifndef LB_REDIS_SCRIPT_H
#define LB_REDIS_SCRIPT_H

#include <stdbool.h>

struct redis_script {
  const char *sha1, *text;
  bool counts; /* KEYS[2] is the counter of the key's grants, which ends a day after the latest one */
};
extern const struct redis_script redis_script_delete_if_mine; /* KEYS[1], ARGV token: 1 deleted, 0 not mine */
/* The same, and the channel with the name of the key is told. */
extern const struct redis_script redis_script_delete_and_tell;
extern const struct redis_script redis_script_expire_if_mine; /* KEYS[1], ARGV token, ttl in ms: 1 set, 0 not mine */

/* KEYS[1], counter, ARGV token, ttl in ms: the number of the grant; below 0 if the key was ours before; 0 busy. */
extern const struct redis_script redis_script_set_numbered;
/* expire_if_mine, and the counter lasts on, too. */
extern const struct redis_script redis_script_expire_numbered_if_mine;
/* KEYS[1], counter, ARGV token: a number for the key that is ours, 0 not mine. */
extern const struct redis_script redis_script_number_if_mine;

#endif
