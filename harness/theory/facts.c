/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of facts, and words in it.
 */
#include "facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define LOCK LB_TERM_OF_LOCK
#define SERVERS LB_TERM_OF_SERVERS
#define SCENARIO LB_TERM_OF_SCENARIO
#define GUARD LB_TERM_OF_GUARD

static const struct lb_term vocabulary[] = {
    {"ends", LOCK, "lease|session|connection|transaction|never", "what ends a hold that its client does not"},
    {"counts", LOCK, "nobody|server-wall|server-monotonic|client-wall|client-monotonic",
     "the clock by which that end comes; of a client: of the one that asks"},
    {"record", LOCK, "data|memory",
     "where the grant stands: in data that is copied and kept, or in a session of one server, which no restart or standby continues"},
    {"release", LOCK, "compared|looked|timed|blind",
     "whether a release compares the owner: in one step, in a step before, only by the time, not at all"},
    {"asks", LOCK, "owner|anybody", "whether the service knows who holds, or only that somebody does"},
    {"number", LOCK, "none|counter|log|sequence|open|epoch",
     "a fencing token: a counter beside the key, a position in the log, a sequence, one drawn in an open transaction; epoch: the log, below the number of an election"},
    {"confirms", LOCK, "nobody|one|replicas",
     "whether the client waits until replicas have the grant: one of them, or all"},
    {"syncs", LOCK, "server|client",
     "who sees to it that a grant is on disk before it counts: the server alone, or a client that waits for that"},
    {"renews", LOCK, "caller|loop|refresh|library",
     "who keeps up a hold that ends: its caller if anybody, a loop in the client, a refresh that tells, the heartbeats of the library"},
    {"tells", LOCK, "nobody|connection|refresh|session", "how the client hears of a loss unasked"},
    {"names-end", LOCK, "yes|no", "whether the client can see when its hold ends"},
    {"heeds", LOCK, "yes|no", "whether the client takes the end of its session for the end of its hold"},
    {"believes", LOCK, "write|read|unknown",
     "what tells a waiter that its turn has come: an answered write of its own, or what it read; of a foreign library nobody knows it"},
    {"queue", LOCK, "ending|lasting",
     "what becomes of the place of a waiter that dies: it has none or it ends, or it stays"},
    {"comes-first", LOCK, "asked|readers",
     "who comes first while readers keep coming: who asked first, or a reader, beside whom others read"},
    {"waits", LOCK, "asking|by-lease|inside",
     "how a waiter waits: it asks again, sleeps for as long as the server said, or is inside a statement of the server"},
    {"ddl", LOCK, "apart|commits",
     "whether the first DDL statement of the work ends the hold, on the connection of the lock"},
    {"frees", LOCK, "token|session",
     "what a release needs: the token of the grant, whichever client has it, or also the session that holds"},
    {"unlocks", LOCK, "grant|session",
     "what a release names: the grant that it ends, or a session, whatever that was granted since"},
    {"refused", LOCK, "lets-go|keeps",
     "what a client does with the keys that it has, when it is refused another one of the same lock"},
    {"end", LOCK, "set-together|set-later", "whether the record is made together with its end"},
    {"copied-end", LOCK, "instant|length",
     "how a replica hears of the end of a record: as a point in time, or as a length that it counts by its own clock"},
    {"limits", LOCK, "no|yes", "whether its server has a limit for how long a transaction lasts, which an option sets"},
    {"lost", LOCK, "owned|waits|forgotten|blind|counted|other|elsewhere",
     "what the client makes of a lost answer. It finds its own record, waits on, forgets it, cannot say whose it is, or is counted twice; or it asks another server"},
    {"lost-release", LOCK, "forgotten|repeated", "what becomes of a release that is lost"},
    {"looks", LOCK, "yes|no", "whether the service looks if the session of a waiter still lives before it grants"},
    {"deposed", LOCK, "obeys|ends|asks",
     "what a leader that was replaced unheard does with leases that have ended by its clock: nobody obeys it, it ends them, or it asks first if it stood still"},
    {"answers", LOCK, "majority|all", "for how many servers a client waits that asks several"},
    {"reentrant", LOCK, "no|yes|uncounted",
     "whether a session that holds is granted the lock once more: not, and must release it as often, or is free of it at once"},
    {"excludes", LOCK, "yes|no", "whether it excludes anybody where nothing goes wrong"},

    {"members", SERVERS, "1|0|2|3|5|6", "how many servers hold locks"},
    {"copies", SERVERS, "none|later|before|majority",
     "when others have a grant: never, later than the client, before it, when a majority has"},
    {"votes", SERVERS, "one|strangers",
     "who decides: one server or one log, or a majority of servers that do not know each other"},
    {"killed", SERVERS, "all|most|nothing", "what a killed server comes back with"},
    {"power", SERVERS, "all|most|nothing", "what it comes back with after a loss of power"},
    {"takeover", SERVERS, "nobody|operator|replicas|majority", "who replaces a lost server"},
    {"alone", SERVERS, "grants|stops", "what a primary does that misses the others for long enough"},
    {"leads", SERVERS, "ever|key",
     "how long a primary goes on that nobody deposes: for ever, or as long as it renews a key in a store of others"},
    {"shards", SERVERS, "no|yes", "whether the keys are shared out among several primaries"},
    {"favourite", SERVERS, "no|yes", "whether a replica is promoted for its priority, whatever it has"},
    {"evicts", SERVERS, "no|yes", "whether a server can give keys up when its memory is full"},
    {"pooled", SERVERS, "no|transaction|session",
     "for how long a pooler lends a client a server process: there is none, for a transaction, while it is connected"},
    {"pool", SERVERS, "ample|tight", "whether a pooler has a server process for everybody who is connected"},
    {"elects", SERVERS, "soon|late", "whether an election takes as long as the lease of a scenario"},
    {"sequence", SERVERS, "ahead|drawn",
     "what of a sequence stands in the log: more numbers than were drawn (PostgreSQL logs 32 at once), or these"},
    {"reads", SERVERS, "leader|follower", "whether a client reads from a server that may be late"},

    {"renewed", SCENARIO, "no|yes", "whether the hold is renewed while the client works"},
    {"lasts", SCENARIO, "brief|past-election", "whether a lease outlasts the longest election"},
    {"measures", SCENARIO, "monotonic|wall|unknown",
     "the clock by which the client measures its lease; of a foreign library nobody knows it"},
    {"checks", SCENARIO, "validity|nothing|unknown",
     "whether a grant that came too late is taken for one; of a foreign library nobody knows it"},
    {"warnings", SCENARIO, "heeded|unheeded", "whether the client looks at warnings of its server"},
    {"order", SCENARIO, "sorted|given", "in which order clients take the keys of a lock: in one, or each in its own"},
    {"retry", SCENARIO, "random|fixed", "how long a client waits before it asks again"},
    {"deletes", SCENARIO, "all|granted",
     "where a client deletes that asked several servers: at all, or where it heard a yes"},
    {"patience", SCENARIO, "brief|past-lease",
     "how long a client that asks one server after the other waits for a silent one"},
    {"leaves", SCENARIO, "anything|enough", "how much of a lease a grant has to leave"},
    {"allows", SCENARIO, "little|much",
     "how much of a lease is left to clocks of different speeds: 1 %, or a tenth at least"},
    {"idle", SCENARIO, "kept|ended", "whether the server ends a session that says nothing for the ttl"},
    {"calls", SCENARIO, "one|any",
     "on which connections a client makes its calls: on one, or on any of a pool inside the client"},
    {"extends", SCENARIO, "for-ever|so-often", "whether the number of extensions has a limit"},
    {"capped", SCENARIO, "no|yes", "whether renewals end after a while"},
    {"prolongs", SCENARIO, "majority|any", "how many of several servers have to take an extension before it counts"},
    {"reached", SCENARIO, "all|majority",
     "how many servers a client's request had come to before the fault: all of them, or a bare majority"},
    {"heard", SCENARIO, "yes|perhaps|no",
     "whether the steps leave the other servers time to hear of a grant before the fault"},
    {"jump", SCENARIO, "lease|rest|less",
     "by how much a wall clock jumps ahead: by a lease that is renewed in time, by what is left of another one, or by less"},
    {"asked", SCENARIO, "meanwhile|afterwards", "whether a client asks while a fault lasts"},

    {"guard", GUARD, "none|deadline|signal|recheck|claim|fence", "the guard of the cell"},
    {"shows", GUARD, "clock|connection|session|renewal|server|silence|number",
     "what could tell the holder of its loss before it writes"},
};
enum { FACT_COUNT = sizeof vocabulary / sizeof *vocabulary };
_Static_assert(FACT_COUNT <= LB_FACTS_MAX, "struct lb_facts has a place for each");

