/* SPDX-License-Identifier: MIT
 *
 * The only file that names all protocols. An explicit array: it can be read and grepped, it has an order, and it
 * survives linking from a static library, where constructors are silently dropped.
 */
#include "registry.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each once, in the order of `lockbench list protocols`, which puts those of one server together. */
/* clang-format off */
#define PROTOCOLS(P)                                                                                   \
  P(null) P(local) P(broken)                                                                           \
  P(floor_redis) P(redis_token) P(redis_setnx) P(redis_lua) P(redis_del) P(redis_getdel) P(redis_watch) P(redis_stamp)        \
  P(redis_reentrant) P(redis_watchdog) P(redis_ifeq) P(redis_wait) P(redis_waitaof) P(redis_pubsub)                                   \
  P(redis_rw) P(redis_permits) P(redis_permits_client) P(redis_permits_forever) P(redis_multi)        \
  P(redis_multi_waiting)                                                                               \
  P(redlock)                                                                                           \
  P(floor_zk) P(zk_sequential) P(zk_rw) P(zk_persistent) P(zk_persistent_sequential) P(zk_ephemeral) P(zk_careless)         \
  P(floor_pg) P(pg_row) P(pg_lease) P(pg_lease_client) P(pg_advisory) P(pg_advisory_xact) P(pg_for_update)         \
  P(maria_row) P(maria_lease) P(maria_get_lock) P(maria_for_update)                                    \
  P(memcached_cas) P(memcached_add)                                                                    \
  P(etcd_lease) P(etcd_v3lock) P(etcd_observed)                                                                         \
  P(nats_kv) P(nats_kv_marker) P(nats_kv_ttl)
/* clang-format on */

#define DECLARED(name) extern const struct lb_protocol lb_##name;
#define LISTED(name) &lb_##name,
PROTOCOLS(DECLARED)
static const struct lb_protocol *const builtin[] = {PROTOCOLS(LISTED)};
enum { BUILTIN_COUNT = sizeof builtin / sizeof builtin[0], PLUGINS_MAX = 8, FOREIGN_MAX = 160 };

static const struct lb_protocol *plugin[PLUGINS_MAX];
static size_t plugin_count;
static const struct lb_protocol *foreign[FOREIGN_MAX];
static size_t foreign_count;

/* What runs on a user's own servers unless another one is asked for: of each kind the lock without a known flaw. */
static const struct {
  const char *topology;
  const struct lb_protocol *protocol;
} to_use[] = {{"redis", &lb_redis_token},  {"sentinel", &lb_redis_token},  {"cluster", &lb_redis_token},
              {"redis-x3", &lb_redlock},   {"zk", &lb_zk_sequential},      {"zk-x3", &lb_zk_sequential},
              {"pg", &lb_pg_lease},        {"pg-async", &lb_pg_lease},     {"etcd", &lb_etcd_lease},
              {"etcd-x3", &lb_etcd_lease}, {"nats", &lb_nats_kv},          {"nats-x3", &lb_nats_kv},
              {"maria", &lb_maria_row},    {"maria-async", &lb_maria_row}, {"memcached", &lb_memcached_cas}};

const struct lb_protocol *lb_protocol_to_use(const char *topology) {
  for (size_t i = 0; i < sizeof to_use / sizeof *to_use; i++)
    if (strcmp(to_use[i].topology, topology) == 0) return to_use[i].protocol;
  return NULL;
}

const struct lb_protocol *lb_protocol_at(size_t i) {
  if (i < BUILTIN_COUNT) return builtin[i];
  i -= BUILTIN_COUNT;
  if (i < foreign_count) return foreign[i];
  i -= foreign_count;
  return i < plugin_count ? plugin[i] : NULL;
}

const struct lb_protocol *lb_protocol_find(const char *name) {
  const struct lb_protocol *p;
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    if (strcmp(p->name, name) == 0) return p;
  return NULL;
}

bool lb_protocol_is_plugin(const struct lb_protocol *protocol) {
  for (size_t i = 0; i < plugin_count; i++)
    if (plugin[i] == protocol) return true;
  return false;
}

