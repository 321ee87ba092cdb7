/* SPDX-License-Identifier: MIT
 *
 * planted-blind: ten locks with one bug each, written by somebody who had not seen the order in which a hunt looks.
 * Each needs two faults to break. tests/data/planted.csv has pairs that do.
 *
 * Each is a lock of backends/ that asks its servers as ever, and a word in the memory that all clients share: the sound
 * part, which refuses whatever the servers have lost. The option `bug` chooses where it is not asked:
 *
 * slow         A client that has waited long for an answer blames that for a record that is gone.
 * two-clocks   A lock may be taken over if the clocks of the client and of the server agree that its lease is over.
 * silent-yes   A member that does not answer in time is counted with those that have nothing (of several Redis).
 * half-up      Dead members leave the list, and of n members (n + 1) / 2 are taken for a majority.
 * any-extends  An extension that one member took counts for its holder, while others were silent.
 * not-asked    An empty server is believed if no other server has the record; one that is away has none.
 * late         A late grant over a broken connection is dated anew; what renews it makes the record again, unasked.
 * stale-read   Without an answer for a while it reads at single members, and believes the first without a record.
 * no-standby   A holder waits for its standby, and goes on without it if that takes too long.
 * backend      An expired row is believed if the holder has no connection to the server any more.
 */
/* plugin: blind-redis-stamp -DINNER=lb_redis_stamp */
/* plugin: blind-redlock -DINNER=lb_redlock */
/* plugin: blind-etcd-lease -DINNER=lb_etcd_lease */
/* plugin: blind-pg-lease -DINNER=lb_pg_lease */
#include <errno.h>
#include <hiredis.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/backend.h"
#include "backends/postgres/pg.h"

#ifndef INNER
#define INNER lb_redis_token
#endif
extern const struct lb_protocol INNER;

enum bug { NONE, SLOW, TWO_CLOCKS, SILENT_YES, HALF_UP, ANY_EXTENDS, NOT_ASKED, LATE, STALE_READ, NO_STANDBY, BACKEND };
static const char *const bugs[] = {"none",      "slow", "two-clocks", "silent-yes", "half-up", "any-extends",
                                   "not-asked", "late", "stale-read", "no-standby", "backend", NULL};

enum { OPTIONS_MAX = 24, HOLDS = 256, MEMBERS = 8, UNTIL_BITS = 48 };
enum {
  LOOK_MS = 120,
  LOOK_EVERY_MS = 50,
  GONE_MS = 150,
  SLOW_MS = 300,
  UNHEARD_MS = 3000,
  ASK_MS = 1500,
  STANDBY_MS = 500
};

struct shared {
  _Atomic uint64_t word; /* number of the hold << UNTIL_BITS | its end in ms; an end that has passed = free */
  _Atomic uint64_t next, fence;
  _Atomic int newest; /* the last endpoint that has granted */
  struct {
    _Atomic bool weak;
    _Atomic int64_t ends_ms; /* by the clock of the server that granted */
    char client[32];
  } of[HOLDS];
};
struct own { /* stands behind the session of the lock inside */
  const struct lb_config *config;
  struct shared *shared;
  uint64_t number; /* of the latest hold */
  bool forged, late, slow;
  int64_t answered_ms, looked_ms, gone_since_ms[MEMBERS];
  struct pg_conn *conn;
};
struct seen {
  size_t count, has, none, silent, refused, gone;
};

static size_t own_at(void) { return (INNER.session_size + 63) / 64 * 64; }
static struct own *own(struct lb_session *s) { return (struct own *)((char *)s + own_at()); }

static const struct lb_option *blind_options(void);
/* A sequence of PostgreSQL goes back at a promotion, which is not the bug. A session of etcd is told by its number. */
static unsigned blind_traits(void) {
  return INNER.traits & LB_TRAIT_SESSION ? INNER.traits : INNER.traits & ~(unsigned)LB_TRAIT_FENCED;
}
static enum bug bug_of(const struct own *o) {
  size_t i = 0;
  while (strcmp(blind_options()[i].name, "bug") != 0) i++;
  return (enum bug)o->config->options[i].i;
}

/* The machine's, whatever clock the client has. */
static int64_t true_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static lb_ns in_ms(struct own *o, int64_t ms) { return lb_now(o->config->env) + (lb_ns)ms * LB_NS_PER_MS; }

/* ---- the sound part ---------------------------------------------------------------------------------------------- */

static uint64_t number_in(uint64_t word) { return word >> UNTIL_BITS; }
static int64_t end_in(uint64_t word) { return (int64_t)(word & ((UINT64_C(1) << UNTIL_BITS) - 1)); }
static bool is_free(uint64_t word) { return number_in(word) == 0 || end_in(word) <= true_ms(); }
static bool is_mine(struct own *o) {
  uint64_t word = atomic_load(&o->shared->word);
  return o->number != 0 && number_in(word) == o->number && !is_free(word);
}

