/* SPDX-License-Identifier: MIT
 *
 * From the file of an operator to commands. Names and addresses stand in commands of a shell, so they have only
 * characters that mean nothing there.
 */
#include "own_operator.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "own_file.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
enum { UNDO_AFTER_MS = 120000, LEAST_MS = 10000, MOST_MS = 3600000 };

/* ---- commands of usual tools ------------------------------------------------------------------------------------- */

static const char *const tools[] = {"docker", "compose", "kubectl", "ssh"};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

/* A pod's first process cannot be stopped from inside, and what a container may reach is nothing that these tools cut. A
 * heal may be given twice, or of a cut that was not made: it ends with 0 if the rules are gone. */
static const char *const usual[TOOL_COUNT][LB_MAY_COUNT] = {
    {"docker kill -s KILL {name}", "docker start {name}", "docker pause {name}",
     "docker unpause {name}", [LB_MAY_STOP] = "docker stop {name}"},
    {"docker compose kill -s KILL {name}", "docker compose start {name}", "docker compose pause {name}",
     "docker compose unpause {name}", [LB_MAY_STOP] = "docker compose stop {name}"},
    {"kubectl delete pod {name} --grace-period=0 --force --wait=false",
     "kubectl wait --for=condition=Ready pod/{name} --timeout=60s"},
    {"ssh {host} systemctl kill -s KILL {name}", "ssh {host} systemctl start {name}",
     "ssh {host} systemctl kill -s STOP {name}", "ssh {host} systemctl kill -s CONT {name}",
     "ssh {host} 'iptables -I INPUT -s {other-host} -j DROP && iptables -I OUTPUT -d {other-host} -j DROP'",
     ("ssh {host} 'iptables -D INPUT -s {other-host} -j DROP; iptables -D OUTPUT -d {other-host} -j DROP; "
      "iptables -C INPUT -s {other-host} -j DROP; [ $? = 1 ] || exit 1; "
      "iptables -C OUTPUT -d {other-host} -j DROP; [ $? = 1 ]'"),
     "ssh {host} date -s @$(($(ssh {host} date +%s) + {offset-s}))",
     [LB_MAY_STOP] = "ssh {host} systemctl stop {name}"},
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum part { IN_NOTHING, IN_OPERATOR, IN_VERBS, IN_SERVER };
static const char *const keys[] = {"may", "at-once", "undo-after", "like", "others", "fails-over"};
enum { KEY_MAY, KEY_AT_ONCE, KEY_UNDO_AFTER, KEY_LIKE, KEY_OTHERS, KEY_FAILS_OVER, KEY_COUNT };

struct reading {
  struct lb_own_operator *to;
  enum part part;
  bool begun[IN_SERVER], said[KEY_COUNT];
  int like; /* of tools; -1 = none */
};

static int begin_section(void *to, const char *name, int line, struct lb_error *err) {
  struct reading *r = to;
  struct lb_own_operator *o = r->to;
  r->part = strcmp(name, "operator") == 0 ? IN_OPERATOR : strcmp(name, "verbs") == 0 ? IN_VERBS : IN_SERVER;
  if (r->part != IN_SERVER) {
    if (r->begun[r->part]) return lb_refuse(err, "a second [%s]", name);
    r->begun[r->part] = true;
    return 0;
  }
  if (!*name || strspn(name, PLAIN) != strlen(name) || strlen(name) >= sizeof o->ward->name || *name == '-')
    return lb_refuse(err, "[%s]: expected the name of a server: letters, digits, '.', '-', '_'", name);
  for (size_t i = 0; i < o->count; i++)
    if (strcmp(o->ward[i].name, name) == 0)
      return lb_refuse(err, "[%s] stands in line %d already", name, o->ward[i].line);
  if (o->count == LB_WARDS_MAX) return lb_refuse(err, "at most %d servers", LB_WARDS_MAX);
  snprintf(o->ward[o->count].name, sizeof o->ward->name, "%s", name);
  o->ward[o->count++].line = line;
  return 0;
}

static int put_may(struct lb_own_operator *o, const char *value, struct lb_error *err) {
  char copy[400], all[100], *words[LB_MAY_COUNT + 1];
  snprintf(copy, sizeof copy, "%s", value);
  for (char *c = copy; *c; c++)
    if (*c == ',') *c = ' ';
  size_t count = lb_text_split_words(copy, words, LB_MAY_COUNT);
  if (count == 0 || count > LB_MAY_COUNT)
    return lb_refuse(err, "may = %s: expected some of %s", value,
                     lb_mandate_say((1u << LB_MAY_COUNT) - 1, all, sizeof all));
  for (size_t i = 0; i < count; i++) {
    int verb = lb_own_file_find("verb", words[i], lb_mandate_verbs, LB_MAY_COUNT, err);
    if (verb < 0) return verb;
    o->may |= 1u << verb;
  }
  return 0;
}

static int put_number(size_t *ret, const char *value, struct lb_error *err) {
  char *end;
  unsigned long number = strtoul(value, &end, 10);
  if (!isdigit((unsigned char)*value) || *end || number < 1 || number > LB_SERVERS_MAX)
    return lb_refuse(err, "at-once = %s: expected a number of servers from 1 to %d", value, LB_SERVERS_MAX);
  *ret = number;
  return 0;
}

static int put_time(int64_t *ret_ms, const char *value, struct lb_error *err) {
  char *end;
  long number = strtol(value, &end, 10);
  int64_t ms = strcmp(end, "s") == 0 ? 1000 : strcmp(end, "m") == 0 ? 60000 : 0;
  if (!isdigit((unsigned char)*value) || number > MOST_MS || number * ms < LEAST_MS || number * ms > MOST_MS)
    return lb_refuse(err, "undo-after = %s: expected a time from 10s to 60m, as in 90s or 2m", value);
  *ret_ms = number * ms;
  return 0;
}

static int put_yes(bool *to, const char *name, const char *value, struct lb_error *err) {
  *to = strcmp(value, "yes") == 0;
  return *to ? 0 : lb_refuse(err, "%s = %s: expected yes, or no such line", name, value);
}

static int put_key(struct reading *r, const char *name, const char *value, struct lb_error *err) {
  int key = lb_own_file_find("key", name, keys, KEY_COUNT, err);
  if (key < 0) return key;
  if (r->said[key]) return lb_refuse(err, "a second %s", name);
  r->said[key] = true;
  switch (key) {
    case KEY_MAY: return put_may(r->to, value, err);
    case KEY_AT_ONCE: return put_number(&r->to->at_once, value, err);
    case KEY_UNDO_AFTER: return put_time(&r->to->undo_after_ms, value, err);
    case KEY_OTHERS: return put_yes(&r->to->others, name, value, err);
    case KEY_FAILS_OVER: return put_yes(&r->to->fails_over, name, value, err);
    default: r->like = lb_own_file_find("tool", value, tools, TOOL_COUNT, err); return r->like < 0 ? r->like : 0;
  }
}

static const char *const places[] = {"{name}",  "{address}",    "{host}",      "{port}",
                                     "{other}", "{other-host}", "{offset-ms}", "{offset-s}"};
enum { OF_OTHER = 4, OF_CLOCK = 6, PLACE_COUNT = sizeof places / sizeof *places };

/* The place that a text begins with; PLACE_COUNT = none. */
static size_t place_at(const char *text) {
  size_t i = 0;
  while (i < PLACE_COUNT && strncmp(text, places[i], strlen(places[i])) != 0) i++;
  return i;
}

/* A brace with a word in it is meant as a place; those of a shell have a blank, a comma or a $. */
static int check_command(enum lb_mandate_verb verb, const char *command, struct lb_error *err) {
  bool has_server = false, has_other = false, has_clock = false;
  const char *name = lb_mandate_verbs[verb];
  for (const char *at = strchr(command, '{'); at; at = strchr(at + 1, '{')) {
    size_t length = 1 + strspn(at + 1, PLAIN), place = place_at(at);
    bool of_shell = (at > command && at[-1] == '$') || at[length] != '}' || length == 1;
    has_server |= place < OF_OTHER;
    has_other |= place >= OF_OTHER && place < OF_CLOCK;
    has_clock |= place >= OF_CLOCK && place < PLACE_COUNT;
    if (place == PLACE_COUNT && !of_shell)
      return lb_refuse(err, "%s: unknown %.*s, expected {name}, {address}, {host}, {port}, {other}, {other-host}, ...",
                       name, (int)length + 1, at);
  }
  bool of_link = verb == LB_MAY_CUT || verb == LB_MAY_HEAL;
  if (!has_server) return lb_refuse(err, "%s: found no {name}, {address} or {host}: which server is meant?", name);
  if (of_link != has_other)
    return lb_refuse(err, "%s: %s", name, of_link ? "expected {other} or {other-host}" : "it has no {other} end");
  if ((verb == LB_MAY_CLOCK) != has_clock)
    return lb_refuse(err, "%s: %s", name,
                     has_clock ? "only a clock has an offset" : "expected {offset-ms} or {offset-s}");
  return 0;
}

static int put_verb(struct lb_own_operator *o, const char *name, const char *value, struct lb_error *err) {
  int verb = lb_own_file_find("verb", name, lb_mandate_verbs, LB_MAY_COUNT, err);
  if (verb < 0) return verb;
  if (o->command[verb][0]) return lb_refuse(err, "a second %s", name);
  if (!*value || strlen(value) >= sizeof o->command[verb]) return lb_refuse(err, "%s: expected a command", name);
  snprintf(o->command[verb], sizeof o->command[verb], "%s", value);
  return check_command((enum lb_mandate_verb)verb, value, err);
}

static int put_address(struct lb_own_operator *o, const char *name, const char *value, struct lb_error *err) {
  struct lb_own_ward *ward = &o->ward[o->count - 1];
  char copy[400];
  if (strcmp(name, "address") != 0) return lb_refuse(err, "unknown key '%s' of a server, expected address", name);
  if (ward->at.host[0]) return lb_refuse(err, "a second address of [%s]", ward->name);
  snprintf(copy, sizeof copy, "%s", value);
  if (!lb_own_read_address(copy, 0, &ward->at) || ward->at.port == 0 || ward->at.host[0] == '-' ||
      strspn(ward->at.host, PLAIN ":") != strlen(ward->at.host))
    return lb_refuse(err, "address = %s: expected HOST:PORT, as the servers name it", value);
  for (size_t i = 0; i + 1 < o->count; i++)
    if (strcmp(o->ward[i].at.host, ward->at.host) == 0 && o->ward[i].at.port == ward->at.port)
      return lb_refuse(err, "address = %s: that is the one of [%s]", value, o->ward[i].name);
  return 0;
}

static int put(void *to, const char *name, const char *value, struct lb_error *err) {
  struct reading *r = to;
  switch (r->part) {
    case IN_OPERATOR: return put_key(r, name, value, err);
    case IN_VERBS: return put_verb(r->to, name, value, err);
    case IN_SERVER: return put_address(r->to, name, value, err);
    default: return lb_refuse(err, "expected a section before it: [operator], [verbs], or the name of a server");
  }
}

/* ---- the whole of it --------------------------------------------------------------------------------------------- */

static int refuse(const struct lb_own_operator *o, struct lb_error *err) {
  lb_error_prefix(err, "--operator %s: ", o->path);
  return -EINVAL;
}

/* Whatever may be done has a command, and can be undone. A link that is healed, and a server that is started again, has
 * been cut or killed before. */
static int complete(const struct reading *r, struct lb_error *err) {
  struct lb_own_operator *o = r->to;
  if (!o->may) return lb_refuse(err, "expected [operator] with may = kill, restart and the like");
  if (o->count == 0) return lb_refuse(err, "expected a section for each server: [NAME] with address = HOST:PORT");
  for (size_t i = 0; i < o->count; i++)
    if (!o->ward[i].at.host[0]) return lb_refuse(err, "[%s]: expected address = HOST:PORT", o->ward[i].name);
  for (int v = 0; v < LB_MAY_COUNT; v++) {
    enum lb_mandate_verb undo = lb_mandate_undo((enum lb_mandate_verb)v);
    if (!o->command[v][0] && r->like >= 0 && usual[r->like][v])
      snprintf(o->command[v], sizeof o->command[v], "%s", usual[r->like][v]);
    if (!(o->may >> v & 1)) continue;
    if (undo < LB_MAY_COUNT && !(o->may >> undo & 1))
      return lb_refuse(err, "may = %s: expected %s beside it, which undoes it", lb_mandate_verbs[v],
                       lb_mandate_verbs[undo]);
    if (!o->command[v][0])
      return lb_refuse(err, "it may %s: expected [verbs] with %s = CMD%s", lb_mandate_verbs[v], lb_mandate_verbs[v],
                       r->like >= 0 ? ", which this tool has no usual one for" : ", or like = docker and the like");
  }
  return 0;
}

int lb_own_operator_read(const char *path, struct lb_own_operator *ret, struct lb_error *err) {
  *ret = (struct lb_own_operator){.at_once = 1, .undo_after_ms = UNDO_AFTER_MS};
  struct reading reading = {.to = ret, .like = -1};
  struct lb_own_file file = {"--operator", "a [section], or KEY = VALUE", begin_section, put, &reading};
  if (snprintf(ret->path, sizeof ret->path, "%s", path) >= (int)sizeof ret->path)
    return lb_refuse(err, "--operator: the path is too long");
  int r = lb_own_file_read(&file, path, err);
  if (r < 0) return r;
  return complete(&reading, err) < 0 ? refuse(ret, err) : 0;
}

/* ---- and the servers --------------------------------------------------------------------------------------------- */

static bool is_at(const struct lb_own_address *a, const struct lb_own_address *b) {
  return a->port == b->port && strcasecmp(a->host, b->host) == 0;
}

size_t lb_own_operator_ward(const struct lb_own_operator *o, const struct lb_own *own, size_t index) {
  size_t i = 0;
  while (i < o->count && !is_at(&o->ward[i].at, &own->found.server[index])) i++;
  return i;
}

const struct lb_own *lb_own_operator_server(const struct lb_own_operator *o, size_t ward, size_t *ret_index) {
  const struct lb_own *own;
  for (size_t i = 0; (own = lb_own_at(i)); i++)
    for (*ret_index = 0; *ret_index < own->found.count; ++*ret_index)
      if (is_at(&o->ward[ward].at, &own->found.server[*ret_index])) return own;
  return NULL;
}

int lb_own_operator_check(const struct lb_own_operator *o, struct lb_error *err) {
  const struct lb_own *own;
  size_t index;
  for (size_t i = 0; i < o->count; i++)
    if (!lb_own_operator_server(o, i, &index))
      return lb_refuse(err, "%s:%d: [%s]: no server here has the address %s:%u; there is %s", o->path, o->ward[i].line,
                       o->ward[i].name, o->ward[i].at.host, (unsigned)o->ward[i].at.port, lb_own_at(0)->summary);
  for (size_t i = 0; (own = lb_own_at(i)); i++)
    for (size_t k = 0; k < own->found.data_count; k++)
      if (lb_own_operator_ward(o, own, k) == o->count)
        return lb_refuse(err, "--operator %s: expected a section for the server at %s:%u", o->path,
                         own->found.server[k].host, (unsigned)own->found.server[k].port);
  return 0;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void fill(struct lb_text *to, const struct lb_own_operator *o, size_t place, const size_t ward[2],
                 int64_t offset_ms) {
  const struct lb_own_ward *a = &o->ward[ward[0]], *b = ward[1] < o->count ? &o->ward[ward[1]] : a;
  switch (place) {
    case 0: lb_text_add(to, "%s", a->name); break;
    case 1: lb_text_add(to, "%s:%u", a->at.host, (unsigned)a->at.port); break;
    case 2: lb_text_add(to, "%s", a->at.host); break;
    case 3: lb_text_add(to, "%u", (unsigned)a->at.port); break;
    case 4: lb_text_add(to, "%s", b->name); break;
    case 5: lb_text_add(to, "%s", b->at.host); break;
    case 6: lb_text_add(to, "%+lld", (long long)offset_ms); break;
    default: lb_text_add(to, "%+lld", (long long)offset_ms / 1000); break;
  }
}

const char *lb_own_operator_command(const struct lb_own_operator *o, enum lb_mandate_verb verb, size_t ward,
                                    size_t other, int64_t offset_ms) {
  static char line[LB_OWN_COMMAND_MAX];
  struct lb_text text = {line, sizeof line, 0};
  const size_t wards[2] = {ward, other};
  line[0] = '\0';
  for (const char *at = o->command[verb]; *at;) {
    size_t place = place_at(at);
    if (place == PLACE_COUNT) lb_text_add(&text, "%c", *at++);
    else fill(&text, o, place, wards, offset_ms), at += strlen(places[place]);
  }
  return line;
}
