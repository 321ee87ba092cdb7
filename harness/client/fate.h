/* SPDX-License-Identifier: MIT
 *
 * fate.h - why a client does not answer: it died of a signal, it exited, it hangs in a hook of its
 * protocol.
 */
#ifndef LB_FATE_H
#define LB_FATE_H

#include "client.h"

/* The client was awaited and did not answer: `result` is what lb_client_await() returned,
 * LB_TIMEOUT or -ECONNRESET (an -EPIPE of lb_client_send() is the same as that). Puts a phrase into
 * buf: "no answer in time, inside try_acquire, 3012 ms past its deadline", "died of SIGSEGV inside
 * release", "exited with status 3 inside open". A dead client is reaped. Controller's thread. */
void lb_client_fate(struct lb_client *client, const struct lb_client_state *state, int result, char *buf, size_t size);

#endif
