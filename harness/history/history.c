/* SPDX-License-Identifier: MIT
 *
 * Histories in memory (names, facts, the order of events), and numbers for pairs of client and key. What an event of
 * each kind carries is in history_form.c, and files are read in history_load.c.
 */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/need.h"
#include "base/text.h"
#include "history_form.h"

const struct lb_fact lb_no_fact = {.what = LB_NO_NAME,
                                   .why = LB_NO_NAME,
                                   .verb = LB_NO_NAME,
                                   .role = LB_NO_NAME,
                                   .from = LB_NO_NAME,
                                   .host = LB_NO_NAME};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static char *copy_as_utf8(const char *name) {
  char *copy = lb_need_text(name);
  for (size_t i = 0, left = strlen(copy), n; left > 0; i += n, left -= n) {
    n = lb_text_utf8_length(copy + i, left);
    if (n == 0) copy[i] = '?', n = 1;
  }
  return copy;
}

static size_t hash(const char *name) {
  uint64_t h = lb_hash(LB_HASH_BEGIN, name, strlen(name));
  return (size_t)(h ^ (h >> 32));
}

/* The slot where `name` is, or the empty one where it belongs. A slot is an index plus one, 0 =
 * empty. */
static uint32_t *find_slot(const struct lb_names *names, const char *name) {
  size_t i = hash(name) & (names->slot_count - 1);
  while (names->slots[i] && strcmp(names->name[names->slots[i] - 1], name) != 0) i = (i + 1) & (names->slot_count - 1);
  return &names->slots[i];
}

/* Slots are at most half full, so that a search is short and always meets an empty one. The indexes
 * stay what they are. */
static void grow_names(struct lb_names *names) {
  names->slot_count = names->slot_count ? names->slot_count * 2 : 16;
  free(names->slots);
  names->slots = lb_need(calloc(names->slot_count, sizeof *names->slots));
  names->name = lb_need(realloc(names->name, names->slot_count / 2 * sizeof *names->name));
  for (size_t i = 0; i < names->count; i++) *find_slot(names, names->name[i]) = (uint32_t)i + 1;
}

/* Looked for as given first: names come by the million, and hardly any has to be repaired. */
uint32_t lb_names_add(struct lb_names *names, const char *name) {
  if (names->count >= names->slot_count / 2) grow_names(names);
  uint32_t *slot = find_slot(names, name);
  if (*slot) return *slot - 1;
  char *copy = copy_as_utf8(name);
  slot = find_slot(names, copy); /* elsewhere, and perhaps taken, if bytes were replaced */
  if (*slot) {
    free(copy);
    return *slot - 1;
  }
  names->name[names->count++] = copy;
  *slot = (uint32_t)names->count;
  return *slot - 1;
}

static void clear_names(struct lb_names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->name[i]);
  free(names->name);
  free(names->slots);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void free_events(struct lb_history *history) {
  if (history->map) munmap(history->map, history->map_size);
  else free(history->events);
}

/* Room in a file without a name, whose pages are no memory of this process. Where there can be no such file, or its disk
 * is full, memory has to do. */
static void *map_room(size_t size) {
  const char *folder = getenv("TMPDIR");
  int fd = open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  bool room = fd >= 0 && posix_fallocate(fd, 0, (off_t)size) == 0;
  void *map =
      mmap(NULL, size, PROT_READ | PROT_WRITE, room ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, room ? fd : -1, 0);
  if (fd >= 0) close(fd);
  return map == MAP_FAILED ? NULL : map;
}

int lb_history_reserve(struct lb_history *history, size_t capacity) {
  size_t size = (capacity ? capacity : 1) * sizeof *history->events;
  bool small = capacity <= LB_HISTORY_IN_MEMORY && !history->map;
  if (capacity <= history->capacity && history->events) return 0;
  void *room = small ? realloc(history->events, size) : map_room(size);
  if (!room) return -ENOMEM;
  if (!small) {
    if (history->count) memcpy(room, history->events, history->count * sizeof *history->events);
    free_events(history);
    history->map = room;
    history->map_size = size;
  }
  history->events = room;
  history->capacity = capacity;
  return 0;
}

void lb_history_clear(struct lb_history *history) {
  free_events(history);
  clear_names(&history->clients);
  clear_names(&history->keys);
  clear_names(&history->texts);
  free(history->facts);
  *history = (struct lb_history){0};
}

void lb_history_add(struct lb_history *history, const struct lb_event *event) {
  if (history->count >= history->capacity &&
      lb_history_reserve(history, history->count < 8 ? 16 : history->count * 2) < 0)
    abort();
  history->events[history->count++] = *event;
}

uint32_t lb_history_facts_add(struct lb_history *history, const struct lb_fact *fact) {
  if (history->fact_count >= history->fact_capacity) {
    history->fact_capacity = history->fact_count < 8 ? 16 : history->fact_count * 2;
    history->facts = lb_need(realloc(history->facts, history->fact_capacity * sizeof *fact));
  }
  history->facts[history->fact_count] = *fact;
  return (uint32_t)history->fact_count++;
}

const struct lb_fact *lb_event_fact(const struct lb_history *history, const struct lb_event *event) {
  return event->fact < history->fact_count ? &history->facts[event->fact] : &lb_no_fact;
}

