/* SPDX-License-Identifier: MIT
 *
 * `lockbench judge LOCK`: is this lock safe? It is a run of the suite `judge` on one lock, with a screen of
 * its own. Expectations do not decide here: a violation that is expected of a lock is one all the same.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/called.h"
#include "network/proc.h"
#include "run/tally.h"
#include "scenario/scenario.h"
#include "show/live.h"
#include "theory/theory.h"

enum { LB_JUDGE_LINES = 24, LB_JUDGE_COLUMNS = 100 };

struct lb_judged {
  const struct lb_protocol *protocol;
  const char *word;  /* as it was typed, without its topology */
  const char *check; /* the command that holds it against the contract, "adapter-check"; NULL = it was not checked */
  int statements, failed;
  char first_failed[100]; /* a statement; "" = none */
};

/* The screen of `judge`: the verdict, what broke the lock, how to see it, what to do instead. A question is a cell
 * without a guard. Its cells under guards say what would have helped. */

enum { ROWS_MAX = 6, GUARDS_MAX = 3, RESTS_MAX = 4, NAMES_MAX = 600 };

struct screen {
  const struct lb_judged *judged;
  const struct lb_tally *tally;
  const char *dir;
  int asked, broken, held, stuck, open, skipped; /* questions; held: broken, and two held at once */
  bool several;                                  /* topologies */
  int *lines;                                    /* so far */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void put(const struct screen *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const struct screen *s, const char *format, ...) {
  char line[1000];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (n > LB_JUDGE_COLUMNS) memcpy(line + LB_JUDGE_COLUMNS - 3, "...", 4);
  lb_say("%s", line);
  ++*s->lines;
}

/* ---- what came of a question ----------------------------------------------------------------- */

enum fate { NOT_ASKED, HELD, LATE, OPEN, STUCK, BROKEN };

/* One violated trial breaks a lock. */
static enum fate fate_of(const struct lb_cell_sum *cell) {
  if (cell->cell->guard != LB_GUARD_NONE || cell->trials == 0) return NOT_ASKED;
  if (cell->violated) return BROKEN;
  if (cell->stuck) return STUCK;
  if (cell->delayed) return LATE;
  return cell->verdict == LB_SAFE ? HELD : OPEN;
}

static void count(struct screen *s) {
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &s->tally->cells[i];
    enum fate fate = fate_of(cell);
    s->asked += fate != NOT_ASKED;
    s->broken += fate == BROKEN;
    s->held += fate == BROKEN && cell->sum.double_holds > 0;
    s->stuck += fate == STUCK;
    s->open += fate == OPEN;
    s->skipped += cell->cell->guard == LB_GUARD_NONE && cell->verdict == LB_SKIPPED;
    s->several |= cell->cell->topology != s->tally->cells[0].cell->topology;
  }
}

static const char *why_skipped(const struct screen *s) {
  for (size_t i = 0; i < s->tally->plan->cell_count; i++)
    if (s->tally->cells[i].verdict == LB_SKIPPED) return s->tally->plan->cells[i].skip;
  return "no scenario means anything there";
}

/* "restart-node, partition", of all questions with this fate. */
static const char *names_of(const struct screen *s, enum fate fate, size_t from, char buf[NAMES_MAX]) {
  size_t length = 0, seen = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < s->tally->plan->cell_count && length < NAMES_MAX - 100; i++) {
    const struct lb_cell *cell = &s->tally->plan->cells[i];
    if (fate_of(&s->tally->cells[i]) != fate || seen++ < from) continue;
    length += (size_t)snprintf(buf + length, NAMES_MAX - length, "%s%s%s%s", length ? ", " : "", cell->scenario->name,
                               s->several ? " on " : "", s->several ? cell->topology->name : "");
  }
  return buf;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static int code_of(const struct screen *s) {
  if (s->broken || s->stuck) return LB_EXIT_UNEXPECTED;
  if (s->asked == 0) return LB_EXIT_MISSING;
  return s->open || s->judged->failed ? LB_EXIT_UNDECIDED : LB_EXIT_OK;
}

