/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * zk-sequential against real ZooKeeper servers: one alone for the contract, three for the loss of a leader. The
 * servers are started here, on free ports of the loopback, in a temporary folder, and die with this program.
 */
#include <ftw.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADED /* the calls of the library that wait */
#include "test.h"
#include "backends/zookeeper/zk_queue.h"
#include "base/clock.h"
#include "client/env.h"
#include "skip.h"
#include "zk_relay.h"

#define MS LB_NS_PER_MS
#define JARS "/usr/share/java/"

extern const struct lb_protocol lb_zk_sequential;
static const struct lb_protocol *const zk = &lb_zk_sequential;

/* ---- servers ------------------------------------------------------------------------------------------- */

struct server {
  pid_t pid;
  uint16_t port, quorum_port, election_port;
  char dir[64];
};

static char base_dir[] = "/tmp/live-zk-XXXXXX";
static struct server alone, trio[3];

static const char *const jars[] = {"zookeeper", "zookeeper-jute", "slf4j-api",   "slf4j-nop",
                                   "netty-all", "commons-cli",    "snappy-java", "metrics-core"};

static uint16_t free_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_return_code(bind(fd, (struct sockaddr *)&address, size), errno);
  assert_return_code(getsockname(fd, (struct sockaddr *)&address, &size), errno);
  close(fd);
  return ntohs(address.sin_port);
}

static void configure(struct server *server, int number, const struct server *members, int count) {
  char path[128];
  snprintf(server->dir, sizeof server->dir, "%s/%u", base_dir, server->port);
  assert_return_code(mkdir(server->dir, 0700), errno);
  snprintf(path, sizeof path, "%s/myid", server->dir);
  FILE *file = fopen(path, "w");
  fprintf(file, "%d\n", number);
  fclose(file);
  snprintf(path, sizeof path, "%s/zoo.cfg", server->dir);
  file = fopen(path, "w");
  fprintf(file,
          "tickTime=200\ninitLimit=50\nsyncLimit=25\ndataDir=%s\nclientPort=%u\nclientPortAddress=%s\n"
          "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=*\n",
          server->dir, server->port, has_ipv6() ? "::" : "127.0.0.1");
  for (int i = 0; i < count; i++)
    fprintf(file, "server.%d=127.0.0.1:%u:%u\n", i + 1, members[i].quorum_port, members[i].election_port);
  fclose(file);
}

static void start(struct server *server) {
  char classes[1024] = "", config[128];
  for (size_t i = 0; i < sizeof jars / sizeof jars[0]; i++)
    snprintf(classes + strlen(classes), sizeof classes - strlen(classes), "%s" JARS "%s.jar", i ? ":" : "", jars[i]);
  snprintf(config, sizeof config, "%s/zoo.cfg", server->dir);
  server->pid = fork();
  assert_return_code(server->pid, errno);
  if (server->pid) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
    _exit(126);
  execlp("java", "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
         "-Dzookeeper.forceSync=no", "-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, NULL);
  _exit(127);
}

static void stop(struct server *server) {
  if (!server->pid) return;
  kill(server->pid, SIGKILL);
  waitpid(server->pid, NULL, 0);
  server->pid = 0;
}

/* What the server says of itself ("Mode: leader"), "" if it does not answer. */
static void ask(const struct server *server, char *answer, size_t size) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(server->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct timeval patience = {.tv_usec = 300000};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  size_t length = 0;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && send(fd, "srvr", 4, MSG_NOSIGNAL) == 4)
    for (ssize_t n; length + 1 < size && (n = read(fd, answer + length, size - length - 1)) > 0;) length += (size_t)n;
  answer[length] = '\0';
  close(fd);
}

static bool serves(const struct server *server, const char *mode) {
  char answer[1024];
  ask(server, answer, sizeof answer);
  return strstr(answer, mode);
}

static void await_mode(const struct server *server, const char *mode) {
  lb_ns deadline = lb_clock_ns() + 30 * LB_NS_PER_S;
  while (!serves(server, mode)) {
    assert_true(lb_clock_ns() < deadline);
    lb_clock_sleep_until(lb_clock_ns() + 20 * MS);
  }
}

/* ---- clients ------------------------------------------------------------------------------------------- */

struct client {
  struct lb_process_env env;
  struct lb_endpoint endpoint[3];
  struct lb_target target;
  struct lb_config config;
  struct lb_session *session;
  struct lb_grant grant;
};

static union lb_value options[1]; /* recipe */

static lb_ns in_ms(uint64_t ms) { return lb_clock_ns() + ms * MS; }

static void open_at(struct client *client, const struct server *servers, size_t count, int64_t ttl_ms) {
  static uint64_t seed = 1;
  *client = (struct client){.session = calloc(1, zk->session_size)};
  lb_env_init(&client->env, seed++ + ((uint64_t)getpid() << 20));
  for (size_t i = 0; i < count; i++)
    client->endpoint[i] = (struct lb_endpoint){.service = "zookeeper", .host = "127.0.0.1", .port = servers[i].port};
  client->target = (struct lb_target){.topology = "zk", .endpoints = client->endpoint, .count = count};
  client->config = (struct lb_config){.env = &client->env.base,
                                      .target = &client->target,
                                      .options = options,
                                      .ttl_ms = ttl_ms,
                                      .client = "client-1",
                                      .protocol = zk,
                                      .prefix = "lockbench"};
  int result = zk->open(client->session, &client->config, in_ms(10000));
  if (result) print_error("open: %s\n", client->env.base.err);
  assert_int_equal(result, 0);
}

static void open_client(struct client *client, int64_t ttl_ms) { open_at(client, &alone, 1, ttl_ms); }

static void close_client(struct client *client) {
  zk->close(client->session);
  free(client->session);
}

static int try(struct client *client, const char *key, uint64_t patience_ms) {
  return zk->try_acquire(client->session, &(struct lb_lock){key, client->config.ttl_ms}, &client->grant,
                         in_ms(patience_ms));
}

static int wait_turn(struct client *client, const char *key, uint64_t patience_ms) {
  return zk->wait(client->session, &(struct lb_lock){.key = key}, &client->grant, in_ms(patience_ms));
}

static int release(struct client *client, const char *key) {
  return zk->release(client->session, &(struct lb_lock){.key = key}, &client->grant, in_ms(3000));
}

static int holds(struct client *client, const char *key) {
  return zk->holds(client->session, &(struct lb_lock){.key = key}, &client->grant, in_ms(3000));
}

static int inspect(struct client *client, const char *key) {
  return zk->proofs->inspect(client->session, &(struct lb_lock){.key = key}, 0, in_ms(3000));
}

/* As a caller would: until it is granted, or `patience_ms` have passed. */
static int acquire(struct client *client, const char *key, uint64_t patience_ms) {
  lb_ns deadline = in_ms(patience_ms);
  for (;;) {
    int result =
        zk->try_acquire(client->session, &(struct lb_lock){key, client->config.ttl_ms}, &client->grant, deadline);
    if (result == LB_BUSY) result = zk->wait(client->session, &(struct lb_lock){.key = key}, &client->grant, deadline);
    else return result;
    if (result != LB_OK) return result;
  }
}

/* The folder of a key is made at its first use; an attempt that has to make it sends more than its create. */
static void use_once(struct client *client, const char *key) {
  assert_int_equal(try(client, key, 3000), LB_OK);
  assert_int_equal(release(client, key), LB_OK);
  client->grant = LB_GRANT_INIT;
}

/* ---- the contract -------------------------------------------------------------------------------------- */

