/* SPDX-License-Identifier: MIT
 *
 * peers/peers.ini: a section per peer.
 */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/process.h"
#include "base/error.h"
#include "base/ini.h"
#include "theory/facts_cell.h"
#include "theory/theory.h"

enum { PEERS_MAX = 160, TEXT_MAX = 600 };

/* The section that is being read. */
struct section {
  char name[64], run[TEXT_MAX], says[TEXT_MAX], version[64], like[64], facts[TEXT_MAX], there[TEXT_MAX],
      museum[TEXT_MAX], summary[TEXT_MAX];
};

static struct peer {
  const struct lb_protocol *protocol;
  char there[TEXT_MAX];
  bool museum; /* it has a published bug, on purpose */
} peers[PEERS_MAX];
static size_t peer_count;

struct reading {
  struct section section;
  struct lb_ini ini;
  const char *root;
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Where ./bench peers puts what is neither Debian's nor ours; adapters know it as $PEERS. */
static void name_places(const char *root) {
  char home[TEXT_MAX], modules[TEXT_MAX * 2];
  const char *said = getenv("LOCKBENCH_PEERS"), *others = getenv("NODE_PATH");
  const char *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
  if (said && *said) snprintf(home, sizeof home, "%s", said);
  else if (!lb_process_is_installed()) snprintf(home, sizeof home, "%s/build/peers", root);
  else if (cache && *cache) snprintf(home, sizeof home, "%s/lockbench/peers", cache);
  else snprintf(home, sizeof home, "%s/.cache/lockbench/peers", user && *user ? user : "");
  if (lb_process_is_installed()) setenv("PYTHONDONTWRITEBYTECODE", "1", 1); /* of adapters that import each other */
  snprintf(modules, sizeof modules, "%s/node_modules%s%s", home, others && *others ? ":" : "",
           others && *others ? others : "");
  setenv("PEERS", home, 1);
  setenv("LOCKBENCH_PEERS", home, 1);
  setenv("NODE_PATH", modules, 1);
}

static void expand_place(const char *text, char *buf, size_t size) {
  bool ours = strncmp(text, "$PEERS", 6) == 0;
  snprintf(buf, size, "%s%s", ours ? getenv("PEERS") : "", ours ? text + 6 : text);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int refuse(struct reading *r, const char *why) {
  return lb_ini_refuse(&r->ini, -EINVAL, "[%s]: %s", r->section.name, why);
}

static void end_section(struct reading *r) {
  const struct section *s = &r->section;
  struct lb_error err;
  if (!s->name[0] || r->ini.result < 0) return;
  if (!s->run[0] || !s->says[0] || !s->there[0]) {
    refuse(r, "expected run =, says = and there =");
    return;
  }
  if (peer_count == PEERS_MAX) {
    refuse(r, "too many peers");
    return;
  }
  struct lb_foreign_plan plan = {.kind = "peer",
                                 .command = s->run,
                                 .folder = r->root,
                                 .says = s->says,
                                 .version = s->version[0] ? s->version : NULL,
                                 .like = s->like[0] ? s->like : NULL,
                                 .summary = s->summary[0] ? s->summary : NULL};
  struct peer *peer = &peers[peer_count];
  peer->protocol = lb_foreign_add(&plan, &err);
  expand_place(s->there, peer->there, sizeof peer->there);
  peer->museum = s->museum[0];
  if (!peer->protocol || lb_facts_state(peer->protocol, s->facts, &err) < 0) refuse(r, err.text);
  else peer_count++;
}

static char *place_of(struct section *s, const char *key, size_t *ret_size) {
  static const struct {
    const char *key;
    size_t at, size;
  } keys[] = {
#define KEY(name) {#name, offsetof(struct section, name), sizeof((struct section *)0)->name}
      KEY(run), KEY(says), KEY(version), KEY(like), KEY(facts), KEY(there), KEY(museum), KEY(summary),
#undef KEY
  };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i].key, key) == 0) return *ret_size = keys[i].size, (char *)s + keys[i].at;
  return NULL;
}

