/* SPDX-License-Identifier: MIT
 *
 * Histories in memory: tables of names, the order of events, and the one table that says what an event of each kind must
 * and may carry. The file forms are in history_json.c and history_binary.c; reading a file begins here.
 */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history_form.h"

const char *const lb_member_names[LB_MEMBER_COUNT] = {"t", "s", "c", "k", "e", "fence", "until", "value", "ok", "what"};

static const struct {
  const char *word;
  unsigned must, may; /* beside t and e, which every event must have, and s, which it may */
} rules[LB_KIND_COUNT] = {
    [LB_EV_ACQUIRE] = {"acquire", LB_M_C | LB_M_K, 0},
    [LB_EV_GRANTED] = {"granted", LB_M_C | LB_M_K, LB_M_FENCE | LB_M_UNTIL},
    [LB_EV_BUSY] = {"busy", LB_M_C | LB_M_K, 0},
    [LB_EV_TIMEOUT] = {"timeout", LB_M_C | LB_M_K, 0},
    [LB_EV_UNKNOWN] = {"unknown", LB_M_C | LB_M_K, 0},
    [LB_EV_RELEASE] = {"release", LB_M_C | LB_M_K, 0},
    [LB_EV_RELEASED] = {"released", LB_M_C | LB_M_K, 0},
    [LB_EV_LOST] = {"lost", LB_M_C | LB_M_K, 0},
    [LB_EV_READ] = {"read", LB_M_C | LB_M_K | LB_M_VALUE, LB_M_FENCE | LB_M_OK},
    [LB_EV_WRITE] = {"write", LB_M_C | LB_M_K | LB_M_VALUE, LB_M_FENCE | LB_M_OK},
    [LB_EV_CRASH] = {"crash", LB_M_C, LB_M_K},
    [LB_EV_FAULT] = {"fault", LB_M_WHAT, 0},
    [LB_EV_NOTE] = {"note", LB_M_WHAT, 0},
    [LB_EV_RENEWED] = {"renewed", LB_M_C | LB_M_K, LB_M_UNTIL},
};

static void *must(void *memory) {
  if (!memory) abort(); /* no caller of these void functions could go on with half a history */
  return memory;
}

const char *lb_event_kind_name(unsigned kind) { return kind < LB_KIND_COUNT ? rules[kind].word : NULL; }

/* ---- what an event carries --------------------------------------------------------------------------------------- */

static unsigned lowest_bit(unsigned bits) { return (unsigned)__builtin_ctz(bits); }

int lb_event_check_members(unsigned kind, unsigned members, char *text, size_t size) {
  unsigned required = LB_M_T | LB_M_E | rules[kind].must, known = required | LB_M_S | rules[kind].may;
  if (required & ~members) {
    const char *missing = lb_member_names[lowest_bit(required & ~members)];
    snprintf(text, size, "found no \"%s\", expected one on a \"%s\" event", missing, rules[kind].word);
    return -EINVAL;
  }
  if (!(members & ~known)) return 0;
  size_t used = (size_t)snprintf(text, size, "found \"%s\" on a \"%s\" event, expected only",
                                 lb_member_names[lowest_bit(members & ~known)], rules[kind].word);
  for (unsigned i = 0; i < LB_MEMBER_COUNT && used < size; i++)
    if (known & (1u << i)) used += (size_t)snprintf(text + used, size - used, " \"%s\"", lb_member_names[i]);
  return -EINVAL;
}

static unsigned members_of(const struct lb_event *event) {
  return LB_M_T | LB_M_S | LB_M_E | (event->client != LB_NO_NAME ? LB_M_C : 0) |
         (event->key != LB_NO_NAME ? LB_M_K : 0) | (event->what != LB_NO_NAME ? LB_M_WHAT : 0) |
         (event->flags & LB_EVF_FENCE ? LB_M_FENCE : 0) | (event->flags & LB_EVF_UNTIL ? LB_M_UNTIL : 0) |
         (event->flags & LB_EVF_VALUE ? LB_M_VALUE : 0) | (event->flags & LB_EVF_REFUSED ? LB_M_OK : 0);
}

static int check_index(const char *member, uint32_t index, size_t count, char *text, size_t size) {
  if (index == LB_NO_NAME || index < count) return 0;
  snprintf(text, size, "found name %u in \"%s\", expected one of %zu", index, member, count);
  return -EINVAL;
}

static int check_number(const char *member, uint64_t number, char *text, size_t size) {
  if (number <= INT64_MAX) return 0;
  snprintf(text, size, "found %llu in \"%s\", expected at most 2^63 - 1", (unsigned long long)number, member);
  return -EINVAL;
}