TEST(a_grant_excludes) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(zk->setup(a.session, in_ms(3000)), 0);
  lb_ns before = lb_clock_ns();
  assert_int_equal(try(&a, "excludes", 3000), LB_OK);
  assert_true(a.grant.token_len > 0 && a.grant.fence > 0);
  assert_true(a.grant.asked_at >= before && a.grant.valid_until <= lb_clock_ns() + 4000 * MS);
  assert_true(a.grant.valid_until > lb_clock_ns());
  assert_int_equal(try(&b, "excludes", 3000), LB_BUSY);
  assert_int_equal(try(&a, "excludes", 3000), LB_OK);
  assert_int_equal(holds(&a, "excludes"), LB_OK);
  assert_int_equal(holds(&b, "excludes"), LB_LOST);
  assert_int_equal(release(&a, "excludes"), LB_OK);
  assert_int_equal(holds(&a, "excludes"), LB_LOST);
  assert_int_equal(release(&a, "excludes"), LB_LOST);
  assert_int_equal(try(&b, "excludes", 3000), LB_OK);
  close_client(&a), close_client(&b);
}

TEST(grants_come_in_order_of_arrival_and_fences_grow) {
  struct client c[3];
  uint64_t fence = 0;
  for (int i = 0; i < 3; i++) open_client(&c[i], 4000);
  for (int i = 0; i < 3; i++) assert_int_equal(try(&c[i], "order", 3000), i ? LB_BUSY : LB_OK);
  for (int i = 0; i < 3; i++) {
    for (int later = 2; later > i; later--) assert_int_equal(try(&c[later], "order", 3000), LB_BUSY);
    assert_int_equal(try(&c[i], "order", 3000), LB_OK);
    assert_true(c[i].grant.fence > fence);
    fence = c[i].grant.fence;
    assert_int_equal(release(&c[i], "order"), LB_OK);
  }
  c[0].grant = LB_GRANT_INIT;
  assert_int_equal(try(&c[0], "order", 3000), LB_OK);
  assert_true(c[0].grant.fence > fence);
  for (int i = 0; i < 3; i++) close_client(&c[i]);
}

static void *wait_and_return(void *client) { return (void *)(intptr_t)wait_turn(client, "wakes", 700); }

TEST(a_release_wakes_the_next_waiter_only) {
  struct client a, b, c;
  pthread_t thread;
  void *c_result;
  open_client(&a, 4000), open_client(&b, 4000), open_client(&c, 4000);
  assert_int_equal(try(&a, "wakes", 3000), LB_OK);
  assert_int_equal(try(&b, "wakes", 3000), LB_BUSY);
  assert_int_equal(try(&c, "wakes", 3000), LB_BUSY);
  assert_int_equal(wait_turn(&b, "wakes", 100), LB_TIMEOUT);
  pthread_create(&thread, NULL, wait_and_return, &c);
  assert_int_equal(wait_turn(&b, "wakes", 100), LB_TIMEOUT);
  assert_int_equal(release(&a, "wakes"), LB_OK);
  assert_int_equal(wait_turn(&b, "wakes", 3000), LB_OK);
  assert_int_equal(try(&b, "wakes", 3000), LB_OK);
  pthread_join(thread, &c_result);
  assert_int_equal((intptr_t)c_result, LB_TIMEOUT);
  close_client(&a), close_client(&b), close_client(&c);
}

TEST(giving_up_leaves_nothing_behind) {
  struct client a, b, c;
  open_client(&a, 4000), open_client(&b, 4000), open_client(&c, 4000);
  assert_int_equal(inspect(&a, "gives-up"), 0);
  assert_int_equal(try(&a, "gives-up", 3000), LB_OK);
  assert_int_equal(inspect(&a, "gives-up"), 1);
  assert_int_equal(try(&b, "gives-up", 3000), LB_BUSY);
  assert_int_equal(try(&c, "gives-up", 3000), LB_BUSY);
  assert_int_equal(release(&b, "gives-up"), LB_OK);
  assert_int_equal(holds(&a, "gives-up"), LB_OK);
  assert_int_equal(release(&b, "gives-up"), LB_OK);
  assert_int_equal(release(&a, "gives-up"), LB_OK);
  assert_int_equal(acquire(&c, "gives-up", 3000), LB_OK);
  assert_int_equal(release(&c, "gives-up"), LB_OK);
  assert_int_equal(inspect(&a, "gives-up"), 0);
  close_client(&a), close_client(&b), close_client(&c);
}

TEST(extending_moves_the_validity_until_it_is_lost) {
  struct client a;
  open_client(&a, 4000);
  assert_int_equal(try(&a, "extends", 3000), LB_OK);
  lb_ns first = a.grant.valid_until;
  assert_int_equal(zk->extend(a.session, &(struct lb_lock){"extends", 4000}, &a.grant, in_ms(3000)), LB_OK);
  assert_true(a.grant.valid_until > first);
  struct lb_grant kept = a.grant;
  assert_int_equal(release(&a, "extends"), LB_OK);
  assert_int_equal(zk->extend(a.session, &(struct lb_lock){"extends", 4000}, &kept, in_ms(3000)), LB_LOST);
  close_client(&a);
}

TEST(a_node_of_another_session_is_not_taken_for_the_own) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(try(&a, "foreign", 3000), LB_OK);
  b.grant = a.grant;
  assert_int_equal(holds(&b, "foreign"), LB_LOST);
  assert_int_equal(release(&b, "foreign"), LB_LOST);
  assert_int_equal(zk->resolve(b.session, &(struct lb_lock){.key = "foreign"}, &b.grant, in_ms(3000)), LB_BUSY);
  b.grant = a.grant;
  assert_int_equal(try(&b, "foreign", 3000), LB_BUSY);
  assert_int_equal(holds(&a, "foreign"), LB_OK);
  close_client(&a), close_client(&b);
}

TEST(a_negative_number_comes_before_a_small_one) {
  struct client a;
  struct zk_session *raw;
  const char *node = "/lockbench/negative/0123-lock--000000099";
  open_client(&a, 4000);
  use_once(&a, "negative");
  assert_int_equal(zk_open(&a.env.base, a.endpoint, 1, 4000, false, &raw), 0);
  assert_int_equal(zk_connect(raw, in_ms(3000)), 0);
  assert_int_equal(zk_run(raw, zk_create(raw, node, "", ZOO_EPHEMERAL), in_ms(3000)), ZOK);
  assert_int_equal(try(&a, "negative", 3000), LB_BUSY);
  zk_close(raw);
  assert_int_equal(acquire(&a, "negative", 3000), LB_OK);
  close_client(&a);
}

/* The children of a node, or -1: it is not there. */
static int children_of(struct zk_session *raw, const char *path) {
  struct zk_call *children = zk_children(raw, path);
  int rc = zk_wait(raw, children, in_ms(3000)), count = rc == ZOK ? (int)children->count : -1;
  zk_drop(children);
  return count;
}

TEST(teardown_removes_the_folder_of_the_run_with_held_locks_and_all) {
  struct client a, b;
  struct zk_session *raw;
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(zk_open(&a.env.base, a.endpoint, 1, 4000, false, &raw), 0);
  assert_int_equal(zk_connect(raw, in_ms(3000)), 0);
  assert_int_equal(zk_run(raw, zk_create(raw, "/lockbench2", "", ZOO_PERSISTENT), in_ms(3000)), ZOK);
  assert_int_equal(try(&a, "held", 3000), LB_OK);
  use_once(&b, "left-empty");
  assert_true(children_of(raw, "/lockbench") >= 2);
  assert_int_equal(zk->teardown(b.session, in_ms(3000)), LB_OK);
  assert_int_equal(children_of(raw, "/lockbench"), -1);
  assert_int_equal(children_of(raw, "/lockbench2"), 0);
  assert_int_equal(zk->teardown(b.session, in_ms(3000)), LB_OK);
  assert_int_equal(zk->setup(b.session, in_ms(3000)), LB_OK);
  use_once(&b, "held");
  zk_run(raw, zk_delete(raw, "/lockbench2"), in_ms(3000));
  zk_close(raw);
  close_client(&a), close_client(&b);
}

