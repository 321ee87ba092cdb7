/* SPDX-License-Identifier: MIT
 *
 * left_out.h - what the folder of a published run leaves out (results/SCHEMA.md): histories, as
 * histories/left-out.txt says, and of each cell what is usual.
 */
#ifndef LB_LEFT_OUT_H
#define LB_LEFT_OUT_H

#include <stddef.h>

#include <jansson.h>

/* Looks into left-out.txt beside the history `path`, for the first line "PATTERN: reason" whose
 * pattern (fnmatch(3)) fits the name of its file. 1 with the reason in ret; 0 = no line fits, or
 * there is no such file; -EINVAL for a line of another form, or other -errno, with one line for the
 * user in ret. */
int lb_left_out(const char *path, char *ret, size_t size);

/* Gives the cells of a run.json all their members: those that a cell lacks are those of `usual` for its verdict. */
void lb_fill_cells(json_t *run);

#endif
