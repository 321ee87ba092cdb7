/* SPDX-License-Identifier: MIT
 *
 * A preload library, no part of the harness: it gives the server it is loaded into the clocks of
 * one page (skew.h), whose file the environment variable LOCKBENCH_SKEW names. Without the
 * variable, without a page, or while the page says that nothing is skewed, every clock is the true
 * one. The page stays mapped in forked children, and programs started by the server map it again.
 *
 * It is linked to no C library, so it loads into programs of an older glibc or of musl: it asks for nothing younger than
 * glibc 2.17, nor for what only one of them has.
 *
 * It calls nothing that could call it back. Allocators read the clock before main, from within their own
 * initialisation, and dlsym may allocate: so the kernel's fast clock is looked up in the image that the kernel maps
 * into every process (vDSO). The first reading of a clock, in any constructor, sets everything up. Where the image has
 * no such symbol, it is a system call.
 *
 * Covered are readings: clock_gettime, gettimeofday, time and timespec_get, also where a library
 * calls them. And waiting on a condition variable (pthread_cond_timedwait, pthread_cond_clockwait),
 * because a JVM computes the end of every wait and every sleep from its clock: the kernel is given
 * the true time that the deadline stands for when the wait begins; a later change does not alter
 * it.
 *
 * Not covered, and so on true time: relative sleeps and poll timeouts (a second of them stays a
 * true one also where the clocks run at another rate); timerfd, clock_nanosleep and the timed
 * functions of mutexes and semaphores with an absolute time (on a clock that was set forward they
 * wait longer by as much); file times; what libc reads for itself (syslog); statically linked
 * programs; programs that ask the kernel directly, as those written in Go do, or that look for the
 * function in libc itself, as old JVMs may.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "skew_page.h"

#define NS_PER_S INT64_C(1000000000)
#define EXPORTED __attribute__((visibility("default")))

/* ---- true clocks ----------------------------------------------------------------------------- */

typedef int gettime_fn(clockid_t clock, struct timespec *ret); /* 0 or -errno, as the kernel's */

static int by_system_call(clockid_t clock, struct timespec *ret) {
  int error = errno;
  int r = syscall(SYS_clock_gettime, clock, ret) == 0 ? 0 : -errno;
  errno = error;
  return r;
}

#if defined(__x86_64__)
#define VDSO_NAME "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define VDSO_NAME "__kernel_clock_gettime"
#elif defined(__riscv)
#define VDSO_NAME "__vdso_clock_gettime"
#endif

#ifdef VDSO_NAME
/* Everything the dynamic section points to, relative to where the image lies. Only the classic hash
 * table tells how many symbols there are; an image without one is left alone. */
static gettime_fn *find_fast(void) {
  uintptr_t image = getauxval(AT_SYSINFO_EHDR);
  if (!image) return NULL;
  const ElfW(Ehdr) *header = (const void *)image;
  const ElfW(Phdr) *segment = (const void *)(image + header->e_phoff);
  const ElfW(Dyn) *dynamic = NULL;
  uintptr_t shift = 0;
  for (unsigned i = 0; i < header->e_phnum; i++) {
    if (segment[i].p_type == PT_LOAD) shift = image + segment[i].p_offset - segment[i].p_vaddr;
    if (segment[i].p_type == PT_DYNAMIC) dynamic = (const void *)(image + segment[i].p_offset);
  }
  const ElfW(Sym) *symbol = NULL;
  const char *names = NULL;
  const ElfW(Word) *hash = NULL;
  for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
    const void *at = (const void *)(shift + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SYMTAB) symbol = at;
    if (dynamic->d_tag == DT_STRTAB) names = at;
    if (dynamic->d_tag == DT_HASH) hash = at;
  }
  for (ElfW(Word) i = 0; symbol && names && hash && i < hash[1]; i++)
    if (symbol[i].st_shndx != SHN_UNDEF && strcmp(names + symbol[i].st_name, VDSO_NAME) == 0)
      return (gettime_fn *)(shift + symbol[i].st_value);
  return NULL;
}
#else
static gettime_fn *find_fast(void) { return NULL; }
#endif

