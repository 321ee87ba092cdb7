/* SPDX-License-Identifier: MIT
 *
 * A shared library that is no plugin.
 */
int lb_test_nothing(void);
int lb_test_nothing(void) { return 0; }
