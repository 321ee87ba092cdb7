/* SPDX-License-Identifier: MIT
 *
 * What is kept of a hunt beside its journal: every timeline with what came of it, and a complete scenario file for
 * every set, which `run` replays.
 */
#include "keep.h"

#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/error.h"
#include "run/about.h"
#include "replay.h"
#include "rests.h"
#include "simplify.h"

enum { PATH = 4200 };

/* "minimal", "not replayed", "open", "sometimes". */
static const char *name_of_standing(enum lb_hunt_standing standing) {
  static const char *const names[] = {"minimal", "not replayed", "open", "sometimes"};
  return names[standing];
}

static const char *standing_name(const struct lb_hunt *h, size_t timeline) {
  for (size_t i = 0; i < h->sets.count; i++)
    if (h->sets.set[i].timeline == timeline) return name_of_standing(h->sets.set[i].standing);
  return "";
}

/* The one that was drawn of this timeline, or NULL. */
static const struct lb_hunt_drawn *find_drawn(const struct lb_hunt_audit *a, size_t timeline) {
  for (size_t i = 0; i < a->count; i++)
    if (a->drawn[i].timeline == timeline) return &a->drawn[i];
  return NULL;
}

static const char *const answers[LB_HUNT_ANSWER_COUNT] = {"", "same", "other", "unclear", "undecided"};

/* "", "same", "other", "unclear", "undecided". */
static const char *answer_name(enum lb_hunt_answer answer) { return answers[answer]; }

/* The texts stand in quotes, as reasons have commas. */
static void write_row(const struct lb_hunt *h, size_t i, FILE *out) {
  const struct lb_hunt_timeline *t = &h->space.timeline[i];
  const struct lb_hunt_count *c = lb_hunt_journal_seen(&h->journal, i);
  char id[LB_HUNT_ID_MAX];
  lb_hunt_timeline_id(t, id);
  bool ran = lb_hunt_count_decided(c) + c->of[LB_HUNT_UNDECIDED] > 0;
  bool holds = !ran && lb_hunt_sets_contained(&h->sets, &h->space, i, LB_HUNT_LEASE);
  const char *why = t->pruned != LB_HUNT_RUN ? lb_hunt_prune_text(t->pruned)
                    : ran                    ? ""
                    : holds                  ? "a minimal set is in it"
                                             : "not reached";
  struct lb_hunt_timeline other;
  char as[LB_HUNT_ID_MAX] = "";
  const struct lb_hunt_drawn *drawn = find_drawn(&h->audit, i);
  if (lb_hunt_prune_stand_in(&h->space.system, t, &other)) lb_hunt_timeline_id(&other, as);
  fprintf(out, "%s,%s,%zu,%u,%u,%u,%u,%u,%u,%u,%s,%s%s%s,%s,%s,%s\n", id, lb_hunt_regimes[t->regime], t->fault_count,
          c->of[LB_HUNT_SAFE], c->of[LB_HUNT_LEASE], c->of[LB_HUNT_EXPIRED], c->of[LB_HUNT_DAMAGE],
          c->of[LB_HUNT_NUMBERS], c->of[LB_HUNT_BLOCKED], c->of[LB_HUNT_UNDECIDED], standing_name(h, i),
          *why ? "\"" : "", why, *why ? "\"" : "", lb_hunt_timeline_is_core(t) ? "yes" : "no", as,
          answer_name(drawn ? lb_hunt_audit_answer(&h->audit, &h->journal, drawn) : LB_HUNT_NOT_DRAWN));
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
  const char *minimal = set->standing <= LB_HUNT_NOT_REPLAYED ? ", and no part of it in more than half" : "";
  lb_hunt_timeline_id(&h->space.timeline[set->timeline], found);
  if (!lb_hunt_simplify_helped(set))
    snprintf(ret, size, "It broke %s in %u of %u trials%s.", lb_hunt_outcome_class_text(set->class), set->broke,
             set->decided, minimal);
  else
    snprintf(ret, size,
             "It broke %s in %d of %d trials in this form, its simplest%s.\nFound as %s, which broke in %u of %u%s.",
             lb_hunt_outcome_class_text(set->class), LB_HUNT_SURE, LB_HUNT_SURE,
             lb_hunt_simplify_without_text(set->simplest.without), found, set->broke, set->decided, minimal);
  if (set->replayed)
    snprintf(ret + strlen(ret), size - strlen(ret), "\nIt came out so in %u of %u replays under another seed.",
             set->agreed, set->replayed);
}

static int write_set(const struct lb_hunt *h, size_t i, const char *folder) {
  const struct lb_hunt_set *set = &h->sets.set[i];
  char path[PATH], note[700];
  struct lb_hunt_settings settings = {.no_client_3 = h->space.switches.no_client_3 ||
                                                     set->simplest.without & LB_HUNT_WITHOUT_CLIENT_3,
                                      .no_renewal = set->simplest.without & LB_HUNT_WITHOUT_RENEWAL,
                                      .note = note};
  describe(h, set, note, sizeof note);
  snprintf(path, sizeof path, "%s/hunt/%02zu.ini", folder, i + 1);
  return lb_hunt_batch_write_file(&h->space, set->simplest.timeline, h->journal.guard, &settings,
                                  set->broke == set->decided && set->agreed == set->replayed ? "violated" : "race",
                                  path);
}