int lb_event_check(const struct lb_history *history, const struct lb_event *event, char *text, size_t size) {
  const unsigned known_flags = LB_EVF_FENCE | LB_EVF_UNTIL | LB_EVF_VALUE | LB_EVF_REFUSED;
  if (event->kind == 0 || event->kind >= LB_KIND_COUNT || event->flags & ~known_flags) {
    snprintf(text, size, "found kind %u with flags %#x, expected a kind from 1 to %d and flags within %#x", event->kind,
             event->flags, LB_KIND_COUNT - 1, known_flags);
    return -EINVAL;
  }
  int r = check_index("c", event->client, history->clients.count, text, size);
  if (r == 0) r = check_index("k", event->key, history->keys.count, text, size);
  if (r == 0) r = check_index("what", event->what, history->whats.count, text, size);
  if (r == 0) r = check_number("t", event->t, text, size);
  if (r == 0) r = check_number("s", event->s, text, size);
  if (r == 0 && event->flags & LB_EVF_FENCE) r = check_number("fence", event->fence, text, size);
  if (r == 0 && event->flags & LB_EVF_VALUE) r = check_number("value", event->value, text, size);
  return r == 0 ? lb_event_check_members(event->kind, members_of(event), text, size) : r;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Well-formed sequences only (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF. */
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

static size_t hash(const char *name) { /* FNV-1a */
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return (size_t)(h ^ (h >> 32));
}

/* The slot where `name` is, or the empty one where it belongs. A slot is an index plus one, 0 = empty. */
static uint32_t *find_slot(const struct lb_names *names, const char *name) {
  size_t i = hash(name) & (names->slot_count - 1);
  while (names->slots[i] && strcmp(names->name[names->slots[i] - 1], name) != 0) i = (i + 1) & (names->slot_count - 1);
  return &names->slots[i];
}

static void grow_names(struct lb_names *names) {
  names->slot_count = names->slot_count ? names->slot_count * 2 : 16;
  free(names->slots);
  names->slots = must(calloc(names->slot_count, sizeof *names->slots));
  names->name = must(realloc(names->name, names->slot_count / 2 * sizeof *names->name));
  for (size_t i = 0; i < names->count; i++) *find_slot(names, names->name[i]) = (uint32_t)i + 1;
}

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
  clear_names(&history->whats);
  *history = (struct lb_history){0};
}

void lb_history_add(struct lb_history *history, const struct lb_event *event) {
  if (history->count >= history->capacity) {
    history->capacity = history->count < 8 ? 16 : history->count * 2;
    history->events = must(realloc(history->events, history->capacity * sizeof *event));
  }
  history->events[history->count++] = *event;
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

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, char *err,
                     size_t err_size) {
  *ret = (struct lb_history){0};
  bool binary = size >= 6 && memcmp(data, "LBHIST", 6) == 0;
  int r = (binary ? lb_history_parse_binary : lb_history_parse_json)(name, data, size, ret, err, err_size);
  if (r == 0 && ret->count == 0) {
    snprintf(err, err_size, "%s:1: found no events, expected at least one", name);
    r = -EINVAL;
  }
  if (r < 0) lb_history_clear(ret);
  else lb_history_sort(ret);
  return r;
}

/* Reads to the end, whatever kind of file it is. */
static int read_all(int fd, char **ret_data, size_t *ret_size) {
  size_t size = 0, capacity = 0;
  char *data = NULL;
  for (;;) {
    if (size == capacity) {
      char *more = realloc(data, capacity = capacity ? capacity * 2 : 1 << 16);
      if (!more) break;
      data = more;
    }
    ssize_t n = read(fd, data + size, capacity - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    size += (size_t)n;
    if (n == 0) {
      *ret_data = data;
      *ret_size = size;
      return 0;
    }
  }
  int r = -errno;
  free(data);
  return r;
}

static int cannot_be_read(const char *name, int r, char *err, size_t err_size) {
  snprintf(err, err_size, "%s: cannot be read: %s", name, strerror(-r));
  return r;
}

int lb_history_read(int fd, const char *name, struct lb_history *ret, char *err, size_t err_size) {
  *ret = (struct lb_history){0};
  char *data = NULL;
  size_t size = 0;
  int r = read_all(fd, &data, &size);
  if (r < 0) return cannot_be_read(name, r, err, err_size);
  r = lb_history_parse(name, data, size, ret, err, err_size);
  free(data);
  return r;
}

int lb_history_load(const char *path, struct lb_history *ret, char *err, size_t err_size) {
  *ret = (struct lb_history){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_be_read(path, -errno, err, err_size);
  int r = lb_history_read(fd, path, ret, err, err_size);
  close(fd);
  return r;
}
