/* SPDX-License-Identifier: MIT
 *
 * The screen of `judge`: the verdict; what is this lock's own fault; what every lock of its kind on these servers has;
 * what to do. Nothing is cut off: what is too long for a line goes on in the next one, and a pipe gets every row.
 */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

enum { COLUMNS = 100, ROWS_SHOWN = 6, GUARDS_SHOWN = 3, RESTS_SHOWN = 6, LINE = 2000 };

struct screen {
  const struct lb_tally *tally;
  const struct lb_judging *judging;
  struct lb_fates fates;
  const char *word, *dir;
  char kind[80];
  int rows; /* of a part */
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line; what is behind COLUMNS stands below, behind as many blanks. */
static void put(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(int indent, const char *format, ...) {
  char line[LINE];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  const char *at = line;
  for (int before = 0; *at; before = indent) {
    size_t fits = lb_text_fit(at, (size_t)(COLUMNS - before));
    lb_cli_say("%*s%.*s", before, "", (int)fits, at);
    at += fits;
    at += strspn(at, " ");
  }
}

/* A command stays as it can be typed: one line, or two with a backslash. */
static void put_command(const char *command, const char *rest) {
  if (strlen(command) + strlen(rest) + 3 <= COLUMNS) lb_cli_say("  %s %s", command, rest);
  else lb_cli_say("  %s \\", command), lb_cli_say("    %s", rest);
}

/* ---- rows of a part -------------------------------------------------------------------------- */

static bool is_bad(enum lb_fate fate) { return fate == LB_FATE_STUCK || fate == LB_FATE_BROKEN; }

/* The one, or the other, of what is broken, stuck or late. */
static bool is_of_part(const struct screen *s, size_t i, bool own) {
  const struct lb_cell_sum *cell = &s->tally->cells[i];
  enum lb_fate fate = lb_fate_of(cell);
  return (is_bad(fate) || fate == LB_FATE_LATE) && lb_fate_is_own(cell) == own;
}

/* Why, as far as somebody says it: the judge of its own fault, the rule of what all have. */
static const char *reason_of(const struct lb_cell_sum *cell, bool own) {
  if (own && cell->why[0]) return cell->why;
  if (!own && cell->cell->expect && !cell->cell->derived && *cell->cell->expect->reason)
    return cell->cell->expect->reason;
  return own || !cell->cell->predicted ? cell->cell->scenario->title : cell->cell->of_kind.reason;
}

static void put_row(const struct screen *s, size_t i, bool own) {
  static const char *const how[] = {[LB_FATE_BROKEN] = "", [LB_FATE_STUCK] = "stuck: ", [LB_FATE_LATE] = "late: "};
  const struct lb_cell_sum *cell = &s->tally->cells[i];
  enum lb_fate fate = lb_fate_of(cell);
  int n = fate == LB_FATE_BROKEN ? cell->violated : fate == LB_FATE_STUCK ? cell->stuck : cell->delayed;
  put(30, "  %d of %d  %-18s %s%s%s%s", n, lb_cell_sum_decided(cell), cell->cell->scenario->name, how[fate],
      reason_of(cell, own), s->fates.several ? ", on " : "", s->fates.several ? cell->cell->topology->name : "");
}

static void put_rows(const struct screen *s, bool own, int rows) {
  char names[LINE] = "";
  int seen = 0, room = isatty(STDOUT_FILENO) ? ROWS_SHOWN : rows;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
    if (!is_of_part(s, i, own)) continue;
    size_t length = strlen(names);
    if (seen++ < room) put_row(s, i, own);
    else
      snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
               s->tally->plan->cells[i].scenario->name);
  }
  if (*names) put(4, "  and %d more: %s", rows - room, names);
}

static int count_rows(const struct screen *s, bool own) {
  int rows = 0;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) rows += is_of_part(s, i, own);
  return rows;
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static bool is_own_at_fault(const struct screen *s) { return count_rows(s, true) || s->judging->failed; }

