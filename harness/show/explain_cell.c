/* SPDX-License-Identifier: MIT
 *
 * Cells by their names, or by as much of them as only one has. What is ambiguous is answered with
 * the cells that it could be.
 *
 * A user knows a protocol and a scenario, not the exact spelling of a cell. So any part may be left out, and the order
 * is free. Guessing ends there: if two cells fit, none is chosen, because a story about the wrong cell would be
 * believed.
 */
#include "explain_cell.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* FIELDS of a cell can be named. A list keeps ROOM_FOR_MORE bytes for " and 123 more". A run of
 * FEW_CELLS or fewer is listed whole. */
enum { PARTS_MAX = 16, FIELDS = 4, ROOM_FOR_MORE = 30, FEW_CELLS = 12 };

struct parts {                 /* what the words are made of */
  char text[LB_CELL_NAME_MAX]; /* each with its end */
  const char *part[PARTS_MAX];
  size_t count;
};

/* With its guard in any case. This name is unique in a run. */
static void long_name(const json_t *cell, char name[LB_CELL_NAME_MAX]) {
  snprintf(name, LB_CELL_NAME_MAX, "%s.%s.%s", lb_text_of(cell, "scenario"), lb_text_of(cell, "system"),
           lb_text_of(cell, "guard"));
}

/* The short name is unique, too: it means the guard `none`. */
void lb_explain_cell_name(const json_t *cell, char ret[LB_CELL_NAME_MAX]) {
  long_name(cell, ret);
  char *guard = strrchr(ret, '.');
  if (guard && strcmp(guard, ".none") == 0) *guard = '\0';
}

/* ---- parts of a name ------------------------------------------------------------------------- */

/* Scenario, system, protocol, guard; `buffer` is for the protocol. Not the topology: "none" is a
 * guard. */
static void fields_of(const json_t *cell, char buffer[LB_CELL_NAME_MAX], const char *ret[FIELDS]) {
  const char *system = lb_text_of(cell, "system"), *at = strchr(system, '@');
  snprintf(buffer, LB_CELL_NAME_MAX, "%.*s", (int)(at ? at - system : (long)strlen(system)), system);
  ret[0] = lb_text_of(cell, "scenario");
  ret[1] = system;
  ret[2] = buffer;
  ret[3] = lb_text_of(cell, "guard");
}

static bool has_part(const json_t *cell, const char *part) {
  char buffer[LB_CELL_NAME_MAX];
  const char *field[FIELDS];
  fields_of(cell, buffer, field);
  for (int i = 0; i < FIELDS; i++)
    if (strcmp(field[i], part) == 0) return true;
  return false;
}

/* Every part has to be a field, but two parts may be the same one. */
static bool has_all(const json_t *cell, const struct parts *parts) {
  for (size_t i = 0; i < parts->count; i++)
    if (!has_part(cell, parts->part[i])) return false;
  return true;
}

/* How many cells have all parts; the last of them, which is the one if it is 1. *ret_last stays as
 * it was if it is 0. */
static size_t count_with(const json_t *cells, const struct parts *parts, const json_t **ret_last) {
  size_t i, count = 0;
  const json_t *cell;
  json_array_foreach(cells, i, cell) {
    if (!has_all(cell, parts)) continue;
    *ret_last = cell;
    count++;
  }
  return count;
}

static bool is_part_of_any(const json_t *cells, const char *part) {
  const json_t *last;
  return count_with(cells, &(struct parts){.part = {part}, .count = 1}, &last) > 0;
}

/* How long the first part of a word is: as much of it, up to a dot or its end, as any cell has for a part. A dot also
 * stands in names ("a.b" may be one scenario, as a variant of 0.5 is). If no cell has such a part, it ends at the first
 * dot. 0 at a dot. */
static size_t part_length(const json_t *cells, const char *word) {
  char part[LB_CELL_NAME_MAX];
  for (size_t length = strlen(word); length > 0; length--) {
    if ((word[length] && word[length] != '.') || length >= sizeof part) continue;
    snprintf(part, sizeof part, "%.*s", (int)length, word);
    if (is_part_of_any(cells, part)) return length;
  }
  return strcspn(word, ".");
}

