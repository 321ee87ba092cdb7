/* SPDX-License-Identifier: MIT
 *
 * A main() for a fuzz target: runs it once on each file that is given as an argument, so that a corpus
 * is a test. Without this file clang -fsanitize=fuzzer brings a main() of its own.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 21 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
  static char data[FILE_MAX];
  FILE *in = fopen(path, "re");
  if (!in) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
  }
  size_t size = fread(data, 1, sizeof data, in);
  fclose(in);
  uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees a read behind its end */
  if (!exact) return -1;
  memcpy(exact, data, size);
  int r = LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return r;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; i++)
    if (run_file(argv[i]) != 0) return 1;
  printf("%d files\n", argc - 1);
  return 0;
}
