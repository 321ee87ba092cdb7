/* test: beside */
/* SPDX-License-Identifier: MIT
 *
 * Delay lines on real links: what goes one way is late, in its order and without loss, also on a connection that
 * exists; the other way and everybody else are not. What is held comes when it is released.
 */

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

#include "inside.h"
#include "base/clock.h"
#include "network/cut.h"
#include "network/line.h"
#include "network/net.h"
#include "network/proc.h"

enum { PORT = 7000, HOSTS = 3, LATE_MS = 300, SILENT_MS = 100, WAIT_MS = 10000, MANY = 200, BULK = 8 << 20 };
#define MS UINT64_C(1000000)

static struct lb_net net;
static struct lb_line *line;
static struct lb_error err;

static const char *build(void) { return lb_net_up(&net, true, HOSTS, &err) == 0 ? NULL : complain("%s", err.text); }

static const char *make(size_t from, size_t to, struct lb_line_plan plan) {
  const struct lb_way way = {&net.host[from], &net.host[to]};
  line = lb_line_make(&net, NULL, &way, 1, &plan, &err);
  return line ? NULL : complain("%s", err.text);
}

static const char *delay(size_t from, size_t to, uint64_t delay_ns) {
  return make(from, to, (struct lb_line_plan){.delay_ns = delay_ns});
}

static const char *undo(struct lb_line *which) {
  return lb_line_end(&net, which, &err) == 0 ? NULL : complain("%s", err.text);
}

/* One connection from host `a` to host `b`, both ends in this process. */
static const char *connect_pair(size_t a, size_t b, int *ret_from, int *ret_to) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), yes = 1;
  inet_pton(AF_INET, net.host[b].address, &sin.sin_addr);
  if (setns(net.host[b].netns, CLONE_NEWNET) < 0) return complain("setns: %m");
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&sin, sizeof sin) < 0 || listen(listener, 4) < 0) return complain("listen: %m");
  if (setns(net.host[a].netns, CLONE_NEWNET) < 0) return complain("setns: %m");
  *ret_from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (setns(home, CLONE_NEWNET) < 0) _exit(1);
  close(home);
  if (connect(*ret_from, (struct sockaddr *)&sin, sizeof sin) < 0) return complain("connect: %m");
  *ret_to = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  close(listener);
  return *ret_to < 0 ? complain("accept: %m") : NULL;
}

/* How long a byte is on its way, in ms; -1 = it does not come. */
static int64_t byte_takes(int from, int to) {
  char byte = 'x';
  uint64_t begin = lb_clock_ns();
  if (send(from, &byte, 1, MSG_NOSIGNAL) != 1 || !readable(to, WAIT_MS) || read(to, &byte, 1) != 1) return -1;
  return (int64_t)((lb_clock_ns() - begin) / MS);
}

/* ---- late -------------------------------------------------------------------------------------------------------- */

INSIDE(one_direction_of_a_connection_that_exists_is_late) {
  int a, b, third_a, third_b;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = connect_pair(2, 1, &third_a, &third_b);
  if (!wrong && byte_takes(a, b) >= LATE_MS) wrong = "a byte is late before there is a line";
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  if (byte_takes(b, a) >= LATE_MS) return "a byte is late the other way";
  if (byte_takes(third_a, third_b) >= LATE_MS) return "a byte of a third host is late";
  int64_t took = byte_takes(a, b);
  if (took < LATE_MS) return complain("a byte took %lld ms", (long long)took);
  if (atomic_load(&line->seen[0].others) == 0) return "the line has seen nothing";
  if ((wrong = undo(line))) return wrong;
  if (net.lines) return "a line that has ended is kept";
  return byte_takes(a, b) >= LATE_MS ? "a byte is late after the line has ended" : NULL;
}

INSIDE(two_lines_make_both_directions_late) {
  int a, b;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (!wrong) wrong = delay(1, 0, LATE_MS * MS);
  if (wrong) return wrong;
  if (byte_takes(a, b) < LATE_MS) return "a byte was early";
  return byte_takes(b, a) < LATE_MS ? "a byte was early the other way" : NULL;
}