/* ---- logins and addresses -------------------------------------------------------------------------------- */

/* A session's own folder that only locker:word may use. */
static void guard_folder(const char *path) {
  char servers[32];
  snprintf(servers, sizeof servers, "127.0.0.1:%u", alone.port);
  zhandle_t *handle = zookeeper_init(servers, NULL, 4000, NULL, NULL, ZOO_NO_LOG_CLIENTENV);
  assert_non_null(handle);
  assert_int_equal(zoo_add_auth(handle, "digest", "locker:word", 11, NULL, NULL), ZOK);
  int rc = zoo_create(handle, path, "", 0, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0);
  assert_int_equal(rc, ZOK);
  zookeeper_close(handle);
}

static int try_at(const char *host, const char *user, const char *password, const char *prefix) {
  struct client a;
  struct lb_endpoint at = {"zookeeper", host, alone.port, false, user, password};
  struct lb_target target = {.topology = "zk", .endpoints = &at, .count = 1};
  a = (struct client){.session = calloc(1, zk->session_size)};
  lb_env_init(&a.env, 99 + ((uint64_t)getpid() << 20));
  a.config = (struct lb_config){.env = &a.env.base,
                                .target = &target,
                                .options = options,
                                .ttl_ms = 4000,
                                .client = "c",
                                .protocol = zk,
                                .prefix = prefix};
  int rc = zk->open(a.session, &a.config, in_ms(5000));
  if (rc) print_error("%s: %s\n", host, a.env.base.err);
  if (!rc) rc = try(&a, "guarded", 3000);
  if (!rc) assert_int_equal(zk->teardown(a.session, in_ms(3000)), LB_OK);
  close_client(&a);
  return rc;
}

STATES(a_login_opens_what_is_closed_to_others, guard_folder("/guarded"),
       assert_int_equal(try_at("127.0.0.1", NULL, NULL, "guarded"), -EACCES),
       assert_int_equal(try_at("127.0.0.1", "locker", "wrong", "guarded"), -EACCES),
       assert_int_equal(try_at("127.0.0.1", "locker", "word", "guarded"), LB_OK));

TEST(servers_are_found_by_name_and_by_ipv6) {
  assert_int_equal(try_at("localhost", NULL, NULL, "by-name"), LB_OK);
  if (has_ipv6()) assert_int_equal(try_at("::1", NULL, NULL, "by-six"), LB_OK);
}

TEST(what_the_library_cannot_do_is_told) {
  struct client a;
  struct zk_session *raw = NULL;
  open_client(&a, 4000);
  a.endpoint[0].tls = true;
  assert_int_equal(zk_open(&a.env.base, a.endpoint, 1, 4000, false, &raw), -EPROTONOSUPPORT);
  assert_non_null(strstr(a.env.base.err, "asks for TLS"));
  a.endpoint[0].tls = false, a.endpoint[0].password = "alone";
  assert_int_equal(zk_open(&a.env.base, a.endpoint, 1, 4000, false, &raw), -EINVAL);
  a.endpoint[0].host = "no name at all";
  a.endpoint[0].password = NULL;
  assert_int_equal(zk_open(&a.env.base, a.endpoint, 1, 4000, false, &raw), -ENOENT);
  a.endpoint[0].host = "127.0.0.1";
  close_client(&a);
}

TEST(a_key_too_long_for_a_node_is_refused) {
  struct client a;
  char key[LB_TOKEN_MAX];
  memset(key, 'k', sizeof key);
  key[sizeof key - 1] = '\0';
  open_client(&a, 4000);
  assert_int_equal(try(&a, key, 3000), -ENAMETOOLONG);
  assert_non_null(strstr(a.env.base.err, "does not fit"));
  close_client(&a);
}

static void open_queue(struct client *client, struct zk_queue *queue) {
  open_client(client, 4000);
  assert_int_equal(zk_queue_open(queue, &client->config, in_ms(3000)), 0);
}

/* How often it has been written. */
static int version_of(struct zk_session *session, const char *path) {
  struct zk_call *node = zk_exists(session, path);
  assert_int_equal(zk_wait(session, node, in_ms(3000)), ZOK);
  int version = node->stat.version;
  zk_drop(node);
  return version;
}

/* What a recipe may do that is not zk-sequential: look without a write, in a queue of its own. */
TEST(a_place_is_seen_without_a_write_too) {
  struct client a, b;
  struct zk_queue first, second;
  const char *dir = "/lockbench/looks";
  open_queue(&a, &first), open_queue(&b, &second);
  use_once(&a, "looks");
  assert_int_equal(zk_queue_join(&first, dir, &a.grant, NULL, in_ms(3000)), LB_OK);
  assert_int_equal(zk_queue_join(&second, dir, &b.grant, NULL, in_ms(3000)), LB_BUSY);
  assert_string_equal(zk_queue_ahead(&second, &b.grant), a.grant.token);
  assert_int_equal(version_of(first.run.zk, dir), 0);
  assert_int_equal(zk_queue_look(&second, dir, &b.grant, false, in_ms(3000)), LB_BUSY);
  assert_int_equal(version_of(first.run.zk, dir), 0);
  assert_int_equal(zk_queue_look(&second, dir, &b.grant, true, in_ms(3000)), LB_BUSY);
  assert_int_equal(version_of(first.run.zk, dir), 1);
  assert_int_equal(zk_queue_leave(&first, &a.grant, true, in_ms(3000)), LB_OK);
  assert_int_equal(zk_queue_look(&second, dir, &b.grant, false, in_ms(3000)), LB_OK);
  assert_null(zk_queue_ahead(&second, &b.grant));
  zk_run_close(&first.run), zk_run_close(&second.run);
  close_client(&a), close_client(&b);
}

/* Of two waiters the second watches the first, whose second look must not touch what is watched. */
TEST(looking_again_wakes_nobody) {
  struct client a, b, c;
  pthread_t thread;
  void *c_result;
  open_client(&a, 4000), open_client(&b, 4000), open_client(&c, 4000);
  assert_int_equal(try(&a, "wakes", 3000), LB_OK);
  assert_int_equal(try(&b, "wakes", 3000), LB_BUSY);
  assert_int_equal(try(&c, "wakes", 3000), LB_BUSY);
  pthread_create(&thread, NULL, wait_and_return, &c);
  lb_ns end = in_ms(500);
  while (lb_clock_ns() < end) assert_int_equal(try(&b, "wakes", 3000), LB_BUSY);
  pthread_join(thread, &c_result);
  assert_int_equal((intptr_t)c_result, LB_TIMEOUT);
  close_client(&a), close_client(&b), close_client(&c);
}

/* ---- what a grant costs ----------------------------------------------------------------------------------- */

/* The latest transaction of a server. */
static uint64_t zxid_of(const struct server *server) {
  char answer[1024];
  ask(server, answer, sizeof answer);
  const char *at = strstr(answer, "Zxid: 0x");
  assert_non_null(at);
  return strtoull(at + strlen("Zxid: 0x"), NULL, 16);
}

