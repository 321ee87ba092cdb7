/* SPDX-License-Identifier: MIT
 *
 * Rules: rules.ini is read into a table, which is kept until another file is read, and applied. What applies them has
 * no case for any attack, lock or guard.
 */
#include "theory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ini.h"
#include "base/need.h"
#include "base/text.h"
#include "facts.h"
#include "facts_cell.h"
#include "scenario/expect.h"

enum { RULES_MAX = 800, CONDITIONS_MAX = 2400, ATTACKS_MAX = 300 };

struct lb_condition {
  size_t fact;
  unsigned bits; /* one of these values */
  bool negated;
};

static struct lb_rule rules[RULES_MAX];
static struct lb_condition conditions[CONDITIONS_MAX];
static struct { char *name, *what; } attacks[ATTACKS_MAX];
static size_t rule_count, condition_count, attack_count, shows_fact, guard_fact;

const struct lb_rule *lb_rule_at(size_t index) { return index < rule_count ? &rules[index] : NULL; }

static size_t find_attack(const char *name) {
  size_t i = 0;
  while (i < attack_count && strcmp(attacks[i].name, name) != 0) i++;
  return i;
}

const char *lb_theory_attack_what(const char *name) {
  size_t i = find_attack(name);
  return i < attack_count ? attacks[i].what : NULL;
}

bool lb_theory_has_attack(const char *name, const char **ret_near) {
  const char *known[ATTACKS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < attack_count; i++)
    if (strcmp(attacks[i].name, "guards") != 0) known[count++] = attacks[i].name;
  *ret_near = lb_text_suggest(name, known, count);
  return find_attack(name) < attack_count && strcmp(name, "guards") != 0;
}

/* ---- one rule ------------------------------------------------------------------------------------ */

static char *trim(char *text) {
  text += strspn(text, LB_BLANKS);
  size_t length = strlen(text);
  while (length > 0 && strchr(LB_BLANKS, text[length - 1])) text[--length] = '\0';
  return text;
}

static int add_condition(struct lb_rule *rule, char *word, struct lb_error *why) {
  struct lb_condition *c = &conditions[condition_count];
  char *equals = strchr(word, '=');
  if (condition_count == CONDITIONS_MAX) return lb_refuse(why, "too many conditions");
  if (!equals) return lb_refuse(why, "'%s': expected NAME=VALUE", word);
  *equals = '\0';
  c->negated = word[0] == '!';
  int r = lb_facts_parse(word + c->negated, equals + 1, &c->fact, &c->bits, why);
  if (r < 0) return r;
  rule->of_guard |= c->fact == guard_fact && !c->negated;
  rule->count++;
  condition_count++;
  return 0;
}

static int take_conditions(struct lb_rule *rule, char *text, struct lb_error *why) {
  int r = 0;
  for (char *word; r == 0 && (word = strsep(&text, " "));)
    if (*word) r = add_condition(rule, word, why);
  return r;
}

static int take_verdict(struct lb_rule *rule, const char *word, struct lb_error *why) {
  static const enum lb_verdict known[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_NA, LB_ANY};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(lb_verdict_name(known[i]), word) == 0) return rule->verdict = known[i], 0;
  return lb_refuse(why, "'%s': expected safe, violated, stuck, delayed, n/a or race", word);
}

static int take_evidence(struct lb_rule *rule, char *text, struct lb_error *why) {
  int r = 0;
  unsigned bits;
  size_t fact;
  for (char *word; r == 0 && (word = strsep(&text, " "));) {
    if (*word) r = lb_facts_parse("shows", word, &fact, &bits, why);
    if (*word && r == 0) rule->shows |= bits;
  }
  return r;
}

/* "FACT FACT -> VERDICT by EVIDENCE: REASON" */
static int take_rule(struct lb_rule *rule, char *text, struct lb_error *why) {
  char *arrow = strstr(text, "->"), *colon = arrow ? strchr(arrow, ':') : NULL;
  if (!colon) return lb_refuse(why, "'%s': expected FACT ... -> VERDICT: REASON", text);
  *arrow = *colon = '\0';
  char *outcome = trim(arrow + 2), *by = strstr(outcome, " by ");
  if (by) *by = '\0';
  rule->first = condition_count;
  const char *reason = trim(colon + 1);
  if (!*reason) return lb_refuse(why, "a rule without a reason: expected FACT ... -> VERDICT: REASON");
  rule->reason = lb_need_text(reason);
  int r = take_conditions(rule, text, why);
  if (r == 0) r = take_verdict(rule, trim(outcome), why);
  if (r == 0 && by && rule->verdict != LB_VIOLATED)
    r = lb_refuse(why, "by %s: expected evidence of violated only", by + 4);
  if (r == 0 && by) r = take_evidence(rule, by + 4, why);
  return r;
}

/* ---- the file -------------------------------------------------------------------------------------- */