INSIDE(a_second_line_on_the_same_way_is_refused) {
  const struct lb_way way = {&net.host[0], &net.host[1]};
  const char *wrong = build();
  snprintf(net.host[0].name, sizeof net.host[0].name, "one");
  snprintf(net.host[1].name, sizeof net.host[1].name, "two");
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  if (lb_line_make(&net, NULL, &way, 1, &line->plan, &err) || err.code != -EBUSY ||
      strcmp(err.text, "what one sends to two is late already") != 0)
    return complain("%d: %s", err.code, err.text);
  return net.lines == line && !line->older ? NULL : "a line that was refused is kept";
}

static int ip(const char *const words[]) {
  char *argv[10] = {"ip", "link", "set"};
  for (size_t i = 0; words[i]; i++) argv[i + 3] = (char *)words[i];
  return lb_proc_run_tool(NULL, argv, "", LB_TOOL_MS, &err);
}

/* Neither the one that sends nor the one that receives. */
INSIDE(a_host_whose_link_is_not_found_has_no_line) {
  const char *wrong = build();
  if (wrong) return wrong;
  if (ip((const char *const[]){"lbh1", "down", NULL}) < 0 ||
      ip((const char *const[]){"lbh1", "name", "other", NULL}) < 0)
    return complain("%s", err.text);
  for (size_t from = 0; from < 2; from++)
    if (!delay(from, 1 - from, LATE_MS * MS) || err.code != -ENODEV || net.lines)
      return complain("from %zu: %d", from, err.code);
  return NULL;
}

/* A number every 2 ms, over several delays: TCP neither waits for acknowledgements that are late nor sends again. */
static const char *send_numbers(int to) {
  for (uint64_t i = 0, next = lb_clock_ns(); i < MANY; i++, next += 2 * MS) {
    uint64_t message[2] = {i, 0};
    lb_clock_sleep_until(next);
    message[1] = lb_clock_ns();
    if (send(to, message, sizeof message, MSG_NOSIGNAL) != sizeof message) return "send";
  }
  return NULL;
}

INSIDE(on_patient_hosts_every_message_is_late_by_the_delay_alone) {
  int a, b, yes = 1;
  const char *wrong = build();
  if (!wrong && lb_net_be_patient(&net, LATE_MS, false, &err) < 0) wrong = complain("%s", err.text);
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong && byte_takes(a, b) < 0) wrong = "no connection";
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  setsockopt(a, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof yes);
  if (fork() == 0) _exit(send_numbers(a) != NULL);
  uint64_t latest = 0;
  for (uint64_t i = 0; i < MANY; i++) {
    uint64_t message[2];
    if (recv(b, message, sizeof message, MSG_WAITALL) != sizeof message)
      return complain("message %llu does not come", (unsigned long long)i);
    uint64_t took = lb_clock_ns() - message[1];
    if (message[0] != i)
      return complain("message %llu comes in place of %llu", (unsigned long long)message[0], (unsigned long long)i);
    if (took < LATE_MS * MS)
      return complain("message %llu took %llu ns", (unsigned long long)i, (unsigned long long)took);
    if (took > latest) latest = took;
  }
  if (atomic_load(&line->seen[0].lost) > 0) return "packets were lost";
  return latest > (LATE_MS + LATE_MS * 2 / 3) * MS
             ? complain("a message took %llu ms", (unsigned long long)(latest / MS))
             : NULL;
}

/* Large segments pass as they are, and nothing is missing or mixed up. */
INSIDE(much_data_comes_whole_and_in_order) {
  static unsigned char bytes[65536];
  int a, b;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, 5 * MS);
  if (wrong) return wrong;
  if (fork() == 0) {
    for (size_t sent = 0; sent < BULK; sent += sizeof bytes) {
      for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)((sent + i) * 2654435761u >> 13);
      if (send(a, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes) _exit(1);
    }
    _exit(0);
  }
  for (size_t got = 0; got < BULK; got += sizeof bytes) {
    if (recv(b, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) return complain("it ends after %zu bytes", got);
    for (size_t i = 0; i < sizeof bytes; i++)
      if (bytes[i] != (unsigned char)((got + i) * 2654435761u >> 13)) return complain("byte %zu is wrong", got + i);
  }
  return NULL;
}

