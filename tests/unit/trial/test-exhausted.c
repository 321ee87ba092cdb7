/* test: compute, memory, wraps malloc calloc realloc strdup fclose */
/* SPDX-License-Identifier: MIT
 *
 * When memory or the disk is exhausted, what judges says so: no half judgement, no crash, no leak (the sanitizers
 * look). The linker puts the functions below in the place of the C library's (tests/meson.build), for our own code
 * only.
 */

#include "test.h"
#include "check/check.h"
#include "base/files.h"
#include "judged.h"
#include "scratch.h"

/* ---- a library that runs out ------------------------------------------------------------------------------------- */

static long allocations_left = -1, closes_left = -1; /* before one fails; -1 = none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
int __real_fclose(FILE *file);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_fclose(FILE *file);

/* Only one fails: who does not notice goes on with what comes after it. */
static bool used_up(long *left) {
  if (*left < 0) return false;
  errno = ENOMEM;
  return (*left)-- == 0;
}

void *__wrap_malloc(size_t size) { return used_up(&allocations_left) ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
  return used_up(&allocations_left) ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) { return used_up(&allocations_left) ? NULL : __real_realloc(old, size); }
char *__wrap_strdup(const char *text) { return used_up(&allocations_left) ? NULL : __real_strdup(text); }
int __wrap_fclose(FILE *file) {
  int r = __real_fclose(file);
  if (!used_up(&closes_left)) return r;
  errno = EDQUOT; /* some file systems say so only now */
  return EOF;
}

static struct lb_event happened(uint64_t t, uint32_t client, uint32_t key, enum lb_event_kind kind) {
  return (struct lb_event){.t = t, .client = client, .key = key, .fact = LB_NO_NAME, .kind = (uint16_t)kind};
}

/* ---- a trial ----------------------------------------------------------------------------------------------------- */

static struct world *w;

static int set_up(void **state) {
  static struct lb_topology topology = {.name = "none", .family = &lb_family_none};
  *state = w = world_of(1, 1, 1000);
  if (!w) return -1;
  w->step =
      (struct lb_step){.verb = LB_STEP_PAUSE, .a = {.kind = LB_ROLE_CLIENT, .number = 1}, .text = (char *)"pause"};
  w->protocol.traits = 0;
  w->plan.topology = &topology;
  w->scenario.kind = LB_KIND_TIMELINE;
  w->scenario.step_count = 1;
  w->scenario.min_handoffs = 0;
  return 0;
}

static int tear_down(void **state) { return world_end(*state), 0; }
EACH(set_up, tear_down);

/* Where names are kept, the process ends instead (history.h). */
TEST(a_trial_that_cannot_be_kept_in_memory_is_undecided) {
  lb_memory_record(w->stage.memory, 0, happened(0, 0, 0, LB_EV_GRANTED));
  allocations_left = 0;
  int r = judge_and_keep(&w->stage, &w->out);
  allocations_left = -1;
  assert_int_equal(r, -ENOMEM);
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
  assert_string_equal(w->out.why, "the trial's results could not be written: Cannot allocate memory");
}

TEST(a_history_that_fails_when_its_file_is_closed_was_not_kept) {
  lb_memory_record(w->stage.memory, 0, happened(0, 0, 0, LB_EV_GRANTED));
  closes_left = 0;
  int r = judge_and_keep(&w->stage, &w->out);
  closes_left = -1;
  assert_int_equal(r, -EDQUOT);
  assert_int_equal(w->out.verdict, LB_UNDECIDED);
  assert_false(w->out.history_kept);
}
