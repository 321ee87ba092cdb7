/* SPDX-License-Identifier: MIT
 *
 * A delay line is made of three things. A tap on the sender's end of its link to the bridge gives a
 * process of ours (line_run.c) a copy of every packet. The receiver drops what came straight, by
 * rules as a cut has them (cut.c). And the process hands its copies to the receiver's link when
 * their time is over, with an address by which those rules know them.
 *
 * So packets keep their order, and existing connections are delayed as new ones are. The kernel needs only what a cut
 * and a packet dump need (no netem).
 */
#include "line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "base/process.h"

enum { TAP_BYTES = 32 << 20, FAR_BYTES = 16 << 20, ANSWER_MS = 5000 };

/* After all cuts, whose counters then see what was sent, not only what has come. */
enum { PRIORITY = 100 };

static struct lb_rules rules_of(const struct lb_line *line) {
  static const char *const straight[] = {"ether saddr != " LB_LINE_MAC " "};
  struct lb_rules rules = {
      .priority = PRIORITY, .match = straight, .match_count = 1, .way = line->way, .way_count = line->way_count};
  snprintf(rules.table, sizeof rules.table, "line%d", line->number);
  return rules;
}

/* ---- taps ------------------------------------------------------------------------------------ */

/* The bridge's end of a host's link: "lbh3" (net.c). 0 = it has none. */
static int link_of(const struct lb_net *net, const struct lb_host *host) {
  char name[IFNAMSIZ];
  snprintf(name, sizeof name, "lbh%zu", (size_t)(host - net->host));
  return (int)if_nametoindex(name);
}

/* IPv4 packets of this way and no others: the rest of a busy host's traffic would only fill the
 * buffer. Frames begin with 14 bytes of Ethernet. */
