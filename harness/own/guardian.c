/* SPDX-License-Identifier: MIT
 *
 * What is seen decides, never an exit status: a command may end with 0 and have done nothing. Servers are looked at by
 * children, as a client library may hang, and a fault is what differs between two looks.
 */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "servers/cluster.h"

enum {
  COMMAND_MS = 20000, /* a command that takes longer is ended */
  SHOWS_MS = 15000,   /* until its effect is seen */
  STARTS_MS = 60000,  /* ... of a start */
  ROUND_MS = 15000,   /* before an undo is tried again */
  ROUNDS = 3,         /* so often */
  WELL_MS = 90000,    /* until the servers are well again */
  ASK_MS = 1000,      /* one question */
  LOOK_MS = 8000,     /* all of a look, before it is given up */
  POLL_MS = 100,
  ANSWER_MS = 600000, /* of the guardian: longer than all of this */
  LB_GUARDIAN_FAULTS_MAX = 2 * LB_MANDATE_MOST
};

struct lb_guardian_fault {
  enum lb_mandate_verb verb;
  size_t ward, other;
  int64_t offset_ms;
  lb_ns since;
  unsigned number;    /* in the journal */
  bool seen;          /* its effect was */
  bool ordered_back;  /* a command has undone it, and the proof is still to come */
  char identity[128]; /* of the server before it; "" = it told none */
};

static struct lb_guardian {
  const struct lb_own_operator *rules;
  struct lb_env *env;
  struct lb_guardian_fault fault[LB_GUARDIAN_FAULTS_MAX];
  size_t count;
  unsigned last;       /* number of a fault */
  int journal;         /* locked as long as a guardian lives */
  char why[300];       /* the last command that undoes has failed; "" = none */
  bool failed;         /* something could not be undone */
  bool early;          /* something was undone although no order said so */
  char false_kill[64]; /* the server that was seen to be killed, and is the one of before; "" = none */
} lb_guardian;

static const char *lb_guardian_name(size_t ward) { return lb_guardian.rules->ward[ward].name; }

/* ---- looking ----------------------------------------------------------------------------------------------------- */

struct lb_guardian_look {
  bool accepts; /* a connection */
  bool answers; /* a request */
  bool told;    /* its identity */
  int primary;  /* the ward that decides; -1 = none, or it is not known */
  int left;     /* lb_family.left, of both ends of a link together */
  int follows;  /* which end has all of the other, as a bit each */
  bool has_time;
  int64_t ahead_ms; /* of the true time */
  char identity[128];
};

