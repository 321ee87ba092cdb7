/* SPDX-License-Identifier: MIT
 *
 * The hooks of a foreign lock: each call is a line to its adapter and one back (peers/README.md).
 */
#include "foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign_ask.h"

enum { MARGIN_MS = 200 };

/* ---- acquire ------------------------------------------------------------------------------------------------------ */

/* The lease as its caller knows it. What the library says is left may be less than nothing; it has given it out all the same. */
static void fill_lease(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, const struct foreign_answer *answer, lb_ns sent) {
  const char *validity = foreign_value(&answer->words, 1, "validity_ms");
  lb_ns now = lb_now(s->env), whole = (lb_ns)lock->ttl_ms * LB_NS_PER_MS;
  grant->asked_at = now;
  grant->valid_until = LB_NEVER;
  if (!(s->foreign->protocol.traits & LB_TRAIT_LEASED)) return;
  grant->valid_until = lb_lease_end(now, lock->ttl_ms);
  if (!validity) return;
  long long left_ms = strtoll(validity, NULL, 10);
  lb_ns end = left_ms > 0 ? now + (lb_ns)left_ms * LB_NS_PER_MS : now - foreign_earlier(now, (lb_ns)-left_ms * LB_NS_PER_MS);
  grant->asked_at = end > sent + whole ? end - whole : sent;
  if (grant->asked_at > now) grant->asked_at = now;
  grant->valid_until = foreign_earlier(end > grant->asked_at ? end : grant->asked_at + 1, grant->asked_at + whole);
}

static int take_grant(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, const struct foreign_answer *answer, lb_ns sent) {
  const char *token = foreign_value(&answer->words, 1, "token"), *fence = foreign_value(&answer->words, 1, "fence");
  if (token && *token) grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%.120s", token);
  if (fence) grant->fence = strtoull(fence, NULL, 10);
  if (s->foreign->protocol.traits & LB_TRAIT_FENCED && grant->fence == 0)
    return foreign_broken(s, "the adapter granted without fence=, though it says that it can");
  fill_lease(s, lock, grant, answer, sent);
  return LB_OK;
}

static int judge_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, const struct foreign_answer *answer, lb_ns sent) {
  if (foreign_is(answer, "granted")) return take_grant(s, lock, grant, answer, sent);
  if (foreign_is(answer, "busy")) return LB_BUSY;
  if (foreign_is(answer, "timeout")) return foreign_fail_with(s, LB_TIMEOUT, answer);
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, -EIO, answer);
  return foreign_unknown_answer(s, "acquire", answer, "granted, busy, timeout, unknown or error");
}

static int try_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  bool was;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  lb_ns now = lb_now(s->env);
  if (now >= deadline) return LB_TIMEOUT;
  int r = foreign_settle(s, FOREIGN_NOTHING, deadline, &answer, &was);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s), LB_TIMEOUT;
  s->told = LB_OK;
  now = lb_now(s->env);
  if (now >= deadline) return LB_TIMEOUT;
  foreign_begin_request(line, sizeof line, "acquire", lock);
  size_t length = strlen(line);
  lb_ns left = deadline - now, wait = left - foreign_earlier(left / 10, MARGIN_MS * LB_NS_PER_MS); /* so that its answer comes in time */
  long long wait_ms = lock->patient ? (long long)(wait / LB_NS_PER_MS) : 0;
  snprintf(line + length, sizeof line - length, " ttl_ms=%lld wait_ms=%lld", (long long)lock->ttl_ms, wait_ms);
  length = strlen(line);
  if (lock->shared) length += (size_t)snprintf(line + length, sizeof line - length, " shared=yes");
  if (lock->permits > 1) snprintf(line + length, sizeof line - length, " permits=%d", lock->permits);
  /* Names the attempt for release and resolve; a library that has tokens of its own may say so. */
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "question %llu", (unsigned long long)s->number + 1);
  grant->asked_at = now;
  r = foreign_ask(s, FOREIGN_ACQUIRE, line, deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_acquire(s, lock, grant, &answer, now);
}

/* ---- release ------------------------------------------------------------------------------------------------------ */

static int judge_release(struct lb_session *s, const struct foreign_answer *answer) {
  if (foreign_is(answer, "ok")) return LB_OK;
  if (foreign_is(answer, "lost")) return LB_LOST;
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, -EIO, answer);
  return foreign_unknown_answer(s, "release", answer, "ok, lost, unknown or error");
}

