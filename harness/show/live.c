/* SPDX-License-Identifier: MIT
 *
 * A line that wraps could not be overwritten, so it always fits.
 */
#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

enum { EVERY_S = 30, MINUTE = 60, HOUR = 3600 };

/* "45s", "1m02s", "2h05m". */
static void put_elapsed(double s, char *ret, size_t size) {
  long long whole = s > 0 ? (long long)s : 0;
  if (whole < MINUTE) snprintf(ret, size, "%llds", whole);
  else if (whole < HOUR) snprintf(ret, size, "%lldm%02llds", whole / MINUTE, whole % MINUTE);
  else snprintf(ret, size, "%lldh%02lldm", whole / HOUR, whole % HOUR / MINUTE);
}

static long long rounded(double value, int to) { return (long long)(value / to + 0.5) * to; }

void lb_live_about(double s, char *ret, size_t size) {
  enum { FEW = 20, TENS = 100, MANY = 30 };
  double min = s / MINUTE;
  if (s < FEW) snprintf(ret, size, "about %lld s", s < 1 ? 1 : rounded(s, 1));
  else if (s < MINUTE) snprintf(ret, size, "about %lld s", rounded(s, 5));
  else if (s < TENS) snprintf(ret, size, "about %lld s", rounded(s, 10));
  else if (min < MANY) snprintf(ret, size, "about %lld min", rounded(min, 1));
  else if (min < TENS) snprintf(ret, size, "about %lld min", rounded(min, 5));
  else snprintf(ret, size, "about %.1f h", s / HOUR);
}

void lb_live_line(const struct lb_live_state *state, int columns, char ret[LB_LIVE_LINE]) {
  char elapsed[40], about[40] = "";
  size_t left = state->all > state->done ? state->all - state->done : 0;
  put_elapsed(state->elapsed_s, elapsed, sizeof elapsed);
  if (state->left_s >= 0 && left > 0 && state->left_s < MINUTE) /* each second of the last minute is seen to go */
    snprintf(about, sizeof about, "about %lld s", state->left_s < 1 ? 1 : rounded(state->left_s, 1));
  else if (state->left_s >= 0 && left > 0) lb_live_about(state->left_s, about, sizeof about);
  int length = snprintf(ret, LB_LIVE_LINE, "[%zu/%zu] %zu left, %s, %s%s%zu violation%s%s%s", state->done, state->all,
                        left, elapsed, about, *about ? " left, " : "", state->violations,
                        state->violations == 1 ? "" : "s", *state->what ? ", " : "", state->what);
  enum { DOTS = 3 };
  if (columns > LB_LIVE_LINE) columns = LB_LIVE_LINE;
  if (length < columns || columns <= DOTS) return;
  memcpy(ret + columns - 1 - DOTS, "...", DOTS + 1);
}

bool lb_live_terminal(FILE *out) {
  const char *term = getenv("TERM");
  return isatty(fileno(out)) && !(term && strcmp(term, "dumb") == 0);
}

int lb_live_columns(FILE *out) {
  struct winsize size;
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 0;
}

void lb_live_show(struct lb_live_out *out, const struct lb_live_state *state) {
  char line[LB_LIVE_LINE];
  int columns = lb_live_columns(out->out);
  uint64_t now = lb_clock_ns();
  if (!out->terminal && now - out->said_ns < (uint64_t)EVERY_S * 1000000000) return;
  out->said_ns = now;
  lb_live_line(state, !out->terminal ? LB_LIVE_LINE : columns ? columns : LB_LIVE_COLUMNS, line);
  fprintf(out->out, out->terminal ? "\r\033[K%s" : "%s\n", line);
  fflush(out->out);
}

void lb_live_hide(const struct lb_live_out *out) {
  if (out->terminal) fputs("\r\033[K", out->out);
}
