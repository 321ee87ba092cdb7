/* SPDX-License-Identifier: MIT
 *
 * planted: a lock that breaks when two conditions hold together, and is otherwise right. A test draws the two, and a
 * hunt has to find just them.
 *
 * The lock itself is a word in the memory that all clients share. The conditions are looked for at every try: the wall
 * clocks of clients 1 and 2 against the machine's, and what the first Redis says of itself, its clock and its run_id. A
 * clock that runs too fast is seen when it is ahead by a little, whatever hours it has jumped. With several servers also:
 * fewer than all had what client 1 wrote when it was granted the lock; the first server does not answer; another one was
 * started again; another one has become master. What was once seen stays seen.
 * Option of_ten: of ten trials in which it could break so many do, by a counter of all of them: the length of the file
 * that PLANTED_COUNTER in the environment names; hidden: a third condition under which it does not break; fresh: it
 * breaks for a client only that opened its session while another one held the lock, as one does that comes when the
 * faults have happened and learns then who decides. numbers: its grants have fencing tokens, and what breaks is these
 * alone: nobody ever holds beside another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <hiredis.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "backends/backend.h"

enum { OPT_FIRST, OPT_SECOND, OPT_HIDDEN, OPT_OF_TEN, OPT_FRESH, OPT_NUMBERS };
enum { C1_BEHIND, C2_AHEAD, P_AHEAD, P_RESTARTED, P_FAST, MISSED, P_AWAY, OTHER_RESTARTED, MOVED, CONDITIONS };
static const char *const words[] = {"c1-behind", "c2-ahead",        "p-ahead", "p-restarted", "p-fast", "missed",
                                    "p-away",    "other-restarted", "moved",   "none",        NULL};

enum { HALF_AN_HOUR_MS = 1800000, ASK_MS = 300, FAST_MS = 20, COPY_MS = 150, SERVERS_MAX = 5 };

struct shared {
  _Atomic uint64_t owner; /* 0 = free */
  _Atomic uint64_t next;
  _Atomic unsigned seen; /* conditions, 1 << number */
  _Atomic int drawn;     /* 0 = not yet, 1 = it breaks in this trial, 2 = it does not */
  struct {
    _Atomic int has_run_id;
    char run_id[48];
  } server[SERVERS_MAX];
};

struct lb_session {
  const struct lb_config *config;
  struct lb_env *env;
  struct shared *shared;
  bool late; /* another one held when it was opened */
};

static int64_t true_wall_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void see(struct lb_session *s, int condition) { atomic_fetch_or(&s->shared->seen, 1u << condition); }

static void look_at_client(struct lb_session *s) {
  int64_t off = lb_wall_ms(s->env) - true_wall_ms();
  if (strcmp(s->config->client, "client-1") == 0 && off < -HALF_AN_HOUR_MS) see(s, C1_BEHIND);
  if (strcmp(s->config->client, "client-2") == 0 && off > HALF_AN_HOUR_MS) see(s, C2_AHEAD);
}

/* The first who asks notes who the server is; another answer later is another life of it. */
static void look_at_info(struct lb_session *s, redisContext *c, size_t server) {
  redisReply *reply = redisCommand(c, "INFO");
  const char *text = reply && reply->type == REDIS_REPLY_STRING ? reply->str : "", *at = strstr(text, "run_id:");
  _Atomic int *has_run_id = &s->shared->server[server].has_run_id;
  char *run_id = s->shared->server[server].run_id;
  int fresh = 0;
  if (at && atomic_compare_exchange_strong(has_run_id, &fresh, 1)) {
    snprintf(run_id, sizeof s->shared->server->run_id, "%.40s", at + 7);
    atomic_store(has_run_id, 2);
  } else if (at && atomic_load(has_run_id) == 2 && strncmp(at + 7, run_id, 40) != 0) {
    see(s, server == 0 ? P_RESTARTED : OTHER_RESTARTED);
  }
  if (server > 0 && s->config->target->replicas > 0 && strstr(text, "role:master")) see(s, MOVED);
  freeReplyObject(reply);
}

static void look_at_time(struct lb_session *s, redisContext *c) {
  redisReply *reply = redisCommand(c, "TIME");
  bool told = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
  int64_t now = told ? atoll(reply->element[0]->str) * 1000 + atoll(reply->element[1]->str) / 1000 : 0;
  int64_t off = told ? now - true_wall_ms() : 0; /* never ahead by the way of the answer */
  int64_t hours = (off + (off < 0 ? -HALF_AN_HOUR_MS : HALF_AN_HOUR_MS)) / (2 * HALF_AN_HOUR_MS);
  if (off > HALF_AN_HOUR_MS) see(s, P_AHEAD);
  if (off - hours * 2 * HALF_AN_HOUR_MS > FAST_MS) see(s, P_FAST);
  freeReplyObject(reply);
}

/* Whether a write of client 1 at the first server comes to all who follow it. */
static void look_at_copies(struct lb_session *s, redisContext *c) {
  size_t replicas = s->config->target->replicas;
  if (replicas == 0 || strcmp(s->config->client, "client-1") != 0) return;
  redisReply *set = redisCommand(c, "SET %s-copied 1", s->config->prefix);
  redisReply *reply = redisCommand(c, "WAIT %d %d", (int)replicas, COPY_MS);
  if (reply && reply->type == REDIS_REPLY_INTEGER && reply->integer < (long long)replicas) see(s, MISSED);
  freeReplyObject(set);
  freeReplyObject(reply);
}

