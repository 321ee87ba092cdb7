/* SPDX-License-Identifier: MIT
 *
 * exit.h - what the exit code of a command says.
 */
#ifndef LB_EXIT_H
#define LB_EXIT_H

enum lb_exit {
  LB_EXIT_OK = 0,         /* as expected */
  LB_EXIT_FAILURE = 1,    /* the harness failed */
  LB_EXIT_USAGE = 2,      /* usage or bad input */
  LB_EXIT_UNEXPECTED = 3, /* a verdict differs from its expectation, or a violation where none is stated */
  LB_EXIT_UNDECIDED = 4,
  LB_EXIT_MISSING = 5,    /* a needed server or permission is missing */
};

#endif
