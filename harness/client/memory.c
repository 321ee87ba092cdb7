/* SPDX-License-Identifier: MIT
 *
 * The memory is one mapping: the fixed part with the events, then the resources, then what protocols without a server
 * share. Its size depends on what the trial asks for, so nothing in it has a bound of its own.
 */
#include "memory.h"

#include <sys/mman.h>

#include "base/clock.h"

enum { CONTROLLER_EVENTS = 4096 };

/* Rounded up to what any of the parts may want: resources are words of 16 bytes. */
static size_t aligned(size_t size) { return (size + 63) / 64 * 64; }

struct lb_memory *lb_memory_map(size_t clients, size_t keys) {
  if (keys == 0) keys = 1;
  size_t resources = aligned(sizeof(struct lb_memory)), shared = resources + aligned(keys * sizeof(struct lb_resource));
  size_t shared_size = aligned(LB_SHARED_BASE + keys * LB_SHARED_PER_KEY), size = shared + shared_size;
  struct lb_memory *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  memory->mapped_size = size;
  memory->key_count = keys;
  memory->resource = (struct lb_resource *)((unsigned char *)memory + resources);
  memory->shared = (unsigned char *)memory + shared;
  memory->shared_size = shared_size;
  uint32_t each = (LB_EVENTS_MAX - CONTROLLER_EVENTS) / (uint32_t)(clients ? clients : 1);
  for (size_t i = 0; i <= clients; i++) {
    memory->log[i].first = i * each;
    memory->log[i].capacity = i < clients ? each : CONTROLLER_EVENTS;
  }
  return memory;
}

void lb_memory_unmap(struct lb_memory *memory) {
  if (memory) munmap(memory, memory->mapped_size);
}

void lb_memory_record(struct lb_memory *memory, size_t index, struct lb_event event) {
  /* First of all: what is recorded has just happened, and every step in between makes the stamp a little less true. */
  event.t = lb_clock_ns();
  event.s = atomic_fetch_add_explicit(&memory->sequence, 1, memory_order_relaxed) + 1;
  struct lb_log *log = &memory->log[index];
  uint32_t n = atomic_load_explicit(&log->count, memory_order_relaxed);
  if (n == log->capacity / 8) atomic_store_explicit(&memory->log_warm, true, memory_order_relaxed);
  if (n >= log->capacity - log->capacity / 8) atomic_store_explicit(&memory->log_full, true, memory_order_relaxed);
  if (n >= log->capacity) return;
  memory->events[log->first + n] = event;
  /* The count moves last: a client killed in between loses the event it had not finished, never a whole one. */
  atomic_store_explicit(&log->count, n + 1, memory_order_release);
}
