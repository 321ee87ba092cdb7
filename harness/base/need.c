/* SPDX-License-Identifier: MIT
 *
 * Memory that has to be there. The line goes to stderr without stdio, which may want memory itself.
 */

#include "need.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *lb_need(void *memory) {
  static const char line[] = "lockbench: out of memory\n";
  if (memory) return memory;
  (void)!write(STDERR_FILENO, line, sizeof line - 1);
  _exit(1);
}

char *lb_need_text(const char *text) { return lb_need(strdup(text)); }

char *lb_need_printed(const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  return lb_need(length < 0 ? NULL : text);
}

void *lb_need_shared(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return lb_need(memory == MAP_FAILED ? NULL : memory);
}

void *lb_need_one_more(void *array, size_t count, size_t size) {
  if (count & (count - 1)) return array;
  return lb_need(realloc(array, (count ? 2 * count : 1) * size));
}
