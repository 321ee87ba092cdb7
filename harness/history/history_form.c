/* SPDX-License-Identifier: MIT
 *
 * The one table that says which members an event can have and what is in them, and the one that
 * says what an event of each kind must and may carry. Both file forms are read, checked and written
 * by these.
 */
#include "history_form.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static const char *const phases[] = {NULL, "measure", "end", "closing", "closed", NULL};
static const char *const clocks[] = {NULL, "wall", "monotonic", "rate", NULL};
static const char *const checks[] = {NULL,      "passed",    "lease-over", "in-doubt",    "session-over",
                                     "told-no", "no-answer", "error",      "no-majority", NULL};
static const char *const answers[] = {NULL,          "done", "granted", "refused", "no-answer", "not-holding",
                                      "not-in-time", "lost", "unknown", "failed",  NULL};

#define IN_EVENT(field) .offset = offsetof(struct lb_event, field)
#define IN_FACT(field) .offset = offsetof(struct lb_fact, field), .of_fact = true

const struct lb_member lb_members[LB_MEMBER_COUNT] = {
    {"t", LB_T_NUMBER, IN_EVENT(t)},
    {"s", LB_T_NUMBER, IN_EVENT(s)},
    {"c", LB_T_CLIENT, IN_EVENT(client)},
    {"k", LB_T_KEY, IN_EVENT(key)},
    {"e", LB_T_KIND, IN_EVENT(kind)},
    {"fence", LB_T_NUMBER, IN_EVENT(fence), .flag = LB_EVF_FENCE},
    {"until", LB_T_NUMBER, IN_EVENT(until), .flag = LB_EVF_UNTIL},
    {"value", LB_T_NUMBER, IN_EVENT(value), .flag = LB_EVF_VALUE},
    {"ok", LB_T_OK, IN_EVENT(flags), .flag = LB_EVF_REFUSED},
    {"what", LB_T_TEXT, IN_FACT(what)},
    {"due", LB_T_NUMBER, IN_EVENT(due), .flag = LB_EVF_DUE},
    {"step", LB_T_STEP, IN_FACT(step)},
    {"verb", LB_T_NAME, IN_FACT(verb)},
    {"role", LB_T_NAME, IN_FACT(role)},
    {"from", LB_T_NAME, IN_FACT(from)},
    {"host", LB_T_NAME, IN_FACT(host)},
    {"phase", LB_T_WORD, IN_FACT(phase), .words = phases},
    {"answer", LB_T_WORD, IN_FACT(answer), .words = answers},
    {"why", LB_T_TEXT, IN_FACT(why)},
    {"present", LB_T_YES, IN_FACT(present)},
    {"clock", LB_T_WORD, IN_FACT(clock), .words = clocks},
    {"ms", LB_T_SIGNED, IN_FACT(ms)},
    {"in_ms", LB_T_POSITIVE, IN_FACT(in_ms)},
    {"kept", LB_T_NUMBER, IN_FACT(kept)},
    {"total", LB_T_NUMBER, IN_FACT(total)},
    {"check", LB_T_WORD, IN_EVENT(check), .flag = LB_EVF_CHECK, .words = checks},
    {"shared", LB_T_FLAG, IN_EVENT(flags), .flag = LB_EVF_SHARED},
    {"early", LB_T_FLAG, IN_EVENT(flags), .flag = LB_EVF_EARLY},
};

