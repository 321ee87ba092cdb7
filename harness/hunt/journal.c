/* SPDX-License-Identifier: MIT
 *
 * The journal of a hunt: "ID,GUARD,CAME,WHY" a line, appended trial by trial. A last line that was cut off by a death is
 * taken away, or the next one would stand behind it.
 */
#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/error.h"
#include "base/need.h"

enum { LINE = 600 };
/* 2: what came of a trial has classes of its own for damage and numbers, which older journals call `lease`. */
#define HEAD "# hunt 2 of "

/* The number of a reason is a hash of its first line. */
static uint64_t number_of(const char *text) { return lb_hash(LB_HASH_BEGIN, text, strcspn(text, "\n")); }

static void doubt(struct lb_hunt_doubt *d, const char *why) {
  uint64_t number = number_of(why);
  d->same = d->same > 0 && d->why == number ? d->same + 1 : 1;
  d->why = number;
}

static void count(struct lb_hunt_journal *b, size_t timeline, enum lb_guard guard, enum lb_hunt_outcome outcome,
                  const char *why) {
  b->count[timeline][guard].of[outcome]++;
  b->trials++;
  b->undecided += outcome == LB_HUNT_UNDECIDED;
  if (outcome == LB_HUNT_UNDECIDED) doubt(&b->doubt[timeline][guard], why);
  if (outcome == LB_HUNT_UNDECIDED) snprintf(b->why[timeline], sizeof b->why[timeline], "%s", why);
}

/* A timeline that this space does not have (any more) is of another program: refused, for its results would be mixed
 * with others. */
static int take_line(struct lb_hunt_journal *b, char *line) {
  struct lb_error err;
  char *rest = NULL;
  const char *id = strtok_r(line, ",", &rest), *guard = strtok_r(NULL, ",", &rest),
             *outcome = strtok_r(NULL, ",\n", &rest);
  struct lb_hunt_timeline timeline;
  if (!id || !guard || !outcome || lb_hunt_timeline_of_id(id, &timeline, &err) < 0) return -EINVAL;
  ptrdiff_t at = lb_hunt_space_find(b->space, &timeline);
  int g = lb_guard_find(guard), c = lb_hunt_outcome_find(outcome);
  if (at < 0 || g < 0 || c < 0) return -EINVAL;
  count(b, (size_t)at, (enum lb_guard)g, (enum lb_hunt_outcome)c, rest ? strtok_r(NULL, "\n", &rest) : "");
  return 0;
}

#define RESTS "# rests on "

/* What a trial said of the grant; shards say it each for itself, and the first counts. */
static int take_note(struct lb_hunt_journal *b, const char *line) {
  unsigned rests;
  int end = 0;
  if (sscanf(line, RESTS "%x: %n", &rests, &end) != 1 || end == 0) return -EINVAL;
  if (b->seen) return 0;
  b->seen = true, b->rests = rests;
  snprintf(b->said, sizeof b->said, "%.*s", (int)strcspn(line + end, "\n"), line + end);
  return 0;
}

/* `of` stands in the first line. An empty file is a new one. */
static int take(struct lb_hunt_journal *b, const char *path, const char *of, struct lb_error *err) {
  char line[LINE];
  int number = 1;
  rewind(b->file);
  if (!fgets(line, sizeof line, b->file)) return fprintf(b->file, HEAD "%s\n", of) < 0 || fflush(b->file) ? -EIO : 0;
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, HEAD, sizeof HEAD - 1) != 0 || strcmp(line + sizeof HEAD - 1, of) != 0)
    return lb_refuse(err, "%s:1: found '%.100s', expected '" HEAD "%s': to go on with a hunt, ask for the same one",
                     path, line, of);
  for (long at; at = ftell(b->file), fgets(line, sizeof line, b->file);) {
    number++;
    if (!strchr(line, '\n')) return ftruncate(fileno(b->file), at) < 0 ? -errno : 0; /* cut off by a death */
    if ((*line == '#' ? take_note(b, line) : take_line(b, line)) < 0)
      return lb_refuse(err, "%s:%d: found '%.100s', expected TIMELINE,GUARD,RESULT", path, number, line);
  }
  return 0;
}

