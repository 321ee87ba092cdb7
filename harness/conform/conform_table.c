/* SPDX-License-Identifier: MIT
 *
 * The table of a protocol, and whether a session works at all. What a table says is believed by
 * everybody else in the harness: the guards it is offered, the steps that a scenario may name. So
 * it is compared with what the protocol does.
 */
#include <string.h>

#include "backends/registry.h"
#include "base/suggest.h"
#include "conform_statement.h"

static const struct lb_conform_statement *find_statement(const char *text) {
  const struct lb_conform_statement *s = lb_conform_statements;
  while (s->text && strcmp(s->text, text) != 0) s++;
  return s->text ? s : NULL;
}

static const char *nearest_statement(const char *text) {
  const char *texts[200];
  size_t count = 0;
  for (const struct lb_conform_statement *s = lb_conform_statements; s->text && count < 200; s++) texts[count++] = s->text;
  return lb_suggest(text, texts, count);
}

/* A flaw in a statement that nobody asks would never be seen. Servers that a topology has not got are
 * no fault of the table. */
static void check_flaws(struct lb_conform *c) {
  for (const struct lb_flaw *f = c->protocol->flaws; f && f->statement; f++) {
    const struct lb_conform_statement *s = find_statement(f->statement);
    const char *near = s ? NULL : nearest_statement(f->statement);
    lb_conform_check(c, s, "it declares a flaw in '%s', which is no statement%s%s%s", f->statement, near ? ", did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
    bool there = lb_protocol_flaw(c->protocol, c->options, f->statement) != NULL;
    lb_conform_check(c, !there || !(s->needs & ~lb_conform_has(c) & ~(unsigned)LB_NEEDS_OF_TOPOLOGY),
                     "it declares a flaw in '%s', which its traits, hooks or options keep from being asked", f->statement);
  }
}

/* Its name has to lead back to it: two protocols of one name would hide each other. */
void lb_statement_well_formed(struct lb_conform *c) {
  char err[200];
  int r = lb_protocol_check(c->protocol, err, sizeof err);
  lb_conform_check(c, r == 0, "%s", r == 0 ? "" : err);
  lb_conform_check(c, lb_protocol_find(c->protocol->name) == c->protocol,
                   "expected to find %s by its name, found another protocol", c->protocol->name);
  lb_conform_check(
      c, !(lb_conform_has(c) & LB_NEEDS_FENCE) || lb_protocol_can_fence(c->protocol),
      "expected an option or a trait that says that grants are numbered, or the guard would be refused to it");
  check_flaws(c);
}

/* setup() is called where there is one: a protocol without it has to work at once. */
void lb_statement_opens_and_sets_up(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 0));
  WANT(LB_OK, lb_conform_try(c, 0, key, &g)); /* many connect only now */
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* After all that pass points: what they came by is in the table, and what is in the table they came
 * by. */
void lb_statement_points_are_true(struct lb_conform *c) {
  const char *const *table = c->protocol->points;
  unsigned count = atomic_load(&c->shared->point_count);
  for (unsigned i = 0; i < count; i++) {
    bool known = false;
    for (const char *const *p = table; p && *p; p++) known |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, known, "expected point %s in the table, as somebody came by it", c->shared->point[i]);
  }
  for (const char *const *p = table; p && *p; p++) {
    bool seen = false;
    for (unsigned i = 0; i < count; i++) seen |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, seen, "expected somebody to come by point %s of the table, nobody did", *p);
  }
}
