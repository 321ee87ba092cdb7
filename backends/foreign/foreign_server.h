/* SPDX-License-Identifier: MIT
 *
 * foreign_server.h - which server a foreign program is connected to.
 */
#ifndef LB_FOREIGN_SERVER_H
#define LB_FOREIGN_SERVER_H

#include <sys/types.h>

#include "backends/backend.h"

/* As the hook server says, of the process `pid`. */
int foreign_server(const struct lb_target *target, pid_t pid);

#endif
