/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The audit of what a hunt leaves out: who stands for whom, what is drawn, and what is said of trials that agree or do
 * not.
 */
#include <unistd.h>

#include "hunt/sample.h"
#include "test.h"
#include "hunted_system.h"
#include "backends/registry.h"
#include "hunt/search.h"
#include "hunt/tell.h"
#include "plan/system.h"

static struct lb_hunt hunt;
static char folder[] = "/tmp/test-hunt-audit-XXXXXX";

static void make_space(const char *name, int faults_max, struct lb_hunt_space *ret) {
  struct lb_hunt_system hunted;
  struct lb_system system;
  struct lb_error err;
  assert_int_equal(lb_system_parse(name, &system, &err), 0);
  lb_hunt_system_of(system.protocol, system.topology, &hunted);
  hunted.network = hunted.count > 0; /* a machine without namespaces has a smaller alphabet */
  assert_int_equal(lb_hunt_space_make(&hunted, faults_max, NULL, ret), 0);
}

/* ---- who stands for whom ----------------------------------------------------------------------------------------- */

/* Somebody who is run, or whom only a bound leaves out. But where the same would be done twice nobody stands. */
TEST(somebody_stands_for_whom_a_sound_reason_prunes) {
  static const char *const systems[] = {"local@none",           "redis-token@redis",        "redlock@redis-x3",
                                        "redis-token@sentinel", "pg-lease-client@pg-async", "zk-sequential@zk-x3"};
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
    struct lb_hunt_space space;
    struct lb_hunt_timeline other;
    size_t sound = 0, nobody = 0;
    make_space(systems[i], 2, &space);
    for (size_t n = 0; n < space.count; n++) {
      const struct lb_hunt_timeline *t = &space.timeline[n];
      bool stands = lb_hunt_prune_stand_in(&space.system, t, &other);
      if (!lb_hunt_prune_is_sound(t->pruned) || t->pruned == LB_HUNT_DEAD_HOST) assert_false(stands);
      else sound++, nobody += !stands;
      if (!stands) continue;
      ptrdiff_t at = n % 5 ? 0 : lb_hunt_space_find(&space, &other); /* slow: of a fifth */
      assert_true(at >= 0);
      assert_false(lb_hunt_prune_is_sound(other.pruned));
    }
    if (nobody * 40 > sound) fail_msg("%s: nobody stands for %zu of %zu", systems[i], nobody, sound);
    lb_hunt_space_clear(&space);
  }
}

