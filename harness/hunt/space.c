/* SPDX-License-Identifier: MIT
 *
 * All timelines of a system: the letters of its alphabet, put together in every way that goes forward in
 * the program. Nothing is left out here; prune.c says of each why it need not be run.
 */
#include "space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/error.h"
#include "base/need.h"
#include "base/text.h"

static void add(struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  struct lb_hunt_timeline *added = &LB_APPEND(space->timeline, space->count);
  *added = *t;
  added->pruned = lb_hunt_prune(&space->system, t);
}

static bool has_fault(const struct lb_hunt_timeline *t, struct lb_hunt_fault f) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (lb_hunt_fault_equal(t->fault[i], f)) return true;
  return false;
}

struct words { /* the letters, in the order of their slots */
  struct lb_hunt_fault letter[LB_HUNT_LETTERS_MAX];
  size_t count;
};

/* The regime `drift` has only timelines in which a clock drifts: the others are those of `long`. */
static bool belongs(const struct lb_hunt_timeline *t) {
  bool drifts = t->regime != LB_HUNT_DRIFT || t->fault_count == 0;
  for (size_t i = 0; i < t->fault_count; i++) drifts |= lb_hunt_fault_drifts(t->fault[i]);
  return drifts;
}

/* Every way to go on from here to `faults` faults: with a letter of a later slot, or of the same slot in any order. */
static void spell(struct lb_hunt_space *space, const struct words *words, struct lb_hunt_timeline *t, size_t faults) {
  if (t->fault_count == faults) {
    if (belongs(t)) add(space, t);
    return;
  }
  for (size_t i = 0; i < words->count; i++) {
    struct lb_hunt_fault f = words->letter[i];
    if (t->fault_count > 0 && f.slot < t->fault[t->fault_count - 1].slot) continue;
    if (has_fault(t, f)) continue;
    t->fault[t->fault_count++] = f;
    spell(space, words, t, faults);
    t->fault_count--;
  }
}

/* Where no clock can be set nothing drifts, and its control would be one of nothing. */
static bool is_empty(const struct words *words, enum lb_hunt_regime regime) {
  for (size_t i = 0; i < words->count; i++)
    if (lb_hunt_fault_drifts(words->letter[i])) return false;
  return regime == LB_HUNT_DRIFT;
}

static bool is_same(const struct lb_hunt_timeline *a, const struct lb_hunt_timeline *b) {
  if (a->regime != b->regime || a->fault_count != b->fault_count) return false;
  for (size_t i = 0; i < a->fault_count; i++)
    if (!lb_hunt_fault_equal(a->fault[i], b->fault[i])) return false;
  return true;
}

/* Where it is looked for first. */
static size_t place_of(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  unsigned char bytes[1 + 4 * LB_HUNT_FAULTS_MAX];
  size_t len = 0;
  bytes[len++] = (unsigned char)t->regime;
  for (size_t i = 0; i < t->fault_count; i++) {
    const struct lb_hunt_fault *f = &t->fault[i];
    bytes[len++] = (unsigned char)f->kind, bytes[len++] = (unsigned char)f->target,
    bytes[len++] = (unsigned char)f->slot, bytes[len++] = (unsigned char)f->undo;
  }
  return space->places > 0 ? lb_hash(LB_HASH_BEGIN, bytes, len) % space->places : 0;
}

static void make_places(struct lb_hunt_space *space) {
  space->places = 2 * space->count + 1;
  space->place = lb_need(calloc(space->places, sizeof *space->place));
  for (size_t i = 0; i < space->count; i++) {
    size_t at = place_of(space, &space->timeline[i]);
    while (space->place[at] > 0) at = (at + 1) % space->places;
    space->place[at] = i + 1;
  }
}

