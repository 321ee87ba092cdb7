/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * etcd-lease, etcd-v3lock and their helpers against a real etcd. Skipped without one.
 */

#include <signal.h>
#include <sys/stat.h>

#include "test.h"
#include "backends/etcd/etcd_session.h"
#include "base/clock.h"
#include "base/files.h"
#include "client/env.h"
#include "servers/cluster.h"
#include "skip.h"
#include "theory/versions.h"

enum { TTL_MS = 10000, CLIENTS = 3 };

extern const struct lb_protocol lb_etcd_lease, lb_etcd_v3lock;

static char dir[] = "/tmp/live-etcd-XXXXXX";
static struct lb_process_env env;
static struct lb_host host = {.name = "here", .address = "127.0.0.1", .netns = -1};
static struct lb_cluster cluster;
static struct lb_target target;
static struct client {
  const struct lb_protocol *protocol;
  struct lb_session *session;
  struct lb_grant grant;
} client[CLIENTS];
static struct etcd_session hand; /* an operator's */

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }
static const struct lb_lock lock = {.key = "k-lock", .ttl_ms = TTL_MS};

/* ---- a server and its clients ------------------------------------------------------------------------------- */

static int start(void **state) {
  (void)state;
  lb_env_init(&env, 1);
  lb_cluster_init(&cluster, lb_topology_find("etcd"), &env.base);
  if (!mkdtemp(dir) || chmod(dir, 0755) < 0) return -1;
  struct lb_server *s = &cluster.server[0];
  s->host = &host;
  s->port = (uint16_t)(20000 + getpid() % 4000 * 2);
  s->extra_port[0] = (uint16_t)(s->port + 1);
  snprintf(s->dir, sizeof s->dir, "%s/data", dir);
  snprintf(s->log, sizeof s->log, "%s/log", dir);
  if (mkdir(s->dir, 0755) < 0 || lb_cluster_start(&cluster, in_ms(30000)) < 0) return -1;
  lb_cluster_target(&cluster, &target);
  return 0;
}

static int stop(void **state) {
  (void)state;
  lb_cluster_stop(&cluster);
  lb_files_remove_tree(dir);
  return 0;
}

static struct lb_config config_of(const struct lb_protocol *protocol) {
  return (struct lb_config){
      .env = &env.base, .target = &target, .ttl_ms = TTL_MS, .client = "client", .protocol = protocol, .prefix = "k"};
}

static void open_clients(const struct lb_protocol *protocol) {
  struct lb_config config = config_of(protocol);
  assert_int_equal(etcd_session_open(&hand, &config, in_ms(1000)), 0);
  for (size_t i = 0; i < CLIENTS; i++) {
    client[i] = (struct client){.protocol = protocol, .session = calloc(1, protocol->session_size)};
    assert_int_equal(protocol->open(client[i].session, &config, in_ms(2000)), 0);
  }
}

static void close_clients(void) {
  assert_int_equal(etcd_session_hook_teardown((struct lb_session *)&hand, in_ms(2000)), LB_OK);
  etcd_session_close(&hand);
  for (size_t i = 0; i < CLIENTS; i++) {
    client[i].protocol->close(client[i].session);
    free(client[i].session);
  }
}

static int try(size_t i) {
  return client[i].protocol->try_acquire(client[i].session, &lock, &client[i].grant, in_ms(2000));
}
static int release(size_t i) {
  return client[i].protocol->release(client[i].session, &lock, &client[i].grant, in_ms(2000));
}
static int holds(size_t i) {
  return client[i].protocol->holds(client[i].session, &lock, &client[i].grant, in_ms(2000));
}
static int extend(size_t i) {
  return client[i].protocol->extend(client[i].session, &lock, &client[i].grant, in_ms(2000));
}
static int await(size_t i) { return client[i].protocol->wait(client[i].session, &lock, &client[i].grant, in_ms(2000)); }

