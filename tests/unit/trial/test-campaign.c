/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The schedule of a campaign, half an hour long in no time: its clients are gone before the first fault, so it is
 * drawn, written and not played. How it is played is for test-campaign-play.c, what faults do for live-campaign.sh.
 */
#include <unistd.h>

#include "scenario/scenario_load.h"
#include "test.h"
#include "base/error.h"
#include "trial/campaign.h"
#include "base/files.h"
#include "scratch.h"

#define HEAD "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 3\nwarmup_s = 0\n"
#define EXPECT "[expect]\nlocal@none = race: it is a test\n"
#define PAUSES "fault = pause holder\nfault = kill primary\nfault = pause client any\nfault = clock node any -5s\n"
#define HALF_HOUR HEAD "duration_s = 1800\n[campaign]\nevery_ms = 400\nlasts_ms = 1000\n" PAUSES EXPECT
enum { FAULTS_MAX = 10000 };

struct fault { /* a line of the schedule */
  double begin, end;
  char text[100];
};

struct world {
  char dir[100];
  struct lb_scenario scenario;
  struct lb_topology topology;
  struct lb_trial_plan plan;
  struct lb_stage stage;
  const char *run_dir;
  char *text; /* of the schedule */
  struct fault fault[FAULTS_MAX];
  size_t count;
};
static struct world *w;

static int set_up(void **state) {
  w = calloc(1, sizeof *w);
  if (!w) return -1;
  *state = w;
  w->topology = (struct lb_topology){.name = "none", .family = &lb_family_sentinel};
  w->plan = (struct lb_trial_plan){.scenario = &w->scenario,
                                   .topology = &w->topology,
                                   .clients = 3,
                                   .seed = 1,
                                   .fault_seed = 1,
                                   .name = "s.p@none.none.c3.t1"};
  w->run_dir = w->dir;
  return scratch_folder(w->dir, sizeof w->dir, "campaign") ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_scenario_clear(&w->scenario);
  lb_files_remove_tree(w->dir);
  free(w->text);
  free(w);
  return 0;
}
EACH(set_up, tear_down);

static void scenario(const char *text) {
  struct lb_error err;
  char path[200];
  snprintf(path, sizeof path, "%s/01-s.ini", w->dir);
  FILE *out = fopen(path, "we");
  assert_non_null(out);
  fputs(text, out);
  assert_int_equal(lb_files_close_written(out), 0);
  lb_scenario_clear(&w->scenario);
  if (lb_scenario_load(path, &w->scenario, &err) != 0) fail_msg("%s", err.text);
}

/* Plays to the point where the clients turn out to be gone. */
static void play(size_t nodes) {
  struct lb_outcome out = {0};
  w->stage = (struct lb_stage){.plan = &w->plan,
                               .run_dir = w->run_dir,
                               .client_count = 3,
                               .primary = -1,
                               .verdict = LB_VERDICT_NONE,
                               .memory = lb_memory_map(3, 3, 1)};
  w->topology.data_count = w->stage.cluster.data_count = nodes;
  static struct lb_client gone[3];
  w->stage.client = gone;
  assert_non_null(w->stage.memory);
  assert_int_equal(lb_campaign_play(&w->stage, &out), -ECANCELED);
  assert_int_equal(w->stage.verdict, LB_UNDECIDED);
  assert_int_equal(out.faults, 0);
  lb_history_clear(&w->stage.history);
  lb_memory_unmap(w->stage.memory);
}

static void draw(size_t nodes) {
  char path[300];
  size_t size = FAULTS_MAX * sizeof(struct fault);
  snprintf(path, sizeof path, "%s/schedules/%s.txt", w->dir, w->plan.name);
  play(nodes);
  free(w->text);
  w->text = calloc(1, size);
  assert_non_null(w->text);
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  assert_true(fread(w->text, 1, size - 1, in) < size - 1);
  fclose(in);
  w->count = 0;
  for (const char *line = w->text; *line; line = strchr(line, '\n') + 1) {
    struct fault *f = &w->fault[w->count++];
    assert_true(w->count < FAULTS_MAX);
    assert_int_equal(sscanf(line, "%lf s to %lf s: %99[^\n]", &f->begin, &f->end, f->text), 3);
  }
}

