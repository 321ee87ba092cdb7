/* SPDX-License-Identifier: MIT
 *
 * The one place where the English of facts is made. Short enough for a column, and made out of the
 * fields alone: the same fact always reads the same, whichever format its file had.
 */
#include "say.h"

#include <string.h>

void lb_say_text(const char *text, FILE *out) {
  for (; *text; text++) putc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, out);
}

/* A text that the fact does not have is left out, and what stands before it remains. */
static void put(const struct lb_history *h, const char *before, uint32_t text, FILE *out) {
  fputs(before, out);
  if (text < h->texts.count) lb_say_text(h->texts.name[text], out);
}

/* "client 2 acquire: refused in time"; a failure says why. */
static void say_reply(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  static const char *const answers[] = {
      [LB_ANSWER_DONE] = "done",
      [LB_ANSWER_GRANTED] = "granted",
      [LB_ANSWER_REFUSED] = "refused in time",
      [LB_ANSWER_NO_ANSWER] = "no answer from the service in time",
      [LB_ANSWER_NOT_HOLDING] = "not holding",
      [LB_ANSWER_NOT_IN_TIME] = "not in time",
      [LB_ANSWER_LOST] = "lost",
      [LB_ANSWER_UNKNOWN] = "unknown",
  };
  bool told = f->answer > 0 && f->answer < sizeof answers / sizeof *answers;
  put(h, "", f->what, out);
  if (told) fprintf(out, ": %s", answers[f->answer]);
  if (f->why != LB_NO_NAME) put(h, ": ", f->why, out);
  else if (!told) fputs(": failed", out);
}

static void say_clock(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  put(h, "", f->host, out);
  if (f->clock == LB_CLOCK_WALL) fprintf(out, " says it is %+.3f s off", (double)f->ms / 1e3);
  if (f->clock == LB_CLOCK_MONOTONIC) fprintf(out, " says its monotonic clock jumped by %+.3f s", (double)f->ms / 1e3);
  if (f->clock == LB_CLOCK_RATE)
    fprintf(out, " gained %+lld ms in %llu ms", (long long)f->ms, (unsigned long long)f->in_ms);
}

static void say_observed(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  fputs(f->present ? "key present" : "key absent", out);
  if (f->host != LB_NO_NAME) put(h, " at ", f->host, out);
  if (f->role != LB_NO_NAME) put(h, " on ", f->role, out);
}

static void say_error(const struct lb_history *h, const struct lb_event *e, const struct lb_fact *f, FILE *out) {
  fputs("last error of ", out);
  lb_say_text(e->client < h->clients.count ? h->clients.name[e->client] : "the observer", out);
  put(h, ": ", f->why, out);
}

static void put_client(const struct lb_history *h, const struct lb_event *e, FILE *out) {
  lb_say_text(e->client < h->clients.count ? h->clients.name[e->client] : "nobody", out);
}

/* "client-1 asked redis-2", or of a step that looked "client-1 talks to redis-2, which is not
 * current primary". */
static void say_server(const struct lb_history *h, const struct lb_event *e, const struct lb_fact *f, FILE *out) {
  put_client(h, e, out);
  if (f->step == 0) { /* of an acquire */
    put(h, " asked ", f->host, out);
    return;
  }
  put(h, " talks to ", f->host, out);
  if (f->host == LB_NO_NAME) fputs("no server, or to several", out);
  if (f->role != LB_NO_NAME) put(h, f->present ? ", which is " : ", which is not ", f->role, out);
}

static void say_holds(const struct lb_history *h, const struct lb_event *e, const struct lb_fact *f, FILE *out) {
  put_client(h, e, out);
  fputs(f->present ? " holds" : f->ms < 0 ? " believes that it holds" : " does not hold", out);
  if (f->ms > 0) fprintf(out, ", its lease has %lld ms left", (long long)f->ms);
  if (f->ms < 0) fprintf(out, ", but its lease has been over for %lld ms", -(long long)f->ms);
}

static void say_touched(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  if (f->host == LB_NO_NAME) {
    put(h, "nobody to ", f->verb, out);
    return;
  }
  put(h, "", f->verb, out), put(h, " ", f->host, out);
  if (f->from != LB_NO_NAME) put(h, lb_say_touched(h, f), f->from, out);
}

const char *lb_say_touched(const struct lb_history *h, const struct lb_fact *touched) {
  const char *verb = touched->verb < h->texts.count ? h->texts.name[touched->verb] : "";
  bool parts = strcmp(verb, "cut") == 0 || strcmp(verb, "heal") == 0;
  return parts ? " from " : " to ";
}

/* A packet's time is a whole number of ms, rounded down. */
static void say_trip(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  put(h, "a packet from ", f->from, out), put(h, " to ", f->host, out);
  if (f->ms == 0) fputs(" took less than 1 ms", out);
  else fprintf(out, " took %lld ms", (long long)f->ms);
}

/* "drop of a message of 5 bytes from redis-1:6379 to client-1:40122, after 2 others of its connection" */
static void say_message(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  put(h, "", f->verb, out);
  fprintf(out, " of a message of %llu byte%s", (unsigned long long)f->total, f->total == 1 ? "" : "s");
  put(h, " from ", f->from, out), put(h, " to ", f->host, out);
  if (f->kept > 0)
    fprintf(out, ", after %llu other%s of its connection", (unsigned long long)f->kept, f->kept == 1 ? "" : "s");
}

