/* SPDX-License-Identifier: MIT
 *
 * foreign_line.h - lines of the line protocol of peers/README.md: their words, the first one, and the one that tells
 * where the servers are.
 */
#ifndef LB_FOREIGN_LINE_H
#define LB_FOREIGN_LINE_H

#include "foreign.h"

struct lb_error; /* base/error.h */

/* ---- words of a line ------------------------------------------------------------------------ */

#define FOREIGN_WORDS_MAX 64

/* A line in words, each without its percent signs. Its texts are in `line`, which was written over. */
struct foreign_words {
  char *word[FOREIGN_WORDS_MAX];
  size_t count;
};
/* Takes a line apart. 0, or -EINVAL: too many words, or a % without two hexadecimal digits. */
int foreign_line_split(char *line, struct foreign_words *ret);
/* What stands behind NAME= in the words from `first` on, or NULL. */
const char *foreign_line_value(const struct foreign_words *words, size_t first, const char *name);
/* Appends a text with percent signs where a value has to have them; `url`: also where a part of an URL has to. False:
 * no room, and the line is useless. */
bool foreign_line_append(char *line, size_t size, const char *text);
bool foreign_line_append_value(char *line, size_t size, const char *text, bool url);
/* A copy that can be printed in a message: what cannot is a '?', and what is long is cut. */
void foreign_line_quote(const char *text, char *buf, size_t size);

/* ---- what an adapter says of itself ---------------------------------------------------------- */

enum { FOREIGN_TOPOLOGIES_MAX = 16, FOREIGN_RECORDS_MAX = 4 };

struct foreign_says {
  char name[48], version[48];
  char topology[FOREIGN_TOPOLOGIES_MAX][32];
  size_t topology_count;
  char record[FOREIGN_RECORDS_MAX][128];
  size_t record_count;
  unsigned traits; /* LB_TRAIT_LEASED, ..., LB_TRAIT_TRUE_CLOCK */
  bool can_extend, can_holds, can_validity, can_signal, can_stop, can_token, can_work, can_record;
};
/* Reads "name=... topologies=...". 0, or -EINVAL with one line in err. `words` is written over. */
int foreign_line_read_says(char *words, struct foreign_says *ret, struct lb_error *err);
/* Behind "lockbench-adapter 1 " of a first line, or NULL with one line in err. */
const char *foreign_line_first(const char *line, struct lb_error *err);

/* "open topology=... server=...", without a number and an end. False: no room for it. */
bool foreign_line_open(const struct lb_config *config, char *line, size_t size);
/* "record key=... server=...", of a server if there is one, likewise. */
bool foreign_line_record(const struct lb_config *config, const char *key, size_t endpoint, char *line, size_t size);

#endif
