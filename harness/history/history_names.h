/* SPDX-License-Identifier: MIT
 *
 * history_names.h - other names of the operations in EDN and CSV.
 */
#ifndef LB_HISTORY_NAMES_H
#define LB_HISTORY_NAMES_H

#include "base/error.h"

/* "lock=acquire,unlock=release", for all files that are read from now on; the text has to last. -EINVAL with "found ...,
 * expected ...". */
int lb_history_names_set(const char *as, struct lb_error *err);
/* The operation (enum lb_op_f) that is called so, or -1. */
int lb_history_names_find(const char *text);

#endif