static bool accepts(const struct lb_own_address *at) {
  struct addrinfo like = {.ai_socktype = SOCK_STREAM}, *found;
  char port[8];
  bool yes = false;
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  if (getaddrinfo(at->host, port, &like, &found) != 0) return false;
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
  socklen_t size = sizeof error;
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  if (fd >= 0 && (connect(fd, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS))
    yes = poll(&p, 1, ASK_MS) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return yes;
}

static lb_ns soon(void) { return lb_clock_ns() + ASK_MS * LB_NS_PER_MS; }

static int has_left(const struct lb_family *family, struct lb_cluster *cluster, size_t index) {
  return family->left && index < cluster->data_count ? family->left(cluster, index, soon()) == 1 : 0;
}

static bool is_up_with(const struct lb_family *family, struct lb_cluster *cluster, size_t index, size_t leader) {
  return family->caught_up && index < cluster->data_count && leader < cluster->data_count &&
         family->caught_up(cluster, index, leader, soon()) == 0;
}

/* In the child: what the proof of this verb needs. A server that does not answer is asked nothing more. */
static void look(enum lb_mandate_verb verb, size_t ward, size_t other, struct lb_guardian_look *ret) {
  static struct lb_cluster cluster;
  size_t index, end = 0;
  const struct lb_own *own = lb_own_operator_server(lb_guardian.rules, ward, &index);
  bool linked = other < lb_guardian.rules->count && lb_own_operator_server(lb_guardian.rules, other, &end) == own;
  *ret = (struct lb_guardian_look){.primary = -1, .accepts = accepts(&lb_guardian.rules->ward[ward].at)};
  if (!own) return;
  const struct lb_family *family = own->topology.family;
  lb_cluster_init(&cluster, &own->topology, lb_guardian.env);
  if (linked) {
    ret->left = has_left(family, &cluster, index) + has_left(family, &cluster, end);
    ret->follows = is_up_with(family, &cluster, index, end) + 2 * is_up_with(family, &cluster, end, index);
  }
  if (!ret->accepts) return;
  ret->answers = !family->answers || index >= cluster.data_count || family->answers(&cluster, index, soon()) == 0;
  if (!ret->answers || index >= cluster.data_count) return;
  ret->told = family->identity && family->identity(&cluster, index, soon(), ret->identity, sizeof ret->identity) == 0;
  int64_t wall_ms, true_ms = lb_clock_wall_ms();
  ret->has_time = verb == LB_MAY_CLOCK && family->wall_ms && family->wall_ms(&cluster, index, soon(), &wall_ms) == 0;
  if (ret->has_time) ret->ahead_ms = wall_ms - true_ms;
  int primary = verb == LB_MAY_DEPOSE && family->primary ? family->primary(&cluster, soon()) : -1;
  if (primary >= 0) ret->primary = (int)lb_own_operator_ward(lb_guardian.rules, own, (size_t)primary);
}

/* True if the child ended by itself in time. */
static bool await_child(pid_t pid, lb_ns deadline) {
  int status;
  pid_t r;
  while ((r = waitpid(pid, &status, WNOHANG)) == 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS);
  if (r == 0) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
  return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void lb_guardian_look_at(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                struct lb_guardian_look *ret) {
  struct lb_guardian_look *seen = lb_need_shared(sizeof *seen);
  seen->primary = -1;
  pid_t pid = lb_process_fork();
  if (pid == 0) look(verb, f->ward, f->other, seen), _exit(0);
  if (pid > 0) await_child(pid, lb_clock_ns() + LOOK_MS * LB_NS_PER_MS);
  *ret = *seen;
  munmap(seen, sizeof *seen);
}

/* Whether the servers of one kind are well: each answers, one decides, and the others have all of it. */
static bool is_well(struct lb_own *own, char *why, size_t size) {
  static struct lb_cluster cluster;
  const struct lb_family *family = own->topology.family;
  lb_cluster_init(&cluster, &own->topology, lb_guardian.env);
  for (size_t i = 0; i < cluster.data_count; i++)
    if (family->answers && family->answers(&cluster, i, soon()) != 0)
      return snprintf(why, size, "%s does not answer",
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, i))),
             false;
  if (!family->primary || family->independent || cluster.data_count < 2) return true;
  int primary = family->primary(&cluster, soon());
  if (primary < 0) return snprintf(why, size, "no server of %s decides", own->topology.name), false;
  for (size_t i = 0; i < cluster.data_count && family->caught_up && !own->topology.shards; i++)
    if ((int)i != primary && !is_up_with(family, &cluster, i, (size_t)primary))
      return snprintf(why, size, "%s does not follow %s",
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, i)),
                      lb_guardian_name(lb_own_operator_ward(lb_guardian.rules, own, (size_t)primary))),
             false;
  return true;
}

static bool lb_guardian_look_are_well(char *why, size_t size) {
  char *said = lb_need_shared(300);
  pid_t pid = lb_process_fork();
  if (pid == 0) {
    struct lb_own *own;
    bool well = true;
    for (size_t i = 0; well && (own = lb_own_at(i)); i++) well = is_well(own, said, 300);
    _exit(well ? 0 : 1);
  }
  bool well = pid > 0 && await_child(pid, lb_clock_ns() + LB_SERVERS_MAX * LOOK_MS * LB_NS_PER_MS);
  if (!well) snprintf(why, size, "%s", said[0] ? said : "the servers do not answer");
  munmap(said, 300);
  return well;
}

/* ---- the journal ------------------------------------------------------------------------------------------------- */

static int note(const char *line) {
  size_t length = strlen(line);
  return write(lb_guardian.journal, line, length) == (ssize_t)length && fsync(lb_guardian.journal) == 0 ? 0 : -errno;
}