TEST(a_hand_off_is_one_commit) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  use_once(&a, "hands-off"), use_once(&b, "hands-off");
  assert_int_equal(try(&a, "hands-off", 3000), LB_OK);
  assert_int_equal(try(&b, "hands-off", 3000), LB_BUSY);
  uint64_t before = zxid_of(&alone);
  assert_int_equal(release(&a, "hands-off"), LB_OK);
  assert_int_equal(wait_turn(&b, "hands-off", 3000), LB_OK);
  assert_int_equal(try(&b, "hands-off", 3000), LB_OK);
  assert_int_equal(zxid_of(&alone), before + 1);
  assert_int_equal(zk->proofs->seen(b.session), before + 1); /* the deletion; it came too late to be told of it */
  close_client(&a), close_client(&b);
}

/* Of which one is too many for who writes often. 625 ms of 1500 are what two quick writes are good for; and all of the
 * 1500 what the last one before the silence is, by the two after it. */
TEST(who_was_silent_for_long_writes_once_more) {
  struct client a;
  open_client(&a, 1500);
  use_once(&a, "silent-before");
  uint64_t before = zxid_of(&alone);
  use_once(&a, "silent-before");
  lb_ns last = lb_clock_ns();
  assert_int_equal(zxid_of(&alone), before + 2);
  lb_clock_sleep_until(in_ms(800));
  lb_ns asked = lb_clock_ns();
  assert_int_equal(try(&a, "silent-before", 3000), LB_OK);
  assert_int_equal(zxid_of(&alone), before + 4);
  assert_true(a.grant.valid_until >= asked + 625 * MS && a.grant.valid_until <= last + 1500 * MS);
  close_client(&a);
}

TEST(who_waits_for_long_keeps_up_what_it_knows) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 1500);
  assert_int_equal(try(&a, "waits-long", 3000), LB_OK);
  assert_int_equal(try(&b, "waits-long", 3000), LB_BUSY);
  uint64_t before = zxid_of(&alone);
  assert_int_equal(wait_turn(&b, "waits-long", 1400), LB_TIMEOUT);
  uint64_t writes = zxid_of(&alone) - before;
  assert_true(writes >= 4 && writes <= 9);
  assert_int_equal(release(&a, "waits-long"), LB_OK);
  before = zxid_of(&alone);
  assert_int_equal(try(&b, "waits-long", 3000), LB_OK);
  assert_int_equal(zxid_of(&alone), before);
  /* Renewals are 156 ms apart; a quarter of the session, 375 ms, lies between the first two of three. */
  assert_true(b.grant.valid_until > in_ms(625 / 3) && b.grant.valid_until <= in_ms(1500 - 375));
  close_client(&a), close_client(&b);
}

/* Looked at from outside: it watches by exists, and writes nothing. */
TEST(the_recipe_believes_without_a_write) {
  struct client a, b;
  options[0].b = true;
  open_client(&a, 4000), open_client(&b, 1500);
  options[0].b = false;
  use_once(&a, "by-recipe");
  assert_int_equal(try(&a, "by-recipe", 3000), LB_OK);
  assert_int_equal(try(&b, "by-recipe", 3000), LB_BUSY);
  uint64_t before = zxid_of(&alone);
  assert_int_equal(wait_turn(&b, "by-recipe", 1400), LB_TIMEOUT);
  assert_int_equal(release(&a, "by-recipe"), LB_OK);
  assert_int_equal(wait_turn(&b, "by-recipe", 3000), LB_OK);
  assert_int_equal(try(&b, "by-recipe", 3000), LB_OK);
  assert_int_equal(zxid_of(&alone), before + 1);
  assert_true(b.grant.valid_until > in_ms(800) && b.grant.valid_until <= in_ms(1000)); /* two thirds of its session */
  assert_int_equal(zk->extend(b.session, &(struct lb_lock){"by-recipe", 1500}, &b.grant, in_ms(3000)), LB_OK);
  assert_int_equal(release(&b, "by-recipe"), LB_OK);
  close_client(&a), close_client(&b);
}

/* ---- servers that stand still ------------------------------------------------------------------------------ */

static void pause_one(const struct server *server) {
  int status;
  kill(server->pid, SIGSTOP);
  assert_int_equal(waitpid(server->pid, &status, WUNTRACED), server->pid); /* it stops some time after the signal */
  assert_true(WIFSTOPPED(status));
}

static void pause_server(void) { pause_one(&alone); }

static void resume_server(void) { kill(alone.pid, SIGCONT); }

/* Also after a failed test, which may have left it paused. */
static int resume_after(void **state) {
  (void)state;
  resume_server();
  return 0;
}
EACH(NULL, resume_after);

static void assert_took(lb_ns since, uint64_t at_least_ms, uint64_t below_ms) {
  lb_ns took_ms = (lb_clock_ns() - since) / MS;
  if (took_ms < at_least_ms || took_ms >= below_ms) fail_msg("took %u ms", (unsigned)took_ms);
}

/* ---- what the one ahead tells ------------------------------------------------------------------------------ */

/* One that stands in the queue of a key and watches the node ahead, as a waiter does. */
static void join_and_watch(struct client *client, struct zk_queue *queue, const char *dir) {
  open_queue(client, queue);
  assert_int_equal(zk_queue_join(queue, dir, &client->grant, NULL, in_ms(3000)), LB_BUSY);
  assert_int_equal(
      zk_await_watch(queue->run.zk, zk_watch(queue->run.zk, zk_queue_ahead(queue, &client->grant)), in_ms(3000)),
      LB_OK);
}

/* The server stands still while the next one looks: it has to know already. */
TEST(who_is_told_that_it_is_the_first_asks_nobody) {
  struct client first, a, b;
  struct zk_queue queue;
  const char *dir = "/lockbench/told";
  open_client(&first, 4000), open_client(&a, 4000);
  assert_int_equal(try(&first, "told", 3000), LB_OK);
  assert_int_equal(try(&a, "told", 3000), LB_BUSY);
  join_and_watch(&b, &queue, dir);
  assert_int_equal(release(&first, "told"), LB_OK);
  assert_int_equal(try(&a, "told", 3000), LB_OK);
  const char *ahead = zk_queue_ahead(&queue, &b.grant);
  assert_int_equal(release(&a, "told"), LB_OK);
  assert_int_equal(zk_wait_event(queue.run.zk, in_ms(3000)), LB_OK);
  assert_true(queue.seen > 0);
  pause_server();
  assert_int_equal(zk_queue_await_turn(&queue, dir, ahead, in_ms(200)), LB_OK);
  assert_int_equal(zk_queue_look(&queue, dir, &b.grant, true, in_ms(200)), LB_UNKNOWN);
  assert_int_equal(zk_queue_look(&queue, dir, &b.grant, false, in_ms(200)), LB_OK);
  assert_int_equal(queue.seen, 0); /* it has read nothing */
  resume_server();
  assert_int_equal(zk_queue_look(&queue, dir, &b.grant, true, in_ms(3000)), LB_OK);
  zk_run_close(&queue.run);
  close_client(&first), close_client(&a), close_client(&b);
}

TEST(who_was_alone_only_deletes_and_the_next_one_reads) {
  struct client a, b;
  struct zk_queue queue;
  const char *dir = "/lockbench/alone";
  open_client(&a, 4000);
  assert_int_equal(try(&a, "alone", 3000), LB_OK);
  join_and_watch(&b, &queue, dir);
  assert_int_equal(release(&a, "alone"), LB_OK);
  assert_int_equal(zk_wait_event(queue.run.zk, in_ms(3000)), LB_OK);
  assert_false(zk_was_written(queue.run.zk, zk_queue_ahead(&queue, &b.grant)));
  queue.seen = 0;
  assert_int_equal(zk_queue_look(&queue, dir, &b.grant, false, in_ms(3000)), LB_OK);
  assert_true(queue.seen > 0);
  zk_run_close(&queue.run);
  close_client(&a), close_client(&b);
}