static const struct {
  const char *word;
  bool is_fact;
  unsigned must, may; /* beside t and e, which every event must have, and s, which it may */
} rules[LB_KIND_COUNT] = {
    [LB_EV_ACQUIRE] = {"acquire", false, LB_M_C | LB_M_K, LB_M_DUE | LB_M_SHARED},
    [LB_EV_GRANTED] = {"granted", false, LB_M_C | LB_M_K, LB_M_FENCE | LB_M_UNTIL | LB_M_SHARED},
    [LB_EV_BUSY] = {"busy", false, LB_M_C | LB_M_K, 0},
    [LB_EV_TIMEOUT] = {"timeout", false, LB_M_C | LB_M_K, 0},
    [LB_EV_UNKNOWN] = {"unknown", false, LB_M_C | LB_M_K, LB_M_OK},
    [LB_EV_RELEASE] = {"release", false, LB_M_C | LB_M_K, 0},
    [LB_EV_RELEASED] = {"released", false, LB_M_C | LB_M_K, 0},
    [LB_EV_LOST] = {"lost", false, LB_M_C | LB_M_K, 0},
    [LB_EV_READ] = {"read", false, LB_M_C | LB_M_K | LB_M_VALUE, LB_M_FENCE | LB_M_OK | LB_M_EARLY},
    [LB_EV_WRITE] = {"write", false, LB_M_C | LB_M_K | LB_M_VALUE, LB_M_FENCE | LB_M_OK},
    [LB_EV_CRASH] = {"crash", false, LB_M_C, LB_M_K},
    [LB_EV_FAULT] = {"fault", true, LB_M_WHAT, LB_M_STEP | LB_M_VERB | LB_M_ROLE | LB_M_FROM},
    [LB_EV_NOTE] = {"note", true, LB_M_WHAT, 0},
    [LB_EV_RENEWED] = {"renewed", false, LB_M_C | LB_M_K, LB_M_UNTIL},
    [LB_EV_PHASE] = {"phase", true, LB_M_PHASE, 0},
    [LB_EV_PROVED] = {"proved", true, LB_M_WHAT, LB_M_STEP},
    [LB_EV_OVER] = {"over", true, LB_M_WHAT, LB_M_STEP},
    [LB_EV_NOT_DONE] = {"not-done", true, LB_M_WHAT | LB_M_WHY, LB_M_STEP},
    [LB_EV_NOT_PROVED] = {"not-proved", true, LB_M_WHAT | LB_M_WHY, LB_M_STEP},
    [LB_EV_REPLY] = {"reply", true, LB_M_WHAT | LB_M_ANSWER, LB_M_C | LB_M_STEP | LB_M_WHY},
    [LB_EV_MET] = {"met", true, LB_M_WHAT, LB_M_STEP},
    [LB_EV_OBSERVED] = {"observed", true, LB_M_PRESENT, LB_M_ROLE | LB_M_HOST | LB_M_STEP},
    [LB_EV_ROLE] = {"role", true, LB_M_ROLE | LB_M_HOST, 0},
    [LB_EV_FAILOVER] = {"failover", true, LB_M_HOST, 0},
    [LB_EV_CLOCK] = {"clock", true, LB_M_HOST | LB_M_CLOCK | LB_M_MS, LB_M_IN_MS | LB_M_STEP},
    [LB_EV_ERROR] = {"error", true, LB_M_WHY, LB_M_C},
    [LB_EV_SHORTENED] = {"shortened", true, LB_M_KEPT | LB_M_TOTAL, 0},
    [LB_EV_CHECK] = {"check", false, LB_M_C | LB_M_K | LB_M_CHECK, LB_M_DUE},
    [LB_EV_SERVER] = {"server", true, LB_M_C, LB_M_K | LB_M_STEP | LB_M_HOST | LB_M_ROLE | LB_M_PRESENT},
    [LB_EV_HOLDS] = {"holds", true, LB_M_C | LB_M_PRESENT, LB_M_STEP | LB_M_MS},
    [LB_EV_TOUCHED] = {"touched", true, LB_M_VERB, LB_M_STEP | LB_M_HOST | LB_M_FROM},
    [LB_EV_UNUSED] = {"unused", true, LB_M_WHAT, LB_M_STEP},
    [LB_EV_VOTED] = {"voted", true, LB_M_C | LB_M_K | LB_M_HOST, 0},
    [LB_EV_NOT_MET] = {"not-met", true, LB_M_WHAT, LB_M_STEP},
    [LB_EV_TRIP] = {"trip", true, LB_M_FROM | LB_M_HOST | LB_M_MS, LB_M_STEP},
    [LB_EV_SEEN] = {"seen", false, LB_M_C | LB_M_K | LB_M_VALUE, 0},
    [LB_EV_NOT_RENEWED] = {"not-renewed", false, LB_M_C | LB_M_K | LB_M_CHECK, 0},
    [LB_EV_LEFT] = {"left", true, LB_M_HOST | LB_M_PRESENT, LB_M_ROLE | LB_M_STEP},
    [LB_EV_MESSAGE] = {"message", true, LB_M_VERB | LB_M_FROM | LB_M_HOST | LB_M_TOTAL, LB_M_STEP | LB_M_KEPT},
    [LB_EV_UNSYNCED] = {"unsynced", true, LB_M_HOST | LB_M_KEPT | LB_M_TOTAL, LB_M_ROLE | LB_M_STEP},
    [LB_EV_CARRIED] = {"carried", true, LB_M_FROM | LB_M_HOST | LB_M_KEPT | LB_M_TOTAL, LB_M_STEP},
    [LB_EV_PERMITS] = {"permits", true, LB_M_TOTAL, LB_M_K},
    [LB_EV_RENEW] = {"renew", false, LB_M_C | LB_M_K, 0},
    [LB_EV_EXPIRED] = {"expired", false, LB_M_C | LB_M_K, 0},
    [LB_EV_LEASES] = {"leases", true, 0, LB_M_MS},
    [LB_EV_WORK_FAILED] = {"work-failed", false, LB_M_C | LB_M_K, 0},
    [LB_EV_SILENT] = {"silent", false, LB_M_C, LB_M_UNTIL},
};

