/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * Whether the intervals of a campaign hold what they promise: campaigns with a known rate are drawn many times, from a
 * fixed seed, and it is counted how often the interval has the rate in it. 95 % is promised; 93 to 99 % is asked for.
 * Trials that are alike get more: they count as no more events than there were, though chance makes some look like
 * more.
 *
 * In the generators the trials differ by more than chance (each has a rate of its own), and one fault costs several
 * violations, as a paused holder does. What is usually quoted beside such counts is counted, too, so that it is seen
 * what it would have claimed. The figures of each generator are lines of the output; docs/decisions.md quotes them.
 */
#include <math.h>

#include "test.h"
#include "base/interval.h"
#include "base/rng.h"

enum { CAMPAIGNS = 4000, TRIALS_MAX = 10, RESAMPLES = 200 };

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static double uniform(struct lb_rng *rng) { return ((double)(lb_rng_next(rng) >> 11) + 0.5) / 9007199254740992.0; }

static double normal(struct lb_rng *rng) { return sqrt(-2 * log(uniform(rng))) * cos(2 * M_PI * uniform(rng)); }

/* G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", TOMS 26 (2000). */
static double gamma_of(struct lb_rng *rng, double shape) {
  if (shape < 1) return gamma_of(rng, shape + 1) * pow(uniform(rng), 1 / shape);
  double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double x = normal(rng), v = pow(1 + c * x, 3);
    if (1 + c * x > 0 && log(uniform(rng)) < x * x / 2 + d - d * v + d * log(v)) return d * v;
  }
}

static double poisson(struct lb_rng *rng, double mean) {
  double k = 0;
  for (double p = uniform(rng), least = exp(-mean); p > least; p *= uniform(rng)) k++;
  return k;
}

struct generator {
  const char *name;
  size_t trials;
  double mean; /* faults of a trial */
  double rate; /* of them that fail */
  double
      spread; /* of the trials' own rates: their intraclass correlation (a share), their coefficient of variation (a count) */
  double cost; /* violations of a fault that fails, mean of a geometric number; 0 = a share is asked for */
};

static double rate_of_trial(const struct generator *g, struct lb_rng *rng) {
  if (g->spread <= 0) return g->rate;
  if (g->cost > 0) return g->rate * gamma_of(rng, 1 / g->spread / g->spread) * g->spread * g->spread;
  double more = (1 - g->spread) / g->spread, a = gamma_of(rng, g->rate * more), b = gamma_of(rng, (1 - g->rate) * more);
  return a / (a + b);
}

