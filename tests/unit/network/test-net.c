/* test: beside */
/* SPDX-License-Identifier: MIT
 *
 * Namespaces as the trials use them: hosts that a cut parts and a heal joins, and a sandbox that takes everything
 * inside with it.
 */

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "inside.h"
#include "base/clock.h"
#include "network/cut.h"
#include "network/net.h"
#include "network/proc.h"

enum {
  PORT = 7000,
  HOSTS = 3,
  MANY_HOSTS = 12,
  REACHED_MS = 10000,
  SILENT_MS = 300,
  SECOND_TRY_MS = 900,
  WAIT_MS = 10000
};

/* A listening socket on a host; connections need no accept() to be established. */
static bool reaches(const struct lb_host *from, const struct lb_host *to, uint16_t port, int timeout_ms) {
  return lb_host_connected(lb_host_connect(from, 0, to, port), timeout_ms);
}

static int listen_on(const struct lb_host *host) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), yes = 1;
  if (home < 0 || (host->netns >= 0 && setns(host->netns, CLONE_NEWNET) < 0)) return -1;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  inet_pton(AF_INET, host->address, &sin.sin_addr);
  int r = bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0 ? listen(fd, 64) : -1;
  if (setns(home, CLONE_NEWNET) < 0) _exit(1);
  close(home);
  return r == 0 ? fd : -1;
}

static struct lb_net net;
static int listener[HOSTS];

static const char *build(void) {
  struct lb_error err = {0};
  if (lb_net_up(&net, true, HOSTS, &err) != 0) return complain("%s", err.text);
  for (size_t i = 0; i < HOSTS; i++)
    if ((listener[i] = listen_on(&net.host[i])) < 0) return complain("host %zu cannot listen: %m", i);
  return NULL;
}

static struct lb_cut *latest;

static const char *cut_ways(const struct lb_way *ways, size_t count) {
  struct lb_error err = {0};
  return lb_cut_make(&net, NULL, ways, count, &latest, &err) == 0 ? NULL : complain("%s", err.text);
}

static const char *cut(size_t a, size_t b) {
  const struct lb_way ways[] = {{&net.host[a], &net.host[b]}, {&net.host[b], &net.host[a]}};
  return cut_ways(ways, 2);
}

static const char *cut_to(size_t a, size_t b) { return cut_ways(&(struct lb_way){&net.host[a], &net.host[b]}, 1); }

static const char *heal_one(struct lb_cut *which) {
  struct lb_error err = {0};
  return lb_cut_heal(&net, which, &err) == 0 ? NULL : complain("%s", err.text);
}

static const char *heal(void) {
  struct lb_error err = {0};
  return lb_cut_heal_all(&net, &err) == 0 ? NULL : complain("%s", err.text);
}

/* Every ordered pair of hosts: apart if it is the pair (a, b), together otherwise. a = b: all are together. */
static const char *only_parted(size_t a, size_t b) {
  for (size_t i = 0; i < HOSTS; i++)
    for (size_t j = 0; j < HOSTS; j++) {
      bool apart = a != b && ((i == a && j == b) || (i == b && j == a));
      uint64_t begin = lb_clock_ns();
      if (reaches(&net.host[i], &net.host[j], PORT, apart ? SILENT_MS : REACHED_MS) == apart)
        return complain("host %zu %s host %zu", i, apart ? "reaches" : "does not reach", j);
      if (apart && lb_clock_ns() - begin < (SILENT_MS - 5) * UINT64_C(1000000))
        return complain("host %zu is refused by host %zu: a cut is silent", i, j);
    }
  return NULL;
}

/* ---- hosts and cuts ---------------------------------------------------------------------------------------------- */

/* The first of this file, while nobody has asked the probe. */
TEST(namespaces_can_be_switched_off) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) { /* the probe answers once per process: this program has not asked it yet */
    setenv("LOCKBENCH_NO_NAMESPACES", "1", 1);
    const struct lb_isolation *isolation = lb_isolation_probe();
    pid_t parent = getpid(), child = lb_sandbox_fork(-1, -1);
    if (child == 0) _exit(getppid() == parent && !lb_proc_sandboxed ? 42 : 43);
    waitpid(child, &status, 0);
    bool named = strcmp(lb_isolation_name(isolation->kind), "none") == 0 &&
                 strstr(isolation->why.text, "LOCKBENCH_NO_NAMESPACES");
    _exit(named && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 42);
}

