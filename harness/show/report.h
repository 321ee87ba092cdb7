/* SPDX-License-Identifier: MIT
 *
 * report.h - the page of a run: report.html in its folder.
 */
#ifndef LB_REPORT_H
#define LB_REPORT_H

#include <stddef.h>

/* Whether a run folder has what a report is made of: run.json and trials.csv, whole and well-formed. 0; -errno with one line in err. */
int lb_report_check(const char *run_dir, char *err, size_t err_size);
/* Writes report.html into a run folder from its run.json and trials.csv (results/SCHEMA.md), and
 * from nothing else: the same folder gives the same page. It shows the figures that are there at
 * this moment, so draw them first. The page appears under its name only when it is complete. 0;
 * -EINVAL with one line in err (file, place, what was expected) for bad content; other -errno with
 * err. */
int lb_report_write(const char *run_dir, char *err, size_t err_size);

#endif
