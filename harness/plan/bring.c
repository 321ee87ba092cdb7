/* SPDX-License-Identifier: MIT
 *
 * A lock that its user brings (--plugin, --exec): it enters the registry here.
 */
#include "bring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/foreign/foreign_ask.h"
#include "backends/registry.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"

/* The room of adapters ignores the word `facts` of a greeting, as it ignores every word that it does not know. */

const struct lb_protocol *lb_bring_plugin(const char *path, struct lb_error *err) {
  struct lb_facts facts;
  const struct lb_protocol *protocol = lb_protocol_load(path, err);
  lb_facts_default(&facts);
  if (!protocol || lb_facts_take(&facts, protocol->facts, LB_TERM_OF_LOCK, err) == 0) return protocol;
  lb_error_prefix(err, "%s: .facts: ", path);
  return NULL;
}

/* The value of the word `facts` with blanks for its commas; NULL = the greeting has no such word. */
static const char *facts_in(const char *says, char *buf, size_t size) {
  static const char name[] = "facts=";
  const char *at = says;
  while (*at && strncmp(at, name, strlen(name)) != 0) at += strcspn(at, " "), at += *at == ' ';
  if (!*at) return NULL;
  at += strlen(name);
  snprintf(buf, size, "%.*s", (int)strcspn(at, " "), at);
  for (char *c = buf; *c; c++)
    if (*c == ',') *c = ' ';
  return buf;
}

const struct lb_protocol *lb_bring_adapter(const char *command, int *ret_asked, struct lb_error *err) {
  char says[LB_FOREIGN_LINE_MAX], words[LB_FOREIGN_LINE_MAX];
  struct lb_foreign_plan plan = {.kind = "exec", .command = command, .says = says};
  *ret_asked = lb_foreign_ask(command, says, sizeof says, &plan.start_ms, err);
  const struct lb_protocol *protocol = *ret_asked == 0 ? lb_foreign_add(&plan, err) : NULL;
  const char *facts = protocol ? facts_in(says, words, sizeof words) : NULL;
  if (!facts || lb_facts_state(protocol, facts, err) == 0) return protocol;
  *ret_asked = lb_error_prefix(err, "facts: ");
  return NULL;
}
