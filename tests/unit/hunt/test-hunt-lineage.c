/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * The order by lineage: what a grant is said to rest on, what a history without a fault says of it, and where the
 * timelines stand that take it away.
 */
#include <unistd.h>

#include "hunt/rests.h"
#include "test.h"
#include "hunted_system.h"
#include "lines.h"
#include "hunt/search.h"

/* ---- what it rests on -------------------------------------------------------------------------------------------- */

TEST(the_facts_say_what_a_grant_rests_on) {
  static const struct {
    const char *system, *rests;
  } cases[] = {
      {"local@none", ""},
      {"redis-token@redis", "the primary, its holder, the clock of a server, the clock of its holder"},
      {"redis-token@sentinel",
       "the primary, copies and the links to them, its holder, the clock of a server, the clock of its holder"},
      {"redlock@redis-x5", "the primary, a majority, its holder, the clock of a server, the clock of its holder"},
      {"zk-sequential@zk-x3", "the primary, a majority, its holder, the clock of a server, the clock of its holder"},
      {"pg-advisory@pg-async", "the primary, its holder"},
      {"pg-row@pg", "the primary"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_hunt_system system = system_of(cases[i].system);
    char said[200];
    lb_hunt_rests_say(system.rests, said, sizeof said);
    if (strcmp(said, cases[i].rests) != 0)
      fail_msg("%s rests on %s, expected %s", cases[i].system, said, cases[i].rests);
  }
}

#define EVENT(at, client, what, more)                                                                                  \
  "{\"t\":" #at ",\"s\":" #at ",\"c\":\"client-" #client "\",\"k\":\"lock-1\",\"e\":\"" what "\"" more "}\n"

/* It reads the grant under which client 1 writes, not those before and after it. */
static unsigned see(const char *system, const char *granted, const char *said) {
  struct lb_hunt_system s = system_of(system);
  struct lb_history history;
  struct lb_error err;
  char text[2000], found[200];
  snprintf(text, sizeof text,
           "{\"format\":2}\n" EVENT(1, 1, "acquire", "") EVENT(2, 1, "granted", ",\"until\":9")
               EVENT(2, 1, "server", ",\"host\":\"early\"") EVENT(3, 1, "release", "") EVENT(4, 1, "acquire", "")
                   EVENT(5, 1, "granted", ",\"until\":9") "%s" EVENT(6, 1, "write", ",\"value\":1")
                       EVENT(7, 1, "release", "") EVENT(8, 1, "acquire", "") EVENT(9, 1, "granted", ",\"until\":19")
                           EVENT(9, 1, "server", ",\"host\":\"late\""),
           granted);
  if (parse_lines("h", text, &history, &err) < 0) fail_msg("%s", err.text);
  unsigned rests = lb_hunt_rests_see(&s, &history, found, sizeof found);
  lb_history_clear(&history);
  assert_string_equal(found, said);
  return rests;
}

#define SERVER(host) EVENT(5, 1, "server", ",\"host\":\"" host "\"")
#define VOTED(hosts) EVENT(5, 1, "voted", ",\"host\":\"" hosts "\"")

TEST(a_trial_says_who_granted) {
  unsigned sentinel = system_of("redis-token@sentinel").rests, five = system_of("redlock@redis-x5").rests;
  assert_int_equal(see("redis-token@sentinel", SERVER("redis-1"), "granted by redis-1"), sentinel);
  assert_int_equal(see("redlock@redis-x5", VOTED("a, b, c"), "yes of a, b, c"), five);
  assert_int_equal(see("redlock@redis-x5", "", ""), five); /* it says nothing */
}
TEST(a_trial_corrects_what_is_stated) {
  unsigned sentinel = see("redis-token@sentinel", VOTED("a, b"), "yes of a, b"),
           five = see("redlock@redis-x5", SERVER("a"), "granted by a");
  assert_true(sentinel & LB_HUNT_ON_VOTERS && !(sentinel & LB_HUNT_ON_COPIES));
  assert_false(five & LB_HUNT_ON_VOTERS);
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

struct ordered {
  struct lb_hunt_space space;
  size_t *order, count, first;
  size_t *place; /* by index, from 1 */
};
static struct ordered order_of(const char *name, uint64_t seed, bool no_lineage) {
  struct ordered o;
  struct lb_hunt_system system = system_of(name);
  struct lb_hunt_switches switches = {.no_lineage = no_lineage};
  assert_int_equal(lb_hunt_space_make(&system, 2, &switches, &o.space), 0);
  o.first = lb_hunt_search_order(&o.space, seed, &o.order, &o.count);
  o.place = calloc(o.space.count + 1, sizeof *o.place);
  assert_non_null(o.place);
  for (size_t i = 0, places = 0; i < o.count; i++)
    if (o.place[o.order[i]] == 0) o.place[o.order[i]] = ++places;
  return o;
}
static void clear(struct ordered *o) {
  free(o->order);
  free(o->place);
  lb_hunt_space_clear(&o->space);
}
static size_t place_of(const struct ordered *o, const char *id) { return o->place[find_in(&o->space, id)]; }

/* The page's own example: the primary loses its replicas, and dies. */
TEST(what_breaks_sentinel_with_two_faults_is_among_the_first) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct ordered o = order_of("redis-token@sentinel", seed, false);
    size_t place = place_of(&o, "L2.part-P@B-back+kill-P@H-back");
    if (place > 20) fail_msg("seed %d: it is number %zu", (int)seed, place);
    clear(&o);
  }
}

