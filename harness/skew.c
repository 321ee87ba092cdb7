/* SPDX-License-Identifier: MIT */
#include "skew.h"

#include <stddef.h>

struct lb_skew *lb_skew_create(const char *path) { return (void)path, NULL; }
void lb_skew_unmap(struct lb_skew *skew) { (void)skew; }
void lb_skew_jump(struct lb_skew *skew, bool monotonic, int64_t offset_ms) { (void)skew, (void)monotonic, (void)offset_ms; }
void lb_skew_rate(struct lb_skew *skew, double rate) { (void)skew, (void)rate; }
void lb_skew_reset(struct lb_skew *skew) { (void)skew; }
int64_t lb_skew_wall_offset(const struct lb_skew *skew) { return (void)skew, 0; }
uint64_t lb_skew_wall_ns(const struct lb_skew *skew, uint64_t true_ns) { return (void)skew, true_ns; }
uint64_t lb_skew_mono_ns(const struct lb_skew *skew, uint64_t true_ns) { return (void)skew, true_ns; }
uint64_t lb_skew_mono_true_ns(const struct lb_skew *skew, uint64_t skewed_ns) { return (void)skew, skewed_ns; }