const char *lb_event_kind_name(unsigned kind) { return kind < LB_KIND_COUNT ? rules[kind].word : NULL; }

bool lb_event_is_fact(const struct lb_event *event) {
  return event->kind < LB_KIND_COUNT && rules[event->kind].is_fact;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static unsigned lowest_bit(unsigned bits) { return (unsigned)__builtin_ctz(bits); }

/* The words of a field of a fact; NULL for a number that is none of it. */
static const char *member_word(unsigned member_bit, unsigned number) {
  const char *const *words = lb_members[lowest_bit(member_bit)].words;
  unsigned count = 1;
  while (words[count]) count++;
  return number < count ? words[number] : NULL;
}

const void *lb_member_at(const struct lb_member *member, const struct lb_event *event, const struct lb_fact *fact) {
  return (member->of_fact ? (const char *)fact : (const char *)event) + member->offset;
}

/* A value in memory that stands for "not there". Where a number of its kind must be there, 0 is a
 * number like any other. */
static bool is_unset(enum lb_member_type type, const void *at) {
  static const uint64_t zero = 0;
  uint32_t name;
  switch (type) {
    case LB_T_CLIENT:
    case LB_T_KEY:
    case LB_T_NAME:
    case LB_T_TEXT: memcpy(&name, at, sizeof name); return name == LB_NO_NAME;
    case LB_T_STEP: return memcmp(at, &zero, sizeof(uint32_t)) == 0;
    case LB_T_YES:
    case LB_T_WORD: return memcmp(at, &zero, sizeof(uint8_t)) == 0;
    default: return memcmp(at, &zero, sizeof(uint64_t)) == 0;
  }
}

static bool counts_from_zero(enum lb_member_type type) {
  return type == LB_T_NUMBER || type == LB_T_SIGNED || type == LB_T_YES;
}

/* A number of a fact that its kind must have is there even if it is 0; an optional one that is 0 is
 * not. A number of an event has a flag instead. */
unsigned lb_event_members(const struct lb_history *h, const struct lb_event *event) {
  const struct lb_fact *fact = lb_event_fact(h, event);
  unsigned members = LB_M_T | LB_M_S | LB_M_E;
  for (unsigned i = 0; i < LB_MEMBER_COUNT; i++) {
    const struct lb_member *member = &lb_members[i];
    unsigned bit = 1u << i;
    if (bit & (LB_M_T | LB_M_S | LB_M_E)) continue;
    bool set = member->flag ? event->flags & member->flag : !is_unset(member->type, lb_member_at(member, event, fact));
    if (set || (member->of_fact && rules[event->kind].must & bit && counts_from_zero(member->type))) members |= bit;
  }
  return members;
}

/* Names the first that is missing, or else the first too many and all that are allowed: what the
 * writer of a file needs to repair it. */
int lb_event_check_members(unsigned kind, unsigned members, struct lb_error *err) {
  unsigned required = LB_M_T | LB_M_E | rules[kind].must, known = required | LB_M_S | rules[kind].may;
  if (required & ~members) {
    const char *missing = lb_members[lowest_bit(required & ~members)].name;
    return lb_refuse(err, "found no \"%s\", expected one on a \"%s\" event", missing, rules[kind].word);
  }
  if (!(members & ~known)) return 0;
  char list[400];
  size_t used = 0;
  for (unsigned i = 0; i < LB_MEMBER_COUNT && used < sizeof list; i++)
    if (known & (1u << i)) used += (size_t)snprintf(list + used, sizeof list - used, " \"%s\"", lb_members[i].name);
  return lb_refuse(err, "found \"%s\" on a \"%s\" event, expected only%s",
                   lb_members[lowest_bit(members & ~known)].name, rules[kind].word, list);
}

int lb_event_check_numbers(const struct lb_event *event, const struct lb_fact *fact, struct lb_error *err) {
  if (event->flags & LB_EVF_DUE && event->due > event->t)
    return lb_refuse(err, "found %llu in \"due\", expected at most \"t\", %llu", (unsigned long long)event->due,
                     (unsigned long long)event->t);
  if (event->kind == LB_EV_LEASES && fact->ms < 0)
    return lb_refuse(err, "found %lld in \"ms\", expected a length from 1 on a \"leases\" event", (long long)fact->ms);
  if (event->kind != LB_EV_PERMITS || fact->total > 0) return 0;
  return lb_refuse(err, "found 0 in \"total\", expected at least 1 on a \"permits\" event");
}

/* ---- an event in memory ------------------------------------------------------------------------------------------ */

static int check_index(const char *member, uint32_t index, size_t count, struct lb_error *err) {
  if (index == LB_NO_NAME || index < count) return 0;
  return lb_refuse(err, "found name %u in \"%s\", expected one of %zu", index, member, count);
}

static int check_number(const char *member, uint64_t number, struct lb_error *err) {
  if (number <= INT64_MAX) return 0;
  return lb_refuse(err, "found %llu in \"%s\", expected at most 2^63 - 1", (unsigned long long)number, member);
}

static int check_word(const struct lb_member *member, unsigned bit, uint8_t word, struct lb_error *err) {
  bool absent = word == 0 && !member->flag;
  bool known = member->words ? absent || member_word(bit, word) : word <= 1;
  if (known) return 0;
  return lb_refuse(err, "found word %u in \"%s\", expected one that is known", word, member->name);
}

/* A name must not be empty; a text may be. */
static int check_text(const struct lb_history *h, const struct lb_member *member, uint32_t index,
                      struct lb_error *err) {
  int r = check_index(member->name, index, h->texts.count, err);
  if (r < 0 || index == LB_NO_NAME || member->type != LB_T_NAME || h->texts.name[index][0]) return r;
  return lb_refuse(err, "found an empty string in \"%s\", expected a name", member->name);
}

/* Whether this value is one that the JSON form can hold. */
static int check_value(const struct lb_history *h, const struct lb_event *event, unsigned i, struct lb_error *err) {
  const struct lb_member *member = &lb_members[i];
  const void *at = lb_member_at(member, event, lb_event_fact(h, event));
  uint64_t number;
  uint32_t index;
  switch (member->type) {
    case LB_T_NUMBER:
    case LB_T_POSITIVE:
      memcpy(&number, at, sizeof number);
      /* An `until` beyond what JSON can hold means for ever. */
      return (member->flag && !(event->flags & member->flag)) || 1u << i == LB_M_UNTIL
                 ? 0
                 : check_number(member->name, number, err);
    case LB_T_CLIENT: memcpy(&index, at, sizeof index); return check_index(member->name, index, h->clients.count, err);
    case LB_T_KEY: memcpy(&index, at, sizeof index); return check_index(member->name, index, h->keys.count, err);
    case LB_T_NAME:
    case LB_T_TEXT: memcpy(&index, at, sizeof index); return check_text(h, member, index, err);
    case LB_T_YES:
    case LB_T_WORD:
      return member->flag && !(event->flags & member->flag) ? 0
                                                            : check_word(member, 1u << i, *(const uint8_t *)at, err);
    default: return 0;
  }
}

/* For what comes out of a binary file and for what is about to be written: everything that the JSON
 * reader holds to is asked here of an event in memory, so that both forms accept the same
 * histories. */
int lb_event_check(const struct lb_history *h, const struct lb_event *event, struct lb_error *err) {
  const unsigned known_flags = LB_EVF_FENCE | LB_EVF_UNTIL | LB_EVF_VALUE | LB_EVF_REFUSED | LB_EVF_DUE | LB_EVF_CHECK |
                               LB_EVF_SHARED | LB_EVF_EARLY;
  if (event->kind == 0 || event->kind >= LB_KIND_COUNT || event->flags & ~known_flags)
    return lb_refuse(err, "found kind %u with flags %#x, expected a kind from 1 to %d and flags within %#x",
                     event->kind, event->flags, LB_KIND_COUNT - 1, known_flags);
  int r = check_index("fact", event->fact, h->fact_count, err);
  for (unsigned i = 0; i < LB_MEMBER_COUNT && r == 0; i++) r = check_value(h, event, i, err);
  if (r == 0) r = lb_event_check_members(event->kind, lb_event_members(h, event), err);
  return r == 0 ? lb_event_check_numbers(event, lb_event_fact(h, event), err) : r;
}

/* ---- complaints of readers --------------------------------------------------------------------------------------- */

int lb_history_refuse_line(const struct lb_line *line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(line->err, -EINVAL, format, args);
  va_end(args);
  lb_error_prefix(line->err, "%s:%zu: ", line->name, line->number);
  for (char *c = line->err->text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?'; /* one line, and no terminal codes out of a hostile file */
  return -EINVAL;
}

int lb_history_refuse_word(const struct lb_line *line, const char *what, const char *word, const char *const *words,
                           size_t count) {
  char list[256];
  size_t used = 0;
  for (size_t i = 0; i < count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, " %s", words[i]);
  const char *near = lb_text_suggest(word, words, count);
  return lb_history_refuse_line(line, "found %s \"%.40s\"%s%s%s, expected one of:%s", what, word,
                                near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "", list);
}