/* ---- a request --------------------------------------------------------------------------------------------- */

TEST(a_refused_connection_leaves_nothing_unknown) {
  struct lb_endpoint nobody = {.service = "etcd", .host = "127.0.0.1", .port = 1};
  struct etcd_link *link;
  json_t *said;
  lb_env_init(&env, 1);
  assert_int_equal(etcd_open(&env.base, NULL, &nobody, in_ms(1000), &link), 0);
  assert_int_equal(etcd_call(link, "/v3/kv/txn", json_object(), in_ms(1000), &said), -ECONNREFUSED);
  etcd_close(link);
}

/* The late answer to the first is not taken for that to the second. */
TEST(a_request_without_an_answer_is_unknown_and_given_up) {
  struct etcd_link *link;
  json_t *said;
  assert_int_equal(etcd_open(&env.base, NULL, &target.endpoints[0], in_ms(1000), &link), 0);
  assert_int_equal(etcd_call(link, "/v3/maintenance/status", json_object(), in_ms(1000), &said), LB_OK);
  json_decref(said);
  uint64_t losses = etcd_losses(link, true);
  assert_int_equal(lb_proc_signal(&cluster.server[0].proc, SIGSTOP), 0);
  assert_int_equal(etcd_call(link, "/v3/maintenance/status", json_object(), in_ms(100), &said), LB_UNKNOWN);
  assert_null(said);
  assert_true(etcd_losses(link, true) > losses);
  assert_int_equal(lb_proc_signal(&cluster.server[0].proc, SIGCONT), 0);
  assert_int_equal(etcd_call(link, "/v3/lease/grant", json_pack("{s:i}", "TTL", 5), in_ms(3000), &said), LB_OK);
  assert_int_equal(etcd_number(said, "TTL"), 5);
  json_decref(said);
  etcd_close(link);
}

TEST(what_a_key_is_called_comes_back_as_it_was) {
  static const char *const names[] = {"", "a", "ab", "abc", "k-lock/7d7ba205cab5010c", "\x01\x7f ~"};
  char back[40];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    json_t *text = etcd_text(names[i]);
    assert_int_equal(etcd_read_text(text, back, sizeof back), 0);
    assert_string_equal(back, names[i]);
    json_decref(text);
  }
}

/* ---- leases ---------------------------------------------------------------------------------------------------- */

/* Whatever a silent server may still have of it. */
TEST(an_attempt_whose_lease_was_revoked_can_make_no_key) {
  struct lb_grant grant = LB_GRANT_INIT;
  open_clients(&lb_etcd_lease);
  assert_int_equal(etcd_session_begin(&hand, &lock, &grant, in_ms(1000)), LB_OK);
  struct lb_grant late = grant;
  assert_int_equal(etcd_session_leave(&hand, &lock, &grant, in_ms(1000)), LB_OK);
  assert_int_equal(etcd_session_join(&hand, &lock, &late, in_ms(1000)), ETCD_AGAIN);
  assert_int_equal(late.token_len, 0);
  assert_int_equal(etcd_session_proofs.inspect((struct lb_session *)&hand, &lock, 0, in_ms(1000)), 0);
  close_clients();
}

TEST(a_lease_serves_the_next_attempt_with_another_key) {
  open_clients(&lb_etcd_lease);
  assert_int_equal(try(0), LB_OK);
  struct lb_grant first = client[0].grant;
  assert_int_equal(release(0), LB_OK);
  client[0].grant = LB_GRANT_INIT;
  assert_int_equal(try(0), LB_OK);
  assert_int_equal(etcd_session_lease(&client[0].grant), etcd_session_lease(&first));
  assert_true(client[0].grant.fence > first.fence);
  assert_int_equal(lb_etcd_lease.release(client[0].session, &lock, &first, in_ms(1000)), LB_LOST);
  assert_int_equal(holds(0), LB_OK);
  close_clients();
}

