/* SPDX-License-Identifier: MIT
 *
 * What a statement is written with. Every call of a hook goes through here: before it, shared memory learns where the
 * process is going to be; after it, the answer is held against the contract, so a breach shows up in whatever statement
 * meets it first.
 */
#include "conform_calls.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- its verdict --------------------------------------------------------------------------------- */

/* The reason is written before the state: the controller reads it when it sees the state. */
static _Noreturn void end(struct lb_conform *c, enum lb_conform_state state, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
static _Noreturn void end(struct lb_conform *c, enum lb_conform_state state, const char *format, va_list args) {
  if (atomic_exchange(&c->shared->told, true)) _exit(0); /* another process of the statement was first */
  vsnprintf(c->shared->why, sizeof c->shared->why, format, args);
  lb_contract_clean_text(c->shared->why, sizeof c->shared->why);
  atomic_store(&c->shared->hook, LB_HOOK_NONE);
  atomic_store(&c->shared->state, (int)state);
  _exit(0); /* what the protocol has registered for its end is not asked any more */
}

void lb_conform_fail(struct lb_conform *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  end(c, LB_CONFORM_FAILS, format, args);
}

/* After a call that broke the contract, or met an error: of the statement it says nothing. */
void lb_conform_break(struct lb_conform *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  end(c, LB_CONFORM_BREAKS, format, args);
}

void lb_conform_note(struct lb_conform *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(c->shared->note, sizeof c->shared->note, format, args);
  va_end(args);
}

void lb_conform_check(struct lb_conform *c, bool good, const char *format, ...) {
  char text[500];
  if (good) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  lb_conform_fail(c, "%s", text);
}

/* ---- words -------------------------------------------------------------------------------------- */

static const char *const ordinal[LB_CONFORM_SESSIONS] = {"first", "second", "third", "fourth", "fifth", "sixth"};

const char *lb_conform_ordinal(int i) { return ordinal[(unsigned)i % LB_CONFORM_SESSIONS]; }

/* Numbers are drawn from shared memory, so no two statements of a system ever use the same key. That also holds after a
 * statement that hung while it held a lock. */
const char *lb_conform_key(struct lb_conform *c) {
  static char names[4][48];
  unsigned number = atomic_fetch_add(&c->shared->keys, 1);
  char *name = names[number % 4];
  snprintf(name, sizeof *names, "%s-%u", c->key_prefix, number);
  return name;
}

/* A result in words: "OK", "1" from inspect, "-ECONNREFUSED". */
static const char *describe(enum lb_hook hook, int result, char *buf, size_t size) {
  static const char *const words[] = {"OK", "BUSY", "TIMEOUT", "LOST", "UNKNOWN"};
  const char *name = result < 0 ? strerrorname_np(-result) : NULL;
  if (name) snprintf(buf, size, "-%s", name);
  else if (result < 0 || hook == LB_HOOK_INSPECT) snprintf(buf, size, "%d", result);
  else snprintf(buf, size, "%s", words[result]); /* the contract has been checked: it is one of them */
  return buf;
}

/* The message has all that the author of a protocol needs: which hook, which session, how long it
 * was tried, and the text that the protocol itself left. */
void lb_conform_want(struct lb_conform *c, int wanted, int got) {
  char expected[32], came[32], within[32] = "";
  if (got == wanted) return;
  const char *text = c->env[c->caller].base.err;
  if (c->within_ms) snprintf(within, sizeof within, " within %lld ms", (long long)c->within_ms);
  (got < 0 ? lb_conform_break
           : lb_conform_fail)(c, "expected %s from %s%s, got %s (%s session)%s%s",
                              describe(c->hook, wanted, expected, sizeof expected), lb_hook_name(c->hook), within,
                              describe(c->hook, got, came, sizeof came), ordinal[c->caller], text[0] ? ": " : "", text);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static struct lb_conform *current; /* one statement per process: lb_point() does not say whose it is */

/* Stands where a trial would stop the client. Here it only notes the name; one that was cut is
 * still told apart by what is left of it. More points than LB_CONFORM_POINTS are not noted. */
static void note_point(struct lb_env *env, const char *name) {
  struct lb_conform_shared *shared = current->shared;
  unsigned count = atomic_load(&shared->point_count);
  if (current->point && env == &current->env[0].base && strcmp(current->point, name) == 0) {
    current->point = NULL;
    current->at_point(current);
  }
  for (unsigned i = 0; i < count; i++)
    if (strncmp(shared->point[i], name, LB_CONFORM_POINT_BYTES - 1) == 0) return;
  if (count == LB_CONFORM_POINTS) return;
  snprintf(shared->point[count], LB_CONFORM_POINT_BYTES, "%s", name);
  atomic_store(&shared->point_count, count + 1);
}

/* In place of the env's wait, but readiness comes late: never later than three quarters of the way
 * to the deadline, so that who waits for a server for 50 ms gets to see its answer. A protocol that
 * counts a lease from the reply, not from before the send, thereby shows it. */
static int wait_and_hold_back(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  struct lb_conform *c = current;
  int n = c->wait_fds(env, fds, count, deadline);
  lb_ns now = lb_now(env), hold = deadline > now ? (deadline - now) / 4 * 3 : 0;
  if (n <= 0) return n;
  if (hold > LB_CONFORM_HOLD_MS * LB_NS_PER_MS) hold = LB_CONFORM_HOLD_MS * LB_NS_PER_MS;
  if (hold > c->hold_left) hold = c->hold_left;
  c->ready_at = now;
  c->hold_left -= hold;
  if (hold == 0) return n;
  lb_sleep_until(env, now + hold);
  return c->wait_fds(env, fds, count, deadline); /* others may have become ready meanwhile */
}

void lb_conform_hold_back(struct lb_conform *c, int i, int64_t most_ms) {
  c->hold_left = (lb_ns)most_ms * LB_NS_PER_MS;
  c->ready_at = 0;
  if (c->topology->data_count > 0) c->env[i].base.wait_fds = wait_and_hold_back;
}

void lb_conform_prepare(struct lb_conform *c) {
  current = c;
  for (int i = 0; i < LB_CONFORM_SESSIONS; i++) {
    lb_env_init(&c->env[i], lb_clock_ns() ^ (uint64_t)i << 56 ^
                                (uint64_t)getpid() << 32); /* no process draws the tokens of another */
    c->env[i].base.point = note_point;
    c->wait_fds = c->env[i].base.wait_fds;
    c->config[i] = (struct lb_config){.env = &c->env[i].base,
                                      .target = &c->target,
                                      .options = c->options,
                                      .ttl_ms = LB_CONFORM_TTL_MS,
                                      .client = c->name[0] ? c->name : ordinal[i],
                                      .protocol = c->protocol,
                                      .prefix = c->key_prefix};
  }
}

/* Before every hook. The limit begins at the deadline, or now if that has passed: such a call has
 * to come back at once. */
static void enter(struct lb_conform *c, enum lb_hook hook, int i, lb_ns deadline) {
  lb_ns now = lb_now(&c->env[i].base);
  c->due = deadline > now ? deadline : now;
  c->hook = hook;
  c->caller = i;
  c->within_ms = 0;
  c->env[i].base.err[0] = '\0';
  atomic_store(&c->shared->session, i);
  atomic_store(&c->shared->hook, hook);
}

/* After every hook: is it an answer that this hook may give, does an error say why, and did it come
 * in time. Returns the answer. */
static int leave(struct lb_conform *c, int result) {
  struct lb_error complaint;
  char came[32];
  struct lb_env *env = &c->env[c->caller].base;
  lb_ns now = lb_now(env), late_ms = now > c->due ? (now - c->due) / LB_NS_PER_MS : 0;
  atomic_store(&c->shared->hook, LB_HOOK_NONE);
  if (lb_contract_result(c->hook, result, &complaint) < 0)
    lb_conform_break(c, "%s (%s session)", complaint.text, ordinal[c->caller]);
  if (result < 0 && lb_contract_text(env->err, sizeof env->err, &complaint) < 0)
    lb_conform_break(c, "%s answered %s and %s (%s session)", lb_hook_name(c->hook),
                     describe(c->hook, result, came, sizeof came), complaint.text, ordinal[c->caller]);
  if (late_ms > LB_CONFORM_LATE_MS)
    lb_conform_break(c, "%s came back %" PRIu64 " ms past its deadline (%s session)", lb_hook_name(c->hook), late_ms,
                     ordinal[c->caller]);
  return result;
}

/* Sessions open with their first use, so a statement needs no preparation, and one about the first
 * session alone has no second one around. */
static void open_session(struct lb_conform *c, int i) {
  if (c->session[i]) return;
  c->session[i] = calloc(1, c->protocol->session_size);
  if (!c->session[i]) lb_conform_break(c, "no memory for a session of %zu bytes", c->protocol->session_size);
  lb_ns deadline = in_ms(10000);
  enter(c, LB_HOOK_OPEN, i, deadline);
  lb_conform_want(c, LB_OK, leave(c, c->protocol->open(c->session[i], &c->config[i], deadline)));
}

void lb_conform_hang_up(struct lb_conform *c, int i) {
  if (!c->session[i]) return;
  enter(c, LB_HOOK_CLOSE, i, LB_NEVER);
  c->protocol->close(c->session[i]);
  leave(c, 0);
  free(c->session[i]);
  c->session[i] = NULL;
}

void lb_conform_close(struct lb_conform *c) {
  for (int i = 0; i < LB_CONFORM_SESSIONS; i++) lb_conform_hang_up(c, i);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

/* As what the statement asks now. */
#define LOCK(name, ms) (&(struct lb_lock){.key = name, .ttl_ms = ms, .shared = c->as_reader, .permits = c->permits})
#define CALL_BY(hook_id, hook, ...)                                                                                    \
  enter(c, hook_id, i, deadline);                                                                                      \
  return leave(c, c->protocol->hook(c->session[i], __VA_ARGS__))
/* `deadline` in the arguments is that of the call: ms from now, when the session is open. */
#define CALL(ms, hook_id, hook, ...)                                                                                   \
  open_session(c, i);                                                                                                  \
  lb_ns deadline = in_ms(ms);                                                                                          \
  CALL_BY(hook_id, hook, __VA_ARGS__)

/* A session that has not tried speaks of the grant of another session, or of none. */
static int64_t ttl_of(const struct lb_conform *c, int i) { return c->ttl_ms[i] ? c->ttl_ms[i] : LB_CONFORM_TTL_MS; }

/* A grant is held against the contract: what it says of when it was asked for, and until when it is good. Returns r. */
static int look_at(struct lb_conform *c, int r, const struct lb_grant *grant, lb_ns before, int64_t ttl_ms) {
  struct lb_error complaint;
  lb_ns now = lb_now(&c->env[c->caller].base);
  bool bounded = c->protocol->traits & LB_TRAIT_LEASED && !lb_counts_by_wall(c->protocol, c->options);
  if (r == LB_OK && lb_contract_grant(bounded, grant, before, now, ttl_ms, &complaint) < 0)
    lb_conform_break(c, "%s (%s, %s session)", complaint.text, lb_hook_name(c->hook), ordinal[c->caller]);
  return r;
}

int lb_conform_try_for(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                       lb_ns deadline) {
  open_session(c, i);
  c->ttl_ms[i] = ttl_ms;
  enter(c, LB_HOOK_TRY_ACQUIRE, i, deadline);
  lb_ns before = lb_now(&c->env[i].base);
  int r = leave(c, c->protocol->try_acquire(c->session[i], LOCK(key, ttl_ms), grant, deadline));
  return look_at(c, r, grant, before, ttl_ms);
}

int lb_conform_resolve(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  lb_ns deadline = in_ms(LB_CONFORM_CALL_MS);
  enter(c, LB_HOOK_RESOLVE, i, deadline);
  lb_ns before = lb_now(&c->env[i].base);
  int r = leave(c, c->protocol->resolve(c->session[i], LOCK(key, ttl_ms), grant, deadline));
  return look_at(c, r, grant, before, ttl_ms);
}

int lb_conform_try(struct lb_conform *c, int i, const char *key, struct lb_grant *grant) {
  return lb_conform_try_for(c, i, key, LB_CONFORM_TTL_MS, grant, in_ms(LB_CONFORM_CALL_MS));
}

int lb_conform_setup(struct lb_conform *c, int i) { CALL(10000, LB_HOOK_SETUP, setup, deadline); }

int lb_conform_teardown(struct lb_conform *c, int i) { CALL(10000, LB_HOOK_TEARDOWN, teardown, deadline); }

int lb_conform_release(struct lb_conform *c, int i, const char *key, struct lb_grant *grant) {
  CALL(LB_CONFORM_CALL_MS, LB_HOOK_RELEASE, release, LOCK(key, ttl_of(c, i)), grant, deadline);
}

int lb_conform_release_by(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, lb_ns deadline) {
  CALL_BY(LB_HOOK_RELEASE, release, LOCK(key, ttl_of(c, i)), grant, deadline);
}

int lb_conform_extend_by(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                         lb_ns deadline) {
  CALL_BY(LB_HOOK_EXTEND, extend, LOCK(key, ttl_ms), grant, deadline);
}

int lb_conform_extend(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  CALL(LB_CONFORM_CALL_MS, LB_HOOK_EXTEND, extend, LOCK(key, ttl_ms), grant, deadline);
}

int lb_conform_wait(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms) {
  CALL(ms, LB_HOOK_WAIT, wait, LOCK(key, ttl_of(c, i)), grant, deadline);
}

int lb_conform_holds(struct lb_conform *c, int i, const char *key, const struct lb_grant *grant) {
  CALL(LB_CONFORM_CALL_MS, LB_HOOK_HOLDS, holds, LOCK(key, ttl_of(c, i)), grant, deadline);
}

int lb_conform_inspect(struct lb_conform *c, int i, const char *key, size_t endpoint) {
  open_session(c, i);
  lb_ns deadline = in_ms(LB_CONFORM_CALL_MS);
  enter(c, LB_HOOK_INSPECT, i, deadline);
  return leave(c, lb_proofs(c->protocol)->inspect(c->session[i], LOCK(key, LB_CONFORM_TTL_MS), endpoint, deadline));
}

size_t lb_conform_who_knows(struct lb_conform *c, int i, const char *key) {
  for (size_t at = 0; c->topology->shards > 0 && at < c->topology->data_count; at++)
    if (lb_conform_inspect(c, i, key, at) == 1) return at;
  return 0;
}

static int must_not_poll(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  if (deadline > lb_now(env))
    lb_conform_break(current, "%s waited in lb_wait_fd (%s session)", lb_hook_name(current->hook),
                     ordinal[current->caller]);
  return current->wait_fds(env, fds, count, deadline);
}

static void must_not_sleep(struct lb_env *env, lb_ns when) {
  if (when > lb_now(env))
    lb_conform_break(current, "%s waited in lb_sleep_until (%s session)", lb_hook_name(current->hook),
                     ordinal[current->caller]);
}

int lb_conform_doubt(struct lb_conform *c, int i, const char *key, const struct lb_grant *grant) {
  struct lb_env *env = &c->env[i].base;
  void (*sleep_until)(struct lb_env *, lb_ns) = env->sleep_until;
  enter(c, LB_HOOK_DOUBT, i, 0);
  env->wait_fds = must_not_poll;
  env->sleep_until = must_not_sleep;
  int r = leave(c, c->protocol->doubt(c->session[i], LOCK(key, ttl_of(c, i)), grant));
  env->wait_fds = c->wait_fds;
  env->sleep_until = sleep_until;
  return r;
}

/* A hook whose answer says nothing of the lock, and needs no text. */
static int call_hook(struct lb_session *session, const struct lb_protocol *p, uint64_t *ret_seen) {
  if (!ret_seen) return lb_proofs(p)->server(session);
  *ret_seen = lb_proofs(p)->seen(session);
  return 0;
}

static int ask_quietly(struct lb_conform *c, enum lb_hook hook, int i, uint64_t *ret_seen) {
  struct lb_env *env = &c->env[i].base;
  void (*sleep_until)(struct lb_env *, lb_ns) = env->sleep_until;
  enter(c, hook, i, LB_NEVER);
  env->wait_fds = must_not_poll;
  env->sleep_until = must_not_sleep;
  int r = call_hook(c->session[i], c->protocol, ret_seen);
  env->wait_fds = c->wait_fds;
  env->sleep_until = sleep_until;
  atomic_store(&c->shared->hook, LB_HOOK_NONE);
  return r;
}

int lb_conform_server(struct lb_conform *c, int i) {
  struct lb_error complaint;
  int r = ask_quietly(c, LB_HOOK_SERVER, i, NULL);
  if (lb_contract_server(r, c->target.count, &complaint) < 0)
    lb_conform_break(c, "%s (%s session)", complaint.text, ordinal[i]);
  return r;
}

uint64_t lb_conform_seen(struct lb_conform *c, int i) {
  struct lb_error complaint;
  uint64_t seen;
  ask_quietly(c, LB_HOOK_SEEN, i, &seen);
  if (lb_contract_seen(seen, &complaint) < 0) lb_conform_break(c, "%s (%s session)", complaint.text, ordinal[i]);
  return seen;
}

/* A refused attempt goes on where the protocol queues: a new grant would give up the place.
 * Elsewhere each try is an attempt of its own. */
int lb_conform_acquire(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms) {
  lb_ns deadline = in_ms(ms);
  int r;
  while ((r = lb_conform_try(c, i, key, grant)) == LB_BUSY && lb_clock_ns() < deadline) {
    if (!has(c, LB_TRAIT_QUEUES)) *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(5));
  }
  c->within_ms = ms;
  return r;
}

int lb_conform_queue_up(struct lb_conform *c, int i, const char *key, struct lb_grant *grant, int64_t ms) {
  lb_ns end_at = in_ms(ms);
  bool told = lb_wakes(c->protocol, c->options);
  unsigned char word;
  int r;
  while ((r = lb_conform_try(c, i, key, grant)) == LB_BUSY && lb_clock_ns() < end_at) {
    int64_t left_ms = (int64_t)(end_at - lb_clock_ns()) / (int64_t)LB_NS_PER_MS;
    if (told && left_ms <= 0) break;
    if (told) lb_conform_wait(c, i, key, grant, left_ms < 1000 ? left_ms : 1000);
    if (!has(c, LB_TRAIT_QUEUES)) *grant = LB_GRANT_INIT;
    lb_random(&c->env[i].base, &word, sizeof word);
    if (!told) lb_clock_sleep_until(lb_clock_ns() + (1 + word % 8) * LB_NS_PER_MS);
  }
  c->within_ms = ms;
  return r;
}

void lb_conform_leave(struct lb_conform *c, int i, const char *key, struct lb_grant *grant) {
  if (has(c, LB_TRAIT_QUEUES)) lb_conform_release(c, i, key, grant);
}