static void tell_verdict(const struct screen *s) {
  char name[200];
  const struct lb_judged *j = s->judged;
  snprintf(name, sizeof name, "%s",
           s->several || !s->tally->plan->cell_count ? j->protocol->name : s->tally->plan->cells[0].system);
  const char *so_far = s->tally->done < s->tally->plan->job_count ? " so far" : "", *s_ = s->asked == 1 ? "" : "s";
  if (s->held < s->broken)
    put(s, "not safe: violated in %d of %d question%s%s, two clients held at once in %d: %s", s->broken, s->asked, s_,
        so_far, s->held, name);
  else if (s->broken)
    put(s, "not safe: two clients held at once in %d of %d question%s%s: %s", s->broken, s->asked, s_, so_far, name);
  else if (s->stuck)
    put(s, "stuck: no two clients held at once, but in %d of %d question%s%s nobody got the lock again: %s", s->stuck,
        s->asked, s_, so_far, name);
  else if (s->asked == 0) put(s, "nothing could be asked of %s:", name), put(s, "  %s", why_skipped(s));
  else if (s->open)
    put(s, "undecided: %d of %d question%s%s without an answer: %s", s->open, s->asked, s_, so_far, name);
  else if (j->failed)
    put(s, "undecided: no question broke %s, but it fails %d of %d statements of %s", name, j->failed, j->statements,
        j->check);
  else put(s, "safe in all %d question%s%s: %s", s->asked, s_, so_far, name);
}

static void tell_check(const struct screen *s) {
  const struct lb_judged *j = s->judged;
  const char *quote = strcmp(j->check ? j->check : "", "conform") == 0 ? "" : "'";
  if (!j->check || j->statements == 0) return;
  put(s, "%s: %d of %d statements hold%s%s", j->check, j->statements - j->failed, j->statements,
      j->failed > 1 ? "; the first that fails: "
      : j->failed   ? "; it fails: "
                    : "",
      j->first_failed);
  if (j->failed) put(s, "  %s %s %s%s%s%s", lb_called(), j->check, *quote ? "" : "--plugin ", quote, j->word, quote);
}

/* ---- what broke it --------------------------------------------------------------------------- */

static void tell_rows(const struct screen *s, enum fate fate, const char *title, int all, int room) {
  char names[NAMES_MAX];
  int shown = 0;
  if (all == 0) return;
  put(s, "%s", title);
  for (size_t i = 0; i < s->tally->plan->cell_count && shown < room; i++) {
    const struct lb_cell_sum *cell = &s->tally->cells[i];
    const struct lb_scenario *scenario = cell->cell->scenario;
    if (fate_of(cell) != fate) continue;
    int n = fate == BROKEN ? cell->violated : cell->stuck;
    put(s, "  %d of %d  %-18s %s%s%s", n, lb_cell_decided(cell), scenario->name, scenario->title,
        s->several ? ", on " : "", s->several ? cell->cell->topology->name : "");
    shown++;
  }
  if (all > shown) put(s, "  and %d more: %s", all - shown, names_of(s, fate, (size_t)shown, names));
}

static void tell_names(const struct screen *s, enum fate fate, const char *before) {
  char names[NAMES_MAX];
  if (*names_of(s, fate, 0, names)) put(s, "%s%s", before, names);
}

/* The reason of the first one without an answer. */
static void tell_open(const struct screen *s) {
  tell_names(s, OPEN, "no answer: ");
  for (size_t i = 0; i < s->tally->plan->cell_count; i++)
    if (fate_of(&s->tally->cells[i]) == OPEN)
      return put(s, "  %s: %s", s->tally->plan->cells[i].scenario->name, s->tally->cells[i].why);
}

/* ---- how to see it --------------------------------------------------------------------------- */

/* What is too long for a line goes on in the next one, as a shell reads it. */
static void tell_explain(const struct screen *s, enum fate fate) {
  const char *dir = lb_from_here(s->dir);
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) {
    const struct lb_cell *cell = &s->tally->plan->cells[i];
    if (fate_of(&s->tally->cells[i]) != fate) continue;
    size_t length = strlen(lb_called()) + strlen(" explain ") + strlen(dir) + strlen(cell->scenario->name) +
                    strlen(cell->system) + 4;
    put(s, "see it:");
    *s->lines += 1 + (length > LB_JUDGE_COLUMNS);
    if (length <= LB_JUDGE_COLUMNS)
      return lb_say("  %s explain %s %s.%s", lb_called(), dir, cell->scenario->name, cell->system);
    lb_say("  %s explain %s \\", lb_called(), dir);
    lb_say("    %s.%s", cell->scenario->name, cell->system);
    return;
  }
}