static int ask_release(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  struct foreign_answer answer;
  foreign_begin_request(line, sizeof line, "release", lock);
  int r = foreign_ask(s, FOREIGN_RELEASE, line, deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_release(s, &answer);
}

/* An acquire that nobody waited for any more may still be answered: it was refused, and nothing of it remains, or it is to be ended. */
static int release_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct foreign_answer answer;
  bool was_release = s->unanswered == FOREIGN_RELEASE, was_acquire;
  (void)grant;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_ACQUIRE, deadline, &answer, &was_acquire);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s);
  if (was_release) return judge_release(s, &answer);
  if (was_acquire && !foreign_is(&answer, "granted") && !foreign_is(&answer, "unknown")) return LB_OK;
  return ask_release(s, lock, deadline);
}

/* After a call that was not answered: its answer. After "unknown": the library ends what may be there, and says so. */
static int resolve_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct foreign_answer answer;
  bool was_acquire;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_ACQUIRE, deadline, &answer, &was_acquire);
  if (r < 0) return r;
  if (r == 0) return foreign_silent(s);
  if (was_acquire) {
    r = judge_acquire(s, lock, grant, &answer, grant->asked_at);
    if (r != LB_UNKNOWN) return r == LB_OK || r == -EPROTO ? r : LB_BUSY;
  }
  /* "lost": the library has nothing that it could end, which leaves its caller without the lock, whatever stays at the service: that shows in who else gets it. */
  r = ask_release(s, lock, deadline);
  return r == LB_OK || r == LB_LOST ? LB_BUSY : r == -EPROTO ? r : LB_UNKNOWN;
}

/* ---- while it holds ------------------------------------------------------------------------------------------------ */

static int judge_confirmed(struct lb_session *s, const char *verb, const struct foreign_answer *answer) {
  if (foreign_is(answer, "ok")) return LB_OK;
  if (foreign_is(answer, "lost")) return LB_LOST;
  if (foreign_is(answer, "unknown")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  if (foreign_is(answer, "error")) return foreign_fail_with(s, LB_UNKNOWN, answer);
  return foreign_unknown_answer(s, verb, answer, "ok, lost, unknown or error");
}

static int confirm(struct lb_session *s, const char *verb, const char *line, lb_ns deadline) {
  struct foreign_answer answer;
  bool was;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  int r = foreign_settle(s, FOREIGN_NOTHING, deadline, &answer, &was);
  if (r > 0) r = foreign_ask(s, FOREIGN_OTHER, line, deadline, &answer);
  if (r < 0) return r;
  return r == 0 ? foreign_silent(s) : judge_confirmed(s, verb, &answer);
}

static int extend_hook(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  lb_ns before = lb_now(s->env);
  foreign_begin_request(line, sizeof line, "extend", lock);
  size_t length = strlen(line);
  snprintf(line + length, sizeof line - length, " ttl_ms=%lld", (long long)lock->ttl_ms);
  int r = confirm(s, "extend", line, deadline);
  return grant->valid_until == LB_NEVER ? r : lb_lease_extended(grant, r, lb_lease_end(before, lock->ttl_ms));
}

static int holds_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char line[LB_FOREIGN_LINE_MAX];
  (void)grant;
  foreign_begin_request(line, sizeof line, "holds", lock);
  return confirm(s, "holds", line, deadline);
}

/* What has come by now. An answer that was waited for in vain stays for the next call. */
static int doubt_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  (void)grant;
  if (s->broken) return foreign_broken(s, "%s", s->why);
  char *line;
  int r = s->unanswered ? 0 : foreign_hear(s, &line);
  if (r < 0) return r;
  if (r > 0) return foreign_broken(s, "the adapter wrote a line that nobody had asked for");
  if (s->told != LB_OK) lb_fail(s->env, -ECONNRESET, "the library says: %s", s->told_text);
  return s->told;
}

/* ---- of who looks on ------------------------------------------------------------------------------------------------ */

static int break_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return foreign_break(s->env, s->config, &s->foreign->says, lock->key, endpoint, deadline);
}

static int inspect_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return foreign_inspect(s->env, s->config, &s->foreign->says, lock->key, endpoint, deadline);
}

static int teardown_hook(struct lb_session *s, lb_ns deadline) { return foreign_clean(s->env, s->config, &s->foreign->says, deadline); }

static int server_hook(struct lb_session *s) { return s->child.pid > 0 ? foreign_server(s->config->target, s->child.pid) : -ENOENT; }

static lb_ns round_trip_hook(struct lb_session *s) { return s->round_trip; }

/* ---- the table ------------------------------------------------------------------------------------------------------- */

const struct lb_protocol foreign_hooks = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .session_size = sizeof(struct lb_session),
    .open = foreign_session_open,
    .close = foreign_session_close,
    .try_acquire = try_hook,
    .release = release_hook,
    .resolve = resolve_hook,
    .extend = extend_hook,
    .holds = holds_hook,
    .doubt = doubt_hook,
    .inspect = inspect_hook,
    .break_lock = break_hook,
    .teardown = teardown_hook,
    .server = server_hook,
    .round_trip = round_trip_hook,
};
