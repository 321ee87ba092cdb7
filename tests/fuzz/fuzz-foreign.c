/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the first line of an adapter, and as an answer: refused in one line, or taken apart into words that are
 * in bounds. clang -fsanitize=fuzzer looks for new inputs (CONTRIBUTING.md); with fuzz_main.c the corpus is a test.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "backends/foreign/foreign_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept, const char *what) {
  if (kept) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static int is_one_line(const char *text) {
  for (; *text; text++)
    if (*text == '\n' || *text == '\r') return 0;
  return 1;
}

static void as_first_line(const char *line) {
  struct lb_error err = {0};
  char words[LB_FOREIGN_LINE_MAX];
  struct foreign_says says;
  const char *rest = foreign_line_first(line, &err);
  if (!rest) {
    promise(*err.text && is_one_line(err.text), "a refusal is one line");
    rest = line;
  }
  snprintf(words, sizeof words, "%s", rest);
  if (foreign_line_read_says(words, &says, &err) < 0) {
    promise(*err.text != '\0', "a refusal says why");
    return;
  }
  promise(says.name[0] && says.topology_count > 0 && says.topology_count <= FOREIGN_TOPOLOGIES_MAX,
          "what is mandatory is there");
  promise(says.record_count <= FOREIGN_RECORDS_MAX, "lists have their bounds");
  promise(memchr(says.name, 0, sizeof says.name) && memchr(says.version, 0, sizeof says.version), "texts end");
}

static void as_answer(const char *line) {
  char copy[LB_FOREIGN_LINE_MAX], quoted[100], again[3 * LB_FOREIGN_LINE_MAX + 10] = "x=";
  struct foreign_words words;
  snprintf(copy, sizeof copy, "%s", line);
  foreign_line_quote(line, quoted, sizeof quoted);
  promise(is_one_line(quoted) && strlen(quoted) < sizeof quoted, "what is quoted can be printed");
  if (foreign_line_split(copy, &words) < 0) return;
  promise(words.count <= FOREIGN_WORDS_MAX, "no more words than there is room for");
  for (size_t i = 0; i < words.count; i++)
    promise(words.word[i] >= copy && words.word[i] < copy + sizeof copy, "words are of the line");
  const char *token = foreign_line_value(&words, 0, "token");
  if (!token) return;
  promise(foreign_line_append_value(again, sizeof again, token, false), "there is room");
  promise(foreign_line_split(again, &words) == 0 && words.count == 1 &&
              strcmp(foreign_line_value(&words, 0, "x"), token) == 0,
          "a value comes back as it was");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char line[LB_FOREIGN_LINE_MAX];
  if (size >= sizeof line) size = sizeof line - 1;
  if (size > 0) memcpy(line, data, size);
  line[size] = '\0';
  line[strcspn(line, "\n")] = '\0'; /* as foreign_child_next_line() gives it out */
  as_first_line(line);
  as_answer(line);
  return 0;
}