/* A process that was forked has copies of all that was open. */
INSIDE(a_line_keeps_nothing_open_that_is_not_its_own) {
  int pipe_fd[2];
  char byte;
  const char *wrong = build();
  if (!wrong && pipe2(pipe_fd, O_CLOEXEC) < 0) wrong = "no pipe";
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  close(pipe_fd[1]);
  return readable(pipe_fd[0], WAIT_MS) && read(pipe_fd[0], &byte, 1) == 0
             ? NULL
             : "somebody holds the other end of a pipe that was closed";
}

/* ---- jitter and loss --------------------------------------------------------------------------------------------- */

/* Packets of one connection in a range wider than their distance: they come in their order, and the probe spreads. */
INSIDE(packets_spread_and_a_connection_keeps_its_order) {
  int a, b, yes = 1;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = make(0, 1, (struct lb_line_plan){.delay_ns = 20 * MS, .jitter_ns = 15 * MS, .seed = 7});
  if (wrong) return wrong;
  setsockopt(a, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof yes);
  if (lb_line_probe(line, 64) < 0) return "no probe";
  if (fork() == 0) _exit(send_numbers(a) != NULL);
  for (uint64_t i = 0; i < MANY; i++) {
    uint64_t message[2];
    if (recv(b, message, sizeof message, MSG_WAITALL) != sizeof message || message[0] != i)
      return complain("message %llu is not the next", (unsigned long long)i);
    if (lb_clock_ns() - message[1] < 5 * MS) return complain("message %llu is early", (unsigned long long)i);
  }
  uint64_t least = atomic_load(&line->seen[0].trip_min), most = atomic_load(&line->seen[0].trip_max);
  if (atomic_load(&line->seen[0].probes_came) != 64) return "not all packets of the probe came";
  if (least < 5 * MS || least >= 20 * MS || most - least < 15 * MS)
    return complain("trips from %llu to %llu ns", (unsigned long long)least, (unsigned long long)most);
  if (lb_line_pass(line, &err) < 0) return complain("%s", err.text);
  return line->shared->own.count >= MANY ? NULL : "what the line adds itself is not counted";
}

/* Exactly those come that the line has not dropped, and the same seed drops the same. */
INSIDE(so_many_are_lost_as_the_seed_says) {
  enum { PACKETS = 2000 };
  uint64_t dropped[2];
  const char *wrong = build();
  for (int turn = 0; !wrong && turn < 2; turn++) {
    net.lines_made = 0; /* what is drawn depends on the number of the line, too */
    if ((wrong = make(0, 1, (struct lb_line_plan){.delay_ns = MS, .loss = 0.1, .seed = 7}))) return wrong;
    if (lb_line_probe(line, PACKETS) < 0) return "no probe";
    const struct lb_line_seen *seen = &line->seen[0];
    uint64_t deadline = lb_clock_ns() + WAIT_MS * MS;
    while (atomic_load(&seen->probes_came) + atomic_load(&seen->probes_dropped) < PACKETS && lb_clock_ns() < deadline)
      lb_clock_sleep_until(lb_clock_ns() + MS);
    dropped[turn] = atomic_load(&seen->probes_dropped);
    if (atomic_load(&seen->probes_came) + dropped[turn] != PACKETS) return "some are lost that the line did not drop";
    wrong = undo(line);
  }
  if (wrong) return wrong;
  if (dropped[0] < PACKETS / 20 || dropped[0] > PACKETS / 5)
    return complain("%llu dropped", (unsigned long long)dropped[0]);
  return dropped[0] == dropped[1]
             ? NULL
             : complain("%llu and %llu dropped", (unsigned long long)dropped[0], (unsigned long long)dropped[1]);
}

/* ---- one message ------------------------------------------------------------------------------------------------- */

