/* SPDX-License-Identifier: MIT
 *
 * What the clients of a trial and its controller share.
 *
 * The memory is one mapping: a fixed part, then one array after the other. Its size depends on what the trial asks for,
 * so nothing in it has a bound of its own.
 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"

/* So many events fill whole pages: what is mapped begins and ends with a page. */
enum { CONTROLLER_EVENTS = 4096, EVENTS_PER_PAGES = 512 };

/* The next `size` bytes of the mapping. Rounded up to what any of the parts may want: a cache line. */
static size_t take(size_t *end, size_t size) {
  size_t begin = *end;
  *end += (size + 63) / 64 * 64;
  return begin;
}

/* Untouched pages cost nothing, but valgrind keeps books of all of them. */
static void *reserve(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

static size_t share_of(size_t all, size_t writers) {
  return (all - CONTROLLER_EVENTS) / writers / EVENTS_PER_PAGES * EVENTS_PER_PAGES;
}

/* In memory the same for every writer, and a little for the controller, which records facts only. Behind it each log
 * has its share of `all` as room for what it spills. 0 or -ENOMEM. */
static int share_out(struct lb_memory *memory, size_t all) {
  size_t writers = memory->log_count - 1, room = share_of(all, writers);
  uint32_t each = (uint32_t)share_of(LB_EVENTS_MAX, writers);
  struct lb_event *events = reserve(all * sizeof *events);
  if (!events) return -ENOMEM;
  if (memory->events) munmap(memory->events, memory->events_size);
  memory->events = events;
  memory->events_size = all * sizeof *events;
  for (size_t i = 0; i < memory->log_count; i++) {
    uint32_t capacity = i == memory->controller ? CONTROLLER_EVENTS : each;
    memory->log[i].first = i * room;
    memory->log[i].capacity = capacity;
    memory->log[i].warm = capacity / 8;
    memory->log[i].enough = capacity - capacity / 8;
  }
  return 0;
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
  unsigned char *base = reserve(end);
  if (!base) return NULL;
  struct lb_memory *memory = (struct lb_memory *)base;
  memory->mapped_size = end;
  memory->client_count = clients;
  memory->log_count = writers + 1;
  memory->controller = writers;
  memory->log = (struct lb_log *)(base + logs);
  memory->state = (struct lb_client_state *)(base + states);
  memory->resource = (struct lb_resource *)(base + resources);
  memory->shared = base + shared;
  memory->shared_size = shared_size;
  if (share_out(memory, LB_EVENTS_MAX) < 0) return lb_memory_unmap(memory), NULL;
  return memory;
}

void lb_memory_unmap(struct lb_memory *memory) {
  if (memory && memory->events) munmap(memory->events, memory->events_size);
  if (memory) munmap(memory, memory->mapped_size);
}

/* The quarter leaves room for the servers, which write to the same disk. A file that is sparse takes what is written. */
static uint32_t spilled_events(const struct lb_memory *memory, int fd) {
  struct statvfs disk;
  size_t writers = memory->log_count - 1, room = share_of(LB_EVENTS_MAX_SPILLED, writers) - memory->log[0].capacity;
  if (fstatvfs(fd, &disk) < 0) return 0;
  size_t most = disk.f_bavail / 4 * disk.f_frsize / sizeof(struct lb_event) / writers;
  return (uint32_t)((most < room ? most : room) / EVENTS_PER_PAGES * EVENTS_PER_PAGES);
}

static int map_spilled(struct lb_memory *memory, int fd) {
  uint32_t more = spilled_events(memory, fd);
  size_t size = more * sizeof(struct lb_event);
  if (more == 0) return -ENOSPC;
  if (ftruncate(fd, (off_t)(size * (memory->log_count - 1))) < 0) return -errno;
  if (share_out(memory, LB_EVENTS_MAX_SPILLED) < 0) return -ENOMEM;
  for (size_t i = 0; i < memory->log_count - 1; i++) {
    struct lb_log *log = &memory->log[i];
    void *at = memory->events + log->first + log->capacity;
    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)(i * size)) == MAP_FAILED)
      return -errno;
    log->enough += more;
    log->capacity += more;
    log->warm = log->capacity / 8;
  }
  return 0;
}

int lb_memory_spill(struct lb_memory *memory, const char *folder) {
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return -errno;
  int r = map_spilled(memory, fd);
  close(fd);
  return r;
}

int lb_memory_collect(const struct lb_memory *memory, struct lb_history *ret) {
  struct lb_events *part = calloc(memory->log_count, sizeof *part);
  if (!part) return -ENOMEM;
  for (size_t i = 0; i < memory->log_count; i++)
    part[i] = (struct lb_events){memory->events + memory->log[i].first, atomic_load(&memory->log[i].count)};
  int r = lb_history_merge(ret, part, memory->log_count);
  free(part);
  return r;
}

void lb_memory_record(struct lb_memory *memory, size_t number, struct lb_event event) {
  /* First of all: what is recorded has just happened, and every step in between makes the stamp a little less true. */
  event.t = lb_clock_ns();
  event.s = atomic_fetch_add_explicit(&memory->sequence, 1, memory_order_relaxed) + 1;
  struct lb_log *log = &memory->log[number];
  uint32_t n = atomic_load_explicit(&log->count, memory_order_relaxed);
  if (n == log->warm) atomic_store_explicit(&memory->log_warm, true, memory_order_relaxed);
  if (n >= log->enough) atomic_store_explicit(&memory->log_full, true, memory_order_relaxed);
  if (n >= log->capacity) return;
  memory->events[log->first + n] = event;
  /* The count moves last: a writer killed in between loses the event it had not finished, never a whole one. */
  atomic_store_explicit(&log->count, n + 1, memory_order_release);
}