int lb_hunt_journal_open(struct lb_hunt_journal *journal, const struct lb_hunt_space *space, const char *path,
                         const char *of, struct lb_error *err) {
  *journal = (struct lb_hunt_journal){.space = space, .file = fopen(path, "a+e")};
  if (!journal->file) return lb_error(err, -errno, "cannot write %s: %s", path, strerror(errno));
  journal->count = lb_need(calloc(space->count + 1, sizeof *journal->count));
  journal->why = lb_need(calloc(space->count + 1, sizeof *journal->why));
  journal->doubt = lb_need(calloc(space->count + 1, sizeof *journal->doubt));
  journal->replay = lb_need(calloc(space->count + 1, sizeof *journal->replay));
  int r = take(journal, path, of, err);
  if (r < 0) lb_hunt_journal_close(journal);
  return r;
}

void lb_hunt_journal_add(struct lb_hunt_journal *journal, size_t timeline, enum lb_guard guard,
                         enum lb_hunt_outcome outcome, const char *why) {
  char id[LB_HUNT_ID_MAX], line[LINE];
  int fd = fileno(journal->file);
  off_t end = lseek(fd, 0, SEEK_END);
  lb_hunt_timeline_id(&journal->space->timeline[timeline], id);
  int length = snprintf(line, sizeof line, "%s,%s,%s,%.*s\n", id, lb_guard_name(guard), lb_hunt_outcome_name(outcome),
                        (int)strcspn(why, "\n"), why);
  if (length >= (int)sizeof line) line[(length = (int)sizeof line - 1) - 1] = '\n';
  if (write(fd, line, (size_t)length) != length) journal->failed = true, end = ftruncate(fd, end); /* no half line */
  count(journal, timeline, guard, outcome, why);
}

void lb_hunt_journal_note(struct lb_hunt_journal *b, unsigned rests, const char *said) {
  int fd = fileno(b->file);
  lseek(fd, 0, SEEK_END);
  b->seen = true, b->rests = rests;
  snprintf(b->said, sizeof b->said, "%s", said);
  if (dprintf(fd, RESTS "%x: %s\n", rests, b->said) < 0) b->failed = true;
}

const struct lb_hunt_count *lb_hunt_journal_seen(const struct lb_hunt_journal *journal, size_t timeline) {
  return &journal->count[timeline][journal->guard];
}

bool lb_hunt_journal_is_hopeless(const struct lb_hunt_journal *journal, size_t timeline, enum lb_guard guard) {
  return journal->doubt[timeline][guard].same >= 2;
}

int lb_hunt_journal_close(struct lb_hunt_journal *journal) {
  int failed = journal->failed || ferror(journal->file);
  failed |= fclose(journal->file);
  free(journal->count);
  free(journal->why);
  free(journal->doubt);
  free(journal->replay);
  *journal = (struct lb_hunt_journal){0};
  return failed ? -EIO : 0;
}

/* From the verdict of a trial to the answer that a hunt counts. A trial that the judge calls stuck says nothing of
 * exclusion, and neither does one without a refused request. The faults stopped the service, which is an answer of its
 * own. */

static const char *const outcomes[LB_HUNT_OUTCOME_COUNT] = {"safe",    "lease",   "expired",  "damage",
                                                            "numbers", "blocked", "undecided"};

const char *lb_hunt_outcome_name(enum lb_hunt_outcome outcome) { return outcomes[outcome]; }

const char *lb_hunt_outcome_class_text(enum lb_hunt_outcome class) {
  static const char *const texts[LB_HUNT_OUTCOME_COUNT] = {[LB_HUNT_LEASE] = "within a lease",
                                                           [LB_HUNT_EXPIRED] = "after the lease",
                                                           [LB_HUNT_DAMAGE] = "only at the resource",
                                                           [LB_HUNT_NUMBERS] = "in numbers only"};
  return texts[class] ? texts[class] : "";
}

