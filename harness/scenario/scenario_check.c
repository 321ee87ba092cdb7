/* SPDX-License-Identifier: MIT
 *
 * What no single line of a scenario can know: a step against the number of clients and the steps before it, a proof
 * against the steps that could observe it. A timeline that cannot mean what it says is refused before any server is
 * started: a trial of it would end undecided, or worse, safe.
 *
 * The steps are read as a story, one after the other, with what the earlier ones have done. What a step needs and does
 * stands in its row (step.c); here is only what follows from it. Nothing is simulated: a holder, a primary or a crash
 * at a point depends on the run.
 */
#include "reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- a story ------------------------------------------------------------------------------- */

/* What the steps before this one have done. */
struct story {
  const struct lb_scenario *scenario;
  size_t at;                          /* number of this step */
  unsigned asked[LB_CLIENTS_MAX + 1]; /* for which locks client N has asked, a bit each */
  bool dead[LB_CLIENTS_MAX + 1];
  const struct lb_step *repeats[LB_CLIENTS_MAX + 1]; /* what client N does to the end; NULL = nothing */
  bool fault;                                        /* something was done to some server */
  int primaries;                                     /* so many that led one after the other have been named */
  struct lb_error *err;
};

/* A file may ask for several numbers of clients. A named client has to be there with the smallest number. */
static int fewest_clients(const struct lb_scenario *scenario) {
  int fewest = scenario->client_counts[0];
  for (size_t i = 1; i < scenario->client_count_count; i++)
    if (scenario->client_counts[i] < fewest) fewest = scenario->client_counts[i];
  return fewest;
}

static int __attribute__((format(printf, 3, 4)))
refuse(struct story *t, const struct lb_step *step, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(t->err, -EINVAL, format, args);
  va_end(args);
  return t->err ? lb_error_prefix(t->err, "step = %s: ", step->text) : -EINVAL;
}

/* A role like `holder` or `waiters` names no number, and always fits. */
static int check_client(struct story *t, const struct lb_step *step, struct lb_role role) {
  int clients = fewest_clients(t->scenario);
  if (role.kind != LB_ROLE_CLIENT && role.kind != LB_ROLE_SERVER_OF) return 0;
  if (role.number > clients) return refuse(t, step, "names client %d, but clients = %d", role.number, clients);
  if (role.kind == LB_ROLE_CLIENT && t->dead[role.number] && !lb_step_needs(step, LB_NEED_DEAD))
    return refuse(t, step, "client %d was killed by an earlier step", role.number);
  return 0;
}

/* release, read, write and waiting for them mean nothing for a client that never asked. */
static int check_asked(struct story *t, const struct lb_step *step) {
  bool both = step->b.kind == LB_ROLE_CLIENT && (!t->asked[step->b.number] || step->verb == LB_STEP_RELEASE_OF);
  int n = both ? step->b.number : step->a.number;
  bool of_lock = lb_step_form_has(lb_step_row(step), "[lock");
  if (of_lock && step->lock > 0 && !(t->asked[n] & 1u << step->lock))
    return refuse(t, step,
                  "client %d never asked for lock %d: expected client %d [begin] acquire lock %d within T before it", n,
                  step->lock + 1, n, step->lock + 1);
  if (of_lock ? t->asked[n] & 1u << step->lock : t->asked[n]) return 0;
  return refuse(t, step,
                "client %d never asked for the lock: expected client %d [begin] acquire within T before "
                "it",
                n, n);
}

/* A client that goes on to the end hears no further order, and cannot be asked for its clock. */
static int check_repeats(struct story *t, const struct lb_step *step) {
  const struct lb_step *to_the_end = step->a.kind == LB_ROLE_CLIENT ? t->repeats[step->a.number] : NULL;
  bool ordered = lb_step_row(step)->class == LB_STEP_COMMAND || lb_step_needs(step, LB_NEED_POINT | LB_NEED_CLOCKS);
  if (!to_the_end || !ordered) return 0;
  return refuse(t, step, "client %d does '%s' to the end: expected another client", step->a.number, to_the_end->text);
}

/* A gate at which a client stands cannot be followed by another one. */
static int check_gate(struct story *t, const struct lb_step *step) {
  const struct lb_step *gate = NULL;
  bool passes = lb_step_needs(step, LB_NEED_GATE);
  for (size_t i = 0; i < t->at; i++) {
    const struct lb_step *earlier = &t->scenario->steps[i];
    if (earlier->a.number != step->a.number) continue;
    if (earlier->verb == LB_STEP_GATE_AT) gate = earlier;
    if (earlier->verb == LB_STEP_PASS) gate = NULL;
  }
  if (passes && !gate) return refuse(t, step, "expected an earlier gate of client %d", step->a.number);
  if (!passes && gate)
    return refuse(t, step, "client %d is at '%s': expected pass client %d before it", step->a.number, gate->text,
                  step->a.number);
  return 0;
}