static size_t count(const char *text) {
  size_t n = 0;
  for (size_t i = 0; i < w->count; i++) n += strcmp(w->fault[i].text, text) == 0;
  return n;
}

/* The text of the schedule as it is with another seed, name or number of nodes; the caller frees it. */
static char *keep(void) {
  char *text = w->text;
  w->text = NULL;
  return text;
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

TEST(pauses_and_lengths_lie_around_their_means) {
  double free_until = 0, pauses = 0, lengths = 0;
  scenario(HALF_HOUR);
  draw(1);
  assert_in_range(w->count, 1200, 1370); /* 1800 s of 1.4 s each */
  for (size_t i = 0; i < w->count; i++) {
    const struct fault *f = &w->fault[i];
    double pause = f->begin - free_until, length = f->end - f->begin;
    assert_true(pause > 0.199999 && pause < 0.600001);
    assert_true(length > 0.499999 && length < 1.500001);
    pauses += pause, lengths += length;
    free_until = f->end;
  }
  assert_true(pauses / (double)w->count > 0.39 && pauses / (double)w->count < 0.41);
  assert_true(lengths / (double)w->count > 0.975 && lengths / (double)w->count < 1.025);
}

TEST(all_faults_begin_before_the_end) {
  scenario(HALF_HOUR);
  for (w->plan.fault_seed = 0; w->plan.fault_seed < 5; w->plan.fault_seed++) {
    draw(1);
    assert_true(w->fault[w->count - 1].begin < 1800);
    assert_true(w->fault[w->count - 1].end > 1800 - 0.6);
  }
}

STATES(a_campaign_too_short_for_a_fault_has_none,
       scenario(HEAD "duration_s = 0.4\n[campaign]\nevery_ms = 1000\n" PAUSES EXPECT), draw(1),
       assert_int_equal(w->count, 0));

/* ---- what -------------------------------------------------------------------------------------------------------- */

TEST(every_fault_is_drawn_as_often_as_the_others) {
  scenario(HALF_HOUR);
  draw(1);
  size_t quarter = w->count / 4, holders = count("pause holder"), primaries = count("kill primary");
  assert_in_range(holders, quarter * 9 / 10, quarter * 11 / 10);
  assert_in_range(primaries, quarter * 9 / 10, quarter * 11 / 10);
}

TEST(any_is_each_of_them_and_nobody_else) {
  char text[100];
  scenario(HALF_HOUR);
  draw(5);
  size_t named = count("pause holder") + count("kill primary");
  for (int i = 1; i <= 3; i++) {
    snprintf(text, sizeof text, "pause client %d", i);
    assert_in_range(count(text), w->count / 12 * 7 / 10, w->count / 12 * 13 / 10);
    named += count(text);
  }
  for (int i = 1; i <= 5; i++) {
    snprintf(text, sizeof text, "clock node %d -5s", i);
    assert_in_range(count(text), w->count / 20 * 7 / 10, w->count / 20 * 13 / 10);
    named += count(text);
  }
  assert_int_equal(named, w->count);
}

TEST(both_sides_of_a_cut_are_drawn) {
  bool seen[4][4] = {{false}};
  scenario(HEAD "duration_s = 200\n[campaign]\nfault = cut client any from node any\n" EXPECT);
  draw(3);
  for (size_t i = 0; i < w->count; i++) {
    int client, node, length = 0;
    assert_int_equal(sscanf(w->fault[i].text, "cut client %d from node %d%n", &client, &node, &length), 2);
    assert_int_equal(length, strlen(w->fault[i].text));
    assert_true(client >= 1 && client <= 3 && node >= 1 && node <= 3);
    seen[client][node] = true;
  }
  for (int c = 1; c <= 3; c++)
    for (int n = 1; n <= 3; n++) assert_true(seen[c][n]);
}

STATES(a_cut_with_one_side_drawn_keeps_the_other,
       scenario(HEAD "duration_s = 20\n[campaign]\nfault = cut holder from node any\n" EXPECT), draw(1),
       assert_true(w->count > 5), assert_int_equal(count("cut holder from node 1"), w->count));

/* ---- seeds ------------------------------------------------------------------------------------------------------- */

TEST(the_same_seed_gives_the_same_bytes) {
  scenario(HALF_HOUR);
  draw(3);
  char *first = keep();
  w->plan.seed = 2; /* of clients and backoff: it differs between systems */
  snprintf(w->plan.name, sizeof w->plan.name, "s.q@none.fence.c3.t1");
  draw(3);
  assert_string_equal(w->text, first);
  free(first);
}

TEST(another_seed_gives_another_schedule) {
  scenario(HALF_HOUR);
  draw(3);
  char *first = keep();
  w->plan.fault_seed = 2;
  draw(3);
  assert_string_not_equal(w->text, first);
  free(first);
}

/* A system with more nodes has the same faults at the same times; only their numbers differ. */
TEST(the_number_of_nodes_changes_their_numbers_only) {
  static struct fault one[FAULTS_MAX];
  scenario(HALF_HOUR);
  draw(1);
  size_t n = w->count;
  memcpy(one, w->fault, sizeof one);
  draw(5);
  assert_int_equal(w->count, n);
  for (size_t i = 0; i < n; i++) {
    assert_true(w->fault[i].begin == one[i].begin && w->fault[i].end == one[i].end);
    if (strncmp(one[i].text, "clock", 5) != 0) assert_string_equal(w->fault[i].text, one[i].text);
  }
}

/* ---- fitted to the system ---------------------------------------------------------------------------------------- */

#define CUT "cut primary from replicas"
#define REPLACED " (in place of: " CUT ")"

static size_t count_with(const char *part) {
  size_t n = 0;
  for (size_t i = 0; i < w->count; i++) n += strstr(w->fault[i].text, part) != NULL;
  return n;
}

/* Everybody meets as many faults at the same times; the line says what was drawn first. */
TEST(a_fault_that_means_nothing_is_replaced_at_its_time) {
  static struct fault three[FAULTS_MAX];
  scenario(HEAD "duration_s = 1800\n[campaign]\nfault = pause holder\nfault = " CUT "\nfault = kill primary\n" EXPECT);
  draw(3);
  size_t n = w->count, cuts = count(CUT), replaced = 0;
  memcpy(three, w->fault, sizeof three);
  assert_true(cuts > n / 4);
  assert_int_equal(count_with("in place of"), 0);
  draw(1);
  assert_int_equal(w->count, n);
  for (size_t i = 0; i < n; i++) {
    bool cut = strcmp(three[i].text, CUT) == 0, now = strstr(w->fault[i].text, REPLACED) != NULL;
    assert_true(w->fault[i].begin == three[i].begin && w->fault[i].end == three[i].end);
    assert_int_equal(now, cut);
    if (!cut) assert_string_equal(w->fault[i].text, three[i].text);
    replaced += now;
  }
  assert_int_equal(replaced, cuts);
  size_t pauses = count("pause holder" REPLACED), kills = count("kill primary" REPLACED); /* each alike */
  assert_int_equal(pauses + kills, cuts);
  assert_true(pauses > cuts * 2 / 5 && kills > cuts * 2 / 5);
}

STATES(where_no_fault_means_anything_the_drawn_one_stays,
       scenario(HEAD "duration_s = 30\n[campaign]\nfault = " CUT "\n" EXPECT), draw(1), assert_true(w->count > 5),
       assert_int_equal(count(CUT), w->count));

/* Five masters that do not know each other: only what parts them from a client is felt. */
TEST(a_cut_between_servers_that_never_talk_means_nothing) {
  const struct lb_topology five = {.family = &lb_family_redis, .data_count = 5},
                           three = {.family = &lb_family_zookeeper, .data_count = 3};
  const struct lb_role primary = {LB_ROLE_PRIMARY, 0}, replicas = {LB_ROLE_REPLICAS, 0}, client = {LB_ROLE_CLIENT, 2};
  assert_false(lb_schedule_applies(&(struct lb_step){.a = primary, .b = replicas}, &five));
  assert_true(lb_schedule_applies(&(struct lb_step){.a = primary, .b = replicas}, &three));
  assert_true(lb_schedule_applies(&(struct lb_step){.a = client, .b = replicas}, &five));
  assert_true(lb_schedule_applies(&(struct lb_step){.a = primary, .b = client}, &five));
  assert_true(lb_schedule_applies(&(struct lb_step){.a = replicas}, &five)); /* no cut */
}

TEST(such_a_cut_is_replaced_as_if_there_were_no_replicas) {
  scenario(HEAD "duration_s = 600\n[campaign]\nfault = pause holder\nfault = " CUT "\n" EXPECT);
  draw(5);
  size_t n = w->count, cuts = count(CUT);
  assert_true(cuts > n / 3);
  w->topology.family = &lb_family_redis;
  draw(5);
  assert_int_equal(w->count, n);
  assert_int_equal(count(CUT), 0);
  assert_int_equal(count("pause holder" REPLACED), cuts);
}

TEST(what_a_fault_needs_is_there_from_so_many_servers_on) {
  static const struct {
    enum lb_role_kind kind;
    int number;
    size_t least;
  } of[] = {{LB_ROLE_HOLDER, 0, 0},   {LB_ROLE_CLIENT, 2, 0}, {LB_ROLE_PRIMARY, 0, 1},  {LB_ROLE_NODE, 0, 1},
            {LB_ROLE_REPLICAS, 0, 2}, {LB_ROLE_NODE, 2, 2},   {LB_ROLE_PARTNERS, 0, 2}, {LB_ROLE_MINORITY, 0, 3}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    for (size_t nodes = 0; nodes < 5; nodes++) {
      struct lb_role role = {of[i].kind, of[i].number}, holder = {LB_ROLE_HOLDER, 0};
      struct lb_topology on = {.family = &lb_family_sentinel, .data_count = nodes};
      assert_int_equal(lb_schedule_applies(&(struct lb_step){.a = role}, &on), nodes >= of[i].least);
      assert_int_equal(lb_schedule_applies(&(struct lb_step){.a = holder, .b = role}, &on), nodes >= of[i].least);
    }
}

/* ---- the delayed restart ----------------------------------------------------------------------------------------- */

#define KILLS                                                                                                          \
  HEAD "ttl_ms = 3000\nduration_s = 600\n[campaign]\nevery_ms = 400\nlasts_ms = 1000\n"                                \
       "fault = kill primary\nfault = kill holder\nfault = pause primary\n" EXPECT

/* A lease and a tenth of it; what kills no server lasts as long as before. Faults are pushed away, none is lost. */
TEST(a_killed_server_stays_away_until_its_leases_are_over) {
  static struct fault prompt[FAULTS_MAX];
  double free_until = -1;
  scenario(KILLS);
  draw(1);
  size_t n = w->count;
  memcpy(prompt, w->fault, sizeof prompt);
  w->scenario.delayed_restart = true;
  draw(1);
  assert_int_equal(w->count, n);
  for (size_t i = 0; i < n; i++) {
    const struct fault *f = &w->fault[i];
    double length = f->end - f->begin, before = prompt[i].end - prompt[i].begin;
    assert_string_equal(f->text, prompt[i].text);
    assert_true(f->begin >= prompt[i].begin - 1e-6 && f->begin > free_until + 0.199998);
    bool server = strcmp(f->text, "kill primary") == 0;
    if (server) assert_true(length > 3.299998 && length < 3.300002);
    else assert_true(length > before - 0.000002 && length < before + 0.000002);
    free_until = f->end;
  }
  assert_true(count("kill primary") > n / 4 && count("kill holder") > n / 4);
}

TEST(a_control_has_no_fault) {
  struct lb_schedule schedule;
  scenario(HALF_HOUR);
  w->scenario.control = true;
  lb_schedule_draw(&w->plan, 3, &schedule);
  assert_int_equal(schedule.count, 0);
  lb_schedule_clear(&schedule);
}

/* ---- what cannot be ---------------------------------------------------------------------------------------------- */

TEST(a_schedule_that_cannot_be_written_is_said) {
  char file[300];
  scenario(HALF_HOUR);
  snprintf(file, sizeof file, "%s/01-s.ini/run", w->dir); /* below a file */
  w->run_dir = file;
  play(1);
  assert_string_equal(w->stage.why, "no schedule: Not a directory");
  snprintf(file, sizeof file, "%s/schedules/%s.txt", w->dir, w->plan.name); /* the file's name is taken */
  assert_int_equal(lb_files_make_dirs(file), 0);
  w->run_dir = w->dir;
  play(1);
  assert_string_equal(w->stage.why, "no schedule: Is a directory");
}
