/* SPDX-License-Identifier: MIT
 *
 * One suite of statements for every protocol (argv[1]), on a real topology (argv[2], default: the protocol's own), with options
 * ("redis-token.fence=yes", from argv[3] on). The traits say which statements apply; a missing server program skips all of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../backends/registry.h"
#include "../harness/clock.h"
#include "../harness/env.h"
#include "../harness/files.h"
#include "../harness/net.h"
#include "../harness/settings.h"
#include "../harness/topology.h"
#include "skip.h"

enum { TTL_MS = 3000, SESSIONS = 3 };

static const struct lb_protocol *protocol;
static const struct lb_topology *topology;
static struct lb_process_env env[SESSIONS];
static struct lb_net net;
static struct lb_cluster cluster;
static struct lb_target target;
static struct lb_config config[SESSIONS];
static struct lb_session *session[SESSIONS];
static union lb_value *options;
static const char *passed[64]; /* points that some session came by */
static char folder[] = "/tmp/lockbench-conform-XXXXXX";
static char shared[1 << 14];
static int keys;

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }
static bool has(unsigned traits) { return protocol->traits & traits; }

/* By trait, or by an option that is on. */
static bool fenced(void) {
  if (has(LB_TRAIT_FENCED)) return true;
  for (size_t i = 0; protocol->options && protocol->options[i].name; i++)
    if (strcmp(protocol->options[i].name, "fence") == 0) return options[i].b;
  return false;
}

static bool is_in(const char *name, const char *const *list) {
  while (list && *list && strcmp(*list, name) != 0) list++;
  return list && *list;
}

static void note_point(struct lb_env *at, const char *name) {
  (void)at;
  size_t count = 0;
  while (passed[count]) count++;
  if (!is_in(name, passed) && count + 1 < sizeof passed / sizeof *passed) passed[count] = name;
}

/* A key of its own for each statement. */
static const char *fresh_key(void) {
  static char name[32];
  snprintf(name, sizeof name, "conform-%d", ++keys);
  return name;
}

static void open_session(int i) {
  session[i] = calloc(1, protocol->session_size);
  assert_int_equal(protocol->open(session[i], &config[i], in_ms(10000)), 0);
}

static void close_session(int i) {
  if (session[i]) protocol->close(session[i]);
  free(session[i]);
  session[i] = NULL;
}

/* A try that repeats while the outcome is unknown or a server is missing: what a patient client would do. */
static int try_once(int i, const char *key, struct lb_grant *grant) {
  int r = protocol->try_acquire(session[i], key, TTL_MS, grant, in_ms(5000));
  if (r < 0) print_message("# %s\n", env[i].base.err);
  return r;
}

static int release(int i, const char *key, struct lb_grant *grant) {
  return protocol->release(session[i], key, grant, in_ms(5000));
}

static void leave(int i, const char *key, struct lb_grant *grant) {
  if (has(LB_TRAIT_QUEUES)) release(i, key, grant);
}

/* Until granted, within ms; the time it took. */
static int acquire(int i, const char *key, struct lb_grant *grant, int64_t ms) {
  lb_ns deadline = in_ms(ms);
  int r;
  while ((r = try_once(i, key, grant)) == LB_BUSY && lb_clock_ns() < deadline) {
    if (!has(LB_TRAIT_QUEUES)) *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(5));
  }
  return r;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

static void the_table_is_well_formed(void **state) {
  char err[200];
  (void)state;
  assert_int_equal(lb_protocol_check(protocol, err, sizeof err), 0);
  assert_ptr_equal(lb_protocol_find(protocol->name), protocol);
  if (fenced()) assert_true(lb_protocol_can_fence(protocol)); /* or the guard would be refused to it */
}

static void a_free_lock_is_granted_and_released(void **state) {
  (void)state;
  const char *key = fresh_key();
  for (int round = 0; round < 3; round++) {
    struct lb_grant g = LB_GRANT_INIT;
    assert_int_equal(try_once(0, key, &g), LB_OK);
    assert_int_not_equal(g.token_len, 0);
    assert_int_equal(release(0, key, &g), LB_OK);
  }
}

static void a_held_lock_is_refused_to_another_session(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(try_once(1, key, &b), LB_BUSY);
  leave(1, key, &b);
  assert_int_equal(release(0, key, &a), LB_OK);
}

static void a_released_lock_is_granted_to_another_session(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(acquire(1, key, &b, 2000), LB_OK);
  assert_int_equal(release(1, key, &b), LB_OK);
}

static void two_keys_do_not_exclude_each_other(void **state) {
  (void)state;
  char first[32];
  snprintf(first, sizeof first, "%s", fresh_key());
  const char *second = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try_once(0, first, &a), LB_OK);
  assert_int_equal(try_once(1, second, &b), LB_OK);
  assert_int_equal(release(0, first, &a), LB_OK);
  assert_int_equal(release(1, second, &b), LB_OK);
}