INSIDE(hosts_reach_each_other) {
  const char *wrong = build();
  return wrong ? wrong : only_parted(0, 0);
}

INSIDE(a_cut_parts_two_hosts_both_ways_and_no_third) {
  const char *wrong = build();
  if (!wrong) wrong = cut(0, 1);
  return wrong ? wrong : only_parted(0, 1);
}

/* A socket for single packets on a host. */
static int packets_on(const struct lb_host *host) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0 || setns(host->netns, CLONE_NEWNET) < 0) return -1;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  inet_pton(AF_INET, host->address, &sin.sin_addr);
  int r = bind(fd, (struct sockaddr *)&sin, sizeof sin);
  if (setns(home, CLONE_NEWNET) < 0) _exit(1);
  close(home);
  return r == 0 ? fd : -1;
}

static bool packet_passes(const int fd[HOSTS], size_t from, size_t to, int timeout_ms) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  char byte = 'x';
  inet_pton(AF_INET, net.host[to].address, &sin.sin_addr);
  if (sendto(fd[from], &byte, 1, 0, (struct sockaddr *)&sin, sizeof sin) != 1) return false;
  return readable(fd[to], timeout_ms) && read(fd[to], &byte, 1) == 1;
}

/* A connection needs both directions, so it cannot tell whether a cut drops in only one of them. */
INSIDE(no_packet_passes_a_cut_in_either_direction) {
  int fd[HOSTS];
  const char *wrong = build();
  for (size_t i = 0; i < HOSTS && !wrong; i++)
    if ((fd[i] = packets_on(&net.host[i])) < 0) wrong = complain("no socket on host %zu: %m", i);
  if (!wrong && !packet_passes(fd, 0, 1, REACHED_MS)) wrong = "no packet passes before the cut";
  if (!wrong && !packet_passes(fd, 1, 0, REACHED_MS)) wrong = "no packet passes back before the cut";
  if (!wrong) wrong = cut(0, 1);
  if (!wrong && packet_passes(fd, 0, 1, SILENT_MS)) wrong = "a packet left a host that is cut off";
  if (!wrong && packet_passes(fd, 1, 0, SILENT_MS)) wrong = "a packet came to a host that is cut off";
  if (!wrong && !packet_passes(fd, 0, 2, REACHED_MS)) wrong = "no packet passes to a third host";
  return wrong;
}

INSIDE(a_cut_of_one_way_lets_packets_pass_the_other_way) {
  int fd[HOSTS];
  const char *wrong = build();
  for (size_t i = 0; i < HOSTS && !wrong; i++)
    if ((fd[i] = packets_on(&net.host[i])) < 0) wrong = complain("no socket on host %zu: %m", i);
  if (!wrong) wrong = cut_to(0, 1);
  if (!wrong && packet_passes(fd, 0, 1, SILENT_MS)) wrong = "a packet went the way that is cut";
  if (!wrong && !packet_passes(fd, 1, 0, REACHED_MS)) wrong = "no packet came the other way";
  if (!wrong && !packet_passes(fd, 2, 1, REACHED_MS)) wrong = "no packet came from a third host";
  return wrong ? wrong : only_parted(0, 1); /* a connection needs both ways */
}

/* What each way of a cut has dropped, against what is expected. */
static const char *dropped(const struct lb_cut *which, uint64_t first, uint64_t second) {
  uint64_t packets[2] = {0, 0};
  struct lb_error err = {0};
  if (lb_cut_dropped(which, packets, NULL, &err) != 0) return complain("%s", err.text);
  if (packets[0] == first && packets[1] == second) return NULL;
  return complain("dropped %llu and %llu, expected %llu and %llu", (unsigned long long)packets[0],
                  (unsigned long long)packets[1], (unsigned long long)first, (unsigned long long)second);
}

