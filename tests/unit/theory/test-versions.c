/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Facts that changed with a version of the servers: which lines hold for which version, and what is refused.
 */
#include "test.h"
#include "backends/registry.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"
#include "theory/theory.h"
#include "theory/versions.h"

static struct lb_error err;

static int read_versions(const char *text) { return lb_versions_parse("v.ini", text, strlen(text), &err); }

static void refused(const char *text, const char *expected) {
  assert_int_equal(read_versions(text), -EINVAL);
  assert_says(err.text, expected);
}

/* Whether the service of etcd-v3lock looks, on servers that say this. */
static bool looks(const char *servers) {
  struct lb_facts facts;
  setenv("LOCKBENCH_VERSIONS", servers, 1);
  lb_facts_default(&facts);
  lb_versions_add("etcd-v3lock", lb_topology_find("etcd"), &facts);
  unsetenv("LOCKBENCH_VERSIONS");
  return lb_facts_is(&facts, "looks", "yes");
}

static bool deposed(const char *lock, const char *servers, const char *what) {
  struct lb_facts facts;
  setenv("LOCKBENCH_VERSIONS", servers, 1);
  lb_facts_default(&facts);
  lb_versions_add(lock, lb_topology_find("etcd-x3"), &facts);
  unsetenv("LOCKBENCH_VERSIONS");
  return lb_facts_is(&facts, "deposed", what);
}

static bool waits_for_disk(const char *servers) {
  struct lb_facts facts;
  setenv("LOCKBENCH_VERSIONS", servers, 1);
  lb_facts_of(lb_protocol_find("redis-waitaof"), NULL, lb_topology_find("redis-aof-everysec"), NULL, &facts);
  unsetenv("LOCKBENCH_VERSIONS");
  return lb_facts_is(&facts, "syncs", "client");
}

TEST(a_line_holds_below_a_version) {
  assert_int_equal(read_versions("[etcd < 3.5]\netcd-v3lock = looks=no\n"), 0);
  assert_false(looks("etcd 3.4.23"));
  assert_false(looks("postgresql 17.12, etcd 3.4.23"));
  assert_false(looks("etcd 2"));
  assert_true(looks("etcd 3.5"));
  assert_true(looks("etcd 3.5.0"));
  assert_true(looks("etcd 3.10.1 at h:1"));
  assert_true(looks("netcd 3.4"));
  assert_true(looks("etcd of a version that it does not tell"));
  assert_true(looks("redis 3.4"));
}

TEST(or_from_a_version_on) {
  assert_int_equal(read_versions("[etcd >= 3.5.2]\netcd-v3lock = looks=no\n"), 0);
  assert_true(looks("etcd 3.5.1"));
  assert_false(looks("etcd 3.5.2"));
  assert_false(looks("etcd 3.5.16"));
}

TEST(it_is_of_one_lock) {
  assert_int_equal(read_versions("[etcd < 3.5]\netcd-lease = looks=no\n"), 0);
  assert_true(looks("etcd 3.4.23"));
}

static char why[300];

static bool meets(const char *needs, const char *servers) {
  const struct lb_protocol lock = {.name = "new", .needs = needs};
  setenv("LOCKBENCH_VERSIONS", servers, 1);
  bool met = lb_versions_meet(&lock, lb_topology_find("redis"), why, sizeof why);
  unsetenv("LOCKBENCH_VERSIONS");
  return met;
}

TEST(a_lock_needs_servers_of_a_version) {
  const char *needs = "redis >= 7.2 or valkey >= 7.2.5";
  assert_true(meets(needs, "redis 7.2"));
  assert_true(meets(needs, "redis 7.10.1 at h:1"));
  assert_true(meets(needs, "redis 7.0.15, valkey 8.0"));
  assert_true(meets(needs, "valkey 7.2.5"));
  assert_true(meets(NULL, "redis 2.8"));
  assert_false(meets(needs, "valkey 7.2.4"));
  assert_false(meets(needs, "memcached 9.1"));
  assert_false(meets(needs, "redis 7.0.15"));
  assert_string_equal(why, "needs redis >= 7.2 or valkey >= 7.2.5; this is redis 7.0.15");
}

/* What another word would mean, no server would have. */
TEST(what_locks_of_ours_need_can_be_had) {
  const struct lb_protocol *lock;
  for (size_t i = 0; (lock = lb_protocol_at(i)); i++) {
    char newest[300];
    snprintf(newest, sizeof newest, "%.*s 99", lock->needs ? (int)strcspn(lock->needs, " ") : 0, lock->needs);
    if (!meets(lock->needs, newest)) fail_msg("%s %s", lock->name, why);
  }
}

STATES(a_bad_line_is_refused_with_its_place,
       refused("[etcd]\n", "v.ini:1: [etcd]: expected [SERVER < VERSION] or [SERVER >= VERSION]"),
       refused("[etcd > 3]\n", "v.ini:1: [etcd > 3]: expected ..."),
       refused("[etcd < new]\n", "v.ini:1: [etcd < new]: expected ..."),
       refused("\netcd-lease = looks=no\n", "v.ini:2: 'etcd-lease' stands before the first section: expected ..."),
       refused("[etcd < 3]\nnobody = looks=no\n", "v.ini:2: no lock 'nobody', expected a lock of ours"),
       refused("[etcd < 3]\n\netcd-v3lok = looks=no\n", "v.ini:3: no lock 'etcd-v3lok', did you mean 'etcd-v3lock'?"),
       refused("[etcd < 3]\netcd-lease = lokos=no\n", "v.ini:2: no fact 'lokos', did you mean 'looks'? ..."),
       refused("[etcd < 3]\netcd-lease = votes=one\n", "v.ini:2: votes=one: that is not stated here"));

TEST(what_is_refused_leaves_nothing) {
  refused("[etcd < 3.5]\netcd-v3lock = looks=no\nwhat\n", "v.ini:3: 'what': ...");
  assert_true(looks("etcd 3.4.23"));
}

STATES(the_file_of_ours_is_read,
       assert_int_equal(lb_versions_load(LB_SOURCE_ROOT "/scenarios/theory/versions.ini", &err), 0),
       assert_false(looks("etcd 3.4.23")), assert_true(looks("etcd 3.5.16")),
       assert_true(deposed("etcd-lease", "etcd 3.4.23", "ends")),
       assert_true(deposed("etcd-lease", "etcd 3.4.31", "asks")),
       assert_true(deposed("etcd-v3lock", "etcd 3.5.12", "ends")),
       assert_true(deposed("etcd-v3lock", "etcd 3.5.16", "asks")),
       assert_true(deposed("etcd-lease", "etcd 3.6.0", "asks")), assert_true(waits_for_disk("redis 8.0.2")),
       assert_true(waits_for_disk("redis 7.4.3")), assert_false(waits_for_disk("redis 7.4.2")),
       assert_false(waits_for_disk("valkey 8.1.1")), assert_false(waits_for_disk("valkey 9.1.2")),
       assert_true(deposed("zk-sequential", "etcd 3.4.23", "obeys")));
