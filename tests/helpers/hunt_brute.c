/* SPDX-License-Identifier: MIT
 *
 * The brute force of hunt_brute.h. A fault is four words here, and a rule is a sentence about words.
 */
#include "hunt_brute.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"restart", "kill",  "pause",  "isolate", "part", "cut",
                                    "cutoff",  "ahead", "behind", "fast",    "slow", "cutone"};
static const char *const targets[] = {"P", "f", "all", "c1", "c2", "one", "most"};
static const char *const undos[] = {"", "mid", "back", "gone"};
static const char slots[] = "BAHXRW";
enum { KINDS = 12, TARGETS = 7, SLOTS = 6, UNDOS = 4, ALL = KINDS * TARGETS * SLOTS * UNDOS };

struct fault {
  const char *kind, *target, *undo;
  char slot;
  int rank; /* in the order that ties are broken by: kind, target, undo */
};

static bool is(const char *word, const char *list) { /* "a b c" */
  char padded[200], wanted[40];
  snprintf(padded, sizeof padded, " %s ", list);
  snprintf(wanted, sizeof wanted, " %s ", *word ? word : "-");
  return strstr(padded, wanted) != NULL;
}
static bool at(struct fault f, const char *list) { return strchr(list, f.slot) != NULL; }
static bool of_client(struct fault f) { return f.target[0] == 'c'; }

/* Whether the table of the alphabet has it, for this kind of system. */
static bool in_table(const struct lb_hunt_system *s, char regime, struct fault f) {
  bool single = s->count == 1, server = !of_client(f), none = s->servers == LB_HUNT_NO_SERVERS,
       late = !is(f.undo, "-") && !is(f.undo, "mid");
  if (f.slot == 'A' && !s->inside) return false;
  if (f.slot == 'X' && !s->gated) return false;
  if (is(f.target, "one") && !(s->servers == LB_HUNT_INDEPENDENT && s->count >= 5)) return false;
  if (is(f.target, "most") && s->count < 3) return false;
  if (server && (none || s->own || (single && strcmp(f.target, "P") != 0))) return false;
  if (is(f.kind, "isolate part cut cutone cutoff") && !s->network) return false;
  if (is(f.kind, "ahead behind fast slow") && !(server ? s->sets_servers : s->sets_clients)) return false;
  if (regime == 'D' && server && late && (is(f.undo, "back") || f.slot != 'B')) return false;
  if (is(f.kind, "fast slow"))
    return regime == 'D' && f.slot == 'B' && is(f.undo, "-") && is(f.target, "P all most c1");
  if (is(f.kind, "ahead behind")) {
    if (!is(f.undo, "-")) return false;
    return server ? f.slot == 'H' && is(f.target, "P all most") : at(f, strcmp(f.target, "c1") == 0 ? "BH" : "B");
  }
  if (is(f.kind, "restart")) return server && is(f.undo, "-") && at(f, "AHRW");
  if (is(f.kind, "kill") && server)
    return !single && is(f.target, "P f one") &&
           ((at(f, "BAH") && is(f.undo, "back gone")) || (f.slot == 'W' && is(f.undo, "gone")));
  if (is(f.kind, "pause") && server) {
    if (!is(f.target, "P f one")) return false;
    if (is(f.undo, "mid")) return at(f, "AH") || (f.slot == 'W' && !single);
    return is(f.undo, "back") && at(f, "BAH") && !single;
  }
  if (is(f.kind, "isolate"))
    return server && !single && is(f.target, "P f one") &&
           (at(f, "BAH") ? is(f.undo, "mid back gone") : f.slot == 'W' && is(f.undo, "mid gone"));
  if (is(f.kind, "part")) return is(f.target, "P") && !single && s->watched && at(f, "BAH") && is(f.undo, "back gone");
  if (is(f.kind, "cut")) return is(f.target, "c1") && s->count > 1 && !s->own && at(f, "BH") && is(f.undo, "gone");
  if (is(f.kind, "cutone"))
    return is(f.target, "c1") && s->servers == LB_HUNT_INDEPENDENT && s->count >= 5 && !s->own && at(f, "BH") &&
           is(f.undo, "gone");
  if (!of_client(f) || !is(f.undo, "-")) return false;
  bool first = strcmp(f.target, "c1") == 0;
  if (is(f.kind, "kill")) return at(f, first ? "AHR" : "HW");
  if (is(f.kind, "cutoff")) return regime == 'S' && !none && at(f, first ? "AHR" : "H");
  return is(f.kind, "pause") && regime == 'S' && at(f, first ? "AHXR" : "HW");
}