int lb_hunt_outcome_find(const char *name) {
  for (int i = 0; i < LB_HUNT_OUTCOME_COUNT; i++)
    if (strcmp(outcomes[i], name) == 0) return i;
  return -1;
}

/* A violation by what happened, not by what it was judged by: a number that repeats is no double hold. */
static enum lb_hunt_outcome class_of(const struct lb_outcome *out) {
  if (out->within_lease > 0) return LB_HUNT_LEASE;
  if (out->double_holds > 0) return LB_HUNT_EXPIRED;
  return out->dirty_accesses > 0 || out->lost_updates > 0 || out->stale_writes > 0 ? LB_HUNT_DAMAGE : LB_HUNT_NUMBERS;
}

enum lb_hunt_outcome lb_hunt_outcome_of(const struct lb_outcome *out) {
  switch (out->verdict) {
    case LB_SAFE: return LB_HUNT_SAFE;
    case LB_VIOLATED: return class_of(out);
    case LB_STUCK:
    case LB_DELAYED: return LB_HUNT_BLOCKED;
    default: return out->uncontested ? LB_HUNT_BLOCKED : LB_HUNT_UNDECIDED;
  }
}

unsigned lb_hunt_count_decided(const struct lb_hunt_count *count) {
  unsigned decided = 0;
  for (int i = 0; i < LB_HUNT_UNDECIDED; i++) decided += count->of[i];
  return decided;
}

bool lb_hunt_count_broke(const struct lb_hunt_count *count) {
  return count->of[LB_HUNT_LEASE] + count->of[LB_HUNT_EXPIRED] > 0;
}

unsigned lb_hunt_count_violated(const struct lb_hunt_count *count) {
  unsigned violated = 0;
  for (int i = LB_HUNT_CLASS_FIRST; i <= LB_HUNT_CLASS_LAST; i++) violated += count->of[i];
  return violated;
}

/* Minimality, read off the journal. The empty set is a subset of all of them: a lock that breaks without a fault has
 * one minimal set, the empty one. */

/* ---- subsets ----------------------------------------------------------------------------------------------------- */

enum { FEWER_SETS_MAX = 216, PARTS_MAX = LB_HUNT_SUBSETS_MAX + FEWER_SETS_MAX };

static void sort_faults(struct lb_hunt_timeline *t) {
  size_t from, to;
  while (lb_hunt_prune_is_moved(t, &from, &to)) {
    struct lb_hunt_fault f = t->fault[from];
    memmove(t->fault + to + 1, t->fault + to, (from - to) * sizeof f);
    t->fault[to] = f;
  }
}

/* What is pruned for a sound reason comes out as a timeline with fewer faults, which is run in any case; but behind the
 * last reply it is a part like the others. */
static bool means_something(const struct lb_hunt_space *space, struct lb_hunt_timeline *t) {
  t->pruned = lb_hunt_prune(&space->system, t);
  return !lb_hunt_prune_is_sound(t->pruned) || t->pruned == LB_HUNT_SAME_AS_H;
}

/* Proper subsets by hosts, too, of the same regime: of its faults some, at least one of them done to fewer hosts. Only
 * those that mean something there. How many. Choice 0 of a fault is to leave it out, 1 the fault itself, then the fewer
 * ones. */
static size_t fewer_sets(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t,
                         struct lb_hunt_timeline ret[FEWER_SETS_MAX]) {
  struct lb_hunt_fault fewer[LB_HUNT_FAULTS_MAX][LB_HUNT_FEWER_MAX];
  size_t choices[LB_HUNT_FAULTS_MAX], all = 1, count = 0;
  for (size_t i = 0; i < t->fault_count; i++)
    all *= choices[i] = 2 + lb_hunt_fault_fewer(&space->system, t->fault[i], fewer[i]);
  for (size_t n = 0; n < all; n++) {
    struct lb_hunt_timeline part = {.regime = t->regime};
    bool less = false;
    for (size_t i = 0, rest = n; i < t->fault_count; rest /= choices[i++]) {
      size_t choice = rest % choices[i];
      less |= choice > 1;
      if (choice > 0) part.fault[part.fault_count++] = choice == 1 ? t->fault[i] : fewer[i][choice - 2];
    }
    sort_faults(&part);
    if (less && means_something(space, &part)) ret[count++] = part;
  }
  return count;
}

