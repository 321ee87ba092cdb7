/* SPDX-License-Identifier: MIT
 *
 * The only file that names all protocols. An explicit array: it can be read and grepped, it has an order, and it survives
 * linking from a static library, where constructors are silently dropped.
 */
#include "registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const struct lb_protocol lb_null, lb_local, lb_broken, lb_redis_token, lb_redlock, lb_zk_sequential, lb_pg_row,
    lb_pg_lease, lb_pg_lease_client;

static const struct lb_protocol *const builtin[] = {
    &lb_null,          &lb_local,  &lb_broken,   &lb_redis_token,      &lb_redlock,
    &lb_zk_sequential, &lb_pg_row, &lb_pg_lease, &lb_pg_lease_client,
};
enum { BUILTIN_COUNT = sizeof builtin / sizeof builtin[0], PLUGINS_MAX = 8 };

static const struct lb_protocol *plugin[PLUGINS_MAX];
static size_t plugin_count;

const struct lb_protocol *lb_protocol_at(size_t i) {
  if (i < BUILTIN_COUNT) return builtin[i];
  return i - BUILTIN_COUNT < plugin_count ? plugin[i - BUILTIN_COUNT] : NULL;
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

bool lb_protocol_can_fence(const struct lb_protocol *protocol) {
  if (protocol->traits & LB_TRAIT_FENCED) return true;
  for (const struct lb_option *o = protocol->options; o && o->name; o++)
    if (o->type == LB_OPT_BOOL && strcmp(o->name, "fence") == 0) return true;
  return false;
}

/* ---- one table -------------------------------------------------------------------------------------------------------- */

/* Where a scenario, a setting or a file name has room for so much. */
enum { NAME_MAX_BYTES = 63, POINT_MAX_BYTES = 31 };

static bool consists_of(const char *text, const char *letters) { return text && *text && strspn(text, letters) == strlen(text); }

static bool good_name(const char *name) { return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789-"); }
static bool good_option(const char *name) { return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789_"); }

/* There, and nothing in it that a terminal would obey. */
static bool good_text(const char *text, bool lines) {
  for (const char *c = text; c && *c; c++)
    if (((unsigned char)*c < 0x20 && !(lines && *c == '\n')) || *c == 0x7f) return false;
  return text && *text;
}

static const char *texts_complaint(const struct lb_protocol *p) {
  if (!p->summary || !p->promises || !p->breaks || !p->source) return "a missing summary, promises, breaks or source";
  if (!good_text(p->summary, false)) return "a summary that is not one line of text";
  if (!good_text(p->promises, true) || !good_text(p->breaks, true) || !good_text(p->source, true))
    return "an empty text, or a control character, in promises, breaks or source";
  if (p->unsafe_why && !good_text(p->unsafe_why, false)) return "an unsafe_why that is not one line of text";
  return NULL;
}

static const char *names_complaint(const struct lb_protocol *p) {
  if (!good_name(p->name)) return "no name of a-z, 0-9 and '-'";
  if (strlen(p->name) > NAME_MAX_BYTES) return "a name of more than 63 bytes";
  if (!p->topologies || !p->topologies[0]) return "no topology";
  for (const char *const *t = p->topologies; *t; t++)
    if (!good_name(*t)) return "a topology whose name has more than a-z, 0-9 and '-'";
  for (const char *const *point = p->points; point && *point; point++) {
    if (!good_name(*point)) return "a point whose name has more than a-z, 0-9 and '-'";
    if (strlen(*point) > POINT_MAX_BYTES) return "a point whose name has more than 31 bytes";
  }
  return NULL;
}

static const char *options_complaint(const struct lb_option *option) {
  for (; option && option->name; option++) {
    if (!good_option(option->name)) return "an option whose name has more than a-z, 0-9 and '_'";
    if (strlen(option->name) > NAME_MAX_BYTES) return "an option whose name has more than 63 bytes";
    if (!option->help || !(option->min <= option->max)) return "an option without help or with an empty range";
    if (!good_text(option->help, false)) return "an option whose help is not one line of text";
    if (!(option->def >= option->min && option->def <= option->max)) return "an option whose default is outside its range";
  }
  return NULL;
}

static const char *hooks_complaint(const struct lb_protocol *p) {
  if (!p->open || !p->close || !p->try_acquire || !p->release)
    return "a missing hook: open, close, try_acquire and release are mandatory";
  if (p->session_size == 0) return "session_size 0";
  if (!(p->traits & (LB_TRAIT_LEASED | LB_TRAIT_SESSION | LB_TRAIT_NO_EXPIRY)))
    return "no trait that says how a grant ends (leased, session or no-expiry)";
  if (!!(p->traits & LB_TRAIT_WAKES) != !!p->wait) return "the trait wakes-waiters and the wait hook only together";
  if (p->traits & LB_TRAIT_LEASED && (!p->extend || !p->holds || !p->inspect))
    return "the trait leased, but not all of the hooks extend, holds and inspect";
  if (!!(p->traits & LB_TRAIT_UNSAFE) != !!p->unsafe_why) return "the trait unsafe and its reason only together";
  return NULL;
}

static const char *complaint(const struct lb_protocol *p) {
  const char *what = names_complaint(p);
  if (!what) what = texts_complaint(p);
  if (!what) what = hooks_complaint(p);
  return what ? what : options_complaint(p->options);
}

int lb_protocol_check(const struct lb_protocol *p, char *err, size_t err_size) {
  if (p->abi != LB_ABI || p->size != sizeof *p) {
    snprintf(err, err_size, "contract version %u of %u bytes, expected version %u of %zu bytes (backends/backend.h)",
             p->abi, p->size, LB_ABI, sizeof *p);
    return -EINVAL;
  }
  const char *what = complaint(p);
  if (!what) return 0;
  snprintf(err, err_size, "protocol table has %s", what);
  return -EINVAL;
}

/* ---- plugins ----------------------------------------------------------------------------------------------------------- */

const struct lb_protocol *lb_protocol_load(const char *path, char *err, size_t err_size) {
  char why[400];
  if (plugin_count == PLUGINS_MAX) {
    snprintf(err, err_size, "%s: at most %d plugins", path, PLUGINS_MAX);
    return NULL;
  }
  char with_slash[4096]; /* dlopen searches the library path for names without a slash; a user means a file */
  snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path);
  void *library = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *text = dlerror();
    snprintf(err, err_size, "%s: not a loadable library: %s", path, text ? text : "unknown error");
    return NULL;
  }
  const struct lb_protocol *const *symbol = dlsym(library, "lockbench_plugin");
  if (!symbol || !*symbol) {
    snprintf(err, err_size, "%s: exports no symbol lockbench_plugin (see CONTRIBUTING.md, \"A plugin\")", path);
  } else if (lb_protocol_check(*symbol, why, sizeof why) < 0) {
    snprintf(err, err_size, "%s: %s", path, why);
  } else if (lb_protocol_find((*symbol)->name)) {
    snprintf(err, err_size, "%s: protocol name '%s' is taken", path, (*symbol)->name);
  } else {
    return plugin[plugin_count++] = *symbol;
  }
  dlclose(library);
  return NULL;
}