TEST(it_is_the_one_that_the_reason_names) {
  static const struct {
    const char *system, *id, *other; /* NULL = nobody */
  } cases[] = {{"redis-token@redis", "L1.ahead-c1@H", "L0"},
               {"redis-token@redis", "L2.ahead-c2@B+restart-P@H", "L1.restart-P@H"},
               {"redis-token@redis", "L2.ahead-c2@B+behind-c1@H", "L0"},
               {"redis-token@redis", "L1.restart-P@A", "L1.restart-P@H"},
               {"redis-token@redis", "L2.restart-P@A+kill-c2@H", "L2.restart-P@H+kill-c2@H"},
               {"redis-token@redis", "L2.pause-P@A-mid+kill-c1@A", "L2.pause-P@H-mid+kill-c1@H"},
               {"redis-token@redis", "L2.pause-P@A-mid+kill-c2@H", NULL}, /* client 2 dies when it goes on */
               {"redis-token@redis", "L2.pause-P@A-mid+ahead-P@H", NULL}, /* its clock can be set by then */
               {"redis-token@redis", "S2.kill-c1@H+restart-P@R", "S1.kill-c1@H"},
               {"redis-token@redis", "S2.pause-P@H-mid+ahead-P@H", NULL}, /* its clock is ahead when it goes on */
               {"redis-token@redis", "L1.restart-P@W", NULL},
               {"redis-token@redis", "L2.restart-P@A+restart-P@H", NULL},
               {"redlock@redis-x3", "S2.isolate-P@B-back+restart-P@H", "S1.restart-P@H"},
               {"zk-sequential@zk-x3", "L2.kill-P@B-gone+pause-P@H-back", NULL}, /* it cannot be done */
               {"redis-token@sentinel", "L2.kill-P@B-back+ahead-all@H", NULL},   /* the others live: it is run */
               {"redis-token@sentinel", "L2.pause-f@H-back+ahead-P@H", NULL},    /* so is each order while one holds */

               {"redlock@redis-x3", "D2.fast-c1@B+isolate-P@A-mid", "D1.fast-c1@B"},   /* nor is it waited for */
               {"redis-token@redis", "S2.cutoff-c1@A+pause-c1@A", NULL},               /* it never holds */
               {"redis-token@redis", "L2.restart-P@A+kill-c1@A", NULL},                /* nor does it here */
               {"pg-lease-client@pg-async", "S2.kill-P@H-back+isolate-P@H-mid", NULL}, /* the operator waits */
               {"pg-advisory@pg-patroni", "S1.isolate-f@H-mid", NULL},                 /* others watch */
               {"redis-token@sentinel", "S2.kill-f@B-back+restart-all@H", NULL},       /* starts the dead again */
               {"redis-token@sentinel", "S2.kill-P@A-gone+restart-P@A", "S2.kill-P@H-gone+restart-P@H"},
               {"redis-token@sentinel", "S2.ahead-all@H+kill-c1@H", NULL}, /* held by two before one dies */
               {"pg-lease-client@pg-async", "L1.isolate-f@H-mid", "L1.isolate-P@H-mid"},
               {"pg-lease-client@pg-async", "L1.isolate-f@H-back", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_hunt_space space;
    struct lb_hunt_timeline other;
    char id[LB_HUNT_ID_MAX];
    make_space(cases[i].system, 2, &space);
    bool stands = lb_hunt_prune_stand_in(&space.system, &space.timeline[find_in(&space, cases[i].id)], &other);
    if (stands) lb_hunt_timeline_id(&other, id);
    if (stands != (cases[i].other != NULL) || (stands && strcmp(id, cases[i].other) != 0))
      fail_msg("%s: %s stands for %s, expected %s", cases[i].system, stands ? id : "nobody", cases[i].id,
               cases[i].other ? cases[i].other : "nobody");
    lb_hunt_space_clear(&space);
  }
}

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

TEST(a_share_of_each_reason_is_drawn_by_the_seed) {
  struct lb_hunt_space space;
  struct lb_hunt_drawn *drawn, *again, *other;
  size_t count, count_again, count_other, of[LB_HUNT_PRUNED_COUNT] = {0}, pruned[LB_HUNT_PRUNED_COUNT] = {0};
  make_space("redis-token@sentinel", 2, &space);
  lb_hunt_audit_draw(&space, 7, 2, 0.05, &drawn, &count);
  lb_hunt_audit_draw(&space, 7, 2, 0.05, &again, &count_again);
  lb_hunt_audit_draw(&space, 8, 2, 0.05, &other, &count_other);
  assert_int_equal(count, count_again);
  assert_memory_equal(drawn, again, count * sizeof *drawn);
  assert_memory_not_equal(drawn, other, count * sizeof *drawn);
  for (size_t i = 0; i < space.count; i++) pruned[space.timeline[i].pruned] += space.timeline[i].fault_count == 2;
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(space.timeline[drawn[i].timeline].fault_count, 2);
    assert_false(lb_hunt_prune_is_sound(space.timeline[drawn[i].stand_in].pruned));
    for (size_t j = 0; j < i; j++) assert_int_not_equal(drawn[i].timeline, drawn[j].timeline);
    of[space.timeline[drawn[i].timeline].pruned]++;
  }
  for (int why = 0; why < LB_HUNT_PRUNED_COUNT; why++) {
    size_t share = (pruned[why] + 19) / 20, least = LB_HUNT_AUDITED_LEAST, wanted = share > least ? share : least;
    bool plays = lb_hunt_prune_is_sound((enum lb_hunt_pruned)why) && why != LB_HUNT_DEAD_HOST;
    if (plays && pruned[why] < wanted) assert_in_range(of[why], share, pruned[why]); /* some cannot be played */
    else assert_int_equal(of[why], plays ? wanted : 0);
  }
  free(drawn);
  free(again);
  free(other);
  lb_hunt_space_clear(&space);
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static int begin(void **state) {
  struct lb_error err;
  char path[200];
  (void)state;
  hunt = (struct lb_hunt){0};
  make_space("redis-token@redis", 1, &hunt.space);
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  assert_int_equal(lb_hunt_journal_open(&hunt.journal, &hunt.space, path, "test", &err), 0);
  unlink(path);
  snprintf(path, sizeof path, "%s/trials-audit.csv", folder);
  assert_int_equal(lb_hunt_journal_open(&hunt.audit.journal, &hunt.space, path, "test", &err), 0);
  unlink(path);
  assert_non_null(hunt.audit.drawn = malloc(sizeof *hunt.audit.drawn));
  hunt.audit.drawn[0] =
      (struct lb_hunt_drawn){find_in(&hunt.space, "L1.restart-P@A"), find_in(&hunt.space, "L1.restart-P@H")};
  hunt.audit.count = 1;
  return 0;
}

static int end(void **state) {
  (void)state;
  lb_hunt_clear(&hunt);
  return 0;
}
EACH(begin, end);

static void enter(struct lb_hunt_journal *journal, const char *id, enum lb_hunt_outcome outcome, int trials) {
  for (int i = 0; i < trials; i++) lb_hunt_journal_add(journal, find_in(&hunt.space, id), LB_GUARD_NONE, outcome, "");
}

static bool tells(const char *wanted) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  lb_hunt_tell_audit(&hunt, out);
  fclose(out);
  bool found = strstr(text, wanted) != NULL;
  if (!found) print_message("told: %s", text);
  free(text);
  return found;
}