TEST(a_key_that_somebody_deleted_is_lost_although_its_lease_lives) {
  open_clients(&lb_etcd_lease);
  assert_int_equal(try(0), LB_OK);
  assert_int_equal(extend(0), LB_OK);
  assert_int_equal(etcd_session_hook_teardown((struct lb_session *)&hand, in_ms(1000)), LB_OK);
  assert_int_equal(extend(0), LB_LOST);
  assert_int_equal(holds(0), LB_LOST);
  close_clients();
}

/* ---- a lease that ends in the queue ---------------------------------------------------------------------------- */

/* Client 0 holds, 1 waits, 1 loses its lease, 0 releases. */
static void let_a_waiter_lose_its_lease(const struct lb_protocol *protocol) {
  open_clients(protocol);
  assert_int_equal(try(0), LB_OK);
  assert_int_equal(try(1), LB_BUSY);
  assert_int_equal(etcd_session_revoke(&hand, &client[1].grant, in_ms(1000)), LB_OK);
  assert_int_equal(release(0), LB_OK);
  assert_int_equal(await(1), LB_OK);
}

TEST(who_looks_for_its_key_asks_anew) {
  let_a_waiter_lose_its_lease(&lb_etcd_lease);
  uint64_t lease = etcd_session_lease(&client[1].grant);
  assert_int_equal(try(1), LB_OK);
  assert_int_not_equal(etcd_session_lease(&client[1].grant), lease);
  assert_int_equal(holds(1), LB_OK);
  assert_int_equal(try(2), LB_BUSY);
  close_clients();
}

/* etcd issue 11456. Whether the service looks for its key is a fact of the version. */
TEST(the_lock_service_grants_on_a_dead_lease_unless_it_looks) {
  struct lb_facts facts;
  struct lb_error err;
  lb_facts_default(&facts);
  assert_int_equal(lb_versions_load(LB_SOURCE_ROOT "/scenarios/theory/versions.ini", &err), 0);
  lb_versions_add("etcd-v3lock", cluster.topology, &facts);
  bool looks = lb_facts_is(&facts, "looks", "yes");
  let_a_waiter_lose_its_lease(&lb_etcd_v3lock);
  if (looks) {
    assert_int_not_equal(try(1), LB_OK);
  } else {
    assert_int_equal(try(1), LB_OK);
    assert_int_equal(holds(1), LB_LOST);
  }
  assert_int_equal(try(2), LB_OK);
  assert_int_equal(holds(2), LB_OK);
  if (!looks) assert_int_equal(release(1), LB_LOST);
  assert_int_equal(holds(2), LB_OK);
  close_clients();
}

/* A second call on the same lease could lose its key to the end of the first one. */
TEST(a_call_that_broke_is_over_and_the_next_has_another_lease) {
  open_clients(&lb_etcd_v3lock);
  assert_int_equal(try(0), LB_OK);
  assert_int_equal(try(1), LB_BUSY);
  uint64_t lease = etcd_session_lease(&client[1].grant);
  lb_cluster_restart_many(&cluster, (size_t[]){0}, 1, in_ms(20000));
  assert_int_equal(await(1), LB_OK);
  assert_int_equal(try(1), LB_UNKNOWN);
  assert_int_equal(client[1].protocol->resolve(client[1].session, &lock, &client[1].grant, in_ms(3000)), LB_BUSY);
  client[1].grant = LB_GRANT_INIT;
  assert_int_equal(try(1), LB_BUSY);
  assert_int_not_equal(etcd_session_lease(&client[1].grant), lease);
  assert_int_equal(release(0), LB_OK);
  assert_int_equal(await(1), LB_OK);
  assert_int_equal(try(1), LB_OK);
  assert_int_equal(holds(1), LB_OK);
  close_clients();
}

static const char *missing(void) { return lb_topology_missing(lb_topology_find("etcd")) ? "no etcd" : NULL; }
NEEDS(missing);

GROUP(start, stop);
