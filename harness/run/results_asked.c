/* SPDX-License-Identifier: MIT
 *
 * How the servers of a run were set, as JSON: the settings that are not those of a server that nobody
 * has configured. Two runs whose figures are to be compared have to agree in these, as in the options
 * of the protocols (results_cells.c).
 */
#include <stdlib.h>
#include <string.h>

#include "results.h"
#include "servers/setting.h"

/* What decides how the servers of a cell are set. */
struct asked {
  const struct lb_topology *topology;
  bool measured, durable;
};

static struct asked asked_by(const struct lb_cell *cell) {
  return (struct asked){.topology = cell->topology,
                        .measured = cell->scenario->kind == LB_KIND_LOAD,
                        .durable = lb_topology_on_disk(cell->topology, cell->scenario->memory_storage)};
}

static bool is_first(const struct lb_plan *plan, size_t index) {
  struct asked a = asked_by(&plan->cells[index]);
  for (size_t i = 0; i < index; i++) {
    struct asked b = asked_by(&plan->cells[i]);
    if (!plan->cells[i].skip[0] && b.topology == a.topology && b.measured == a.measured && b.durable == a.durable) return false;
  }
  return true;
}

static json_t *lines_json(char *text) {
  json_t *list = json_array();
  for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1)
    json_array_append_new(list, json_stringn(line, (size_t)(end - line)));
  free(text);
  return list;
}

json_t *lb_results_settings(const struct lb_plan *plan) {
  json_t *list = json_array();
  for (size_t i = 0; i < plan->cell_count; i++) {
    struct asked a = asked_by(&plan->cells[i]);
    if (plan->cells[i].skip[0] || a.topology->data_count == 0 || a.topology->own || !is_first(plan, i)) continue;
    json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:o}", "topology", a.topology->name, "measured", a.measured, "storage",
                                          a.durable ? "disk" : "memory", "differs", lines_json(lb_setting_differing(a.topology, a.measured, a.durable))));
  }
  return list;
}
