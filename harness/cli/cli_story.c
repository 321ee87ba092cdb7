/* SPDX-License-Identifier: MIT
 *
 * The trial of a run that is worth telling. plots/chosen.py finds it.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/process.h"

/* One line of the script. */
static int take(const char *line, struct lb_cli_story *ret) {
  json_error_t why;
  *ret = (struct lb_cli_story){.all = json_loads(line, JSON_REJECT_DUPLICATES, &why)};
  if (!ret->all) return lb_complain(LB_EXIT_FAILURE, "chosen.py: %s", why.text);
  ret->cell = json_object_get(ret->all, "cell");
  ret->scenario = json_object_get(ret->all, "scenario");
  ret->trial = json_object_get(ret->all, "trial");
  if (!json_is_object(ret->trial)) ret->trial = NULL;
  return LB_EXIT_OK;
}

/* The lines of the script; NULL after a complaint, with an exit code in *ret_code. */
static FILE *chosen(const char *const words[], size_t count, int *ret_code) {
  FILE *lines = tmpfile();
  *ret_code = lines ? lb_cli_run_script("chosen.py", words, count, NULL, lines)
                    : lb_complain(LB_EXIT_FAILURE, "cannot write a temporary file: %s", strerror(errno));
  if (*ret_code == LB_EXIT_OK) return rewind(lines), lines;
  if (lines) fclose(lines);
  return NULL;
}

int lb_cli_story_find(const struct lb_args *args, const char *dir, const char *const words[], int count,
                      struct lb_cli_story *ret) {
  char number[20], *line = NULL;
  const char *argv[LB_ARGS_MAX + 2] = {number, dir};
  size_t size = 0;
  int code;
  snprintf(number, sizeof number, "%d", args->trial);
  for (int i = 0; i < count; i++) argv[2 + i] = words[i];
  FILE *lines = chosen(argv, 2 + (size_t)count, &code);
  if (!lines) return code;
  code = take(getline(&line, &size, lines) > 0 ? line : "", ret);
  free(line);
  fclose(lines);
  return code;
}

int lb_cli_story_each(const char *dir, lb_cli_story_tell *tell, void *arg) {
  char *line = NULL;
  size_t size = 0;
  int code;
  FILE *lines = chosen((const char *[]){"each", dir}, 2, &code);
  while (lines && code == LB_EXIT_OK && getline(&line, &size, lines) > 0) {
    struct lb_cli_story told;
    code = take(line, &told);
    if (code == LB_EXIT_OK) code = tell(&told, arg);
    lb_cli_story_clear(&told);
  }
  free(line);
  if (lines) fclose(lines);
  return code;
}

void lb_cli_story_clear(struct lb_cli_story *told) {
  json_decref(told->all);
  *told = (struct lb_cli_story){0};
}

const char *lb_cli_story_of(const struct lb_cli_story *told, const char *column) {
  return lb_text_of(told->trial, column);
}

bool lb_cli_story_is_there(const struct lb_cli_story *told) {
  return json_is_true(json_object_get(told->trial, "is_there"));
}

void lb_cli_story_again(const struct lb_cli_story *told, char *ret, size_t size) {
  snprintf(ret, size, "%s run %s", lb_process_called(), lb_text_of(told->all, "again"));
}