/* Whether nothing about this fault alone makes it one that need not be run. */
static bool single_runs(const struct lb_hunt_system *s, char regime, struct fault f) {
  if (of_client(f) && is(f.kind, "ahead behind") && !s->client_wall) return false;
  if (is(f.kind, "isolate part") && s->servers == LB_HUNT_INDEPENDENT) return false;
  if (is(f.kind, "isolate part") && s->count == 2 && is(f.target, "f") && is(f.undo, "mid") && !s->watched)
    return false;
  if (f.slot == 'W' && !s->queues) return false;
  bool ends_leases = regime == 'S' && s->detector_ms == 0 && is(f.undo, "mid"); /* 1.5 s of a server */
  if (f.slot == 'A' && s->decided_inside) return is(f.kind, "pause") && (of_client(f) || ends_leases);
  return true;
}

static bool bounded(const struct lb_hunt_system *s, struct fault f) {
  if (is(f.kind, "cutone") || is(f.target, "one most")) return true;
  bool longer = of_client(f)
                    ? (is(f.target, "c1") && is(f.kind, "ahead fast")) || (is(f.target, "c2") && is(f.kind, "behind"))
                    : is(f.kind, "behind slow");
  if (longer || (is(f.kind, "kill") && is(f.target, "c1") && at(f, "HXRW"))) return true;
  bool stays_dead = s->servers == LB_HUNT_REPLICATED && is(f.kind, "kill") && is(f.target, "P") && f.slot == 'H';
  return (is(f.kind, "restart") && f.slot == 'R') || (is(f.undo, "gone") && f.slot != 'B' && !stays_dead);
}

static bool is_death(struct fault f) { return of_client(f) && is(f.kind, "kill"); }

static bool share_host(struct fault a, struct fault b, bool links) {
  if (links && (is_death(a) || is_death(b))) return true;
  struct fault f[2] = {a, b};
  bool has[2][5] = {{false}}; /* P, f, the others, c1, c2 */
  for (int i = 0; i < 2; i++) {
    bool all = is(f[i].target, "all") || (links && is(f[i].kind, "isolate part cut cutone cutoff"));
    has[i][0] = all || is(f[i].target, "P most");
    has[i][1] = all || is(f[i].target, "f one");
    has[i][2] = all || is(f[i].target, "most");
    has[i][3] = is(f[i].target, "c1");
    has[i][4] = is(f[i].target, "c2");
  }
  for (int h = 0; h < 5; h++)
    if (has[0][h] && has[1][h]) return true;
  return false;
}

/* Every host of b is one of a. */
static bool is_within(struct fault b, struct fault a) {
  if (is(a.target, "one")) return is(b.target, "one");
  if (is(a.target, "f")) return is(b.target, "f one");
  return strcmp(a.target, b.target) == 0; /* of what is killed or stopped */
}

/* All at the other end of what b cuts were killed by a. */
static bool leads_to_dead(const struct lb_hunt_system *s, struct fault a, struct fault b) {
  if (!is(a.kind, "kill") || of_client(a)) return false;
  if (is(b.kind, "cut")) return is(a.target, s->servers == LB_HUNT_ENSEMBLE ? "P f" : "f");
  if (is(b.kind, "cutone")) return is(a.target, "f one");
  bool cuts = is(b.kind, "part") || (is(b.kind, "isolate") && !s->watched);
  return cuts && s->count == 2 && is(a.target, "P f") && strcmp(a.target, b.target) != 0;
}

