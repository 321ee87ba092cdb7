/* SPDX-License-Identifier: MIT
 *
 * files.h - folders and whole-file writes.
 */
#ifndef LB_FILES_H
#define LB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* mkdir -p. 0 or -errno. */
int lb_files_make_dirs(const char *path);
/* rm -rf of what can be removed; never follows links, never leaves `path`'s file system. */
void lb_files_remove_tree(const char *path);
/* A folder with all that is in it: folders, files and their modes, not their owners and times. With `sparse`, what is a
 * hole stays one. What else it finds is -EINVAL. 0 or -errno. */
int lb_files_copy_tree(const char *from, const char *to, bool sparse);
/* Makes holes of what is zero in the files of a folder. What cannot be one, stays. */
void lb_files_dig_holes(const char *path);
/* Closes a stream that was written to; 0, or -errno of anything that went wrong on it since it was
 * opened (a full disk may only show here). */
int lb_files_close_written(FILE *out);
/* Opens a file to be read. NULL with errno, also for a folder (EISDIR): fopen() would open one, and only reads would
 * fail. */
FILE *lb_files_open(const char *path);
/* Appends what comes from a file or a pipe to *data (from malloc; NULL = nothing yet), until that has `most` bytes or the
 * file ends; with a zero byte behind it. 0 or -errno. */
int lb_files_read_more(int fd, size_t most, char **data, size_t *size);
/* All that comes. 0 (to be freed) or -errno: -EFBIG for more than `most` bytes, as some files never end. */
int lb_files_read_all(int fd, size_t most, char **ret_data, size_t *ret_size);
/* Exactly so much; false at the end of the pipe, also in the middle. */
bool lb_files_read_exactly(int fd, void *to, size_t size);
/* Appends the whole file `from` to `out`. 0 (also when there is no such file) or -errno. */
int lb_files_append(FILE *out, const char *from);

#endif