const struct lb_design *lb_protocol_design(const struct lb_protocol *protocol) {
  for (const struct lb_design *d = lb_designs; d->name; d++)
    if (strcmp(d->name, protocol->name) == 0) return d;
  return NULL;
}

static bool has_switch(const struct lb_protocol *protocol, const char *name) {
  const struct lb_option *o = lb_option_find(protocol, name);
  return o && o->type == LB_OPT_BOOL;
}

bool lb_protocol_can_fence(const struct lb_protocol *protocol) {
  return protocol->traits & LB_TRAIT_FENCED || has_switch(protocol, "fence");
}

bool lb_protocol_has_point(const char *const *points, const char *name) {
  for (; points && *points; points++)
    if (strcmp(*points, name) == 0) return true;
  return false;
}

/* ---- flaws ------------------------------------------------------------------------------------------------------- */

/* The option that NAME=VALUE of a flaw speaks of, of type bool or choice, and which of its values: 1 for yes, the index
 * of a word. */
static const struct lb_option *option_of(const struct lb_protocol *protocol, const char *where, size_t *ret_index,
                                         int64_t *ret_value) {
  static const char *const no_yes[] = {"no", "yes", NULL};
  const char *equals = strchr(where, '=');
  size_t length = equals ? (size_t)(equals - where) : 0;
  for (size_t i = 0; equals && protocol->options && protocol->options[i].name; i++) {
    const struct lb_option *o = &protocol->options[i];
    if (strlen(o->name) != length || strncmp(o->name, where, length) != 0) continue;
    const char *const *words = o->type == LB_OPT_BOOL ? no_yes : o->type == LB_OPT_CHOICE ? o->words : NULL;
    for (*ret_value = 0; words && words[*ret_value]; ++*ret_value)
      if (strcmp(words[*ret_value], equals + 1) == 0) return *ret_index = i, o;
  }
  return NULL;
}

static bool is_there(const struct lb_protocol *protocol, const union lb_value *options, const char *where) {
  size_t index;
  int64_t value;
  const struct lb_option *o = where ? option_of(protocol, where, &index, &value) : NULL;
  return !o || (o->type == LB_OPT_BOOL ? options[index].b == (value == 1) : options[index].i == value);
}

const struct lb_flaw *lb_protocol_flaw(const struct lb_protocol *protocol, const union lb_value *options,
                                       const char *statement) {
  for (const struct lb_flaw *f = protocol->flaws; f && f->statement; f++)
    if (strcmp(f->statement, statement) == 0 && is_there(protocol, options, f->where)) return f;
  return NULL;
}

/* ---- one table --------------------------------------------------------------------------------------------------- */

/* Where a scenario, a setting or a file name has room for so much. */
enum { NAME_MAX_BYTES = 63, POINT_MAX_BYTES = 31 };

static bool consists_of(const char *text, const char *letters) {
  return text && *text && strspn(text, letters) == strlen(text);
}

