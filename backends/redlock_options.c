/* SPDX-License-Identifier: MIT
 *
 * The options of Redlock. What the implementations do that people run:
 *
 *   antirez' redlock-rb     fanout=sequential clock=wall tries=3 retry_ms=200
 *   redlock-rb              fanout=sequential node_timeout_ms=100 tries=4; it waits 200 ms and up to 50 more
 *   node-redlock 5          clock=wall check_validity=no tries=11 keep_failed=yes; it waits 200 ms, 100 more or less
 *   RedLock.net             fanout=all tries=3 retry_ms=400
 *   redsync                 drift_ms=0 tries=32; it waits 50 to 250 ms
 *   redis-plus-plus         fanout=sequential tries=3 retry_ms=200
 *
 * Not among them, because no options make it: the RedLock of Redisson asks one server after the other, subtracts the time that each took from how long it
 * may wait, and unlocks all when that is used up. So it looks at how long it waited, not at what is left of the leases. With a lease time it sets the
 * end of each key anew at the last, and does not look whether the key was still there.
 */
#include "redlock_options.h"

static const char *const ways[] = {"quorum", "all", "sequential", NULL};
static const char *const clocks[] = {"monotonic", "wall", NULL};
static const char *const releases[] = {"all", "granted", NULL};
static const char *const retries[] = {"random", "fixed", NULL};

const struct lb_option redlock_options[] = {
    [REDLOCK_NODE_TIMEOUT] = {"node_timeout_ms", LB_OPT_INT, 50, 1, 10000, "how long one round waits for a server"},
    [REDLOCK_FANOUT] = {"fanout", LB_OPT_CHOICE, 0, 0, 0, "all at once until a quorum decides, all at once until the last has answered, or one after the other",
                        .words = ways},
    [REDLOCK_DRIFT] = {"drift", LB_OPT_REAL, 0.01, 0, 1, "part of the ttl that is left to clocks of different speeds"},
    [REDLOCK_DRIFT_MS] = {"drift_ms", LB_OPT_INT, 2, 0, 10000, "and so much besides"},
    [REDLOCK_MIN_VALIDITY] = {"min_validity_ms", LB_OPT_INT, 0, 0, 3600000, "a grant that is good for less is none"},
    [REDLOCK_CHECK_VALIDITY] = {"check_validity", LB_OPT_BOOL, 1, 0, 1, "a majority that came too late is no grant"},
    [REDLOCK_CLOCK] = {"clock", LB_OPT_CHOICE, 0, 0, 0, "the client's clock by which a lease is measured", .words = clocks},
    [REDLOCK_TRIES] = {"tries", LB_OPT_INT, 1, 1, 1000, "of one attempt; with 1 whoever asks paces the tries"},
    [REDLOCK_RETRY] = {"retry", LB_OPT_CHOICE, 0, 0, 0, "the pause between two of these tries: up to retry_ms, or just that", .words = retries},
    [REDLOCK_RETRY_MS] = {"retry_ms", LB_OPT_INT, 200, 0, 60000, "see retry"},
    [REDLOCK_EXTENSIONS_MAX] = {"extensions_max", LB_OPT_INT, 0, 0, 1000000, "how often the session's latest grant may be extended; 0: as often as it likes"},
    [REDLOCK_KEEP_FAILED] = {"keep_failed", LB_OPT_BOOL, 0, 0, 1, "the keys of a try that failed stay, and refuse the next of these tries, until the last one has failed"},
    [REDLOCK_RELEASE] = {"release", LB_OPT_CHOICE, 0, 0, 0, "where keys are deleted: at all servers, or where it was seen to be granted", .words = releases},
    {0},
};

static lb_ns ms(int64_t n) { return (lb_ns)n * LB_NS_PER_MS; }

void redlock_options_read(struct redlock_options *ret, const union lb_value *values) {
  static const enum redis_fanout_way way[] = {REDIS_QUORUM, REDIS_ALL, REDIS_ONE_BY_ONE};
  *ret = (struct redlock_options){
      .node_timeout = ms(values[REDLOCK_NODE_TIMEOUT].i),
      .way = way[values[REDLOCK_FANOUT].i],
      .drift = values[REDLOCK_DRIFT].f,
      .drift_ns = ms(values[REDLOCK_DRIFT_MS].i),
      .min_validity = ms(values[REDLOCK_MIN_VALIDITY].i),
      .check_validity = values[REDLOCK_CHECK_VALIDITY].b,
      .by_wall = values[REDLOCK_CLOCK].i == 1,
      .fixed_retry = values[REDLOCK_RETRY].i == 1,
      .tries = values[REDLOCK_TRIES].i,
      .where_granted = values[REDLOCK_RELEASE].i == 1,
      .keep_failed = values[REDLOCK_KEEP_FAILED].b,
      .extensions_max = values[REDLOCK_EXTENSIONS_MAX].i,
      .retry = ms(values[REDLOCK_RETRY_MS].i),
  };
}

/* ---- validity ----------------------------------------------------------------------------------------- */

struct redlock_since redlock_since(const struct redlock_options *o, struct lb_env *env, lb_ns asked_at) {
  struct redlock_since since = {.mono = asked_at};
  int64_t ago = (int64_t)lb_now(env) - (int64_t)asked_at;
  if (o->by_wall) since.wall_ms = lb_wall_ms(env) - ago / (int64_t)LB_NS_PER_MS;
  return since;
}

/* By the wall clock: what is left of the lease is what that clock has not counted since. Nothing left is an end right after the begin,
 * because a grant has to begin before it ends. */
lb_ns redlock_lease_end(const struct redlock_options *o, struct lb_env *env, struct redlock_since since, int64_t ttl_ms) {
  lb_ns ttl = ms(ttl_ms), drift = (lb_ns)((double)ttl * o->drift) + o->drift_ns, length = ttl > drift ? ttl - drift : 0;
  if (!o->by_wall) return since.mono + (length ? length : 1);
  int64_t passed_ms = lb_wall_ms(env) - since.wall_ms, left = (int64_t)length - passed_ms * (int64_t)LB_NS_PER_MS;
  int64_t end = (int64_t)lb_now(env) + left;
  return end > (int64_t)since.mono ? (lb_ns)end : since.mono + 1;
}

bool redlock_is_valid(const struct redlock_options *o, struct lb_env *env, lb_ns end) {
  return !o->check_validity || lb_now(env) + o->min_validity < end;
}

/* ---- retry -------------------------------------------------------------------------------------------- */

bool redlock_rest(const struct redlock_options *o, struct lb_env *env, lb_ns deadline) {
  uint32_t draw;
  lb_random(env, &draw, sizeof draw);
  lb_ns when = lb_now(env) + (o->fixed_retry ? o->retry : (lb_ns)((double)o->retry * draw / UINT32_MAX));
  if (when >= deadline) return false;
  lb_sleep_until(env, when);
  return true;
}
