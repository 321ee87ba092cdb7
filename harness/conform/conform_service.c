/* SPDX-License-Identifier: MIT
 *
 * What the servers know of a lock, and how much a client can ask of them: many locks, long names, and work for a long
 * time.
 */
#include "conform_calls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the servers: `inspect` looks at one alone, past the session that holds -------------------- */

/* A key that was never locked is the other half of the question: a server that answers 1 for each key knows nothing. */
static void one_server_knows(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *unheld = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, held, &a));
  size_t server = lb_conform_who_knows(c, 1, held);
  WANT(1, lb_conform_inspect(c, 1, held, server));
  WANT(0, lb_conform_inspect(c, 1, unheld, server));
  WANT(LB_OK, lb_conform_release(c, 0, held, &a));
}

/* A session that has just been granted a lock talks to a server that has answered it, so the record is there: at the
 * server that it names, and not only somewhere. */
static void names_its_server(struct lb_conform *c) {
  const char *key = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  const struct lb_topology *t = c->topology;
  size_t first = t->family->fronted ? t->data_count : 0,
         count = t->family->fronted ? t->other_count : t->data_count; /* those that it may talk to */
  int server = lb_conform_server(c, 0);
  lb_conform_check(c, server >= (int)first && (size_t)server < first + count,
                   "expected from server one of the %zu endpoints that hold locks, got %d (first session)", count,
                   server);
  WANT(1, lb_conform_inspect(c, 1, key, (size_t)server));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* In turns, because sessions may talk to different servers: the numbers are of the service. */
static void reads_a_later_state(struct lb_conform *c) {
  const char *key = lb_conform_key(c);
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    int who = i % LB_CONFORM_SESSIONS;
    WANT(LB_OK, lb_conform_acquire(c, who, key, &g, 2000));
    uint64_t seen = lb_conform_seen(c, who);
    lb_conform_check(c, seen > latest, "expected from seen a number above %" PRIu64 " for grant %d, got %" PRIu64,
                     latest, i + 1, seen);
    latest = seen;
    WANT(LB_OK, lb_conform_release(c, who, key, &g));
  }
}

/* ---- many locks in one hand, and names at the limits of backend.h ------------------------------- */

/* TAKE_MS: where each lock is a write that is synced, fewer have to do. Speed is not the question: a call may take as
 * long as a busy machine needs. The leases outlive the statement. Locks that are left after RELEASE_MS end with their
 * session. */
enum {
  MANY = 1000,
  AT_LEAST = 16,
  TAKE_MS = 600,
  RELEASE_MS = 10000,
  HOLD_TTL_MS = 4 * CUT_TTL_MS,
  KEY_BYTES = 63,
  PAIRS = 5
};

static struct lb_grant grants[MANY];

static const char *name_of(const struct lb_conform *c, int number) {
  static char name[64];
  snprintf(name, sizeof name, "%s-many-%d", c->key_prefix, number);
  return name;
}

/* An error says that nothing was taken: where servers that were too slow are one, they are asked again. */
static int take(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  lb_ns end = in_ms(LB_CONFORM_CALL_MS);
  int r;
  while ((r = lb_conform_try_for(c, 0, key, HOLD_TTL_MS, grant, in_ms(LB_CONFORM_CALL_MS))) < 0 && r != -EMFILE &&
         lb_clock_ns() < end) {
    *grant = LB_GRANT_INIT;
    lb_clock_sleep_until(in_ms(5));
  }
  return r;
}

/* How many the first session got: all, or as many as it can hold at once (-EMFILE), or as there was
 * time for. One that was not answered in time is given up. */
static int take_many(struct lb_conform *c, const char **ret_why) {
  lb_ns end = in_ms(TAKE_MS);
  c->config[0].ttl_ms = HOLD_TTL_MS;
  for (int n = 0; n < MANY; n++) {
    int r = take(c, name_of(c, n), &grants[n]);
    if (r == -EMFILE && n >= AT_LEAST) return *ret_why = "is all that one session holds", n;
    bool no_answer = r == LB_TIMEOUT || r == LB_UNKNOWN;
    if (r == LB_UNKNOWN && n > 0) lb_conform_release(c, 0, name_of(c, n), &grants[n]);
    if (no_answer && n > 0) return *ret_why = "in the time there was", n;
    WANT(LB_OK, r);
    if (lb_clock_ns() > end && n + 1 < MANY) return *ret_why = "in the time there was", n + 1;
  }
  return *ret_why = NULL, MANY;
}

static void holds_a_thousand(struct lb_conform *c) {
  const char *why;
  struct lb_grant b = LB_GRANT_INIT;
  int count = take_many(c, &why);
  if (why) lb_conform_note(c, "%d %s", count, why);
  for (int i = 0; i < 3; i++) {
    const char *key = name_of(c, i * (count - 1) / 2);
    struct lb_grant d = LB_GRANT_INIT;
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &d));
    if (has(c, LB_TRAIT_QUEUES)) WANT(LB_OK, lb_conform_release(c, 1, key, &d));
  }
  lb_ns end = in_ms(RELEASE_MS);
  for (int n = count - 1; n >= 0 && lb_clock_ns() < end; n--)
    WANT(LB_OK, lb_conform_release(c, 0, name_of(c, n), &grants[n]));
  WANT(LB_OK, lb_conform_acquire(c, 1, name_of(c, count - 1), &b, LB_CONFORM_CALL_MS));
  WANT(LB_OK, lb_conform_release(c, 1, name_of(c, count - 1), &b));
}