static void tell_own(const struct screen *s) {
  const struct lb_judging *j = s->judging;
  char command[LINE];
  if (!is_own_at_fault(s)) {
    put(2, "its own fault: nothing");
    return;
  }
  put(2, "its own fault, which a sound lock %s has not:", s->kind);
  put_rows(s, true, count_rows(s, true));
  for (int i = 0; i < j->statements && i < LB_STATEMENTS_MAX; i++)
    if (!j->statement[i].holds) put(30, "  fails   %-18s %s", j->check, j->statement[i].text);
  size_t length = strlen(s->word);
  bool plugin = length > 3 && strcmp(s->word + length - 3, ".so") == 0;
  const char *quote = plugin ? "" : "'";
  snprintf(command, sizeof command, "%s %s %s%s%s%s", lb_process_called(), j->check ? j->check : "",
           plugin ? "--plugin " : "", quote, s->word, quote);
  if (j->failed) put(4, "  what it says to each: %s", command);
}

static void tell_kind(const struct screen *s) {
  int rows = count_rows(s, false);
  if (rows == 0) return;
  put(2, "what every lock %s has:", s->kind);
  put_rows(s, false, rows);
}

/* Its own comes first. */
static void tell_explain(const struct screen *s) {
  char command[LINE], cell[300];
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
      const struct lb_cell *c = &s->tally->plan->cells[i];
      if (!is_bad(lb_fate_of(&s->tally->cells[i])) || !is_of_part(s, i, pass == 0)) continue;
      snprintf(command, sizeof command, "%s explain %s", lb_process_called(), lb_process_from_here(s->dir));
      snprintf(cell, sizeof cell, "%s.%s", c->scenario->name, c->system);
      put(2, "see it:");
      put_command(command, cell);
      return;
    }
}

/* The reason of the first one without an answer. */
static void tell_open(const struct screen *s) {
  char names[LINE] = "";
  const struct lb_cell_sum *first = NULL;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
    if (lb_fate_of(&s->tally->cells[i]) != LB_FATE_OPEN) continue;
    size_t length = strlen(names);
    if (!first) first = &s->tally->cells[i];
    snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
             s->tally->plan->cells[i].scenario->name);
  }
  if (first) put(2, "no answer: %s", names), put(4, "  %s: %s", first->cell->scenario->name, first->why);
}

/* ---- what to do ------------------------------------------------------------------------------ */

static const char *const use[LB_GUARD_COUNT] = {
    [LB_GUARD_DEADLINE] = "stop at the end of the lease by your own clock",
    [LB_GUARD_SIGNAL] = "stop if the session is lost or in doubt",
    [LB_GUARD_RECHECK] = "ask the server before each access",
    [LB_GUARD_CLAIM] = "let the resource refuse earlier holders",
    [LB_GUARD_FENCE] = "let the resource refuse smaller fencing tokens",
};

static bool helped(const struct lb_tally *tally, const struct lb_cell *broken, int guard) {
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell *cell = &tally->plan->cells[i];
    if (cell->guard == (enum lb_guard)guard && cell->scenario == broken->scenario &&
        strcmp(cell->system, broken->system) == 0)
      return tally->cells[i].verdict == LB_SAFE;
  }
  return false;
}

static int helps(const struct screen *s, int guard) {
  int n = 0;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++)
    n += lb_fate_of(&s->tally->cells[i]) == LB_FATE_BROKEN && helped(s->tally, &s->tally->plan->cells[i], guard);
  return n;
}

/* The guard that helped most often first. */
static void tell_guards(const struct screen *s) {
  bool told[LB_GUARD_COUNT] = {false};
  for (int shown = 0; shown < GUARDS_SHOWN; shown++) {
    int best = 0, most = 0;
    for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
      if (!told[guard] && helps(s, guard) > most) best = guard, most = helps(s, guard);
    if (most == 0) return;
    told[best] = true;
    put(4, "  %-48s guard %-8s helped in %d of %d", use[best], lb_guard_name((enum lb_guard)best), most,
        s->fates.broken);
  }
}