static enum lb_hunt_answer answer(void) {
  return lb_hunt_audit_answer(&hunt.audit, &hunt.journal, &hunt.audit.drawn[0]);
}

TEST(who_comes_out_alike_agrees) {
  assert_int_equal(answer(), LB_HUNT_NO_ANSWER);
  enter(&hunt.audit.journal, "L1.restart-P@A", LB_HUNT_SAFE, 1);
  assert_int_equal(answer(), LB_HUNT_NO_ANSWER);
  enter(&hunt.journal, "L1.restart-P@H", LB_HUNT_BLOCKED, 1);
  assert_int_equal(answer(), LB_HUNT_SAME);
  assert_true(tells("audit: 1 of 18 timelines that need not be run were run, all agree."));
}

TEST(a_wrong_reason_is_told_when_it_is_sure) {
  enter(&hunt.audit.journal, "L1.restart-P@A", LB_HUNT_LEASE, LB_HUNT_SURE);
  enter(&hunt.journal, "L1.restart-P@H", LB_HUNT_SAFE, LB_HUNT_SURE - 1);
  assert_int_equal(answer(), LB_HUNT_NO_ANSWER);
  assert_true(tells("0 of 18 timelines that need not be run were run; 1 more were drawn and not decided."));
  enter(&hunt.audit.journal, "L1.restart-P@H", LB_HUNT_SAFE, 1);
  assert_int_equal(answer(), LB_HUNT_OTHER);
  assert_true(tells("0 agree, 1 disagree, 0 are unclear."));
  assert_true(tells(
      "ERROR: L1.restart-P@A (broke 5 of 5 within a lease) was to come out as L1.restart-P@H (broke 0 of 5). Reason not to run it: behind the last reply"));
}

