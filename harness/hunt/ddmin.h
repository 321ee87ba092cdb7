/* SPDX-License-Identifier: MIT
 *
 * ddmin.h - delta debugging: the smallest part of a list that still does what the whole did. Pure: what "does" means is the caller's.
 *
 * Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 2002. What belongs together (a fault and its undo) is one
 * element, as in DEMi (NSDI 2016).
 */
#ifndef LB_HUNT_DDMIN_H
#define LB_HUNT_DDMIN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether those with keep[i] alone do it: 1 or 0; anything below 0 ends the search. */
typedef int (*lb_ddmin_test)(void *of, const bool keep[]);

/* Those with keep[i] are known to do it. In the end they still do, and without any single one of them they do not: 1-minimal. The empty list is never
 * asked about: its caller has. 0; what the test said if that is below 0, then keep is the smallest list known to do it; -ENOMEM. */
int lb_ddmin(bool keep[], size_t count, lb_ddmin_test test, void *of);

/* The smallest of value, value/2, value/4 ... that still does it, but `least` at least, or 0 if that does: what times are cut down with. test(of, v) as
 * above; value itself is known to do it. Into *value. 0, or what the test said if that is below 0 (then *value is the smallest known to do it). */
int lb_halve(long long *value, long long least, int (*test)(void *of, long long value), void *of);

#endif