/* A client that an earlier step names has a session. (`let` and `await` are about an earlier question, so they cannot
 * come first.) */
static int check_first(struct story *t, const struct lb_step *step) {
  for (size_t i = 0; i < t->at; i++) {
    const struct lb_step *earlier = &t->scenario->steps[i];
    if (lb_step_row(earlier)->class != LB_STEP_COMMAND || earlier->a.number != step->a.number) continue;
    return refuse(t, step, "client %d has done '%s' before: expected its first step to open its session",
                  step->a.number, earlier->text);
  }
  return 0;
}

static int check_dead(struct story *t, const struct lb_step *step) {
  int n = step->a.number;
  if (t->dead[n]) return 0;
  return refuse(t, step, "client %d lives: expected kill client %d before it", n, n);
}

/* The server whose files were copied is known only when the step is played. */
static int check_backup(struct story *t, const struct lb_step *step) {
  for (size_t i = 0; i < t->at; i++)
    if (t->scenario->steps[i].verb == LB_STEP_BACK_UP) return 0;
  char name[32];
  lb_role_format(step->a, name, sizeof name);
  return refuse(t, step, "expected back up %s before it", name);
}

/* The client behind `holder` or `waiters` is not known here, so it counts as alive. */
static void mark_dead(struct story *t, struct lb_role role) {
  if (role.kind == LB_ROLE_CLIENT) t->dead[role.number] = true;
  if (role.kind == LB_ROLE_CLIENTS) memset(t->dead, true, sizeof t->dead);
}

/* `any` is drawn: a story has to say whom it means. */
static int check_named(struct story *t, const struct lb_step *step) {
  if (!lb_role_is_any(step->a) && !lb_role_is_any(step->b)) return 0;
  return refuse(t, step, "'any' is drawn in a campaign only: expected a number");
}

/* Without a fault before it, nothing would cause the failover that the step waits for. The faults it suggests are those
 * that are done to a host. */
static int check_failover(struct story *t, const struct lb_step *step) {
  bool of_hosts[LB_VERB_COUNT] = {false};
  char faults[LB_SCENARIO_ERR / 2];
  if (t->fault) return 0;
  for (enum lb_verb v = LB_STEP_NONE + 1; v < LB_VERB_COUNT; v++)
    of_hosts[v] = lb_step_rows[v].class == LB_STEP_FAULT && lb_step_form_has(&lb_step_rows[v], "A");
  lb_step_list(of_hosts, faults, sizeof faults);
  return refuse(t, step, "expected a fault of a server (%s) before it", faults);
}

/* So many primaries have been named when this step is done: a later one comes after those before it. */
static int named_primaries(const struct lb_step *step) {
  int later = lb_step_later_primary(step);
  if (later) return later;
  return lb_role_is_relative(step->a) || lb_role_is_relative(step->b) || step->verb == LB_STEP_AWAIT_FAILOVER ||
         step->verb == LB_STEP_LET_FAILOVER;
}

/* A later primary is known only against the one before it. */
static int check_primary(struct story *t, const struct lb_step *step) {
  int n = lb_step_later_primary(step);
  if (n < 2) return 0;
  if (t->primaries < n - 1 && n == 2)
    return refuse(t, step, "no step before it names primary, which primary 2 replaced");
  if (t->primaries < n - 1)
    return refuse(t, step, "no step before it names primary %d, which primary %d replaced", n - 1, n);
  return check_failover(t, step);
}

/* How many of the steps before this cure did something that it takes back and that still holds. A
 * `heal` without roles takes back all faults of links; a cure with two roles takes back one of these
 * two, so a second heal needs a second cut; and so does a late write that is delivered. */
static size_t count_open(const struct story *t, const struct lb_step *cure) {
  size_t open = 0;
  bool of_two = cure->b.kind != LB_ROLE_NONE, of_one = of_two || lb_step_form_has(lb_step_row(cure), "N");
  for (size_t i = 0; i < t->at; i++) {
    const struct lb_step *earlier = &t->scenario->steps[i];
    bool same = earlier->verb == cure->verb && lb_role_equal(earlier->a, cure->a) && lb_role_equal(earlier->b, cure->b);
    if (lb_step_undoes(cure, earlier)) open++;
    else if (of_two && earlier->verb == LB_STEP_HEAL) open = 0;
    else if (of_one && same) open--;
  }
  return open;
}