/* ---- what to do instead ---------------------------------------------------------------------- */

static const char *const use[LB_GUARD_COUNT] = {
    [LB_GUARD_DEADLINE] = "stop at the end of the lease by your own clock",
    [LB_GUARD_SIGNAL] = "stop if the session is lost or in doubt",
    [LB_GUARD_RECHECK] = "ask the server before each access",
    [LB_GUARD_CLAIM] = "let the resource refuse earlier holders",
    [LB_GUARD_FENCE] = "let the resource refuse smaller fencing tokens",
};

/* What the lock rests on in a scenario that breaks it. */
static const struct {
  const char *scenario, *what;
} rests[] = {
    {"failover", "a replica that has the grant before the client hears of it"},
    {"failover-slow-link", "a replica that has the grant before the client hears of it"},
    {"split-brain", "an old primary that answers nobody once it is replaced"},
    {"restart-node", "a server that still has its grants after a restart"},
    {"majority-lost", "a majority of servers that still have their grants after a restart"},
    {"partition", "a holder that stops by itself when it hears no server"},
    {"pause-holder", "no holder that pauses for longer than its lease"},
    {"pause-writer", "no pause before a write, or fencing at the resource (needs a lock with numbers)"},
    {"slow-holder", "work that ends before its lease, or a renewal"},
    {"clock-jump", "server clocks that do not jump"},
    {"hung-holder", "a program that never hangs for longer than its lease"},
    {"crash-holder", "an end of its own for the lock of a dead client"},
    {"crash-unheard", "a key that is set together with its end"},
    {"dead-waiter", "an end of its own for the place of a dead waiter"},
    {"lost-reply", "a client that finds out whether a lost request was carried out"},
    {"late-release", "a release that compares its owner at the server"},
    {"stopped-before-del", "a release that compares and deletes in one step"},
    {"power-loss", "a server that syncs a grant before it answers"},
};
enum { REST_COUNT = sizeof rests / sizeof *rests };

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
    n += fate_of(&s->tally->cells[i]) == BROKEN && helped(s->tally, &s->tally->plan->cells[i], guard);
  return n;
}

/* The guard that helped most often first. */
static void tell_guards(const struct screen *s) {
  bool told[LB_GUARD_COUNT] = {false};
  for (int shown = 0; shown < GUARDS_MAX; shown++) {
    int best = 0, most = 0;
    for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
      if (!told[guard] && helps(s, guard) > most) best = guard, most = helps(s, guard);
    if (most == 0) return;
    told[best] = true;
    put(s, "  %-48s guard %-8s helped in %d of %d", use[best], lb_guard_name((enum lb_guard)best), most, s->broken);
  }
}

static const char *rests_on(const char *scenario) {
  for (size_t i = 0; i < REST_COUNT; i++)
    if (strcmp(rests[i].scenario, scenario) == 0) return rests[i].what;
  return NULL;
}

static bool any_helped(const struct screen *s, size_t cell) {
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
    if (fate_of(&s->tally->cells[cell]) == BROKEN && helped(s->tally, &s->tally->plan->cells[cell], guard)) return true;
  return false;
}

/* Where no guard helped, or its cell had no answer; of STUCK, each. */
static bool lacks_help(const struct screen *s, size_t cell, enum fate fate) {
  return fate_of(&s->tally->cells[cell]) == fate && !any_helped(s, cell);
}

static void head_rests(const struct screen *s, enum fate fate) {
  int n = 0;
  for (size_t i = 0; i < s->tally->plan->cell_count; i++) n += lacks_help(s, i, fate);
  if (fate == STUCK) put(s, "to be free again, the lock rests on:");
  else if (n == s->broken) put(s, "no guard was seen to help; the lock rests on:");
  else put(s, "in the other %d no guard helped; there the lock rests on:", n);
}

/* What two questions have in common is said once. */
static void tell_rests(const struct screen *s, enum fate fate) {
  const char *said[RESTS_MAX];
  int shown = 0, room = LB_JUDGE_LINES - *s->lines - 3; /* its heading, and the last two lines */
  for (size_t i = 0; i < s->tally->plan->cell_count && shown < RESTS_MAX && shown < room; i++) {
    const char *scenario = s->tally->plan->cells[i].scenario->name, *what = rests_on(scenario);
    bool again = !what || !lacks_help(s, i, fate);
    for (int k = 0; !again && k < shown; k++) again = said[k] == what || strcmp(said[k], what) == 0;
    if (again) continue;
    if (shown == 0) head_rests(s, fate);
    put(s, "  %s: %s", scenario, what);
    said[shown++] = what;
  }
}