int lb_hunt_space_make(const struct lb_hunt_system *system, int faults_max, const struct lb_hunt_switches *switches,
                       struct lb_hunt_space *ret) {
  *ret = (struct lb_hunt_space){.system = *system, .faults_max = faults_max};
  if (switches) ret->switches = *switches;
  if (faults_max < 0 || faults_max > LB_HUNT_FAULTS_MAX) return *ret = (struct lb_hunt_space){0}, -EINVAL;
  for (size_t faults = 0; faults <= (size_t)faults_max; faults++)
    for (unsigned g = 0; g < LB_HUNT_REGIME_COUNT; g++) {
      struct lb_hunt_timeline t = {.regime = (enum lb_hunt_regime)g};
      struct words words;
      words.count = lb_hunt_alphabet(system, t.regime, ret->switches.without, words.letter);
      if (!is_empty(&words, t.regime)) spell(ret, &words, &t, faults);
    }
  make_places(ret);
  return 0;
}

void lb_hunt_space_clear(struct lb_hunt_space *space) {
  free(space->timeline);
  free(space->place);
  *space = (struct lb_hunt_space){0};
}

ptrdiff_t lb_hunt_space_find(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  for (size_t at = place_of(space, t); space->places > 0 && space->place[at] > 0; at = (at + 1) % space->places)
    if (is_same(&space->timeline[space->place[at] - 1], t)) return (ptrdiff_t)space->place[at] - 1;
  return -1;
}

/* ---- subsets ----------------------------------------------------------------------------------------- */

/* Two neighbours that could stand the other way round: as it is run. A proper subset has two at most. */
static void put_in_order(const struct lb_hunt_system *system, struct lb_hunt_timeline *t) {
  t->pruned = lb_hunt_prune(system, t);
  if (t->pruned != LB_HUNT_ORDER || t->fault_count != 2) return;
  struct lb_hunt_fault first = t->fault[0];
  t->fault[0] = t->fault[1];
  t->fault[1] = first;
  t->pruned = lb_hunt_prune(system, t);
}

size_t lb_hunt_space_subsets(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t,
                             struct lb_hunt_timeline ret[LB_HUNT_SUBSETS_MAX]) {
  size_t count = 0;
  unsigned all = (1u << t->fault_count) - 1;
  for (size_t size = 0; size < t->fault_count; size++)
    for (unsigned set = 0; set < all; set++) {
      struct lb_hunt_timeline sub = {.regime = t->regime};
      if ((size_t)__builtin_popcount(set) != size) continue;
      for (size_t i = 0; i < t->fault_count; i++)
        if (set & (1u << i)) sub.fault[sub.fault_count++] = t->fault[i];
      put_in_order(&space->system, &sub);
      ret[count++] = sub;
    }
  return count;
}

bool lb_hunt_timeline_has_unreal(const struct lb_hunt_timeline *t) {
  bool has = false;
  for (size_t i = 0; i < t->fault_count; i++) has |= lb_hunt_kinds[t->fault[i].kind].unreal;
  return has;
}

/* What a single server has that can do everything, and that decides with one reply. */
bool lb_hunt_timeline_is_core(const struct lb_hunt_timeline *t) {
  static const struct lb_hunt_system plain = {
      .servers = LB_HUNT_SINGLE,
      .count = 1,
      .network = true,
      .inside = "",
      .decided_inside = true,
      .gated = true,
      .detector_ms = 1, /* what is run only where servers do not watch each other is not of it */
      .sets_servers = true,
      .sets_clients = true};
  struct lb_hunt_fault letter[LB_HUNT_LETTERS_MAX];
  size_t count = lb_hunt_alphabet(&plain, t->regime, 0, letter);
  if (t->fault_count != 1 || lb_hunt_prune(&plain, t) != LB_HUNT_RUN) return false;
  for (size_t i = 0; i < count; i++)
    if (lb_hunt_fault_equal(letter[i], t->fault[0])) return true;
  return false;
}

/* The id of a timeline: regime, number of faults, and the faults in the order in which they are done. It says what the
 * timeline is, so it depends neither on where it stands nor on what else is in the space. */

enum { WORD_MAX = 32 };
static const char letters[LB_HUNT_REGIME_COUNT] = {[LB_HUNT_LONG] = 'L', [LB_HUNT_SHORT] = 'S', [LB_HUNT_DRIFT] = 'D'};

void lb_hunt_timeline_id(const struct lb_hunt_timeline *t, char buf[LB_HUNT_ID_MAX]) {
  size_t at = (size_t)snprintf(buf, LB_HUNT_ID_MAX, "%c%zu", letters[t->regime], t->fault_count);
  for (size_t i = 0; i < t->fault_count; i++) {
    char word[WORD_MAX];
    lb_hunt_fault_format(t->fault[i], word, sizeof word);
    at += (size_t)snprintf(buf + at, LB_HUNT_ID_MAX - at, "%c%s", i == 0 ? '.' : '+', word);
  }
}