/* A trial of a share: `mean` faults, more or less. Of a count: it fails at random times in its exposure. */
static struct lb_part trial_of(const struct generator *g, struct lb_rng *rng) {
  struct lb_part part = {0};
  double rate = rate_of_trial(g, rng);
  if (g->cost <= 0) {
    part.exposure = fmax(1, poisson(rng, g->mean));
    for (double i = 0; i < part.exposure; i++) part.events += uniform(rng) < rate;
    return part;
  }
  part.exposure = g->mean * (0.6 + 0.8 * uniform(rng));
  for (double faults = poisson(rng, rate * part.exposure); faults > 0; faults--) do
      part.events++;
    while (uniform(rng) > 1 / g->cost);
  return part;
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static struct lb_rate ours(const struct generator *g, const struct lb_part *part, size_t count) {
  return g->cost > 0 ? lb_rate_per(part, count, 1) : lb_rate_share(part, count);
}

/* All events as if of one trial: what Wilson and Poisson intervals assume. */
static struct lb_rate pooled(const struct generator *g, const struct lb_part *part, size_t count) {
  struct lb_part all = {0};
  for (size_t i = 0; i < count; i++) all.events += part[i].events, all.exposure += part[i].exposure;
  return ours(g, &all, 1);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The percentile bootstrap over trials. */
static struct lb_rate bootstrap(const struct lb_part *part, size_t count, struct lb_rng *rng) {
  double rates[RESAMPLES];
  for (size_t r = 0; r < RESAMPLES; r++) {
    struct lb_part all = {0};
    for (size_t i = 0; i < count; i++) {
      const struct lb_part *drawn = &part[lb_rng_below(rng, count)];
      all.events += drawn->events, all.exposure += drawn->exposure;
    }
    rates[r] = all.events / all.exposure;
  }
  qsort(rates, RESAMPLES, sizeof *rates, ascending);
  return (struct lb_rate){.low = rates[RESAMPLES / 40], .high = rates[RESAMPLES - 1 - RESAMPLES / 40]};
}

struct found {
  double ours, pooled, bootstrap; /* in % of the campaigns the rate lay inside */
};

static bool holds(struct lb_rate x, double rate) { return x.low <= rate && rate <= x.high; }

static struct found simulate(const struct generator *g) {
  struct lb_rng rng = {20260101};
  struct found n = {0};
  double rate = g->cost > 0 ? g->rate * g->cost : g->rate;
  for (size_t c = 0; c < CAMPAIGNS; c++) {
    struct lb_part part[TRIALS_MAX];
    for (size_t i = 0; i < g->trials; i++) part[i] = trial_of(g, &rng);
    n.ours += holds(ours(g, part, g->trials), rate);
    n.pooled += holds(pooled(g, part, g->trials), rate);
    if (c < CAMPAIGNS / 4) n.bootstrap += 4 * holds(bootstrap(part, g->trials, &rng), rate);
  }
  n = (struct found){100 * n.ours / CAMPAIGNS, 100 * n.pooled / CAMPAIGNS, 100 * n.bootstrap / CAMPAIGNS};
  print_message("# %-52s %5.1f %%, as one trial %5.1f %%, bootstrap %5.1f %%\n", g->name, n.ours, n.pooled,
                n.bootstrap);
  return n;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

TEST(the_rate_lies_in_the_interval_as_often_as_promised) {
  static const struct generator generators[] = {
      {"share 0.1, 5 trials of 33 faults, all alike", 5, 33, 0.1, 0, 0},
      {"share 0.1, 5 trials of 33 faults, some worse", 5, 33, 0.1, 0.05, 0},
      {"share 0.3, 5 trials of 16 faults, all alike", 5, 16, 0.3, 0, 0},
      {"share 0.3, 5 trials of 33 faults, much worse", 5, 33, 0.3, 0.1, 0},
      {"share 0.7, 5 trials of 33 faults, some worse", 5, 33, 0.7, 0.05, 0},
      {"share 0.5, 10 trials of 16 faults, some worse", 10, 16, 0.5, 0.05, 0},
      {"count, 3 faults fail per trial, cost 1 each", 5, 33, 0.1, 0, 1},
      {"count, 3 faults fail per trial, cost 2", 5, 33, 0.1, 0, 2},
      {"count, 3 faults fail per trial, cost 6", 5, 33, 0.1, 0, 6},
      {"count, 3 faults fail per trial, cost 6, some worse", 5, 33, 0.1, 0.3, 6},
      {"count, 10 faults fail per trial, cost 6, some worse", 5, 33, 0.3, 0.3, 6},
      {"count, 10 faults fail per trial, cost 2, much worse", 5, 33, 0.3, 0.6, 2},
      {"count, 10 trials, 3 faults fail, cost 6, some worse", 10, 33, 0.1, 0.3, 6}};
  for (size_t i = 0; i < sizeof generators / sizeof *generators; i++) {
    double found = simulate(&generators[i]).ours;
    if (!(found >= 93 && found <= 99)) fail_msg("%s: %.1f %%, expected 93 to 99", generators[i].name, found);
  }
}

/* Why neither is used: the one believes that violations are independent, the other has five values to draw from. */
TEST(what_is_usually_quoted_promises_too_much) {
  struct found x =
      simulate(&(struct generator){"count, 10 faults fail per trial, cost 6, some worse", 5, 33, 0.3, 0.3, 6});
  assert_true(x.pooled < 50);
  assert_true(x.bootstrap < 88);
}

/* Where hardly anything fails, and in one trial more than in all others, nothing that is seen tells so. */
TEST(a_rare_failure_that_few_trials_share_is_covered_less) {
  struct found x = simulate(&(struct generator){"share 0.05, 5 trials of 16 faults, much worse", 5, 16, 0.05, 0.1, 0});
  assert_true(x.ours > 86 && x.ours > x.pooled && x.ours > x.bootstrap);
}
