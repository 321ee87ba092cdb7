/* SPDX-License-Identifier: MIT
 *
 * The id of a timeline: regime, number of faults, and the faults in the order in which they are done. It says what the
 * timeline is, so it depends neither on where it stands nor on what else is in the space.
 */
#include <stdio.h>
#include <string.h>

#include "base/refuse.h"
#include "space.h"

enum { WORD_MAX = 32 };
static const char letters[LB_HUNT_REGIME_COUNT] = {[LB_HUNT_LONG] = 'L', [LB_HUNT_SHORT] = 'S', [LB_HUNT_DRIFT] = 'D'};

void lb_hunt_id(const struct lb_hunt_timeline *t, char buf[LB_HUNT_ID_MAX]) {
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
    struct lb_hunt_fault f = {.kind = (enum lb_hunt_kind)(n % LB_HUNT_KIND_COUNT),
                              .target = (enum lb_hunt_target)(n / LB_HUNT_KIND_COUNT % LB_HUNT_TARGET_COUNT),
                              .slot = (enum lb_hunt_slot)(n / LB_HUNT_KIND_COUNT / LB_HUNT_TARGET_COUNT % LB_HUNT_SLOT_COUNT),
                              .undo = (enum lb_hunt_undo)(n / LB_HUNT_KIND_COUNT / LB_HUNT_TARGET_COUNT / LB_HUNT_SLOT_COUNT)};
    lb_hunt_fault_format(f, text, sizeof text);
    if (strlen(text) == len && memcmp(text, word, len) == 0) return *ret = f, true;
  }
  return false;
}

#define EXPECTED "expected an id as `S2.kill-P@B-back+pause-c1@H`: L, S or D, the number of faults, and the faults in their order"

int lb_hunt_of_id(const char *id, struct lb_hunt_timeline *ret, char *err, size_t err_size) {
  const char *letter = *id ? memchr(letters, *id, sizeof letters) : NULL;
  struct lb_hunt_timeline t = {0};
  if (!letter || id[1] < '0' || id[1] > '0' + LB_HUNT_FAULTS_MAX) return lb_refuse(err, err_size, "'%s': " EXPECTED, id);
  t.regime = (enum lb_hunt_regime)(letter - letters);
  size_t wanted = (size_t)(id[1] - '0');
  for (const char *at = id + 2; *at; t.fault_count++) {
    size_t len = strcspn(at + 1, "+");
    if (*at != (t.fault_count == 0 ? '.' : '+') || t.fault_count == wanted) return lb_refuse(err, err_size, "'%s': " EXPECTED, id);
    if (!fault_of(at + 1, len, &t.fault[t.fault_count])) return lb_refuse(err, err_size, "'%s': no fault is called '%.*s', see `hunt --list`", id, (int)len, at + 1);
    if (t.fault_count > 0 && t.fault[t.fault_count].slot < t.fault[t.fault_count - 1].slot)
      return lb_refuse(err, err_size, "'%s': '%.*s' comes before the fault in front of it", id, (int)len, at + 1);
    at += 1 + len;
  }
  if (t.fault_count != wanted) return lb_refuse(err, err_size, "'%s': " EXPECTED, id);
  *ret = t;
  return 0;
}