/* Words, at their dots where no cell has the whole of it. False: they are too long to be of any
 * cell. */
static bool take_apart(const json_t *cells, const char *const *words, int count, struct parts *ret) {
  size_t used = 0;
  for (int w = 0; w < count; w++) {
    for (const char *at = words[w]; *at;) {
      size_t length = part_length(cells, at);
      if (used + length + 1 > sizeof ret->text || ret->count == PARTS_MAX) return false;
      char *part = memcpy(ret->text + used, at, length);
      part[length] = '\0';
      used += length + 1;
      if (length) ret->part[ret->count++] = part;
      at += length + (at[length] == '.');
    }
  }
  return true;
}

/* ---- what cannot be answered with one cell --------------------------------------------------- */

/* Adds a name to a list behind what is in err; false = no room is left. */
static bool add(struct lb_error *err, bool first, const char *name) {
  size_t used = strlen(err->text);
  if (used + strlen(name) + ROOM_FOR_MORE > sizeof err->text) return false;
  snprintf(err->text + used, sizeof err->text - used, "%s%s", first ? "" : ", ", name);
  return true;
}

/* "a, b and 7 more": the names of cells with these parts, as many as fit. */
static void list_cells(const json_t *cells, const struct parts *parts, struct lb_error *err) {
  size_t i, shown = 0;
  const json_t *cell, *last;
  char name[LB_CELL_NAME_MAX];
  size_t count = count_with(cells, parts, &last);
  json_array_foreach(cells, i, cell) {
    if (!has_all(cell, parts)) continue;
    lb_explain_cell_name(cell, name);
    if (!add(err, shown == 0, name)) break;
    shown++;
  }
  size_t used = strlen(err->text);
  if (count == 0) snprintf(err->text + used, sizeof err->text - used, "no cells");
  else if (shown < count)
    snprintf(err->text + used, sizeof err->text - used, "%s%zu more", shown ? " and " : "", count - shown);
}

/* Cells of a scenario need not be neighbours in an edited file. */
static bool is_first_of_scenario(const json_t *cells, size_t index) {
  const char *scenario = lb_text_of(json_array_get(cells, index), "scenario");
  for (size_t i = 0; i < index; i++)
    if (strcmp(lb_text_of(json_array_get(cells, i), "scenario"), scenario) == 0) return false;
  return true;
}

/* All cells if they are few, else the scenarios: for a user who has named none. */
static void list_all(const json_t *cells, struct lb_error *err) {
  const json_t *cell;
  size_t i;
  if (json_array_size(cells) <= FEW_CELLS) {
    list_cells(cells, &(struct parts){.count = 0}, err);
    return;
  }
  snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), "cells of ");
  json_array_foreach(cells, i, cell) {
    if (is_first_of_scenario(cells, i) && !add(err, i == 0, lb_text_of(cell, "scenario"))) {
      snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), " and more");
      return;
    }
  }
}

/* What is nearest to `wanted`, in `ret`: of the cells' names, or of the parts that they have. False = nothing is
 * near. */
static bool nearest(const json_t *cells, const char *wanted, bool whole, char ret[LB_CELL_NAME_MAX]) {
  const json_t *cell;
  size_t i;
  *ret = '\0';
  json_array_foreach(cells, i,
                     cell) { /* those of a cell beside the best so far: lb_text_suggest() prefers the first of equals */
    char buffer[LB_CELL_NAME_MAX], best[LB_CELL_NAME_MAX];
    const char *word[FIELDS + 1];
    snprintf(best, sizeof best, "%s", ret);
    if (whole) lb_explain_cell_name(cell, buffer), word[1] = buffer;
    else fields_of(cell, buffer, word + 1);
    word[0] = *best ? best : word[1];
    const char *near = lb_text_suggest(wanted, word, whole ? 2 : FIELDS + 1);
    if (near) snprintf(ret, LB_CELL_NAME_MAX, "%s", near);
  }
  return *ret;
}