INSIDE(each_cut_counts_what_it_alone_drops_the_younger_first) {
  int fd[HOSTS];
  const char *wrong = build();
  for (size_t i = 0; i < HOSTS && !wrong; i++)
    if ((fd[i] = packets_on(&net.host[i])) < 0) wrong = complain("no socket on host %zu: %m", i);
  if (!wrong) wrong = cut(0, 1);
  struct lb_cut *older = latest;
  if (!wrong) wrong = dropped(older, 0, 0);
  if (!wrong && packet_passes(fd, 0, 1, SILENT_MS)) wrong = "a packet passed";
  if (!wrong) wrong = dropped(older, 1, 0);
  if (!wrong) wrong = cut_to(1, 0);
  struct lb_cut *younger = latest;
  if (!wrong && (packet_passes(fd, 1, 0, SILENT_MS) || packet_passes(fd, 0, 1, SILENT_MS)))
    wrong = "a packet passed two cuts";
  if (!wrong) wrong = dropped(younger, 1, 0);
  if (!wrong) wrong = dropped(older, 2, 0);
  if (!wrong) wrong = heal_one(younger);
  if (!wrong && packet_passes(fd, 1, 0, SILENT_MS)) wrong = "the older cut was healed, too";
  return wrong ? wrong : dropped(older, 2, 1);
}

INSIDE(cuts_are_healed_one_by_one) {
  const char *wrong = build();
  if (!wrong) wrong = cut(0, 1);
  struct lb_cut *first = latest;
  if (!wrong) wrong = cut_to(2, 1);
  struct lb_cut *second = latest;
  if (!wrong) wrong = heal_one(first);
  if (!wrong) wrong = only_parted(2, 1);
  if (!wrong) wrong = cut(0, 1);
  if (!wrong) wrong = heal_one(second);
  if (!wrong) wrong = only_parted(0, 1);
  if (!wrong && !lb_cut_parts(net.cuts, &net.host[1], &net.host[0])) wrong = "the cut that holds is not known";
  if (!wrong && lb_cut_parts(net.cuts, &net.host[1], &net.host[2])) wrong = "the cut that was healed is known";
  if (!wrong) wrong = heal_one(latest);
  return wrong ? wrong : only_parted(0, 0);
}

INSIDE(a_cut_that_cannot_be_made_whole_leaves_nothing) {
  const struct lb_host nowhere = {.address = "nowhere", .netns = -1};
  const char *wrong = build();
  const struct lb_way ways[] = {{&net.host[0], &net.host[1]}, {&nowhere, &net.host[0]}};
  if (wrong) return wrong;
  if (!cut_ways(ways, 2)) return "there is a rule for nowhere";
  return net.cuts ? "a cut that was refused is kept" : only_parted(0, 0);
}

/* No rule can be made on host 1 for a while: its descriptor is none of a namespace. What can be undone elsewhere is, the
 * rest stays known, and is undone when it can be. */
INSIDE(what_one_host_does_not_undo_is_undone_on_the_others_and_kept) {
  struct lb_error err = {0};
  const char *wrong = build();
  const struct lb_way ways[] = {{&net.host[0], &net.host[1]}, {&net.host[0], &net.host[2]}};
  if (!wrong) wrong = cut_ways(ways, 2);
  if (!wrong) wrong = cut_to(1, 2);
  if (wrong) return wrong;
  int kept = net.host[1].netns, none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  net.host[1].netns = none;
  int r = lb_cut_heal_all(&net, &err);
  if (r == 0 || !strstr(err.text, "no rules on")) return complain("healing gave %d: '%s'", r, err.text);
  if (!net.cuts || net.cuts->older) return "not exactly the cut that could not be healed is kept";
  const struct lb_cut *older = net.cuts;
  if (lb_cut_make(&net, NULL, ways, 2, &latest, &err) == 0) return "a cut was made where no rule can be made";
  if (net.cuts == older) return "a cut whose rules are not known to be gone is forgotten";
  net.host[1].netns = kept;
  if ((wrong = only_parted(0, 1))) return wrong;
  if ((wrong = heal())) return wrong;
  return net.cuts ? "a cut that was healed is kept" : only_parted(0, 0);
}

