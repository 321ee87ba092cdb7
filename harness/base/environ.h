/* SPDX-License-Identifier: MIT
 *
 * environ.h - environment variables of the user's that do not belong into a trial.
 */
#ifndef LB_ENVIRON_H
#define LB_ENVIRON_H

/* Forgets settings that client libraries and servers would pick up on their own: a PGOPTIONS can
 * change a verdict. Of this process and those it starts from now on. */
void lb_environ_forget(void);

#endif
