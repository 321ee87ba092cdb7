/* SPDX-License-Identifier: MIT
 *
 * driver_threads.h - a driver for tests: clients as threads of this process, which take turns in a few workers.
 */
#ifndef DRIVER_THREADS_H
#define DRIVER_THREADS_H

#include "client/driver.h"

enum { DRIVER_THREADS_WORKERS = 3 }; /* at most; each writes one log */

extern const struct lb_driver driver_threads;

#endif