/* The second message of one connection is lost with all that follows; another connection and the way back are whole. */
INSIDE(one_message_is_lost_with_all_that_follows_it) {
  int a, b, c, d;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = connect_pair(0, 1, &c, &d);
  if (!wrong) wrong = make(0, 1, (struct lb_line_plan){.pick = LB_LINE_PICKS_DROPPED, .after = 1});
  if (wrong) return wrong;
  if (byte_takes(c, d) < 0 || byte_takes(a, b) < 0) return "the first message does not pass";
  if (atomic_load(&line->shared->picked.fired)) return "the first message is taken for the second";
  if (send(a, "xyz", 3, MSG_NOSIGNAL) != 3 || readable(b, SILENT_MS)) return "the second message came";
  const struct lb_line_picked *m = &line->shared->picked;
  if (!atomic_load(&m->fired) || m->bytes != 3 || m->to_port != PORT || m->before != 1)
    return complain("found %llu bytes to %u after %u", (unsigned long long)m->bytes, m->to_port, m->before);
  if (send(a, "x", 1, MSG_NOSIGNAL) != 1 || readable(b, SILENT_MS)) return "what follows came";
  if (byte_takes(b, a) < 0) return "nothing passes the other way";
  if (byte_takes(c, d) < 0 || byte_takes(c, d) < 0) return "another connection does not pass";
  if (atomic_load(&line->seen[0].dropped) == 0) return "nothing was counted";
  for (uint64_t deadline = lb_clock_ns() + WAIT_MS * MS; atomic_load(&m->again) == 0;)
    if (lb_clock_ns() > deadline) return "it is not seen to be sent again";
  if ((wrong = undo(line))) return wrong;
  return readable(b, WAIT_MS) ? NULL : "it is not sent again";
}

INSIDE(one_message_is_held_with_all_that_follows_it) {
  int a, b, c, d;
  char text[8];
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = connect_pair(0, 1, &c, &d);
  if (!wrong) wrong = make(0, 1, (struct lb_line_plan){.pick = LB_LINE_PICKS_HELD});
  if (wrong) return wrong;
  if (send(a, "ab", 2, MSG_NOSIGNAL) != 2 || readable(b, SILENT_MS)) return "what is held came";
  if (send(a, "c", 1, MSG_NOSIGNAL) != 1 || readable(b, SILENT_MS)) return "what follows came";
  if (byte_takes(c, d) < 0) return "another connection does not pass";
  if (lb_line_pass(line, &err) < 0) return complain("%s", err.text);
  if (recv(b, text, 3, MSG_WAITALL) != 3 || memcmp(text, "abc", 3) != 0) return "what was held did not come";
  if (atomic_load(&line->seen[0].dropped) > 0) return "something was dropped";
  return undo(line);
}

/* ---- held -------------------------------------------------------------------------------------------------------- */

INSIDE(what_is_held_comes_when_it_is_passed_on) {
  int a, b;
  char text[4];
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, LB_LINE_HOLD);
  if (wrong) return wrong;
  if (send(a, "ab", 2, MSG_NOSIGNAL) != 2 || readable(b, SILENT_MS)) return "what is held came";
  if (byte_takes(b, a) < 0) return "nothing passes the other way";
  if (lb_line_pass(line, &err) < 0) return complain("%s", err.text);
  if (!readable(b, WAIT_MS) || read(b, text, sizeof text) != 2 || memcmp(text, "ab", 2) != 0)
    return "what was held did not come";
  if (byte_takes(a, b) < 0) return "what comes after it does not pass";
  if ((wrong = undo(line))) return wrong;
  return byte_takes(a, b) < 0 ? "nothing passes after the end" : NULL;
}

INSIDE(the_end_of_a_line_passes_on_what_it_holds) {
  int a, b;
  char text[4];
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, LB_LINE_HOLD);
  if (!wrong && send(a, "x", 1, MSG_NOSIGNAL) != 1) wrong = "send";
  if (!wrong) wrong = undo(line);
  if (wrong) return wrong;
  return readable(b, WAIT_MS) && read(b, text, sizeof text) == 1 && *text == 'x' ? NULL : "what was held is lost";
}

