/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Reading rules and facts: what each kind of bad line is refused with, and how the first rule that holds decides. What
 * the rules of this tree say of its locks is the matter of test-theory-table.c.
 */
#include "test.h"
#include "backends/registry.h"
#include "plan/peers.h"
#include "theory/facts.h"
#include "theory/theory.h"

static struct lb_error err;

static int read_rules(const char *text) { return lb_theory_parse("dir/rules.ini", text, strlen(text), &err); }

static void assert_refused(const char *text, const char *expected) {
  err.text[0] = '\0';
  assert_int_equal(read_rules(text), -EINVAL);
  assert_says(err.text, expected);
  assert_null(lb_rule_at(0)); /* nothing is left of it */
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

TEST(a_rule_is_read_with_all_its_parts) {
  assert_int_equal(
      read_rules(
          "# about\n[fire]\nwhat = it burns\nrule = ends=lease|session !release=blind -> violated by clock number: it is: hot\n"
          "rule = guard=fence -> race: who knows\n[water]\nrule = -> n/a: it is wet\n"),
      0);
  const struct lb_rule *rule = lb_rule_at(0);
  assert_string_equal(rule->attack, "fire");
  assert_int_equal(rule->line, 4);
  assert_int_equal(rule->verdict, LB_VIOLATED);
  assert_string_equal(rule->reason, "it is: hot");
  assert_string_equal(rule->text, "ends=lease|session !release=blind -> violated by clock number: it is: hot");
  assert_int_equal(rule->count, 2);
  assert_int_equal(__builtin_popcount(rule->shows), 2);
  assert_false(rule->of_guard);
  assert_int_equal(lb_rule_at(1)->verdict, LB_ANY);
  assert_true(lb_rule_at(1)->of_guard);
  assert_string_equal(lb_rule_at(2)->attack, "water");
  assert_null(lb_rule_at(3));
  assert_string_equal(lb_theory_attack_what("fire"), "it burns");
  assert_null(lb_theory_attack_what("water"));
  assert_null(lb_theory_attack_what("air"));
}

TEST(a_bad_line_is_refused_with_its_place) {
  assert_refused("[fire]\nrule = ends=lease violated: hot\n", "dir/rules.ini:2: 'ends=lease violated: hot': ...");
  assert_refused("[fire]\nrule = ends=lease -> violated\n",
                 "dir/rules.ini:2: 'ends=lease -> violated': expected FACT ... -> VERDICT: REASON");
  assert_refused("[fire]\nrule = ends=lease -> violated:\n",
                 "dir/rules.ini:2: a rule without a reason: expected FACT ... -> VERDICT: REASON");
  assert_refused("[fire]\nrule = lease -> safe: cold\n", "dir/rules.ini:2: 'lease': expected NAME=VALUE");
  assert_refused("[fire]\n\nrule = relaese=blind -> safe: cold\n",
                 "dir/rules.ini:3: no fact 'relaese', did you mean 'release'?, see `lockbench list facts`");
  assert_refused("[fire]\nrule = !xylophone=blind -> safe: cold\n",
                 "dir/rules.ini:2: no fact 'xylophone', see `lockbench list facts`");
  assert_refused("[fire]\nrule = release=blnd -> safe: cold\n",
                 "dir/rules.ini:2: release=blnd: expected release=compared|looked|timed|blind");
  assert_refused("[fire]\nrule = release=blind| -> safe: cold\n",
                 "dir/rules.ini:2: release=blind|: expected release=compared|looked|timed|blind");
  assert_refused("[fire]\nrule = -> sfae: cold\n",
                 "dir/rules.ini:2: 'sfae': expected safe, violated, stuck, delayed, n/a or race");
  assert_refused("[fire]\nrule = -> any: cold\n",
                 "dir/rules.ini:2: 'any': expected safe, violated, stuck, delayed, n/a or race");
  assert_refused("[fire]\nrule = -> violated by clck: hot\n", "dir/rules.ini:2: shows=clck: expected ...");
  assert_refused("[fire]\nrule = -> safe by clock: cold\n",
                 "dir/rules.ini:2: by clock: expected evidence of violated only");
  assert_refused("[fire]\nrules = -> safe: cold\n", "dir/rules.ini:2: no key 'rules': expected what or rule");
  assert_refused("[fire]\nwhat = a\nwhat = b\n", "dir/rules.ini:3: what of [fire] stands there twice");
  assert_refused("[fire]\nrule\n", "dir/rules.ini:2: 'rule': expected KEY = VALUE, a [section] or a ...");
  assert_refused("rule = -> safe: cold\n",
                 "dir/rules.ini:1: 'rule' stands before the first section: expected [ATTACK]");
}

STATES(a_section_stands_once,
       assert_refused("[fire]\nrule = -> safe: a\n[water]\nrule = -> safe: b\n[fire]\nrule = -> safe: c\n",
                      "dir/rules.ini:5: [fire] stands there twice"),
       assert_refused("[fire]\nrule = -> safe: a\n[fire]\nrule = -> safe: c\n",
                      "dir/rules.ini:3: [fire] stands there twice"));

TEST(a_line_may_be_long_but_a_table_is_not) {
  static char text[400 * 1024];
  int at = snprintf(text, sizeof text, "[fire]\nrule = -> safe: %0*d\n", 5000, 0);
  assert_true(at > 5000);
  assert_int_equal(read_rules(text), 0);
  assert_int_equal(strlen(lb_rule_at(0)->reason), 5000);
  at = snprintf(text, sizeof text, "[fire]\n");
  for (int i = 0; i < 801; i++) at += snprintf(text + at, sizeof text - (size_t)at, "rule = -> safe: cold\n");
  assert_refused(text, "dir/rules.ini:802: too many rules");
  at = snprintf(text, sizeof text, "[fire]\n");
  for (int i = 0; i < 601; i++)
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "rule = ends=lease ends=lease ends=lease ends=lease -> safe: cold\n");
  assert_refused(text, "dir/rules.ini:602: too many conditions");
  at = 0;
  for (int i = 0; i < 301; i++) at += snprintf(text + at, sizeof text - (size_t)at, "[fire%d]\nwhat = a\n", i);
  assert_refused(text, "dir/rules.ini:601: too many attacks");
}

