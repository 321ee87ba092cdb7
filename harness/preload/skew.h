/* SPDX-License-Identifier: MIT
 *
 * skew.h - the clocks of one host: how far its wall clock and its monotonic clock are from the
 * truth, in memory that the processes of that host share. Servers see it through a preload library
 * (clock_shim.c), our clients through their env.
 *
 * One writer, the controller; any number of readers, in any process, also in the middle of a change
 * (a sequence lock, see skew_page.h). What is true is CLOCK_MONOTONIC and CLOCK_REALTIME of this
 * machine; nothing here touches those.
 */
#ifndef LB_SKEW_H
#define LB_SKEW_H

#include <stdbool.h>
#include <stdint.h>

struct lb_skew; /* a shared page */

/* A new page with true clocks, backed by the file `path` (for servers: the shim maps it) or by
 * anonymous shared memory (path NULL: for clients, forked afterwards). NULL with errno. */
struct lb_skew *lb_skew_create(const char *path);
/* Unmaps it; the file stays. NULL is fine. */
void lb_skew_unmap(struct lb_skew *skew);

/* The wall clock (or the monotonic clock) jumps by offset_ns, at once, on top of earlier changes. */
void lb_skew_jump(struct lb_skew *skew, bool monotonic, int64_t offset_ns);
/* Both clocks run `rate` times as fast as the true ones from now on; no jump. 1 = true speed again. */
void lb_skew_rate(struct lb_skew *skew, double rate);
/* True clocks again (a jump back). */
void lb_skew_reset(struct lb_skew *skew);

/* What a host with these clocks reads where the true clock says `true_ns`. NULL = the truth. */
uint64_t lb_skew_wall_ns(const struct lb_skew *skew, uint64_t true_ns);
uint64_t lb_skew_mono_ns(const struct lb_skew *skew, uint64_t true_ns);
/* The other way: when, on the true monotonic clock, such a host will read `skewed_ns` (if nothing
 * changes). */
uint64_t lb_skew_mono_true_ns(const struct lb_skew *skew, uint64_t skewed_ns);

/* ---- the preload libraries of a server: its clocks (clock_shim.c), what it writes (disk_shim.c) -- */

#define LB_CLOCK_SHIM "lockbench-clock.so"
#define LB_CLOCK_SHIM_VARIABLE "LOCKBENCH_CLOCK_SHIM"
#define LB_DISK_SHIM "lockbench-disk.so"
#define LB_DISK_SHIM_VARIABLE "LOCKBENCH_DISK_SHIM"

enum lb_shim { LB_SHIM_CLOCK, LB_SHIM_DISK };

/* Its path: what its environment variable says, or else beside the running executable, in harness/ below it, or in
 * ../harness/ (where a test finds it). NULL: not there. Static; one thread. */
const char *lb_shim_path(enum lb_shim which);

#endif
