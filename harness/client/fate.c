/* SPDX-License-Identifier: MIT
 *
 * The story of a client that does not answer, from what is left of it: its exit status, and the hook that its state in shared memory
 * still names.
 */
#include "fate.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "contract.h"

enum { REAP_MS = 2000 };

/* Its socket closes a moment before it can be reaped. */
static bool has_ended(struct lb_client *client) {
  lb_ns deadline = lb_clock_ns() + REAP_MS * LB_NS_PER_MS;
  while (lb_client_alive(client) && client->pid > 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  return client->ended;
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

static void tell_end(const struct lb_client *client, char *buf, size_t size) {
  const char *name = WIFSIGNALED(client->status) ? sigabbrev_np(WTERMSIG(client->status)) : NULL;
  if (name) snprintf(buf, size, "died of SIG%s", name);
  else if (WIFSIGNALED(client->status)) snprintf(buf, size, "died of signal %d", WTERMSIG(client->status));
  else snprintf(buf, size, "exited with status %d", WEXITSTATUS(client->status));
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
  if (result == LB_TIMEOUT && lb_client_alive(client)) {
    tell_silence(state, buf, size);
    return;
  }
  if (has_ended(client)) tell_end(client, buf, size);
  else snprintf(buf, size, "closed its socket to the harness");
  append_hook(state, buf, size);
}