static void releasing_twice_says_lost(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(release(0, key, &a), LB_LOST);
}

static void a_stale_release_leaves_the_next_holder_alone(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, c = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(acquire(1, key, &b, 2000), LB_OK);
  assert_int_equal(release(0, key, &a), LB_LOST);
  assert_int_equal(try_once(2, key, &c), LB_BUSY);
  leave(2, key, &c);
  assert_int_equal(release(1, key, &b), LB_OK);
}

static void asking_again_in_the_same_attempt_is_granted_again(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(release(0, key, &a), LB_OK);
}

static void fences_grow(void **state) {
  (void)state;
  const char *key = fresh_key();
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    assert_int_equal(acquire(i % SESSIONS, key, &g, 2000), LB_OK);
    assert_true(g.fence > latest);
    latest = g.fence;
    assert_int_equal(release(i % SESSIONS, key, &g), LB_OK);
  }
}

static void a_grant_without_fence_says_so(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant g = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &g), LB_OK);
  assert_int_equal(g.fence, 0);
  assert_int_equal(release(0, key, &g), LB_OK);
}

static void validity_counts_from_before_the_send(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant g = LB_GRANT_INIT;
  lb_ns before = lb_clock_ns();
  assert_int_equal(try_once(0, key, &g), LB_OK);
  assert_true(g.asked_at >= before && g.asked_at <= lb_clock_ns());
  if (has(LB_TRAIT_NO_EXPIRY)) assert_true(g.valid_until == LB_NEVER);
  else assert_true(g.valid_until > lb_clock_ns() && g.valid_until <= g.asked_at + TTL_MS * LB_NS_PER_MS);
  assert_int_equal(release(0, key, &g), LB_OK);
}

static void a_lease_ends_by_itself_and_the_old_holder_learns_it(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(protocol->try_acquire(session[0], key, 300, &a, in_ms(2000)), LB_OK);
  assert_int_equal(acquire(1, key, &b, 5000), LB_OK);
  assert_true(lb_clock_ns() >= a.valid_until);
  if (protocol->holds) assert_int_equal(protocol->holds(session[0], key, &a, in_ms(2000)), LB_LOST);
  if (protocol->extend) assert_int_equal(protocol->extend(session[0], key, 300, &a, in_ms(2000)), LB_LOST);
  assert_int_equal(release(0, key, &a), LB_LOST);
  assert_int_equal(release(1, key, &b), LB_OK);
}

static void extending_moves_the_end(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(protocol->try_acquire(session[0], key, 1000, &a, in_ms(2000)), LB_OK);
  lb_ns end = a.valid_until;
  lb_clock_sleep_until(in_ms(5));
  lb_ns before = lb_clock_ns();
  assert_int_equal(protocol->extend(session[0], key, TTL_MS, &a, in_ms(2000)), LB_OK);
  assert_true(a.valid_until > end);
  assert_true(a.valid_until <= lb_clock_ns() + TTL_MS * LB_NS_PER_MS);
  if (has(LB_TRAIT_LEASED)) assert_true(a.valid_until >= lb_lease_end(before, TTL_MS));
  assert_int_equal(release(0, key, &a), LB_OK);
}

/* Longer than the lease it was granted for: the server has to know of the extension, too. */
static void an_extended_lease_is_held_past_its_first_end(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(protocol->try_acquire(session[0], key, 300, &a, in_ms(2000)), LB_OK);
  lb_ns first_end = a.asked_at + 300 * LB_NS_PER_MS;
  assert_int_equal(protocol->extend(session[0], key, TTL_MS, &a, in_ms(2000)), LB_OK);
  lb_clock_sleep_until(first_end + 20 * LB_NS_PER_MS);
  assert_int_equal(protocol->holds(session[0], key, &a, in_ms(2000)), LB_OK);
  assert_int_equal(try_once(1, key, &b), LB_BUSY);
  leave(1, key, &b);
  assert_int_equal(release(0, key, &a), LB_OK);
}

static void the_server_confirms_a_hold_and_nothing_else(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(protocol->holds(session[0], key, &a, in_ms(2000)), LB_OK);
  struct lb_grant stale = a;
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(protocol->holds(session[0], key, &stale, in_ms(2000)), LB_LOST);
  assert_int_equal(acquire(1, key, &b, 2000), LB_OK);
  assert_int_equal(protocol->holds(session[0], key, &stale, in_ms(2000)), LB_LOST);
  assert_int_equal(protocol->holds(session[1], key, &b, in_ms(2000)), LB_OK);
  assert_int_equal(release(1, key, &b), LB_OK);
}

