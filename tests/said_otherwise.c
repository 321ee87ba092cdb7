/* SPDX-License-Identifier: MIT
 *
 * In the place of lb_event_say(): every fact is said in other words, alike for all. Tests of what decides run once more with this, for
 * no verdict and no figure may hang on a sentence.
 */
#include "history/say.h"

void __wrap_lb_event_say(const struct lb_history *history, const struct lb_event *event, FILE *out);
void __wrap_lb_event_say(const struct lb_history *history, const struct lb_event *event, FILE *out) {
  (void)history, (void)event;
  fputs("so it is said", out);
}
