/* SPDX-License-Identifier: MIT
 *
 * A directed timeline as a scenario file: what stands around its steps.
 */
#include <errno.h>

#include "directed.h"

struct writer {
  const struct lb_directed *d;
  const struct lb_directed_of *of;
  const bool *keep;
  FILE *file;
};

static void head(const struct writer *w, const char *note) {
  const struct lb_directed_of *of = w->of;
  fprintf(w->file, "# Cut down from a violation of the campaign %s on %s, guard %s:\n", of->scenario, of->system, lb_guard_name(of->guard));
  fprintf(w->file, "# run %s, trial %s, seed %s. Two clients held the lock at once, %s.\n", of->run, of->trial, of->seed,
          w->d->late ? "the earlier lease was over" : "within their leases");
  if (note) fprintf(w->file, "# %s\n", note);
  fprintf(w->file, "#\n# Client 1 is the one that held, client 2 the one that was granted the lock beside it.\n");
  fprintf(w->file, "# To play it again: lockbench run FILE -b %s -g %s -n 20\n\n", of->system, lb_guard_name(of->guard));
}

static void settings(const struct writer *w) {
  const struct lb_directed_of *of = w->of;
  fprintf(w->file, "[scenario]\ntitle = cut down from %.60s\n", of->scenario);
  fprintf(w->file, "question = Does this timeline, cut down from a campaign, break exclusion?\n");
  fprintf(w->file, "refuted = It comes out otherwise than when it was cut down.\ntrials = 5\nmin_handoffs = 0\n\n");
  int clients = 2;
  for (size_t i = 0; i < w->d->fault_count; i++) {
    const struct lb_directed_fault *f = &w->d->fault[i];
    int from = f->step.b.kind == LB_ROLE_CLIENT ? f->step.b.number : 0, most = f->client > from ? f->client : from;
    if (w->keep[i] && most > clients) clients = most;
  }
  fprintf(w->file, "[workload]\nclients = %d\nttl_ms = %lld\nrenew = %s\n", clients, of->ttl_ms, of->renew ? "yes" : "no");
  if (of->request_ms > 0) fprintf(w->file, "request_ms = %lld\n", of->request_ms);
  for (size_t i = 0; i < sizeof of->options / sizeof *of->options && *of->options[i]; i++) fprintf(w->file, "option = %s\n", of->options[i]);
  if (of->disk) fprintf(w->file, "\n[servers]\nstorage = disk\n");
}

int lb_directed_write(const struct lb_directed *directed, const bool keep[], const struct lb_directed_of *of, const char *note, const char *expected,
                      FILE *file) {
  struct writer w = {.d = directed, .of = of, .keep = keep, .file = file};
  head(&w, note);
  settings(&w);
  fprintf(file, "\n[timeline]\n");
  lb_directed_steps(directed, keep, of, file);
  if (directed->late) fprintf(file, "\n[proof]\npast_lease = yes\n");
  if (of->guard == LB_GUARD_NONE) fprintf(file, "\n[expect]\n");
  else fprintf(file, "\n[expect %s]\n", lb_guard_name(of->guard));
  fprintf(file, "%s = %s: as in the campaign that it was cut down from\n", of->system, expected);
  return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