/* A load has no fault in it. */
static bool excludes_nobody(const struct screen *s) {
  for (size_t i = 0; i < s->tally->plan->cell_count; i++)
    if (fate_of(&s->tally->cells[i]) == BROKEN && s->tally->plan->cells[i].scenario->kind == LB_KIND_LOAD) return true;
  return false;
}

static void tell_instead(const struct screen *s) {
  int most = 0;
  if (excludes_nobody(s))
    return put(s, "do this instead:"),
           put(s, "  it excludes nobody even without a fault: mend that first, then judge it again");
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++)
    most = helps(s, guard) > most ? helps(s, guard) : most;
  if (most) put(s, "do this instead:"), tell_guards(s);
  if (!s->broken)
    put(s, "do this instead:"),
        put(s, "  a lease, or a session that times out, frees the lock of a client that is dead or stopped");
  tell_rests(s, BROKEN);
  tell_rests(s, STUCK);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What held, and how to ask more. */
static void tell_safe(const struct screen *s) {
  char names[NAMES_MAX];
  names_of(s, HELD, 0, names);
  put(s, "asked:");
  for (char *at = names; *at;) { /* in lines, at commas */
    size_t length = strlen(at), fits = length;
    for (; fits > LB_JUDGE_COLUMNS - 2;) {
      do fits--;
      while (fits > 1 && at[fits - 1] != ',');
    }
    put(s, "  %.*s", (int)fits, at);
    at += fits;
    at += *at == ' ';
  }
  put(s, "each question was put %s; a rare violation needs more (-n), or a hunt (%s hunt --help)",
      s->tally->cells[0].trials > 1 ? "several times" : "once", lb_called());
}

/* The same exit code, and prints nothing. */
static int judge_code(const struct lb_judged *judged, const struct lb_tally *tally) {
  struct screen s = {.judged = judged, .tally = tally};
  count(&s);
  return code_of(&s);
}

/* At most LB_JUDGE_LINES lines on stdout, the verdict first. Only the command that shows the first violation may be
 * split, or longer than LB_JUDGE_COLUMNS. Returns the exit code of `judge`. `dir` is the results folder. */
static int judge_tell(const struct lb_judged *judged, const struct lb_tally *tally, const char *dir) {
  int lines = 0;
  struct screen s = {.judged = judged, .tally = tally, .dir = dir, .lines = &lines};
  count(&s);
  int code = code_of(&s);
  tell_verdict(&s);
  tell_check(&s);
  if (s.asked == 0) return code;
  tell_rows(&s, BROKEN, "what broke it:", s.broken, s.stuck ? ROWS_MAX - 3 : ROWS_MAX);
  tell_rows(&s, STUCK, "where nobody got it again:", s.stuck, s.broken ? 1 : ROWS_MAX);
  tell_names(&s, LATE, "free only when its lease or session had ended: ");
  if (s.open) tell_open(&s);
  if (s.broken || s.stuck) tell_explain(&s, s.broken ? BROKEN : STUCK), tell_instead(&s);
  else if (code == LB_EXIT_OK) tell_safe(&s);
  if (s.skipped) put(&s, "not asked on this machine: %d, because %s", s.skipped, why_skipped(&s));
  put(&s, "all of it: %s", lb_from_here(dir));
  return code;
}

/* What a check takes: it mostly waits for leases, so about the same everywhere. */
enum { ADAPTER_CHECK_S = 35, CONFORM_S = 20 };

struct judge { /* the command, from its word to its screen */
  const struct lb_args *args;
  struct lb_judged judged;
  const char *topology; /* behind the @ of the word; NULL = none */
  char systems[600];    /* "NAME@TOPOLOGY,..." */
  struct lb_system first;
};

/* ---- which lock ------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), n = strlen(end);
  return length > n && strcmp(text + length - n, end) == 0;
}

static bool in_path(const char *name) {
  char *found = lb_proc_find(name, NULL);
  free(found);
  return found;
}

/* By its name, or that of a foreign lock without its kind. */
static const struct lb_protocol *find_protocol(const char *name) {
  const struct lb_protocol *p = lb_protocol_find(name);
  for (size_t i = 0; !p && lb_protocol_at(i); i++) {
    const char *colon = strchr(lb_protocol_at(i)->name, ':');
    if (colon && strcmp(colon + 1, name) == 0) p = lb_protocol_at(i);
  }
  return p;
}

