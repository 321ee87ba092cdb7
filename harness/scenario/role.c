/* SPDX-License-Identifier: MIT
 *
 * Roles: how a step names hosts ("current primary", "node 2", "holder"). A role is kept as written and resolved when
 * its step is played, because only then is it known which server is primary or which client holds. So what is checked
 * here is form, not whether a topology has such a node.
 */
#include "role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NODE_MAX 99 /* whether a topology has that node is known when it runs */
#define ANY "any"   /* number 0, drawn from the seed */

/* What follows the first word of a role: nothing, a number or `any` of nodes or of clients, a
 * number alone, the word "primary", a number from 2 or nothing, or "of client" and a number. */
enum tail { TAIL_NONE, TAIL_NODE, TAIL_CLIENT, TAIL_NUMBER, TAIL_PRIMARY, TAIL_LATER, TAIL_OF_CLIENT };
static const struct {
  const char *word;
  enum lb_role_kind kind;
  enum tail tail;
} roles[] = {
    {"primary", LB_ROLE_PRIMARY, TAIL_LATER},      {"current", LB_ROLE_CURRENT_PRIMARY, TAIL_PRIMARY},
    {"replicas", LB_ROLE_REPLICAS, TAIL_NONE},     {"node", LB_ROLE_NODE, TAIL_NODE},
    {"majority", LB_ROLE_MAJORITY, TAIL_NONE},     {"partners", LB_ROLE_PARTNERS, TAIL_NONE},
    {"minority", LB_ROLE_MINORITY, TAIL_NONE},     {"all", LB_ROLE_ALL, TAIL_NONE},
    {"client", LB_ROLE_CLIENT, TAIL_CLIENT},       {"clients", LB_ROLE_CLIENTS, TAIL_NONE},
    {"holder", LB_ROLE_HOLDER, TAIL_NONE},         {"waiters", LB_ROLE_WAITERS, TAIL_NONE},
    {"server", LB_ROLE_SERVER_OF, TAIL_OF_CLIENT}, {"proxy", LB_ROLE_PROXY, TAIL_NONE},
    {"witness", LB_ROLE_WITNESS, TAIL_NUMBER},
};
#define ROLE_COUNT (sizeof roles / sizeof *roles)
#define ROLES_TEXT                                                                                                                          \
  "primary, primary N, current primary, replicas, node N, majority, partners, minority, proxy, witness N, all, client N, clients, holder, " \
  "waiters or server of client N"

/* The words that lb_role_parse() takes, in the one spelling that messages, facts and charts use. */
void lb_role_format(struct lb_role role, char *buf, size_t size) {
  for (size_t i = 0; i < ROLE_COUNT; i++) {
    if (roles[i].kind != role.kind) continue;
    if (roles[i].tail == TAIL_PRIMARY) snprintf(buf, size, "current primary");
    else if (roles[i].tail == TAIL_OF_CLIENT) snprintf(buf, size, "server of client %d", role.number);
    else if (roles[i].tail == TAIL_NONE || (roles[i].tail == TAIL_LATER && role.number == 0))
      snprintf(buf, size, "%s", roles[i].word);
    else if (role.number == 0) snprintf(buf, size, "%s " ANY, roles[i].word);
    else snprintf(buf, size, "%s %d", roles[i].word, role.number);
    return;
  }
  snprintf(buf, size, "nothing");
}

bool lb_role_is_relative(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_REPLICAS || role.kind == LB_ROLE_MAJORITY ||
         role.kind == LB_ROLE_PARTNERS || role.kind == LB_ROLE_MINORITY;
}

bool lb_role_is_one_server(struct lb_role role) {
  return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY || role.kind == LB_ROLE_SERVER_OF ||
         role.kind == LB_ROLE_PROXY || (role.kind == LB_ROLE_NODE && role.number != 0);
}

bool lb_role_is_client(struct lb_role role) {
  return role.kind == LB_ROLE_CLIENT || role.kind == LB_ROLE_CLIENTS || role.kind == LB_ROLE_HOLDER ||
         role.kind == LB_ROLE_WAITERS;
}

