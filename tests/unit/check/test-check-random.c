/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * The checker against many histories nobody thought of. Random ones, small and full of ties, must be judged as by the
 * brute-force checker; clean ones that are then spoilt in one place must be caught. The seed of a failure is printed;
 * run the test with it as its argument to see only that one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"
#include "base/rng.h"
#include "brute.h"

enum { RANDOM_HISTORIES = 210000, CLEAN_HISTORIES = 400 };

static uint64_t first_seed = 1, last_seed = RANDOM_HISTORIES;

static void print_history(const struct lb_history *h) {
  char line[300];
  for (size_t i = 0; i < h->count; i++) {
    lb_event_format_json(h, &h->events[i], line, sizeof line);
    print_message("%s\n", line);
  }
}

/* ---- anything at all --------------------------------------------------------------------------------------------- */

/* By the seed: every fifth event becomes a fault, a proof, or a cut that nobody used; every sixth says how many may
 * hold; of four grants so many are a reader's. */
static struct lb_event random_event(struct lb_rng *rng, struct lb_history *h, uint64_t seed) {
  bool faulty = seed % 6 == 0, permits = seed % 2 == 0;
  unsigned shared = seed % 5;
  static const char *const clients[] = {"a", "b", "c", "d"}, *const keys[] = {"x", "y"};
  /* Grants and releases often, so that holds meet. */
  static const uint16_t kinds[] = {
      LB_EV_GRANTED, LB_EV_GRANTED, LB_EV_GRANTED, LB_EV_GRANTED,  LB_EV_RELEASE, LB_EV_RELEASE, LB_EV_RELEASE,
      LB_EV_LOST,    LB_EV_CRASH,   LB_EV_READ,    LB_EV_READ,     LB_EV_WRITE,   LB_EV_WRITE,   LB_EV_UNKNOWN,
      LB_EV_FAULT,   LB_EV_NOTE,    LB_EV_ACQUIRE, LB_EV_RELEASED, LB_EV_RENEWED, LB_EV_EXPIRED, LB_EV_SILENT};
  struct lb_event e = {.t = lb_rng_below(rng, 12),
                       .s = lb_rng_below(rng, 4),
                       .client = LB_NO_NAME,
                       .key = LB_NO_NAME,
                       .fact = LB_NO_NAME};
  e.kind = kinds[lb_rng_below(rng, sizeof kinds / sizeof *kinds)];
  if (e.kind == LB_EV_NOTE && e.t % 2) e.kind = LB_EV_CHECK;
  if (e.kind == LB_EV_NOTE && e.s % 2) e.kind = LB_EV_PROVED;
  if (permits && lb_rng_below(rng, 6) == 0) e.kind = LB_EV_PERMITS;
  static const uint16_t of_faults[] = {LB_EV_FAULT, LB_EV_PROVED, LB_EV_PROVED, LB_EV_UNUSED};
  if (faulty && lb_rng_below(rng, 5) == 0) e.kind = of_faults[lb_rng_below(rng, 4)];
  if (e.kind == LB_EV_FAULT || e.kind == LB_EV_PROVED || e.kind == LB_EV_UNUSED || e.kind == LB_EV_NOTE ||
      e.kind == LB_EV_PERMITS) {
    struct lb_fact fact = lb_no_fact;
    if (e.kind == LB_EV_PERMITS) fact.total = 1 + lb_rng_below(rng, 3);
    if (e.kind == LB_EV_PERMITS && lb_rng_below(rng, 2)) e.key = lb_names_add(&h->keys, keys[lb_rng_below(rng, 2)]);
    if (e.kind != LB_EV_NOTE && e.kind != LB_EV_PERMITS) fact.step = 1 + (uint32_t)lb_rng_below(rng, 3);
    fact.what = lb_names_add(&h->texts, "something");
    e.fact = lb_history_facts_add(h, &fact);
    return e;
  }
  e.client = lb_names_add(&h->clients, clients[lb_rng_below(rng, shared ? 4 : 3)]);
  if (e.kind == LB_EV_SILENT && lb_rng_below(rng, 2)) e.flags |= LB_EVF_UNTIL, e.until = lb_rng_below(rng, 12);
  if (e.kind == LB_EV_SILENT || (e.kind == LB_EV_CRASH && lb_rng_below(rng, 2))) return e;
  e.key = lb_names_add(&h->keys, keys[lb_rng_below(rng, 2)]);
  bool access = e.kind == LB_EV_READ || e.kind == LB_EV_WRITE;
  if (access) e.flags |= LB_EVF_VALUE, e.value = lb_rng_below(rng, 4);
  if (access && lb_rng_below(rng, 5) == 0) e.flags |= LB_EVF_REFUSED;
  if (e.kind == LB_EV_CHECK) e.flags |= LB_EVF_CHECK, e.check = (uint8_t)(1 + lb_rng_below(rng, LB_CHECK_NO_MAJORITY));
  if ((access || e.kind == LB_EV_GRANTED) && lb_rng_below(rng, 2))
    e.flags |= LB_EVF_FENCE, e.fence = lb_rng_below(rng, 6);
  if (e.kind == LB_EV_READ && lb_rng_below(rng, 4) == 0) e.flags |= LB_EVF_EARLY;
  if ((e.kind == LB_EV_GRANTED || e.kind == LB_EV_ACQUIRE) && lb_rng_below(rng, 4) < shared) e.flags |= LB_EVF_SHARED;
  bool leases = e.kind == LB_EV_RENEWED || e.kind == LB_EV_GRANTED;
  if (leases && lb_rng_below(rng, 3)) e.flags |= LB_EVF_UNTIL, e.until = lb_rng_below(rng, 12);
  return e;
}