/* A command that is called and writes no first line is no adapter. One that writes another line is a broken one. 0 or
 * an exit code. */
static int take_adapter(struct judge *j, const char *word) {
  struct lb_error err;
  int r;
  const struct lb_protocol *protocol = lb_bring_adapter(word, &r, &err);
  if (r < 0 && r != -EPROTO)
    return lb_complain(LB_EXIT_USAGE, "judge '%s': expected an adapter (peers/README.md): %s", word, err.text);
  j->judged.protocol = protocol;
  j->judged.check = "adapter-check";
  if (j->judged.protocol) return 0;
  if (!j->args->json) lb_say("nothing could be asked: its first line is not that of an adapter");
  return lb_complain(LB_EXIT_MISSING, "judge '%s': %s; see peers/README.md", word, err.text);
}

static int take_plugin(struct judge *j, const char *word) {
  struct lb_error err;
  j->judged.protocol = lb_bring_plugin(word, &err);
  j->judged.check = "conform";
  return j->judged.protocol ? 0 : lb_complain(LB_EXIT_USAGE, "judge %s", err.text);
}

/* The name of a protocol goes before that of a program in PATH. */
static int take_lock(struct judge *j, const char *word) {
  static char name[200];
  struct lb_error err;
  struct lb_system system;
  const char *at = strchr(word, '@');
  j->judged.word = word;
  if (ends_with(word, ".so")) return take_plugin(j, word);
  if (strpbrk(word, " \t/")) return take_adapter(j, word);
  snprintf(name, sizeof name, "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
  j->judged.protocol = find_protocol(name);
  if (!j->judged.protocol && in_path(word)) return take_adapter(j, word);
  if (!j->judged.protocol) {
    lb_system_parse(word, &system, &err);
    return lb_complain(LB_EXIT_USAGE, "judge %s: no command, no plugin (.so), and: %s", word, err.text);
  }
  j->judged.word = name;
  j->topology = at ? at + 1 : NULL;
  return 0;
}

/* ---- on which servers ------------------------------------------------------------------------ */

static int add_system(struct judge *j, const char *topology, int length) {
  struct lb_error err;
  char name[300];
  struct lb_system system;
  size_t used = strlen(j->systems);
  snprintf(name, sizeof name, "%s@%.*s", j->judged.protocol->name, length, topology);
  if (lb_system_parse(name, &system, &err) < 0) return lb_complain(LB_EXIT_USAGE, "judge: %s", err.text);
  if (used == 0) j->first = system;
  snprintf(j->systems + used, sizeof j->systems - used, "%s%s", used ? "," : "", system.name);
  return 0;
}

/* Of the user's own lock all that it names and this machine has. One that it names and nobody knows is for the check to
 * say. */
static int add_named(struct judge *j) {
  int r = 0;
  const char *missing = NULL;
  for (const char *const *t = j->judged.protocol->topologies; r == 0 && *t; t++) {
    const struct lb_topology *topology = lb_topology_find(*t);
    const char *lacks = topology ? lb_topology_missing(topology) : NULL;
    if (lacks) missing = lacks;
    else if (topology) r = add_system(j, *t, (int)strlen(*t));
  }
  if (r || j->systems[0]) return r;
  if (j->args->json) return lb_complain(LB_EXIT_MISSING, "judge: this machine has none of its servers");
  lb_say("nothing could be asked: %s%s",
         missing ? "this machine has not got " : "it names no servers that lockbench has", missing ? missing : "");
  return LB_EXIT_MISSING;
}

static int choose_systems(struct judge *j) {
  int r = 0;
  if (j->args->systems && j->topology)
    return lb_complain(LB_EXIT_USAGE, "judge %s: -b %s names other servers", j->args->words[0], j->args->systems);
  const char *list = j->topology ? j->topology : j->args->systems;
  if (!list && j->judged.check) return add_named(j);
  if (!list) list = j->judged.protocol->topologies[0];
  for (int length; r == 0 && *list; list += length + (list[length] == ',')) {
    length = (int)strcspn(list, ",");
    r = add_system(j, list, length);
  }
  return r || j->systems[0]
             ? r
             : lb_complain(LB_EXIT_USAGE, "judge %s: expected a topology behind the @", j->args->words[0]);
}

/* ---- check, then questions ------------------------------------------------------------------- */

static void count_statement(void *data, const struct lb_conform_result *result) {
  struct lb_judged *judged = data;
  judged->statements++;
  if (result->holds) return;
  if (judged->failed++ == 0) snprintf(judged->first_failed, sizeof judged->first_failed, "%s", result->statement);
}

/* On the first of its servers: what is said of the lines and hooks does not depend on them. */
static int check(struct judge *j) {
  struct lb_conform_order order = {.args = j->args,
                                   .systems = &j->first,
                                   .count = 1,
                                   .named = true,
                                   .adapter = strcmp(j->judged.check, "adapter-check") == 0,
                                   .said = count_statement,
                                   .data = &j->judged};
  int code = lb_conform_systems(&order);
  if (code) return code;
  fprintf(stderr, "%s: %d of %d statements hold\n", j->judged.check, j->judged.statements - j->judged.failed,
          j->judged.statements);
  return 0;
}

static int begin(void *data, const struct lb_plan *plan) {
  struct judge *j = data;
  char about[40];
  bool checks = j->judged.check; /* again where a run goes on: its outcome is not kept */
  double check_s = !checks ? 0 : strcmp(j->judged.check, "conform") == 0 ? CONFORM_S : ADAPTER_CHECK_S;
  lb_live_about(lb_seconds_of(plan, lb_run_jobs(j->args)) + check_s, about, sizeof about);
  if (plan->job_count)
    lb_complain(0, "judges %s, %s here: %s%s%zu trials", j->systems, about, checks ? j->judged.check : "",
                checks ? ", then " : "", plan->job_count);
  return checks && plan->job_count ? check(j) : 0;
}

static int tell(void *data, const struct lb_tally *tally, const char *dir) {
  const struct judge *j = data;
  return j->args->json ? judge_code(&j->judged, tally) : judge_tell(&j->judged, tally, dir);
}

/* As `suite judge`, with this lock for its systems. */
static int run_suite(struct judge *j) {
  struct lb_suite suite;
  struct lb_error err;
  char folder[4096];
  struct lb_args args = *j->args;
  char *path = lb_find_suite("judge");
  if (!path) return LB_EXIT_FAILURE;
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
  int r = lb_suite_load(path, folder, &suite, &err);
  free(path);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err.text);
  args.systems = j->systems;
  struct lb_order order = {.args = &args,
                           .label = suite.name,
                           .paths = (const char *const *)suite.scenarios,
                           .own_settings = (const char *const *)suite.settings,
                           .path_count = suite.count,
                           .suite = &suite,
                           .begin = begin,
                           .tell = tell,
                           .data = j};
  int code = lb_carry_out(&order);
  lb_suite_clear(&suite);
  return code;
}