static int find_and_call(clockid_t clock, struct timespec *ret);
static gettime_fn *_Atomic true_clock = find_and_call;

/* The first reading of a clock finds the fast way and takes it; from then on the pointer leads
 * there directly. Several threads may be the first: they all find the same. */
static int find_and_call(clockid_t clock, struct timespec *ret) {
  gettime_fn *found = find_fast();
  atomic_store_explicit(&true_clock, found ? found : by_system_call, memory_order_relaxed);
  return (found ? found : by_system_call)(clock, ret);
}

static int read_true(clockid_t clock, struct timespec *ret) {
  return atomic_load_explicit(&true_clock, memory_order_relaxed)(clock, ret);
}

static int64_t true_ns(clockid_t clock) {
  struct timespec ts = {0};
  read_true(clock, &ts);
  return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- the page -------------------------------------------------------------------------------- */

static const struct lb_skew no_page; /* nothing is skewed */
static const struct lb_skew *_Atomic known_page;

static const struct lb_skew *map_page(void) {
  const char *path = getenv("LOCKBENCH_SKEW");
  int fd = path && path[0] ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
  struct statx st;
  if (fd < 0) return &no_page;
  const struct lb_skew *page = MAP_FAILED;
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE, &st) == 0 && st.stx_size >= sizeof *page)
    page = mmap(NULL, sizeof *page, PROT_READ, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (page == MAP_FAILED) return &no_page;
  if (page->magic == LB_SKEW_MAGIC) return page;
  munmap((void *)page, sizeof *page);
  return &no_page;
}

/* Several threads may come here at once; the first mapping counts. */
static const struct lb_skew *find_page(void) {
  int error = errno;
  const struct lb_skew *page = map_page(), *first = NULL;
  if (!atomic_compare_exchange_strong(&known_page, &first, page)) {
    if (page != &no_page) munmap((void *)page, sizeof *page);
    page = first;
  }
  errno = error;
  return page;
}

static inline const struct lb_skew *the_page(void) {
  const struct lb_skew *page = atomic_load_explicit(&known_page, memory_order_acquire);
  return __builtin_expect(page != NULL, 1) ? page : find_page();
}

/* ---- skewed clocks --------------------------------------------------------------------------- */

static bool is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

static bool is_monotonic(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_BOOTTIME;
}

/* The page knows two clocks; their relatives, which count from elsewhere, are as far from the truth
 * as they are. */
static void apply(const struct lb_skew_line *line, clockid_t clock, struct timespec *ts) {
  int64_t reads = ts->tv_sec * NS_PER_S + ts->tv_nsec;
  if (clock == CLOCK_TAI || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME) {
    int64_t now = true_ns(clock == CLOCK_TAI ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    reads += lb_skew_at(line, now) - now;
    if (reads < 0) reads = 0;
  } else {
    reads = lb_skew_at(line, reads);
  }
  ts->tv_sec = (time_t)(reads / NS_PER_S);
  ts->tv_nsec = (long)(reads % NS_PER_S);
}

static __attribute__((noinline)) void skew(const struct lb_skew *page, clockid_t clock, struct timespec *ts) {
  struct lb_skew_line line;
  if (!is_wall(clock) && !is_monotonic(clock)) return;
  if (lb_skew_read(page, is_wall(clock) ? LB_SKEW_WALL : LB_SKEW_MONO, &line)) apply(&line, clock, ts);
}

/* One load and one comparison while nothing is skewed: the shim must not change the speed of a
 * server that is only watched. */
static int read_clock(clockid_t clock, struct timespec *ret) {
  int r = read_true(clock, ret);
  const struct lb_skew *page = the_page();
  if (__builtin_expect(atomic_load_explicit(&page->now, memory_order_relaxed) != 0, 0) && r == 0 && ret)
    skew(page, clock, ret);
  return r;
}

/* ---- what programs call ---------------------------------------------------------------------- */

EXPORTED int clock_gettime(clockid_t clock, struct timespec *ret) {
  int r = read_clock(clock, ret);
  if (r == 0) return 0;
  errno = -r;
  return -1;
}

EXPORTED int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
  struct timespec ts;
  if (zone) memset(zone, 0, sizeof(struct timezone));
  read_clock(CLOCK_REALTIME, &ts);
  *ret = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
  return 0;
}

