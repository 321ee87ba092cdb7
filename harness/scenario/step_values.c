/* SPDX-License-Identifier: MIT
 *
 * The values in a step: times, offsets, rates and the names of points, from one word each. A
 * duration that is no whole number of milliseconds is refused, not rounded: the step is quoted as
 * it was written, and has to be what was done.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "scenario_parts.h"

#define DELAY "delay"
#define DURATION_MAX_MS INT64_C(3600000)
#define RATE_MIN 0.5
#define RATE_MAX 2.0
#define LOSS_MIN 0.1
#define LOSS_MAX 50.0
#define AFTER_MAX 1000

/* Milliseconds of "250ms", "1.5s", "1m", exactly; -1 if it is none. */
static int64_t duration_ms(const char *word) {
  static const struct {
    const char *unit;
    int64_t ms;
  } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};
  size_t whole = strspn(word, "0123456789");
  const char *unit = word + whole;
  size_t fraction = *unit == '.' ? strspn(unit + 1, "0123456789") : 0;
  if (*unit == '.') unit += fraction + 1;
  if (whole < 1 || whole > 7 || fraction > 3 || (unit > word + whole && fraction == 0)) return -1;
  int64_t thousandths = strtoll(word, NULL, 10) * 1000;
  for (size_t i = 0, weight = 100; i < fraction; i++, weight /= 10)
    thousandths += (int64_t)weight * (word[whole + 1 + i] - '0');
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(unit, units[i].unit) != 0) continue;
    int64_t product = thousandths * units[i].ms;
    return product % 1000 == 0 ? product / 1000 : -1;
  }
  return -1;
}

/* "delay", "delay+300ms": how long the delay is, only the scenario knows. */
static int delay_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  const char *rest = word + strlen(DELAY);
  int64_t beyond = *rest == '+' ? duration_ms(rest + 1) : 0;
  if ((*rest && *rest != '+') || (*rest && beyond < 1) || beyond > DURATION_MAX_MS)
    return lb_refuse(why, why_size, "'%s': expected delay, or delay and a duration, like delay+300ms", word);
  ret->delayed = true;
  ret->beyond_ms = beyond;
  return 0;
}

int lb_time_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  if (strncmp(word, DELAY, strlen(DELAY)) == 0) return delay_parse(word, ret, why, why_size);
  int64_t ms = duration_ms(word);
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, why_size, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m", word);
  ret->within_ms = ms;
  return 0;
}

int lb_jitter_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  int64_t ms = duration_ms(word);
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, why_size, "'%s': expected a jitter, a duration from 1ms to the delay, like 5ms", word);
  ret->jitter_ms = ms;
  return 0;
}

/* "1%", "0.5%": a share that says so. Less could not be proved in reasonable time, and with more there is hardly a link. */
int lb_loss_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  size_t digits = strspn(word, "0123456789.");
  const char *point = memchr(word, '.', digits);
  bool good = digits > 0 && digits < 8 && strcmp(word + digits, "%") == 0 && isdigit((unsigned char)*word);
  if (good && point) good = isdigit((unsigned char)point[1]) && !memchr(point + 1, '.', digits - (size_t)(point - word) - 1);
  double percent = good ? strtod(word, NULL) : 0;
  if (percent < LOSS_MIN || percent > LOSS_MAX)
    return lb_refuse(why, why_size, "'%s': expected a loss from %g%% to %g%%, like 1%%", word, LOSS_MIN, LOSS_MAX);
  ret->loss = percent / 100;
  return 0;
}

int lb_after_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  size_t digits = strspn(word, "0123456789");
  int number = digits > 0 && digits < 5 && word[digits] == '\0' ? atoi(word) : 0;
  if (number < 1 || number > AFTER_MAX) return lb_refuse(why, why_size, "'%s': expected a number of messages from 1 to %d", word, AFTER_MAX);
  ret->after = number;
  return 0;
}

/* The sign is mandatory: "clock A 5s" would leave open whether it is set to 5 s or set forward. */
int lb_offset_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  bool sign = *word == '+' || *word == '-';
  int64_t ms = sign ? duration_ms(word + 1) : -1;
  if (ms < 1 || ms > DURATION_MAX_MS)
    return lb_refuse(why, why_size, "'%s': expected a sign and a duration from 1ms to 60m, like +31s, -5s or +250ms", word);
  ret->offset_ms = *word == '-' ? -ms : ms;
  return 0;
}

/* "1.02": strtod alone would take "0x1", "1e0" and "nan". */
int lb_rate_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  double rate = strspn(word, "0123456789.") == strlen(word) && isdigit((unsigned char)*word) ? strtod(word, NULL) : 0;
  const char *point = strchr(word, '.');
  if (rate < RATE_MIN || rate > RATE_MAX || (point && (point[1] == '\0' || strchr(point + 1, '.'))))
    return lb_refuse(why, why_size, "'%s': expected a rate from %g to %g, like 1.02", word, RATE_MIN, RATE_MAX);
  ret->rate = rate;
  return 0;
}

int lb_lock_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  int number = 0, r = lb_number_parse("lock", word, LB_LOCKS_MAX, &number, why, why_size);
  if (r == 0) ret->lock = number - 1;
  return r;
}

/* Form only: which points a client has is known to the protocol that it runs. */
const char *const lb_policies[] = {"noeviction",     "volatile-ttl", "volatile-lru", "volatile-lfu", "volatile-random",
                                   "allkeys-lru", "allkeys-lfu",  "allkeys-random", NULL};

int lb_policy_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  size_t count = 0;
  for (; lb_policies[count]; count++)
    if (strcmp(lb_policies[count], word) == 0) return ret->policy = lb_policies[count], 0;
  const char *near = lb_suggest(word, lb_policies, count);
  if (near) return lb_refuse(why, why_size, "unknown policy '%s', did you mean '%s'?", word, near);
  return lb_refuse(why, why_size, "unknown policy '%s': expected noeviction, volatile-ttl, -lru, -lfu or -random, allkeys-lru, -lfu or -random", word);
}

int lb_point_parse(const char *word, struct lb_step *ret, char *why, size_t why_size) {
  size_t size = sizeof ret->point;
  if (strlen(word) >= size || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
    return lb_refuse(why, why_size, "'%s': expected the name of a point: at most %zu small letters, digits and '-'", word, size - 1);
  snprintf(ret->point, size, "%s", word);
  return 0;
}