static void say_carried(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  fprintf(out, "%llu of %llu packet%s went on", (unsigned long long)f->kept, (unsigned long long)f->total,
          f->total == 1 ? "" : "s");
  put(h, " from ", f->from, out), put(h, " to ", f->host, out);
}

/* All that it had written may be synced. */
static void say_unsynced(const struct lb_history *h, const struct lb_fact *f, FILE *out) {
  put(h, "", f->host, out);
  if (f->kept >= f->total)
    fprintf(out, " had synced all of %llu bytes that it had written", (unsigned long long)f->total);
  else
    fprintf(out, " lost %llu of %llu bytes that it had written: they were not synced",
            (unsigned long long)(f->total - f->kept), (unsigned long long)f->total);
}

static void say_permits(const struct lb_history *h, const struct lb_event *e, const struct lb_fact *f, FILE *out) {
  fprintf(out, "at most %llu may hold ", (unsigned long long)f->total);
  lb_say_text(e->key < h->keys.count ? h->keys.name[e->key] : "the same key", out);
  fputs(" at once", out);
}

static void say_undone(const struct lb_history *h, const char *before, const struct lb_fact *f, FILE *out) {
  put(h, before, f->what, out);
  put(h, ": ", f->why, out);
}

const char *lb_say_check(unsigned check) {
  static const char *const results[] = {
      [LB_CHECK_PASSED] = "passed",     [LB_CHECK_LEASE_OVER] = "lease over",
      [LB_CHECK_IN_DOUBT] = "in doubt", [LB_CHECK_SESSION_OVER] = "session over",
      [LB_CHECK_TOLD_NO] = "told no",   [LB_CHECK_NO_ANSWER] = "no answer",
      [LB_CHECK_ERROR] = "error",       [LB_CHECK_NO_MAJORITY] = "no majority confirms",
  };
  return check > 0 && check < sizeof results / sizeof *results ? results[check] : "";
}

static const char *const phases[] = {"", [LB_PHASE_MEASURE] = "measure", [LB_PHASE_END] = "end",
                                     [LB_PHASE_CLOSING] = "closing", [LB_PHASE_CLOSED] = "closed"};

void lb_say_event(const struct lb_history *h, const struct lb_event *e, FILE *out) {
  const struct lb_fact *f = lb_event_fact(h, e);
  switch (e->kind) {
    case LB_EV_FAULT:
    case LB_EV_NOTE: put(h, "", f->what, out); break;
    case LB_EV_PHASE: fprintf(out, "phase %s", phases[f->phase <= LB_PHASE_CLOSED ? f->phase : 0]); break;
    case LB_EV_PROVED: put(h, "proved: ", f->what, out); break;
    case LB_EV_OVER: put(h, "over: ", f->what, out); break;
    case LB_EV_NOT_DONE: say_undone(h, "not done: ", f, out); break;
    case LB_EV_NOT_PROVED: say_undone(h, "not proved: ", f, out); break;
    case LB_EV_REPLY: say_reply(h, f, out); break;
    case LB_EV_MET: put(h, "", f->what, out), fputs(": it does", out); break;
    case LB_EV_NOT_MET: put(h, "", f->what, out), fputs(": it did not", out); break;
    case LB_EV_OBSERVED: say_observed(h, f, out); break;
    case LB_EV_ROLE: put(h, "", f->role, out), put(h, " is ", f->host, out); break;
    case LB_EV_FAILOVER: put(h, "failover: ", f->host, out), fputs(" decides", out); break;
    case LB_EV_CLOCK: say_clock(h, f, out); break;
    case LB_EV_ERROR: say_error(h, e, f, out); break;
    case LB_EV_SHORTENED:
      fprintf(out, "the first %llu of %llu events are kept", (unsigned long long)f->kept, (unsigned long long)f->total);
      break;
    case LB_EV_SERVER: say_server(h, e, f, out); break;
    case LB_EV_VOTED: put(h, "", f->host, out), fputs(" said yes to ", out), put_client(h, e, out); break;
    case LB_EV_HOLDS: say_holds(h, e, f, out); break;
    case LB_EV_TOUCHED: say_touched(h, f, out); break;
    case LB_EV_UNUSED: put(h, "", f->what, out), fputs(": it met no packet but those of its proof", out); break;
    case LB_EV_TRIP: say_trip(h, f, out); break;
    case LB_EV_MESSAGE: say_message(h, f, out); break;
    case LB_EV_CARRIED: say_carried(h, f, out); break;
    case LB_EV_LEFT:
      put(h, "", f->host, out),
          fputs(f->present ? " has left the others: it serves nobody" : " has not left the others", out);
      break;
    case LB_EV_UNSYNCED: say_unsynced(h, f, out); break;
    case LB_EV_PERMITS: say_permits(h, e, f, out); break;
    case LB_EV_LEASES:
      fputs("each hold ends with its lease", out);
      if (f->ms > 0) fprintf(out, ", of %lld ms where none is said", (long long)f->ms);
      break;
    default: break;
  }
}