/* Nobody asks for the key in between: the lease is over all the same. */
static void an_expired_lease_is_lost_before_anybody_else_comes(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(protocol->try_acquire(session[0], key, 200, &a, in_ms(2000)), LB_OK);
  lb_ns end = in_ms(5000);
  while (protocol->inspect(session[1], 0, key, end) == 1 && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
  assert_true(lb_clock_ns() >= a.valid_until);
  lb_clock_sleep_until(a.asked_at + 250 * LB_NS_PER_MS); /* every server's copy, not only the first's */
  assert_int_equal(protocol->holds(session[0], key, &a, in_ms(2000)), LB_LOST);
  assert_int_equal(protocol->extend(session[0], key, 200, &a, in_ms(2000)), LB_LOST);
  assert_int_equal(release(0, key, &a), LB_LOST);
}

static void a_waiter_is_woken_by_the_release(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(try_once(1, key, &b), LB_BUSY);
  assert_int_equal(protocol->wait(session[1], key, &b, in_ms(100)), LB_TIMEOUT);
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(protocol->wait(session[1], key, &b, in_ms(3000)), LB_OK);
  assert_int_equal(acquire(1, key, &b, 2000), LB_OK);
  assert_int_equal(release(1, key, &b), LB_OK);
}

static void giving_up_leaves_nothing_behind(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, c = LB_GRANT_INIT;
  assert_int_equal(try_once(0, key, &a), LB_OK);
  assert_int_equal(try_once(1, key, &b), LB_BUSY);
  leave(1, key, &b);
  assert_int_equal(release(0, key, &a), LB_OK);
  assert_int_equal(acquire(2, key, &c, 2000), LB_OK);
  assert_int_equal(release(2, key, &c), LB_OK);
}

static void one_server_knows_of_a_held_key(void **state) {
  (void)state;
  char held[32];
  snprintf(held, sizeof held, "%s", fresh_key());
  const char *unheld = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try_once(0, held, &a), LB_OK);
  assert_int_equal(protocol->inspect(session[1], 0, held, in_ms(2000)), 1);
  assert_int_equal(protocol->inspect(session[1], 0, unheld, in_ms(2000)), 0);
  assert_int_equal(release(0, held, &a), LB_OK);
}

/* After all others: what they came by is in the table, and what is in the table they came by. */
static void the_table_of_points_is_complete_and_true(void **state) {
  (void)state;
  for (const char *const *p = passed; *p; p++)
    if (!is_in(*p, protocol->points)) fail_msg("point %s is not in the table", *p);
  for (const char *const *p = protocol->points; p && *p; p++)
    if (!is_in(*p, passed)) fail_msg("nobody comes by point %s", *p);
}

/* Last: it kills the servers. */
static void a_try_against_dead_servers_ends_at_its_deadline(void **state) {
  (void)state;
  const char *key = fresh_key();
  struct lb_grant a = LB_GRANT_INIT;
  for (size_t i = 0; i < cluster.server_count; i++) lb_proc_kill(&cluster.server[i].proc);
  lb_ns begin = lb_clock_ns();
  int r = protocol->try_acquire(session[0], key, TTL_MS, &a, in_ms(700));
  int64_t took_ms = (int64_t)((lb_clock_ns() - begin) / LB_NS_PER_MS);
  assert_int_not_equal(r, LB_OK);
  assert_int_not_equal(r, LB_BUSY);
  assert_in_range(took_ms, 0, 5000); /* far from for ever, with room for a busy machine */
}

/* ---- the stage ----------------------------------------------------------------------------------------------------- */

