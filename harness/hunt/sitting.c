/* SPDX-License-Identifier: MIT
 *
 * hunt.json: what a reader has to know of a hunt beside its timelines. What a folder does not say cannot be compared with another one.
 */
#include "sitting.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/refuse.h"
#include "run/about.h"

enum { PATH = 4200 };

static const char *end_name(enum lb_hunt_end end) {
  static const char *const names[] = {[LB_HUNT_WHOLE] = "whole", [LB_HUNT_OUT_OF_BUDGET] = "out of budget", [LB_HUNT_INTERRUPTED] = "interrupted"};
  return names[end];
}

void lb_hunt_sitting_begin(struct lb_hunt_sitting *ret, const char *const *argv, int argc, const struct lb_topology *topology, const char *folder) {
  struct tm tm = lb_clock_utc();
  *ret = (struct lb_hunt_sitting){.argv = argv, .argc = argc};
  strftime(ret->started_utc, sizeof ret->started_utc, "%Y-%m-%dT%H:%M:%SZ", &tm);
  lb_machine_read(&ret->before, folder);
  lb_about_namespaces(ret->namespaces, sizeof ret->namespaces);
  if (lb_topology_version(topology, ret->servers, sizeof ret->servers) != 0) ret->servers[0] = '\0';
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
  lb_hunt_left_out(&order->switches, without);
  for (char *rest = NULL, *word = strtok_r(without, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) json_array_append_new(all, json_string(word));
  return all;
}

/* Of hunt/NN.ini. */
static json_t *set_json(const struct lb_hunt *h, size_t i) {
  const struct lb_hunt_set *set = &h->sets.set[i];
  char file[40], id[LB_HUNT_ID_MAX], form[LB_HUNT_ID_MAX];
  snprintf(file, sizeof file, "hunt/%02zu.ini", i + 1);
  struct lb_hunt_hosts hosts = lb_hunt_hosts_of(&h->space.system, &h->space.timeline[set->simplest.timeline]);
  lb_hunt_id(&h->space.timeline[set->timeline], id);
  lb_hunt_id(&h->space.timeline[set->simplest.timeline], form);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:i, s:i, s:i, s:i}", "file", file, "timeline", id, "class", lb_hunt_came_name(set->class), "standing",
                   lb_hunt_standing_name(set->standing), "form", form, "hosts", (int)(hosts.servers + hosts.clients), "servers", (int)hosts.servers, "unreal", lb_hunt_has_unreal(&h->space.timeline[set->timeline]), "client_3", !(set->simplest.without & LB_HUNT_WITHOUT_CLIENT_3), "renewal",
                   !(set->simplest.without & LB_HUNT_WITHOUT_RENEWAL), "broke", (int)set->broke, "decided", (int)set->decided, "replayed", (int)set->replayed, "agreed",
                   (int)set->agreed);
}

static json_t *sets_json(const struct lb_hunt *h) {
  json_t *all = json_array();
  for (size_t i = 0; i < h->sets.count; i++) json_array_append_new(all, set_json(h, i));
  return all;
}

static json_t *replays_json(const struct lb_hunt *h) {
  struct lb_hunt_replays all = lb_hunt_replays_of(&h->book);
  return json_pack("{s:i, s:i, s:i, s:i, s:i}", "sets", (int)all.sets, "decided", (int)all.decided, "agreed", (int)all.agreed, "sets_refuted", (int)all.refuted, "sets_gone", (int)all.gone);
}

static json_t *sitting_json(const struct lb_hunt_sitting *s, const struct lb_hunt *h, const struct lb_hunt_order *order) {
  struct lb_machine after;
  lb_machine_read(&after, order->folder);
  return json_pack("{s:o, s:o, s:s, s:f, s:f, s:s, s:i, s:i, s:o, s:s}", "tool", lb_about_tool(), "argv", lb_about_argv(s->argv, s->argc), "started_utc",
                   s->started_utc, "seconds", h->seconds, "budget_s", order->budget_s, "end", end_name(h->end), "jobs", order->jobs.always, "jobs_most", order->jobs.most, "machine",
                   lb_about_machine(&s->before, after.load, s->namespaces), "servers", s->servers);
}

int lb_hunt_sitting_keep(const struct lb_hunt_sitting *s, const struct lb_hunt *h, const struct lb_hunt_order *order, char *err, size_t err_size) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/hunt.json", order->folder);
  json_t *sittings = earlier(path), *one = sitting_json(s, h, order);
  int r = !one ? -EILSEQ : json_array_append_new(sittings, one) < 0 ? -ENOMEM : 0;
  if (r < 0) json_decref(sittings);
  else
    r = lb_about_write(json_pack("{s:i, s:s, s:I, s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "schema_version", 2, "system", h->space.system.name, "seed", (json_int_t)order->seed,
                                 "faults_max", order->faults_max, "guard", lb_guard_name(order->guard), "settings", settings_json(order), "without", without_json(order), "replays", replays_json(h), "sets",
                                 sets_json(h), "sittings", sittings),
                       path);
  return r < 0 ? lb_refuse(err, err_size, "cannot write %s: %s", path, strerror(-r)), r : 0;
}