static int *slow; /* shared with the sandboxes: in how many of them the first connection had to wait for a second try */

static const char *look_at_first_packet(void) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  struct lb_error err = {0};
  if (lb_net_up(&net, true, MANY_HOSTS, &err) != 0) return complain("%s", err.text);
  if (listen_on(&net.host[MANY_HOSTS - 1]) < 0) return complain("cannot listen: %m");
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC); /* kept: the bridge goes with its namespace's last user */
  if (home < 0 || setns(net.host[0].netns, CLONE_NEWNET) < 0) return complain("setns: %m");
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  inet_pton(AF_INET, net.host[MANY_HOSTS - 1].address, &sin.sin_addr);
  uint64_t begin = lb_clock_ns();
  if (connect(fd, (struct sockaddr *)&sin, sizeof sin) < 0) return complain("connect: %m");
  *slow += lb_clock_ns() - begin > SECOND_TRY_MS * UINT64_C(1000000);
  return NULL;
}

/* Of networks that are handed over too early one in some six loses its first packets. One of sixteen is granted to a
 * machine that stands still by itself. */
TEST(the_first_packet_after_building_arrives) {
  NEED_SANDBOX();
  slow = mmap(NULL, sizeof *slow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(slow != MAP_FAILED);
  for (int i = 0; i < 16; i++) inside(look_at_first_packet);
  assert_in_range(*slow, 0, 1);
  munmap(slow, sizeof *slow);
}

INSIDE(heal_undoes_all_cuts_and_later_ones_cut_again) {
  const char *wrong = build();
  if (!wrong) wrong = cut(0, 1);
  if (!wrong) wrong = cut(2, 1);
  if (!wrong) wrong = cut(0, 1); /* twice: undone at once all the same */
  if (!wrong) wrong = heal();
  if (!wrong) wrong = only_parted(0, 0);
  if (!wrong) wrong = heal(); /* nothing to heal is no error */
  if (!wrong) wrong = cut(0, 2);
  return wrong ? wrong : only_parted(0, 2);
}

/* One connection from host 0 to host 1, both ends in this process. */
static const char *connect_pair(int *ret_from, int *ret_to) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  inet_pton(AF_INET, net.host[1].address, &sin.sin_addr);
  if (setns(net.host[0].netns, CLONE_NEWNET) < 0) return complain("setns: %m");
  *ret_from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (setns(home, CLONE_NEWNET) < 0) _exit(1);
  close(home);
  if (connect(*ret_from, (struct sockaddr *)&sin, sizeof sin) < 0) return complain("connect: %m");
  *ret_to = accept4(listener[1], NULL, NULL, SOCK_CLOEXEC);
  return *ret_to < 0 ? complain("accept: %m") : NULL;
}

INSIDE(a_connection_that_exists_falls_silent_and_goes_on_after_the_heal) {
  int from = -1, to = -1;
  char text[4] = "";
  const char *wrong = build();
  if (!wrong) wrong = connect_pair(&from, &to);
  if (!wrong) wrong = cut(0, 1);
  if (wrong) return wrong;
  if (send(from, "a", 1, MSG_NOSIGNAL) != 1) return complain("send into a cut: %m");
  if (readable(to, SILENT_MS)) return "a byte passed a cut";
  if (readable(from, 0)) return "the sender was told of the cut";
  if ((wrong = heal())) return wrong;
  if (!readable(to, WAIT_MS) || read(to, text, sizeof text) != 1 || text[0] != 'a')
    return "the byte did not come after the heal";
  return NULL;
}

INSIDE(without_separate_hosts_a_cut_is_refused) {
  struct lb_error err = {0};
  if (lb_net_up(&net, false, 2, &err) != 0) return complain("%s", err.text);
  for (size_t i = 0; i < 2; i++)
    if (strcmp(net.host[i].address, "127.0.0.1") != 0) return complain("host %zu has %s", i, net.host[i].address);
  int r = lb_cut_make(&net, NULL, &(struct lb_way){&net.host[0], &net.host[1]}, 1, &latest, &err);
  if (r != -ENOTSUP) return complain("the cut gave %d", r);
  if (strcmp(err.text, "hosts share one loopback here: nothing to cut") != 0) return complain("it says: %s", err.text);
  r = lb_cut_heal_all(&net, &err);
  lb_rules_forget_all(&net);
  lb_net_down(&net);
  return r == 0 ? NULL : complain("healing nothing gave %d", r);
}