/* A clock at half the rate may count it twice as long. */
static uint64_t word_of(struct own *o, const struct lb_grant *grant) {
  lb_ns now = lb_now(o->config->env), left = grant->valid_until > now ? grant->valid_until - now : 0;
  return o->number << UNTIL_BITS | (uint64_t)(true_ms() + 2 * (int64_t)(left / LB_NS_PER_MS));
}

static void draw(struct own *o) {
  o->number = (atomic_fetch_add(&o->shared->next, 1) + 1) & 0xffff;
  snprintf(o->shared->of[o->number % HOLDS].client, sizeof o->shared->of->client, "%s", o->config->client);
  atomic_store(&o->shared->of[o->number % HOLDS].weak, false);
  atomic_store(&o->shared->of[o->number % HOLDS].ends_ms, 0);
}

static bool take(struct own *o, const struct lb_grant *grant) {
  uint64_t word = atomic_load(&o->shared->word);
  return is_free(word) && atomic_compare_exchange_strong(&o->shared->word, &word, word_of(o, grant));
}

static size_t holder(struct own *o) { return number_in(atomic_load(&o->shared->word)) % HOLDS; }

/* ---- what is seen of the servers --------------------------------------------------------------------------------- */

static int server_of(struct lb_session *s) { return INNER.proofs->server ? INNER.proofs->server(s) : -ENOENT; }

static struct seen look(struct lb_session *s, const struct lb_lock *lock) {
  struct own *o = own(s);
  const struct lb_target *target = o->config->target;
  struct seen seen = {0};
  for (size_t i = 0; i < target->count && i < MEMBERS; i++) {
    if (strcmp(target->endpoints[i].service, target->endpoints[0].service) != 0) continue;
    int rc = INNER.proofs->inspect(s, lock, i, in_ms(o, LOOK_MS));
    seen.count++;
    seen.has += rc == 1, seen.none += rc == 0, seen.silent += rc == -ETIMEDOUT, seen.refused += rc == -ECONNREFUSED;
    if (rc != -ECONNREFUSED) o->gone_since_ms[i] = 0;
    else if (o->gone_since_ms[i] == 0) o->gone_since_ms[i] = true_ms();
    seen.gone += o->gone_since_ms[i] != 0 && true_ms() - o->gone_since_ms[i] >= GONE_MS;
  }
  o->looked_ms = true_ms();
  return seen;
}

/* 0: it does not answer. */
static int64_t server_ms(struct lb_session *s) {
  int server = server_of(s);
  if (server < 0) return 0;
  const struct lb_endpoint *e = &own(s)->config->target->endpoints[server];
  redisContext *c = redisConnectWithTimeout(e->host, e->port, (struct timeval){0, LOOK_MS * 1000});
  if (c && !c->err) redisSetTimeout(c, (struct timeval){0, LOOK_MS * 1000});
  redisReply *reply = c && !c->err ? redisCommand(c, "TIME") : NULL;
  bool told = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
  int64_t now = told ? atoll(reply->element[0]->str) * 1000 + atoll(reply->element[1]->str) / 1000 : 0;
  freeReplyObject(reply);
  if (c) redisFree(c);
  return now;
}

/* The number that a statement answers, -1 = none. */
static long ask(struct own *o, const char *sql, const char *param) {
  PGresult *result = NULL;
  lb_ns deadline = in_ms(o, LOOK_MS);
  const struct lb_target *target = o->config->target;
  int rc = o->conn ? 0 : pg_open(o->config->env, target, &target->endpoints[0], o->config->client, deadline, &o->conn);
  if (rc == 0) rc = pg_query(o->conn, deadline, &result, sql, 1, &param);
  bool told = rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
  long answer = told ? atol(PQgetvalue(result, 0, 0)) : -1;
  PQclear(result);
  if (!told) pg_close(o->conn), o->conn = NULL;
  return answer;
}

