/* SPDX-License-Identifier: MIT */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "cluster.h"

const char *lb_setting_value(const struct lb_setting *setting, bool measured, bool durable) {
  if (!durable && setting->unsynced) return setting->unsynced;
  return measured ? setting->measured : setting->faults;
}

int lb_setting_write(struct lb_cluster *cluster, const struct lb_server *server, const struct lb_setting *settings,
                     const char *file) {
  int r = 0;
  for (const struct lb_setting *row = settings; row->name && r == 0; row++) {
    const char *value = lb_setting_value(row, cluster->measured, cluster->durable);
    if (value && row->place == LB_SETTING_FILE)
      r = lb_server_write(cluster, server, true, file, "%s%s\n", row->name, value);
  }
  return r;
}

size_t lb_setting_options(const struct lb_cluster *cluster, const struct lb_setting *settings,
                          char (*texts)[LB_SETTING_TEXT_MAX], const char **argv, size_t max) {
  size_t count = 0;
  for (const struct lb_setting *row = settings; row->name && count < max; row++) {
    const char *value = lb_setting_value(row, cluster->measured, cluster->durable);
    if (!value || row->place != LB_SETTING_PROGRAM) continue;
    snprintf(texts[count], LB_SETTING_TEXT_MAX, "%s%s", row->name, value);
    argv[count] = texts[count];
    count++;
  }
  return count;
}

/* What is written as it is anyway, differs in nothing. */
static void print_row(const struct lb_setting *row, const char *value, FILE *out) {
  if (!value || (row->stock && strcmp(value, row->stock) == 0)) return;
  fprintf(out, "%s%s", row->name, value);
  if (row->stock) fprintf(out, " (else %s)", row->stock);
  putc('\n', out);
}

/* Lines of a topology come last in the file, so what they say counts. */
static bool is_overruled(const struct lb_setting *row, const char *lines) {
  size_t length = strlen(row->name);
  for (const char *at = lines; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
    if (strncmp(at, row->name, length) == 0) return true;
  return false;
}

char *lb_setting_differing(const struct lb_topology *topology, bool measured, bool durable) {
  char *text = NULL;
  size_t size;
  FILE *out = lb_need(open_memstream(&text, &size));
  for (const struct lb_setting *row = topology->family->settings; row && row->name; row++)
    if (!is_overruled(row, topology->settings)) print_row(row, lb_setting_value(row, measured, durable), out);
  if (topology->settings) fputs(topology->settings, out);
  return lb_need(fclose(out) == 0 ? text : NULL);
}
