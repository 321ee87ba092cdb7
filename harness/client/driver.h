/* SPDX-License-Identifier: MIT
 *
 * driver.h - what runs a client: the table behind the calls of client.h. A client has a name, a number, a host, a log
 * and a key; the driver gives it a body, which takes commands, answers them, and can be stopped, continued and killed.
 *
 * `process` is a process per client, on its host's network namespace, with a log of its own. `exec` is for a foreign
 * lock: the same, and below that process the foreign program. Its hooks speak the line protocol with it
 * (backends/foreign/foreign.h), so events are stamped here and never by the stranger. `coroutine` runs many clients in a process
 * for each core: there `writers` is the number of these workers.
 */
#ifndef LB_DRIVER_H
#define LB_DRIVER_H

#include "client.h"

struct lb_driver {
  const char *name;
  /* How many logs `clients` clients write to: client i writes to log i modulo this. */
  size_t (*writers)(size_t clients);
  /* Optional: starts what several clients share, plan->workers, and ends it after the last client's end. 0 or
   * -errno. */
  int (*gather)(struct lb_client_plan *plan, size_t writers);
  void (*dismiss)(struct lb_client_plan *plan);
  /* The calls of client.h, which says what they return. All but `start` are called only while the client has a body;
   * `start` leaves none if it fails, `end` never. */
  int (*start)(struct lb_client *client, const struct lb_client_plan *plan);
  int (*send)(struct lb_client *client, const struct lb_command *command);
  int (*await)(struct lb_client *client, lb_ns deadline, struct lb_reply *ret);
  int (*peek)(const struct lb_client *client);
  enum lb_life (*look)(struct lb_client *client);
  int (*signal)(struct lb_client *client, enum lb_client_signal signal);
  /* How a dead client ended: "died of SIGSEGV", "exited with status 3". */
  void (*tell_end)(const struct lb_client *client, char *buf, size_t size);
  void (*end)(struct lb_client *client);
};

extern const struct lb_driver lb_driver_process, lb_driver_exec, lb_driver_coroutine;

/* Called in a process that runs clients. Client libraries and plugins then print into `output` instead of our own
 * output, and read an empty input. */
void lb_driver_speak_into(int output);

#endif
