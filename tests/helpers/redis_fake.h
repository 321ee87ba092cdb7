/* SPDX-License-Identifier: MIT
 *
 * redis_fake.h - a Redis server that answers what the test tells it, in a world whose time the test owns: while the
 * code under test waits, the server works; when it has nothing to say, the clock jumps to the deadline. Nothing ever
 * sleeps.
 */
#ifndef LB_TEST_REDIS_FAKE_H
#define LB_TEST_REDIS_FAKE_H

#include "backends/backend.h"

extern struct lb_env fake_env;
extern lb_ns fake_now;
extern uint16_t fake_port;

#define FAKE_SILENCE ((const char *)0) /* answer: none; also when the test has given no answer */
#define FAKE_CLOSE "close"             /* answer: the server ends the connection */

/* Starts over, on every loopback address: time 1 s, a new port, no connections, no answers. */
void fake_start(void);
void fake_stop(void);
/* What the next command not yet spoken for is answered with: a reply as on the wire, "+OK\r\n". */
void fake_answer(const char *answer);
/* And what the code under test makes of it. */
#define ANSWERED(answer, call, result) (fake_answer(answer), assert_int_equal(call, result))
/* Says something unasked on the newest connection. */
void fake_say(const char *text);
/* Ends the newest connection. */
void fake_hang_up(void);
/* The server reads no more. */
void fake_go_deaf(void);
/* Each answer goes out a byte at a time, and every byte takes that long. */
void fake_drip(lb_ns per_byte);
/* The command received as number i, its words joined by blanks; "" = not received. */
const char *fake_heard(size_t i);
size_t fake_heard_count(void);
/* The address that it was sent to: 3 for 127.0.0.3; 0 = not received. */
unsigned fake_heard_at(size_t i);
/* Connections accepted so far. */
size_t fake_accepted(void);

#endif