TEST(who_gives_up_does_not_make_the_next_one_the_first) {
  struct client a, b, c;
  struct zk_queue queue;
  const char *dir = "/lockbench/not-passed-on";
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(try(&a, "not-passed-on", 3000), LB_OK);
  assert_int_equal(try(&b, "not-passed-on", 3000), LB_BUSY);
  join_and_watch(&c, &queue, dir);
  assert_int_equal(release(&b, "not-passed-on"), LB_OK);
  assert_int_equal(zk_wait_event(queue.run.zk, in_ms(3000)), LB_OK);
  assert_int_equal(zk_queue_look(&queue, dir, &c.grant, false, in_ms(3000)), LB_BUSY);
  zk_run_close(&queue.run);
  close_client(&a), close_client(&b), close_client(&c);
}

/* What a holder writes must not be taken for what it writes when it goes. */
TEST(a_renewal_tells_the_next_one_nothing) {
  struct client a, b;
  struct zk_queue queue;
  const char *dir = "/lockbench/renews";
  open_client(&a, 4000);
  assert_int_equal(try(&a, "renews", 3000), LB_OK);
  join_and_watch(&b, &queue, dir);
  assert_int_equal(zk->extend(a.session, &(struct lb_lock){"renews", 4000}, &a.grant, in_ms(3000)), LB_OK);
  assert_int_equal(holds(&a, "renews"), LB_OK);
  assert_int_equal(zk_wait_event(queue.run.zk, in_ms(200)), LB_TIMEOUT);
  assert_int_equal(zk_queue_look(&queue, dir, &b.grant, false, in_ms(3000)), LB_BUSY);
  zk_run_close(&queue.run);
  close_client(&a), close_client(&b);
}

/* A watch on a new node, at this server. */
static void watch_new(struct zk_session *watcher, struct zk_session *writer, const char *path) {
  assert_int_equal(zk_run(writer, zk_create(writer, path, "", 0), in_ms(3000)), ZOK);
  assert_int_equal(zk_await_watch(watcher, zk_watch(watcher, path), in_ms(3000)), LB_OK);
  assert_false(zk_was_written(watcher, path));
}

static void await_loss(struct zk_session *session, bool wanted) {
  bool connected = !wanted;
  for (lb_ns end = in_ms(5000); zk_losses(session, &connected) == 0 || connected != wanted;
       lb_clock_sleep_until(in_ms(5)))
    assert_true(lb_clock_ns() < end);
}

/* A watch that is set anew by the library, when the node was written to meanwhile, tells the same as one that was
 * there. */
TEST(a_watch_tells_of_a_write_only_on_its_own_connection) {
  struct client a;
  struct zk_session *writer, *watcher;
  uint16_t port;
  struct relay *relay = relay_open(alone.port, &port);
  assert_non_null(relay);
  open_client(&a, 4000);
  struct lb_endpoint by_relay = {.service = "zookeeper", .host = "127.0.0.1", .port = port};
  assert_int_equal(zk_open(&a.env.base, &a.endpoint[0], 1, 4000, false, &writer), 0);
  assert_int_equal(zk_open(&a.env.base, &by_relay, 1, 3000, false, &watcher), 0);
  assert_int_equal(zk_connect(writer, in_ms(3000)), 0);
  assert_int_equal(zk_connect(watcher, in_ms(3000)), 0);
  watch_new(watcher, writer, "/goes");
  assert_int_equal(zk_run(writer, zk_delete(writer, "/goes"), in_ms(3000)), ZOK);
  assert_int_equal(zk_wait_event(watcher, in_ms(3000)), LB_OK);
  assert_false(zk_was_written(watcher, "/goes"));
  watch_new(watcher, writer, "/goes-first");
  assert_int_equal(zk_run(writer, zk_write_and_delete(writer, "/goes-first"), in_ms(3000)), ZOK);
  assert_int_equal(zk_wait_event(watcher, in_ms(3000)), LB_OK);
  assert_true(zk_was_written(watcher, "/goes-first"));
  assert_false(zk_was_written(watcher, "/goes"));
  assert_int_equal(zk_run(writer, zk_write_and_delete(writer, "/goes-first"), in_ms(3000)), ZNONODE);
  watch_new(watcher, writer, "/stays");
  relay_delay(relay, RELAY_HOLD);
  assert_int_equal(zk_run(writer, zk_set(writer, "/stays", ""), in_ms(3000)), ZOK);
  await_loss(watcher, false);
  relay_delay(relay, 0);
  assert_int_equal(zk_wait_event(watcher, in_ms(5000)), LB_OK);
  assert_false(zk_was_written(watcher, "/stays"));
  zk_close(watcher), zk_close(writer);
  relay_close(relay);
  close_client(&a);
}

/* ---- a silent server ----------------------------------------------------------------------------------- */

TEST(a_silent_server_does_not_stretch_a_deadline) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(try(&a, "silent", 3000), LB_OK);
  pause_server();
  lb_ns since = lb_clock_ns();
  assert_int_equal(try(&b, "silent", 200), LB_UNKNOWN);
  assert_took(since, 200, 700);
  since = lb_clock_ns();
  assert_int_equal(zk->release(a.session, &(struct lb_lock){.key = "silent"}, &a.grant, in_ms(200)), LB_UNKNOWN);
  assert_took(since, 200, 700);
  since = lb_clock_ns();
  assert_int_equal(zk->resolve(b.session, &(struct lb_lock){.key = "silent"}, &b.grant, in_ms(200)), LB_UNKNOWN);
  assert_took(since, 200, 700);
  since = lb_clock_ns();
  close_client(&b);
  assert_took(since, 0, 800);
  resume_server();
  assert_int_equal(release(&a, "silent"), LB_OK);
  close_client(&a);
}

TEST(resolving_tells_held_from_not_held) {
  struct client a, b, c;
  open_client(&a, 4000), open_client(&b, 4000), open_client(&c, 4000);
  use_once(&a, "resolves");
  pause_server();
  assert_int_equal(try(&a, "resolves", 100), LB_UNKNOWN);
  resume_server();
  assert_int_equal(zk->resolve(a.session, &(struct lb_lock){.key = "resolves"}, &a.grant, in_ms(3000)), LB_OK);
  assert_true(a.grant.fence > 0 && a.grant.valid_until > lb_clock_ns());
  assert_int_equal(holds(&a, "resolves"), LB_OK);
  pause_server();
  assert_int_equal(try(&b, "resolves", 100), LB_UNKNOWN);
  resume_server();
  assert_int_equal(zk->resolve(b.session, &(struct lb_lock){.key = "resolves"}, &b.grant, in_ms(3000)), LB_BUSY);
  assert_int_equal(release(&a, "resolves"), LB_OK);
  assert_int_equal(inspect(&c, "resolves"), 0);
  close_client(&a), close_client(&b), close_client(&c);
}

TEST(an_unanswered_attempt_goes_on_with_its_own_node) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  use_once(&a, "goes-on");
  pause_server();
  assert_int_equal(try(&a, "goes-on", 100), LB_UNKNOWN);
  resume_server();
  assert_int_equal(try(&a, "goes-on", 3000), LB_OK);
  assert_int_equal(release(&a, "goes-on"), LB_OK);
  assert_int_equal(try(&b, "goes-on", 3000), LB_OK);
  close_client(&a), close_client(&b);
}

