/* SPDX-License-Identifier: MIT
 *
 * cli_judge.h - what `judge` knows of a lock beside the outcomes of its trials, and the one screen that it prints.
 */
#ifndef LB_CLI_JUDGE_H
#define LB_CLI_JUDGE_H

#include "run/tally.h"

enum { LB_JUDGE_LINES = 24, LB_JUDGE_COLUMNS = 100 };

struct lb_judged {
  const struct lb_protocol *protocol;
  const char *word;  /* as it was typed, without its topology */
  const char *check; /* the command that holds it against the contract, "adapter-check"; NULL = it was not checked */
  int statements, failed;
  char first_failed[100]; /* a statement; "" = none */
};

/* At most LB_JUDGE_LINES lines on stdout, the verdict first. Only the command that shows the first violation may be
 * split, or longer than LB_JUDGE_COLUMNS. Returns the exit code of `judge`. `dir` is the results folder. */
int lb_judge_tell(const struct lb_judged *judged, const struct lb_tally *tally, const char *dir);
/* The same exit code, and prints nothing. */
int lb_judge_code(const struct lb_judged *judged, const struct lb_tally *tally);

#endif
