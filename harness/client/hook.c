/* SPDX-License-Identifier: MIT
 *
 * Every call of a hook: say which hook, call it, take its text, check what it answered. A client deals with a protocol
 * through these calls alone. So a plugin that hangs, dies, lies or answers nonsense is caught here or named from here.
 */
#include "hook.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static struct lb_client_state *state_of(const struct lb_holder *h) { return &h->memory->state[h->client]; }

enum { LATE_MS = 500 }; /* a busy machine is a little late, too */

/* ---- who calls --------------------------------------------------------------------------------------------------- */

static bool is_child; /* this process was forked by a hook of the client's */

static void on_fork(void) { is_child = true; }

void lb_hook_own_process(void) {
  static bool registered;
  if (!registered) registered = pthread_atfork(NULL, NULL, on_fork) == 0;
  is_child = false;
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Before the call: shared memory gets the hook and its deadline, in true time. The controller reads them when this
 * client hangs. */
static void enter(struct lb_holder *h, enum lb_hook hook, lb_ns deadline) {
  h->hook_deadline = deadline;
  lb_ns bound = h->to_truth && deadline != LB_NEVER ? h->to_truth(h->env, deadline) : deadline;
  atomic_store_explicit(&state_of(h)->hook_deadline, bound, memory_order_relaxed);
  atomic_store_explicit(&state_of(h)->hook, hook, memory_order_relaxed);
  h->env->err[0] = '\0';
}

/* A result that says nothing of the lock (a failure, no time, not known) usually has a text; one that does has none. */
static void keep_error(struct lb_holder *h, enum lb_hook hook, int result) {
  char *err = h->env->err;
  if (result >= 0 && result != LB_TIMEOUT && result != LB_UNKNOWN) return;
  lb_contract_clean_text(err, sizeof h->env->err);
  if (!err[0] && result >= 0) return;
  if (!err[0]) snprintf(err, sizeof h->env->err, "%s (it left no text)", strerror(-result));
  snprintf(h->error, sizeof h->error, "%s: %.180s", lb_hook_name(hook), err);
  memcpy(state_of(h)->error, h->error, sizeof h->error);
}

/* A deadline that was not kept explains much, and a protocol that does not keep it has no text for that. */
static void keep_lateness(struct lb_holder *h, enum lb_hook hook, lb_ns now) {
  if (h->env->err[0] || h->hook_deadline == LB_NEVER || now < h->hook_deadline + LATE_MS * LB_NS_PER_MS) return;
  snprintf(h->error, sizeof h->error, "%s: came back %llu ms past its deadline", lb_hook_name(hook),
           (unsigned long long)((now - h->hook_deadline) / LB_NS_PER_MS));
  memcpy(state_of(h)->error, h->error, sizeof h->error);
}

/* The first breach is the one that is told: what comes after it may be its consequence. */
static int breach(struct lb_holder *h, const char *complaint) {
  struct lb_client_state *state = state_of(h);
  h->breached = true;
  if (!state->breach[0]) snprintf(state->breach, sizeof state->breach, "%s", complaint);
  snprintf(h->error, sizeof h->error, "breach of the contract: %s", complaint);
  return lb_fail(h->env, -EPROTO, "%s", h->error);
}

static bool text_ends(const struct lb_env *env) { return strnlen(env->err, sizeof env->err) < sizeof env->err; }

/* A child that comes back would write into the client's log and answer in its place. */
static _Noreturn void come_back_twice(struct lb_holder *h, enum lb_hook hook) {
  char complaint[200];
  snprintf(complaint, sizeof complaint, "%s came back twice: from a child that it forked, too", lb_hook_name(hook));
  breach(h, complaint);
  _exit(0);
}

/* After the call. A child of the hook is stopped first, before it can touch anything. */
static void come_back(struct lb_holder *h, enum lb_hook hook) {
  if (is_child) come_back_twice(h, hook);
  atomic_store_explicit(&state_of(h)->hook, LB_HOOK_NONE, memory_order_relaxed);
}

/* The result is looked at before the text that belongs to it. */
static int leave(struct lb_holder *h, enum lb_hook hook, int result) {
  struct lb_error complaint;
  come_back(h, hook);
  if (lb_contract_result(hook, result, &complaint) < 0) return breach(h, complaint.text);
  if (result == -EPROTO && h->protocol->traits & LB_TRAIT_FOREIGN && text_ends(h->env)) {
    lb_contract_clean_text(h->env->err, sizeof h->env->err);
    lb_refuse(&complaint, "%s: %.180s", lb_hook_name(hook), h->env->err);
    return breach(h, complaint.text);
  }
  if (!text_ends(h->env)) {
    lb_refuse(&complaint, "%s left a text in env->err that does not end", lb_hook_name(hook));
    return breach(h, complaint.text);
  }
  keep_error(h, hook, result);
  if (result != LB_OK) keep_lateness(h, hook, lb_now(h->env));
  return result;
}

/* On a clock that has been set back, what was asked lies in the future, and the protocol cannot know. */
static bool clock_is_sound(struct lb_holder *h, lb_ns now) {
  bool sound = now >= h->latest_now;
  h->latest_now = now;
  return sound;
}

/* What a grant says about time can only be held against a clock that has not gone backwards since the latest look at
 * it. */
static int check_grant(struct lb_holder *h, enum lb_hook hook, struct lb_grant *grant, lb_ns before, int64_t ttl_ms) {
  struct lb_error what;
  char complaint[200];
  lb_ns now = lb_now(h->env);
  bool sound = clock_is_sound(h, before);
  keep_lateness(h, hook, now);
  if (!clock_is_sound(h, now) || !sound ||
      lb_contract_grant(h->protocol->traits & LB_TRAIT_LEASED && !h->by_wall, grant, before, now, ttl_ms, &what) == 0)
    return LB_OK;
  *grant = LB_GRANT_INIT;
  snprintf(complaint, sizeof complaint, "%s %s", lb_hook_name(hook), what.text);
  return breach(h, complaint);
}

/* Also of a try that failed: its token is handed to release or resolve, which would read behind its end. */
static int check_token(struct lb_holder *h, enum lb_hook hook, struct lb_grant *grant, int result) {
  char complaint[200];
  if (grant->token_len <= LB_TOKEN_MAX) return result;
  snprintf(complaint, sizeof complaint, "%s left token_len = %zu, at most %d", lb_hook_name(hook), grant->token_len,
           LB_TOKEN_MAX);
  *grant = LB_GRANT_INIT;
  return breach(h, complaint);
}

int lb_hook_open(struct lb_holder *h, const struct lb_config *config, lb_ns deadline) {
  enter(h, LB_HOOK_OPEN, deadline);
  return leave(h, LB_HOOK_OPEN, h->protocol->open(h->session, config, deadline));
}

void lb_hook_close(struct lb_holder *h, lb_ns deadline) {
  enter(h, LB_HOOK_CLOSE, deadline);
  h->protocol->close(h->session);
  leave(h, LB_HOOK_CLOSE, LB_OK);
}

/* The hook itself. `lock` and `grant` are of no use to setup and teardown. */
static int call(struct lb_holder *h, enum lb_hook hook, const struct lb_lock *lock, struct lb_grant *grant,
                lb_ns deadline) {
  const struct lb_protocol *p = h->protocol;
  switch (hook) {
    case LB_HOOK_SETUP: return p->setup(h->session, deadline);
    case LB_HOOK_TEARDOWN: return p->teardown(h->session, deadline);
    case LB_HOOK_TRY_ACQUIRE: return p->try_acquire(h->session, lock, grant, deadline);
    case LB_HOOK_RESOLVE: return p->resolve(h->session, lock, grant, deadline);
    case LB_HOOK_RELEASE: return p->release(h->session, lock, grant, deadline);
    case LB_HOOK_WAIT: return p->wait(h->session, lock, grant, deadline);
    case LB_HOOK_EXTEND: return p->extend(h->session, lock, grant, deadline);
    case LB_HOOK_STOP: return p->stop(h->session, deadline);
    case LB_HOOK_WORK: return p->work(h->session, lock, grant, deadline);
    case LB_HOOK_HOLDS: return p->holds(h->session, lock, grant, deadline);
    default: return p->doubt(h->session, lock, grant);
  }
}

int lb_hook_call(struct lb_holder *h, enum lb_hook hook, const struct lb_lock *lock, struct lb_grant *grant,
                 lb_ns deadline) {
  bool grants = hook == LB_HOOK_TRY_ACQUIRE || hook == LB_HOOK_RESOLVE;
  if ((hook == LB_HOOK_SETUP && !h->protocol->setup) || (hook == LB_HOOK_TEARDOWN && !h->protocol->teardown))
    return LB_OK;
  lb_ns before = grants ? lb_now(h->env) : 0;
  enter(h, hook, hook == LB_HOOK_DOUBT ? lb_now(h->env) : deadline);
  int r = leave(h, hook, call(h, hook, lock, grant, deadline));
  if (grants) r = check_token(h, hook, grant, r);
  return grants && r == LB_OK ? check_grant(h, hook, grant, before, lock->ttl_ms) : r;
}

int lb_hook_at_server(struct lb_holder *h, enum lb_hook hook, const struct lb_lock *lock, size_t endpoint,
                      lb_ns deadline) {
  enter(h, hook, deadline);
  return leave(h, hook,
               (hook == LB_HOOK_INSPECT ? lb_proofs(h->protocol)->inspect
                                        : h->protocol->break_lock)(h->session, lock, endpoint, deadline));
}

/* Its answer says nothing of the lock, so a failure of it is not reported. */
int lb_hook_server(struct lb_holder *h) {
  struct lb_error complaint;
  char err[sizeof h->env->err];
  if (!lb_proofs(h->protocol)->server) return -ENOENT;
  memcpy(err, h->env->err, sizeof err);
  enter(h, LB_HOOK_SERVER, LB_NEVER);
  int server = lb_proofs(h->protocol)->server(h->session);
  come_back(h, LB_HOOK_SERVER);
  memcpy(h->env->err, err, sizeof err);
  if (lb_contract_server(server, h->endpoint_count, &complaint) < 0) return breach(h, complaint.text);
  return server < 0 ? server : server + (int)h->endpoint_base;
}

uint64_t lb_hook_number(struct lb_holder *h, enum lb_hook hook) {
  const struct lb_proofs *p = lb_proofs(h->protocol);
  struct lb_error complaint;
  uint64_t number;
  if (hook == LB_HOOK_VOTERS ? !p->voters : hook == LB_HOOK_SEEN ? !p->seen : !p->session_id) return 0;
  enter(h, hook, LB_NEVER);
  if (hook == LB_HOOK_SESSION_ID) number = p->session_id(h->session, &h->grant);
  else number = (hook == LB_HOOK_VOTERS ? p->voters : p->seen)(h->session);
  come_back(h, hook);
  int r = 0;
  if (hook == LB_HOOK_VOTERS && (number || h->holding)) r = lb_contract_voters(number, h->endpoint_count, &complaint);
  if (hook == LB_HOOK_SEEN) r = lb_contract_seen(number, &complaint);
  if (r == 0) return number;
  breach(h, complaint.text);
  return 0;
}

/* A server that could not be reached gave no answer. Any other failure is an error. */
static bool is_out_of_reach(int error) {
  static const int codes[] = {ECONNREFUSED, ECONNRESET,   ECONNABORTED, EPIPE,     ENOTCONN,
                              ETIMEDOUT,    EHOSTUNREACH, ENETUNREACH,  EHOSTDOWN, ENETDOWN};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (error == -codes[i]) return true;
  return false;
}

enum lb_check_result lb_hook_answer(int result) {
  switch (result) {
    case LB_OK: return LB_CHECK_PASSED;
    case LB_LOST: return LB_CHECK_TOLD_NO;
    case LB_UNCONFIRMED: return LB_CHECK_NO_MAJORITY;
    case LB_UNKNOWN: return LB_CHECK_NO_ANSWER;
    default: return is_out_of_reach(result) ? LB_CHECK_NO_ANSWER : LB_CHECK_ERROR;
  }
}
