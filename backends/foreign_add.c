/* SPDX-License-Identifier: MIT
 *
 * From what an adapter says of itself to a protocol of the registry.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign_hooks.h"
#include "registry.h"

enum { FIRST_LINE_MS = 20000, QUIT_MS = 300, USUAL_START_MS = 300 };

/* A grant of a foreign library is believed as it is given out: so it has the option that says so, off. */
static const struct lb_option options[] = {
    {.name = "check_validity", .type = LB_OPT_BOOL, .def = 0, .max = 1, .help = "a grant whose lease was over when its answer was read is given back, as a careful caller would do"}, {0}};

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void leave_out(struct foreign *f) {
  struct lb_protocol *p = &f->protocol;
  if (!f->says.can_extend) p->extend = NULL;
  if (!f->says.can_holds) p->holds = NULL;
  if (!f->says.can_signal) p->doubt = NULL;
  if (!f->says.record_count) p->break_lock = NULL;
}

static char *copy_of(const char *text) { return text ? strdup(text) : NULL; }

static struct foreign *make(const struct lb_foreign_plan *plan, const struct foreign_says *says) {
  struct foreign *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (struct foreign){.protocol = foreign_hooks, .says = *says, .command = copy_of(plan->command), .folder = copy_of(plan->folder), .like = copy_of(plan->like), .start_ms = plan->start_ms};
  if (plan->version) snprintf(f->says.version, sizeof f->says.version, "%s", plan->version);
  snprintf(f->name, sizeof f->name, "%s:%s", plan->kind, says->name);
  int n = plan->summary ? asprintf(&f->summary, "%s", plan->summary) : asprintf(&f->summary, "the lock of %s, behind an adapter", says->name);
  if (!f->command || n < 0) return free(f), NULL;
  for (size_t i = 0; i < says->topology_count; i++) f->topologies[i] = f->says.topology[i];
  struct lb_protocol *p = &f->protocol;
  p->name = f->name;
  p->summary = f->summary;
  p->promises = "What its library promises: the head of the adapter's file says it.";
  p->breaks = "What the scenarios show.";
  p->source = f->command;
  p->topologies = f->topologies;
  p->traits = f->says.traits;
  p->options = options;
  p->data = f;
  leave_out(f);
  return f;
}

const struct lb_protocol *lb_foreign_add(const struct lb_foreign_plan *plan, char *err, size_t err_size) {
  char words[LB_FOREIGN_LINE_MAX];
  struct foreign_says says;
  if (snprintf(words, sizeof words, "%s", plan->says) >= (int)sizeof words) return snprintf(err, err_size, "its first line is too long"), NULL;
  if (foreign_read_says(words, &says, err, err_size) < 0) return NULL;
  struct foreign *f = make(plan, &says);
  if (!f) return snprintf(err, err_size, "out of memory"), NULL;
  return lb_protocol_add(&f->protocol, err, err_size) < 0 ? NULL : &f->protocol; /* not freed: the process ends with this line */
}

/* ---- what it says of itself --------------------------------------------------------------------------------------- */

/* 1, 0 after FIRST_LINE_MS and what the machine has taken from it meanwhile, -errno. */
static int first_line(struct foreign_child *child, char **ret) {
  for (;;) {
    int r = foreign_next_line(child, ret);
    if (r) return r;
    if (foreign_await(child, child->out, FIRST_LINE_MS) <= 0) return 0;
  }
}

/* What it has started has become a child of ours (a subreaper), as nothing else of this process has by now. Such a child may have children, which then are ours. */
static void end_orphans(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  for (int found = 1; found;) {
    int pid;
    FILE *in = fopen(path, "re");
    for (found = 0; in && fscanf(in, "%d", &pid) == 1; found++) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
    if (in) fclose(in);
  }
}

/* ---- what it says on stderr while it is asked: all of it where that went well, else its last line in our own ---- */