/* Proper subsets, of faults and of the hosts to which they are done, as indices of the space. Without a clock that
 * drifts, a part of the regime drift is what it is in the regime long. */
static size_t subsets(const struct lb_hunt_space *space, size_t timeline, size_t ret[PARTS_MAX]) {
  struct lb_hunt_timeline part[PARTS_MAX];
  size_t count = 0, parts = lb_hunt_space_subsets(space, &space->timeline[timeline], part);
  parts += fewer_sets(space, &space->timeline[timeline], part + parts);
  for (size_t i = 0; i < parts; i++) {
    ptrdiff_t at = lb_hunt_space_find(space, &part[i]);
    if (at < 0) part[i].regime = LB_HUNT_LONG, at = lb_hunt_space_find(space, &part[i]);
    if (at >= 0) ret[count++] = (size_t)at;
  }
  return count;
}

/* Quick: each fault of the small one is among those of the large one, or done to fewer hosts. */
static bool may_be_in(const struct lb_hunt_timeline *small, const struct lb_hunt_timeline *large) {
  if (small->fault_count > large->fault_count) return false;
  for (size_t i = 0; i < small->fault_count; i++) {
    bool found = false;
    for (size_t j = 0; j < large->fault_count; j++)
      found |= lb_hunt_fault_equal(small->fault[i], large->fault[j]) ||
               lb_hunt_fault_is_fewer(small->fault[i], large->fault[j]);
    if (!found) return false;
  }
  return true;
}

static bool is_subset(const struct lb_hunt_space *space, size_t small, size_t large) {
  size_t part[PARTS_MAX],
      count = may_be_in(&space->timeline[small], &space->timeline[large]) ? subsets(space, large, part) : 0;
  for (size_t i = 0; i < count; i++)
    if (part[i] == small) return true;
  return false;
}

/* How often a timeline broke in a class. A trial counts in the worst class only. */
static unsigned breaks(const struct lb_hunt_journal *journal, size_t timeline, enum lb_hunt_outcome class) {
  return lb_hunt_journal_seen(journal, timeline)->of[class];
}

/* One that stands between these. */
static bool contains(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline,
                     enum lb_hunt_outcome class, enum lb_hunt_standing first, enum lb_hunt_standing last) {
  for (size_t i = 0; i < sets->count; i++) {
    const struct lb_hunt_set *set = &sets->set[i];
    if (set->standing >= first && set->standing <= last && set->class == class &&
        is_subset(space, set->timeline, timeline))
      return true;
  }
  return false;
}

bool lb_hunt_sets_contained(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline,
                            enum lb_hunt_outcome class) {
  return contains(sets, space, timeline, class, LB_HUNT_MINIMAL, LB_HUNT_NOT_REPLAYED);
}

/* ---- what each timeline is --------------------------------------------------------------------------------------- */

struct parts {               /* how many of the proper subsets ... */
  unsigned breaking, mostly; /* broke it once or more; in more than half of their trials */
  unsigned open;             /* have too few trials to say */
};

static struct parts look_at_subsets(const struct lb_hunt_journal *b, size_t timeline, enum lb_hunt_outcome class) {
  struct parts parts = {0};
  size_t part[PARTS_MAX], count = subsets(b->space, timeline, part);
  for (size_t i = 0; i < count; i++) {
    unsigned broke = breaks(b, part[i], class), decided = lb_hunt_count_decided(lb_hunt_journal_seen(b, part[i]));
    parts.breaking += broke > 0;
    parts.mostly += 2 * broke > decided;
    parts.open += decided < LB_HUNT_SURE;
  }
  return parts;
}

bool lb_hunt_journal_part_broke(const struct lb_hunt_journal *journal, size_t timeline, enum lb_hunt_outcome class) {
  return look_at_subsets(journal, timeline, class).breaking > 0;
}

