/* SPDX-License-Identifier: MIT
 *
 * What PROTOCOL@TOPOLOGY names, with the nearest known word where it names nothing.
 */
#include "system.h"

#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "base/called.h"
#include "base/refuse.h"
#include "base/suggest.h"
#include "servers/own.h"

enum { WORDS_MAX = 128 };

/* The nearest word, or where all of them are listed. -EINVAL. */
static int unknown_word(const char *what, const char *word, const char *const *words, size_t count, const char *list,
                        char *err, size_t err_size) {
  const char *near = lb_suggest(word, words, count);
  if (near) return lb_refuse(err, err_size, "unknown %s '%s', did you mean '%s'?", what, word, near);
  return lb_refuse(err, err_size, "unknown %s '%s', expected one of `%s list %s`", what, word, lb_called(), list);
}

static int find_protocol(const char *name, const struct lb_protocol **ret, char *err, size_t err_size) {
  const char *words[WORDS_MAX];
  size_t count = 0;
  for (const struct lb_protocol *p; count < WORDS_MAX && (p = lb_protocol_at(count)); count++) words[count] = p->name;
  *ret = lb_protocol_find(name);
  return *ret ? 0 : unknown_word("protocol", name, words, count, "protocols", err, err_size);
}

static int find_topology(const char *name, const struct lb_topology **ret, char *err, size_t err_size) {
  const char *words[WORDS_MAX];
  size_t count = lb_topology_names(words, WORDS_MAX);
  *ret = lb_topology_find(name);
  for (int i = 0; !*ret && i < LB_OWN_COUNT; i++) {
    const struct lb_own_kind *kind = lb_own_kind((enum lb_own_what)i);
    if (strcmp(kind->topology, name) == 0) return lb_refuse(err, err_size, "topology '%s' is servers of your own: expected %s %s", name, kind->option, kind->takes);
  }
  return *ret ? 0 : unknown_word("topology", name, words, count, "topologies", err, err_size);
}

/* A protocol and a topology may both exist and still not go together: that has a message of its
 * own. */
int lb_system_parse(const char *text, struct lb_system *ret, char *err, size_t err_size) {
  char protocol[64];
  const char *at = strchr(text, '@');
  size_t length = at ? (size_t)(at - text) : strlen(text);
  if (length == 0 || length >= sizeof protocol)
    return lb_refuse(err, err_size, "system '%s': expected PROTOCOL@TOPOLOGY", text);
  memcpy(protocol, text, length);
  protocol[length] = '\0';
  int r = find_protocol(protocol, &ret->protocol, err, err_size);
  if (r < 0) return r;
  r = find_topology(at ? at + 1 : ret->protocol->topologies[0], &ret->topology, err, err_size);
  if (r < 0) return r;
  if (!lb_topology_serves(ret->topology, ret->protocol->topologies))
    return lb_refuse(err, err_size, "%s does not run on topology '%s', see `%s show %s`", protocol,
                     ret->topology->name, lb_called(), protocol);
  snprintf(ret->name, sizeof ret->name, "%s@%s", protocol, ret->topology->name);
  return 0;
}
