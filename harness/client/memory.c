/* SPDX-License-Identifier: MIT
 *
 * The memory is one mapping: a fixed part, then one array after the other. Its size depends on what
 * the trial asks for, so nothing in it has a bound of its own.
 */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

enum { CONTROLLER_EVENTS = 4096 };

/* The next `size` bytes of the mapping. Rounded up to what any of the parts may want: a cache line. */
static size_t take(size_t *end, size_t size) {
  size_t begin = *end;
  *end += (size + 63) / 64 * 64;
  return begin;
}

/* The same for every writer, and a little for the controller, who records facts only. */
static void share_out(struct lb_memory *memory, size_t writers) {
  uint32_t each = (LB_EVENTS_MAX - CONTROLLER_EVENTS) / (uint32_t)writers;
  for (size_t i = 0; i < memory->log_count; i++) {
    memory->log[i].first = i * each;
    memory->log[i].capacity = i == memory->controller ? CONTROLLER_EVENTS : each;
  }
}

struct lb_memory *lb_memory_map(size_t clients, size_t writers, size_t keys) {
  if (writers == 0) writers = 1;
  if (keys == 0) keys = 1;
  size_t end = 0, shared_size = LB_SHARED_BASE + keys * LB_SHARED_PER_KEY;
  take(&end, sizeof(struct lb_memory));
  size_t logs = take(&end, (writers + 1) * sizeof(struct lb_log));
  size_t states = take(&end, (clients + 1) * sizeof(struct lb_client_state));
  size_t resources = take(&end, keys * sizeof(struct lb_resource));
  size_t shared = take(&end, shared_size);
  size_t events = take(&end, LB_EVENTS_MAX * sizeof(struct lb_event));
  unsigned char *base = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return NULL;
  struct lb_memory *memory = (struct lb_memory *)base;
  memory->mapped_size = end;
  memory->client_count = clients;
  memory->log_count = writers + 1;
  memory->controller = writers;
  memory->key_count = keys;
  memory->log = (struct lb_log *)(base + logs);
  memory->state = (struct lb_client_state *)(base + states);
  memory->resource = (struct lb_resource *)(base + resources);
  memory->shared = base + shared;
  memory->shared_size = shared_size;
  memory->events = (struct lb_event *)(base + events);
  share_out(memory, writers);
  return memory;
}

void lb_memory_unmap(struct lb_memory *memory) {
  if (memory) munmap(memory, memory->mapped_size);
}

int lb_memory_collect(const struct lb_memory *memory, struct lb_history *ret) {
  size_t total = 0, *counts = calloc(memory->log_count + 1, sizeof *counts);
  if (!counts) return -ENOMEM;
  for (size_t i = 0; i < memory->log_count; i++) total += counts[i] = atomic_load(&memory->log[i].count);
  ret->events = malloc((total ? total : 1) * sizeof *ret->events);
  for (size_t i = 0; ret->events && i < memory->log_count; i++) {
    memcpy(ret->events + ret->count, memory->events + memory->log[i].first, counts[i] * sizeof *ret->events);
    ret->count += counts[i];
  }
  free(counts);
  return ret->events ? 0 : -ENOMEM;
}

void lb_memory_record(struct lb_memory *memory, size_t number, struct lb_event event) {
  /* First of all: what is recorded has just happened, and every step in between makes the stamp a
   * little less true. */
  event.t = lb_clock_ns();
  event.s = atomic_fetch_add_explicit(&memory->sequence, 1, memory_order_relaxed) + 1;
  struct lb_log *log = &memory->log[number];
  uint32_t n = atomic_load_explicit(&log->count, memory_order_relaxed);
  if (n == log->capacity / 8) atomic_store_explicit(&memory->log_warm, true, memory_order_relaxed);
  if (n >= log->capacity - log->capacity / 8) atomic_store_explicit(&memory->log_full, true, memory_order_relaxed);
  if (n >= log->capacity) return;
  memory->events[log->first + n] = event;
  /* The count moves last: a writer killed in between loses the event it had not finished, never a
   * whole one. */
  atomic_store_explicit(&log->count, n + 1, memory_order_release);
}