/* A fault from its word: the one that is written so. There are few of them, so all are tried. */
static bool fault_of(const char *word, size_t len, struct lb_hunt_fault *ret) {
  enum { ALL = LB_HUNT_KIND_COUNT * LB_HUNT_TARGET_COUNT * LB_HUNT_SLOT_COUNT * LB_HUNT_UNDO_COUNT };
  for (int n = 0; n < ALL; n++) {
    char text[WORD_MAX];
    struct lb_hunt_fault f = {
        .kind = (enum lb_hunt_kind)(n % LB_HUNT_KIND_COUNT),
        .target = (enum lb_hunt_target)(n / LB_HUNT_KIND_COUNT % LB_HUNT_TARGET_COUNT),
        .slot = (enum lb_hunt_slot)(n / LB_HUNT_KIND_COUNT / LB_HUNT_TARGET_COUNT % LB_HUNT_SLOT_COUNT),
        .undo = (enum lb_hunt_undo)(n / LB_HUNT_KIND_COUNT / LB_HUNT_TARGET_COUNT / LB_HUNT_SLOT_COUNT)};
    lb_hunt_fault_format(f, text, sizeof text);
    if (strlen(text) == len && memcmp(text, word, len) == 0) return *ret = f, true;
  }
  return false;
}

#define EXPECTED                                                                                                       \
  "expected an id as `S2.kill-P@B-back+pause-c1@H`: L, S or D, the number of faults, and the faults in their order"

int lb_hunt_timeline_of_id(const char *id, struct lb_hunt_timeline *ret, struct lb_error *err) {
  const char *letter = *id ? memchr(letters, *id, sizeof letters) : NULL;
  struct lb_hunt_timeline t = {0};
  if (!letter || id[1] < '0' || id[1] > '0' + LB_HUNT_FAULTS_MAX) return lb_refuse(err, "'%s': " EXPECTED, id);
  t.regime = (enum lb_hunt_regime)(letter - letters);
  size_t wanted = (size_t)(id[1] - '0');
  for (const char *at = id + 2; *at; t.fault_count++) {
    size_t len = strcspn(at + 1, "+");
    if (*at != (t.fault_count == 0 ? '.' : '+') || t.fault_count == wanted)
      return lb_refuse(err, "'%s': " EXPECTED, id);
    if (!fault_of(at + 1, len, &t.fault[t.fault_count]))
      return lb_refuse(err, "'%s': no fault is called '%.*s', see `hunt --list`", id, (int)len, at + 1);
    if (t.fault_count > 0 && t.fault[t.fault_count].slot < t.fault[t.fault_count - 1].slot)
      return lb_refuse(err, "'%s': '%.*s' comes before the fault in front of it", id, (int)len, at + 1);
    at += 1 + len;
  }
  if (t.fault_count != wanted) return lb_refuse(err, "'%s': " EXPECTED, id);
  *ret = t;
  return 0;
}

/* What a hunt is told to do without, in words: kinds of faults as ids have them, client 3, and lineage. One list of
 * words reads and writes them. */

enum { CLIENT_3 = LB_HUNT_KIND_COUNT, LINEAGE, WORDS };

static const char *word_of(int word) {
  return word == CLIENT_3 ? "client-3" : word == LINEAGE ? "lineage" : lb_hunt_kinds[word].name;
}

static bool is_left_out(const struct lb_hunt_switches *switches, int word) {
  if (word == LINEAGE) return switches->no_lineage;
  return word == CLIENT_3 ? switches->no_client_3 : switches->without >> word & 1;
}

static int refuse(const char *found, struct lb_error *err) {
  const char *words[WORDS];
  for (int i = 0; i < WORDS; i++) words[i] = word_of(i);
  const char *near = lb_text_suggest(found, words, WORDS);
  if (near)
    return lb_refuse(err, "--without %s: no kind of fault, client-3 or lineage, did you mean '%s'?", found, near);
  return lb_refuse(err, "--without %s: no kind of fault, client-3 or lineage, see the ids of `hunt --list`", found);
}

