/* SPDX-License-Identifier: MIT
 *
 * zk_word.h - four-letter words of ZooKeeper, on a plain connection: that needs no session, so asking changes nothing,
 * and a server that has lost its quorum says so instead of answering.
 */
#ifndef LB_ZK_WORD_H
#define LB_ZK_WORD_H

#include "backends/backend.h"
#include "base/text.h"

/* A connected socket, which does not block; or -errno with env->err. */
int lb_zk_word_connect(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline);
/* The answer to a word. The port from which it was asked, or -errno with env->err. */
int lb_zk_word_ask(struct lb_env *env, const struct lb_endpoint *at, const char *word, lb_ns deadline,
                   struct lb_text *ret);

#endif
