/* SPDX-License-Identifier: MIT
 *
 * about.h - members that every kind of results has in common (results/SCHEMA.md): which tool made them, called how, on which machine.
 */
#ifndef LB_ABOUT_H
#define LB_ABOUT_H

#include <jansson.h>
#include <stddef.h>

#include "base/machine.h"

/* Each a new reference, NULL when out of memory or where a text is not UTF-8. */
json_t *lb_about_tool(void);
json_t *lb_about_argv(const char *const *argv, int argc);
/* `load_after` is the load when all trials are over; `namespaces` is lb_about_namespaces(). */
json_t *lb_about_machine(const struct lb_machine *machine, double load_after, const char *namespaces);
/* "root", "user", or "none: why". */
void lb_about_namespaces(char *ret, size_t size);
/* Writes `root` as the file `path`, first under another name beside it. Takes over the reference, also on error; NULL is -EILSEQ.
 * 0 or -errno. */
int lb_about_write(json_t *root, const char *path);

#endif
