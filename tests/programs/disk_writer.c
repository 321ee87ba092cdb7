/* test: bare */
/* SPDX-License-Identifier: MIT
 *
 * Writes to the file `data` what it is told to, for the tests of the preload library that sees it; never with
 * sanitizers.
 *
 * Usage: disk-writer {append TEXT | put AT TEXT | sync}...
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int log = open("data", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644), fd = open("data", O_RDWR | O_CLOEXEC);
  int good = log >= 0 && fd >= 0;
  for (int i = 1; i < argc && good; i++) {
    if (strcmp(argv[i], "sync") == 0) good = fdatasync(fd) == 0;
    else if (strcmp(argv[i], "append") == 0 && i + 1 < argc)
      i++, good = write(log, argv[i], strlen(argv[i])) == (ssize_t)strlen(argv[i]);
    else if (strcmp(argv[i], "put") == 0 && i + 2 < argc)
      i += 2, good = pwrite(fd, argv[i], strlen(argv[i]), atol(argv[i - 1])) == (ssize_t)strlen(argv[i]);
    else good = 0;
  }
  return good ? 0 : 1;
}
