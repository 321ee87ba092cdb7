/* SPDX-License-Identifier: MIT
 *
 * What a server's errors mean. An error is an answer: what was asked was not done.
 */
#include "redis_util.h"

#include <errno.h>
#include <string.h>

int redis_refusal(struct lb_env *env, const redisReply *reply) {
  static const struct {
    const char *code;
    int error;
  } table[] = {
      {"READONLY", EROFS}, {"MASTERDOWN", EROFS}, {"LOADING", EAGAIN}, {"BUSY", EAGAIN},  {"NOREPLICAS", ENOLINK},
      {"OOM", ENOMEM},     {"MISCONF", EIO},      {"NOAUTH", EACCES},  {"NOPERM", EPERM},
      {"MOVED", EROFS},    {"ASK", EROFS},        {"CLUSTERDOWN", EAGAIN}, {"TRYAGAIN", EAGAIN}, {"CROSSSLOT", EINVAL},
  };
  if (reply->type != REDIS_REPLY_ERROR) return 0;
  size_t length = strcspn(reply->str, " ");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strlen(table[i].code) == length && !strncmp(reply->str, table[i].code, length))
      return lb_fail(env, -table[i].error, "redis refused: %s", reply->str);
  return lb_fail(env, -EPROTO, "redis refused: %s", reply->str);
}