/* The same things done to the same hosts, whenever. */
static bool is_alike(const struct lb_hunt_timeline *a, const struct lb_hunt_timeline *b) {
  bool alike = a->fault_count == b->fault_count;
  for (size_t i = 0; i < a->fault_count && alike; i++) {
    alike = false;
    for (size_t j = 0; j < b->fault_count; j++)
      alike |= a->fault[i].kind == b->fault[j].kind && a->fault[i].target == b->fault[j].target;
  }
  return alike;
}

/* Each within the first twentieth, whatever the seed draws. */
TEST(one_of_each_known_mechanism_is_among_the_first) {
  static const char *const known[][2] = {
      {"redis-token@sentinel", "L1.restart-P@H"},           {"redis-token@sentinel", "L1.ahead-P@H"},
      {"redis-token@sentinel", "L1.pause-P@B-back"},        {"redlock@redis-x5", "L1.restart-most@A"},
      {"redlock@redis-x5", "L2.cut-c1@B-gone+restart-P@H"}, {"redlock@redis-x5", "L2.kill-f@B-back+ahead-P@H"},
      {"pg-lease@pg-async", "L1.pause-P@B-back"},           {"pg-lease@pg-async", "D1.fast-P@B"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    for (uint64_t seed = 1; seed <= 5; seed++) {
      struct ordered o = order_of(known[i][0], seed, false);
      const struct lb_hunt_timeline *wanted = &o.space.timeline[find_in(&o.space, known[i][1])];
      size_t at = 0, end = LB_HUNT_CONTROLS + o.first;
      while (at < end && !is_alike(wanted, &o.space.timeline[o.order[at]])) at++;
      if (at == end) fail_msg("%s, seed %d: %s is not among the first", known[i][0], (int)seed, known[i][1]);
      clear(&o);
    }
}

/* Of the first ones each waits for its parts among them, and would wait for ever for one behind it. */
TEST(what_a_timeline_contains_stands_in_front_of_it_or_behind_the_first) {
  static const char *const systems[] = {"redis-token@sentinel", "redlock@redis-x5", "etcd-lease@etcd-x3"};
  for (size_t n = 0; n < sizeof systems / sizeof *systems; n++) {
    struct ordered o = order_of(systems[n], 3, false);
    size_t in_front = 0, end = o.first + LB_HUNT_CONTROLS, last = o.place[o.order[end - 1]];
    for (size_t i = 0; i < end; i++) {
      struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
      size_t count = lb_hunt_space_subsets(&o.space, &o.space.timeline[o.order[i]], part);
      for (size_t k = 0; k < count; k++) {
        ptrdiff_t at =
            part[k].fault_count > 0 && part[k].pruned == LB_HUNT_RUN ? lb_hunt_space_find(&o.space, &part[k]) : -1;
        if (at < 0 || o.place[at] > last) continue;
        assert_true(o.place[at] < o.place[o.order[i]]);
        in_front++;
      }
    }
    assert_true(in_front > 0);
    clear(&o);
  }
}
/* Such a part would take the place of a pair. */
TEST(a_pair_stands_in_front_of_parts_that_break_nothing) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct ordered o = order_of("redis-token@sentinel", seed, false);
    size_t place = place_of(&o, "L2.part-P@B-back+kill-P@H-back");
    assert_true(place < place_of(&o, "L1.part-P@B-back") && place < place_of(&o, "L1.kill-P@H-back"));
    clear(&o);
  }
}

TEST(lineage_changes_the_order_and_nothing_else) {
  static const char *const systems[] = {"local@none", "redis-token@redis", "redis-token@sentinel", "pg-row@pg"};
  for (size_t n = 0; n < sizeof systems / sizeof *systems; n++) {
    struct ordered by = order_of(systems[n], 7, false), again = order_of(systems[n], 7, false),
                   seeded = order_of(systems[n], 7, true);
    assert_int_equal(by.count, seeded.count);
    assert_memory_equal(by.order, again.order, by.count * sizeof *by.order);
    assert_int_equal(seeded.first, 0);
    for (size_t i = 0; i < by.space.count; i++) assert_int_equal(by.place[i] > 0, seeded.place[i] > 0);
    clear(&by);
    clear(&again);
    clear(&seeded);
  }
}

/* ---- the journal ------------------------------------------------------------------------------------------------- */

TEST(a_journal_keeps_what_the_first_trial_said) {
  char path[] = "/tmp/test-hunt-lineage-XXXXXX";
  struct ordered o = order_of("redis-token@redis", 1, false);
  struct lb_hunt_journal journal;
  struct lb_error err;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(lb_hunt_journal_open(&journal, &o.space, path, "test", &err), 0);
  assert_false(journal.seen);
  lb_hunt_journal_add(&journal, 0, LB_GUARD_NONE, LB_HUNT_SAFE, "");
  lb_hunt_journal_note(&journal, 0x5d, "granted by redis-1");
  lb_hunt_journal_add(&journal, 0, LB_GUARD_NONE, LB_HUNT_SAFE, "");
  assert_int_equal(lb_hunt_journal_close(&journal), 0);
  FILE *file = fopen(path, "ae");
  fputs("# rests on 1: of another shard\n", file);
  fclose(file);
  assert_int_equal(lb_hunt_journal_open(&journal, &o.space, path, "test", &err), 0);
  assert_true(journal.seen);
  assert_int_equal(journal.rests, 0x5d);
  assert_string_equal(journal.said, "granted by redis-1");
  assert_int_equal(journal.trials, 2);
  lb_hunt_journal_close(&journal);
  file = fopen(path, "ae");
  fputs("# rests on nothing\n", file);
  fclose(file);
  assert_int_equal(lb_hunt_journal_open(&journal, &o.space, path, "test", &err), -22);
  unlink(path);
  clear(&o);
}
