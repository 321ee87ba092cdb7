/* SPDX-License-Identifier: MIT
 *
 * The stage of a trial that nobody plays: its site, opened as any trial opens it, and clients who have a host and no program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environ.h"
#include "base/files.h"
#include "base/refuse.h"
#include "serve_parts.h"
#include "servers/sandbox.h"
#include "trial/site.h"

/* What a scenario would need that has every step which may be asked. */
static void write_scenario(struct lb_serve *v) {
  const struct lb_serve_plan *plan = v->plan;
  v->scenario = (struct lb_scenario){.name = (char *)"serve",
                                     .kind = plan->measured ? LB_KIND_LOAD : LB_KIND_TIMELINE,
                                     .keys = 1,
                                     .ttl_ms = plan->ttl_ms,
                                     .memory_storage = !plan->on_disk,
                                     .steps = v->needs};
  if (lb_isolation_probe()->kind != LB_ISOLATION_NONE) v->needs[v->scenario.step_count++] = (struct lb_step){.verb = LB_STEP_HEAL};
  if (plan->clocks) v->needs[v->scenario.step_count++] = (struct lb_step){.verb = LB_STEP_CLOCK_RATE};
  v->trial = (struct lb_trial_plan){
      .scenario = &v->scenario, .topology = plan->topology, .clients = plan->hosts, .seed = plan->seed, .name = "serve"};
}

static int set_stage(struct lb_serve *v) {
  struct lb_stage *s = &v->stage;
  size_t clients = (size_t)v->plan->hosts;
  s->plan = &v->trial;
  s->run_dir = v->plan->dir->partial;
  s->client_count = clients;
  s->primary = -1;
  s->verdict = LB_VERDICT_NONE;
  s->commits = s->requests = -1;
  lb_env_init(&s->env, v->plan->seed);
  snprintf(s->key_prefix, sizeof s->key_prefix, "lockbench:%08llx", (unsigned long long)(v->plan->seed & 0xffffffff));
  s->memory = lb_memory_map(clients, clients, 1);
  s->client = calloc(clients, sizeof *s->client);
  s->pending = calloc(clients, sizeof *s->pending);
  if (!s->memory || !s->client || !s->pending) return -ENOMEM;
  for (size_t i = 0; i < clients; i++) {
    s->client[i] = (struct lb_client){.driver = &lb_driver_command, .number = (uint32_t)i, .log = i};
    snprintf(s->client[i].name, sizeof s->client[i].name, "client-%zu", i + 1);
  }
  return 0;
}

/* The servers' logs lie where a trial's would. */
static int make_log_folder(struct lb_serve *v) {
  char path[4000];
  snprintf(path, sizeof path, "%s/logs/%s", v->plan->dir->partial, v->trial.name);
  return lb_make_dirs(path);
}

/* The command gets the environment as the user had it: a program in Java wants its class path. */
static int keep_environ(struct lb_serve *v) {
  size_t count = 0;
  while (environ[count]) count++;
  v->environ = calloc(count + 1, sizeof *v->environ);
  for (size_t i = 0; v->environ && i < count; i++)
    if (!(v->environ[i] = strdup(environ[i]))) return -ENOMEM;
  return v->environ ? 0 : -ENOMEM;
}

int lb_serve_open(struct lb_serve *v, char *err, size_t err_size) {
  struct lb_stage *s = &v->stage;
  write_scenario(v);
  int r = keep_environ(v);
  lb_environ_forget();
  if (r == 0) r = set_stage(v);
  if (r == 0) r = make_log_folder(v);
  if (r < 0) return lb_refuse(err, err_size, "cannot set the stage: %s", strerror(-r)), r;
  struct lb_site_needs needs = lb_site_needs(&v->trial);
  if (lb_site_open(s, &needs) < 0 || lb_site_enter(s) < 0) return lb_refuse(err, err_size, "%s", s->why), -EIO;
  return 0;
}

void lb_serve_close(struct lb_serve *v) {
  struct lb_stage *s = &v->stage;
  for (size_t i = 0; s->client && i < s->client_count; i++) lb_client_end(&s->client[i]);
  lb_site_close(s);
  for (size_t i = 0; s->client && i < s->client_count; i++) lb_skew_unmap(s->client[i].skew);
  lb_history_clear(&s->history);
  lb_memory_unmap(s->memory);
  free(s->client);
  free(s->pending);
  for (size_t i = 0; i < v->step_count; i++) free(v->step[i]->text), free(v->step[i]);
  free(v->step);
  for (size_t i = 0; v->environ && v->environ[i]; i++) free(v->environ[i]);
  free(v->environ);
}
