/* SPDX-License-Identifier: MIT
 *
 * A rate of few events, or of many that all followed one fault, says more than was seen. So below some number of them
 * the count itself is shown, with the bound that it allows.
 */
#include "campaign_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Two significant digits, never in powers of ten, and without zeros at the end of a fraction; "150k"
 * from ten thousand on. */
static const char *two_digits(double x, char *buf, size_t size) {
  int places = x > 0 ? 1 - (int)floor(log10(x)) : 0;
  double step = pow(10, places < 0 ? -places : 0), rounded = places > 0 ? x : round(x / step) * step;
  if (rounded >= 10000) snprintf(buf, size, "%.0fk", rounded / 1000);
  else snprintf(buf, size, "%.*f", places > 0 ? places : 0, rounded);
  char *end = buf + strlen(buf);
  if (strchr(buf, '.')) {
    while (end[-1] == '0') *--end = '\0';
    if (end[-1] == '.') end[-1] = '\0';
  }
  return buf;
}

static void print_interval(const struct lb_rate *rate, double scale, char *buf, size_t size) {
  char value[40], low[40], high[40];
  snprintf(buf, size, "%s [%s,%s]", two_digits(rate->value * scale, value, sizeof value),
           two_digits(rate->low * scale, low, sizeof low), two_digits(rate->high * scale, high, sizeof high));
}

void lb_campaign_text_seconds(double hours, char *buf, size_t size) {
  double seconds = hours * 3600;
  snprintf(buf, size, "%.*f", seconds < 10 ? 1 : 0, seconds);
}

void lb_campaign_text_share(const struct lb_rate *share, bool known, char *buf, size_t size) {
  char high[40];
  if (!known) snprintf(buf, size, "-");
  else if (share->value > 0) print_interval(share, 100, buf, size);
  else snprintf(buf, size, "0 (<%s)", two_digits(share->high * 100, high, sizeof high));
}

/* Violations of one trial may have one cause, and one trial does not show that. So many violations in one trial give no
 * bound. */
void lb_campaign_text_rate(const struct lb_campaign_rate *x, char *buf, size_t size) {
  unsigned long long events = x->events;
  bool few_handoffs = x->of == LB_PER_1000 && x->exposure < LB_LEAST_HANDOFFS;
  char number[40];
  if (!(x->exposure > 0)) snprintf(buf, size, "-");
  else if (few_handoffs) snprintf(buf, size, "%llu in %.0f", events, x->exposure);
  else if (x->events < LB_LEAST_EVENTS)
    snprintf(buf, size, "%llu (<%s)", events, two_digits(x->rate.high, number, sizeof number));
  else if (x->trials >= LB_LEAST_TRIALS) print_interval(&x->rate, 1, buf, size);
  else if (x->of == LB_PER_1000) snprintf(buf, size, "%llu in %.0f", events, x->exposure);
  else snprintf(buf, size, "%llu in %s s", events, two_digits(x->exposure * 3600, number, sizeof number));
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

void lb_campaign_notes_kind(struct lb_campaign_notes *notes, const char *name, uint64_t proved) {
  size_t i = 0;
  while (i < notes->kinds && strcmp(notes->kind[i].name, name) != 0) i++;
  if (i == sizeof notes->kind / sizeof *notes->kind) return;
  notes->kind[i].name = name;
  notes->kind[i].proved += proved;
  if (i == notes->kinds) notes->kinds++;
}

/* A name stands there whole or is counted. */
static void note_below(struct lb_campaign_notes *notes, const char *system, const char *guard) {
  size_t used = strlen(notes->below), room = sizeof notes->below - used;
  bool guarded = strcmp(guard, "none") != 0;
  int n = snprintf(notes->below + used, room, guarded ? "%s%s (%s)" : "%s%s", used ? ", " : "", system, guard);
  notes->below_count++;
  if (n >= 0 && (size_t)n < room) return;
  notes->below[used] = '\0';
  notes->below_unnamed++;
}

void lb_campaign_notes_control(struct lb_campaign_notes *notes, const char *system, const char *guard, int above) {
  if (above > 0) notes->above++;
  else if (above < 0) notes->unknown++;
  else note_below(notes, system, guard);
}

/* Those that were proved, with how often, or those that never were. Returns the length. */
static size_t put_kinds(const struct lb_campaign_notes *notes, bool proved, const char *head, char *buf, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < notes->kinds && n < size; i++) {
    const char *begin = n ? ", " : head, *name = notes->kind[i].name;
    if ((notes->kind[i].proved > 0) != proved) continue;
    if (proved)
      n += (size_t)snprintf(buf + n, size - n, "%s%llu %s", begin, (unsigned long long)notes->kind[i].proved, name);
    else n += (size_t)snprintf(buf + n, size - n, "%s%s", begin, name);
  }
  return n < size ? n : size - 1;
}

void lb_campaign_text_kinds(const struct lb_campaign_notes *notes, char *buf, size_t size) {
  *buf = '\0';
  size_t n = put_kinds(notes, true, "proved over all rows: ", buf, size);
  put_kinds(notes, false, n ? "; never: " : "never proved: ", buf + n, size - n);
}

void lb_campaign_text_control(const struct lb_campaign_notes *notes, char *buf, size_t size) {
  char more[40] = "";
  if (notes->below_unnamed) snprintf(more, sizeof more, " and %zu more", notes->below_unnamed);
  if (notes->below_count)
    snprintf(
        buf, size,
        "The control, the same load without faults, does not separate from %s%s: by violations per hour their intervals meet.",
        notes->below, more);
  else if (notes->unknown)
    snprintf(
        buf, size,
        "Nothing tells what %s of these rows would be without faults: that takes %d decided trials of a row, and %d of a control of the same load.",
        notes->above ? "some" : "the violations", LB_LEAST_TRIALS, LB_LEAST_TRIALS);
  else if (notes->above)
    snprintf(buf, size,
             "By violations per hour, every row that has any lies above the control, the same load without faults.");
  else *buf = '\0';
}
