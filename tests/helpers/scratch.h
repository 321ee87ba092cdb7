/* SPDX-License-Identifier: MIT
 *
 * scratch.h - a fresh folder for one test. Below $TMPDIR, so that whoever ends a test in the middle can clear up after
 * it.
 */
#ifndef LB_SCRATCH_H
#define LB_SCRATCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* path becomes "/tmp/test-NAME-XXXXXX". False: there is none. */
static inline bool scratch_folder(char *path, size_t size, const char *name) {
  const char *below = getenv("TMPDIR");
  int length = snprintf(path, size, "%s/test-%s-XXXXXX", below && *below ? below : "/tmp", name);
  return length > 0 && (size_t)length < size && mkdtemp(path);
}

#endif