TEST(an_unanswered_release_is_made_good_at_the_next_contact) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  use_once(&a, "made-good");
  pause_server();
  assert_int_equal(try(&a, "made-good", 100), LB_UNKNOWN);
  assert_int_equal(zk->release(a.session, &(struct lb_lock){.key = "made-good"}, &a.grant, in_ms(100)), LB_UNKNOWN);
  resume_server();
  a.grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, "another-key", 3000), LB_OK);
  assert_int_equal(try(&b, "made-good", 3000), LB_OK);
  close_client(&a), close_client(&b);
}

/* The client asks for nothing more; its library has to do it. */
TEST(an_unanswered_release_is_made_good_without_another_call) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  use_once(&a, "by-itself");
  pause_server();
  assert_int_equal(try(&a, "by-itself", 100), LB_UNKNOWN);
  assert_int_equal(zk->release(a.session, &(struct lb_lock){.key = "by-itself"}, &a.grant, in_ms(100)), LB_UNKNOWN);
  resume_server();
  assert_int_equal(acquire(&b, "by-itself", 3000), LB_OK);
  assert_int_equal(release(&b, "by-itself"), LB_OK);
  close_client(&a), close_client(&b);
}

TEST(an_unanswered_release_is_made_good_when_the_server_is_back) {
  struct client a, b;
  open_client(&a, 20000), open_client(&b, 20000);
  assert_int_equal(try(&a, "comes-back", 3000), LB_OK);
  stop(&alone);
  assert_int_equal(zk->release(a.session, &(struct lb_lock){.key = "comes-back"}, &a.grant, in_ms(100)), LB_UNKNOWN);
  start(&alone);
  assert_int_equal(acquire(&b, "comes-back", 15000), LB_OK); /* while the session of `a` lives */
  assert_int_equal(release(&b, "comes-back"), LB_OK);
  close_client(&a), close_client(&b);
}

/* What a release could not delete may still stand in the queue as the first, and is about to go. */
TEST(what_a_release_left_is_never_granted_again) {
  struct client a;
  struct zk_queue queue;
  const char *dir = "/lockbench/left";
  open_queue(&a, &queue);
  use_once(&a, "left");
  assert_int_equal(zk_queue_join(&queue, dir, &a.grant, NULL, in_ms(3000)), LB_OK);
  pause_server();
  assert_int_equal(zk_queue_leave(&queue, &a.grant, true, in_ms(100)), LB_UNKNOWN);
  assert_true(zk_is_doomed(queue.run.zk, a.grant.token));
  struct lb_grant left = a.grant;
  assert_int_equal(zk_queue_connect(&queue, &a.grant, in_ms(100)), 0);
  assert_false(zk_queue_has_node(&a.grant));
  resume_server();
  assert_int_equal(zk_queue_connect(&queue, &left, in_ms(3000)), 0);
  assert_false(zk_is_doomed(queue.run.zk, left.token));
  zk_run_close(&queue.run);
  close_client(&a);
}

static bool any_is_doomed(struct zk_queue *queue, const struct lb_grant *grants, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (zk_is_doomed(queue->run.zk, grants[i].token)) return true;
  return false;
}