TEST(a_name_that_is_no_attack_has_a_nearest) {
  const char *near;
  assert_int_equal(read_rules("[holder-stopped]\nrule = -> safe: a\n[guards]\nrule = -> safe: b\n"), 0);
  assert_true(lb_theory_has_attack("holder-stopped", &near));
  assert_false(lb_theory_has_attack("holder-stoped", &near));
  assert_string_equal(near, "holder-stopped");
  assert_false(lb_theory_has_attack("guards", &near));
  assert_null(near);
  assert_false(lb_theory_has_attack("", &near));
}

/* ---- how they decide --------------------------------------------------------------------------------------------- */

static const struct lb_prediction *predict(const char *words, enum lb_guard guard) {
  static struct lb_prediction p;
  struct lb_facts facts;
  lb_facts_default(&facts);
  assert_int_equal(lb_facts_take(&facts, words, LB_TERM_OF_LOCK, &err), 0);
  assert_true(lb_theory_predict("fire", &facts, guard, &p));
  return &p;
}

TEST(the_first_rule_that_holds_decides) {
  struct lb_facts facts;
  struct lb_prediction p;
  assert_int_equal(
      read_rules(
          "[fire]\nrule = ends=never -> stuck: a\nrule = !release=compared asks=owner -> delayed: b\nrule = ends=session|lease -> violated by clock: c\n"
          "[guards]\nrule = guard=deadline shows=clock -> safe: d\nrule = guard=fence shows=number -> safe: e\nrule = -> violated: f\n"),
      0);
  assert_string_equal(predict("ends=never release=blind", LB_GUARD_NONE)->reason, "a");
  assert_string_equal(predict("release=blind", LB_GUARD_NONE)->reason, "b");
  assert_string_equal(predict("release=blind asks=anybody", LB_GUARD_NONE)->reason, "c");
  assert_string_equal(predict(NULL, LB_GUARD_DEADLINE)->reason, "d");
  assert_string_equal(predict(NULL, LB_GUARD_FENCE)->reason, "f");
  assert_string_equal(predict("ends=never", LB_GUARD_FENCE)->reason,
                      "a"); /* only what is violated is a matter of guards */
  lb_facts_default(&facts);
  lb_facts_set(&facts, "ends", "connection");
  assert_false(lb_theory_predict("fire", &facts, LB_GUARD_NONE, &p)); /* no rule holds */
  assert_false(lb_theory_predict("water", &facts, LB_GUARD_NONE, &p));
  assert_false(lb_theory_predict(NULL, &facts, LB_GUARD_NONE, &p));
}