/* Inside, although it needs no sandbox: a cut that is done instead of refused would part this machine from itself. */
TEST(more_hosts_than_addresses_are_refused) {
  struct lb_error err = {0};
  assert_int_equal(lb_net_up(&net, false, LB_HOSTS_MAX + 1, &err), -E2BIG);
  assert_string_equal(err.text, "at most 160 hosts");
}

INSIDE(in_a_sandbox_every_port_is_handed_out_once) {
  struct lb_error err = {0};
  if (lb_net_up(&net, false, 1, &err) != 0) return complain("%s", err.text);
  uint16_t first = lb_net_port(&net);
  for (uint16_t i = 1; i < 200; i++)
    if (lb_net_port(&net) != first + i) return "a port was handed out twice or left out";
  return NULL;
}

TEST(outside_of_a_sandbox_the_kernel_names_a_port_that_can_be_bound) {
  struct lb_error err = {0};
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  assert_false(lb_proc_sandboxed);
  assert_int_equal(lb_net_up(&net, false, 1, &err), 0);
  bool bound = false;
  for (int tries = 0; tries < 5 && !bound; tries++) { /* somebody else may be quicker */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint16_t port = lb_net_port(&net);
    assert_int_not_equal(port, 0);
    sin.sin_port = htons(port);
    bound = bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0;
    close(fd);
  }
  assert_true(bound);
}

/* ---- the sandbox ------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"pid", "mnt", "net", "ipc"};
enum { KINDS = sizeof kinds / sizeof *kinds };
static char outside[KINDS][64];

static void read_namespaces(char ret[KINDS][64]) {
  char path[64];
  memset(ret, 0, KINDS * sizeof *ret);
  for (size_t i = 0; i < KINDS; i++) {
    snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
    if (readlink(path, ret[i], sizeof ret[i] - 1) < 0) ret[i][0] = '\0';
  }
}

static const char *look_at_namespaces(void) {
  char here[KINDS][64];
  char link[32] = "";
  read_namespaces(here);
  for (size_t i = 0; i < KINDS; i++)
    if (!here[i][0] || strcmp(here[i], outside[i]) == 0) return complain("not its own: %s namespace", kinds[i]);
  if (getpid() != 1) return "it is not process 1";
  if (readlink("/proc/self", link, sizeof link - 1) < 0 || strcmp(link, "1") != 0)
    return "/proc is that of the outside";
  if (geteuid() != 0) return "it is not uid 0";
  return lb_proc_sandboxed ? NULL : "it does not know that it is a sandbox";
}

STATES(a_sandbox_has_namespaces_of_its_own, read_namespaces(outside), inside(look_at_namespaces));

static uint16_t outside_port;

static const char *look_at_loopback(void) {
  struct lb_host here = {.address = "127.0.0.1", .netns = -1};
  if (listen_on(&here) < 0) return complain("cannot listen: %m");
  if (!reaches(&here, &here, PORT, REACHED_MS)) return "loopback is down";
  return reaches(&here, &here, outside_port, SILENT_MS) ? "the outside is reached" : NULL;
}

TEST(a_sandbox_has_a_loopback_that_is_not_the_machines) {
  NEED_SANDBOX();
  struct lb_host here = {.address = "127.0.0.1", .netns = -1};
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof sin;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
  assert_int_equal(listen(fd, 4), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &size), 0);
  outside_port = ntohs(sin.sin_port);
  assert_true(reaches(&here, &here, outside_port, REACHED_MS));
  inside(look_at_loopback);
  close(fd);
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static void wait_long(void) { lb_clock_sleep_until(lb_clock_ns() + UINT64_C(6000000) * WAIT_MS); }

/* The tool: a sandbox, and in it a process that has left its session. Each says that it is there. */
static _Noreturn void be_tool(int out) {
  if (lb_sandbox_fork(-1, -1) == 0) {
    if (fork() == 0) setsid();
    if (write(out, "x", 1) != 1) _exit(1);
    wait_long();
    _exit(1);
  }
  close(out);
  wait_long();
  _exit(1);
}

