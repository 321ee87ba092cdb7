/* SPDX-License-Identifier: MIT
 *
 * What a run takes where nothing was said: a seed, how many trials run side by side, and the folder of
 * results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli.h"

enum { JOBS_MORE = 3 };

/* 32 bits: enough to draw from, and short enough to be copied from a screen. */
uint64_t lb_random_seed(void) {
  uint32_t word = 1;
  if (getrandom(&word, sizeof word, 0) != sizeof word) word = (uint32_t)lb_clock_ns();
  return word;
}

int lb_default_jobs(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN); /* a directed trial mostly waits: four a core */
  return cores < 1 ? 4 : cores > 4 ? 16 : (int)(4 * cores);
}

/* What the user said is meant; what is guessed is exceeded where the machine bears it. */
struct lb_jobs lb_jobs_of(const struct lb_args *args, int guess) {
  int most = JOBS_MORE * guess > LB_JOBS_MOST ? LB_JOBS_MOST : JOBS_MORE * guess;
  return args->jobs ? (struct lb_jobs){args->jobs, args->jobs} : (struct lb_jobs){guess < most ? guess : most, most};
}

/* results/ below the sources belongs to whoever built the tool; who may not write there gets a
 * folder below the one he stands in. */
const char *lb_results_folder(void) {
  static char path[4096];
  const char *folder = getenv("LOCKBENCH_RESULTS");
  if (folder && *folder) return folder;
  snprintf(path, sizeof path, "%s/results", lb_root());
  return access(path, W_OK) == 0 ? path : "lockbench-results";
}
