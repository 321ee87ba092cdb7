/* SPDX-License-Identifier: MIT
 *
 * foreign_child.h - the program of a foreign lock: a process that is spoken to in lines. Private to foreign*.c.
 */
#ifndef LB_FOREIGN_CHILD_H
#define LB_FOREIGN_CHILD_H

#include <sys/types.h>

#include "foreign_line.h"

/* One foreign lock: how it is called, and the table that the tool knows it by. */
struct foreign {
  struct lb_protocol protocol; /* its data is this struct */
  struct foreign_says says;
  char *command, *folder, *like, *summary;
  char name[64];
  int start_ms; /* of lb_foreign_plan */
  const char *topologies[FOREIGN_TOPOLOGIES_MAX + 1];
};

/* ---- its process ---------------------------------------------------------------------------- */

enum { FOREIGN_BUFFER = 64 * 1024, FOREIGN_UNASKED_MAX = 1000 };

struct foreign_child {
  pid_t pid;    /* 0 = none */
  lb_ns used;   /* processor time of it and of what it has waited for, known by foreign_child_end() */
  int in, out;  /* our ends of its stdin and stdout, -1 = none */
  char *buffer; /* what was read and is no whole line yet; FOREIGN_BUFFER bytes */
  size_t length, taken;
};

/* Starts it in a shell: 0 or -errno. It ends when we do. */
int foreign_child_start(struct foreign_child *child, const char *command, const char *folder);
/* Writes a line. 0, or -EPIPE: it has closed its stdin; -EAGAIN: it does not read. */
int foreign_child_write(struct foreign_child *child, const char *line);
/* The next line without its end, in child->buffer until the next call. 1: *ret is a line; 0: none yet; -ENODATA: stdout
 * has ended;
 * -EMSGSIZE: a line that does not end; -errno. Does not wait. */
int foreign_child_next_line(struct foreign_child *child, char **ret);
/* How long it has waited for a processor so far, which is the machine's time and not its own: the most of any thread of
 * it and of what it started, as far as the kernel has booked it. 0 where it does not count that. */
lb_ns foreign_child_held_up(const struct foreign_child *child);
/* A limit that began when foreign_child_held_up() was `before` has passed, `over` ns ago: for how much longer it is to be
 * waited for, as the machine holds it up. 0 = it is late by itself. May take 25 ms. */
lb_ns foreign_child_more(const struct foreign_child *child, lb_ns before, lb_ns over);
/* Waits until something can be read from fd, for `ms` and for as long as the machine holds it up meanwhile. As
 * poll(2). */
int foreign_child_await(const struct foreign_child *child, int fd, int ms);
/* Closes its stdin. */
void foreign_child_hang_up(struct foreign_child *child);
/* Ends it: closes its stdin, gives it `patience_ms` to end by itself (and what it is held up meanwhile), and kills it.
 * What became of it in `fate` ("exited with status 3"). Safe on one that never started. False: it was killed. */
bool foreign_child_end(struct foreign_child *child, int patience_ms, char *fate, size_t size);

#endif