/* What could be taken back is asked of the table, verb by verb, with the roles of the cure: the
 * message can then name the fault that is missing. */
static int check_cure(struct story *t, const struct lb_step *step) {
  bool undone[LB_VERB_COUNT] = {false};
  char faults[LB_SCENARIO_ERR / 2];
  struct lb_step fault = *step;
  if (count_open(t, step) > 0) return 0;
  for (fault.verb = LB_STEP_NONE + 1; fault.verb < LB_VERB_COUNT; fault.verb++)
    undone[fault.verb] = lb_step_undoes(step, &fault);
  lb_step_list(undone, faults, sizeof faults);
  if (lb_step_form_has(lb_step_row(step), "N"))
    return refuse(t, step, "expected a 'client %d write late' before it that is not delivered yet", step->a.number);
  return refuse(t, step, "expected an earlier %s%s", faults,
                step->b.kind == LB_ROLE_NONE ? "" : " of these two roles, in this order, that still holds");
}

/* What a step changes for the ones after it. A client that was told to crash at a point is not dead: it may never pass
 * that point. The client behind `holder` is not known. */
static void mark(struct story *t, const struct lb_step *step) {
  const struct lb_step_row *row = lb_step_row(step);
  if (row->asks) t->asked[step->a.number] |= 1u << step->lock;
  if (step->verb == LB_STEP_MEANWHILE) t->repeats[step->a.number] = step;
  if (row->kills) mark_dead(t, step->a);
  if (row->needs & LB_NEED_DEAD) t->dead[step->a.number] = false, t->asked[step->a.number] = 0;
  t->fault |= lb_step_hits_server(step);
  if (named_primaries(step) > t->primaries) t->primaries = named_primaries(step);
}

/* The order decides which refusal the user sees: first whom the step means, then whether it can be
 * done at this place. What it changes is marked only if it can. */
static int check_step(struct story *t, const struct lb_step *step) {
  int r = check_named(t, step);
  if (r == 0) r = check_client(t, step, step->a);
  if (r == 0) r = check_client(t, step, step->b);
  if (r == 0) r = check_repeats(t, step);
  if (r == 0 && lb_step_needs(step, LB_NEED_ASKED)) r = check_asked(t, step);
  if (r == 0 && (step->verb == LB_STEP_GATE_AT || lb_step_needs(step, LB_NEED_GATE))) r = check_gate(t, step);
  if (r == 0 && lb_step_row(step)->opens) r = check_first(t, step);
  if (r == 0 && lb_step_needs(step, LB_NEED_DEAD)) r = check_dead(t, step);
  if (r == 0 && lb_step_needs(step, LB_NEED_FAILOVER)) r = check_failover(t, step);
  if (r == 0 && lb_step_needs(step, LB_NEED_BACKUP)) r = check_backup(t, step);
  if (r == 0) r = check_primary(t, step);
  if (r == 0 && lb_step_row(step)->class == LB_STEP_CURE) r = check_cure(t, step);
  if (r == 0) mark(t, step);
  return r;
}

/* In memory servers sync nothing: with the power everything would be gone, which is no question about a lock, and no
 * stalled disk would be met. */
static int check_syncs(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  for (size_t i = 0; scenario->memory_storage && i < scenario->step_count; i++) {
    if (!lb_step_needs(&scenario->steps[i], LB_NEED_SYNCS | LB_NEED_STALL)) continue;
    *ret_line = scenario->steps[i].line;
    return lb_refuse(err, "step = %s: in memory servers sync nothing: expected storage = disk in [servers]",
                     scenario->steps[i].text);
  }
  return 0;
}

static int check_steps(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  struct story story = {.scenario = scenario, .err = err};
  for (size_t i = 0; i < scenario->step_count; i++) {
    *ret_line = scenario->steps[i].line;
    story.at = i;
    int r = check_step(&story, &scenario->steps[i]);
    if (r < 0) return r;
  }
  *ret_line = 0;
  if (scenario->kind == LB_KIND_TIMELINE && scenario->client_count_count > 1)
    return lb_refuse(err, "clients: a timeline has one number of clients, not %zu", scenario->client_count_count);
  if (scenario->kind == LB_KIND_TIMELINE && scenario->client_counts[0] > LB_CLIENTS_MAX)
    return lb_refuse(err, "clients: a timeline has at most %d clients", LB_CLIENTS_MAX);
  return 0;
}

