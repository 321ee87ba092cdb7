/* SPDX-License-Identifier: MIT
 *
 * left_out.h - histories that a run had and its folder was meant to lose: histories/left-out.txt
 * says which, and why.
 */
#ifndef LB_LEFT_OUT_H
#define LB_LEFT_OUT_H

#include <stddef.h>

/* Looks into left-out.txt beside the history `path`, for the first line "PATTERN: reason" whose
 * pattern (fnmatch(3)) fits the name of its file. 1 with the reason in ret; 0 = no line fits, or
 * there is no such file; -EINVAL for a line of another form, or other -errno, with one line for the
 * user in ret. */
int lb_left_out(const char *path, char *ret, size_t size);

#endif
