/* SPDX-License-Identifier: MIT
 *
 * The story of a client that does not answer, from what is left of it: what its driver knows of its
 * end, and the hook that its state in shared memory still names.
 */
#include "fate.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "contract.h"
#include "driver.h"

enum { REAP_MS = 2000 };

/* Its socket closes a moment before its end can be seen. */
static bool has_died(struct lb_client *client) {
  lb_ns deadline = lb_clock_ns() + REAP_MS * LB_NS_PER_MS;
  while (lb_client_lives(client) && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  return lb_client_look(client) == LB_LIFE_DIED;
}

static void append(char *buf, size_t size, const char *text) {
  size_t length = strlen(buf);
  if (length < size) snprintf(buf + length, size - length, "%s", text);
}

static void append_hook(const struct lb_client_state *state, char *buf, size_t size) {
  int hook = atomic_load(&state->hook);
  if (hook == LB_HOOK_NONE) return;
  append(buf, size, " inside ");
  append(buf, size, lb_hook_name((enum lb_hook)hook));
}

static void tell_silence(const struct lb_client_state *state, char *buf, size_t size) {
  lb_ns now = lb_clock_ns(), deadline = atomic_load(&state->hook_deadline);
  char late[60];
  snprintf(buf, size, "no answer in time");
  if (atomic_load(&state->hook) == LB_HOOK_NONE) return;
  append(buf, size, ",");
  append_hook(state, buf, size);
  if (now <= deadline) return;
  snprintf(late, sizeof late, ", %llu ms past its deadline", (unsigned long long)((now - deadline) / LB_NS_PER_MS));
  append(buf, size, late);
}

void lb_client_fate(struct lb_client *client, const struct lb_client_state *state, int result, char *buf, size_t size) {
  /* Its socket is still open where a child of it lives on. */
  if (result == LB_TIMEOUT && lb_client_look(client) != LB_LIFE_DIED) {
    tell_silence(state, buf, size);
    return;
  }
  if (has_died(client)) client->driver->tell_end(client, buf, size);
  else snprintf(buf, size, "closed its socket to the harness");
  append_hook(state, buf, size);
}
