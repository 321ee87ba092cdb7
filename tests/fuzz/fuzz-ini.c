/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of sections and keys: refused in one line, or texts that are in bounds and hold no newline.
 * clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a test.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static bool is_text(const struct lb_ini *ini, const char *text) {
  return text >= ini->data && text + strlen(text) <= ini->end && !strpbrk(text, "\n\r");
}

static bool is_trimmed(const char *text) {
  size_t length = strlen(text);
  return length == 0 || (!strchr(LB_BLANKS, text[0]) && !strchr(LB_BLANKS, text[length - 1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lb_ini ini;
  struct lb_error err = {0};
  int line = 0;
  lb_ini_begin(&ini, "fuzz.ini", (const char *)data, size, &err);
  while (lb_ini_next(&ini)) {
    promise(ini.line > line, "lines are counted");
    line = ini.line;
    promise(!ini.section || is_text(&ini, ini.section), "a section is of the file");
    promise((ini.kind == LB_INI_SECTION) == !ini.key, "a section has no key, and all else has one");
    if (!ini.key) continue;
    promise(is_text(&ini, ini.key) && is_text(&ini, ini.value), "keys and values are of the file");
    promise(is_trimmed(ini.key) && is_trimmed(ini.value), "they have no blanks at their ends");
    promise(ini.kind != LB_INI_MORE || (ini.indented && *ini.value), "what goes on is indented");
  }
  if (lb_ini_end(&ini) < 0)
    promise(strncmp(err.text, "fuzz.ini:", 9) == 0 && !strchr(err.text, '\n'), "a refusal is one line with its place");
  return 0;
}
