/* SPDX-License-Identifier: MIT
 *
 * An attempt at PostgreSQL as the token of its grant.
 */
#include "pg_attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct pg_attempt pg_attempt_new(struct lb_env *env, const char *client) {
  struct pg_attempt attempt = {0};
  uint64_t unique;
  lb_random(env, &unique, sizeof unique);
  snprintf(attempt.owner, sizeof attempt.owner, "%.40s-%016" PRIx64, client, unique);
  for (char *at = attempt.owner; (at = strchr(at, '@'));) *at = '-';
  return attempt;
}

struct pg_attempt pg_attempt_get(const struct lb_grant *grant) {
  struct pg_attempt attempt = {0};
  char text[LB_TOKEN_MAX + 1], state = 0;
  snprintf(text, sizeof text, "%.*s", (int)grant->token_len, grant->token);
  int fields = sscanf(text, "%63[^@]@%c %d %31s", attempt.owner, &state, &attempt.origin.pid, attempt.origin.born);
  attempt.state = fields == 4 ? (enum pg_attempt_state)state : PG_NO_PROCESS;
  return attempt;
}

void pg_attempt_put(const struct pg_attempt *attempt, struct lb_grant *grant) {
  int n = attempt->state ? snprintf(grant->token, sizeof grant->token, "%s@%c %d %s", attempt->owner,
                                    (char)attempt->state, attempt->origin.pid, attempt->origin.born)
                         : snprintf(grant->token, sizeof grant->token, "%s", attempt->owner);
  grant->token_len = (size_t)n;
}
