/* SPDX-License-Identifier: MIT
 *
 * Reads what plots/render wrote of the figures that it could not draw: one line "NAME: reason"
 * each. The list is a help and not a result, so a line of another form is passed over.
 */
#include "not_drawn.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Names and reasons are cut to their fields, figures past LB_NOT_DRAWN_MAX are left out. */
void lb_not_drawn_read(const char *run_dir, struct lb_not_drawn *ret) {
  char path[PATH_MAX], line[400];
  ret->count = 0;
  if (snprintf(path, sizeof path, "%s/figures/not-drawn.txt", run_dir) >= (int)sizeof path) return;
  FILE *file = fopen(path, "re");
  while (file && ret->count < LB_NOT_DRAWN_MAX && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    char *colon = strstr(line, ": ");
    if (!colon || colon == line) continue;
    *colon = '\0';
    snprintf(ret->figure[ret->count].name, sizeof ret->figure->name, "%s", line);
    snprintf(ret->figure[ret->count++].why, sizeof ret->figure->why, "%s", colon + 2);
  }
  if (file) fclose(file);
}

bool lb_not_drawn_has(const struct lb_not_drawn *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->figure[i].name, name) == 0) return true;
  return false;
}

/* The first figure with the reason of figure i: it leads the line of that reason. Usually a missing
 * program is the reason of all of them, which has to be said once. */
static size_t first_with(const struct lb_not_drawn *list, size_t i) {
  size_t first = 0;
  while (strcmp(list->figure[first].why, list->figure[i].why) != 0) first++;
  return first;
}

/* Finds the i-th leader, then names everybody who shares its reason. Text that does not fit is
 * cut. */
bool lb_not_drawn_line(const struct lb_not_drawn *list, size_t i, char *ret, size_t size) {
  size_t leader = 0, used = 0;
  for (; leader < list->count; leader++)
    if (first_with(list, leader) == leader && i-- == 0) break;
  if (leader == list->count) return false;
  for (size_t k = leader; k < list->count && used < size; k++)
    if (first_with(list, k) == leader)
      used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? ", " : "", list->figure[k].name);
  if (used < size) snprintf(ret + used, size - used, " (%s)", list->figure[leader].why);
  return true;
}