/* By the library's thread alone; one of them is known by the begin of its name only. */
TEST(deletions_made_good_in_the_background_are_forgotten) {
  struct client a, b;
  struct zk_queue queue;
  struct lb_grant grants[8] = {0};
  open_queue(&a, &queue), open_client(&b, 4000);
  use_once(&a, "background");
  for (int i = 0; i < 7; i++) zk_queue_join(&queue, "/lockbench/background", &grants[i], NULL, in_ms(3000));
  pause_server();
  assert_int_equal(zk_queue_join(&queue, "/lockbench/background", &grants[7], NULL, in_ms(100)), LB_UNKNOWN);
  for (int i = 0; i < 8; i++) assert_int_equal(zk_queue_leave(&queue, &grants[i], true, in_ms(20)), LB_UNKNOWN);
  assert_true(any_is_doomed(&queue, grants, 8));
  resume_server();
  lb_ns end = in_ms(3000);
  while (any_is_doomed(&queue, grants, 8) && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
  assert_false(any_is_doomed(&queue, grants, 8));
  assert_int_equal(inspect(&b, "background"), 0);
  zk_run_close(&queue.run);
  close_client(&a), close_client(&b);
}

TEST(a_session_survives_a_restart_of_its_server) {
  struct client a, b;
  open_client(&a, 4000), open_client(&b, 4000);
  assert_int_equal(try(&a, "restart", 3000), LB_OK);
  stop(&alone);
  start(&alone);
  assert_int_equal(zk->holds(a.session, &(struct lb_lock){.key = "restart"}, &a.grant, in_ms(10000)), LB_OK);
  assert_int_equal(try(&b, "restart", 10000), LB_BUSY);
  assert_int_equal(release(&a, "restart"), LB_OK);
  assert_int_equal(acquire(&b, "restart", 3000), LB_OK);
  close_client(&a), close_client(&b);
}

/* ---- dead and paused holders ---------------------------------------------------------------------------- */

/* A holder in a process of its own: acquires, says so, and does what `then` wants when told to. */
struct holder {
  pid_t pid;
  int granted[2], go[2];
};

static int report; /* in the holder's process: where it says how far it has come */

static void start_holder(struct holder *holder, const char *key, int64_t ttl_ms, int (*then)(struct client *)) {
  char byte = 'x';
  assert_return_code(pipe(holder->granted), errno);
  assert_return_code(pipe(holder->go), errno);
  holder->pid = fork();
  assert_return_code(holder->pid, errno);
  if (holder->pid == 0) {
    struct client client;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_client(&client, ttl_ms);
    report = holder->granted[1];
    if (acquire(&client, key, 3000) != LB_OK || write(report, &byte, 1) != 1) _exit(100);
    if (read(holder->go[0], &byte, 1) != 1) _exit(101);
    _exit(then(&client));
  }
  assert_int_equal(read(holder->granted[0], &byte, 1), 1);
}

static int end_holder(struct holder *holder) {
  int status;
  waitpid(holder->pid, &status, 0);
  for (int i = 0; i < 2; i++) close(holder->granted[i]), close(holder->go[i]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int do_nothing(struct client *client) {
  (void)client;
  return 0;
}

TEST(a_dead_holder_is_replaced_after_its_session_timeout) {
  struct holder holder;
  struct client b;
  start_holder(&holder, "dead", 1000, do_nothing);
  open_client(&b, 1000);
  assert_int_equal(try(&b, "dead", 3000), LB_BUSY);
  kill(holder.pid, SIGKILL);
  lb_ns since = lb_clock_ns();
  assert_int_equal(end_holder(&holder), 128 + SIGKILL);
  assert_int_equal(acquire(&b, "dead", 6000), LB_OK);
  assert_took(since, 600, 3000);
  close_client(&b);
}

/* It goes on with `then`, which writes to `report` when it is about to ask. */
static void let_it_go_on(struct holder *holder) {
  char byte;
  assert_int_equal(write(holder->go[1], "x", 1), 1);
  assert_int_equal(read(holder->granted[0], &byte, 1), 1);
}

/* The most bytes that wait unread in one of the server's connections, by one of the kernel's lists. */
static unsigned unread_in(const char *list, uint16_t at) {
  char line[300];
  unsigned port, queue, most = 0;
  FILE *file = fopen(list, "re");
  while (file && fgets(line, sizeof line, file)) /* sl local:PORT remote:PORT 01 TX:RX */
    if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x 01 %*x:%x", &port, &queue) == 2 && port == at && queue > most)
      most = queue;
  if (file) fclose(file);
  return most;
}

/* A question is longer than two heartbeats, of 12 bytes each. */
static void wait_for_a_question_unread_by(uint16_t port) {
  lb_ns end = in_ms(5000);
  while (unread_in("/proc/net/tcp", port) <= 24 && unread_in("/proc/net/tcp6", port) <= 24) {
    assert_true(lb_clock_ns() < end);
    lb_clock_sleep_until(in_ms(1));
  }
}

/* The server answers when the holder can no longer read. */
static void stop_it_while_it_asks(struct holder *holder) {
  int status;
  pause_server();
  let_it_go_on(holder);
  wait_for_a_question_unread_by(alone.port);
  kill(holder->pid, SIGSTOP);
  assert_int_equal(waitpid(holder->pid, &status, WUNTRACED), holder->pid);
  resume_server();
}

static int lose_and_return(struct client *client) {
  uint64_t fence = client->grant.fence;
  if (holds(client, "expires") != LB_LOST) return 1;
  if (release(client, "expires") != LB_LOST) return 2;
  client->grant = LB_GRANT_INIT;
  if (try(client, "expires", 3000) != LB_BUSY || write(report, "x", 1) != 1) return 3;
  if (acquire(client, "expires", 3000) != LB_OK) return 4;
  if (client->grant.fence <= fence) return 5;
  return release(client, "expires") == LB_OK ? 0 : 6;
}

TEST(a_holder_paused_past_its_session_has_lost_and_can_return) {
  struct holder holder;
  struct client b;
  start_holder(&holder, "expires", 1000, lose_and_return);
  open_client(&b, 4000);
  kill(holder.pid, SIGSTOP);
  assert_int_equal(acquire(&b, "expires", 6000), LB_OK);
  kill(holder.pid, SIGCONT);
  let_it_go_on(&holder);
  assert_int_equal(holds(&b, "expires"), LB_OK);
  assert_int_equal(release(&b, "expires"), LB_OK);
  assert_int_equal(end_holder(&holder), 0);
  close_client(&b);
}

static int ask_again(struct client *client) {
  if (write(report, "x", 1) != 1) return 1;
  if (try(client, "too-late", 3000) != LB_OK) return 2;
  return client->grant.valid_until > lb_clock_ns() ? 0 : 3;
}

/* The answer reaches a client that is paused for longer than 2/3 of its session, and for less than a session. */
TEST(an_answer_read_too_late_grants_nothing) {
  struct holder holder;
  start_holder(&holder, "too-late", 1500, ask_again);
  stop_it_while_it_asks(&holder);
  lb_clock_sleep_until(in_ms(1100));
  kill(holder.pid, SIGCONT);
  assert_int_equal(end_holder(&holder), 0);
}

static int ask_for_own(struct client *client) {
  if (write(report, "x", 1) != 1) return 1;
  return holds(client, "old-yes") == LB_OK ? 2 : 0;
}

/* The yes reaches a client that stands still until its session has ended and another one holds. */
TEST(a_yes_read_too_late_is_no_yes) {
  struct holder holder;
  struct client b;
  start_holder(&holder, "old-yes", 1500, ask_for_own);
  open_client(&b, 8000);
  stop_it_while_it_asks(&holder);
  assert_int_equal(acquire(&b, "old-yes", 6000), LB_OK);
  kill(holder.pid, SIGCONT);
  assert_int_equal(end_holder(&holder), 0);
  assert_int_equal(release(&b, "old-yes"), LB_OK);
  close_client(&b);
}

/* ---- three servers ------------------------------------------------------------------------------------- */

static int start_trio(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    trio[i].port = free_port();
    trio[i].quorum_port = free_port();
    trio[i].election_port = free_port();
  }
  for (int i = 0; i < 3; i++) configure(&trio[i], i + 1, trio, 3);
  for (int i = 0; i < 3; i++) start(&trio[i]);
  for (int i = 0; i < 3; i++) await_mode(&trio[i], "Mode: ");
  return 0;
}

static int stop_trio(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) stop(&trio[i]);
  return 0;
}

static int find_leader(void) {
  int leader = 0;
  while (leader < 2 && !serves(&trio[leader], "Mode: leader")) leader++;
  return leader;
}

/* b waits behind a at one follower, and learns that a has gone; it has only to look once more. */
static void make_first(struct client *a, struct client *b, const struct server *follower, const char *key,
                       int64_t ttl_ms) {
  open_at(a, follower, 1, ttl_ms), open_at(b, follower, 1, ttl_ms);
  assert_int_equal(try(a, key, 3000), LB_OK);
  assert_int_equal(try(b, key, 3000), LB_BUSY);
  assert_int_equal(release(a, key), LB_OK);
  assert_int_equal(wait_turn(b, key, 3000), LB_OK);
}

/* A follower answers reads by itself, while the leader may be about to end the session of who asks. Who has not written
 * for long does not know. */
TEST_WITH(no_follower_grants_by_itself, start_trio, stop_trio) {
  struct client a, b;
  int leader = find_leader();
  make_first(&a, &b, &trio[(leader + 1) % 3], "by-itself", 1500);
  lb_clock_sleep_until(in_ms(700));
  pause_one(&trio[leader]);
  int result = try(&b, "by-itself", 200);
  kill(trio[leader].pid, SIGCONT);
  assert_int_equal(result, LB_UNKNOWN);
  assert_int_equal(try(&b, "by-itself", 3000), LB_OK);
  assert_int_equal(release(&b, "by-itself"), LB_OK);
  close_client(&a), close_client(&b);
}

/* Who has written lately does: the leader cannot have ended its session yet. */
TEST_WITH(a_follower_is_believed_for_as_long_as_the_own_session_lives, start_trio, stop_trio) {
  struct client a, b;
  int leader = find_leader();
  lb_ns before = lb_clock_ns();
  make_first(&a, &b, &trio[(leader + 1) % 3], "read-only", 6000);
  pause_one(&trio[leader]);
  int result = try(&b, "read-only", 200);
  kill(trio[leader].pid, SIGCONT);
  assert_int_equal(result, LB_OK);
  assert_true(b.grant.valid_until > before && b.grant.valid_until <= in_ms(2500));
  assert_int_equal(release(&b, "read-only"), LB_OK);
  close_client(&a), close_client(&b);
}

TEST_WITH(a_killed_leader_costs_neither_the_lock_nor_more_than_ten_seconds, start_trio, stop_trio) {
  struct client c[4];
  int leader = find_leader();
  for (int i = 0; i < 4; i++) open_at(&c[i], trio, 3, 4000);
  assert_int_equal(try(&c[0], "leader", 3000), LB_OK);
  assert_int_equal(try(&c[1], "leader", 3000), LB_BUSY);
  stop(&trio[leader]);
  lb_ns since = lb_clock_ns();
  for (int i = 0; i < 4; i++) {
    char key[] = "other-0";
    key[6] = (char)('0' + i);
    c[i].grant = i < 2 ? c[i].grant : LB_GRANT_INIT;
    if (i >= 2) assert_int_equal(try(&c[i], key, 10000), LB_OK);
  }
  assert_took(since, 0, 10000);
  assert_int_equal(zk->holds(c[0].session, &(struct lb_lock){.key = "leader"}, &c[0].grant, in_ms(5000)), LB_OK);
  assert_int_equal(try(&c[1], "leader", 5000), LB_BUSY);
  assert_int_equal(release(&c[0], "leader"), LB_OK);
  assert_int_equal(acquire(&c[1], "leader", 5000), LB_OK);
  for (int i = 0; i < 4; i++) close_client(&c[i]);
}

/* ---- a follower that is late ------------------------------------------------------------------------------- */

static struct relay *relays[3][3]; /* [i][j]: by which server i hears of server j */

/* Each server is told where the others are, and hears of them by a relay. */
static int start_late_trio(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    trio[i] = (struct server){.port = free_port(), .quorum_port = free_port(), .election_port = free_port()};
  for (int i = 0; i < 3; i++) {
    struct server seen[3];
    memcpy(seen, trio, sizeof seen);
    for (int j = 0; j < 3; j++) {
      if (j != i) relays[i][j] = relay_open(trio[j].quorum_port, &seen[j].quorum_port);
      assert_true(j == i || relays[i][j]);
    }
    configure(&trio[i], i + 1, seen, 3);
  }
  for (int i = 0; i < 3; i++) start(&trio[i]);
  for (int i = 0; i < 3; i++) await_mode(&trio[i], "Mode: ");
  return 0;
}

static int stop_late_trio(void **state) {
  stop_trio(state);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) relay_close(relays[i][j]), relays[i][j] = NULL;
  return 0;
}

