/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The table of topologies, row by row: what every row has to say, and what can be asked of one without starting it.
 */
#include "test.h"
#include "servers/cluster.h"

static const char *const redis_only[] = {"redis", NULL}, *const both[] = {"zk", "redis", NULL};

TEST(every_row_has_a_name_of_its_own) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    assert_true(t->name && t->name[0]);
    assert_int_equal(t->name[strspn(t->name, "abcdefghijklmnopqrstuvwxyz0123456789-")], '\0');
    assert_ptr_equal(lb_topology_find(t->name), t); /* the first of that name */
  }
  assert_null(lb_topology_find("redis-x"));
}

TEST(every_row_is_complete) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    assert_non_null(t->family);
    assert_true(t->summary && t->summary[0] && !strchr(t->summary, '\n'));
    assert_true(t->data_count + t->other_count <= LB_SERVERS_MAX);
    assert_true((t->data_count > 0) == (strcmp(t->name, "none") != 0 && !t->members));
    assert_true((t->other_count > 0) == (t->family->other_service != NULL));
    assert_string_not_equal(lb_topology_keeps_text(t->keeps), "?");
    assert_true(!t->settings || t->settings[strlen(t->settings) - 1] == '\n');
    assert_true(!t->synchronous || t->data_count > 1);
    assert_true(t->favourite == 0 || (t->family == &lb_family_sentinel && t->favourite > 1 &&
                                      t->favourite <= t->data_count)); /* node 1 begins as primary */
    assert_true(t->shards == 0 || t->data_count % t->shards == 0);     /* each part has as many replicas */
  }
}

TEST(a_family_with_servers_has_its_hooks) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    const struct lb_family *f = t->family;
    assert_true(f->name && f->version);
    if (t->data_count == 0) continue;
    assert_true(f->service && f->needs && f->needs[0]);
    assert_true(f->start && f->launch && f->answers && f->primary);
  }
}

/* Else nobody runs on it, or it is asked of it what it is not. */
TEST(a_stand_in_has_the_same_service) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++) {
    if (!t->stands_for) continue;
    const struct lb_topology *other = lb_topology_find(t->stands_for);
    assert_non_null(other);
    assert_string_equal(other->family->service, t->family->service);
    assert_null(other->stands_for);
  }
}

TEST(a_protocol_runs_where_it_says_and_where_another_stands_for_that) {
  const struct lb_topology like = {.name = "redis-y", .stands_for = "redis"}, lone = {.name = "redis-y"};
  assert_true(lb_topology_serves(lb_topology_find("redis"), redis_only));
  assert_true(lb_topology_serves(&like, both));
  assert_false(lb_topology_serves(&lone, both));
  assert_false(lb_topology_serves(lb_topology_find("zk"), redis_only));
}

TEST(what_a_row_keeps_decides_where_it_lies) {
  const struct lb_topology nothing = {.keeps = LB_KEEPS_NOTHING}, asked = {.keeps = LB_KEEPS_AS_ASKED},
                           disk = {.keeps = LB_KEEPS_ON_DISK};
  assert_false(lb_topology_on_disk(&nothing, true));
  assert_true(lb_topology_on_disk(&nothing, false));
  assert_false(lb_topology_on_disk(&asked, true));
  assert_true(lb_topology_on_disk(&asked, false));
  assert_true(lb_topology_on_disk(&disk, true));
  assert_true(lb_topology_on_disk(&disk, false));
}

TEST(one_server_is_no_majority) {
  assert_false(lb_topology_majority(lb_topology_find("redis")));
  assert_true(lb_topology_majority(lb_topology_find("redis-x3")));
  assert_false(lb_topology_majority(lb_topology_find("zk")));
  assert_true(lb_topology_majority(lb_topology_find("zk-x3")));
  assert_false(lb_topology_majority(lb_topology_find("sentinel")));
  assert_false(
      lb_topology_majority(lb_topology_find("cluster"))); /* of its masters, which is not said of data servers */
  assert_false(lb_topology_majority(lb_topology_find("pg-sync")));
}

TEST(a_cluster_is_laid_out_by_its_row) {
  struct lb_cluster c;
  lb_cluster_init(&c, lb_topology_find("sentinel"), NULL);
  assert_int_equal(c.data_count, 3);
  assert_int_equal(c.server_count, 6);
  assert_string_equal(c.server[2].name, "redis-3");
  assert_true(c.server[2].data);
  assert_string_equal(c.server[3].name, "sentinel-1");
  assert_false(c.server[3].data);
  lb_cluster_init(&c, lb_topology_find("none"), NULL);
  assert_int_equal(c.server_count, 0);
}

/* What a client may wait for are the replicas of its own part. */
TEST(a_target_says_how_the_keys_are_split) {
  const struct {
    const char *topology;
    size_t replicas, shards;
  } row[] = {{"redis", 0, 0}, {"redis-x5", 0, 0}, {"sentinel", 2, 0}, {"cluster", 1, 3}, {"pg-sync", 1, 0}};
  struct lb_host host = {.address = "127.0.0.1"};
  struct lb_cluster c;
  struct lb_target target;
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    lb_cluster_init(&c, lb_topology_find(row[i].topology), NULL);
    for (size_t k = 0; k < c.server_count; k++) c.server[k].host = &host;
    lb_cluster_target(&c, &target);
    assert_int_equal(target.replicas, row[i].replicas);
    assert_int_equal(target.shards, row[i].shards);
  }
}