/* True if it belongs into the list. Those that contain a minimal set do not, nor do those that break sometimes, as a part
 * of theirs does: the smaller one says more. */
static bool judge(const struct lb_hunt_journal *b, const struct lb_hunt_sets *smaller, size_t timeline,
                  enum lb_hunt_outcome class, struct lb_hunt_set *ret) {
  const struct lb_hunt_count *count = lb_hunt_journal_seen(b, timeline);
  unsigned broke = count->of[class], decided = lb_hunt_count_decided(count);
  const struct lb_hunt_replay *replay = &b->replay[timeline];
  if (broke == 0 || (replay->refuted && replay->agreed == 0) ||
      lb_hunt_sets_contained(smaller, b->space, timeline, class))
    return false;
  for (int worse = LB_HUNT_CLASS_FIRST; worse < (int)class; worse++)
    if (count->of[worse] > 0) return false; /* it is a set of that class */
  *ret = (struct lb_hunt_set){.timeline = timeline,
                              .class = class,
                              .broke = broke,
                              .decided = decided,
                              .agreed = replay->agreed,
                              .replayed = replay->decided,
                              .simplest = {timeline, 0}};
  struct parts parts = look_at_subsets(b, timeline, class);
  ret->open = parts.open;
  if (broke < decided || parts.mostly > 0 || replay->refuted) ret->standing = LB_HUNT_SOMETIMES;
  else ret->standing = decided < LB_HUNT_SURE || parts.open > 0 ? LB_HUNT_OPEN : LB_HUNT_MINIMAL;
  return ret->standing != LB_HUNT_SOMETIMES ||
         !contains(smaller, b->space, timeline, class, LB_HUNT_SOMETIMES, LB_HUNT_SOMETIMES);
}

static void add(struct lb_hunt_sets *sets, const struct lb_hunt_set *set) { LB_APPEND(sets->set, sets->count) = *set; }

/* A smaller one that says more of what this one is. */
static bool is_said(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, const struct lb_hunt_set *set) {
  return lb_hunt_sets_contained(sets, space, set->timeline, set->class) ||
         (set->standing == LB_HUNT_SOMETIMES &&
          contains(sets, space, set->timeline, set->class, LB_HUNT_SOMETIMES, LB_HUNT_SOMETIMES));
}

/* One with fewer hosts may stand behind the one that it is a part of. */
static void drop_said(const struct lb_hunt_space *space, enum lb_hunt_outcome class, struct lb_hunt_sets *sets) {
  size_t kept = 0;
  for (size_t i = 0; i < sets->count; i++)
    if (sets->set[i].class != class || !is_said(sets, space, &sets->set[i])) sets->set[kept++] = sets->set[i];
  sets->count = kept;
}

/* The space is in the order of the number of faults, so sets with fewer faults are known when a larger one is looked
 * at. */
static void find_class(const struct lb_hunt_journal *b, enum lb_hunt_outcome class, struct lb_hunt_sets *ret) {
  struct lb_hunt_set set;
  for (size_t i = 0; i < b->space->count; i++)
    if (judge(b, ret, i, class, &set)) add(ret, &set);
  drop_said(b->space, class, ret);
}

void lb_hunt_sets_find(const struct lb_hunt_journal *journal, struct lb_hunt_sets *ret) {
  *ret = (struct lb_hunt_sets){0};
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST; class ++)
    find_class(journal, (enum lb_hunt_outcome) class, ret);
}

void lb_hunt_sets_clear(struct lb_hunt_sets *sets) {
  free(sets->set);
  *sets = (struct lb_hunt_sets){0};
}

struct lb_hunt_share lb_hunt_journal_core(const struct lb_hunt_journal *b) {
  struct lb_hunt_share share = {0};
  for (size_t i = 0; i < b->space->count; i++) {
    const struct lb_hunt_timeline *t = &b->space->timeline[i];
    if (t->pruned != LB_HUNT_RUN || !lb_hunt_timeline_is_core(t) ||
        lb_hunt_count_decided(lb_hunt_journal_seen(b, i)) == 0)
      continue;
    share.decided++;
    share.broke += breaks(b, i, LB_HUNT_LEASE) > 0;
  }
  return share;
}

