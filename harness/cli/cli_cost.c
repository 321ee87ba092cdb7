/* SPDX-License-Identifier: MIT
 *
 * `lockbench show PROTOCOL --cost`: what a lock costs, as a table. What is counted, and where, is cost/'s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grid.h"
#include "cli.h"
#include "cost/cost.h"
#include "run/exit.h"
#include "run/rundir.h"
#include "run/settings.h"
#include "run/system.h"

enum { TIMES = 200 };

/* Every row that some column has, in the order they were first seen. */
static size_t rows_of(const struct lb_cost *cost, const char *rows[LB_COUNTS_MAX]) {
  struct lb_counts seen = {0};
  size_t count = 0;
  for (int column = 0; column < LB_COST_COLUMNS; column++)
    for (size_t i = 0; i < cost->sum[column].size; i++) {
      size_t before = seen.size;
      lb_counts_add(&seen, cost->sum[column].count[i].what, 0);
      if (seen.size > before) rows[count++] = cost->sum[column].count[i].what;
    }
  return count;
}

static void add_row(const struct lb_cost *cost, const char *what, struct lb_grid *grid) {
  uint64_t sum = 0;
  for (int column = 0; column < LB_COST_COLUMNS; column++) sum += lb_counts_of(&cost->sum[column], what);
  if (sum == 0 && strncmp(what, "command ", 8) == 0) return; /* asked for by the looks only */
  lb_grid_add(grid, "%s ", what);
  for (int column = 0; column < LB_COST_COLUMNS; column++) {
    double each = (double)lb_counts_of(&cost->sum[column], what) / cost->times;
    if (column == LB_COST_REFUSED && !cost->refuses) lb_grid_add(grid, "-");
    else lb_grid_add(grid, "%.*f", each < 100 ? 2 : 0, each);
  }
  lb_grid_add(grid, "%s", "");
}

static void add_unknown(const char *what, const char *why, struct lb_grid *grid) {
  lb_grid_add(grid, "%s ", what);
  for (int column = 0; column < LB_COST_COLUMNS; column++) lb_grid_add(grid, "-");
  lb_grid_add(grid, "%s", why);
}

static void print(const struct lb_system *system, const struct lb_cost *cost) {
  const char *rows[LB_COUNTS_MAX * LB_COST_COLUMNS];
  size_t count = rows_of(cost, rows);
  printf("cost of %s, counted over %d of each: a client alone, and one that is refused while another one holds\n\n", system->name, cost->times);
  static const char *const head[] = {"", "acquire", "release", "refused", ""};
  struct lb_grid grid;
  lb_grid_begin(&grid, "lrrrl");
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lb_grid_add(&grid, "%s", head[i]);
  for (size_t i = 0; i < count; i++) add_row(cost, rows[i], &grid);
  if (!cost->has_servers) add_unknown("at servers, on disks", "it has none", &grid);
  else if (!cost->disk_counts) add_unknown("writes to files, fsyncs", "nobody counts them: its servers call the kernel without the C library", &grid);
  bool commands = false, requests = false;
  for (size_t i = 0; i < count; i++) commands |= strncmp(rows[i], "command ", 8) == 0, requests |= strcmp(rows[i], "requests") == 0;
  if (cost->has_servers && !requests) add_unknown("requests", "its servers do not count them", &grid);
  lb_grid_end(&grid, stdout);
  putchar('\n');
  puts("A round trip is an answer waited for after something was sent, to one server or to several at once.");
  if (cost->has_servers) puts("Of several servers it is the sum. Bytes are those of the client's connections, without headers.");
  if (commands) puts("Commands that a script calls are counted beside the script.");
  if (cost->disk_counts) puts("Writes and fsyncs are those of all processes of the servers, also what they do behind the answer.");
  if (!cost->refuses) puts("It refuses nobody.");
}

int lb_cli_cost(const struct lb_args *args) {
  struct lb_system system;
  struct lb_rundir dir;
  struct lb_cost cost;
  char err[600];
  const char *tmp = getenv("TMPDIR"), *missing;
  if (lb_system_parse(args->words[0], &system, err, sizeof err) < 0) return lb_complain(LB_EXIT_USAGE, "show --cost: %s", err);
  int code = lb_check_options(args);
  if (code) return code;
  if ((missing = lb_topology_missing(system.topology)))
    return lb_complain(LB_EXIT_MISSING, "show --cost %s: needs %s, which is not on this machine", system.name, missing);
  if (lb_rundir_open(&dir, tmp && *tmp ? tmp : "/tmp", "cost", NULL, err, sizeof err) < 0) return lb_complain(LB_EXIT_FAILURE, "%s", err);
  union lb_value *options = lb_settings_options(system.protocol, args->settings, args->setting_count);
  struct lb_cost_plan plan = {.protocol = system.protocol, .topology = system.topology, .options = options, .dir = &dir, .times = TIMES};
  int r = options ? lb_cost_count(&plan, &cost, err, sizeof err) : -1;
  free(options);
  lb_rundir_close(&dir);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "show --cost %s: %s", system.name, options ? err : "no memory");
  print(&system, &cost);
  return LB_EXIT_OK;
}
