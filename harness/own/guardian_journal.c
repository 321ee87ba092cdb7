/* SPDX-License-Identifier: MIT
 *
 * A line before a fault begins, and one when it is seen to be undone.
 */
#include "guardian_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"

struct lb_guardian lb_guardian;

const char *lb_guardian_name(size_t ward) { return lb_guardian.rules->ward[ward].name; }

/* What was written of a line that does not fit is taken back: the next one begins a line of its own. */
static int note(const char *line) {
  size_t length = strlen(line);
  off_t end = lseek(lb_guardian.journal, 0, SEEK_END);
  ssize_t n = write(lb_guardian.journal, line, length);
  if (n == (ssize_t)length && fsync(lb_guardian.journal) == 0) return 0;
  int error = n < 0 || n == (ssize_t)length ? errno : ENOSPC;
  if (ftruncate(lb_guardian.journal, end) == 0) fsync(lb_guardian.journal);
  return -error;
}

/* "+ 3 clock redis-1 - 60000,-12 IDENTITY", before anything is done: by so much, and so far ahead before; "- 3", when it
 * is seen to be undone. */
struct lb_guardian_fault *lb_guardian_journal_add(const struct lb_guardian_fault *like, struct lb_error *err) {
  char line[600];
  if (lb_guardian.count == LB_GUARDIAN_FAULTS_MAX) return lb_refuse(err, "too many faults at a time"), NULL;
  struct lb_guardian_fault *fault = &lb_guardian.fault[lb_guardian.count];
  *fault = *like;
  fault->number = ++lb_guardian.last;
  fault->since = lb_clock_ns();
  snprintf(line, sizeof line, "+ %u %s %s %s %lld,%lld %s\n", fault->number, lb_mandate_verbs[fault->verb],
           lb_guardian_name(fault->ward),
           fault->other < lb_guardian.rules->count ? lb_guardian_name(fault->other) : "-", (long long)fault->offset_ms,
           (long long)fault->skew_ms, fault->identity);
  int r = note(line);
  if (r < 0) return lb_error(err, r, "cannot write down what is about to be done: %s", strerror(-r)), NULL;
  lb_guardian.count++;
  return fault;
}

static void forget(size_t i) {
  memmove(&lb_guardian.fault[i], &lb_guardian.fault[i + 1], (--lb_guardian.count - i) * sizeof *lb_guardian.fault);
}

void lb_guardian_journal_strike(size_t i) {
  char line[40];
  snprintf(line, sizeof line, "- %u\n", lb_guardian.fault[i].number);
  note(line);
  forget(i);
  if (lb_guardian.count == 0 && ftruncate(lb_guardian.journal, 0) == 0) fsync(lb_guardian.journal);
}

static size_t ward_named(const char *name) {
  size_t i = 0;
  while (i < lb_guardian.rules->count && strcmp(lb_guardian_name(i), name) != 0) i++;
  return i;
}

/* One line of an earlier guardian; what it names and this file does not, is refused. */
static int take_line(const char *line, struct lb_error *err) {
  char verb[20], name[64], other[64], set[44];
  struct lb_guardian_fault fault = {0};
  long long offset = 0, skew = 0;
  if (sscanf(line, "- %u", &fault.number) == 1) {
    for (size_t i = lb_guardian.count; i-- > 0;)
      if (lb_guardian.fault[i].number == fault.number) forget(i);
    return 0;
  }
  if (sscanf(line, "+ %u %19s %63s %63s %43s %127[^\n]", &fault.number, verb, name, other, set, fault.identity) < 5 ||
      sscanf(set, "%lld,%lld", &offset, &skew) < 1)
    return lb_refuse(err, "an earlier run has left '%.*s', which is no line of a journal", (int)strcspn(line, "\n"),
                     line);
  while (fault.verb < LB_MAY_COUNT && strcmp(lb_mandate_verbs[fault.verb], verb) != 0) fault.verb++;
  fault.ward = ward_named(name);
  fault.other = ward_named(other);
  fault.offset_ms = offset;
  fault.skew_ms = skew;
  if (fault.verb == LB_MAY_COUNT || fault.ward == lb_guardian.rules->count ||
      lb_guardian.count == LB_GUARDIAN_FAULTS_MAX)
    return lb_refuse(err, "an earlier run has left '%s %s', which this file does not know", verb, name);
  if (fault.number > lb_guardian.last) lb_guardian.last = fault.number;
  lb_guardian.fault[lb_guardian.count++] = fault;
  return 0;
}

/* One journal for each operator's file: $XDG_STATE_HOME/lockbench/operator-HASH. */
static int journal_path(char *ret, size_t size, struct lb_error *err) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  char real[PATH_MAX], folder[PATH_MAX];
  if (!realpath(lb_guardian.rules->path, real))
    return lb_error(err, -errno, "%s: %s", lb_guardian.rules->path, strerror(errno));
  bool xdg = state && *state == '/';
  int n = snprintf(folder, sizeof folder, "%s%s/lockbench",
                   xdg    ? state
                   : home ? home
                          : "/",
                   xdg ? "" : "/.local/state");
  int r = n < (int)sizeof folder ? lb_files_make_dirs(folder) : -ENAMETOOLONG;
  if (r < 0) return lb_error(err, r, "cannot make %s: %s", folder, strerror(-r));
  return snprintf(ret, size, "%s/operator-%016llx", folder,
                  (unsigned long long)lb_hash(LB_HASH_BEGIN, real, strlen(real))) < (int)size
             ? 0
             : lb_error(err, -ENAMETOOLONG, "%s: the path is too long", folder);
}

int lb_guardian_journal_open(struct lb_error *err) {
  char path[PATH_MAX], line[600];
  int r = journal_path(path, sizeof path, err);
  if (r < 0) return r;
  lb_guardian.journal = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (lb_guardian.journal < 0) return lb_error(err, -errno, "cannot write %s: %s", path, strerror(errno));
  if (flock(lb_guardian.journal, LOCK_EX | LOCK_NB) < 0)
    return close(lb_guardian.journal),
           lb_error(err, -EBUSY, "--operator %s: another run uses it, or undoes what it has done",
                    lb_guardian.rules->path);
  FILE *in = lb_files_open(path);
  long end = 0; /* of the last whole line: before another one nothing was done */
  while (in && r == 0 && fgets(line, sizeof line, in) && strchr(line, '\n')) r = take_line(line, err), end = ftell(in);
  if (in && r == 0 && feof(in) && ftruncate(lb_guardian.journal, end) < 0)
    r = lb_error(err, -errno, "cannot write %s: %s", path, strerror(errno));
  if (in) fclose(in);
  return r;
}