/* The kernel's own answer comes from the coarse clock as well. */
EXPORTED time_t time(time_t *ret) {
  struct timespec ts;
  read_clock(CLOCK_REALTIME_COARSE, &ts);
  if (ret) *ret = ts.tv_sec;
  return ts.tv_sec;
}

EXPORTED int timespec_get(struct timespec *ret, int base) {
  if (base != TIME_UTC) return 0;
  read_clock(CLOCK_REALTIME, ret);
  return base;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A condition variable does not tell its clock, but the deadline does: the two clocks are decades
 * apart. */
static unsigned clock_of(const struct lb_skew_line line[LB_SKEW_CLOCKS], int64_t deadline_ns) {
  int64_t wall = lb_skew_at(&line[LB_SKEW_WALL], true_ns(CLOCK_REALTIME));
  int64_t mono = lb_skew_at(&line[LB_SKEW_MONO], true_ns(CLOCK_MONOTONIC));
  return deadline_ns > mono / 2 + wall / 2 ? LB_SKEW_WALL : LB_SKEW_MONO;
}

/* The deadline on the true clock; `clock` LB_SKEW_CLOCKS = not known. */
static const struct timespec *true_deadline(unsigned clock, const struct timespec *deadline, struct timespec *buf) {
  struct lb_skew_line line[LB_SKEW_CLOCKS];
  const struct lb_skew *page = the_page();
  if (!deadline || deadline->tv_nsec < 0 || deadline->tv_nsec >= NS_PER_S) return deadline; /* to be refused */
  if (deadline->tv_sec < 0 || deadline->tv_sec >= INT64_MAX / 2 / NS_PER_S) return deadline;
  if (!lb_skew_read(page, LB_SKEW_WALL, &line[LB_SKEW_WALL]) || !lb_skew_read(page, LB_SKEW_MONO, &line[LB_SKEW_MONO]))
    return deadline;
  int64_t at = deadline->tv_sec * NS_PER_S + deadline->tv_nsec;
  at = lb_skew_when(&line[clock < LB_SKEW_CLOCKS ? clock : clock_of(line, at)], at);
  *buf = (struct timespec){.tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S)};
  return buf;
}

typedef int timedwait_fn(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *deadline);
typedef int clockwait_fn(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                         const struct timespec *deadline);

/* musl has none. */
extern void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
    __attribute__((weak));

/* Up to glibc 2.33 dlsym() may find the condition variables of before NPTL, which take the bytes of a newer one for a
 * pointer (GLIBC_2.2.5 on x86-64). */
static void *look_up(const char *name) {
  void *found = dlvsym ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
  return found ? found : dlsym(RTLD_NEXT, name);
}

/* libc's own function. The first wait comes when main() runs, so dlsym() may be called here. */
static void *find_next(void *_Atomic *known, const char *name) {
  void *found = atomic_load_explicit(known, memory_order_relaxed);
  if (!found) atomic_store_explicit(known, found = look_up(name), memory_order_relaxed);
  return found;
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                                    const struct timespec *restrict deadline) {
  static void *_Atomic known;
  timedwait_fn *next = (timedwait_fn *)find_next(&known, "pthread_cond_timedwait");
  struct timespec buf;
  return next ? next(cond, mutex, true_deadline(LB_SKEW_CLOCKS, deadline, &buf)) : ENOSYS;
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t clock,
                                    const struct timespec *restrict deadline);
EXPORTED int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t clock,
                                    const struct timespec *restrict deadline) {
  static void *_Atomic known;
  clockwait_fn *next = (clockwait_fn *)find_next(&known, "pthread_cond_clockwait");
  struct timespec buf;
  return next ? next(cond, mutex, clock, true_deadline(is_wall(clock) ? LB_SKEW_WALL : LB_SKEW_MONO, deadline, &buf))
              : ENOSYS;
}