static void random_history(uint64_t seed, struct lb_history *ret) {
  struct lb_rng rng = lb_rng_fork(seed, 1, 0);
  *ret = (struct lb_history){0};
  for (uint64_t n = 1 + lb_rng_below(&rng, seed % 6 ? 14 : 60); n > 0;
       n--) { /* some long ones, for deep overlaps, with many faults */
    struct lb_event event = random_event(&rng, ret, seed);
    lb_history_add(ret, &event);
  }
  lb_history_sort(ret);
}

static void random_histories_are_judged_as_by_brute_force(void **state) {
  (void)state;
  uint64_t episodes = 0, dirty = 0, lost = 0, regressions = 0, fenced = 0, stale = 0, orphans = 0, blind = 0;
  uint64_t unused = 0, damaged = 0, together = 0, early = 0, read_early = 0;
  uint64_t within = 0, late_dirty = 0, late_stale = 0, late_lost = 0;
  for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
    struct lb_history h;
    struct lb_check check, brute;
    char text[200];
    random_history(seed, &h);
    lb_check_history(&h, &check);
    brute_check(&h, &brute);
    if (!brute_same(&h, &check, &brute, text, sizeof text)) {
      print_history(&h);
      fail_msg("seed %llu: %s (checker and brute force)", (unsigned long long)seed, text);
    }
    episodes += check.double_holds, dirty += check.dirty_accesses, lost += (uint64_t)check.lost_updates;
    regressions += check.token_regressions, fenced += check.fenced_off, stale += check.stale_writes;
    within += check.within_lease, late_dirty += check.dirty_accesses - check.unexcused.dirty_accesses;
    late_stale += check.stale_writes - check.unexcused.stale_writes;
    late_lost += (uint64_t)(check.lost_updates - check.unexcused.lost_updates);
    unused += check.faults_unused, damaged += check.faults_damaged;
    together += check.depth > 1 && check.double_holds == 0, early += check.early_lost_updates > 0,
        read_early += lb_check_read_early(&check);
    orphans += check.orphan_ns > 0, blind += check.blind_ns > 0;
    lb_check_clear(&brute);
    lb_check_clear(&check);
    lb_history_clear(&h);
  }
  /* Agreement would mean little if hardly anything had happened. */
  if (first_seed != last_seed)
    assert_true(episodes > 5000 && dirty > 5000 && lost > 5000 && regressions > 2000 && fenced > 500 && stale > 500 &&
                orphans > 500 && blind > 100 && within > 2000 && within < episodes - 2000 && late_dirty > 1000 &&
                late_stale > 10 && late_lost > 500 && unused > 500 && damaged > 100 && together > 5000 && early > 300 &&
                read_early > 5);
}