struct late { /* a leads; w talks to a follower, all others to the leader */
  struct client a, b, w;
  struct relay *stream; /* from the leader to that follower */
  const char *key;
  pthread_t thread;
};

static void open_late(struct late *late, bool recipe, const char *key, int64_t ttl_ms) {
  int leader = find_leader(), follower = (leader + 1) % 3;
  options[0].b = recipe;
  open_at(&late->a, &trio[leader], 1, 8000), open_at(&late->b, &trio[leader], 1, 8000);
  open_at(&late->w, &trio[follower], 1, ttl_ms);
  options[0].b = false;
  late->stream = relays[follower][leader];
  late->key = key;
  use_once(&late->w, key);
}

static void close_late(struct late *late) {
  relay_delay(late->stream, 0);
  close_client(&late->a), close_client(&late->b), close_client(&late->w);
}

static void *acquire_late(void *arg) {
  struct late *late = arg;
  return (void *)(intptr_t)acquire(&late->w, late->key, 3500);
}

static int answer_of(struct late *late) {
  void *result;
  pthread_join(late->thread, &result);
  return (int)(intptr_t)result;
}

/* `w` stands behind `a`, and `b` behind `w`. The stream is 1.3 s late, for a session of 0.8 s: the leader ends that of
 * `w`, and `b` is granted. What the follower shows is older than that. Then `w` goes on waiting for its turn. What it
 * was told. (Had it been waiting all the time, its own writes would have told it that something is wrong: its library
 * leaves a server that is late with an answer, and asking the next one would have kept its session alive.) */
static int wait_at_a_late_follower(struct late *late) {
  assert_int_equal(try(&late->a, late->key, 3000), LB_OK);
  assert_int_equal(try(&late->w, late->key, 3000), LB_BUSY);
  assert_int_equal(try(&late->b, late->key, 3000), LB_BUSY);
  relay_delay(late->stream, 1300 * MS);
  assert_int_equal(release(&late->a, late->key), LB_OK);
  assert_int_equal(acquire(&late->b, late->key, 3000), LB_OK);
  pthread_create(&late->thread, NULL, acquire_late, late);
  int result = answer_of(late);
  assert_int_equal(holds(&late->b, late->key), LB_OK);
  return result;
}

TEST_WITH(by_the_recipe_a_late_follower_grants_what_another_holds, start_late_trio, stop_late_trio) {
  struct late late;
  open_late(&late, true, "late-recipe", 800);
  assert_int_equal(wait_at_a_late_follower(&late), LB_OK);
  assert_true(late.w.grant.fence < late.b.grant.fence);
  assert_true(zk->proofs->seen(late.w.session) < zk->proofs->seen(late.b.session));
  assert_int_equal(zk->doubt(late.w.session, &(struct lb_lock){.key = late.key}, &late.w.grant),
                   LB_OK); /* "connected" */
  close_late(&late);
}

TEST_WITH(a_late_follower_grants_nothing_that_another_holds, start_late_trio, stop_late_trio) {
  struct late late;
  open_late(&late, false, "late", 800);
  assert_int_not_equal(wait_at_a_late_follower(&late), LB_OK);
  close_late(&late);
}

/* `w` asks while the stream stands still, in the last part of its session's life: its node is made, and goes with the
 * session. `b` is granted. Then the stream goes on from where the node was made, as fast as it was spoken: the answers
 * to `w` arrive, create and list at once, and it is the first. What `w` was told. */
static int ask_in_the_last_moment(struct late *late) {
  lb_clock_sleep_until(in_ms(300)); /* the leader has heard of `w`, and hears nothing new from now on */
  relay_delay(late->stream, RELAY_HOLD);
  lb_clock_sleep_until(in_ms(2200));
  uint64_t before = zxid_of(&trio[find_leader()]);
  pthread_create(&late->thread, NULL, acquire_late, late);
  lb_ns end = in_ms(400);
  while (zxid_of(&trio[find_leader()]) == before && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(2));
  lb_ns made = lb_clock_ns();
  assert_int_equal(try(&late->b, late->key, 3000), LB_BUSY);
  assert_int_equal(acquire(&late->b, late->key, 3000), LB_OK);
  relay_delay(late->stream, lb_clock_ns() - made);
  int result = answer_of(late);
  assert_int_equal(holds(&late->b, late->key), LB_OK);
  return result;
}

TEST_WITH(by_the_recipe_a_create_in_the_last_moment_grants_what_another_holds, start_late_trio, stop_late_trio) {
  struct late late;
  open_late(&late, true, "last-recipe", 3000);
  assert_int_equal(ask_in_the_last_moment(&late), LB_OK);
  assert_true(late.w.grant.fence < late.b.grant.fence);
  close_late(&late);
}

/* One answered write would be enough for who believes that a write keeps a session alive. */
TEST_WITH(a_create_in_the_last_moment_grants_nothing_that_another_holds, start_late_trio, stop_late_trio) {
  struct late late;
  open_late(&late, false, "last", 3000);
  assert_int_not_equal(ask_in_the_last_moment(&late), LB_OK);
  close_late(&late);
}

/* The library forgets the answers it has not delivered when a handle is closed: its leak, not ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libzookeeper_mt\n"; }

/* ---- main ---------------------------------------------------------------------------------------------- */

static bool is_installed(void) {
  char path[128];
  for (size_t i = 0; i < sizeof jars / sizeof jars[0]; i++) {
    snprintf(path, sizeof path, JARS "%s.jar", jars[i]);
    if (access(path, R_OK) != 0) return false;
  }
  return system("command -v java > /dev/null 2>&1") == 0;
}

static int start_alone(void **state) {
  (void)state;
  alone.port = free_port();
  configure(&alone, 1, NULL, 0);
  start(&alone);
  await_mode(&alone, "Mode: standalone");
  return 0;
}

static int remove_entry(const char *path, const struct stat *stat, int flag, struct FTW *ftw) {
  (void)stat, (void)flag, (void)ftw;
  return remove(path);
}

static int clean_up(void **state) {
  (void)state;
  stop(&alone);
  return nftw(base_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *missing(void) { return is_installed() ? NULL : "no Java or no ZooKeeper library"; }
NEEDS(missing);

static int before_all(void **state) {
  (void)state;
  if (!mkdtemp(base_dir)) return 1;
  return start_alone(state);
}

GROUP(before_all, clean_up);
