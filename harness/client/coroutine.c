/* SPDX-License-Identifier: MIT
 *
 * makecontext() makes the stack, and _setjmp() and _longjmp() change it from then on: swapcontext() asks the kernel for
 * the signal mask with each switch. Measured on one machine: 10 ns a switch instead of 230.
 *
 * The checks of a fortified longjmp() take a jump to another stack for an error, so this file is built without them.
 * The sanitizers follow a switch only if they are told of it.
 */
#undef _FORTIFY_SOURCE

#include "coroutine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOR_ADDRESSES 1
#endif
#if __has_feature(thread_sanitizer)
#define FOR_THREADS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FOR_ADDRESSES)
#include <sanitizer/asan_interface.h>
#define leave_stack(keep, bottom, size) __sanitizer_start_switch_fiber(keep, bottom, size)
#define enter_stack(kept, bottom, size) __sanitizer_finish_switch_fiber(kept, bottom, size)
#define forget_stack(stack, size) __asan_unpoison_memory_region(stack, size)
#else
#define leave_stack(keep, bottom, size) ((void)(keep))
#define enter_stack(kept, bottom, size) ((void)(kept))
#define forget_stack(stack, size) ((void)(stack))
#endif
#if defined(__SANITIZE_THREAD__) || defined(FOR_THREADS)
#include <sanitizer/tsan_interface.h>
#define fiber_new() __tsan_create_fiber(0)
#define fiber_here() __tsan_get_current_fiber()
#define fiber_switch(fiber) __tsan_switch_to_fiber(fiber, 0)
#define fiber_free(fiber) __tsan_destroy_fiber(fiber)
#else
#define fiber_new() NULL
#define fiber_here() NULL
#define fiber_switch(fiber) ((void)(fiber))
#define fiber_free(fiber) ((void)(fiber))
#endif

/* A function that leaves by a jump never returns. ThreadSanitizer would count one more call at each switch, until its
 * stack of calls is full. clang's `no_sanitize` does not help: it goes on counting calls. gcc 14 knows __has_feature. */
#if defined(FOR_THREADS) && defined(__clang__)
#define NEVER_RETURNS __attribute__((disable_sanitizer_instrumentation)) static _Noreturn
#elif defined(__SANITIZE_THREAD__)
#define NEVER_RETURNS __attribute__((no_sanitize("thread"))) static _Noreturn
#else
#define NEVER_RETURNS static _Noreturn
#endif

/* A client library puts a few kB on its stack. Untouched pages cost nothing. */
enum { STACK = 256 * 1024, GUARD = 4096 };

struct lb_coroutine {
  jmp_buf here, outside;
  ucontext_t first; /* not on a stack: no function returns from there, and a sanitizer would go on guarding it */
  void (*run)(void *arg);
  void *arg;
  char *map, *stack; /* the page between them cannot be touched: what grows too far ends here */
  bool begun, over;
  void *fiber, *fiber_outside; /* of ThreadSanitizer */
  void *kept, *kept_outside;   /* of AddressSanitizer, as the next two */
  const void *bottom_outside;
  size_t size_outside;
};

static __thread struct lb_coroutine *beginning;

NEVER_RETURNS void go_outside(struct lb_coroutine *c, void **keep) {
  leave_stack(keep, c->bottom_outside, c->size_outside);
  fiber_switch(c->fiber_outside);
  _longjmp(c->outside, 1);
}

static void begin(void) {
  struct lb_coroutine *c = beginning;
  enter_stack(NULL, &c->bottom_outside, &c->size_outside);
  c->run(c->arg);
  c->over = true;
  go_outside(c, NULL);
}

/* Its context is of use once: from then on `here` says where it is. */
NEVER_RETURNS void go_inside(struct lb_coroutine *c) {
  leave_stack(&c->kept_outside, c->stack, STACK);
  c->fiber_outside = fiber_here();
  fiber_switch(c->fiber);
  if (c->begun) _longjmp(c->here, 1);
  c->begun = true;
  beginning = c;
  getcontext(&c->first);
  c->first.uc_stack.ss_sp = c->stack;
  c->first.uc_stack.ss_size = STACK;
  c->first.uc_link = NULL;
  makecontext(&c->first, begin, 0);
  setcontext(&c->first);
  abort();
}

bool lb_coroutine_resume(struct lb_coroutine *c) {
  if (_setjmp(c->outside) == 0) go_inside(c);
  enter_stack(c->kept_outside, NULL, NULL);
  return !c->over;
}

void lb_coroutine_yield(struct lb_coroutine *c) {
  if (_setjmp(c->here) == 0) go_outside(c, &c->kept);
  enter_stack(c->kept, &c->bottom_outside, &c->size_outside);
}

struct lb_coroutine *lb_coroutine_new(void (*run)(void *arg), void *arg) {
  struct lb_coroutine *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->map = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (c->map == MAP_FAILED || mprotect(c->map, GUARD, PROT_NONE) < 0) {
    int error = errno;
    if (c->map != MAP_FAILED) munmap(c->map, GUARD + STACK);
    free(c);
    errno = error;
    return NULL;
  }
  c->stack = c->map + GUARD;
  c->run = run;
  c->arg = arg;
  c->fiber = fiber_new();
  return c;
}

void lb_coroutine_free(struct lb_coroutine *c) {
  if (!c) return;
  fiber_free(c->fiber);
  forget_stack(c->stack, STACK);
  munmap(c->map, GUARD + STACK);
  free(c);
}
