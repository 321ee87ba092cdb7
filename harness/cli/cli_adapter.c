/* SPDX-License-Identifier: MIT
 *
 * `lockbench adapter-check`: what is wrong with somebody's adapter, one line per statement. What the statements are is conform/adapter*.c's; here stands which
 * program is meant, where it is tried, and which of the statements.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/called.h"
#include "cli_conform.h"
#include "conform/conform.h"
#include "theory/theory.h"

enum { STATEMENTS_MAX = 64 };

/* A program that cannot be called is a mistake of the user; a first line that nobody understands is one of the adapter: the first statement. */
static int refuse_first_line(const struct lb_args *args, bool spoke, const char *err) {
  const char *first = lb_conform_statement_at(true, 0)->text;
  if (!spoke) return lb_complain(LB_EXIT_USAGE, "adapter-check '%s': %s", args->words[0], err);
  if (args->tap) printf("not ok 1 - %s\n# %s\n1..1\n", first, err);
  else printf("FAIL %s: %s\n", first, err);
  return LB_EXIT_UNEXPECTED;
}

/* NULL: *ret_code is what the command ends with. */
static const struct lb_protocol *hear(const struct lb_args *args, int *ret_code) {
  char err[600];
  int r;
  const struct lb_protocol *protocol = lb_bring_adapter(args->words[0], &r, err, sizeof err);
  if (!protocol) *ret_code = refuse_first_line(args, r == 0 || r == -EPROTO, err);
  return protocol;
}

/* Those of -b, or the first that it names. How many; -1 after a complaint. */
static int choose_systems(const struct lb_protocol *protocol, const char *topologies, struct lb_system *systems, int max) {
  char name[160], err[300];
  int count = 0;
  for (const char *at = topologies ? topologies : protocol->topologies[0]; *at && count < max; at += *at == ',') {
    int length = (int)strcspn(at, ",");
    snprintf(name, sizeof name, "%s@%.*s", protocol->name, length, at);
    if (lb_system_parse(name, &systems[count++], err, sizeof err) < 0) return lb_complain(-1, "adapter-check: %s", err);
    at += length;
  }
  return count ? count : lb_complain(-1, "adapter-check -b: expected TOPOLOGY,...");
}

/* Those whose text has one of the words behind CMD in it. False after a complaint. */
static bool choose_statements(const struct lb_args *args, const char **only) {
  size_t count = 0;
  for (int i = 1; i < args->word_count; i++) {
    size_t before = count;
    const struct lb_conform_statement *s;
    for (size_t k = 0; (s = lb_conform_statement_at(true, k)) && count < STATEMENTS_MAX - 1; k++)
      if (strstr(s->text, args->words[i])) only[count++] = s->text;
    if (count == before) return lb_complain(0, "adapter-check: no statement has '%s' in it; without one, all are tried", args->words[i]), false;
  }
  only[count] = NULL;
  return true;
}

/* Of those that it names: none of them is told by what another one says. */
static void say_not_tried(const struct lb_args *args, const struct lb_protocol *protocol, const struct lb_system *systems, int count) {
  char list[400] = "";
  for (const char *const *t = protocol->topologies; *t; t++) {
    bool tried = !lb_topology_find(*t); /* what is no topology is a FAIL already */
    for (int i = 0; i < count; i++) tried |= strcmp(systems[i].topology->name, *t) == 0;
    size_t length = strlen(list);
    if (!tried) snprintf(list + length, sizeof list - length, "%s%s", length ? "," : "", *t);
  }
  if (!list[0]) return;
  printf("%snot tried: ", args->tap ? "# " : "");
  for (const char *at = list; *at; at++) printf(*at == ',' ? ", " : "%c", *at);
  printf(": add -b %s\n", list);
}

int lb_cli_adapter(const struct lb_args *args) {
  static struct lb_system systems[LB_ARGS_MAX];
  const char *only[STATEMENTS_MAX];
  int code = LB_EXIT_USAGE;
  if (args->word_count == 0) return lb_complain(LB_EXIT_USAGE, "adapter-check: expected CMD, as in `%s adapter-check 'python3 peers/reference.py'`", lb_called());
  if (!choose_statements(args, only)) return LB_EXIT_USAGE;
  const struct lb_protocol *protocol = hear(args, &code);
  if (!protocol) return code;
  int count = choose_systems(protocol, args->systems, systems, LB_ARGS_MAX);
  struct lb_conform_order order = {.args = args, .systems = systems, .count = count, .named = true, .adapter = true, .only = args->word_count > 1 ? only : NULL};
  if (count < 0) return LB_EXIT_USAGE;
  code = lb_conform_systems(&order);
  say_not_tried(args, protocol, systems, count);
  return code;
}