/* Where no guard helped, or its cell had no answer; of what is stuck, each. */
static bool lacks_help(const struct screen *s, size_t cell) {
  bool any = false;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
    any |=
        lb_fate_of(&s->tally->cells[cell]) == LB_FATE_BROKEN && helped(s->tally, &s->tally->plan->cells[cell], guard);
  return is_bad(lb_fate_of(&s->tally->cells[cell])) && !any;
}

/* What two questions have in common is said once. */
static void tell_rests(const struct screen *s) {
  const char *said[RESTS_SHOWN];
  int shown = 0, n = 0;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) n += lacks_help(s, i);
  for (size_t i = 0; i < s->tally->plan->cell_count && shown < RESTS_SHOWN; i++) {
    const char *scenario = s->tally->plan->cells[i].scenario->name, *what = s->tally->plan->cells[i].scenario->rests;
    bool again = !what || !lacks_help(s, i);
    for (int k = 0; !again && k < shown; k++) again = strcmp(said[k], what) == 0;
    if (again) continue;
    if (shown == 0) put(2, "  in %d no guard helped; there the lock rests on:", n);
    put(6, "    %s: %s", scenario, what);
    said[shown++] = what;
  }
}

/* A number that comes with the lock is worth something only if it grows. */
static void tell_twice(const struct screen *s) {
  bool fenced = s->tally->plan->cells[0].protocol->traits & LB_TRAIT_FENCED;
  if (fenced)
    put(4, "  for a job that may not run twice: let what it writes to refuse smaller fencing tokens (docs/guards.md)");
  else
    put(4, "  for a job that may not run twice: this lock has no fencing token, so no guard is enough. Take one that "
           "has, or make the second run harmless (docs/guards.md)");
}

static void tell_instead(const struct screen *s) {
  put(2, "what to do:");
  if (is_own_at_fault(s))
    put(4, "  mend its own fault first, then judge it again: until then no guard is worth advising");
  else tell_guards(s), tell_rests(s);
  if (!s->fates.broken && s->fates.stuck && !is_own_at_fault(s))
    put(4, "  a lease, or a session that times out, frees the lock of a client that is dead or stopped");
  tell_twice(s);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const char *why_skipped(const struct screen *s) {
  for (size_t i = 0; i < s->tally->plan->cell_count; i++)
    if (s->tally->cells[i].verdict == LB_SKIPPED) return s->tally->plan->cells[i].skip;
  return "no scenario means anything there";
}

/* What held, and how to ask more. */
static void tell_safe(const struct screen *s) {
  char names[LINE] = "";
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
    size_t length = strlen(names);
    if (lb_fate_of(&s->tally->cells[i]) == LB_FATE_HELD)
      snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
               s->tally->plan->cells[i].scenario->name);
  }
  put(2, "asked:");
  put(2, "  %s", names);
  put(2, "each question was put %s; a rare violation needs more (-n), or a hunt (%s hunt --help)",
      s->tally->cells[0].trials > 1 ? "several times" : "once", lb_process_called());
}

void lb_cli_judge_tell(const char *word, const struct lb_tally *tally, const struct lb_run_info *info,
                       const char *dir) {
  struct screen s = {.tally = tally, .judging = tally->plan->judging, .word = word, .dir = dir};
  const struct lb_judging *j = s.judging;
  lb_fates_count(tally, &s.fates);
  lb_cli_say("%s", info->verdict); /* one line: scripts read the first */
  if (s.fates.asked == 0) {
    put(2, "  %s", why_skipped(&s));
    return;
  }
  lb_fates_kind(tally, s.kind, sizeof s.kind);
  if (j->check && j->statements)
    put(2, "%s: %d of %d statements hold", j->check, j->statements - j->failed, j->statements);
  bool bad = s.fates.broken || s.fates.stuck;
  if (bad || is_own_at_fault(&s)) tell_own(&s);
  tell_kind(&s);
  if (s.fates.open) tell_open(&s);
  if (bad) tell_explain(&s);
  if (bad || is_own_at_fault(&s)) tell_instead(&s);
  else if (!s.fates.open) tell_safe(&s);
  if (s.fates.skipped) put(2, "not asked on this machine: %d, because %s", s.fates.skipped, why_skipped(&s));
  put(2, "all of it: %s", lb_process_from_here(dir));
}