const struct lb_term *lb_term_at(size_t index) { return index < FACT_COUNT ? &vocabulary[index] : NULL; }

/* The bit of a value, which ends at '|' or NUL; 0 = it is none. */
static unsigned bit_of(const struct lb_term *fact, const char *word, size_t length) {
  unsigned bit = 1;
  for (const char *rest = fact->values; rest; bit <<= 1) {
    size_t size;
    const char *at = lb_text_part(&rest, '|', &size);
    if (size == length && strncmp(at, word, length) == 0) return bit;
  }
  return 0;
}

static size_t find_fact(const char *name, size_t length) {
  size_t i = 0;
  while (i < FACT_COUNT && (strncmp(vocabulary[i].name, name, length) != 0 || vocabulary[i].name[length] != '\0')) i++;
  return i;
}

void lb_facts_default(struct lb_facts *ret) {
  *ret = (struct lb_facts){{0}};
  for (size_t i = 0; i < FACT_COUNT; i++)
    if (vocabulary[i].of != GUARD) ret->value[i] = 1;
}

static int refuse_name(const char *name, struct lb_error *err) {
  const char *known[FACT_COUNT];
  for (size_t i = 0; i < FACT_COUNT; i++) known[i] = vocabulary[i].name;
  const char *near = lb_text_suggest(name, known, FACT_COUNT);
  return lb_refuse(err, "no fact '%s'%s%s%s, see `lockbench list facts`", name, near ? ", did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

int lb_facts_parse(const char *name, const char *values, size_t *ret_fact, unsigned *ret_bits, struct lb_error *err) {
  size_t i = find_fact(name, strlen(name));
  if (i == FACT_COUNT) return refuse_name(name, err);
  *ret_fact = i;
  *ret_bits = 0;
  for (const char *at = values;;) {
    size_t size = strcspn(at, "|");
    unsigned bit = bit_of(&vocabulary[i], at, size);
    if (!bit) return lb_refuse(err, "%s=%s: expected %s=%s", name, values, name, vocabulary[i].values);
    *ret_bits |= bit;
    if (!at[size]) return 0;
    at += size + 1;
  }
}

static int add_word(struct lb_facts *facts, char *word, enum lb_term_of of, struct lb_error *err) {
  size_t i;
  unsigned bits;
  char *equals = strchr(word, '=');
  if (!equals) return lb_refuse(err, "'%s' is no fact: expected NAME=VALUE", word);
  *equals = '\0';
  int r = lb_facts_parse(word, equals + 1, &i, &bits, err);
  if (r < 0) return r;
  if (vocabulary[i].of != of || bits & (bits - 1))
    return lb_refuse(err, "%s=%s: %s", word, equals + 1,
                     vocabulary[i].of == of ? "expected one value" : "that is not stated here");
  facts->value[i] = bits;
  return 0;
}

int lb_facts_take(struct lb_facts *facts, const char *words, enum lb_term_of of, struct lb_error *err) {
  char copy[400], *rest = copy;
  int r = 0;
  if (!words) return 0;
  if (snprintf(copy, sizeof copy, "%s", words) >= (int)sizeof copy) return lb_refuse(err, "too many facts");
  for (char *word; r == 0 && (word = strsep(&rest, " "));)
    if (*word) r = add_word(facts, word, of, err);
  return r;
}

void lb_facts_set(struct lb_facts *facts, const char *name, const char *value) {
  size_t i;
  unsigned bits;
  struct lb_error err;
  if (lb_facts_parse(name, value, &i, &bits, &err) < 0) abort(); /* a word of ours that is not in our table */
  facts->value[i] = bits;
}

bool lb_facts_is(const struct lb_facts *facts, const char *name, const char *value) {
  size_t i = find_fact(name, strlen(name));
  return i < FACT_COUNT && facts->value[i] & bit_of(&vocabulary[i], value, strlen(value));
}

const char *lb_facts_get(const struct lb_facts *facts, const char *name, char *buf, size_t size) {
  size_t i = find_fact(name, strlen(name)), at = 0;
  *buf = '\0';
  if (i == FACT_COUNT) return buf;
  const char *rest = vocabulary[i].values;
  for (unsigned bit = 1; rest; bit <<= 1) {
    size_t length;
    const char *value = lb_text_part(&rest, '|', &length);
    if (facts->value[i] & bit && at < size)
      at += (size_t)snprintf(buf + at, size - at, "%s%.*s", at ? " " : "", (int)length, value);
  }
  return buf;
}

/* What ends a hold, where it stands and what renews it is a lock's kind. These are mistakes, which another lock of that
 * kind on the same servers need not make. */
void lb_facts_without_flaws(struct lb_facts *facts) {
  static const char *const flaws[] = {"release", "asks",  "heeds",    "believes",     "queue",   "refused", "end",
                                      "lost",    "looks", "excludes", "lost-release", "answers", "checks"};
  for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) facts->value[find_fact(flaws[i], strlen(flaws[i]))] = 1;
}
