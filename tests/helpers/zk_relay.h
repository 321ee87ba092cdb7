/* SPDX-License-Identifier: MIT
 *
 * zk_relay.h - a connection between two servers that can be made late in one direction, without any right and without
 * losing a packet: who connects to the relay's port talks to the server behind it, and what that server says is passed
 * on later.
 */
#ifndef LB_TEST_ZK_RELAY_H
#define LB_TEST_ZK_RELAY_H

#include <stdint.h>

#define RELAY_HOLD UINT64_MAX

struct relay;

/* Passes connections on to port `to` of the loopback, in a thread of its own. *ret_port: where to connect to. NULL with
 * errno. */
struct relay *relay_open(uint16_t to, uint16_t *ret_port);
/* What the server says arrives delay_ns after it was said, also what is on its way by now; in the same order.
 * RELAY_HOLD: not at all, until the next call. */
void relay_delay(struct relay *relay, uint64_t delay_ns);
/* Ends the connections. NULL is fine. */
void relay_close(struct relay *relay);

#endif