/* Two names that differ in one byte: a protocol that cuts, folds or escapes names takes them for one. */
static void name_pair(const struct lb_conform *c, int which, char first[64], char second[64]) {
  static const char *const begin[PAIRS] = {"-", "-odd-:", "-odd::", "-odd--", "-"};
  static const char *const end[PAIRS] = {"ab", "-:", ":0", "-0", "0z"};
  for (int i = 0; i < 2; i++) {
    char *name = i == 0 ? first : second;
    memset(name, 'z', KEY_BYTES);
    int used = snprintf(name, 64, "%s%s", c->key_prefix, begin[which]);
    if (which == 0 || which == PAIRS - 1) name[used] = 'z', used = KEY_BYTES - 1; /* as long as may be */
    name[used] = end[which][i];
    name[used + 1] = '\0';
  }
}

static void names_at_their_limits(struct lb_conform *c) {
  char first[64], second[64];
  c->config[1].client = "a-client-with-31-letters-a-name";
  c->config[2].client = "a-client-with-31-letters-a-namf";
  for (int which = 0; which < PAIRS; which++) {
    struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
    name_pair(c, which, first, second);
    WANT(LB_OK, lb_conform_try(c, 1, first, &a));
    WANT(LB_OK, lb_conform_try(c, 2, second, &b));
    WANT(LB_BUSY, lb_conform_try(c, 2, first, &d));
    lb_conform_leave(c, 2, first, &d);
    WANT(LB_OK, lb_conform_release(c, 1, first, &a));
    WANT(LB_OK, lb_conform_release(c, 2, second, &b));
  }
}

/* ---- descriptors and memory: buffers grow to their size, but after a while a process keeps what it has */

/* FOR_MS: on a service that is slower, fewer cycles have to do. A leak of one byte in each is none that
 * malloc can make. */
enum {
  CYCLES = 10000,
  FOR_MS = 800,
  REFUSE_EVERY = 8,
  TRIES = 4,
  BYTES_PER_CYCLE = 8,
  BYTES = 8192,
  RESIDENT = 4 << 20
};

struct kept {
  int files;
  size_t bytes, resident;
};

static int open_files(void) {
  int count = 0;
  DIR *files = opendir("/proc/self/fd");
  while (files && readdir(files)) count++;
  if (files) closedir(files);
  return count;
}

/* malloc counts for its main arena only: what threads of a library leak, is seen in the pages. */
static struct kept what_is_kept(void) {
  struct mallinfo2 info = mallinfo2();
  size_t pages = 0;
  FILE *in = fopen("/proc/self/statm", "re");
  if (in && fscanf(in, "%*s %zu", &pages) != 1) pages = 0;
  if (in) fclose(in);
  return (struct kept){open_files(), info.uordblks + info.hblkhd, pages * (size_t)sysconf(_SC_PAGESIZE)};
}

/* In so many cycles a busy machine lets some request come too late. */
static void get(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  int r = LB_BUSY;
  for (int tries = 0; tries < TRIES && (r = lb_conform_acquire(c, 0, key, grant, 2000)) != LB_OK; tries++) {
    if (r == LB_UNKNOWN || r == LB_BUSY) lb_conform_release(c, 0, key, grant);
    *grant = LB_GRANT_INIT;
  }
  WANT(LB_OK, r);
}

static void cycle(struct lb_conform *c, const char *key, bool refuse) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  get(c, key, &a);
  if (refuse && !has(c, LB_TRAIT_UNSAFE)) {
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
    lb_conform_leave(c, 1, key, &b);
  }
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

static int cycles(struct lb_conform *c, const char *key, int most, int64_t ms) {
  lb_ns end = in_ms(ms);
  int n = 0;
  while (n < most && (n == 0 || lb_clock_ns() < end)) cycle(c, key, n++ % REFUSE_EVERY == 0);
  return n;
}

/* A half of them to get going, and what the other half adds is what is lost. */
static void leaks_nothing(struct lb_conform *c) {
  KEY;
  int n = cycles(c, key, CYCLES / 2, FOR_MS / 2);
  struct kept before = what_is_kept();
  n += cycles(c, key, n, FOR_MS);
  struct kept after = what_is_kept();
  lb_conform_note(c, "%d cycles", n);
  lb_conform_check(c, after.files <= before.files, "expected %d open files as before %d cycles, got %d", before.files,
                   n / 2, after.files);
  size_t most = before.bytes + (size_t)n / 2 * BYTES_PER_CYCLE + BYTES;
  lb_conform_check(c, after.bytes <= most, "expected about %zu bytes allocated as before %d cycles, got %zu more",
                   before.bytes, n / 2, after.bytes - before.bytes);
  if (after.bytes == 0) return; /* a sanitizer's malloc, which counts nothing and keeps what was freed */
  lb_conform_check(c, after.resident <= before.resident + RESIDENT,
                   "expected about %zu bytes resident as before %d cycles, got %zu more", before.resident, n / 2,
                   after.resident - before.resident);
}

const struct lb_conform_statement lb_conform_of_service[] = {
    {"one server knows of a held key", LB_NEEDS_INSPECT | LB_NEEDS_SERVERS, one_server_knows},
    {"the server that a session names has its lock", LB_NEEDS_INSPECT | LB_NEEDS_SERVERS | LB_NEEDS_SERVER,
     names_its_server},
    {"a later grant has read a later state", LB_NEEDS_SAFE | LB_NEEDS_SEEN, reads_a_later_state},
    {"one session holds a thousand locks", LB_NEEDS_SAFE, holds_a_thousand},
    {"names may be as long and as alike as they may be", LB_NEEDS_SAFE, names_at_their_limits},
    {"ten thousand cycles leave no file open and no memory behind", 0, leaks_nothing},
    {NULL, 0, NULL},
};
