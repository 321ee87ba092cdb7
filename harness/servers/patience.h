/* SPDX-License-Identifier: MIT
 *
 * patience.h - TCP that does not take late for lost. A sender whose acknowledgements become late
 * from one moment to the next sends again after 200 ms and then almost nothing more until they come:
 * what an application writes meanwhile would be late by up to twice the delay. On patient hosts every
 * message is late by the delay and no more.
 */
#ifndef LB_PATIENCE_H
#define LB_PATIENCE_H

#include "net.h"

/* Connections that are made from now on, on all hosts of the net: nothing is sent again before
 * late_ms and a second have passed without an acknowledgement (where packets get lost late_ms and the
 * 200 ms that TCP waits at least anyway, so that what is lost is not late by a second), and many packets may be on their way
 * without one. 0, or -errno with err. */
int lb_net_be_patient(const struct lb_net *net, int64_t late_ms, bool lossy, char *err, size_t err_size);

#endif
