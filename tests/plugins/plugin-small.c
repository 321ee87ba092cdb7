/* SPDX-License-Identifier: MIT
 *
 * The lock of plugin-example.c as a header without the hook teardown would have compiled it: its table ends before that hook. Behind
 * its last byte there is no memory, so that a tool that reads on dies.
 */
#define lockbench_plugin whole
#include "plugin-example.c"
#undef lockbench_plugin

#include <stdint.h>
#include <sys/mman.h>

enum { SMALL = offsetof(struct lb_protocol, teardown) };

extern const struct lb_protocol *lockbench_plugin;
const struct lb_protocol *lockbench_plugin;

/* The table stands at the end of a page, and the next page cannot be read. */
__attribute__((constructor)) static void shrink(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (sizeof(struct lb_protocol) / page + 1) * page;
  char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t size = SMALL;
  if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE) < 0) return;
  char *table = memory + room - SMALL;
  memcpy(table, &lock_file, SMALL);
  memcpy(table + offsetof(struct lb_protocol, size), &size, sizeof size);
  mprotect(memory, room, PROT_READ);
  lockbench_plugin = (const struct lb_protocol *)table;
}