int lb_hunt_switches_parse(const char *words, struct lb_hunt_switches *ret, struct lb_error *err) {
  *ret = (struct lb_hunt_switches){0};
  for (const char *at = words; *at; at += strspn(at, ",")) {
    char found[40];
    size_t size = strcspn(at, ",");
    snprintf(found, sizeof found, "%.*s", (int)size, at);
    int word = 0;
    while (word < WORDS && strcmp(word_of(word), found) != 0) word++;
    if (word == WORDS) return refuse(found, err);
    if (word == CLIENT_3) ret->no_client_3 = true;
    else if (word == LINEAGE) ret->no_lineage = true;
    else ret->without |= 1u << word;
    at += size;
  }
  return 0;
}

void lb_hunt_switches_format(const struct lb_hunt_switches *switches, char ret[LB_HUNT_WITHOUT_MAX]) {
  size_t at = 0;
  ret[0] = '\0';
  for (int i = 0; i < WORDS && at < LB_HUNT_WITHOUT_MAX; i++)
    if (is_left_out(switches, i))
      at += (size_t)snprintf(ret + at, LB_HUNT_WITHOUT_MAX - at, "%s%s", at ? "," : "", word_of(i));
}

/* ---- Hosts of a timeline: how many there are, and the same timeline with fewer of them. ---- */

enum {
  PRIMARY = 1 << 0,
  OTHERS = 1 << 1,
  MIDDLE = 1 << 2,
  ONE = 1 << 3
}; /* OTHERS: F; ONE of them; MIDDLE: who is neither the primary nor F */

static unsigned servers_of(const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  static const unsigned of[LB_HUNT_TARGET_COUNT] = {[LB_HUNT_P] = PRIMARY,
                                                    [LB_HUNT_F] = OTHERS,
                                                    [LB_HUNT_ALL] = PRIMARY | OTHERS | MIDDLE,
                                                    [LB_HUNT_ONE] = ONE,
                                                    [LB_HUNT_MOST] = PRIMARY | MIDDLE};
  if (f.kind == LB_HUNT_CUT) return OTHERS | (s->servers == LB_HUNT_ENSEMBLE ? (unsigned)PRIMARY : 0);
  return f.kind == LB_HUNT_CUT_ONE ? (unsigned)ONE : of[f.target];
}

static bool hits_client(struct lb_hunt_fault f, enum lb_hunt_target client) {
  return f.target == client && f.kind != LB_HUNT_CUT && f.kind != LB_HUNT_CUT_ONE;
}

struct lb_hunt_hosts lb_hunt_hosts_of(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  size_t majority = s->count / 2 + 1, others = s->count > 0 ? s->count - majority : 0;
  if (s->count == 2) majority = 1, others = 1; /* the role is `replicas` */
  struct lb_hunt_hosts hosts = {0};
  bool c1 = false, c2 = false;
  unsigned hit = 0;
  for (size_t i = 0; i < t->fault_count; i++) {
    hit |= servers_of(s, t->fault[i]);
    c1 |= hits_client(t->fault[i], LB_HUNT_C1);
    c2 |= hits_client(t->fault[i], LB_HUNT_C2);
  }
  hosts.clients = (size_t)c1 + (size_t)c2;
  hosts.servers = (hit & PRIMARY ? 1 : 0) +
                  (hit & OTHERS ? others
                   : hit & ONE  ? 1
                                : 0) +
                  (hit & MIDDLE ? majority - 1 : 0);
  return hosts;
}

void lb_hunt_hosts_say(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, char *buf, size_t size) {
  struct lb_hunt_hosts hosts = lb_hunt_hosts_of(s, t);
  const char *clients = hosts.clients == 0 ? "" : hosts.clients == 1 ? "a client" : "two clients";
  if (hosts.servers > 0)
    snprintf(buf, size, "It hits %zu of %zu server%s%s%s", hosts.servers, s->count, s->count == 1 ? "" : "s",
             hosts.clients ? " and " : "", clients);
  else snprintf(buf, size, "%s%s", hosts.clients ? "It hits " : "", clients);
}