/* A cut is where packets arrive: what is on its way when it is made is dropped. */
INSIDE(a_cut_drops_what_is_on_its_way) {
  int a, b;
  struct lb_cut *cut;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  if (send(a, "x", 1, MSG_NOSIGNAL) != 1) return "send";
  const struct lb_way way = {&net.host[0], &net.host[1]};
  if (lb_cut_make(&net, NULL, &way, 1, &cut, &err) < 0) return complain("%s", err.text);
  if (readable(b, LATE_MS + SILENT_MS)) return "a packet passed a cut";
  if ((wrong = undo(line))) return wrong;
  if (readable(b, LATE_MS + SILENT_MS)) return "the end of a line heals a cut";
  if (lb_cut_heal(&net, cut, &err) < 0) return complain("%s", err.text);
  return readable(b, WAIT_MS) ? NULL : "the byte is not sent again";
}

/* At once, and without a rule: on the other way nothing is dropped, and later nothing more. */
INSIDE(a_silent_way_drops_what_is_due) {
  int a, b;
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(0, 1, &a, &b);
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  const struct lb_way ways[] = {{&net.host[0], &net.host[1]}, {&net.host[1], &net.host[2]}};
  if (send(a, "x", 1, MSG_NOSIGNAL) != 1) return "send";
  lb_line_silence(&net, ways, 2, true);
  if (readable(b, LATE_MS + SILENT_MS)) return "a packet came on a way that is silent";
  if (send(b, "y", 1, MSG_NOSIGNAL) != 1 || !readable(a, WAIT_MS)) return "the other way is silent, too";
  lb_line_silence(&net, ways, 2, false);
  return readable(b, WAIT_MS) ? NULL : "the byte is not sent again";
}

/* ---- the probe --------------------------------------------------------------------------------------------------- */

INSIDE(the_probe_is_late_and_comes_back_at_once) {
  uint64_t took = 0, back;
  const char *wrong = build();
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  if (lb_line_probe(line, 1) < 0) return "no probe";
  if (lb_line_trip(line, 0, &took)) return "the probe came at once";
  if ((back = lb_line_trip_back(line, 0, WAIT_MS)) >= LATE_MS * MS) return "the probe is late the other way";
  uint64_t deadline = lb_clock_ns() + WAIT_MS * MS;
  while (!lb_line_trip(line, 0, &took) && lb_clock_ns() < deadline) lb_clock_sleep_until(lb_clock_ns() + MS);
  if (!lb_line_trip(line, 0, &took)) return "the probe does not come";
  if (took < LATE_MS * MS) return complain("the probe took %llu ns", (unsigned long long)took);
  return atomic_load(&line->seen[0].others) > 0 ? "the probe is taken for somebody's packet" : NULL;
}

/* The rules are taken away behind the line's back: then packets come straight, and the probe tells. */
INSIDE(a_line_that_does_not_delay_is_not_proved) {
  uint64_t took = LATE_MS * MS;
  const char *wrong = build();
  if (!wrong) wrong = delay(0, 1, LATE_MS * MS);
  if (wrong) return wrong;
  static const char *const match[] = {""};
  struct lb_rules rules = {.table = "line1", .match = match, .match_count = 1, .way = line->way, .way_count = 1};
  if (lb_rules_remove(&rules, &err) < 0) return complain("%s", err.text);
  if (lb_line_probe(line, 1) < 0) return "no probe";
  lb_clock_sleep_until(lb_clock_ns() + SILENT_MS * MS);
  if (!lb_line_trip(line, 0, &took)) return "the probe did not come straight";
  return took < LATE_MS * MS ? NULL : "a packet that came straight seems late";
}

INSIDE(without_separate_hosts_a_line_is_refused) {
  if (lb_net_up(&net, false, 2, &err) != 0) return complain("%s", err.text);
  const struct lb_way way = {&net.host[0], &net.host[1]};
  line = lb_line_make(&net, NULL, &way, 1, &(struct lb_line_plan){.delay_ns = MS}, &err);
  return !line && err.code == -ENOTSUP && strcmp(err.text, "hosts share one loopback here: nothing to delay") == 0
             ? NULL
             : complain("%d: %s", err.code, err.text);
}
