/* SPDX-License-Identifier: MIT
 *
 * states: a lock of ours under another name, with the facts that a test wants it to state. STATES_OF in the environment
 * names the lock, STATES_FACTS has the facts. What it does stays what it was, so a false fact has to be refuted by a
 * run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backends/backend.h"
#include "backends/registry.h"

static struct lb_protocol states;
static char facts[200];

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &states;

/* Whoever loads the library reads the table afterwards. Of an unknown lock the table stays empty, and is refused. */
__attribute__((constructor)) static void copy_the_lock(void) {
  const char *of = getenv("STATES_OF"), *stated = getenv("STATES_FACTS");
  const struct lb_protocol *lock = of ? lb_protocol_find(of) : NULL;
  if (!lock) return;
  snprintf(facts, sizeof facts, "%s", stated ? stated : "");
  states = *lock;
  states.name = "states";
  states.promises = states.breaks = states.source = "as the lock that it is";
  states.facts = facts;
}