bool lb_role_is_any(struct lb_role role) {
  return (role.kind == LB_ROLE_NODE || role.kind == LB_ROLE_CLIENT) && role.number == 0;
}

bool lb_role_equal(struct lb_role a, struct lb_role b) { return a.kind == b.kind && a.number == b.number; }

/* A number of more than five digits is beyond every `max`. */
int lb_role_number_parse(const char *kind, const char *word, int max, int *ret, struct lb_error *err) {
  size_t digits = strspn(word ? word : "", "0123456789");
  long value = word && digits > 0 && digits < 6 && word[digits] == '\0' ? strtol(word, NULL, 10) : 0;
  if (value < 1 || value > max)
    return lb_refuse(err, "'%s %s': expected %s and its number from 1 to %d", kind, word ? word : "", kind, max);
  *ret = (int)value;
  return 0;
}

static int refuse_role(const char *word, struct lb_error *err) {
  const char *known[ROLE_COUNT];
  for (size_t i = 0; i < ROLE_COUNT; i++) known[i] = roles[i].word;
  const char *near = lb_text_suggest(word, known, ROLE_COUNT);
  if (near) return lb_refuse(err, "'%s' is not a role, did you mean '%s'? expected " ROLES_TEXT, word, near);
  return lb_refuse(err, "'%s' is not a role: expected " ROLES_TEXT, word);
}

/* "of client N", behind "server". The number of words of the role, or -EINVAL with err. */
static int parse_of_client(char *const *words, size_t count, struct lb_role *ret, struct lb_error *err) {
  bool of = count > 2 && strcmp(words[1], "of") == 0 && strcmp(words[2], "client") == 0;
  if (!of) return lb_refuse(err, "'server' alone is not a role: expected server of client N");
  int r = lb_role_number_parse("server of client", count > 3 ? words[3] : NULL, LB_CLIENTS_MAX, &ret->number, err);
  return r < 0 ? r : 4;
}

/* "2", behind "primary"; what is no whole number belongs to the step ("700ms"). */
static int parse_later(const char *tail, struct lb_role *ret, struct lb_error *err) {
  if (!tail || !*tail || tail[strspn(tail, "0123456789")] != '\0') return 1;
  if (strcmp(tail, "1") == 0)
    return lb_refuse(err, "'primary 1': the first one is called primary; primary 2 is the server that replaced it");
  int r = lb_role_number_parse("primary", tail, LB_PRIMARIES_MAX, &ret->number, err);
  return r < 0 ? r : 2;
}

/* Takes as many words as the role has and leaves the rest. What follows a role ("to B", "within T") is known to the
 * form of the step only. */
int lb_role_parse(char *const *words, size_t count, struct lb_role *ret, struct lb_error *err) {
  size_t i = 0;
  int r = 0, max = 0;
  if (count == 0) return lb_refuse(err, "it ends where a role was expected: " ROLES_TEXT);
  while (i < ROLE_COUNT && strcmp(words[0], roles[i].word) != 0) i++;
  if (i == ROLE_COUNT) return refuse_role(words[0], err);
  const char *tail = count > 1 ? words[1] : NULL;
  *ret = (struct lb_role){.kind = roles[i].kind};
  switch (roles[i].tail) {
    case TAIL_NONE: return 1;
    case TAIL_PRIMARY:
      if (!tail || strcmp(tail, "primary") != 0)
        return lb_refuse(err, "'current %s': expected 'current primary'", tail ? tail : "");
      return 2;
    case TAIL_LATER: return parse_later(tail, ret, err);
    case TAIL_OF_CLIENT: return parse_of_client(words, count, ret, err);
    case TAIL_NODE:
    case TAIL_NUMBER:
    case TAIL_CLIENT:
      max = roles[i].tail == TAIL_CLIENT ? LB_CLIENTS_MAX : NODE_MAX;
      if (!tail || roles[i].tail == TAIL_NUMBER || strcmp(tail, ANY) != 0)
        r = lb_role_number_parse(roles[i].word, tail, max, &ret->number, err);
      break;
  }
  return r < 0 ? r : 2;
}