static int set_up(void **state) {
  (void)state;
  char err[200];
  size_t servers = topology->data_count + topology->other_count;
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0 || /* servers may run as another user */
      lb_net_up(&net, false, servers ? servers : 1, err, sizeof err) < 0)
    return -1;
  cluster = (struct lb_cluster){.topology = topology,
                                .env = &env[0].base,
                                .server_count = servers,
                                .data_count = topology->data_count,
                                .ttl_ms = TTL_MS,
                                .cache_dir = folder};
  for (size_t i = 0; i < servers; i++) {
    struct lb_server *s = &cluster.server[i];
    s->data = i < topology->data_count;
    s->service = s->data ? topology->service : topology->other_service;
    s->host = &net.host[i];
    s->port = lb_net_port(&net);
    s->extra_port[0] = lb_net_port(&net);
    s->extra_port[1] = lb_net_port(&net);
    snprintf(s->name, sizeof s->name, "%s-%zu", s->service, i + 1);
    snprintf(s->dir, sizeof s->dir, "%s/%s", folder, s->name);
    snprintf(s->log, sizeof s->log, "%s/%s.log", folder, s->name);
    lb_make_dirs(s->dir);
  }
  for (int i = 0; i < SESSIONS; i++) {
    lb_env_init(&env[i], 1000 + (uint64_t)i);
    env[i].base.point = note_point;
  }
  if (topology->start && topology->start(&cluster, in_ms(60000)) != 0) {
    print_error("%s did not start: %s\n", topology->name, cluster.err);
    return -1;
  }
  lb_cluster_target(&cluster, &target);
  target.shared = shared;
  target.shared_size = sizeof shared;
  for (int i = 0; i < SESSIONS; i++) {
    static const char *const name[SESSIONS] = {"one", "two", "three"};
    config[i] = (struct lb_config){
        .env = &env[i].base, .target = &target, .options = options, .ttl_ms = TTL_MS, .client = name[i]};
    open_session(i);
  }
  return protocol->setup ? protocol->setup(session[0], in_ms(10000)) : 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < SESSIONS; i++) close_session(i);
  lb_cluster_stop(&cluster);
  lb_net_down(&net);
  free(options);
  lb_remove_tree(folder);
  return 0;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  protocol = argc > 1 ? lb_protocol_find(argv[1]) : NULL;
  if (!protocol) return fprintf(stderr, "usage: conform PROTOCOL [TOPOLOGY [PROTOCOL.OPTION=VALUE...]]\n"), 2;
  topology = lb_topology_find(argc > 2 ? argv[2] : protocol->topologies[0]);
  char err[200];
  size_t setting_count = argc > 3 ? (size_t)argc - 3 : 0;
  const char *const *settings = (const char *const *)argv + (argc > 3 ? 3 : argc);
  if (!topology) return 2;
  if (lb_settings_check(settings, setting_count, err, sizeof err) < 0) return fprintf(stderr, "%s\n", err), 2;
  options = lb_settings_options(protocol, settings, setting_count);
  if (lb_topology_missing(topology)) return skip_all(lb_topology_missing(topology));
  /* A statement and whether it applies. (null remembers nothing, so it cannot know what is lost.) */
  const struct {
    bool applies;
    struct CMUnitTest test;
  } statements[] = {
      {true, cmocka_unit_test(the_table_is_well_formed)},
      {true, cmocka_unit_test(a_free_lock_is_granted_and_released)},
      {!has(LB_TRAIT_UNSAFE), cmocka_unit_test(a_held_lock_is_refused_to_another_session)},
      {true, cmocka_unit_test(a_released_lock_is_granted_to_another_session)},
      {true, cmocka_unit_test(two_keys_do_not_exclude_each_other)},
      {strcmp(protocol->name, "null") != 0, cmocka_unit_test(releasing_twice_says_lost)},
      {!has(LB_TRAIT_UNSAFE), cmocka_unit_test(a_stale_release_leaves_the_next_holder_alone)},
      {!has(LB_TRAIT_UNSAFE), cmocka_unit_test(asking_again_in_the_same_attempt_is_granted_again)},
      {fenced(), cmocka_unit_test(fences_grow)},
      {!fenced(), cmocka_unit_test(a_grant_without_fence_says_so)},
      {true, cmocka_unit_test(validity_counts_from_before_the_send)},
      {has(LB_TRAIT_LEASED), cmocka_unit_test(a_lease_ends_by_itself_and_the_old_holder_learns_it)},
      {protocol->extend != NULL, cmocka_unit_test(extending_moves_the_end)},
      {has(LB_TRAIT_LEASED), cmocka_unit_test(an_extended_lease_is_held_past_its_first_end)},
      {has(LB_TRAIT_LEASED), cmocka_unit_test(an_expired_lease_is_lost_before_anybody_else_comes)},
      {protocol->holds != NULL, cmocka_unit_test(the_server_confirms_a_hold_and_nothing_else)},
      {protocol->wait != NULL, cmocka_unit_test(a_waiter_is_woken_by_the_release)},
      {!has(LB_TRAIT_UNSAFE), cmocka_unit_test(giving_up_leaves_nothing_behind)},
      {protocol->inspect != NULL && topology->data_count > 0, cmocka_unit_test(one_server_knows_of_a_held_key)},
      {true, cmocka_unit_test(the_table_of_points_is_complete_and_true)},
      {topology->data_count > 0, cmocka_unit_test(a_try_against_dead_servers_ends_at_its_deadline)},
  };
  enum { STATEMENT_COUNT = sizeof statements / sizeof *statements };
  struct CMUnitTest tests[STATEMENT_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < STATEMENT_COUNT; i++)
    if (statements[i].applies) tests[count++] = statements[i].test;
  return _cmocka_run_group_tests("conform", tests, count, set_up, tear_down);
}