static void take_line(struct reading *r) {
  size_t size;
  struct section *s = &r->section;
  if (r->ini.indented) {
    lb_ini_refuse_indented(&r->ini);
  } else if (r->ini.kind == LB_INI_SECTION) {
    end_section(r);
    *s = (struct section){0};
    if (snprintf(s->name, sizeof s->name, "%s", r->ini.section) >= (int)sizeof s->name) refuse(r, "too long a name");
  } else {
    char *place = place_of(s, r->ini.key, &size);
    if (place && snprintf(place, size, "%s", r->ini.value) >= (int)size) refuse(r, "a value that is too long");
  } /* `packages`, `npm` and their kin are for ./bench peers */
}

int lb_peers_load(const char *root, struct lb_error *err) {
  static char folder[4096];
  char path[4200];
  snprintf(folder, sizeof folder, "%s", root);
  snprintf(path, sizeof path, "%s/peers/peers.ini", folder);
  struct reading reading = {.root = folder};
  char *data;
  size_t size;
  if (access(path, R_OK) < 0) return 0;
  name_places(folder);
  int r = lb_ini_load(path, &data, &size, err);
  if (r < 0) return r;
  lb_ini_begin(&reading.ini, path, data, size, err);
  free(data);
  while (lb_ini_next(&reading.ini)) take_line(&reading);
  end_section(&reading);
  return lb_ini_end(&reading.ini);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const struct peer *peer_of(const struct lb_protocol *protocol) {
  for (size_t i = 0; i < peer_count; i++)
    if (peers[i].protocol == protocol) return &peers[i];
  return NULL;
}

bool lb_peers_has(const struct lb_protocol *protocol) { return peer_of(protocol) != NULL; }

const char *lb_peers_name(const struct lb_protocol *protocol) {
  const char *colon = strchr(protocol->name, ':');
  return colon ? colon + 1 : protocol->name;
}

size_t lb_peers_missing(size_t *ret_all) {
  size_t missing = 0;
  for (size_t i = 0; i < peer_count; i++) missing += lb_peers_missing_file(peers[i].protocol) != NULL;
  *ret_all = peer_count;
  return missing;
}

const char *lb_peers_missing_file(const struct lb_protocol *protocol) {
  const struct peer *peer = peer_of(protocol);
  return !peer || access(peer->there, F_OK) == 0 ? NULL : peer->there;
}

void lb_peers_say_missing(const char *const *names, size_t count, size_t all, FILE *out) {
  enum { NAMED_MAX = 5 }; /* more are all of them, for who has to type it */
  if (all > 1) fprintf(out, "%zu of %zu libraries %s", count, all, count == 1 ? "is" : "are");
  fprintf(out, "%s not installed: `%s", all > 1 ? "" : "its library is", lb_process_peers_installer());
  for (size_t i = 0; i < count && names && count <= NAMED_MAX; i++) fprintf(out, " %s", names[i]);
  fprintf(out, "` installs %s\n", count == 1 ? "it" : "them");
}

char *lb_peers_expand(const char *systems, bool missing_too) {
  char *ret = NULL, *copy = strdup(systems), *rest = copy;
  size_t size, count, lacking = lb_peers_missing(&count);
  bool asked = false;
  FILE *out = open_memstream(&ret, &size);
  const char *between = "";
  for (char *word; copy && out && (word = strsep(&rest, ","));) {
    bool all = strcmp(word, "peers") == 0;
    asked |= all;
    if (!all) fprintf(out, "%s%s", between, word), between = ",";
    for (size_t i = 0; all && i < peer_count; i++)
      if (!peers[i].museum && (missing_too || !lb_peers_missing_file(peers[i].protocol)))
        fprintf(out, "%s%s", between, peers[i].protocol->name), between = ",";
  }
  if (asked && lacking && !missing_too)
    fputs("lockbench: ", stderr), lb_peers_say_missing(NULL, lacking, count, stderr);
  if (out) fclose(out);
  free(copy);
  return ret;
}
