/* SPDX-License-Identifier: MIT
 *
 * The history that a command names: a file of either form, or `-` for standard input. The form is
 * told by its first bytes, not by the name. The usual mistakes get an answer of their own: a
 * results folder instead of a file, and a history that was left out of a published run on purpose.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "cli.h"
#include "history/history.h"
#include "show/left_out.h"

bool lb_is_run_folder(const char *path) {
  char file[4096];
  return snprintf(file, sizeof file, "%s/run.json", path) < (int)sizeof file && access(file, F_OK) == 0;
}

int lb_load_history(const char *word, struct lb_history *ret) {
  char err[600], why[600];
  if (lb_is_run_folder(word))
    return lb_complain(LB_EXIT_USAGE, "%s: expected a history, found a results folder, see `%s explain --help`", word,
                       lb_called());
  bool is_file = strcmp(word, "-") != 0;
  int r = is_file ? lb_history_load(word, ret, err, sizeof err)
                  : lb_history_read(STDIN_FILENO, "standard input", ret, err, sizeof err);
  if (r == -ENOENT && is_file && lb_left_out(word, why, sizeof why) > 0)
    return lb_complain(LB_EXIT_USAGE, "%s was left out on purpose: %s", word, why);
  return r < 0 ? lb_complain(LB_EXIT_USAGE, "%s", err) : 0;
}
