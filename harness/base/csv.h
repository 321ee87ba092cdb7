/* SPDX-License-Identifier: MIT
 *
 * csv.h - reads CSV as in RFC 4180, with a header line, a record at a time.
 */
#ifndef LB_CSV_H
#define LB_CSV_H

#include <stddef.h>
#include "error.h"

struct lb_csv {
  const char *path; /* of the caller, for messages */
  char *data;       /* the whole file; fields point into it */
  char *next;       /* where the next record begins */
  int line;         /* of the latest record, from 1 */
  int next_line;
  char **header, **field; /* `columns` each */
  size_t columns;
};

/* Opens a file and reads its header line. 0; -EINVAL or other -errno with one line in err. `path`
 * must outlive *ret; release with lb_csv_close(), which is not needed (but allowed) after an error. */
int lb_csv_open(const char *path, struct lb_csv *ret, struct lb_error *err);
/* 1 = read a record, 0 = end of file, -EINVAL (a stray quote, another number of fields than the
 * header) with err. */
int lb_csv_next(struct lb_csv *csv, struct lb_error *err);
/* Index of a column for csv->field[], or -EINVAL with err naming the column that is missing. */
int lb_csv_column(const struct lb_csv *csv, const char *name, struct lb_error *err);
void lb_csv_close(struct lb_csv *csv);

#endif