/* a is done before b. */
static bool pair_runs(const struct lb_hunt_system *s, struct fault a, struct fault b) {
  bool still = a.slot == b.slot || is(a.undo, "gone") || (is(a.undo, "back") && at(b, "BAH")) ||
               (of_client(a) && is(a.kind, "kill"));
  if (is(a.kind, "kill") && is(a.target, "c1") && (is(b.target, "c1") || (a.slot != b.slot && at(b, "XRW"))))
    return false;
  if (still && leads_to_dead(s, a, b)) return false;
  bool again = is_within(b, a) && still, clock = !of_client(b) && is(b.kind, "ahead behind fast slow"),
       together = is(a.undo, b.undo);
  if (again && is(a.kind, "kill") && (clock || of_client(b) || is(b.kind, "kill pause"))) return false;
  if (again && is(a.kind, "pause") && (clock || (is(b.kind, "pause") && together))) return false;
  if (strcmp(a.target, b.target) == 0 &&
      (strcmp(a.kind, b.kind) == 0 || (is(a.kind, "isolate part") && is(b.kind, "isolate part"))))
    return false;
  return true;
}

/* Before the grant, one of all the orders that come to the same: nobody can be exchanged with his neighbours until an earlier word stands
 * in front. Found by doing all exchanges, of which a set of three has few. */
static bool first_of_its_orders(const struct fault *f, int n) {
  int order[6][3] = {{0, 1, 2}}, known = 1;
  for (int o = 0; o < known; o++)
    for (int i = 0; i + 1 < n; i++) {
      struct fault a = f[order[o][i]], b = f[order[o][i + 1]];
      if (a.slot != b.slot ||
          !(at(a, "BA") || (is(a.kind, "pause") && of_client(a)) || (is(b.kind, "pause") && of_client(b))) ||
          share_host(a, b, true))
        continue;
      int swapped[3], seen = 0;
      memcpy(swapped, order[o], sizeof swapped);
      swapped[i] = order[o][i + 1];
      swapped[i + 1] = order[o][i];
      for (int e = 0; e < known; e++) seen |= memcmp(order[e], swapped, sizeof(int) * (size_t)n) == 0;
      if (!seen) memcpy(order[known++], swapped, sizeof swapped);
    }
  for (int o = 1; o < known; o++)
    for (int i = 0; i < n; i++) {
      if (f[order[o][i]].rank == f[i].rank && f[order[o][i]].slot == f[i].slot) continue;
      if (f[order[o][i]].rank < f[i].rank) return false;
      break;
    }
  return true;
}

/* Paused or cut off inside the acquire, and free again before something of H is done to the same hosts: not as if all
 * were done at H. */
static bool over_before_h(const struct fault *f, int n, int i) {
  for (int j = 0; j < n; j++)
    if (f[i].slot == 'A' && is(f[i].undo, "mid") && f[j].slot == 'H' && share_host(f[i], f[j], true)) return true;
  return false;
}

/* Client 1 is stopped inside its acquire, or dies there behind a restart. */
static bool stays_inside(const struct fault *f, int n) {
  for (int i = 0; i < n; i++) {
    if (f[i].slot != 'A' || !is(f[i].target, "c1")) continue;
    if (is(f[i].kind, "pause")) return true;
    for (int j = 0; j < i && is(f[i].kind, "kill"); j++)
      if (f[j].slot == 'A' && is(f[j].kind, "restart")) return true;
  }
  return false;
}

static bool runs(const struct lb_hunt_system *s, char regime, const struct fault *f, int n) {
  for (int i = 0; i < n; i++) {
    struct fault alone = f[i];
    if (over_before_h(f, n, i) || (f[i].slot == 'A' && stays_inside(f, n))) alone.slot = 'H';
    if (!single_runs(s, regime, alone) || (n > 1 && bounded(s, f[i]))) return false;
    for (int j = 0; j < i; j++)
      if (!pair_runs(s, f[j], f[i])) return false;
  }
  return first_of_its_orders(f, n);
}

static void word(struct fault f, char *buf, size_t size) {
  snprintf(buf, size, "%s-%s@%c%s%s", f.kind, f.target, f.slot, *f.undo ? "-" : "", f.undo);
}