TEST(the_names_are_those_of_the_rows) {
  const char *words[100];
  size_t count = lb_topology_names(words, 100);
  assert_null(lb_topology_at(count));
  assert_string_equal(words[0], "none");
  assert_string_equal(words[count - 1], lb_topology_at(count - 1)->name);
  assert_int_equal(lb_topology_names(words, 2), 2);
}

/* A Redis keeps something if its own words say so. */
TEST(a_redis_keeps_what_its_settings_say) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++)
    if (t->family == &lb_family_redis || t->family == &lb_family_sentinel || t->family == &lb_family_cluster)
      assert_true((t->keeps == LB_KEEPS_ON_DISK) == (t->settings && strstr(t->settings, "appendonly yes\n")));
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static const struct lb_setting row = {.name = "tick=", .stock = "2000", .faults = "200", .measured = "2000"},
                               flag = {.name = "--quick", .faults = ""},
                               sync_row = {.name = "sync=", .stock = "on", .unsynced = "off"};

TEST(a_setting_is_written_by_what_the_trial_is_for) {
  assert_string_equal(lb_setting_value(&row, false, true), "200");
  assert_string_equal(lb_setting_value(&row, false, false), "200");
  assert_string_equal(lb_setting_value(&row, true, true), "2000");
  assert_string_equal(lb_setting_value(&flag, false, true), "");
  assert_null(lb_setting_value(&flag, true, true));
  assert_null(lb_setting_value(&sync_row, true, true));
  assert_string_equal(lb_setting_value(&sync_row, true, false), "off");
}

static void assert_differs(const struct lb_topology *t, bool measured, bool durable, const char *expected) {
  char *text = lb_setting_differing(t, measured, durable);
  assert_non_null(text);
  assert_string_equal(text, expected);
  free(text);
}

TEST(what_differs_is_listed_and_what_is_as_it_comes_is_not) {
  const struct lb_setting rows[] = {row, flag, sync_row, {0}};
  const struct lb_family family = {.name = "f", .settings = rows}, bare = {.name = "f"};
  const struct lb_topology t = {.family = &family, .settings = "own yes\n"}, none = {.family = &bare};
  assert_differs(&t, false, false, "tick=200 (else 2000)\n--quick\nsync=off (else on)\nown yes\n");
  assert_differs(&t, false, true, "tick=200 (else 2000)\n--quick\nown yes\n");
  assert_differs(&t, true, true, "own yes\n");
  assert_differs(&none, true, true, "");
}

/* Of two lines of one file the last counts. */
TEST(what_a_topology_says_itself_is_listed_once) {
  const struct lb_setting rows[] = {row, flag, {0}};
  const struct lb_family family = {.name = "f", .settings = rows};
  const struct lb_topology t = {.family = &family, .settings = "own yes\ntick=7\n"},
                           other = {.family = &family, .settings = "own tick=7\n"};
  assert_differs(&t, false, true, "--quick\nown yes\ntick=7\n");
  assert_differs(&other, false, true, "tick=200 (else 2000)\n--quick\nown tick=7\n");
  char *text = lb_setting_differing(lb_topology_find("zk-x3-stock"), false, false);
  assert_null(strstr(text, "tickTime=200 "));
  assert_non_null(strstr(text, "tickTime=2000\n"));
  free(text);
}

TEST(the_options_of_a_program_are_those_of_its_rows) {
  const struct lb_setting rows[] = {{.name = "-Xmx", .faults = "1m", .measured = "2m", .place = LB_SETTING_PROGRAM},
                                    {.name = "file=", .faults = "1", .measured = "1"},
                                    {.name = "-c1", .faults = "", .place = LB_SETTING_PROGRAM},
                                    {0}};
  struct lb_cluster c = {.durable = true};
  char texts[4][LB_SETTING_TEXT_MAX];
  const char *argv[4];
  assert_int_equal(lb_setting_options(&c, rows, texts, argv, 4), 2);
  assert_string_equal(argv[0], "-Xmx1m");
  assert_string_equal(argv[1], "-c1");
  c.measured = true;
  assert_int_equal(lb_setting_options(&c, rows, texts, argv, 4), 1);
  assert_string_equal(argv[0], "-Xmx2m");
  c.measured = false;
  assert_int_equal(lb_setting_options(&c, rows, texts, argv, 1), 1);
}

/* Where speed is measured no server compiles less, syncs less or remembers less than a user's. */
TEST(a_measured_zookeeper_has_the_whole_compiler) {
  char *text = lb_setting_differing(lb_topology_find("zk-x3"), true, true);
  assert_null(strstr(text, "TieredStopAtLevel"));
  assert_null(strstr(text, "SerialGC"));
  assert_null(strstr(text, "tickTime"));
  assert_null(strstr(text, "forceSync"));
  assert_null(strstr(text, "-Xmx"));
  free(text);
  text = lb_setting_differing(lb_topology_find("zk-x3"), false, false);
  assert_non_null(strstr(text, "-XX:TieredStopAtLevel=1 (else 4)\n"));
  assert_non_null(strstr(text, "forceSync=no (else yes)\n"));
  free(text);
}