static int judge_command(const struct lb_args *args) {
  struct judge j = {.args = args};
  if (args->resume) return lb_resume(args);
  if (args->word_count != 1)
    return lb_complain(
        LB_EXIT_USAGE,
        "judge: expected one lock: a command, a plugin (.so), PROTOCOL[@TOPOLOGY] or LIBRARY[@TOPOLOGY], as in `%s judge 'python3 peers/reference.py'`",
        lb_called());
  int r = take_lock(&j, args->words[0]);
  if (r == 0) r = choose_systems(&j);
  if (r == 0) r = lb_check_options(args);
  return r ? r : run_suite(&j);
}

const struct lb_cli_command lb_command_judge = {
    "judge",
    judge_command,
    LB_ARG_JUDGE | LB_ARG_JSON,
    "LOCK",
    "answers \"is my lock safe?\" on one screen: what breaks it, how to see it, what to do instead",
    "LOCK is the command of an adapter ('python3 mine.py', see peers/README.md), a plugin (mine.so), PROTOCOL[@TOPOLOGY], or LIBRARY[@TOPOLOGY] of `list peers`.\n"
    "Your own lock is tested against the contract first (adapter-check, conform). Then the suite `judge` runs, without scenarios that mean nothing for the lock.\n"
    "exit: 0 safe in all that was asked, 1 failure of the harness, 2 bad input, 3 not safe, or stuck, 4 undecided, 5 nothing could be asked,\n"
    "      130 stopped: decided trials are kept, and --resume plays the rest\n"};