static int refuse_fault(const struct lb_step *fault, struct lb_error *err) {
  bool drawn[LB_VERB_COUNT];
  char faults[LB_SCENARIO_ERR / 2];
  for (enum lb_verb v = LB_STEP_NONE; v < LB_VERB_COUNT; v++) drawn[v] = lb_step_rows[v].drawn;
  lb_step_list(drawn, faults, sizeof faults);
  return lb_refuse(err, "fault = %s: not a fault of a campaign: expected %s", fault->text, faults);
}

/* Faults are drawn in any order, so only what each of them says by itself can be checked. */
static int check_faults(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  int clients = fewest_clients(scenario);
  for (size_t i = 0; i < scenario->fault_count; i++) {
    const struct lb_step *fault = &scenario->faults[i];
    const struct lb_role *client = fault->b.kind == LB_ROLE_CLIENT ? &fault->b : &fault->a;
    *ret_line = fault->line;
    if (!lb_step_row(fault)->drawn) return refuse_fault(fault, err);
    if (lb_step_needs(fault, LB_NEED_CLOCKS) && lb_role_is_client(fault->a))
      return lb_refuse(err, "fault = %s: a client at work tells nobody its time: expected a server", fault->text);
    if (fault->a.kind == LB_ROLE_SERVER_OF || fault->b.kind == LB_ROLE_SERVER_OF)
      return lb_refuse(err, "fault = %s: a client at work tells nobody its server: expected another role", fault->text);
    if (lb_step_later_primary(fault))
      return lb_refuse(err, "fault = %s: a campaign has no primary 2: expected primary", fault->text);
    if (client->kind == LB_ROLE_CLIENT && client->number > clients)
      return lb_refuse(err, "fault = %s: names client %d, but clients = %d", fault->text, client->number, clients);
  }
  *ret_line = 0;
  return 0;
}

/* "key absent on ROLE" needs an `observe key on ROLE`: without that look every violation would be undecided for want of
 * its proof. */
static int check_proof(const struct lb_scenario *scenario, struct lb_error *err) {
  if (!scenario->proof_violated) return 0;
  const struct lb_role *asked = &scenario->proof_role;
  for (size_t i = 0; i < scenario->step_count; i++) {
    const struct lb_role *observed = &scenario->steps[i].a;
    if (scenario->steps[i].verb == LB_STEP_OBSERVE_KEY && lb_role_equal(*observed, *asked)) return 0;
  }
  char role[32];
  lb_role_format(*asked, role, sizeof role);
  return lb_refuse(err, "violated = %s: no step observes it: expected step = observe key on %s",
                   scenario->proof_violated, role);
}

/* How many steps look at what the premise speaks of. */
static size_t count_observations(const struct lb_scenario *scenario, const struct lb_premise *premise) {
  size_t count = 0;
  for (size_t i = 0; i < scenario->step_count; i++) count += lb_premise_observed_by(premise, &scenario->steps[i]);
  return count;
}

static size_t count_alike(const struct lb_scenario *scenario, const struct lb_premise *premise) {
  size_t count = 0;
  for (size_t i = 0; i < scenario->premise_count; i++)
    count += lb_premise_same_subject(premise, &scenario->premises[i]);
  return count;
}

static int highest_client(const struct lb_premise *premise) {
  bool of_client = premise->server.kind == LB_ROLE_SERVER_OF && premise->server.number > premise->client;
  return of_client ? premise->server.number : premise->client;
}

/* The step that would: "observe client 1". 64 bytes are enough. */
static void format_premise_step(const struct lb_premise *p, char *buf, size_t size) {
  char server[32];
  lb_role_format(p->server, server, sizeof server);
  switch (p->kind) {
    case LB_PREMISE_KEY: snprintf(buf, size, "observe key on %s", server); break;
    case LB_PREMISE_HOLDS: snprintf(buf, size, "observe client %d", p->client); break;
    case LB_PREMISE_SERVER: snprintf(buf, size, "observe server of client %d", p->client); break;
    case LB_PREMISE_UNSYNCED: snprintf(buf, size, "power off %s", server); break;
    case LB_PREMISE_LEFT: snprintf(buf, size, "observe %s leaves within T", server); break;
    case LB_PREMISE_GRANTED:
    case LB_PREMISE_REFUSED: snprintf(buf, size, "client %d acquire within T", p->client); break;
  }
}

/* A premise that no step observes would make every trial undecided. What is observed several times has one premise,
 * which has to hold each time, or one for each time, in their order: then it is known before the run which of them
 * speaks of which. For a safe trial one step is enough. */
