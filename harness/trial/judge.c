/* SPDX-License-Identifier: MIT
 *
 * The verdict of a trial, in the order that stands above decide_trial().
 *
 * What counts as a violation depends on the guard: without one, any loss of exclusion; under a guard, which protects
 * the resource and not the lock, damage at the resource. The client that was told why something failed says it: the
 * reason of what is undecided, stuck or delayed ends with a client's latest error.
 */
#include "judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/contract.h"
#include "check/circle.h"
#include "check/evidence.h"
#include "premises.h"
#include "gauge.h"

/* ---- the history out of shared memory ---------------------------------------------------------------------------- */

/* "redis-1, redis-3": those of these bits. */
static uint32_t names_of(struct lb_stage *s, uint64_t bits) {
  char text[LB_SERVERS_MAX * (sizeof s->cluster.server[0].name + 2)] = "";
  size_t length = 0;
  for (size_t i = 0; i < s->cluster.server_count; i++)
    if (bits >> i & 1)
      length +=
          (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", s->cluster.server[i].name);
  return length ? lb_names_add(&s->history.texts, text) : LB_NO_NAME;
}

/* A client logs the number of the server that answered it, or the bits of those that voted; what has a name is known
 * here. Grants of a campaign are many: those that say the same share a fact. */
static void name_servers(struct lb_stage *s) {
  struct lb_history *h = &s->history;
  enum { VOTES = 1 << LB_SERVERS_MAX };
  uint32_t fact_of[VOTES + LB_SERVERS_MAX + 1]; /* by the bits, by the number; the last: no server of ours */
  for (size_t i = 0; i < sizeof fact_of / sizeof *fact_of; i++) fact_of[i] = LB_NO_NAME;
  for (size_t i = 0; i < h->count; i++) {
    struct lb_event *e = &h->events[i];
    bool voted = e->kind == LB_EV_VOTED, known = e->value < (voted ? VOTES : s->cluster.server_count);
    if ((e->kind != LB_EV_SERVER && !voted) || e->fact != LB_NO_NAME) continue;
    uint32_t *shared = &fact_of[!known ? VOTES + LB_SERVERS_MAX : voted ? e->value : VOTES + e->value];
    if (*shared == LB_NO_NAME) {
      struct lb_fact fact = lb_no_fact;
      if (known) fact.host = names_of(s, voted ? e->value : UINT64_C(1) << e->value);
      *shared = lb_history_facts_add(h, &fact);
    }
    e->fact = *shared;
    e->value = 0;
  }
}

/* Logs name clients and keys by number. The names are given here, all of the clients and as many keys as were used.
 * They are in the order of their numbers, so that index and number are the same. */
int lb_judge_look(const struct lb_stage *s, struct lb_history *h) {
  size_t keys = 0;
  if (lb_memory_collect(s->memory, h) < 0) return -ENOMEM;
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].key != LB_NO_NAME && h->events[i].key >= keys) keys = h->events[i].key + 1;
  char name[32];
  for (size_t i = 0; i < s->client_count; i++)
    snprintf(name, sizeof name, "client-%zu", i + 1), lb_names_add(&h->clients, name);
  for (size_t i = 0; i < keys; i++) snprintf(name, sizeof name, "lock-%zu", i + 1), lb_names_add(&h->keys, name);
  return 0;
}

