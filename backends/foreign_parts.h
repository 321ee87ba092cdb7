/* SPDX-License-Identifier: MIT
 *
 * foreign_parts.h - what the files of foreign locks share: what an adapter says of itself, its process with two pipes, lines. Private to foreign*.c.
 */
#ifndef LB_FOREIGN_PARTS_H
#define LB_FOREIGN_PARTS_H

#include <sys/types.h>

#include "foreign.h"

/* ---- words of a line (foreign_words.c) ------------------------------------------------------------------------ */

#define FOREIGN_WORDS_MAX 64

/* A line in words, each without its percent signs. Its texts are in `line`, which was written over. */
struct foreign_words {
  char *word[FOREIGN_WORDS_MAX];
  size_t count;
};
/* Takes a line apart. 0, or -EINVAL: too many words, or a % without two hexadecimal digits. */
int foreign_split(char *line, struct foreign_words *ret);
/* What stands behind NAME= in the words from `first` on, or NULL. */
const char *foreign_value(const struct foreign_words *words, size_t first, const char *name);
/* Appends a text with percent signs where a value has to have them; `url`: also where a part of an URL has to. False: no room, and the line is useless. */
bool foreign_append(char *line, size_t size, const char *text);
bool foreign_append_value(char *line, size_t size, const char *text, bool url);
/* A copy that can be printed in a message: what cannot is a '?', and what is long is cut. */
void foreign_quote(const char *text, char *buf, size_t size);

/* ---- what an adapter says of itself (foreign_says.c) ---------------------------------------------------------- */

enum { FOREIGN_TOPOLOGIES_MAX = 16, FOREIGN_RECORDS_MAX = 4 };

struct foreign_says {
  char name[48], version[48];
  char topology[FOREIGN_TOPOLOGIES_MAX][32];
  size_t topology_count;
  char record[FOREIGN_RECORDS_MAX][128];
  size_t record_count;
  unsigned traits; /* LB_TRAIT_LEASED, ..., LB_TRAIT_TRUE_CLOCK */
  bool can_extend, can_holds, can_validity, can_signal;
};
/* Reads "name=... topologies=...". 0, or -EINVAL with one line in err. `words` is written over. */
int foreign_read_says(char *words, struct foreign_says *ret, char *err, size_t err_size);
/* Behind "lockbench-adapter 1 " of a first line, or NULL with one line in err. */
const char *foreign_first_line(const char *line, char *err, size_t err_size);

/* ---- its process (foreign_child.c) ---------------------------------------------------------------------------- */

enum { FOREIGN_BUFFER = 64 * 1024, FOREIGN_UNASKED_MAX = 1000 };

struct foreign_child {
  pid_t pid; /* 0 = none */
  lb_ns used; /* processor time of it and of what it has waited for, known by foreign_end() */
  int in, out; /* our ends of its stdin and stdout, -1 = none */
  char *buffer; /* what was read and is no whole line yet; FOREIGN_BUFFER bytes */
  size_t length, taken;
};

/* Starts it in a shell: 0 or -errno. It ends when we do. */
int foreign_start(struct foreign_child *child, const char *command, const char *folder);
/* Writes a line. 0, or -EPIPE: it has closed its stdin; -EAGAIN: it does not read. */
int foreign_write(struct foreign_child *child, const char *line);
/* The next line without its end, in child->buffer until the next call. 1: *ret is a line; 0: none yet; -ENODATA: stdout has ended;
 * -EMSGSIZE: a line that does not end; -errno. Does not wait. */
int foreign_next_line(struct foreign_child *child, char **ret);
/* How long it has waited for a processor so far, which is the machine's time and not its own: the most of any thread of it and of what it started, as far as the kernel
 * has booked it. 0 where it does not count that. */
lb_ns foreign_held_up(const struct foreign_child *child);
/* A limit that began when foreign_held_up() was `before` has passed, `over` ns ago: for how much longer it is to be waited for, as the machine holds it up. 0 = it is late by
 * itself. May take 25 ms. */
lb_ns foreign_more(const struct foreign_child *child, lb_ns before, lb_ns over);
/* Waits until something can be read from fd, for `ms` and for as long as the machine holds it up meanwhile. As poll(2). */
int foreign_await(const struct foreign_child *child, int fd, int ms);
/* Closes its stdin. */
void foreign_hang_up(struct foreign_child *child);
/* Ends it: closes its stdin, gives it `patience_ms` to end by itself (and what it is held up meanwhile), and kills it. What became of it in `fate` ("exited with status 3"). Safe on one that
 * never started. False: it was killed. */
bool foreign_end(struct foreign_child *child, int patience_ms, char *fate, size_t size);

/* ---- where the servers are (foreign_open.c) -------------------------------------------------------------------- */

/* "open topology=... server=...", without a number and an end. False: no room for it. */
bool foreign_open_line(const struct lb_config *config, char *line, size_t size);

/* ---- what servers (foreign_look.c) and the kernel know (foreign_server.c) --------------------------------------- */

/* As the hook inspect says. */
int foreign_inspect(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, const char *key, size_t endpoint, lb_ns deadline);
/* As the hook break_lock says: of several records the first that is there. */
int foreign_break(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, const char *key, size_t endpoint, lb_ns deadline);
/* As the hook teardown says: removes what carries the prefix of the run. */
int foreign_clean(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, lb_ns deadline);
/* As the hook server says, of the process `pid`. */
int foreign_server(const struct lb_target *target, pid_t pid);
/* Whether the process has this file mapped. */
bool foreign_maps(pid_t pid, const char *path);

#endif