/* "+ 3 cut redis-1 redis-2 0 IDENTITY", before anything is done; "- 3", when it is seen to be undone. */
static struct lb_guardian_fault *lb_guardian_journal_add(const struct lb_guardian_fault *like, struct lb_error *err) {
  char line[600];
  if (lb_guardian.count == LB_GUARDIAN_FAULTS_MAX) return lb_refuse(err, "too many faults at a time"), NULL;
  struct lb_guardian_fault *fault = &lb_guardian.fault[lb_guardian.count];
  *fault = *like;
  fault->number = ++lb_guardian.last;
  fault->since = lb_clock_ns();
  snprintf(line, sizeof line, "+ %u %s %s %s %lld %s\n", fault->number, lb_mandate_verbs[fault->verb],
           lb_guardian_name(fault->ward),
           fault->other < lb_guardian.rules->count ? lb_guardian_name(fault->other) : "-", (long long)fault->offset_ms,
           fault->identity);
  int r = note(line);
  if (r < 0) return lb_error(err, r, "cannot write down what is about to be done: %s", strerror(-r)), NULL;
  lb_guardian.count++;
  return fault;
}

static void lb_guardian_journal_strike(size_t i) {
  char line[40];
  snprintf(line, sizeof line, "- %u\n", lb_guardian.fault[i].number);
  note(line);
  memmove(&lb_guardian.fault[i], &lb_guardian.fault[i + 1], (--lb_guardian.count - i) * sizeof *lb_guardian.fault);
  if (lb_guardian.count == 0 && ftruncate(lb_guardian.journal, 0) == 0) fsync(lb_guardian.journal);
}

static size_t ward_named(const char *name) {
  size_t i = 0;
  while (i < lb_guardian.rules->count && strcmp(lb_guardian_name(i), name) != 0) i++;
  return i;
}