uint64_t lb_history_permits(const struct lb_history *history, uint32_t key) {
  uint64_t own = 0, any = 1;
  for (size_t i = 0; i < history->count; i++) {
    const struct lb_event *e = &history->events[i];
    if (e->kind != LB_EV_PERMITS) continue;
    if (e->key == LB_NO_NAME) any = lb_event_fact(history, e)->total;
    else if (e->key == key) own = lb_event_fact(history, e)->total;
  }
  return own ? own : any;
}

static bool before(const struct lb_event *a, const struct lb_event *b) {
  return a->t < b->t || (a->t == b->t && a->s < b->s);
}

/* ---- sorting: runs that are sorted already, as the logs of clients are, are merged in one pass: a history in a file is
 * read once, in a few places at a time. The runs that are left are a heap by their next events. */

struct run {
  const struct lb_event *next, *end;
  size_t number; /* of equal events the one from the earlier run goes first: that is what keeps the sort stable */
};

static bool goes_first(const struct run *a, const struct run *b) {
  return before(a->next, b->next) || (!before(b->next, a->next) && a->number < b->number);
}

/* How many sorted runs the parts are, each of which is noted in `ret` if that is not NULL. */
static size_t find_runs(const struct lb_events *part, size_t parts, struct run *ret) {
  size_t runs = 0;
  for (size_t i = 0; i < parts; i++)
    for (const struct lb_event *e = part[i].event, *end = e + part[i].count, *first = e; e < end; first = e) {
      while (++e < end && !before(e, e - 1)) {
      }
      if (ret) ret[runs] = (struct run){first, e, runs};
      runs++;
    }
  return runs;
}

static void sift_down(struct run *heap, size_t count, size_t at) {
  struct run run = heap[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && goes_first(&heap[child + 1], &heap[child])) child++;
    if (!goes_first(&heap[child], &run)) break;
    heap[at] = heap[child];
  }
  heap[at] = run;
}

int lb_history_merge(struct lb_history *history, const struct lb_events *part, size_t parts) {
  size_t total = 0, runs = find_runs(part, parts, NULL);
  for (size_t i = 0; i < parts; i++) total += part[i].count;
  struct run *heap = malloc((runs + 1) * sizeof *heap);
  if (!heap || lb_history_reserve(history, total) < 0) return free(heap), -ENOMEM;
  find_runs(part, parts, heap);
  for (size_t i = runs / 2; i-- > 0;) sift_down(heap, runs, i);
  while (runs > 0) {
    history->events[history->count++] = *heap->next++;
    if (heap->next == heap->end) *heap = heap[--runs];
    sift_down(heap, runs, 0);
  }
  free(heap);
  return 0;
}

void lb_history_sort(struct lb_history *history) {
  struct lb_events all = {history->events, history->count};
  struct lb_history sorted = {0};
  if (history->count < 2 || find_runs(&all, 1, NULL) < 2) return;
  if (lb_history_merge(&sorted, &all, 1) < 0) abort();
  free_events(history);
  history->events = sorted.events;
  history->capacity = sorted.capacity;
  history->map = sorted.map;
  history->map_size = sorted.map_size;
}

/* ---- Pairs: open addressing with linear probing, at most half full; nothing is ever removed. The pairs
 * themselves stand in order of first use, and the slots only point there: growing moves no number. */

static size_t home_of(const struct lb_pairs *pairs, uint64_t pair) {
  uint64_t h = pair * UINT64_C(0x9e3779b97f4a7c15); /* the high bits depend on all of the pair */
  return (size_t)(h >> 32) & (pairs->slot_count - 1);
}

static uint32_t *pair_slot(const struct lb_pairs *pairs, uint64_t pair) {
  size_t i = home_of(pairs, pair);
  while (pairs->slots[i] && pairs->pair[pairs->slots[i] - 1] != pair) i = (i + 1) & (pairs->slot_count - 1);
  return &pairs->slots[i];
}

static void grow_pairs(struct lb_pairs *pairs) {
  pairs->slot_count = pairs->slot_count ? pairs->slot_count * 2 : 64;
  free(pairs->slots);
  pairs->slots = lb_need(calloc(pairs->slot_count, sizeof *pairs->slots));
  pairs->pair = lb_need(realloc(pairs->pair, pairs->slot_count / 2 * sizeof *pairs->pair));
  for (uint32_t i = 0; i < pairs->count; i++) *pair_slot(pairs, pairs->pair[i]) = i + 1;
}

uint32_t lb_pairs_number(struct lb_pairs *pairs, uint32_t client, uint32_t key) {
  uint64_t pair = (uint64_t)client << 32 | key;
  if (pairs->count >= pairs->slot_count / 2) grow_pairs(pairs);
  uint32_t *slot = pair_slot(pairs, pair);
  if (*slot == 0) {
    pairs->pair[pairs->count++] = pair;
    *slot = pairs->count;
  }
  return *slot - 1;
}

void lb_pairs_clear(struct lb_pairs *pairs) {
  free(pairs->pair);
  free(pairs->slots);
  *pairs = (struct lb_pairs){0};
}