static void add(struct brute *b, char regime, const struct fault *f, int n, bool run) {
  if (b->count == b->room) {
    b->room = b->room ? b->room * 2 : 1024;
    b->id = realloc(b->id, b->room * sizeof *b->id);
    b->runs = realloc(b->runs, b->room * sizeof *b->runs);
    assert(b->id && b->runs);
  }
  char *id = b->id[b->count];
  b->runs[b->count++] = run;
  size_t len = (size_t)snprintf(id, LB_HUNT_ID_MAX, "%c%d", regime, n);
  for (int i = 0; i < n; i++) {
    char text[40];
    word(f[i], text, sizeof text);
    len += (size_t)snprintf(id + len, LB_HUNT_ID_MAX - len, "%s%s", i == 0 ? "." : "+", text);
  }
}

/* A tuple of n numbers below `count`: the faults in every order and with every repetition, and then the question
 * whether it means something. */
static void all_tuples(const struct lb_hunt_system *s, char regime, const struct fault *some, int count, int n,
                       struct brute *b) {
  long tuples = 1;
  for (int i = 0; i < n; i++) tuples *= count;
  for (long t = 0; t < tuples; t++) {
    struct fault f[3];
    long rest = t;
    bool fits = true, drifts = regime != 'D' || n == 0;
    for (int i = 0; i < n; i++, rest /= count) f[i] = some[rest % count];
    for (int i = 0; i < n; i++) {
      drifts |= is(f[i].kind, "fast slow");
      for (int j = 0; j < i; j++) {
        char x[40], y[40];
        word(f[i], x, sizeof x);
        word(f[j], y, sizeof y);
        fits &= strcmp(x, y) != 0 && strchr(slots, f[j].slot) <= strchr(slots, f[i].slot);
      }
    }
    if (fits && drifts) add(b, regime, f, n, runs(s, regime, f, n));
  }
}

static int by_id(const void *a, const void *b) { return strcmp(a, b); }

/* The ids are sorted with their flags behind them. */
static void sort(struct brute *b) {
  size_t size = LB_HUNT_ID_MAX + 1;
  char *lines = malloc(b->count * size + 1);
  assert(lines);
  for (size_t i = 0; i < b->count; i++)
    memcpy(lines + i * size, b->id[i], LB_HUNT_ID_MAX), lines[i * size + LB_HUNT_ID_MAX] = (char)b->runs[i];
  qsort(lines, b->count, size, by_id);
  for (size_t i = 0; i < b->count; i++)
    memcpy(b->id[i], lines + i * size, LB_HUNT_ID_MAX), b->runs[i] = lines[i * size + LB_HUNT_ID_MAX] != 0;
  free(lines);
}

void brute_make(const struct lb_hunt_system *s, int k, bool (*keep)(const char *fault), struct brute *ret) {
  *ret = (struct brute){0};
  for (int r = 0; r < 3; r++) {
    char regime = "LSD"[r];
    struct fault some[ALL];
    int count = 0;
    bool drifts = regime != 'D';
    for (int n = 0; n < ALL; n++) {
      struct fault f = {.kind = kinds[n % KINDS],
                        .target = targets[n / KINDS % TARGETS],
                        .slot = slots[n / KINDS / TARGETS % SLOTS],
                        .undo = undos[n / KINDS / TARGETS / SLOTS]};
      char text[40];
      word(f, text, sizeof text);
      f.rank = (n % KINDS * TARGETS + n / KINDS % TARGETS) * UNDOS + n / KINDS / TARGETS / SLOTS;
      if (!in_table(s, regime, f) || (keep && !keep(text))) continue;
      drifts |= is(f.kind, "fast slow");
      some[count++] = f;
    }
    for (int n = 0; n <= k && drifts; n++) all_tuples(s, regime, some, count, n, ret);
  }
  sort(ret);
}

void brute_clear(struct brute *b) {
  free(b->id);
  free(b->runs);
  *b = (struct brute){0};
}
