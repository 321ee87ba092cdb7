/* SPDX-License-Identifier: MIT
 *
 * A timeline as a scenario file that says what it is, how to play it again, and all that is played.
 */
#include "write.h"

#include <errno.h>
#include <string.h>

#include "program.h"

static void head(const struct lb_hunt_program *p, enum lb_guard guard, const struct lb_hunt_settings *settings, const char *id) {
  const struct lb_hunt_timeline *t = p->timeline;
  char hosts[60];
  fprintf(p->file, "# %s of a hunt on %s.\n", id, p->system->name);
  for (size_t i = 0; i < t->fault_count; i++) {
    char said[160];
    lb_hunt_fault_say(t->fault[i], said, sizeof said);
    fprintf(p->file, "# %s%s%s\n", i == 0 ? "In it " : "and ", said, i + 1 == t->fault_count ? "." : ",");
  }
  lb_hunt_hosts_say(p->system, t, hosts, sizeof hosts);
  if (*hosts) fprintf(p->file, "# %s.\n", hosts);
  if (lb_hunt_has_unreal(t)) fprintf(p->file, "# No machine has such a clock: it shows what the lock rests on.\n");
  if (t->fault_count == 0) fprintf(p->file, "# In it nothing is done to anybody.\n");
  if (!p->client_3) fprintf(p->file, "# Without client 3: nobody opens a session behind the faults.\n");
  fprintf(p->file, "# Leases: %lld ms, %s.\n", (long long)p->times.ttl_ms, p->times.renew ? "renewed while a client holds" : "not renewed");
  for (const char *line = settings->note, *next; line; line = next) {
    next = strchr(line, '\n');
    fprintf(p->file, "# %.*s\n", next ? (int)(next++ - line) : (int)strlen(line), line);
  }
  fprintf(p->file, "#\n# To play it again: lockbench run FILE -b %s -g %s -n 20\n\n", p->system->name, lb_guard_name(guard));
}

static void question(const struct lb_hunt_program *p, const char *id) {
  fprintf(p->file, "[scenario]\ntitle = %s\n", id);
  fprintf(p->file, "question = Does %s keep exclusion in the timeline %s of the hunt?\n", p->system->name, id);
  fprintf(p->file, "refuted = It comes out otherwise than when it was hunted.\ntrials = 5\nmin_handoffs = 0\n\n");
}

static void workload(const struct lb_hunt_program *p, const struct lb_hunt_settings *settings) {
  fprintf(p->file, "[workload]\nclients = %d\nttl_ms = %lld\nrenew = %s\n", p->client_3 ? 3 : 2, (long long)p->times.ttl_ms, p->times.renew ? "yes" : "no");
  if (settings->option) fprintf(p->file, "option = %s\n", settings->option);
}

int lb_hunt_write(const struct lb_hunt_timeline *timeline, const struct lb_hunt_system *system, enum lb_guard guard,
                  const struct lb_hunt_settings *settings, const char *expected, FILE *file) {
  static const struct lb_hunt_settings none = {0};
  char id[LB_HUNT_ID_MAX];
  if (!settings) settings = &none;
  struct lb_hunt_program p = {.timeline = timeline,
                              .system = system,
                              .times = lb_hunt_times_of(system, timeline->regime, settings),
                              .client_3 = !settings->no_client_3,
                              .file = file};
  lb_hunt_id(timeline, id);
  head(&p, guard, settings, id);
  question(&p, id);
  workload(&p, settings);
  fprintf(file, "\n[timeline]\n");
  lb_hunt_program_write(&p);
  fprintf(file, "\n[proof]\npast_lease = yes\n\n");
  if (guard == LB_GUARD_NONE) fprintf(file, "[expect]\n");
  else fprintf(file, "[expect %s]\n", lb_guard_name(guard));
  fprintf(file, "%s = %s: as it was hunted\n", system->name, expected);
  return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
