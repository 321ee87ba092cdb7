/* SPDX-License-Identifier: MIT
 *
 * Two metrics of the route to the other hosts, which TCP asks: the shortest time after which it
 * sends again, and how many packets it may send before the first acknowledgement.
 */
#include "patience.h"

#include <stdio.h>

#include "tool.h"

enum { MORE_MS = 1000, LOSSY_MS = 200, PACKETS = 1000 };

int lb_net_be_patient(const struct lb_net *net, int64_t late_ms, bool lossy, char *err, size_t err_size) {
  char *argv[] = {(char *)"ip", (char *)"-batch", (char *)"-", NULL}, batch[200];
  int r = 0;
  for (size_t i = 0; i < net->count && r == 0 && net->separate; i++) {
    snprintf(batch, sizeof batch, "route replace 10.77.0.0/24 dev eth0 proto kernel scope link src %s rto_min %lldms initcwnd %d\n",
             net->host[i].address, (long long)late_ms + (lossy ? LOSSY_MS : MORE_MS), PACKETS);
    r = lb_tool_run(&net->host[i], argv, batch, NULL, err, err_size);
  }
  return r;
}