/* One line of an earlier guardian; what it names and this file does not, is refused. */
static int take_line(const char *line, struct lb_error *err) {
  char verb[20], name[64], other[64];
  struct lb_guardian_fault fault = {0};
  long long offset = 0;
  if (sscanf(line, "- %u", &fault.number) == 1) {
    for (size_t i = lb_guardian.count; i-- > 0;)
      if (lb_guardian.fault[i].number == fault.number)
        memmove(&lb_guardian.fault[i], &lb_guardian.fault[i + 1], (--lb_guardian.count - i) * sizeof fault);
    return 0;
  }
  if (sscanf(line, "+ %u %19s %63s %63s %lld %127[^\n]", &fault.number, verb, name, other, &offset, fault.identity) < 5)
    return 0; /* it was cut off, so nothing was done after it */
  while (fault.verb < LB_MAY_COUNT && strcmp(lb_mandate_verbs[fault.verb], verb) != 0) fault.verb++;
  fault.ward = ward_named(name);
  fault.other = ward_named(other);
  fault.offset_ms = offset;
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
  uint64_t hash = 0xcbf29ce484222325;
  if (!realpath(lb_guardian.rules->path, real))
    return lb_error(err, -errno, "%s: %s", lb_guardian.rules->path, strerror(errno));
  for (const char *c = real; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
  bool xdg = state && *state == '/';
  int n = snprintf(folder, sizeof folder, "%s%s/lockbench",
                   xdg    ? state
                   : home ? home
                          : "/",
                   xdg ? "" : "/.local/state");
  int r = n < (int)sizeof folder ? lb_files_make_dirs(folder) : -ENAMETOOLONG;
  if (r < 0) return lb_error(err, r, "cannot make %s: %s", folder, strerror(-r));
  return snprintf(ret, size, "%s/operator-%016llx", folder, (unsigned long long)hash) < (int)size
             ? 0
             : lb_error(err, -ENAMETOOLONG, "%s: the path is too long", folder);
}

static int lb_guardian_journal_open(struct lb_error *err) {
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
  while (in && r == 0 && fgets(line, sizeof line, in)) r = take_line(line, err);
  if (in) fclose(in);
  return r;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static _Noreturn void be_command(const char *command, int out) {
  int null = open("/dev/null", O_RDWR);
  setsid();
  for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL);
  dup2(null, 0);
  dup2(out, 1);
  dup2(out, 2);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* The last line that it wrote. */
static void last_words(int out, char *ret, size_t size) {
  char text[600];
  off_t length = lseek(out, 0, SEEK_END), from = length > (off_t)sizeof text - 1 ? length - (off_t)sizeof text + 1 : 0;
  ssize_t n = pread(out, text, sizeof text - 1, from);
  text[n > 0 ? n : 0] = '\0';
  while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
  char *last = strrchr(text, '\n');
  lb_text_printable(last ? last + 1 : text, ret, size);
}

/* Runs one to its end. What it starts may go on. */
static int lb_guardian_command(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_error *err) {
  int64_t offset_ms = verb == LB_MAY_CLOCK && f->ordered_back ? -f->offset_ms : f->offset_ms;
  const char *line = lb_own_operator_command(lb_guardian.rules, verb, f->ward, f->other, offset_ms);
  int out = memfd_create("command", MFD_CLOEXEC), status = 0;
  char said[300];
  pid_t pid = fork(), r;
  if (pid == 0) be_command(line, out);
  lb_ns deadline = lb_clock_ns() + COMMAND_MS * LB_NS_PER_MS;
  while ((r = waitpid(pid, &status, WNOHANG)) == 0 && lb_clock_ns() < deadline)
    lb_clock_sleep_until(lb_clock_ns() + 2 * LB_NS_PER_MS);
  if (r == 0) kill(-pid, SIGKILL), waitpid(pid, NULL, 0);
  last_words(out, said, sizeof said);
  close(out);
  if (r == 0)
    return lb_error(err, -ETIMEDOUT, "%s %s: its command did not end within %d s", lb_mandate_verbs[verb],
                    lb_guardian_name(f->ward), COMMAND_MS / 1000);
  if (r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  return lb_error(err, -EIO, "%s %s: its command ended with %d%s%s", lb_mandate_verbs[verb], lb_guardian_name(f->ward),
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said[0] ? ": " : "", said);
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* Others that do not serve now: one that needs a majority may have none. */
static bool alone(const struct lb_guardian_fault *but) {
  for (size_t i = 0; i < lb_guardian.count; i++)
    if (lb_guardian.fault[i].ward != but->ward && lb_guardian.fault[i].verb != LB_MAY_CLOCK) return true;
  return false;
}

static bool lb_guardian_look_is_other(const struct lb_guardian_look *now, const char *identity) {
  return !identity[0] || (now->told && strcmp(now->identity, identity) != 0);
}

/* Whether that look shows what the verb does. */
static bool lb_guardian_look_shows(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                   const struct lb_guardian_look *before, const struct lb_guardian_look *now) {
  int64_t moved = now->ahead_ms - before->ahead_ms, wanted = f->offset_ms;
  switch (verb) {
    case LB_MAY_KILL: return !now->accepts;
    case LB_MAY_RESTART:
      return now->accepts && (now->answers || alone(f)) && (now->told || !f->identity[0] || alone(f));
    case LB_MAY_PAUSE: return now->accepts && !now->answers;
    case LB_MAY_RESUME: return now->answers && (!f->identity[0] || !lb_guardian_look_is_other(now, f->identity));
    case LB_MAY_CUT: return now->left > before->left || (before->follows & ~now->follows);
    case LB_MAY_HEAL: return now->left == 0 && now->answers;
    case LB_MAY_CLOCK:
      return now->has_time && llabs(moved - wanted) < (llabs(wanted) / 2 < 1000 ? llabs(wanted) / 2 : 1000);
    case LB_MAY_DEPOSE: return now->primary >= 0 && now->primary != (int)f->ward && now->answers;
    default: return false;
  }
}

static const char *lb_guardian_look_lacks(enum lb_mandate_verb verb, const struct lb_guardian_look *now) {
  switch (verb) {
    case LB_MAY_KILL: return "it still takes connections";
    case LB_MAY_RESTART: return now->accepts ? "it does not answer" : "it takes no connection";
    case LB_MAY_PAUSE: return now->accepts ? "it still answers" : "it takes no connection";
    case LB_MAY_RESUME: return now->answers ? "it is another one than before" : "it does not answer";
    case LB_MAY_CUT: return "neither end says so";
    case LB_MAY_HEAL: return "one end is still alone";
    case LB_MAY_CLOCK: return now->has_time ? "its clock has not moved so far" : "it does not tell its time";
    default: return "no other server decides";
  }
}

/* What can pass by itself is seen three times. */
static bool lb_guardian_look_await(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                   const struct lb_guardian_look *before, int64_t within_ms,
                                   struct lb_guardian_look *now) {
  lb_ns deadline = lb_clock_ns() + (lb_ns)within_ms * LB_NS_PER_MS;
  int wanted = verb == LB_MAY_CUT ? 3 : 1, seen = 0;
  for (;;) {
    lb_guardian_look_at(verb, f, now);
    seen = lb_guardian_look_shows(verb, f, before, now) ? seen + 1 : 0;
    if (seen == wanted) return true;
    if (lb_clock_ns() > deadline) return false;
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
}

/* ---- undoing ----------------------------------------------------------------------------------------------------- */

static void lb_guardian_undo_begin(struct lb_guardian_fault *f) {
  enum lb_mandate_verb undo = lb_mandate_undo(f->verb);
  f->ordered_back = true;
  struct lb_error why;
  if (lb_guardian_command(undo, f, &why) < 0)
    snprintf(lb_guardian.why, sizeof lb_guardian.why, "%s", why.text); /* what is seen decides */
}

/* By a look. One that was killed comes back as another one. */
static bool is_undone(const struct lb_guardian_fault *f) {
  struct lb_guardian_look now;
  lb_guardian_look_at(f->verb, f, &now);
  if (f->verb == LB_MAY_CLOCK) return now.has_time && llabs(now.ahead_ms) < llabs(f->offset_ms) / 2;
  if (!lb_guardian_look_shows(lb_mandate_undo(f->verb), f, &now, &now)) return false;
  if (f->verb == LB_MAY_KILL && f->seen && now.told && !lb_guardian_look_is_other(&now, f->identity))
    snprintf(lb_guardian.false_kill, sizeof lb_guardian.false_kill, "%s", lb_guardian_name(f->ward));
  return true;
}

static void lb_guardian_undo_name_left(const char *why, struct lb_error *err) {
  char names[400] = "";
  struct lb_text text = {names, sizeof names, 0};
  for (size_t i = 0; i < lb_guardian.count; i++)
    lb_text_add(&text, "%s%s %s", i ? ", " : "", lb_mandate_verbs[lb_guardian.fault[i].verb],
                lb_guardian_name(lb_guardian.fault[i].ward));
  lb_error(err, -EIO,
           "could not be undone: %s%s%s; `%s clean --operator %s`, with the options of the servers, tries again", names,
           why ? ": " : "", why ? why : "", lb_process_called(), lb_guardian.rules->path);
}

/* A kill or pause that was never seen, and the server is the one of before: starting it again would be another fault. */
static bool was_nothing(const struct lb_guardian_fault *f) {
  struct lb_guardian_look now;
  if (f->seen || (f->verb != LB_MAY_KILL && f->verb != LB_MAY_PAUSE)) return false;
  lb_guardian_look_at(f->verb, f, &now);
  return now.answers && now.told && f->identity[0] && !lb_guardian_look_is_other(&now, f->identity);
}

/* The newest first. All commands come before the proofs: one server may need another to answer. */
static int lb_guardian_undo_all(struct lb_error *err) {
  for (size_t i = lb_guardian.count; i-- > 0;)
    if (was_nothing(&lb_guardian.fault[i])) lb_guardian_journal_strike(i);
  for (int round = 0; round < ROUNDS && lb_guardian.count > 0; round++) {
    for (size_t i = lb_guardian.count; i-- > 0;)
      if (round > 0 || !lb_guardian.fault[i].ordered_back) lb_guardian_undo_begin(&lb_guardian.fault[i]);
    lb_ns deadline = lb_clock_ns() + ROUND_MS * LB_NS_PER_MS;
    do {
      for (size_t i = lb_guardian.count; i-- > 0;)
        if (is_undone(&lb_guardian.fault[i])) lb_guardian_journal_strike(i);
      if (lb_guardian.count > 0) lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
    } while (lb_guardian.count > 0 && lb_clock_ns() < deadline);
  }
  lb_guardian.failed = lb_guardian.count > 0;
  if (lb_guardian.failed) lb_guardian_undo_name_left(lb_guardian.why[0] ? lb_guardian.why : NULL, err);
  return lb_guardian.failed ? -EIO : 0;
}

static int lb_guardian_undo(struct lb_error *err) {
  char why[300];
  int r = lb_guardian_undo_all(err);
  for (lb_ns deadline = lb_clock_ns() + WELL_MS * LB_NS_PER_MS;
       r == 0 && !lb_guardian_look_are_well(why, sizeof why);) {
    if (lb_clock_ns() > deadline) return lb_error(err, -EIO, "your servers are not as before: %s", why);
    lb_clock_sleep_until(lb_clock_ns() + POLL_MS * LB_NS_PER_MS);
  }
  lb_guardian.early = false;
  if (r == 0 && lb_guardian.false_kill[0])
    r = lb_refuse(err, "%s was not killed: it is the one of before", lb_guardian.false_kill);
  lb_guardian.false_kill[0] = '\0';
  return r;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* Whether two faults are of the same servers. */
static bool same_place(const struct lb_guardian_fault *a, const struct lb_guardian_fault *b) {
  return (a->ward == b->ward && a->other == b->other) || (a->ward == b->other && a->other == b->ward);
}

/* The fault that this order takes back; count = there is none. */
static size_t taken_back(enum lb_mandate_verb verb, const struct lb_guardian_fault *f) {
  for (size_t i = lb_guardian.count; i-- > 0;)
    if (lb_mandate_undo(lb_guardian.fault[i].verb) == verb && verb != LB_MAY_CLOCK &&
        same_place(&lb_guardian.fault[i], f))
      return i;
  return lb_guardian.count;
}

static bool has_touched(const size_t *wards, size_t count, size_t ward) {
  for (size_t i = 0; i < count; i++)
    if (wards[i] == ward) return true;
  return false;
}

/* What counts of links is the side with fewer servers: that one is cut off from the rest. */
static int check_at_once(const struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  size_t a[LB_GUARDIAN_FAULTS_MAX + LB_MANDATE_MOST], b[LB_GUARDIAN_FAULTS_MAX + LB_MANDATE_MOST], as = 0, bs = 0;
  bool links = new->other < lb_guardian.rules->count;
  for (size_t i = 0; i < lb_guardian.count; i++)
    if (!has_touched(a, as, lb_guardian.fault[i].ward)) a[as++] = b[bs++] = lb_guardian.fault[i].ward;
  for (size_t i = 0; i < count; i++) {
    if (!has_touched(a, as, new[i].ward)) a[as++] = new[i].ward;
    if (links && !has_touched(b, bs, new[i].other)) b[bs++] = new[i].other;
  }
  size_t touched = links && bs < as ? bs : as;
  if (touched <= lb_guardian.rules->at_once) return 0;
  return lb_refuse(err, "%s: that makes %zu servers at a time, and the operator allows at-once = %zu",
                   lb_mandate_verbs[new->verb], touched, lb_guardian.rules->at_once);
}

/* Does it, seen before and after. A cure needs no new fault, and those of links are proved when all is over. */
static int act(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  static struct lb_guardian_look before[LB_MANDATE_MOST];
  struct lb_guardian_look now;
  enum lb_mandate_verb verb = new->verb;
  bool is_fault = lb_mandate_undo(verb) < LB_MAY_COUNT, blind = false;
  int r = is_fault ? check_at_once(new, count, err) : 0;
  for (size_t i = 0; i < count && r == 0 && is_fault; i++) {
    lb_guardian_look_at(verb, &new[i], &before[i]);
    snprintf(new[i].identity, sizeof new[i].identity, "%s", before[i].identity);
    if (!before[i].answers)
      r = lb_refuse(err, "%s: %s does not answer even before it", lb_mandate_verbs[verb],
                    lb_guardian_name(new[i].ward));
  }
  for (size_t i = 0; i < count && r == 0; i++)
    if (is_fault && !lb_guardian_journal_add(&new[i], err)) r = -EIO;
    else r = lb_guardian_command(verb, &new[i], err);
  for (size_t i = 0; i < count && r == 0; i++) {
    size_t old = taken_back(verb, &new[i]);
    const struct lb_guardian_fault *like = old < lb_guardian.count ? &lb_guardian.fault[old] : &new[i];
    int64_t within_ms = verb == LB_MAY_RESTART ? STARTS_MS : SHOWS_MS;
    if (verb == LB_MAY_HEAL) {
      for (size_t k = 0; k < lb_guardian.count; k++) lb_guardian.fault[k].ordered_back |= k == old;
      continue;
    }
    blind = verb == LB_MAY_CUT && before[i].follows == 0 && before[i].left == 0 && count > 1;
    if (blind) continue; /* ends that say nothing of each other; another link of the same order speaks */
    if (!lb_guardian_look_await(verb, like, &before[i], within_ms, &now))
      r = lb_refuse(err, "%s %s: its command ended, but %s", lb_mandate_verbs[verb], lb_guardian_name(new[i].ward),
                    lb_guardian_look_lacks(verb, &now));
    else if (verb == LB_MAY_RESTART && now.told && !lb_guardian_look_is_other(&now, like->identity))
      r = lb_refuse(err, "restart %s: it is the one of before, so it was never killed", lb_guardian_name(new[i].ward));
    else if (old < lb_guardian.count) lb_guardian_journal_strike(old);
    else if (is_fault) lb_guardian.fault[lb_guardian.count - count + i].seen = true;
  }
  return r;
}

/* A server that lives is killed first: most commands that start one do nothing then. */
static int restart(struct lb_guardian_fault *new, size_t count, struct lb_error *err) {
  static struct lb_guardian_fault alive[LB_MANDATE_MOST];
  size_t kills = 0;
  for (size_t i = 0; i < count; i++) {
    alive[kills] = new[i];
    alive[kills].verb = LB_MAY_KILL;
    kills += taken_back(LB_MAY_RESTART, &new[i]) == lb_guardian.count;
  }
  int r = kills ? act(alive, kills, err) : 0;
  return r < 0 ? r : act(new, count, err);
}

static int lb_guardian_order(const struct lb_own *own, const struct lb_mandate_order *order, struct lb_error *err) {
  static struct lb_guardian_fault new[LB_MANDATE_MOST];
  if (lb_guardian.early)
    return lb_refuse(err, "undo-after = %lld s was over", (long long)lb_guardian.rules->undo_after_ms / 1000);
  for (size_t i = 0; i < order->count; i++) {
    bool links = order->verb == LB_MAY_CUT || order->verb == LB_MAY_HEAL;
    new[i] = (struct lb_guardian_fault){
        .verb = order->verb, .offset_ms = order->offset_ms, .other = lb_guardian.rules->count};
    new[i].ward = lb_own_operator_ward(lb_guardian.rules, own, order->server[i]);
    if (links) new[i].other = lb_own_operator_ward(lb_guardian.rules, own, order->other[i]);
    if (new[i].ward == lb_guardian.rules->count || (links && new[i].other == lb_guardian.rules->count))
      return lb_refuse(err, "%s: the operator does not name each of these servers", lb_mandate_verbs[order->verb]);
  }
  return order->verb == LB_MAY_RESTART ? restart(new, order->count, err) : act(new, order->count, err);
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

enum { DO_ORDER, DO_REST, DO_END, DO_HOLD };
struct request {
  lb_ns number;
  int what, own;
  struct lb_mandate_order order;
};
struct answer {
  lb_ns number;
  int result;
  char text[600];
};

static void handle(int at, const struct request *request) {
  struct lb_error err = {0};
  struct answer answer = {.number = request->number};
  switch (request->what) {
    case DO_ORDER: answer.result = lb_guardian_order(lb_own_at((size_t)request->own), &request->order, &err); break;
    case DO_HOLD:
      answer.result = lb_guardian.early
                          ? lb_refuse(&err, "undo-after = %lld s was over before the trial was, so all was undone",
                                      (long long)lb_guardian.rules->undo_after_ms / 1000)
                          : 0;
      break;
    case DO_REST: answer.result = lb_guardian_undo(&err); break;
    default: answer.result = lb_guardian.failed ? 0 : lb_guardian_undo(&err); break; /* that was said already */
  }
  snprintf(answer.text, sizeof answer.text, "%s", err.text);
  send(at, &answer, sizeof answer, MSG_NOSIGNAL);
  if (request->what == DO_END) _exit(0);
}

/* How long until the oldest fault has lasted too long; -1 = there is none. */
static int left_ms(void) {
  if (lb_guardian.count == 0) return -1;
  lb_ns due = lb_guardian.fault[0].since + (lb_ns)lb_guardian.rules->undo_after_ms * LB_NS_PER_MS, now = lb_clock_ns();
  return due > now ? (int)((due - now) / LB_NS_PER_MS) + 1 : 0;
}

static _Noreturn void be_guardian(int at, int tool) {
  struct request request;
  setsid();
  lb_process_title_set("lb-operator"); /* who kills the tool by name means the tool */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd); /* a reader of the tool's output must not wait for us */
  for (;;) {
    struct pollfd p[2] = {{.fd = tool, .events = POLLIN}, {.fd = at, .events = POLLIN}};
    int n = poll(p, 2, left_ms());
    if (p[0].revents) lb_guardian_undo_all(NULL), _exit(0);
    if (p[1].revents && recv(at, &request, sizeof request, 0) == (ssize_t)sizeof request) handle(at, &request);
    else if (p[1].revents) lb_guardian_undo_all(NULL), _exit(0);
    else if (n == 0) lb_guardian.early = true, lb_guardian_undo_all(NULL);
  }
}

/* ---- the other side ---------------------------------------------------------------------------------------------- */

static int line_to = -1; /* the guardian; -1 = there is none */
static bool was_told;    /* that something is not as before */

static int ask(struct request *request, struct lb_error *err) {
  struct answer answer = {0};
  struct pollfd p = {.fd = line_to, .events = POLLIN};
  request->number = lb_clock_ns();
  if (send(line_to, request, sizeof *request, MSG_NOSIGNAL) < 0) answer.number = 0;
  while (answer.number != request->number) {
    int n = poll(&p, 1, ANSWER_MS);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || recv(line_to, &answer, sizeof answer, 0) <= 0)
      return lb_error(err, -EIO, "the guardian of --operator has died");
  }
  return answer.result < 0 ? lb_error(err, answer.result, "%s", answer.text) : 0;
}

static int carry_out(const struct lb_topology *topology, const struct lb_mandate_order *order, struct lb_error *err) {
  struct request request = {.what = DO_ORDER, .order = *order};
  while (topology != &lb_own_at((size_t)request.own)->topology) request.own++;
  return ask(&request, err) < 0 ? -1 : 0;
}

static int holds(struct lb_error *err) {
  struct request request = {.what = DO_HOLD};
  return ask(&request, err) < 0 ? -1 : 0;
}

void lb_guardian_empower(const struct lb_own_operator *rules) {
  static struct lb_mandate mandates[LB_OWN_COUNT];
  struct lb_own *own;
  for (size_t i = 0; (own = lb_own_at(i)); i++) {
    mandates[i] = (struct lb_mandate){rules->may, rules->at_once, 0, carry_out, holds};
    for (size_t k = 0; k < own->found.count; k++)
      if (lb_own_operator_ward(rules, own, k) < rules->count) mandates[i].known |= 1u << k;
    own->topology.mandate = &mandates[i];
  }
}

int lb_guardian_reserve(const struct lb_own_operator *rules, struct lb_error *err) {
  lb_guardian = (struct lb_guardian){.rules = rules};
  int r = lb_guardian_journal_open(err);
  if (r < 0 || lb_guardian.count == 0) return r;
  lb_guardian_undo_name_left("an earlier run has left it so", err);
  return -EEXIST;
}

int lb_guardian_start(struct lb_env *env, struct lb_error *err) {
  int pair[2];
  lb_guardian.env = env;
  int tool = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (tool < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return lb_error(err, -errno, "no guardian: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) close(pair[0]), be_guardian(pair[1], tool);
  close(pair[1]);
  close(tool);
  close(lb_guardian.journal);
  if (pid < 0) return lb_error(err, -errno, "no guardian: %s", strerror(errno));
  line_to = pair[0];
  return lb_guardian_rest(err);
}

int lb_guardian_rest(struct lb_error *err) {
  struct request request = {.what = DO_REST};
  int r = line_to < 0 ? 0 : ask(&request, err);
  was_told |= r < 0;
  return r;
}

int lb_guardian_end(struct lb_error *err) {
  struct request request = {.what = DO_END};
  if (line_to < 0) return 0;
  int r = ask(&request, err);
  close(line_to);
  line_to = -1;
  return r == 0 && was_told ? lb_error(err, -EIO, "%s", "") : r;
}

int lb_guardian_clean(const struct lb_own_operator *rules, struct lb_error *err) {
  lb_guardian = (struct lb_guardian){.rules = rules};
  int r = lb_guardian_journal_open(err);
  if (r < 0) return r;
  for (size_t i = lb_guardian.count; i-- > 0;) lb_guardian_undo_begin(&lb_guardian.fault[i]);
  return (int)lb_guardian.count;
}

int lb_guardian_clean_end(struct lb_env *env, struct lb_error *err) {
  lb_guardian.env = env;
  return lb_guardian_undo(err);
}