/* KIND:NAME */
static bool good_foreign(const char *name) { return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789-:"); }
static bool good_name(const char *name) { return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789-"); }
static bool good_option(const char *name) { return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789_"); }

/* There, and nothing in it that a terminal would obey. */
static bool good_text(const char *text, bool lines) {
  for (const char *c = text; c && *c; c++)
    if (((unsigned char)*c < 0x20 && !(lines && *c == '\n')) || *c == 0x7f) return false;
  return text && *text;
}

/* A plug-in says it in its table. The head of a file of ours, or of an adapter, says it already. */
static bool has_lines(const struct lb_protocol *p, const char *text) {
  return text ? good_text(text, true) : p->traits & LB_TRAIT_FOREIGN || lb_protocol_design(p);
}

static const char *texts_complaint(const struct lb_protocol *p) {
  if (!good_text(p->summary, false)) return "a summary that is not one line of text";
  if (!has_lines(p, p->promises) || !has_lines(p, p->breaks) || !has_lines(p, p->source))
    return "no promises, breaks or source, or one with a control character";
  if (p->unsafe_why && !good_text(p->unsafe_why, false)) return "an unsafe_why that is not one line of text";
  return NULL;
}

static const char *names_complaint(const struct lb_protocol *p) {
  if (p->traits & LB_TRAIT_FOREIGN ? !good_foreign(p->name) : !good_name(p->name)) return "no name of a-z, 0-9 and '-'";
  if (strlen(p->name) > NAME_MAX_BYTES) return "a name of more than 63 bytes";
  if (!p->topologies || !p->topologies[0]) return "no topology";
  for (const char *const *t = p->topologies; *t; t++)
    if (!good_name(*t)) return "a topology whose name has more than a-z, 0-9 and '-'";
  for (const char *const *point = p->points; point && *point; point++) {
    if (!good_name(*point)) return "a point whose name has more than a-z, 0-9 and '-'";
    if (strlen(*point) > POINT_MAX_BYTES) return "a point whose name has more than 31 bytes";
  }
  if (p->midway && !lb_protocol_has_point(p->points, p->midway)) return "a point midway that is none of its points";
  return NULL;
}

static bool good_word(const char *word) { return consists_of(word, "abcdefghijklmnopqrstuvwxyz0123456789_-"); }

static const char *choice_complaint(const struct lb_option *o) {
  size_t count = 0;
  for (; o->words && o->words[count]; count++)
    if (!good_word(o->words[count])) return "an option with a word that has more than a-z, 0-9, '_' and '-'";
  if (count == 0) return "an option of type choice without words";
  if (!(o->def >= 0 && o->def < (double)count) || o->def != (double)(size_t)o->def)
    return "an option whose default is none of its words";
  return NULL;
}

static const char *value_complaint(const struct lb_option *o) {
  if (o->type == LB_OPT_CHOICE) return choice_complaint(o);
  if (!(o->min <= o->max)) return "an option with an empty range";
  if (o->type == LB_OPT_TEXT) {
    if (!o->text || (*o->text && !good_text(o->text, false)))
      return "an option of type text whose default is not one line of text";
    double length = (double)strlen(o->text);
    return length >= o->min && length <= o->max ? NULL : "an option whose default is shorter or longer than it may be";
  }
  if (!(o->def >= o->min && o->def <= o->max)) return "an option whose default is outside its range";
  return NULL;
}

static const char *options_complaint(const struct lb_option *option) {
  for (; option && option->name; option++) {
    if (!good_option(option->name)) return "an option whose name has more than a-z, 0-9 and '_'";
    if (strlen(option->name) > NAME_MAX_BYTES) return "an option whose name has more than 63 bytes";
    if ((int)option->type < LB_OPT_INT || option->type > LB_OPT_CHOICE)
      return "an option of a type that does not exist";
    if (!good_text(option->help, false)) return "an option whose help is not one line of text";
    const char *what = value_complaint(option);
    if (what) return what;
  }
  return NULL;
}

static const char *hooks_complaint(const struct lb_protocol *p) {
  if (!p->open || !p->close || !p->try_acquire || !p->release)
    return "a missing hook: open, close, try_acquire and release are mandatory";
  if (p->poll_ms < 0) return "a poll_ms below 0";
  if (p->session_size == 0) return "session_size 0";
  if (!(p->traits & (LB_TRAIT_LEASED | LB_TRAIT_SESSION | LB_TRAIT_NO_EXPIRY)))
    return "no trait that says how a grant ends (leased, session or no-expiry)";
  if (has_switch(p, "wake") ? p->traits & LB_TRAIT_WAKES || !p->wait : !!(p->traits & LB_TRAIT_WAKES) != !!p->wait)
    return "the trait wakes-waiters and the wait hook only together (with an option `wake` the hook alone)";
  if (p->traits & LB_TRAIT_RENEWED && !p->extend) return "the trait renewed, but not the hook extend";
  if (p->traits & LB_TRAIT_LEASED && !(p->traits & LB_TRAIT_FOREIGN) &&
      (!p->extend || !p->holds || !lb_proofs(p)->inspect))
    return "the trait leased, but not all of the hooks extend, holds and inspect";
  bool floor = p->traits & LB_TRAIT_FLOOR;
  if (floor != (strncmp(p->name, "floor-", strlen("floor-")) == 0) || (floor && !(p->traits & LB_TRAIT_UNSAFE)))
    return "the traits floor and unsafe and a name that begins with floor- only together";
  if (!!(p->traits & LB_TRAIT_UNSAFE) != !!p->unsafe_why) return "the trait unsafe and its reason only together";
  return NULL;
}

/* Which statements there are, conform knows. */
static const char *flaws_complaint(const struct lb_protocol *p) {
  size_t index;
  int64_t value;
  for (const struct lb_flaw *f = p->flaws; f && f->statement; f++) {
    if (!good_text(f->statement, false)) return "a flaw whose statement is not one line of text";
    if (!good_text(f->reason, false)) return "a flaw whose reason is not one line of text";
    if (f->where && !option_of(p, f->where, &index, &value))
      return "a flaw whose `where` is no OPTION=VALUE of an option of type bool or choice";
  }
  return NULL;
}

static const char *complaint(const struct lb_protocol *p) {
  const char *what = names_complaint(p);
  if (!what) what = texts_complaint(p);
  if (!what) what = hooks_complaint(p);
  if (!what) what = options_complaint(p->options);
  return what ? what : flaws_complaint(p);
}

int lb_protocol_check(const struct lb_protocol *p, struct lb_error *err) {
  if (p->abi != LB_ABI) /* nothing else of the table is looked at */
    return lb_refuse(err,
                     "built for contract %u, this tool has contract %u: compile it again against backends/backend.h",
                     p->abi, LB_ABI);
  const char *what = complaint(p);
  return what ? lb_refuse(err, "protocol table has %s", what) : 0;
}

/* ---- foreign locks ----------------------------------------------------------------------------------------------- */

int lb_protocol_add(const struct lb_protocol *protocol, struct lb_error *err) {
  if (lb_protocol_check(protocol, err) < 0) return -EINVAL;
  if (lb_protocol_find(protocol->name)) return lb_refuse(err, "protocol name '%s' is taken", protocol->name);
  if (foreign_count == FOREIGN_MAX) return lb_refuse(err, "at most %d foreign locks", FOREIGN_MAX);
  foreign[foreign_count++] = protocol;
  return 0;
}

/* ---- plugins ----------------------------------------------------------------------------------------------------- */

/* The table of an open library, or NULL with a line. */
static const struct lb_protocol *take_table(const char *path, void *library, struct lb_error *err) {
  const struct lb_protocol *const *symbol = dlsym(library, "lockbench_plugin");
  if (!symbol || !*symbol) {
    lb_refuse(err, "%s: exports no symbol lockbench_plugin (see docs/adding-a-lock.md)", path);
  } else if (lb_protocol_check(*symbol, err) < 0) {
    lb_error_prefix(err, "%s: ", path);
  } else if (lb_protocol_find((*symbol)->name)) {
    lb_refuse(err, "%s: protocol name '%s' is taken", path, (*symbol)->name);
  } else {
    return *symbol;
  }
  return NULL;
}

const struct lb_protocol *lb_protocol_load(const char *path, struct lb_error *err) {
  if (plugin_count == PLUGINS_MAX) {
    lb_refuse(err, "%s: at most %d plugins", path, PLUGINS_MAX);
    return NULL;
  }
  char with_slash[4096]; /* dlopen searches the library path for names without a slash; a user means a file */
  snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path);
  void *library = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *text = dlerror();
    lb_refuse(err, "%s: not a loadable library: %s", path, text ? text : "unknown error");
    return NULL;
  }
  const struct lb_protocol *table = take_table(path, library, err);
  if (!table) return dlclose(library), NULL;
  return plugin[plugin_count++] = table;
}