struct aside {
  int file, kept; /* kept: our stderr */
};

/* The child inherits it. */
static struct aside lay_aside(void) {
  struct aside a = {.file = memfd_create("stderr", MFD_CLOEXEC), .kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  if (a.file >= 0 && a.kept >= 0) dup2(a.file, STDERR_FILENO);
  return a;
}

static void take_back(const struct aside *a) {
  if (a->file >= 0 && a->kept >= 0) dup2(a->kept, STDERR_FILENO);
}

static void end_aside(struct aside *a, bool well, char *err, size_t err_size) {
  char buf[4096];
  ssize_t n = 0;
  off_t end = a->file >= 0 ? lseek(a->file, 0, SEEK_END) : 0, from = well || end < (off_t)sizeof buf ? 0 : end - (off_t)sizeof buf + 1;
  for (; from < end && (n = pread(a->file, buf, sizeof buf - 1, from)) > 0; from += n)
    if (!well || write(STDERR_FILENO, buf, (size_t)n) < 0) break;
  if (!well && from < end && n > 0) {
    while (n > 0 && strchr(" \r\n", buf[n - 1])) n--;
    buf[n] = '\0';
    char *last = strrchr(buf, '\n');
    for (char *c = last ? last + 1 : buf; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    size_t length = strlen(err);
    snprintf(err + length, err_size - length, ": %.200s", last ? last + 1 : buf);
  }
  if (a->file >= 0) close(a->file);
  if (a->kept >= 0) close(a->kept);
}

static int ask(const char *command, char *says, size_t size, int *ret_start_ms, struct aside *aside, char *err, size_t err_size) {
  struct foreign_child child;
  char fate[100] = "", *line = NULL;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int r = foreign_start(&child, command, NULL);
  take_back(aside);
  if (r < 0) return snprintf(err, err_size, "cannot start it: %s", strerror(-r)), r;
  r = first_line(&child, &line);
  const char *words = r > 0 ? foreign_first_line(line, err, err_size) : NULL;
  if (words) snprintf(says, size, "%s", words);
  foreign_end(&child, r == -ENODATA ? QUIT_MS : 0, fate, sizeof fate);
  *ret_start_ms = (int)(child.used / LB_NS_PER_MS) + 1;
  end_orphans();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (words) return 0;
  if (r == -ENODATA) return snprintf(err, err_size, "it %s before it said what it is", fate), r;
  if (r == 0) return snprintf(err, err_size, "it has not said what it is within %d s", FIRST_LINE_MS / 1000), -ETIMEDOUT;
  if (r == -EMSGSIZE) snprintf(err, err_size, "its first line does not end");
  else if (r < 0) return snprintf(err, err_size, "its stdout cannot be read: %s", strerror(-r)), r;
  return -EPROTO;
}

int lb_foreign_ask(const char *command, char *says, size_t size, int *ret_start_ms, char *err, size_t err_size) {
  struct aside aside = lay_aside();
  int r = ask(command, says, size, ret_start_ms, &aside, err, err_size);
  end_aside(&aside, r == 0, err, err_size);
  return r;
}

/* ---- of a foreign protocol ----------------------------------------------------------------------------------------- */

static const struct foreign *foreign_of(const struct lb_protocol *protocol) { return protocol->data; }

const char *lb_foreign_version(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.version; }
const char *lb_foreign_like(const struct lb_protocol *protocol) { return foreign_of(protocol)->like; }
const char *lb_foreign_command(const struct lb_protocol *protocol) { return foreign_of(protocol)->command; }
int lb_foreign_start_ms(const struct lb_protocol *protocol) { return foreign_of(protocol)->start_ms ? foreign_of(protocol)->start_ms : USUAL_START_MS; }
bool lb_foreign_tells_validity(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.can_validity; }
bool lb_foreign_names_record(const struct lb_protocol *protocol) { return foreign_of(protocol)->says.record_count > 0; }