/* ---- mechanisms -------------------------------------------------------------------------------------------------- */

/* How many of its faults do this to this host. */
static size_t count_done(const struct lb_hunt_timeline *t, const struct lb_hunt_fault *fault) {
  size_t count = 0;
  for (size_t i = 0; i < t->fault_count; i++)
    count += t->fault[i].kind == fault->kind && t->fault[i].target == fault->target;
  return count;
}

bool lb_hunt_set_alike(const struct lb_hunt_space *space, const struct lb_hunt_set *a, const struct lb_hunt_set *b) {
  const struct lb_hunt_timeline *one = &space->timeline[a->timeline], *other = &space->timeline[b->timeline];
  if (a->class != b->class || one->fault_count != other->fault_count) return false;
  for (size_t i = 0; i < one->fault_count; i++)
    if (count_done(one, &one->fault[i]) != count_done(other, &one->fault[i])) return false;
  return true;
}

bool lb_hunt_sets_is_first(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t index) {
  enum lb_hunt_standing standing = sets->set[index].standing;
  for (size_t i = 0; i < index; i++) {
    bool said = sets->set[i].standing == standing ||
                (standing == LB_HUNT_NOT_REPLAYED && sets->set[i].standing == LB_HUNT_MINIMAL);
    if (said && lb_hunt_set_alike(space, &sets->set[i], &sets->set[index])) return false;
  }
  return true;
}

/* ---- what is not known yet --------------------------------------------------------------------------------------- */

static bool wants(const struct lb_hunt_journal *b, size_t timeline) {
  const struct lb_hunt_count *count = lb_hunt_journal_seen(b, timeline);
  return lb_hunt_count_decided(count) < LB_HUNT_SURE && count->of[LB_HUNT_UNDECIDED] < LB_HUNT_SURE;
}

/* A timeline that broke once, in any class, and has no minimal set of that class in it. */
static bool is_candidate(const struct lb_hunt_journal *b, const struct lb_hunt_sets *sets, size_t timeline,
                         size_t faults) {
  if (b->space->timeline[timeline].fault_count != faults) return false;
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST; class ++)
    if (breaks(b, timeline, (enum lb_hunt_outcome) class) &&
        !lb_hunt_sets_contained(sets, b->space, timeline, (enum lb_hunt_outcome) class))
      return true;
  return false;
}

/* The first of its mechanism that is in question: none before it is, and none is minimal. */
static bool is_news(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline) {
  size_t at = 0;
  while (at < sets->count && (sets->set[at].timeline != timeline || sets->set[at].class != LB_HUNT_LEASE)) at++;
  if (at == sets->count) return false;
  for (size_t i = 0; i < sets->count; i++) {
    bool known = sets->set[i].standing == LB_HUNT_MINIMAL || (i < at && sets->set[i].standing == LB_HUNT_OPEN);
    if (i != at && known && lb_hunt_set_alike(space, &sets->set[i], &sets->set[at])) return false;
  }
  return true;
}

size_t lb_hunt_sets_wanting(const struct lb_hunt_journal *b, const struct lb_hunt_sets *sets, size_t faults,
                            bool firsts, size_t **ret) {
  size_t part[PARTS_MAX], count = 0;
  bool *wanted = lb_need(calloc(b->space->count + 1, sizeof *wanted));
  *ret = lb_need(malloc((b->space->count + 1) * sizeof **ret));
  for (size_t i = 0; i < b->space->count; i++) {
    if (!is_candidate(b, sets, i, faults) || (firsts && !is_news(sets, b->space, i))) continue;
    size_t parts = subsets(b->space, i, part);
    wanted[i] = true;
    for (size_t p = 0; p < parts; p++) wanted[part[p]] = true;
  }
  for (size_t i = 0; i < b->space->count; i++)
    if (wanted[i] && wants(b, i)) (*ret)[count++] = i;
  free(wanted);
  return count;
}
