/* SPDX-License-Identifier: MIT
 *
 * What is forgotten: everything libpq reads (PG...), and what a Java virtual machine takes as
 * further arguments.
 */
#include "environ.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void lb_environ_forget(void) {
  static const char *const prefixes[] = {"PG",
                                         "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS=", "CLASSPATH="};
  for (size_t i = 0; environ[i];) {
    bool forget = false;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
      forget |= strncmp(environ[i], prefixes[p], strlen(prefixes[p])) == 0;
    char name[200];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
    if (!forget || unsetenv(name) < 0) i++; /* what was removed is followed by the next at the same place */
  }
}