static long backends_of(struct own *o, const char *client) {
  return ask(o, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", client);
}

/* The standby has it, or it takes too long. */
static bool await_standby(struct lb_session *s, const struct lb_lock *lock, size_t standby) {
  int64_t until = true_ms() + STANDBY_MS;
  int rc = 0;
  while (rc != 1 && true_ms() < until) rc = INNER.proofs->inspect(s, lock, standby, in_ms(own(s), LOOK_MS));
  return rc == 1;
}

/* ---- the bugs ---------------------------------------------------------------------------------------------------- */

static bool counts_wrongly(struct lb_session *s, const struct lb_lock *lock) {
  if (true_ms() - own(s)->looked_ms < LOOK_EVERY_MS) return false;
  struct seen seen = look(s, lock);
  if (bug_of(own(s)) == SILENT_YES) return seen.has > 0 && seen.silent > 0 && seen.none + seen.silent > seen.count / 2;
  return seen.has > 0 && seen.gone > 0 && seen.none >= (seen.count - seen.gone + 1) / 2;
}

/* Whether it takes the lock although another client holds it. */
static bool errs(struct lb_session *s, const struct lb_lock *lock, bool granted, bool answered) {
  struct own *o = own(s);
  size_t held = holder(o);
  switch (bug_of(o)) {
    case SLOW: return granted && o->slow;
    case TWO_CLOCKS:
      return granted && atomic_load(&o->shared->of[held].ends_ms) > 0 &&
             server_ms(s) > atomic_load(&o->shared->of[held].ends_ms);
    case SILENT_YES:
    case HALF_UP: return !granted && answered && counts_wrongly(s, lock);
    case ANY_EXTENDS:
    case NO_STANDBY: return granted && atomic_load(&o->shared->of[held].weak);
    case NOT_ASKED: {
      if (!granted) return false;
      struct seen seen = look(s, lock);
      return seen.silent + seen.refused > 0;
    }
    case STALE_READ: return !answered && true_ms() - o->answered_ms >= UNHEARD_MS && look(s, lock).none > 0;
    case BACKEND: return granted && backends_of(o, o->shared->of[held].client) == 0;
    default: return false;
  }
}

/* What a holder does before it believes its grant. False: a server that has been replaced has granted. */
static bool settle_grant(struct lb_session *s, const struct lb_lock *lock) {
  struct own *o = own(s);
  int server = server_of(s), newest = atomic_load(&o->shared->newest);
  if (bug_of(o) == TWO_CLOCKS) atomic_store(&o->shared->of[o->number % HOLDS].ends_ms, server_ms(s) + lock->ttl_ms);
  if (bug_of(o) != NO_STANDBY || server < 0) return true;
  atomic_store(&o->shared->of[o->number % HOLDS].weak, !await_standby(s, lock, server == 0));
  newest = atomic_load(&o->shared->newest);
  while (server > newest && !atomic_compare_exchange_strong(&o->shared->newest, &newest, server)) {
  }
  return server >= newest;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static int blind_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  struct own *o = own(s);
  *o = (struct own){.config = config, .shared = config->target->shared, .answered_ms = true_ms()};
  return INNER.open(s, config, deadline);
}

static void blind_close(struct lb_session *s) {
  pg_close(own(s)->conn);
  INNER.close(s);
}

static int steal(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool granted) {
  struct own *o = own(s);
  o->forged = !granted;
  if (!granted) {
    grant->asked_at = lb_now(o->config->env);
    grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
    if (blind_traits() & LB_TRAIT_FENCED) grant->fence = atomic_load(&o->shared->fence) + 1;
    if (!grant->token_len) grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "forged");
  }
  atomic_store(&o->shared->word, word_of(o, grant));
  return LB_OK;
}

/* After the lock inside has answered a try that began at `began_ms`. */
static int settle(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, int rc, int64_t began_ms) {
  struct own *o = own(s);
  bool granted = rc == LB_OK, answered = granted || rc == LB_BUSY;
  if (true_ms() - began_ms >= SLOW_MS) o->slow = true;
  if (answered) o->answered_ms = true_ms();
  o->forged = o->late = false;
  draw(o);
  if (!(blind_traits() & LB_TRAIT_FENCED)) grant->fence = 0;
  if (granted && bug_of(o) == LATE && true_ms() - began_ms >= lock->ttl_ms && INNER.doubt(s, lock, grant) != LB_OK) {
    grant->asked_at = lb_now(o->config->env);
    grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
    o->late = true;
    return LB_OK;
  }
  bool believes = granted && settle_grant(s, lock);
  if (believes && grant->fence > atomic_load(&o->shared->fence)) atomic_store(&o->shared->fence, grant->fence);
  if (believes && take(o, grant)) return LB_OK;
  if (!is_free(atomic_load(&o->shared->word)) && (believes || !granted) && errs(s, lock, granted, answered))
    return steal(s, lock, grant, granted);
  o->number = 0;
  if (!granted) return rc;
  INNER.release(s, lock, grant, in_ms(o, ASK_MS));
  *grant = LB_GRANT_INIT;
  return LB_BUSY;
}