static int collect(struct lb_stage *s) {
  int r = lb_judge_look(s, &s->history);
  if (r == 0) name_servers(s);
  return r;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static void decide(struct lb_outcome *out, enum lb_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void decide(struct lb_outcome *out, enum lb_verdict verdict, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(out->why, sizeof out->why, format, args);
  va_end(args);
  out->verdict = verdict;
}

enum {
  LATE_NS = 20 * LB_NS_PER_MS,  /* a client wakes up within a beat of the heartbeat, if the machine runs */
  STALL_NS = 100 * LB_NS_PER_MS /* shorter ones are everyday, and shorter than what a timeline asks about */
};

/* A guard protects the resource, so a double hold that did no damage is not held against the system. The guard `fence`
 * rests on one promise of the lock itself: that fences grow. `past_lease`: what only began after the earlier holder's
 * lease counts, too. */
static bool is_violated(enum lb_guard guard, const struct lb_check *check, bool past_lease) {
  if (guard == LB_GUARD_NONE) return lb_check_violated(check, past_lease);
  return lb_check_damaged(check, past_lease) || (guard == LB_GUARD_FENCE && check->token_regressions > 0);
}

/* Half a ttl is time enough for a lease to run out that was to be renewed or given back. */
static bool is_stalled(const struct lb_stage *s, const struct lb_outcome *out) {
  return out->stall_ns > (uint64_t)s->plan->scenario->ttl_ms * LB_NS_PER_MS / 2;
}

/* A stall is no excuse for a lock that never expires: only a lease or a session can run out while the machine stands
 * still. */
static bool expires(const struct lb_stage *s) {
  return s->plan->protocol->traits & (LB_TRAIT_LEASED | LB_TRAIT_SESSION);
}

/* A session, or a library that renews, keeps its hold up and need not say so. */
static bool ends_with_its_lease(const struct lb_stage *s) {
  enum { KEPT_UP = LB_TRAIT_SESSION | LB_TRAIT_RENEWED };
  return s->plan->protocol->traits & LB_TRAIT_LEASED && !(s->plan->protocol->traits & KEPT_UP);
}

static void decide_stalled(struct lb_outcome *out, const char *what) {
  decide(out, LB_UNDECIDED, "%s, but the machine stalled for %.0f ms, more than half the ttl", what,
         (double)out->stall_ns / 1e6);
}

/* "client-2" from its index, or "the observer", whose state stands behind those of the clients. */
static const char *speaker(const struct lb_stage *s, size_t index, char name[32]) {
  if (index == s->client_count) return "the observer";
  snprintf(name, 32, "client-%zu", index + 1);
  return name;
}

/* A client of ours gave up behind its deadline, and a stall explains it: no client asked while the lock may have been
 * free. A fault makes a client late, too, but the machine does not stall with it. */
static bool was_late(const struct lb_stage *s, const struct lb_outcome *out, size_t *ret_client) {
  for (size_t i = 0; i < s->client_count && !(s->plan->protocol->traits & LB_TRAIT_FOREIGN); i++) {
    lb_ns late_ns = atomic_load(&s->memory->state[i].late_ns);
    *ret_client = i;
    if (late_ns > LATE_NS && out->stall_ns >= STALL_NS && out->stall_ns >= (uint64_t)late_ns) return true;
  }
  return false;
}

/* The grant came later by no more than a stall takes, or on a machine that kept a client of ours from its deadline. */
static bool is_delayed_by_stall(const struct lb_stage *s, const struct lb_outcome *out, lb_ns late_ns) {
  size_t late;
  return (out->stall_ns >= STALL_NS && out->stall_ns >= (uint64_t)late_ns) || was_late(s, out, &late);
}

/* No client got the lock in time. The timeline has asked again (timeline.c): would one have got it later? */
static void decide_closing(const struct lb_stage *s, const char *what, struct lb_outcome *out) {
  struct lb_closing closing;
  char name[32];
  lb_evidence_closing(&s->history, (uint64_t)s->plan->scenario->ttl_ms * LB_NS_PER_MS, &closing);
  double asked_s = (double)(closing.at - closing.begin) / 1e9;
  if (closing.end == LB_CLOSING_GRANTED && is_delayed_by_stall(s, out, (lb_ns)(closing.at - closing.begin)))
    decide(out, LB_UNDECIDED, "%s; %s was granted %.1f s later, but the machine stalled for %.0f ms", what,
           speaker(s, closing.client, name), asked_s, (double)out->stall_ns / 1e6);
  else if (closing.end == LB_CLOSING_GRANTED)
    decide(out, LB_DELAYED, "%s; %s was granted %.1f s later", what, speaker(s, closing.client, name), asked_s);
  else if (closing.end == LB_CLOSING_REFUSED)
    decide(out, LB_STUCK,
           "%s; %.1f s more changed nothing, though every lease and session should be over that is not kept up", what,
           asked_s);
  else decide(out, LB_UNDECIDED, "%s; whether a lease would have ended that is not known", what);
}

/* Progress was not restored: a step waited and timed out, or the last client that asked got nothing. */
static void decide_stuck(const struct lb_stage *s, const struct lb_in_vain *last, struct lb_outcome *out) {
  char name[32], what[700], among[400];
  struct lb_circle circle;
  if (s->verdict == LB_STUCK) snprintf(what, sizeof what, "%s", s->why);
  else
    snprintf(what, sizeof what,
             "%s asked for %.1f s and got nothing, though for the last %.1f s nobody had a right to the lock",
             speaker(s, last->client, name), (double)last->asked_ns / 1e9, (double)last->free_ns / 1e9);
  if (lb_circle_find(&s->history, &circle)) {
    lb_circle_format(&s->history, &circle, among, sizeof among);
    snprintf(what, sizeof what, "a deadlock: %s", among);
  }
  if (is_stalled(s, out)) decide_stalled(out, what);
  else decide_closing(s, what, out);
}

/* True if a renewal got no answer in time although no fault was played: its server stood still, which is a fault that
 * is not of the plan. */
static bool unanswered_by(const struct lb_history *h) {
  bool unanswered = false;
  for (size_t i = 0; i < h->count; i++) {
    if (h->events[i].kind == LB_EV_FAULT) return false;
    unanswered |= h->events[i].kind == LB_EV_NOT_RENEWED && h->events[i].check == LB_CHECK_NO_ANSWER;
  }
  return unanswered;
}

/* Exclusion was lost: is that evidence? The doubts come first. */
static void decide_violation(const struct lb_stage *s, const struct lb_check *check, struct lb_outcome *out) {
  const struct lb_scenario *scenario = s->plan->scenario;
  char role[32];
  lb_role_format(scenario->proof_role, role, sizeof role);
  if (expires(s) && is_stalled(s, out)) decide_stalled(out, "exclusion was lost");
  else if (unanswered_by(&s->history))
    decide(out, LB_UNDECIDED,
           "exclusion was lost, but a renewal got no answer, and no fault was played: its server stood still");
  else if (scenario->proof_violated && !lb_evidence_observed(&s->history, role, scenario->proof_present))
    decide(out, LB_UNDECIDED, "exclusion was lost, but \"%s\" was not observed", scenario->proof_violated);
  else if (!is_violated(s->plan->guard, check, scenario->past_lease)) decide(out, LB_UNDECIDED, "%s", LB_CHECK_LATE);
  else decide(out, LB_VIOLATED, "%s", "");
}

/* No other client had been granted since, and no fault was played: the holder's number was too small when it was
 * granted. */
static void decide_refused(const struct lb_stage *s, uint64_t refused, struct lb_outcome *out) {
  char what[200];
  snprintf(what, sizeof what,
           "without a fault the resource refused the holder %llu time%s: the number of its grant was not the largest",
           (unsigned long long)refused, refused == 1 ? "" : "s");
  if (expires(s) && is_stalled(s, out)) decide_stalled(out, what);
  else decide(out, LB_VIOLATED, "%s", what);
}

/* True if some client's protocol broke its contract: nothing that it did afterwards says anything. */
static bool decide_breach(const struct lb_stage *s, struct lb_outcome *out) {
  char name[32];
  for (size_t i = 0; i <= s->client_count; i++) {
    const char *breach = s->memory->state[i].breach;
    if (!breach[0]) continue;
    decide(out, LB_UNDECIDED, "%s: breach of the %s: %s", speaker(s, i, name),
           s->plan->protocol->traits & LB_TRAIT_FOREIGN ? "line protocol (peers/README.md)"
                                                        : "contract (backends/backend.h)",
           breach);
    return true;
  }
  return false;
}

/* The first client that was told an error speaks for all; the reason is not made longer by a text that it contains
 * already. */
static void add_errors(const struct lb_stage *s, struct lb_outcome *out) {
  size_t first = 0, others = 0, length = strlen(out->why);
  char name[32], more[40] = "";
  while (first <= s->client_count && !s->memory->state[first].error[0]) first++;
  if (first > s->client_count || strstr(out->why, s->memory->state[first].error)) return;
  for (size_t i = first + 1; i <= s->client_count; i++) others += s->memory->state[i].error[0] != '\0';
  if (others) snprintf(more, sizeof more, " (and of %zu other%s)", others, others == 1 ? "" : "s");
  snprintf(out->why + length, sizeof out->why - length, "; last error of %s%s: %s", speaker(s, first, name), more,
           s->memory->state[first].error);
}

static const char *played(const struct lb_scenario *scenario) {
  static const char *const names[] = {
      [LB_KIND_LOAD] = "load", [LB_KIND_TIMELINE] = "timeline", [LB_KIND_CAMPAIGN] = "campaign"};
  return names[scenario->kind];
}

/* Under a load a client has to be granted the lock from time to time. */
static int64_t progress_ms(const struct lb_scenario *scenario) {
  return scenario->kind == LB_KIND_CAMPAIGN ? lb_scenario_progress_ms(scenario) : lb_scenario_patience_ms(scenario);
}

static bool stands_still(const struct lb_stage *s, const struct lb_outcome *out) {
  int64_t allowed_ms = progress_ms(s->plan->scenario);
  return s->plan->scenario->kind != LB_KIND_TIMELINE && allowed_ms && out->grants > 0 &&
         out->no_grant_ns > allowed_ms * (int64_t)LB_NS_PER_MS;
}

/* The bound is many leases long: only a stall of its own size explains it. Which kind: by the keys that were not
 * granted again. */
static void decide_standstill(const struct lb_stage *s, const struct lb_stats *stats, struct lb_outcome *out) {
  int64_t allowed_ms = progress_ms(s->plan->scenario), open_ns = stats->no_grant_open_ns;
  bool open = open_ns > allowed_ms * (int64_t)LB_NS_PER_MS;
  char what[200];
  snprintf(what, sizeof what, "for %.1f s the lock was asked for and granted to nobody; this %s allows %.1f s",
           (double)out->no_grant_ns / 1e9, played(s->plan->scenario), (double)allowed_ms / 1e3);
  if (out->stall_ns > (uint64_t)allowed_ms * LB_NS_PER_MS / 2) decide_stalled(out, what);
  else if (!open) decide(out, LB_DELAYED, "%s; then it was granted again", what);
  else if (open_ns >= s->plan->scenario->ttl_ms * (int64_t)LB_NS_PER_MS * 3 / 2) decide(out, LB_STUCK, "%s", what);
  else decide(out, LB_UNDECIDED, "%s; whether a lease would have ended that is not known", what);
}

/* Others are granted the lock, and one client waits for longer than the scenario allows. */
static bool leaves_out(const struct lb_stage *s, const struct lb_stats *stats) {
  int64_t allowed_ms = lb_scenario_patience_ms(s->plan->scenario);
  return allowed_ms && stats->left_out.ns > allowed_ms * (int64_t)LB_NS_PER_MS;
}

static void decide_left_out(const struct lb_stage *s, const struct lb_stats *stats, struct lb_outcome *out) {
  int64_t allowed_ms = lb_scenario_patience_ms(s->plan->scenario);
  bool open = stats->left_out_open.ns > allowed_ms * (int64_t)LB_NS_PER_MS;
  const struct lb_turn *turn = open ? &stats->left_out_open : &stats->left_out;
  char what[200];
  snprintf(what, sizeof what, "%s asked%s for %.1f s, while others were granted the lock; this %s allows %.1f s",
           s->history.clients.name[turn->client], turn->shared ? " as a reader" : "", (double)turn->ns / 1e9,
           played(s->plan->scenario), (double)allowed_ms / 1e3);
  if (out->stall_ns > (uint64_t)allowed_ms * LB_NS_PER_MS / 2) decide_stalled(out, what);
  else decide(out, open ? LB_STUCK : LB_DELAYED, open ? "%s" : "%s; then it was granted", what);
}

/* So many servers have to be out of a client's reach before none can answer for the lock: all of them, or of servers
 * that decide each for itself so many that no majority is left. */
static size_t servers_to_cut_off(const struct lb_stage *s) {
  size_t count = s->cluster.data_count;
  return count > 1 && s->target.replicas == 0 ? count - count / 2 : count;
}

static bool doubt_guard(struct lb_error *why, const char *text) {
  lb_refuse(why, "%s", text);
  return false;
}

static bool resource_was_tested(const struct lb_stage *s, bool held_twice, struct lb_error *why) {
  if (!held_twice || lb_evidence_refused(&s->history)) return true;
  return doubt_guard(why, "two clients held at once, and the resource refused none that another one had overtaken: "
                          "it was not the guard that kept it whole");
}

static bool checks_were_tested(const struct lb_stage *s, bool held_twice, struct lb_error *why) {
  const char *names[LB_SERVERS_MAX];
  uint32_t client;
  for (size_t i = 0; i < s->cluster.data_count; i++) names[i] = s->cluster.server[i].name;
  switch (lb_evidence_guard(&s->history, names, s->cluster.data_count, servers_to_cut_off(s), &client)) {
    case LB_GUARD_WORKED: return true;
    case LB_GUARD_STOPPED_NOBODY:
      if (!held_twice) return true;
      return doubt_guard(why, "two clients held at once, and the guard stopped none that another one had overtaken: "
                              "it was not the guard that kept the resource whole");
    case LB_GUARD_NOT_ASKED:
      return doubt_guard(why, "nobody came to a check of the guard, so it had nothing to decide");
    case LB_GUARD_NOT_ANSWERED:
      return doubt_guard(why, "no check of the guard was ever answered, so it protected nothing");
    case LB_GUARD_STOPPED_UNANSWERED:
      lb_refuse(why, "the guard stopped %s because nobody answered, though it was not cut off: that is no protection",
                s->history.clients.name[client]);
  }
  return false;
}

/* False, with a reason in `why`, if the guard of this trial was not tested; the table in premises.c says when. True
 * without a guard. `held_twice`: two clients held the lock at once, in a timeline. */
static bool guard_was_tested(const struct lb_stage *s, bool held_twice, struct lb_error *why) {
  switch (s->plan->guard) {
    case LB_GUARD_NONE: return true;
    case LB_GUARD_CLAIM:
    case LB_GUARD_FENCE: return resource_was_tested(s, held_twice, why);
    case LB_GUARD_DEADLINE:
    case LB_GUARD_SIGNAL:
    case LB_GUARD_RECHECK: return checks_were_tested(s, held_twice, why);
  }
  return false;
}

/* A refusal beside a holder, or what the scenario names as a test in its place. */
static bool was_tested(const struct lb_stage *s, struct lb_error *why) {
  const struct lb_scenario *scenario = s->plan->scenario;
  bool asked;
  if (lb_premises_have(scenario, LB_PREMISE_OF_TEST))
    return lb_premises_shown(scenario, &s->history, LB_PREMISE_OF_TEST, why);
  if (lb_evidence_contested(&s->history, &asked)) return true;
  lb_refuse(why, asked ? "clients asked while another one held the lock, and nobody answered"
                       : "no client asked while another one held the lock or might have held it");
  return false;
}

/* Nothing went wrong: was anything put to the test, on a machine that kept time? */
static void decide_safe(const struct lb_stage *s, const struct lb_judgement *found, struct lb_outcome *out) {
  const struct lb_scenario *scenario = s->plan->scenario;
  struct lb_error doubt;
  uint32_t out_client, holder;
  size_t late;
  uint64_t ttl_ns = (uint64_t)scenario->ttl_ms * LB_NS_PER_MS;
  bool is_timeline = scenario->kind == LB_KIND_TIMELINE, held_twice = is_timeline && found->check.double_holds > 0;
  uint64_t needed = s->client_count > 1 && scenario->min_handoffs > 0 ? (uint64_t)scenario->min_handoffs : 0;
  if (out->handoffs < needed)
    decide(out, LB_UNDECIDED, "%llu hand-offs, the scenario asks for %llu", (unsigned long long)out->handoffs,
           (unsigned long long)needed);
  else if (is_timeline && (out->uncontested = !was_tested(s, &doubt))) decide(out, LB_UNDECIDED, "%s", doubt.text);
  else if (!held_twice && !lb_premises_shown(scenario, &s->history, LB_PREMISE_OF_SAFE, &doubt))
    decide(out, LB_UNDECIDED, "%s", doubt.text);
  else if (is_timeline && !held_twice && !lb_premises_answered(scenario, &s->history, &doubt))
    decide(out, LB_UNDECIDED, "%s", doubt.text);
  else if (is_timeline && !held_twice && s->plan->guard == LB_GUARD_NONE && ends_with_its_lease(s) &&
           lb_evidence_kept_out_by_nobody(&s->history, ttl_ns, &out_client, &holder))
    decide(out, LB_UNDECIDED, "%s gave up long after the lease of %s was over, so it was not %s that kept it out",
           s->history.clients.name[out_client], s->history.clients.name[holder], s->history.clients.name[holder]);
  else if (!is_timeline && found->stats.grants == 0)
    decide(out, LB_UNDECIDED, "nothing was granted while it was measured");
  else if (!guard_was_tested(s, held_twice, &doubt)) decide(out, LB_UNDECIDED, "%s", doubt.text);
  else if (expires(s) && is_stalled(s, out)) decide_stalled(out, "nothing went wrong");
  else if (is_timeline && !held_twice && expires(s) && was_late(s, out, &late))
    decide(out, LB_UNDECIDED,
           "nothing went wrong, but %s did not ask up to its deadline: the machine stalled for %.0f ms",
           s->history.clients.name[late], (double)out->stall_ns / 1e6);
  else if (scenario->kind == LB_KIND_LOAD && found->stats.never_granted)
    decide(out, LB_SAFE, "%u of %zu clients never got the lock: each request of theirs was refused",
           found->stats.never_granted, s->client_count);
  else decide(out, LB_SAFE, "%s", "");
}

/* The first that applies:
 *  undecided  the protocol broke its contract, a step could not be proved, a server or client failed, a premise of the
 *             scenario was not observed (whatever else came out), or a violation is not evidence: the machine stalled
 *             for more than half a lease, a renewal got no answer though no fault was played, the fact that the
 *             scenario asks for was not seen, or the lease was over anyway
 *  violated   the checker says so, or without a fault the guard `fence` kept out the very holder
 *  stuck, delayed  progress was not restored within the bound: a step timed out; the last client that asked got
 *             nothing although no client had a right to the lock; or under a load no client was granted for longer
 *             than it allows; or one client waited for longer than the scenario allows while others were granted.
 *             Delayed: a client was granted after that. Stuck: none was, though every lease and session without
 *             renewal had ended. Undecided: there was no time to see that (lb_evidence_closing()), or a stall explains
 *             the delay
 *  undecided  nothing was put to the test: no grant (at all, or while it was measured); fewer hand-offs than the
 *             scenario asks for; in a timeline no client that asked while another one held and was answered, or none
 *             while a clock was wrong or since a restart; a contender that no holder kept out; where no two held at once, not what the scenario asks of a safe
 *             trial; or the guard was not tested (premises.c). Or the machine stalled
 *  safe */
static void decide_trial(const struct lb_stage *s, const struct lb_judgement *found, struct lb_outcome *out) {
  const struct lb_scenario *scenario = s->plan->scenario;
  struct lb_in_vain last;
  struct lb_error doubt;
  uint64_t ttl_ns = (uint64_t)scenario->ttl_ms * LB_NS_PER_MS,
           refused = s->plan->guard == LB_GUARD_FENCE ? lb_evidence_refused_holder(&s->history) : 0;
  bool is_stuck = s->verdict == LB_STUCK || (scenario->kind == LB_KIND_TIMELINE && out->grants > 0 &&
                                             lb_evidence_in_vain(&s->history, ttl_ns, &last));
  out->premises_observed = lb_premises_observed(scenario, &s->history, &doubt);
  if (decide_breach(s, out)) return;
  if (s->verdict == LB_UNDECIDED) decide(out, LB_UNDECIDED, "%s", s->why);
  else if (!out->premises_observed) decide(out, LB_UNDECIDED, "%s", doubt.text);
  else if (is_violated(s->plan->guard, &found->check, true)) decide_violation(s, &found->check, out);
  else if (refused) decide_refused(s, refused, out);
  else if (is_stuck) decide_stuck(s, &last, out);
  else if (stands_still(s, out)) decide_standstill(s, &found->stats, out);
  else if (leaves_out(s, &found->stats)) decide_left_out(s, &found->stats, out);
  else if ((out->uncontested = out->grants == 0))
    decide(out, LB_UNDECIDED, "nothing was ever granted, so nothing was tested");
  else decide_safe(s, found, out);
  if (out->verdict == LB_UNDECIDED || out->verdict == LB_STUCK || out->verdict == LB_DELAYED) add_errors(s, out);
  lb_contract_clean_text(out->why, sizeof out->why); /* it may have been cut off inside a character */
}

void lb_judge_unwritten(struct lb_outcome *out, int error) {
  decide(out, LB_UNDECIDED, "the trial's results could not be written: %s", strerror(-error));
}

/* Each hand-off takes what it asks and writes, and a share of whatever else is asked and written beside it. */
static void count_per_handoff(const struct lb_stats *stats, struct lb_outcome *out) {
  if (out->commits >= 0 && stats->handoffs > 0)
    out->commits_per_handoff = (double)out->commits / (double)stats->handoffs;
  if (out->requests >= 0 && stats->handoffs > 0)
    out->requests_per_handoff = (double)out->requests / (double)stats->handoffs;
}

int lb_judge(struct lb_stage *s, struct lb_judgement *ret, struct lb_outcome *out) {
  *ret = (struct lb_judgement){0};
  int r = collect(s);
  if (r < 0) return r;
  lb_check_history(&s->history, &ret->check);
  lb_stats_history(&s->history, &ret->stats);
  lb_counters_take(&out->counters, &ret->check.counters, LB_FROM_CHECK);
  if (s->plan->scenario->kind != LB_KIND_TIMELINE)
    lb_stats_counters(&ret->stats, &out->counters), count_per_handoff(&ret->stats, out);
  out->longest_wait_ns = ret->stats.longest.ns;
  decide_trial(s, ret, out);
  if (s->plan->scenario->kind == LB_KIND_LOAD) lb_gauge_judge(s, &ret->stats, out);
  return 0;
}

void lb_judgement_clear(struct lb_judgement *judgement) {
  lb_check_clear(&judgement->check);
  lb_stats_clear(&judgement->stats);
}