/* False if it does not answer. */
static bool look_at_server(struct lb_session *s, size_t server) {
  const struct lb_endpoint *e = &s->config->target->endpoints[server];
  redisContext *c = redisConnectWithTimeout(e->host, e->port, (struct timeval){0, ASK_MS * 1000});
  bool answers = c && !c->err;
  if (answers) {
    redisSetTimeout(c, (struct timeval){0, ASK_MS * 1000});
    if (server == 0) look_at_time(s, c);
    if (!c->err) look_at_info(s, c, server);
    if (!c->err && server == 0) look_at_copies(s, c);
    answers = !c->err;
  }
  if (c) redisFree(c);
  return answers;
}

static void look_at_servers(struct lb_session *s) {
  const struct lb_target *target = s->config->target;
  bool first = strcmp(s->config->client, "client-1") == 0;
  if (!look_at_server(s, 0)) see(s, P_AWAY);
  for (size_t i = 1; i < target->count && i < SERVERS_MAX && strcmp(target->endpoints[i].service, "redis") == 0; i++)
    if (!look_at_server(s, i) && first && target->replicas == 0) see(s, MISSED);
}

static bool has(struct lb_session *s, int option) {
  int64_t condition = s->config->options[option].i;
  return condition < CONDITIONS && (atomic_load(&s->shared->seen) & 1u << condition);
}

/* How many came here before, in any trial. */
static long count_up(void) {
  const char *path = getenv("PLANTED_COUNTER");
  int fd = path ? open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return 0;
  flock(fd, LOCK_EX);
  long before = lseek(fd, 0, SEEK_END);
  if (write(fd, ".", 1) != 1) before = 0;
  close(fd);
  return before;
}

/* Once per trial. */
static bool is_drawn(struct lb_session *s) {
  int64_t of_ten = s->config->options[OPT_OF_TEN].i;
  int fresh = 0;
  if (of_ten == 10) return true;
  if (atomic_compare_exchange_strong(&s->shared->drawn, &fresh, 2) && count_up() % 10 < of_ten)
    atomic_store(&s->shared->drawn, 1);
  return atomic_load(&s->shared->drawn) == 1;
}

static bool sees(const struct lb_session *s) { return s->late || !s->config->options[OPT_FRESH].b; }

static bool breaks(struct lb_session *s) {
  return sees(s) && has(s, OPT_FIRST) && has(s, OPT_SECOND) && !has(s, OPT_HIDDEN) && is_drawn(s);
}

static int planted_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  struct shared *shared = config->target->shared;
  *s = (struct lb_session){config, config->env, shared, atomic_load(&shared->owner) != 0};
  return 0;
}

static void planted_close(struct lb_session *s) { (void)s; }

static uint64_t mine(const struct lb_grant *grant) { return grant->token_len ? strtoull(grant->token, NULL, 10) : 0; }

static int planted_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  uint64_t free = 0;
  (void)lock, (void)deadline;
  if (grant->token_len) return atomic_load(&s->shared->owner) == mine(grant) ? LB_OK : LB_UNKNOWN;
  look_at_client(s);
  look_at_servers(s);
  uint64_t number = atomic_fetch_add(&s->shared->next, 1) + 1;
  grant->asked_at = lb_now(s->env);
  bool broken = breaks(s), numbers = s->config->options[OPT_NUMBERS].b;
  if (broken && !numbers) atomic_store(&s->shared->owner, number);
  else if (!atomic_compare_exchange_strong(&s->shared->owner, &free, number)) return LB_BUSY;
  if (numbers) grant->fence = broken ? 1 : number;
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%llu", (unsigned long long)number);
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int planted_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                         lb_ns deadline) {
  (void)lock, (void)deadline;
  return atomic_load(&s->shared->owner) == mine(grant) ? LB_OK : LB_LOST;
}

static int planted_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  uint64_t own = mine(grant);
  (void)lock, (void)deadline;
  return atomic_compare_exchange_strong(&s->shared->owner, &own, 0) ? LB_OK : LB_LOST;
}

#define CONDITION(word, def_, text)                                                                                    \
  { .name = word, .type = LB_OPT_CHOICE, .words = words, .def = def_, .help = text }
static const struct lb_option options[] = {
    [OPT_FIRST] = CONDITION("first", C1_BEHIND, "a condition"),
    [OPT_SECOND] = CONDITION("second", P_RESTARTED, "another one"),
    [OPT_HIDDEN] = CONDITION("hidden", CONDITIONS, "one that hides the two"),
    [OPT_OF_TEN] = {.name = "of_ten",
                    .type = LB_OPT_INT,
                    .def = 10,
                    .min = 0,
                    .max = 10,
                    .help = "trials of ten in which it breaks"},
    [OPT_FRESH] = {.name = "fresh",
                   .type = LB_OPT_BOOL,
                   .max = 1,
                   .help = "only for a client that opened its session while another one held"},
    [OPT_NUMBERS] = {.name = "numbers",
                     .type = LB_OPT_BOOL,
                     .max = 1,
                     .help = "grants have fencing tokens, and only these break"},
    {.name = NULL}};
static const char *const points[] = {NULL}, *const topologies[] = {"redis", "sentinel", "redis-x5", NULL};

static const struct lb_protocol planted = {
    .abi = LB_ABI,
    .name = "planted",
    .summary = "breaks when two conditions hold together",
    .facts = "ends=lease counts=server-wall", /* as its author would say: a hunt knows no more of it */
    .promises = "Mutual exclusion, unless both conditions have been seen.",
    .breaks = "The two conditions, and nothing else.",
    .source = "a test",
    .topologies = topologies,
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_CLIENT_CLOCK,
    .options = options,
    .points = points,
    .session_size = sizeof(struct lb_session),
    .open = planted_open,
    .close = planted_close,
    .try_acquire = planted_try,
    .holds = planted_holds,
    .release = planted_release,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &planted;