int lb_hunt_keep(const struct lb_hunt *hunt, const char *folder, struct lb_error *err) {
  char sets[PATH];
  snprintf(sets, sizeof sets, "%s/hunt", folder);
  lb_files_remove_tree(sets); /* of an earlier part of this hunt */
  int r = lb_files_make_dirs(sets);
  for (size_t i = 0; i < hunt->sets.count && r == 0; i++) r = write_set(hunt, i, folder);
  if (r == 0) r = write_table(hunt, folder);
  return r < 0 ? lb_error(err, r, "cannot write %s: %s", folder, strerror(-r)) : 0;
}

/* hunt.json: what a reader has to know of a hunt beside its timelines. What a folder does not say cannot be compared
 * with another one. */

static const char *end_name(enum lb_hunt_end end) {
  static const char *const names[] = {
      [LB_HUNT_WHOLE] = "whole", [LB_HUNT_OUT_OF_BUDGET] = "out of budget", [LB_HUNT_INTERRUPTED] = "interrupted"};
  return names[end];
}

/* Those of earlier calls. A file that is none of ours is not added to. */
static json_t *earlier(const char *path) {
  json_t *root = json_load_file(path, 0, NULL), *sittings = json_object_get(root, "sittings");
  json_t *ret = json_is_array(sittings) ? json_incref(sittings) : json_array();
  json_decref(root);
  return ret;
}

static json_t *settings_json(const struct lb_hunt_order *order) {
  json_t *all = json_array();
  for (size_t i = 0; i < order->setting_count; i++) json_array_append_new(all, json_string(order->settings[i]));
  return all;
}

static json_t *without_json(const struct lb_hunt_order *order) {
  char without[LB_HUNT_WITHOUT_MAX];
  json_t *all = json_array();
  lb_hunt_switches_format(&order->switches, without);
  for (char *rest = NULL, *word = strtok_r(without, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
    json_array_append_new(all, json_string(word));
  return all;
}

/* The set of hunt/NN.ini. */
static json_t *set_json(const struct lb_hunt *h, size_t i) {
  const struct lb_hunt_set *set = &h->sets.set[i];
  char file[40], id[LB_HUNT_ID_MAX], form[LB_HUNT_ID_MAX];
  snprintf(file, sizeof file, "hunt/%02zu.ini", i + 1);
  struct lb_hunt_hosts hosts = lb_hunt_hosts_of(&h->space.system, &h->space.timeline[set->simplest.timeline]);
  lb_hunt_timeline_id(&h->space.timeline[set->timeline], id);
  lb_hunt_timeline_id(&h->space.timeline[set->simplest.timeline], form);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:i, s:i, s:i, s:i}", "file", file, "timeline",
                   id, "class", lb_hunt_outcome_name(set->class), "standing", name_of_standing(set->standing), "form",
                   form, "hosts", (int)(hosts.servers + hosts.clients), "servers", (int)hosts.servers, "unreal",
                   lb_hunt_timeline_has_unreal(&h->space.timeline[set->timeline]), "client_3",
                   !(set->simplest.without & LB_HUNT_WITHOUT_CLIENT_3), "renewal",
                   !(set->simplest.without & LB_HUNT_WITHOUT_RENEWAL), "broke", (int)set->broke, "decided",
                   (int)set->decided, "replayed", (int)set->replayed, "agreed", (int)set->agreed);
}

static json_t *sets_json(const struct lb_hunt *h) {
  json_t *all = json_array();
  for (size_t i = 0; i < h->sets.count; i++) json_array_append_new(all, set_json(h, i));
  return all;
}

static json_t *replays_json(const struct lb_hunt *h) {
  struct lb_hunt_replays all = lb_hunt_replay_count(&h->journal);
  return json_pack("{s:i, s:i, s:i, s:i, s:i}", "sets", (int)all.sets, "decided", (int)all.decided, "agreed",
                   (int)all.agreed, "sets_refuted", (int)all.refuted, "sets_gone", (int)all.gone);
}

static json_t *sitting_json(const struct lb_hunt_sitting *s, const struct lb_hunt *h,
                            const struct lb_hunt_order *order) {
  struct lb_machine after;
  lb_machine_read(&after, order->folder);
  return json_pack("{s:o, s:o, s:s, s:f, s:f, s:s, s:i, s:i, s:o, s:s}", "tool", lb_about_tool(), "argv",
                   lb_about_argv(s->argv, s->argc), "started_utc", s->started_utc, "seconds", h->seconds, "budget_s",
                   order->budget_s, "end", end_name(h->end), "jobs", order->jobs.always, "jobs_most", order->jobs.most,
                   "machine", lb_about_machine(&s->before, after.load, s->namespaces), "servers", s->servers);
}

int lb_hunt_keep_sitting(const struct lb_hunt_sitting *s, const struct lb_hunt *h, const struct lb_hunt_order *order,
                         struct lb_error *err) {
  char path[PATH], rests[200];
  snprintf(path, sizeof path, "%s/hunt.json", order->folder);
  lb_hunt_rests_say(h->space.system.rests, rests, sizeof rests);
  json_t *sittings = earlier(path), *one = sitting_json(s, h, order);
  int r = json_array_append_new(sittings, one) < 0 ? -EILSEQ : 0;
  if (r < 0) json_decref(sittings);
  else
    r = lb_about_write(json_pack("{s:i, s:s, s:I, s:i, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o}", "schema_version", 2,
                                 "system", h->space.system.name, "seed", (json_int_t)order->seed, "faults_max",
                                 order->faults_max, "guard", lb_guard_name(order->guard), "settings",
                                 settings_json(order), "without", without_json(order), "rests_on", rests, "first_trial",
                                 h->journal.said, "replays", replays_json(h), "sets", sets_json(h), "sittings",
                                 sittings),
                       path);
  return r < 0 ? lb_error(err, r, "cannot write %s: %s", path, strerror(-r)) : 0;
}