static int begin_attack(const char *name, struct lb_error *why) {
  if (find_attack(name) < attack_count) return lb_refuse(why, "[%s] stands there twice", name);
  if (attack_count == ATTACKS_MAX) return lb_refuse(why, "too many attacks");
  attacks[attack_count].name = lb_need_text(name);
  attacks[attack_count++].what = NULL;
  return 0;
}

static int take_key(int line, const char *key, char *value, struct lb_error *why) {
  if (attack_count == 0) return lb_refuse(why, "'%s' stands before the first section: expected [ATTACK]", key);
  char **what = &attacks[attack_count - 1].what;
  const char *attack = attacks[attack_count - 1].name;
  if (strcmp(key, "what") == 0)
    return *what ? lb_refuse(why, "what of [%s] stands there twice", attack) : (*what = lb_need_text(value), 0);
  if (strcmp(key, "rule") != 0) return lb_refuse(why, "no key '%s': expected what or rule", key);
  if (rule_count == RULES_MAX) return lb_refuse(why, "too many rules");
  struct lb_rule *rule = &rules[rule_count];
  *rule = (struct lb_rule){.attack = attack, .line = line, .text = lb_need_text(value)};
  rule_count++;
  return take_rule(rule, value, why);
}

static void take_line(struct lb_ini *ini) {
  struct lb_error why;
  int result;
  if (ini->indented) result = lb_ini_refuse_indented(ini);
  else if (ini->kind == LB_INI_SECTION) result = begin_attack(ini->section, &why);
  else result = take_key(ini->line, ini->key, ini->value, &why);
  if (result < 0) lb_ini_refuse(ini, result, "%s", why.text);
}

static void forget(void) {
  for (size_t i = 0; i < rule_count; i++) free((char *)rules[i].text), free((char *)rules[i].reason);
  for (size_t i = 0; i < attack_count; i++) free(attacks[i].name), free(attacks[i].what);
  rule_count = condition_count = attack_count = 0;
}

int lb_theory_parse(const char *path, const char *data, size_t size, struct lb_error *err) {
  struct lb_ini ini;
  unsigned bits;
  forget();
  lb_facts_parse("shows", "clock", &shows_fact, &bits, err);
  lb_facts_parse("guard", "none", &guard_fact, &bits, err);
  lb_ini_begin(&ini, path, data, size, err);
  while (lb_ini_next(&ini)) take_line(&ini);
  int result = lb_ini_end(&ini);
  if (result < 0) forget();
  return result;
}

int lb_theory_load(const char *path, struct lb_error *err) {
  char *data;
  size_t size;
  int result = lb_ini_load(path, &data, &size, err);
  if (result < 0) return result;
  result = lb_theory_parse(path, data, size, err);
  free(data);
  return result;
}

/* ---- applying them ---------------------------------------------------------------------------------- */

static const struct lb_rule *left_out;

void lb_theory_without(const struct lb_rule *rule) { left_out = rule; }

static bool holds(const struct lb_rule *rule, const struct lb_facts *facts) {
  for (size_t i = rule->first; i < rule->first + rule->count; i++) {
    const struct lb_condition *c = &conditions[i];
    if (!(facts->value[c->fact] & c->bits) != c->negated) return false;
  }
  return true;
}

bool lb_rule_asks(const struct lb_rule *rule, const char *fact, const char *values) {
  struct lb_error err;
  size_t index;
  unsigned bits;
  if (lb_facts_parse(fact, values, &index, &bits, &err) < 0) return false;
  for (size_t i = rule->first; i < rule->first + rule->count; i++) {
    const struct lb_condition *c = &conditions[i];
    if (c->fact == index && !c->negated && !(c->bits & ~bits)) return true;
  }
  return false;
}

static const struct lb_rule *first_of(const char *attack, const struct lb_facts *facts) {
  const struct lb_rule *rule;
  for (size_t i = 0; (rule = lb_rule_at(i)); i++)
    if (rule != left_out && strcmp(rule->attack, attack) == 0 && holds(rule, facts)) return rule;
  return NULL;
}

/* A guard does not make a cell violated that is not violated without one. If it is, the guard decides by what could
 * have told the holder. */
bool lb_theory_predict(const char *attack, const struct lb_facts *facts, enum lb_guard guard,
                       struct lb_prediction *ret) {
  struct lb_facts cell = *facts;
  lb_facts_set(&cell, "guard", lb_guard_name(guard));
  const struct lb_rule *rule = attack ? first_of(attack, &cell) : NULL;
  if (rule && rule->verdict == LB_VIOLATED && guard != LB_GUARD_NONE && !rule->of_guard) {
    cell.value[shows_fact] = rule->shows;
    rule = first_of("guards", &cell);
  }
  if (rule) *ret = (struct lb_prediction){rule->verdict, rule->reason, rule};
  return rule;
}
