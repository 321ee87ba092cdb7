/* SPDX-License-Identifier: MIT
 *
 * The calls of a client: each asks its driver, and says what is true of a client that has no life. Why one does not
 * answer is told from what is left of it: what its driver knows of its end, and the hook that its state still names.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "driver.h"
#include "hook.h"

/* Before the client runs: a caller that reads the state after lb_client_start() must not see the former life. What
 * outlives it stays: its session, which a server may still have, what it has sent or handed over, and what is counted
 * of the whole trial. */
static void begin_life(struct lb_client_state *state) {
  atomic_store(&state->asks, false);
  atomic_store(&state->waits, false);
  atomic_store(&state->woken, false);
  atomic_store(&state->granted, false);
  atomic_store(&state->gave_up, false);
  atomic_store(&state->holds, false);
  atomic_store(&state->until, 0);
  atomic_store(&state->at_point, false);
  atomic_store(&state->hangs, false);
  atomic_store(&state->writes, 0);
  atomic_store(&state->hook, 0);
  atomic_fetch_add(&state->lives, 1);
}

const struct lb_driver *lb_client_driver_of(const struct lb_protocol *protocol, bool coroutines) {
  if (coroutines) return &lb_driver_coroutine;
  return protocol->traits & LB_TRAIT_FOREIGN ? &lb_driver_exec : &lb_driver_process;
}

int lb_client_start(struct lb_client *client, const struct lb_client_plan *plan) {
  begin_life(&plan->memory->state[client->number]);
  return client->driver->start(client, plan);
}

int lb_client_send(struct lb_client *client, struct lb_command command) {
  return client->body ? client->driver->send(client, &command) : -EPIPE;
}

int lb_client_await(struct lb_client *client, lb_ns deadline, struct lb_reply *ret) {
  return client->body ? client->driver->await(client, deadline, ret) : -ECONNRESET;
}

int lb_client_peek(const struct lb_client *client) { return client->body ? client->driver->peek(client) : -ECONNRESET; }

int lb_client_call(struct lb_client *client, struct lb_command command, int64_t grace_ms, struct lb_reply *ret) {
  int r = lb_client_send(client, command);
  return r < 0 ? r : lb_client_await(client, command.deadline + (lb_ns)grace_ms * LB_NS_PER_MS, ret);
}

enum lb_life lb_client_look(struct lb_client *client) {
  return client->body ? client->driver->look(client) : LB_LIFE_NONE;
}

bool lb_client_lives(struct lb_client *client) {
  enum lb_life life = lb_client_look(client);
  return life == LB_LIFE_RUNS || life == LB_LIFE_STOPPED;
}

int lb_client_signal(struct lb_client *client, enum lb_client_signal signal) {
  return client->body ? client->driver->signal(client, signal) : -ESRCH;
}

void lb_client_end(struct lb_client *client) {
  if (client->body) client->driver->end(client);
}

/* ---- the fate of one that does not answer ---- */

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