static int check_premises(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  char step[64];
  for (size_t i = 0; i < scenario->premise_count; i++) {
    const struct lb_premise *premise = &scenario->premises[i];
    size_t seen = count_observations(scenario, premise), alike = count_alike(scenario, premise);
    const char *key = lb_premise_use_name(premise->use);
    format_premise_step(premise, step, sizeof step);
    *ret_line = premise->line;
    if (highest_client(premise) > fewest_clients(scenario))
      return lb_refuse(err, "%s = %s: names client %d, but clients = %d", key, premise->text, highest_client(premise),
                       fewest_clients(scenario));
    if (seen == 0) return lb_refuse(err, "%s = %s: no step observes it: expected step = %s", key, premise->text, step);
    if (premise->use == LB_PREMISE_OF_ALL && alike > 1 && alike != seen)
      return lb_refuse(
          err, "premise = %s: %zu premises of it, but %zu steps %s: expected one for all of them, or one for each",
          premise->text, alike, seen, step);
  }
  *ret_line = 0;
  return 0;
}

/* A control must have no fault: other scenarios are compared with it, so a fault in it would spoil them all. */
static int check_control(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  if (!scenario->control) return 0;
  for (size_t i = 0; i < scenario->step_count; i++) {
    if (lb_step_row(&scenario->steps[i])->class != LB_STEP_FAULT) continue;
    *ret_line = scenario->steps[i].line;
    return lb_refuse(err, "step = %s: a fault, but control = yes: expected no fault in a control",
                     scenario->steps[i].text);
  }
  if (scenario->past_lease)
    return lb_refuse(err, "past_lease = yes: leases run out, but control = yes: expected one of them only");
  return 0;
}

/* A word that is no guard would ask under none. */
static int check_guards(const struct lb_scenario *scenario, struct lb_error *err) {
  const char *known[LB_GUARD_COUNT];
  char word[40];
  for (size_t i = 0; i < LB_GUARD_COUNT; i++) known[i] = lb_guard_name((enum lb_guard)i);
  for (const char *at = scenario->guards; at && *(at += strspn(at, ", \t"));) {
    size_t length = strcspn(at, ", \t");
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    at += length;
    if (lb_guard_find(word) >= 0) continue;
    const char *near = lb_text_suggest(word, known, LB_GUARD_COUNT);
    return lb_refuse(err, "guards = %s: no guard '%s'%s%s%s: expected none, deadline, signal, recheck, claim or fence",
                     scenario->guards, word, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  return 0;
}

/* A coroutine stops only where it waits, and its connections outlive it: a fault of a client has to be one of a process.
 */
static int check_driver(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  if (scenario->driver == LB_BY_PROCESS) return 0;
  for (size_t i = 0; i < scenario->fault_count; i++) {
    const struct lb_step *fault = &scenario->faults[i];
    *ret_line = fault->line;
    if (lb_role_is_client(fault->a) || lb_role_is_client(fault->b))
      return lb_refuse(err,
                       "fault = %s: expected driver = process, as no fault reaches one of many clients in a process",
                       fault->text);
    if (lb_step_needs(fault, LB_NEED_NETWORK))
      return lb_refuse(err, "fault = %s: expected driver = process, as the clients of one process share its host",
                       fault->text);
  }
  *ret_line = 0;
  if (scenario->apart)
    return lb_refuse(err,
                     "driver = coroutine: expected no round_trip_ms, as the clients of one process share its host");
  return 0;
}

static int check_readers(const struct lb_scenario *scenario, struct lb_error *err) {
  int clients = fewest_clients(scenario);
  if (scenario->readers <= clients) return 0;
  return lb_refuse(err, "readers = %d: expected at most as many as clients = %d", scenario->readers, clients);
}

int lb_scenario_check(const struct lb_scenario *scenario, int *ret_line, struct lb_error *err) {
  int r = check_steps(scenario, ret_line, err);
  if (r == 0) r = check_syncs(scenario, ret_line, err);
  if (r == 0) r = check_faults(scenario, ret_line, err);
  if (r == 0) r = check_driver(scenario, ret_line, err);
  if (r == 0) r = check_guards(scenario, err);
  if (r == 0) r = check_readers(scenario, err);
  if (r == 0) r = check_control(scenario, ret_line, err);
  if (r == 0) r = check_proof(scenario, err);
  if (r == 0) r = check_premises(scenario, ret_line, err);
  if (r == 0 && scenario->keys == 0 && scenario->min_handoffs > 0)
    r = lb_refuse(err, "min_handoffs = %d: with keys = own the clients never meet: expected 0", scenario->min_handoffs);
  return r;
}
