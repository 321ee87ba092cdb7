/* SPDX-License-Identifier: MIT
 *
 * Histories in memory (names, facts, the order of events), files of either form, and numbers for pairs of client and
 * key. What an event of each kind carries is in history_form.c; the two forms of files are history_json.c and
 * history_binary.c, and the operations of other tools history_ops.c and history_edn.c.
 */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "history_form.h"

const struct lb_fact lb_no_fact = {.what = LB_NO_NAME,
                                   .why = LB_NO_NAME,
                                   .verb = LB_NO_NAME,
                                   .role = LB_NO_NAME,
                                   .from = LB_NO_NAME,
                                   .host = LB_NO_NAME};

static void *must(void *memory) {
  if (!memory) abort(); /* no caller of these void functions could go on with half a history */
  return memory;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Well-formed sequences only (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing
 * above U+10FFFF. Strict, because JSON readers are: a name that we let through and another tool
 * refuses would make a file that only we can read. */
size_t lb_utf8_length(const char *text, size_t size) {
  const unsigned char *b = (const unsigned char *)text;
  if (size == 0) return 0;
  if (b[0] < 0x80) return 1;
  size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
  if (b[0] < 0xc2 || b[0] > 0xf4 || length > size) return 0;
  unsigned char low = 0x80, high = 0xbf; /* of the second byte */
  if (b[0] == 0xe0) low = 0xa0;
  if (b[0] == 0xed) high = 0x9f;
  if (b[0] == 0xf0) low = 0x90;
  if (b[0] == 0xf4) high = 0x8f;
  if (b[1] < low || b[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((b[i] & 0xc0) != 0x80) return 0;
  return length;
}

static char *copy_as_utf8(const char *name) {
  char *copy = must(strdup(name));
  for (size_t i = 0, left = strlen(copy), n; left > 0; i += n, left -= n) {
    n = lb_utf8_length(copy + i, left);
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
  names->slots = must(calloc(names->slot_count, sizeof *names->slots));
  names->name = must(realloc(names->name, names->slot_count / 2 * sizeof *names->name));
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

void lb_history_clear(struct lb_history *history) {
  free(history->events);
  clear_names(&history->clients);
  clear_names(&history->keys);
  clear_names(&history->texts);
  free(history->facts);
  *history = (struct lb_history){0};
}

void lb_history_add(struct lb_history *history, const struct lb_event *event) {
  if (history->count >= history->capacity) {
    history->capacity = history->count < 8 ? 16 : history->count * 2;
    history->events = must(realloc(history->events, history->capacity * sizeof *event));
  }
  history->events[history->count++] = *event;
}

uint32_t lb_facts_add(struct lb_history *history, const struct lb_fact *fact) {
  if (history->fact_count >= history->fact_capacity) {
    history->fact_capacity = history->fact_count < 8 ? 16 : history->fact_count * 2;
    history->facts = must(realloc(history->facts, history->fact_capacity * sizeof *fact));
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

/* Where the sorted runs begin, with `count` as the last entry. */
static size_t *find_runs(const struct lb_event *events, size_t count, size_t *ret_runs) {
  size_t runs = 1;
  for (size_t i = 1; i < count; i++) runs += before(&events[i], &events[i - 1]);
  size_t *start = must(malloc((runs + 1) * sizeof *start));
  start[0] = 0;
  runs = 1;
  for (size_t i = 1; i < count; i++)
    if (before(&events[i], &events[i - 1])) start[runs++] = i;
  start[runs] = count;
  *ret_runs = runs;
  return start;
}

/* Of equal events the one from the earlier run goes first: that is what keeps the sort stable. */
static void merge(const struct lb_event *from, size_t a, size_t b, size_t end, struct lb_event *to) {
  size_t middle = b;
  for (size_t i = a; i < end; i++)
    to[i] = a < middle && (b == end || !before(&from[b], &from[a])) ? from[a++] : from[b++];
}

/* A natural merge sort: stable, and a history is usually a few sorted logs one after the other. */
void lb_history_sort(struct lb_history *history) {
  if (history->count < 2) return;
  size_t runs, *start = find_runs(history->events, history->count, &runs);
  struct lb_event *from = history->events, *to = runs > 1 ? must(malloc(history->count * sizeof *to)) : NULL;
  while (runs > 1) {
    size_t merged = 0;
    for (size_t i = 0; i < runs; i += 2) {
      size_t middle = start[i + 1], end = i + 1 < runs ? start[i + 2] : middle;
      merge(from, start[i], middle, end, to);
      start[merged++] = start[i];
    }
    start[merged] = history->count;
    runs = merged;
    struct lb_event *swap = from;
    from = to, to = swap;
  }
  if (to) { /* the events may have ended in the other buffer */
    history->events = from;
    history->capacity = history->count;
    free(to);
  }
  free(start);
}

/* ---- files: the first bytes say which form ----------------------------------------------------------------------- */

int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, struct lb_error *err) {
  *ret = (struct lb_history){0};
  bool binary = size >= 6 && memcmp(data, "LBHIST", 6) == 0;
  int r = (binary                          ? lb_history_parse_binary
           : lb_history_is_edn(data, size) ? lb_history_parse_edn
           : lb_history_is_csv(data, size) ? lb_history_parse_csv
                                           : lb_history_parse_json)(name, data, size, ret, err);
  if (r == 0 && ret->count == 0) r = lb_refuse(err, "%s:1: found no events, expected at least one", name);
  if (r < 0) {
    lb_history_clear(ret);
    return r;
  }
  lb_history_sort(ret);
  return 0;
}

static int cannot_be_read(const char *name, int r, struct lb_error *err) {
  return lb_error(err, r, "%s: cannot be read: %s", name, strerror(-r));
}

int lb_history_read(int fd, const char *name, struct lb_history *ret, struct lb_error *err) {
  *ret = (struct lb_history){0};
  char *data = NULL;
  size_t size = 0;
  int r = lb_read_all(fd, &data, &size);
  if (r < 0) return cannot_be_read(name, r, err);
  r = lb_history_parse(name, data, size, ret, err);
  free(data);
  return r;
}

int lb_history_load(const char *path, struct lb_history *ret, struct lb_error *err) {
  *ret = (struct lb_history){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_be_read(path, -errno, err);
  int r = lb_history_read(fd, path, ret, err);
  close(fd);
  return r;
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

/* False = no memory; then everything is as it was. */
static bool grow_pairs(struct lb_pairs *pairs) {
  size_t slot_count = pairs->slot_count ? pairs->slot_count * 2 : 64;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  uint64_t *pair = realloc(pairs->pair, slot_count / 2 * sizeof *pair);
  if (pair) pairs->pair = pair;
  if (!slots || !pair) {
    free(slots);
    return false;
  }
  free(pairs->slots);
  pairs->slots = slots;
  pairs->slot_count = slot_count;
  for (uint32_t i = 0; i < pairs->count; i++) *pair_slot(pairs, pairs->pair[i]) = i + 1;
  return true;
}

uint32_t lb_pairs_number(struct lb_pairs *pairs, uint32_t client, uint32_t key) {
  uint64_t pair = (uint64_t)client << 32 | key;
  if (pairs->count >= pairs->slot_count / 2 && !grow_pairs(pairs)) return UINT32_MAX;
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