/* From the most helpful answer to the least: the cell that was probably meant, the word that was,
 * then the cells that fit as many of the words as possible. */
static void unknown_cell(const json_t *cells, const char *wanted, const struct parts *parts, struct lb_error *err) {
  /* The words that go together, in the order they were given; one that leaves no cell is dropped. */
  struct parts known = {.count = 0};
  char near[LB_CELL_NAME_MAX];
  const json_t *last;
  if (nearest(cells, wanted, true, near) || (parts->count == 1 && nearest(cells, wanted, false, near))) {
    lb_refuse(err, "unknown cell '%s', did you mean '%s'?", wanted, near);
    return;
  }
  for (size_t i = 0; i < parts->count; i++) {
    if (!is_part_of_any(cells, parts->part[i]) && nearest(cells, parts->part[i], false, near)) {
      lb_refuse(err, "unknown cell '%s': there is no '%s', did you mean '%s'?", wanted, parts->part[i], near);
      return;
    }
    known.part[known.count++] = parts->part[i];
    if (count_with(cells, &known, &last) == 0) known.count--;
  }
  lb_refuse(err, "unknown cell '%s', this run has ", wanted);
  if (known.count) list_cells(cells, &known, err);
  else list_all(cells, err);
}

/* The only cell that fits and whose question applied there; the others have no record. NULL = none, or several. */
static const json_t *only_asked(const json_t *cells, const struct parts *parts) {
  const json_t *cell, *asked = NULL;
  size_t i;
  json_array_foreach(cells, i, cell) {
    if (!has_all(cell, parts) || strcmp(lb_text_of(cell, "verdict"), "n/a") == 0) continue;
    if (asked) return NULL;
    asked = cell;
  }
  return asked;
}

/* What to show to a user who names no cell. NULL = none was violated. */
static const json_t *first_violated(const json_t *cells) {
  const json_t *cell;
  size_t i;
  json_array_foreach(cells, i, cell)
    if (json_integer_value(json_object_get(cell, "violated")) > 0) return cell;
  return NULL;
}

/* A full name goes first, so that it is found even where its words would fit other cells as well. */
const json_t *lb_explain_cell_named(const json_t *cells, const char *const *words, int count, struct lb_error *err) {
  const json_t *cell, *last = NULL;
  char wanted[LB_CELL_NAME_MAX] = "", name[LB_CELL_NAME_MAX];
  struct parts parts = {.count = 0};
  size_t i, used = 0;
  for (int w = 0; w < count && used < sizeof wanted; w++)
    used += (size_t)snprintf(wanted + used, sizeof wanted - used, "%s%s", w ? "." : "", words[w]);
  json_array_foreach(cells, i, cell) {
    long_name(cell, name);
    if (strcmp(name, wanted) == 0) return cell;
    lb_explain_cell_name(cell, name);
    if (strcmp(name, wanted) == 0) return cell;
  }
  size_t matches = take_apart(cells, words, count, &parts) ? count_with(cells, &parts, &last) : 0;
  if (matches == 1) return last;
  if (matches == 0) return unknown_cell(cells, wanted, &parts, err), NULL;
  if (parts.count && (last = only_asked(cells, &parts))) return last;
  if (count == 0 && (last = first_violated(cells))) return last;
  if (count == 0) lb_refuse(err, "expected a cell, as none was violated; this run has ");
  else lb_refuse(err, "'%s' could be any of %zu cells: ", wanted, matches);
  if (parts.count) list_cells(cells, &parts, err);
  else list_all(cells, err);
  return NULL;
}

void lb_explain_fill_cells(json_t *run) {
  json_t *cells = json_object_get(run, "cells"), *cell;
  const json_t *usual = json_object_get(run, "usual");
  size_t i;
  if (!usual) return;
  json_array_foreach(cells, i, cell) {
    const char *verdict = json_string_value(json_object_get(cell, "verdict"));
    json_t *whole = json_copy(verdict ? json_object_get(usual, verdict) : NULL);
    if (whole && json_object_update(whole, cell) == 0) json_array_set(cells, i, whole);
    json_decref(whole);
  }
  json_object_del(run, "usual");
}
