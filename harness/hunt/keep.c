/* SPDX-License-Identifier: MIT
 *
 * What is kept of a hunt beside its journal: every timeline with what came of it, and a complete scenario file for every set, which `run` replays.
 */
#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/refuse.h"
#include "narrow.h"
#include "simplify.h"
#include "tell.h"

enum { PATH = 4200 };

static const char *standing_name(const struct lb_hunt *h, size_t timeline) {
  for (size_t i = 0; i < h->sets.count; i++)
    if (h->sets.set[i].timeline == timeline) return lb_hunt_standing_name(h->sets.set[i].standing);
  return "";
}

/* Of the texts, reasons have commas. */
static void write_row(const struct lb_hunt *h, size_t i, FILE *out) {
  const struct lb_hunt_timeline *t = &h->space.timeline[i];
  const struct lb_hunt_count *c = lb_hunt_seen(&h->book, i);
  char id[LB_HUNT_ID_MAX];
  lb_hunt_id(t, id);
  bool ran = lb_hunt_decided(c) + c->of[LB_HUNT_UNDECIDED] > 0;
  bool holds = !ran && lb_hunt_sets_contained(&h->sets, &h->space, i, LB_HUNT_LEASE);
  const char *why = t->pruned != LB_HUNT_RUN ? lb_hunt_pruned_text(t->pruned) : ran ? "" : holds ? "a minimal set is in it" : "not reached";
  struct lb_hunt_timeline other;
  char as[LB_HUNT_ID_MAX] = "";
  const struct lb_hunt_drawn *drawn = lb_hunt_audit_find(&h->audit, i);
  if (lb_hunt_stand_in(&h->space.system, t, &other)) lb_hunt_id(&other, as);
  fprintf(out, "%s,%s,%zu,%u,%u,%u,%u,%u,%u,%u,%s,%s%s%s,%s,%s,%s\n", id, lb_hunt_regime_name(t->regime), t->fault_count, c->of[LB_HUNT_SAFE], c->of[LB_HUNT_LEASE],
          c->of[LB_HUNT_EXPIRED], c->of[LB_HUNT_DAMAGE], c->of[LB_HUNT_NUMBERS], c->of[LB_HUNT_BLOCKED], c->of[LB_HUNT_UNDECIDED], standing_name(h, i), *why ? "\"" : "", why, *why ? "\"" : "", lb_hunt_is_core(t) ? "yes" : "no",
          as, lb_hunt_answer_name(drawn ? lb_hunt_audit_answer(&h->audit, &h->book, drawn) : LB_HUNT_NOT_DRAWN));
}

static int write_table(const struct lb_hunt *h, const char *folder) {
  char part[PATH], path[PATH];
  snprintf(path, sizeof path, "%s/hunt.csv", folder);
  snprintf(part, sizeof part, "%s/hunt.csv.part", folder);
  FILE *out = fopen(part, "we");
  if (!out) return -errno;
  fputs("timeline,regime,faults,safe,lease,expired,damage,numbers,blocked,undecided,set,not_run,core,as,audit\n", out);
  for (size_t i = 0; i < h->space.count; i++) write_row(h, i, out);
  bool failed = ferror(out);
  if (fclose(out) != 0 || failed) return -EIO;
  return rename(part, path) < 0 ? -errno : 0;
}

/* How often the set broke as it was found, and in what form it is written. */
static void describe(const struct lb_hunt *h, const struct lb_hunt_set *set, char *ret, size_t size) {
  char found[LB_HUNT_ID_MAX];
  const char *minimal = set->standing <= LB_HUNT_NOT_REPLAYED ? ", and no part of it alone did" : "";
  lb_hunt_id(&h->space.timeline[set->timeline], found);
  if (!lb_hunt_is_simplified(set)) snprintf(ret, size, "It broke %s in %u of %u trials%s.", lb_hunt_class_text(set->class), set->broke, set->decided, minimal);
  else
    snprintf(ret, size, "It broke %s in %d of %d trials in this form, its simplest%s.\nFound as %s, which broke in %u of %u%s.", lb_hunt_class_text(set->class), LB_HUNT_SURE, LB_HUNT_SURE,
             lb_hunt_without_text(set->simplest.without), found, set->broke, set->decided, minimal);
  if (set->replayed) snprintf(ret + strlen(ret), size - strlen(ret), "\nIt came out so in %u of %u replays under another seed.", set->agreed, set->replayed);
}

static int write_set(const struct lb_hunt *h, size_t i, const char *folder) {
  const struct lb_hunt_set *set = &h->sets.set[i];
  char path[PATH], note[700], range[200];
  struct lb_hunt_settings settings = {.no_client_3 = h->space.switches.no_client_3 || set->simplest.without & LB_HUNT_WITHOUT_CLIENT_3,
                                      .no_renewal = set->simplest.without & LB_HUNT_WITHOUT_RENEWAL,
                                      .note = note};
  describe(h, set, note, sizeof note);
  lb_hunt_range_say(&set->range, range, sizeof range);
  if (lb_hunt_range_tells(&set->range)) snprintf(note + strlen(note), sizeof note - strlen(note), "\nIt %s.", range);
  snprintf(path, sizeof path, "%s/hunt/%02zu.ini", folder, i + 1);
  return lb_hunt_write_file(&h->space, set->simplest.timeline, h->book.guard, &settings, set->broke == set->decided && set->agreed == set->replayed ? "violated" : "race", path);
}

int lb_hunt_keep(const struct lb_hunt *hunt, const char *folder, char *err, size_t err_size) {
  char sets[PATH];
  snprintf(sets, sizeof sets, "%s/hunt", folder);
  lb_remove_tree(sets); /* of an earlier part of this hunt */
  int r = lb_make_dirs(sets);
  for (size_t i = 0; i < hunt->sets.count && r == 0; i++) r = write_set(hunt, i, folder);
  if (r == 0) r = write_table(hunt, folder);
  return r < 0 ? lb_refuse(err, err_size, "cannot write %s: %s", folder, strerror(-r)), r : 0;
}