/* ---- a lock that works, spoilt in one place ---------------------------------------------------------------------- */

/* Hold number i of a clean history on one key: granted, read, write, release, as events 4 * i ... 4 * i + 3. */
enum { GRANT, READ, WRITE, RELEASE, STEPS, HOLDS = 12 };

/* Every hold is of another client than the one before; times grow by at least 2, so that something fits between. */
static void clean_history(struct lb_rng *rng, struct lb_history *ret) {
  static const uint16_t kinds[STEPS] = {LB_EV_GRANTED, LB_EV_READ, LB_EV_WRITE, LB_EV_RELEASE};
  *ret = (struct lb_history){0};
  for (const char *name = "abcd"; *name; name++) lb_names_add(&ret->clients, (char[]){*name, '\0'});
  lb_names_add(&ret->keys, "x");
  uint64_t t = 100, first_value = lb_rng_below(rng, 50);
  uint32_t client = 0;
  for (uint64_t hold = 0; hold < HOLDS; hold++) {
    client = (client + 1 + (uint32_t)lb_rng_below(rng, 3)) % 4;
    for (int step = 0; step < STEPS; step++) {
      struct lb_event e = {
          .t = t += 2 + lb_rng_below(rng, 9), .client = client, .key = 0, .fact = LB_NO_NAME, .kind = kinds[step]};
      if (step != RELEASE) e.flags |= LB_EVF_FENCE, e.fence = 10 + hold;
      if (step == READ || step == WRITE) e.flags |= LB_EVF_VALUE, e.value = first_value + hold + (step == WRITE);
      lb_history_add(ret, &e);
    }
  }
}

static struct lb_event *at(struct lb_history *h, size_t hold, int step) {
  return &h->events[hold * STEPS + (size_t)step];
}

static void remove_event(struct lb_history *h, struct lb_event *event) {
  size_t i = (size_t)(event - h->events);
  memmove(event, event + 1, (h->count - i - 1) * sizeof *event);
  h->count--;
}

/* Each takes a hold from 1 to HOLDS - 2 and changes the history around it. */
static void grant_earlier(struct lb_history *h, size_t i) { at(h, i, GRANT)->t = at(h, i - 1, WRITE)->t + 1; }
static void drop_release(struct lb_history *h, size_t i) { remove_event(h, at(h, i, RELEASE)); }
static void release_later(struct lb_history *h, size_t i) { at(h, i, RELEASE)->t = at(h, i + 1, GRANT)->t + 1; }
static void crash_instead_too_late(struct lb_history *h, size_t i) {
  struct lb_event *e = at(h, i, RELEASE);
  e->kind = LB_EV_CRASH;
  e->key = LB_NO_NAME;
  e->t = at(h, i + 1, READ)->t + 1;
}
static void release_of_another(struct lb_history *h, size_t i) {
  at(h, i, RELEASE)->client = at(h, i + 1, GRANT)->client;
}
static void write_after_release(struct lb_history *h, size_t i) { at(h, i, WRITE)->t = at(h, i, RELEASE)->t + 1; }
static void write_into_the_next_hold(struct lb_history *h, size_t i) { at(h, i, WRITE)->t = at(h, i + 1, READ)->t + 1; }
static void read_before_the_grant(struct lb_history *h, size_t i) { at(h, i, READ)->t = at(h, i, GRANT)->t - 1; }
static void access_by_another(struct lb_history *h, size_t i) { at(h, i, READ)->client = at(h, i + 1, READ)->client; }
static void swap_the_last_value(struct lb_history *h, size_t i) {
  uint64_t value = at(h, i, WRITE)->value;
  at(h, i, WRITE)->value = at(h, HOLDS - 1, WRITE)->value;
  at(h, HOLDS - 1, WRITE)->value = value;
}
static void read_an_old_value(struct lb_history *h, size_t i) {
  for (; i < HOLDS; i++) at(h, i, READ)->value--, at(h, i, WRITE)->value--;
}
static void write_twice(struct lb_history *h, size_t i) {
  struct lb_event again = *at(h, i, WRITE);
  lb_history_add(h, &again);
}
static void duplicate_a_fence(struct lb_history *h, size_t i) { at(h, i, GRANT)->fence = at(h, i - 1, GRANT)->fence; }
static void swap_fences(struct lb_history *h, size_t i) {
  at(h, i, GRANT)->fence++;
  at(h, i + 1, GRANT)->fence--;
}
static void write_with_an_old_fence(struct lb_history *h, size_t i) {
  at(h, i, WRITE)->fence = at(h, i - 1, WRITE)->fence;
}
static void write_by_the_one_before(struct lb_history *h, size_t i) {
  at(h, i, WRITE)->client = at(h, i - 1, WRITE)->client;
}

