/* SPDX-License-Identifier: MIT
 *
 * The origins of servers: what each has, as its own programs say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli.h"
#include "servers/binary.h"
#include "servers/topology.h"

enum { ORIGINS_MAX = 64, FAMILIES_MAX = 24, VERSION_BYTES = 200 };

static bool is_one_of(const struct lb_family *const families[], size_t count, const struct lb_family *family) {
  while (count > 0)
    if (families[--count] == family) return true;
  return false;
}

/* A number ends with a digit, also at the end of a sentence: "2.41.". */
static int digits(const char *number) {
  int length = (int)strspn(number, "0123456789.");
  return length > 0 && number[length - 1] == '.' ? length - 1 : length;
}

/* "glibc 2.41", "musl 1.2.5", or "its own C library". A prefix has that of this machine. */
static void print_c_library(const struct lb_origin *origin) {
  char said[400];
  const char *number;
  if (!origin->is_root) {
    printf("this machine's C library");
    return;
  }
  if (lb_binary_output(origin,
                       (const char *const[]){"/lib/*/libc.so.6 or /usr/lib/*/libc.so.6 or /lib64/libc.so.6", NULL},
                       NULL, said, sizeof said) == 0 &&
      (number = strstr(said, "version ")))
    printf("glibc %.*s", digits(number + 8), number + 8);
  else if (lb_binary_output(origin, (const char *const[]){"/lib/ld-musl-*.so.1", NULL}, NULL, said, sizeof said) == 0 &&
           (number = strstr(said, "Version ")))
    printf("musl %.*s", digits(number + 8), number + 8);
  else printf("its own C library");
}

/* Two families may say the same: Redis and Sentinel are one program. */
static void print_servers(const struct lb_origin *origin) {
  const struct lb_family *asked[FAMILIES_MAX];
  char said[FAMILIES_MAX][VERSION_BYTES];
  const struct lb_topology *t;
  size_t count = 0, told = 0;
  for (size_t i = 0; count < FAMILIES_MAX && (t = lb_topology_at(i)); i++) {
    if (t->own || t->data_count == 0 || is_one_of(asked, count, t->family)) continue;
    asked[count++] = t->family;
    const struct lb_topology *there = lb_topology_from(t, origin);
    size_t same = 0;
    if (lb_topology_missing(there) || lb_topology_version(there, said[told], VERSION_BYTES) < 0) continue;
    while (same < told && strcmp(said[same], said[told]) != 0) same++;
    if (same == told) printf("%s%s", told++ ? "; " : "  ", said[same]);
  }
  if (told == 0) printf("  no server that lockbench knows");
}

int lb_cli_list_origins(void) {
  char *names[ORIGINS_MAX];
  struct lb_error err;
  size_t count = lb_origin_names(names, ORIGINS_MAX);
  for (size_t i = 0; i < count; i++) {
    const struct lb_origin *origin = lb_origin_find(names[i], &err);
    printf("%-12s  ", names[i]);
    if (origin) print_c_library(origin), print_servers(origin);
    else printf("%s", err.text);
    printf("\n");
    free(names[i]);
  }
  return LB_EXIT_OK;
}