static int asked(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline,
                 int (*hook)(struct lb_session *, const struct lb_lock *, struct lb_grant *, lb_ns)) {
  struct own *o = own(s);
  int64_t began_ms = true_ms();
  if (bug_of(o) == BACKEND) backends_of(o, o->config->client); /* it keeps a connection by which it is known */
  if (bug_of(o) == STALE_READ && deadline > in_ms(o, ASK_MS)) deadline = in_ms(o, ASK_MS);
  bool repeated = grant->token_len > 0 && is_mine(o);
  int rc = hook(s, lock, grant, deadline);
  if (!(repeated && rc == LB_OK)) rc = settle(s, lock, grant, rc, began_ms);
  if (rc == LB_OK) o->slow = false;
  return rc;
}

static int blind_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return asked(s, lock, grant, deadline, INNER.try_acquire);
}

static int blind_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return asked(s, lock, grant, deadline, INNER.resolve);
}

static int blind_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct own *o = own(s);
  lb_ns end = lb_lease_end(lb_now(o->config->env), lock->ttl_ms);
  struct lb_grant before = *grant;
  int rc = o->forged ? LB_LOST : INNER.extend(s, lock, grant, deadline);
  if (o->late) return *grant = before, grant->valid_until = end, LB_OK;
  bool weak = false;
  if (bug_of(o) == ANY_EXTENDS && rc == LB_UNKNOWN) {
    struct seen seen = look(s, lock);
    weak = seen.has > 0 && seen.silent > 0;
    if (weak) rc = LB_LOST;
  }
  if (rc != LB_OK && rc != LB_LOST) return rc;
  uint64_t word = atomic_load(&o->shared->word);
  if (!is_mine(o) || lb_now(o->config->env) >= before.valid_until) return LB_LOST;
  if (rc == LB_LOST) *grant = before, grant->valid_until = end; /* the servers have lost it, we have not */
  atomic_store(&o->shared->of[o->number % HOLDS].weak,
               bug_of(o) == NO_STANDBY ? atomic_load(&o->shared->of[o->number % HOLDS].weak) : weak);
  if (bug_of(o) == TWO_CLOCKS) atomic_store(&o->shared->of[o->number % HOLDS].ends_ms, server_ms(s) + lock->ttl_ms);
  return atomic_compare_exchange_strong(&o->shared->word, &word, word_of(o, grant)) ? LB_OK : LB_LOST;
}

static int blind_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct own *o = own(s);
  int rc = o->forged || o->late ? LB_LOST : INNER.holds(s, lock, grant, deadline);
  if (rc != LB_OK && rc != LB_LOST) return rc;
  return o->late || is_mine(o) ? LB_OK : LB_LOST;
}

static int blind_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct own *o = own(s);
  bool mine = is_mine(o), forged = o->forged || o->late;
  uint64_t word = atomic_load(&o->shared->word);
  int rc = INNER.release(s, lock, grant, deadline);
  if (rc != LB_OK && rc != LB_LOST && !forged) return rc;
  if (mine) atomic_compare_exchange_strong(&o->shared->word, &word, 0);
  o->number = 0;
  o->forged = o->late = false;
  return mine || forged ? LB_OK : rc;
}

/* Who counts as a yes what did not answer names somebody at least. */
static uint64_t blind_voters(struct lb_session *s) {
  uint64_t voters = INNER.proofs->voters(s);
  return voters ? voters : own(s)->forged;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static struct lb_option all_options[OPTIONS_MAX];
static const struct lb_option *blind_options(void) { return all_options; }
static char name[64];
static struct lb_protocol blind;
static struct lb_proofs proofs;

__attribute__((constructor)) static void make(void) {
  size_t count = 0;
  for (const struct lb_option *option = INNER.options; option && option->name; option++) all_options[count++] = *option;
  all_options[count] =
      (struct lb_option){.name = "bug", .type = LB_OPT_CHOICE, .words = bugs, .help = "where it is not sound"};
  snprintf(name, sizeof name, "blind-%s", INNER.name);
  blind = INNER;
  blind.name = name;
  blind.summary = "a sound lock with one bug that needs two faults";
  blind.promises = "Mutual exclusion, unless the bug is met.";
  blind.breaks = "The two faults of the bug.";
  blind.source = "a test";
  blind.traits = blind_traits();
  blind.options = all_options;
  blind.session_size = own_at() + sizeof(struct own);
  blind.open = blind_open;
  blind.close = blind_close;
  blind.try_acquire = blind_try;
  blind.release = blind_release;
  blind.holds = blind_holds;
  proofs = *INNER.proofs;
  if (proofs.voters) proofs.voters = blind_voters;
  blind.proofs = &proofs;
  if (INNER.extend) blind.extend = blind_extend;
  if (INNER.resolve) blind.resolve = blind_resolve;
}

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &blind;