TEST(everything_in_a_sandbox_dies_when_the_tool_is_killed) {
  NEED_SANDBOX();
  int pipe_fd[2];
  char text[4];
  assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
  pid_t tool = fork();
  if (tool == 0) be_tool(pipe_fd[1]);
  close(pipe_fd[1]);
  for (int seen = 0; seen < 2; seen++) {
    assert_true(readable(pipe_fd[0], WAIT_MS));
    assert_int_equal(read(pipe_fd[0], text, 1), 1);
  }
  assert_false(readable(pipe_fd[0], 0)); /* both hold the other end */
  assert_int_equal(kill(tool, SIGKILL), 0);
  assert_int_equal(waitpid(tool, NULL, 0), tool);
  assert_true(readable(pipe_fd[0], WAIT_MS));
  assert_int_equal(read(pipe_fd[0], text, 1), 0);
  close(pipe_fd[0]);
}

TEST(what_a_sandbox_leaves_running_dies_with_it) {
  NEED_SANDBOX();
  int pipe_fd[2];
  char text[4];
  assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
  pid_t pid = lb_sandbox_fork(-1, -1);
  if (pid == 0) {
    if (fork() > 0) _exit(0);
    wait_long();
    _exit(1);
  }
  close(pipe_fd[1]);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_true(readable(pipe_fd[0], WAIT_MS));
  assert_int_equal(read(pipe_fd[0], text, 1), 0);
  close(pipe_fd[0]);
}

static int status_of_sandbox(int alive, int parents_end) {
  int status = -1;
  pid_t pid = lb_sandbox_fork(alive, parents_end);
  if (pid == 0) _exit(fcntl(parents_end, F_GETFD) < 0 ? 42 : 43);
  waitpid(pid, &status, 0);
  return status;
}

/* Also where there are no namespaces: the pipe is looked at either way. */
TEST(a_sandbox_whose_parent_is_gone_does_not_begin) {
  int pipe_fd[2];
  assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
  int status = status_of_sandbox(pipe_fd[0], pipe_fd[1]);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 42); /* the parent lives, and its end of the pipe was closed in the child */
  close(pipe_fd[1]);
  status = status_of_sandbox(pipe_fd[0], -1);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 1);
  close(pipe_fd[0]);
}

/* ---- mounts ------------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/test-net-XXXXXX", file[sizeof folder + 5];
static int ask[2], answer[2]; /* the sandbox is asked to end, and tells when the mount is there */

static const char *mount_and_wait(void) {
  char byte;
  int r = lb_sandbox_mount_memory(folder);
  int fd = r < 0 ? -1 : open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (r < 0 || fd < 0) return complain("mount: %s", strerror(r < 0 ? -r : errno));
  if (write(answer[1], "x", 1) != 1 || read(ask[0], &byte, 1) != 1) return "no question";
  return access(file, F_OK) == 0 ? NULL : "the mount went away";
}

TEST(a_mount_inside_is_not_seen_outside) {
  NEED_SANDBOX();
  char byte = 'x';
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/file", folder);
  assert_int_equal(pipe2(ask, O_CLOEXEC), 0);
  assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
  pid_t pid = lb_sandbox_fork(-1, -1);
  if (pid == 0) {
    const char *wrong = mount_and_wait();
    if (wrong) fprintf(stderr, "# %s\n", wrong);
    _exit(wrong != NULL);
  }
  close(answer[1]);
  bool mounted = read(answer[0], &byte, 1) == 1, seen = access(file, F_OK) == 0;
  int status = -1;
  assert_int_equal(write(ask[1], &byte, 1), 1);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  close(answer[0]), close(ask[0]), close(ask[1]);
  int removed = rmdir(folder); /* fails when something is mounted there or was written into it */
  assert_true(mounted);
  assert_false(seen);
  assert_int_equal(status, 0);
  assert_int_equal(removed, 0);
}

/* ---- without ----------------------------------------------------------------------------------------------------- */