/* To lose it only after the lease is another answer, too. */
STATES(so_is_one_that_breaks_less, enter(&hunt.audit.journal, "L1.restart-P@A", LB_HUNT_EXPIRED, LB_HUNT_SURE),
       enter(&hunt.journal, "L1.restart-P@H", LB_HUNT_LEASE, LB_HUNT_SURE), assert_int_equal(answer(), LB_HUNT_OTHER));

TEST(a_race_is_not_called_a_mistake) {
  enter(&hunt.audit.journal, "L1.restart-P@A", LB_HUNT_LEASE, 1);
  enter(&hunt.audit.journal, "L1.restart-P@A", LB_HUNT_SAFE, LB_HUNT_SURE);
  enter(&hunt.journal, "L1.restart-P@H", LB_HUNT_SAFE, LB_HUNT_SURE);
  assert_int_equal(answer(), LB_HUNT_UNCLEAR);
  assert_true(tells("unclear: L1.restart-P@A (broke 1 of 6 within a lease)"));
}

/* Everything of the row behind the name, from the same column on. */
TEST(a_long_name_does_not_shift_the_row_of_a_hunt) {
  char *text = NULL, rows[2][300];
  static const char *const names[] = {"a@b", "a-protocol-with-a-name-that-nobody-thought-of@a-topology"};
  for (int i = 0; i < 2; i++) {
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    snprintf(hunt.space.system.name, sizeof hunt.space.system.name, "%s", names[i]);
    lb_hunt_tell_row(&hunt, out);
    fclose(out);
    assert_int_equal(strncmp(text, names[i], strlen(names[i])), 0);
    text[strlen(text) - 1] = '\0';
    const char *last = strrchr(text, '\n'); /* the name may have a line of its own */
    snprintf(rows[i], sizeof rows[i], "%s", last ? last + 1 : text);
    memset(rows[i], ' ', strcspn(rows[i], " "));
    free(text);
  }
  assert_string_equal(rows[0], rows[1]);
}

/* ---- samples of what the sets say -------------------------------------------------------------------------------- */

/* A hunt that goes on has run its sample: it must not draw others in their place. */
TEST(what_was_run_does_not_change_what_is_drawn) {
  struct lb_hunt_order asked = {0};
  struct lb_hunting g = {.order = &asked, .h = &hunt};
  size_t *order, count, held[LB_HUNTING_SAMPLE_MAX], again[LB_HUNTING_SAMPLE_MAX], safe[LB_HUNTING_SAMPLE_MAX];
  lb_hunt_search_order(&hunt.space, 7, &order, &count);
  enter(&hunt.journal, "L0", LB_HUNT_LEASE, LB_HUNT_SURE);
  lb_hunting_find_sets(&g);
  size_t some = lb_hunt_sample_held(&g, order, count, held);
  assert_true(some > 0);
  for (size_t i = 0; i < some; i++) lb_hunt_journal_add(&hunt.journal, held[i], LB_GUARD_NONE, LB_HUNT_LEASE, "");
  assert_int_equal(lb_hunt_sample_held(&g, order, count, again), some);
  assert_memory_equal(held, again, some * sizeof *held);
  size_t late = LB_HUNT_CONTROLS + 1; /* not drawn, and not run before the second time */
  for (size_t i = LB_HUNT_CONTROLS; i < count; i++)
    if (i != late) lb_hunt_journal_add(&hunt.journal, order[i], LB_GUARD_NONE, LB_HUNT_SAFE, "");
  some = lb_hunt_sample_safe(&g, order, count, safe);
  assert_true(some > 0);
  lb_hunt_journal_add(&hunt.journal, order[late], LB_GUARD_NONE, LB_HUNT_SAFE, "");
  assert_int_equal(lb_hunt_sample_safe(&g, order, count, again), some);
  assert_memory_equal(safe, again, some * sizeof *safe);
  free(order);
}

static int before_all(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  return 0;
}

static int after_all(void **state) {
  (void)state;
  rmdir(folder);
  return 0;
}

GROUP(before_all, after_all);