TEST(a_rule_that_asks_for_a_guard_wins_over_the_guards) {
  assert_int_equal(
      read_rules(
          "[fire]\nrule = guard=fence -> violated: a\nrule = !guard=claim -> violated: b\nrule = -> safe: c\n[guards]\nrule = -> safe: d\n"),
      0);
  assert_string_equal(predict(NULL, LB_GUARD_FENCE)->reason, "a");
  assert_string_equal(predict(NULL, LB_GUARD_SIGNAL)->reason, "d");
  assert_string_equal(predict(NULL, LB_GUARD_CLAIM)->reason, "c");
}

STATES(a_rule_can_be_left_out,
       assert_int_equal(read_rules("[fire]\nrule = ends=lease -> violated: a\nrule = -> safe: b\n"), 0),
       lb_theory_without(lb_rule_at(0)), assert_string_equal(predict(NULL, LB_GUARD_NONE)->reason, "b"),
       lb_theory_without(NULL), assert_string_equal(predict(NULL, LB_GUARD_NONE)->reason, "a"));

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static void assert_no_facts(const char *words, enum lb_term_of of, const char *expected) {
  struct lb_facts facts;
  lb_facts_default(&facts);
  assert_int_equal(lb_facts_take(&facts, words, of, &err), -EINVAL);
  assert_string_equal(err.text, expected);
}

TEST(words_of_facts_are_checked) {
  struct lb_facts facts;
  char buf[80];
  lb_facts_default(&facts);
  assert_string_equal(lb_facts_get(&facts, "ends", buf, sizeof buf), "lease");
  assert_int_equal(lb_facts_take(&facts, " ends=session  release=blind ", LB_TERM_OF_LOCK, &err), 0);
  assert_true(lb_facts_is(&facts, "ends", "session"));
  assert_string_equal(lb_facts_get(&facts, "release", buf, sizeof buf), "blind");
  assert_no_facts("ends", LB_TERM_OF_LOCK, "'ends' is no fact: expected NAME=VALUE");
  assert_no_facts("ednds=lease", LB_TERM_OF_LOCK, "no fact 'ednds', did you mean 'ends'?, see `lockbench list facts`");
  assert_no_facts("ends=lease|session", LB_TERM_OF_LOCK, "ends=lease|session: expected one value");
  assert_no_facts("copies=later", LB_TERM_OF_LOCK, "copies=later: that is not stated here");
  assert_no_facts("ends=lease", LB_TERM_OF_SERVERS, "ends=lease: that is not stated here");
  assert_no_facts("guard=none", LB_TERM_OF_LOCK, "guard=none: that is not stated here");
}

/* What a table says wrongly counts for nothing where it runs, so it is looked at here. */
TEST(every_fact_that_is_stated_is_known) {
  const struct lb_protocol *p;
  const struct lb_topology *t;
  size_t stated = 0;
  struct lb_facts facts;
  lb_facts_default(&facts);
  for (size_t i = 0; (p = lb_protocol_at(i)); i++, stated += p && p->facts)
    if (lb_facts_take(&facts, p->facts, LB_TERM_OF_LOCK, &err) < 0) fail_msg("%s: %s", p->name, err.text);
  for (size_t i = 0; (t = lb_topology_at(i)); i++, stated += t && t->facts)
    if (lb_facts_take(&facts, t->facts, LB_TERM_OF_SERVERS, &err) < 0) fail_msg("%s: %s", t->name, err.text);
  assert_true(stated > 20);
  if (lb_peers_load(getenv("LB_SOURCE_DIR"), &err) < 0) fail_msg("%s", err.text); /* looks at each word itself */
}

TEST(every_fact_has_a_name_of_its_own_and_several_values) {
  const struct lb_term *term;
  for (size_t i = 0; (term = lb_term_at(i)); i++) {
    assert_non_null(strchr(term->values, '|'));
    for (size_t k = 0; k < i; k++) assert_string_not_equal(lb_term_at(k)->name, term->name);
  }
}
