/* SPDX-License-Identifier: MIT
 *
 * history.h - what happened in one trial: events of clients and faults, in memory and as files.
 *
 * Two file forms, told apart by their first bytes: the run's own binary form ("LBHIST1\n") and JSON lines, so that
 * any other tool's history can be judged too. Times are ns of one machine's CLOCK_MONOTONIC; `s` is a global
 * sequence number drawn from shared memory, which breaks ties and orders what one clock tick cannot.
 */
#ifndef LB_HISTORY_H
#define LB_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum lb_event_kind {
  LB_EV_ACQUIRE = 1, /* a request for the lock is about to be sent */
  LB_EV_GRANTED,     /* the grant was read: a hold begins */
  LB_EV_BUSY,        /* given up, definitely not held: the service said that someone else holds it */
  LB_EV_TIMEOUT,     /* given up, definitely not held: nobody said so, whoever answered or not */
  LB_EV_UNKNOWN,     /* given up, may be held: neither a failure nor a success */
  LB_EV_RELEASE,     /* the release is about to be sent: a hold ends */
  LB_EV_RELEASED,    /* the release was confirmed */
  LB_EV_LOST,        /* the client learned that it lost the lock: a hold ends */
  LB_EV_READ,        /* an access of the resource */
  LB_EV_WRITE,
  LB_EV_CRASH, /* the client died: a hold ends */
  LB_EV_FAULT, /* not of a client: a fault was done */
  LB_EV_NOTE,  /* not of a client: a fact was observed, a phase began ("phase measure", "phase end") */
  /* The numbers stand in binary files: new kinds come at the end. */
  LB_EV_RENEWED, /* the lease of a hold was made longer: it neither begins nor ends one */
};

enum {
  LB_EVF_FENCE = 1 << 0,   /* fence is meaningful */
  LB_EVF_UNTIL = 1 << 1,   /* until is meaningful */
  LB_EVF_VALUE = 1 << 2,   /* value is meaningful */
  LB_EVF_REFUSED = 1 << 3, /* the resource refused this access ("ok":false) */
};

/* What the words of facts may be. The numbers stand in binary files: new ones come at the end. */
enum lb_fact_phase { LB_PHASE_MEASURE = 1, LB_PHASE_END };                     /* the measured window begins, ends */
enum lb_clock_reading { LB_CLOCK_WALL = 1, LB_CLOCK_MONOTONIC, LB_CLOCK_RATE }; /* which clock was asked for what */

#define LB_NO_NAME UINT32_MAX

/* 56 bytes, the same in memory and in a binary file (little-endian). t, s, value and fence are at most 2^63 - 1, which is
 * what JSON readers can hold; the JSON form leaves out an `until` above that, for it means "for ever". */
struct lb_event {
  uint64_t t;      /* ns */
  uint64_t s;      /* global sequence number, 0 = none */
  uint64_t value;  /* read, write */
  uint64_t fence;  /* granted, read, write */
  uint64_t until;  /* granted, renewed: the client may believe it holds until then */
  uint32_t client; /* index into history.clients; LB_NO_NAME for fault and note */
  uint32_t key;    /* index into history.keys; LB_NO_NAME for fault and note, and where a crash names none */
  uint32_t what;   /* fault, note: index into history.whats; else LB_NO_NAME */
  uint16_t kind;   /* enum lb_event_kind */
  uint16_t flags;  /* LB_EVF_* */
};

struct lb_names { /* a table of distinct strings; index = order of first use */
  char **name;
  size_t count;
  uint32_t *slots; /* hash table of indexes, private to history.c */
  size_t slot_count;
};

struct lb_history { /* all zero = empty */
  struct lb_event *events; /* from malloc */
  size_t count;
  size_t capacity; /* events there is room for; 0 = just those */
  struct lb_names clients, keys, whats;
};

/* Frees everything inside; the struct itself is the caller's and is zeroed. */
void lb_history_clear(struct lb_history *history);
/* Index of `name` in the table, added if new. Bytes that are not UTF-8 are kept as '?', so that every name can be written
 * in both forms. Like the next two, it ends the process when memory is exhausted. */
uint32_t lb_names_add(struct lb_names *names, const char *name);
/* Appends one event (copied). */
void lb_history_add(struct lb_history *history, const struct lb_event *event);
/* Sorts by (t, s); the order of equal pairs is kept. */
void lb_history_sort(struct lb_history *history);
/* The word of a kind as in the JSON form: "granted"; NULL if there is no such kind. */
const char *lb_event_kind_name(unsigned kind);

/* Reads a file of either form. 0; -EINVAL with one line in err ("FILE:LINE: found ..., expected ...", in a binary file
 * "FILE: byte OFFSET: ...") for malformed content, an empty file included; other -errno. On error *ret is left empty.
 * The result is sorted. What a lb_event must and may carry is the same in both forms (see the table in history.c). */
int lb_history_load(const char *path, struct lb_history *ret, char *err, size_t err_size);
/* The same from an open file, to its end; it stays open. `name` stands for it in messages. */
int lb_history_read(int fd, const char *name, struct lb_history *ret, char *err, size_t err_size);
/* The same from memory; `name` stands for the file in messages. For tests and fuzzing. */
int lb_history_parse(const char *name, const void *data, size_t size, struct lb_history *ret, char *err, size_t err_size);
/* Writes the binary form / JSON lines to an open stream and flushes it. 0 or -errno; -EINVAL, before anything is written,
 * for an event that no reader would accept. */
int lb_history_write(const struct lb_history *history, FILE *out);
int lb_history_write_json(const struct lb_history *history, FILE *out);
/* One event as one JSON line without the newline, into buf; returns what snprintf would. */
int lb_event_format_json(const struct lb_history *history, const struct lb_event *event, char *buf, size_t size);

#endif