static int choose(int tap, const struct lb_way *way) {
  struct in_addr from, to;
  inet_pton(AF_INET, way->from->address, &from);
  inet_pton(AF_INET, way->to->address, &to);
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2 * ETH_ALEN),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ETH_HLEN + 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(from.s_addr), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ETH_HLEN + 16),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(to.s_addr), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  return setsockopt(tap, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

/* The kernel's time of each packet: what it waits for this process counts as its own time. Room for what comes while
 * this process gets no processor; without the right to it, what every socket may have. */
static void prepare(int tap) {
  int bytes = TAP_BYTES, on = 1;
  setsockopt(tap, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if (setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
    setsockopt(tap, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static int frame_socket(void) {
  int on = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) == 0) return fd;
  int r = -errno;
  close(fd);
  return r;
}

/* It receives nothing before it is bound, and by then it knows what to choose. For all protocols,
 * because taps of one protocol come after the bridge, which has taken the packet by then. */
static int tap(const struct lb_net *net, const struct lb_way *way) {
  struct sockaddr_ll at = {
      .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = link_of(net, way->from)};
  if (at.sll_ifindex == 0) return -ENODEV; /* to bind() it means every link */
  int fd = frame_socket(), r = 0;
  if (fd < 0) return fd;
  prepare(fd);
  r = choose(fd, way);
  if (r == 0 && bind(fd, (struct sockaddr *)&at, sizeof at) < 0) r = -errno;
  if (r == 0) return fd;
  close(fd);
  return r;
}

/* ---- the process ----------------------------------------------------------------------------- */

struct ends { /* what it works with, until it has it */
  struct lb_line_job job;
  int *tap, *interface;
  int talk[2];
};

static void close_ends(struct ends *e, size_t ways) {
  for (size_t i = 0; i < ways; i++)
    if (e->tap[i] >= 0) close(e->tap[i]);
  if (e->job.out >= 0) close(e->job.out);
  if (e->talk[1] >= 0) close(e->talk[1]);
  free(e->tap);
  free(e->interface);
}

static int open_ends(struct lb_net *net, struct lb_line *line, struct ends *e) {
  *e = (struct ends){.job = {.line = line, .out = -1}, .talk = {-1, -1}};
  e->tap = lb_need(malloc((line->way_count + 1) * sizeof *e->tap));
  e->interface = lb_need(calloc(line->way_count + 1, sizeof *e->interface));
  for (size_t i = 0; i < line->way_count; i++) e->tap[i] = -1;
  for (size_t i = 0; i < line->way_count; i++) {
    if ((e->tap[i] = tap(net, &line->way[i])) < 0) return e->tap[i];
    if ((e->interface[i] = link_of(net, line->way[i].to)) == 0) return -ENODEV;
  }
  if ((e->job.out = frame_socket()) < 0) return e->job.out;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->talk) < 0) return -errno;
  e->job.tap = e->tap;
  e->job.interface = e->interface;
  e->job.talk = e->talk[1];
  return 0;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* In the line's process: it inherits copies of the controller's connections. The other side of one sees no end while a
 * copy is open. */
static void close_all_but(const struct ends *e, const struct lb_line *line) {
  size_t count = 0;
  int *own = lb_need(malloc((2 * line->way_count + 2) * sizeof *own));
  own[count++] = e->job.out;
  own[count++] = e->job.talk;
  for (size_t i = 0; i < line->way_count; i++) own[count++] = e->tap[i], own[count++] = line->far[i];
  qsort(own, count, sizeof *own, by_number);
  unsigned from = 3;
  for (size_t i = 0; i < count; i++) {
    unsigned at = (unsigned)own[i];
    if (at > from) close_range(from, at - 1, 0);
    if (at >= from) from = at + 1;
  }
  close_range(from, UINT_MAX, 0);
  free(own);
}

static int start_process(struct lb_net *net, struct lb_line *line) {
  struct ends ends;
  int r = open_ends(net, line, &ends);
  pid_t pid = r == 0 ? lb_process_fork() : 0;
  if (r == 0 && pid == 0) {
    close_all_but(&ends, line);
    lb_line_run(&ends.job);
  }
  if (r == 0 && pid < 0) r = -errno;
  if (r == 0) line->process = pid, line->talk = ends.talk[0];
  else if (ends.talk[0] >= 0) close(ends.talk[0]);
  close_ends(&ends, line->way_count);
  return r;
}

/* The process ends when its last connection to us closes. It first sends all packets that it still has. */
static void end_process(struct lb_line *line) {
  if (line->talk >= 0) close(line->talk);
  while (line->process > 0 && waitpid(line->process, NULL, 0) < 0 && errno == EINTR) {
  }
  line->talk = -1;
  line->process = 0;
}

/* ---- the probe: datagrams of our own on each way, each with its number ----------------------------
 *
 * They go through the sockets and the rules of both hosts like all packets; the process of the line stamps them when
 * they come out of the receiver's socket. */

static int open_probe(struct lb_line *line) {
  int bytes = FAR_BYTES;
  for (size_t i = 0; i < line->way_count; i++) {
    if ((line->near[i] = lb_host_datagram(line->way[i].from)) < 0) return line->near[i];
    if ((line->far[i] = lb_host_datagram(line->way[i].to)) < 0) return line->far[i];
    setsockopt(line->far[i], SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes); /* they may come all at once */
  }
  return 0;
}

static void close_probe(struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    if (line->near[i] >= 0) close(line->near[i]);
    if (line->far[i] >= 0) close(line->far[i]);
    line->near[i] = line->far[i] = -1;
  }
}

/* From one socket to the address of the other. */
static int send_to(int from, int to, const void *bytes, size_t count) {
  struct sockaddr_in sin;
  socklen_t size = sizeof sin;
  if (getsockname(to, (struct sockaddr *)&sin, &size) < 0) return -errno;
  return sendto(from, bytes, count, 0, (struct sockaddr *)&sin, size) == (ssize_t)count ? 0 : -errno;
}

int lb_line_probe(struct lb_line *line, unsigned packets) {
  int r = 0;
  line->probed_at = lb_clock_ns();
  line->probes = packets;
  for (uint32_t n = 0; n < packets && r == 0; n++)
    for (size_t i = 0; i < line->way_count && r == 0; i++) r = send_to(line->near[i], line->far[i], &n, sizeof n);
  return r;
}

/* From when the line had it, which is after it was sent: so a trip was at least as long as this says.
 * One that came by another way is as long as it seems. */
bool lb_line_trip(const struct lb_line *line, size_t i, uint64_t *ret_ns) {
  uint64_t came = atomic_load(&line->seen[i].probe_came), taken = atomic_load(&line->seen[i].probe_taken);
  uint64_t from = taken ? taken : line->probed_at, to = came ? came : lb_clock_ns();
  *ret_ns = to > from ? to - from : 0;
  return came != 0;
}

/* Each has a number: one that was sent earlier and comes now is not taken for this one. */
uint64_t lb_line_trip_back(struct lb_line *line, size_t i, int timeout_ms) {
  struct pollfd p = {.fd = line->near[i], .events = POLLIN};
  char number = (char)++line->trips_back, byte;
  uint64_t sent_at = lb_clock_ns();
  if (send_to(line->far[i], line->near[i], &number, 1) < 0) return UINT64_MAX;
  while (poll(&p, 1, timeout_ms) > 0)
    if (recv(line->near[i], &byte, 1, MSG_DONTWAIT) == 1 && byte == number) return lb_clock_ns() - sent_at;
  return UINT64_MAX;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t shared_bytes(size_t ways) {
  return sizeof(struct lb_line_shared) + (ways + 1) * sizeof(struct lb_line_seen);
}

static void free_line(struct lb_line *line) {
  if (!line) return;
  if (line->near && line->far) close_probe(line);
  munmap(line->shared, shared_bytes(line->way_count));
  free(line->near);
  free(line->far);
  free(line->way);
  free(line);
}

static void forget(struct lb_net *net, struct lb_line *line) {
  struct lb_line **link = &net->lines;
  while (*link != line) link = &(*link)->older;
  *link = line->older;
  free_line(line);
}

/* It is not in the list yet. */
static struct lb_line *new_line(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count,
                                const struct lb_line_plan *plan) {
  struct lb_line *line = lb_need(calloc(1, sizeof *line));
  *line = (struct lb_line){
      .owner = owner, .number = ++net->lines_made, .plan = *plan, .way_count = count, .talk = -1, .older = net->lines};
  line->way = lb_need(malloc((count + 1) * sizeof *line->way));
  line->near = lb_need(malloc((count + 1) * sizeof *line->near));
  line->far = lb_need(malloc((count + 1) * sizeof *line->far));
  line->shared = lb_need_shared(shared_bytes(count));
  for (size_t i = 0; i < count; i++) line->near[i] = line->far[i] = -1;
  line->seen = line->shared->seen;
  lb_hist_init(&line->shared->own);
  memcpy(line->way, ways, count * sizeof *ways);
  return line;
}

struct lb_line *lb_line_on(const struct lb_net *net, const struct lb_host *from, const struct lb_host *to) {
  for (struct lb_line *line = net->lines; line; line = line->older)
    for (size_t i = 0; i < line->way_count; i++)
      if (line->way[i].from == from && line->way[i].to == to) return line;
  return NULL;
}

void lb_line_silence(const struct lb_net *net, const struct lb_way *ways, size_t count, bool is_silent) {
  for (size_t n = 0; n < count; n++) {
    struct lb_line *line = lb_line_on(net, ways[n].from, ways[n].to);
    for (size_t i = 0; line && i < line->way_count; i++)
      if (line->way[i].from == ways[n].from && line->way[i].to == ways[n].to)
        atomic_store(&line->seen[i].is_silent, is_silent);
  }
}

/* Two lines on one way would drop each other's packets. */
static int check_ways(const struct lb_net *net, const struct lb_way *ways, size_t count, struct lb_error *err) {
  if (!net->separate) return lb_error(err, -ENOTSUP, "hosts share one loopback here: nothing to delay");
  for (size_t i = 0; i < count; i++)
    if (lb_line_on(net, ways[i].from, ways[i].to))
      return lb_error(err, -EBUSY, "what %s sends to %s is late already", ways[i].from->name, ways[i].to->name);
  return 0;
}

/* The taps come before the rules: what is dropped has been copied. In between a packet can arrive
 * twice, as packets can anywhere. */
struct lb_line *lb_line_make(struct lb_net *net, const void *owner, const struct lb_way *ways, size_t count,
                             const struct lb_line_plan *plan, struct lb_error *err) {
  if (check_ways(net, ways, count, err) < 0) return NULL;
  struct lb_line *line = new_line(net, owner, ways, count, plan);
  net->lines = line;
  int r = open_probe(line);
  if (r == 0) r = start_process(net, line);
  if (r < 0) return forget(net, line), lb_error(err, r, "no delay line: %s", strerror(-r)), NULL;
  const struct lb_rules rules = rules_of(line);
  if (lb_rules_add(&rules, err) == 0) return line;
  /* What cannot be undone stays in the list, as a cut does. */
  lb_line_end(net, line, NULL);
  return NULL;
}

int lb_line_pass(struct lb_line *line, struct lb_error *err) {
  struct pollfd p = {.fd = line->talk, .events = POLLIN};
  char byte = 'p';
  bool told = send(line->talk, &byte, 1, MSG_NOSIGNAL) == 1;
  if (told && poll(&p, 1, ANSWER_MS) > 0 && recv(line->talk, &byte, 1, 0) == 1) return 0;
  return lb_error(err, -EPIPE, "the process of the delay line does not answer");
}

/* All is passed on first, then packets may come straight, and what the process had taken until then
 * comes as well: nothing overtakes what was kept, and nothing is lost. */
int lb_line_end(struct lb_net *net, struct lb_line *line, struct lb_error *err) {
  const struct lb_rules rules = rules_of(line);
  int r = lb_line_pass(line, err);
  if (r == 0) r = lb_rules_remove(&rules, err);
  if (r < 0) return r;
  end_process(line);
  forget(net, line);
  return 0;
}

void lb_line_forget_all(struct lb_net *net) {
  while (net->lines) {
    if (net->lines->process > 0) kill(net->lines->process, SIGKILL);
    end_process(net->lines);
    forget(net, net->lines);
  }
}
