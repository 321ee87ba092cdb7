/* SPDX-License-Identifier: MIT
 *
 * Small things that all parts of the page use: members of run.json as text, and how the page speaks
 * of files.
 */
#include "report_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "html.h"

const char *lb_report_string(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

/* A missing member would end the program here, which is why lb_report_load() looks at all of them
 * first. */
bool lb_report_is(const json_t *object, const char *key, const char *text) {
  return strcmp(lb_report_string(object, key), text) == 0;
}

void lb_report_value(FILE *out, const json_t *object, const char *key, const char *absent) {
  const json_t *value = json_object_get(object, key);
  if (!value || json_is_null(value)) {
    lb_html_text(out, absent);
  } else if (json_is_string(value)) {
    lb_html_text(out, json_string_value(value));
  } else if (json_is_real(value)) {
    lb_html_textf(out, "%.10g", json_real_value(value));
  } else { /* JSON's 17 digits would show 0.3 as 0.29999999999999999 */
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    lb_html_text(out, text);
    free(text);
  }
}

void lb_report_place(const char *run_dir, const char *file, char *ret, size_t size) {
  char real[PATH_MAX];
  const char *called = lb_called(), *slash = strrchr(called, '/'), *name;
  if (!slash || !realpath(run_dir, real)) {
    snprintf(ret, size, "%s", *file ? file : ".");
    return;
  }
  /* The checkout is where the tool was called, without the "./" that a shell needs. */
  int checkout = strncmp(called, "./", 2) == 0 && slash == called + 1 ? 0 : (int)(slash + 1 - called);
  /* A folder in a folder named results is taken for one of the checkout's own. */
  if ((name = strrchr(real, '/')) && name - real >= 8 && strncmp(name - 8, "/results", 8) == 0)
    snprintf(ret, size, "%.*s%s%s%s", checkout, called, name - 7, *file ? "/" : "", file);
  else snprintf(ret, size, "%s%s%s", real, *file ? "/" : "", file);
}

bool lb_report_has_file(const char *run_dir, const char *name) {
  char path[PATH_MAX];
  return snprintf(path, sizeof path, "%s/%s", run_dir, name) < (int)sizeof path && access(path, R_OK) == 0;
}