static const struct mutation {
  const char *name;
  void (*apply)(struct lb_history *h, size_t hold);
  size_t counter; /* what has to be above 0: offset of a 64-bit field of struct lb_check */
} mutations[] = {
#define MUTATION(function, field)                                                                                      \
  { #function, function, offsetof(struct lb_check, field) }
    MUTATION(grant_earlier, double_holds),          MUTATION(drop_release, double_holds),
    MUTATION(release_later, double_holds),          MUTATION(crash_instead_too_late, double_holds),
    MUTATION(release_of_another, double_holds),     MUTATION(grant_earlier, double_hold_ns),
    MUTATION(write_after_release, dirty_accesses),  MUTATION(write_into_the_next_hold, dirty_accesses),
    MUTATION(write_into_the_next_hold, fenced_off), MUTATION(read_before_the_grant, dirty_accesses),
    MUTATION(access_by_another, dirty_accesses),    MUTATION(swap_the_last_value, lost_updates),
    MUTATION(read_an_old_value, lost_updates),      MUTATION(write_twice, lost_updates),
    MUTATION(duplicate_a_fence, token_regressions), MUTATION(swap_fences, token_regressions),
    MUTATION(write_with_an_old_fence, fenced_off),  MUTATION(write_into_the_next_hold, stale_writes),
    MUTATION(write_by_the_one_before, stale_writes)};

static uint64_t counter_of(const struct lb_check *check, const struct mutation *m) {
  uint64_t count;
  memcpy(&count, (const char *)check + m->counter, sizeof count);
  return count;
}

static void clean_histories_are_found_clean(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= CLEAN_HISTORIES; seed++) {
    struct lb_rng rng = lb_rng_fork(seed, 2, 0);
    struct lb_history h;
    struct lb_check check;
    clean_history(&rng, &h);
    lb_check_history(&h, &check);
    if (lb_check_violated(&check, true) || check.fenced_off || check.depth != 1 || check.handoffs != HOLDS - 1)
      fail_msg("seed %llu: a clean history was not found clean", (unsigned long long)seed);
    lb_check_clear(&check);
    lb_history_clear(&h);
  }
}

static void every_mutation_is_caught(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof mutations / sizeof *mutations; m++)
    for (uint64_t seed = 1; seed <= CLEAN_HISTORIES; seed++) {
      struct lb_rng rng = lb_rng_fork(seed, 3, m);
      struct lb_history h;
      struct lb_check check, brute;
      char text[200];
      clean_history(&rng, &h);
      mutations[m].apply(&h, 1 + (size_t)lb_rng_below(&rng, HOLDS - 2));
      lb_history_sort(&h);
      lb_check_history(&h, &check);
      if (counter_of(&check, &mutations[m]) == 0) {
        print_history(&h);
        fail_msg("seed %llu: %s was not caught", (unsigned long long)seed, mutations[m].name);
      }
      brute_check(&h, &brute);
      if (!brute_same(&h, &check, &brute, text, sizeof text))
        fail_msg("seed %llu: %s: %s (checker and brute force)", (unsigned long long)seed, mutations[m].name, text);
      lb_check_clear(&brute);
      lb_check_clear(&check);
      lb_history_clear(&h);
    }
}

int main(int argc, char **argv) {
  if (argc > 1) first_seed = last_seed = strtoull(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_histories_are_judged_as_by_brute_force),
                                     cmocka_unit_test(clean_histories_are_found_clean),
                                     cmocka_unit_test(every_mutation_is_caught)};
  return cmocka_run_group_tests_name("check-random", tests, NULL, NULL);
}
