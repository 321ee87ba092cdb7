/* SPDX-License-Identifier: MIT
 *
 * Links are made by ip(8) in one batch; addresses are three ioctls a host, which is not worth a process each. A socket
 * belongs to the network namespace in which it was made: so the controller goes there, makes it, and comes home.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "proc.h"

enum { FIRST_PORT = 7001, LINKS_MS = 10000 };

static const char *base = "10.77.0";

const char *lb_net_base(void) { return base; }
void lb_net_move(void) { base = "10.78.0"; }

/* ---- on a host ------------------------------------------------------------------------------- */

static int open_own_network(void) {
  int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

void lb_host_leave(int home) {
  if (setns(home, CLONE_NEWNET) < 0) abort(); /* whatever the controller did next would happen on that host */
  close(home);
}

int lb_host_enter(const struct lb_host *host) {
  int home = open_own_network();
  if (home < 0 || host->netns < 0 || setns(host->netns, CLONE_NEWNET) == 0) return home;
  int r = -errno;
  close(home);
  return r;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

int lb_net_loopback_up(void) {
  struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
  strcpy(request.ifr_name, "lo");
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int r = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
  close(fd);
  return r;
}

/* A new namespace is made by moving this very process into it. */
static int new_namespace(void) {
  int home = open_own_network(), r = home < 0 ? home : 0;
  if (r == 0 && unshare(CLONE_NEWNET) < 0) {
    r = -errno;
    close(home);
  }
  if (r < 0) return r;
  int up = lb_net_loopback_up(), fd = up < 0 ? up : open_own_network();
  lb_host_leave(home);
  return fd;
}

static int set_address(const char *interface, const char *address) {
  struct ifreq request = {0};
  struct sockaddr_in sin = {.sin_family = AF_INET};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;
  if (fd < 0) return -errno;
  strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  inet_pton(AF_INET, address, &sin.sin_addr);
  memcpy(&request.ifr_addr, &sin, sizeof sin);
  if (ioctl(fd, SIOCSIFADDR, &request) < 0) r = -errno;
  inet_pton(AF_INET, "255.255.255.0", &sin.sin_addr);
  memcpy(&request.ifr_netmask, &sin, sizeof sin);
  if (r == 0 && ioctl(fd, SIOCSIFNETMASK, &request) < 0) r = -errno;
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (r == 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0) r = -errno;
  close(fd);
  return r;
}

static int set_host_address(const struct lb_host *host) {
  int home = lb_host_enter(host);
  if (home < 0) return home;
  int r = set_address("eth0", host->address);
  lb_host_leave(home);
  return r;
}

/* The batch for ip(8): a bridge, and for each host a pair of interfaces, one on the bridge, one in
 * the host. */
static char *link_batch(const struct lb_net *net) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = lb_need(open_memstream(&text, &size));
  fputs("link add name lb0 type bridge\nlink set lb0 up\n", out);
  for (size_t i = 0; i < net->count; i++) {
    fprintf(out, "link add name lbh%zu type veth peer name eth0 netns /proc/%d/fd/%d\n", i, (int)getpid(),
            net->host[i].netns);
    fprintf(out, "link set lbh%zu master lb0 up\n", i);
  }
  return lb_need(fclose(out) == 0 ? text : NULL);
}

/* IFF_UP is what was asked of a link; IFF_RUNNING says that it works. */
static bool carries(const char *interface) {
  struct ifreq request = {0};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  bool running = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING);
  close(fd);
  return running;
}

static bool all_carry(const struct lb_net *net) {
  char name[IFNAMSIZ];
  bool running = carries("lb0");
  for (size_t i = 0; running && i < net->count; i++) {
    snprintf(name, sizeof name, "lbh%zu", i);
    int home = carries(name) ? lb_host_enter(&net->host[i]) : -1;
    running = home >= 0 && carries("eth0");
    if (home >= 0) lb_host_leave(home);
  }
  return running;
}

/* The kernel looks at new links in the background, at times only after a second. Until then they
 * swallow what is sent, and a connection whose first packet was lost is slow for seconds: nothing
 * that should happen to a trial by chance. */
static int wait_for_links(const struct lb_net *net) {
  uint64_t deadline = lb_clock_ns() + LINKS_MS * UINT64_C(1000000);
  while (!all_carry(net)) {
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + UINT64_C(2000000));
  }
  return 0;
}

/* Links of a network that this process had before: they would go with their namespaces, but later, and the bridge not
 * at all. What is gone already is no error. */
static void remove_links(size_t count) {
  struct lb_error err;
  char *argv[] = {(char *)"ip", (char *)"-force", (char *)"-batch", (char *)"-", NULL}, *text = NULL;
  size_t size = 0;
  if (count == 0) return;
  FILE *out = lb_need(open_memstream(&text, &size));
  for (size_t i = 0; i < count; i++) fprintf(out, "link del lbh%zu\n", i);
  fputs("link del lb0\n", out);
  if (fclose(out) == 0) lb_proc_run_tool(NULL, argv, text, LB_TOOL_MS, &err);
  free(text);
}

/* In this order: namespaces, because a pair of interfaces is made with one end in each of them; the
 * links, all in one run of ip(8); addresses; and then the wait until packets pass. */
static int build_links(struct lb_net *net, struct lb_error *err) {
  static size_t before; /* hosts of the network that this process has built last */
  remove_links(before);
  before = net->count;
  for (size_t i = 0; i < net->count; i++) {
    net->host[i].netns = new_namespace();
    if (net->host[i].netns < 0)
      return lb_refuse(err, "no network namespace: %s", strerror(-net->host[i].netns)), net->host[i].netns;
    snprintf(net->host[i].address, sizeof net->host[i].address, "%s.%zu", base, i + 1);
  }
  char *batch = link_batch(net);
  char *argv[] = {(char *)"ip", (char *)"-batch", (char *)"-", NULL};
  int r = lb_proc_run_tool(NULL, argv, batch, LB_TOOL_MS, err);
  free(batch);
  for (size_t i = 0; r == 0 && i < net->count; i++)
    if ((r = set_host_address(&net->host[i])) < 0) lb_error(err, r, "no address for a host: %s", strerror(-r));
  char bridge[20];
  snprintf(bridge, sizeof bridge, "%s.254", base);
  if (r == 0 && (r = set_address("lb0", bridge)) < 0) lb_error(err, r, "no address for the bridge: %s", strerror(-r));
  if (r == 0 && (r = wait_for_links(net)) < 0) lb_error(err, r, "the links of the hosts do not come up");
  return r;
}

int lb_net_up(struct lb_net *net, bool separate, size_t count, struct lb_error *err) {
  if (count > LB_HOSTS_MAX) return lb_error(err, -E2BIG, "at most %d hosts", LB_HOSTS_MAX);
  *net = (struct lb_net){.count = count, .separate = separate, .next_port = FIRST_PORT};
  for (size_t i = 0; i < count; i++) {
    net->host[i].netns = -1;
    strcpy(net->host[i].address, "127.0.0.1");
  }
  return separate ? build_links(net, err) : 0;
}

void lb_net_down(struct lb_net *net) {
  for (size_t i = 0; i < net->count; i++)
    if (net->host[i].netns >= 0) close(net->host[i].netns);
  net->count = 0;
}

/* Without a sandbox others may take a port that the kernel has named between now and the server's
 * start. The server then ends at once, which lb_cluster_await() notices. */
uint16_t lb_net_port(struct lb_net *net) {
  if (lb_proc_sandboxed) return net->next_port++;
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof sin;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool named = fd >= 0 && bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0 &&
               getsockname(fd, (struct sockaddr *)&sin, &size) == 0;
  if (fd >= 0) close(fd);
  return named ? ntohs(sin.sin_port) : 0;
}

/* ---- what TCP is told, and what is left on hosts ---------------------------------------------- */

/* Two metrics of the route to the other hosts, which TCP asks: the shortest time after which it sends again, and how
 * many packets it may send before the first acknowledgement. */
void lb_net_patience(int64_t late_ms, bool lossy, char *ret, size_t size) {
  enum { MORE_MS = 1000, LOSSY_MS = 200, PACKETS = 1000 };
  snprintf(ret, size, " rto_min %lldms initcwnd %d", (long long)late_ms + (lossy ? LOSSY_MS : MORE_MS), PACKETS);
}

int lb_net_be_patient(const struct lb_net *net, int64_t late_ms, bool lossy, struct lb_error *err) {
  char patience[60];
  lb_net_patience(late_ms, lossy, patience, sizeof patience);
  char *argv[] = {(char *)"ip", (char *)"-batch", (char *)"-", NULL}, batch[200];
  int r = 0;
  for (size_t i = 0; i < net->count && r == 0 && net->separate; i++) {
    snprintf(batch, sizeof batch, "route replace %s.0/24 dev eth0 proto kernel scope link src %s%s\n", base,
             net->host[i].address, patience);
    r = lb_proc_run_tool(&net->host[i], argv, batch, LB_TOOL_MS, err);
  }
  return r;
}

/* Calls `look` on every host with a network of its own, until it fails. */
static int on_hosts(const struct lb_net *net, int (*look)(void)) {
  int r = 0;
  for (size_t i = 0; i < net->count && net->separate && r == 0; i++) {
    int home = lb_host_enter(&net->host[i]);
    if (home < 0) return home;
    r = look();
    lb_host_leave(home);
  }
  return r;
}

/* The kernel is asked for a list of tables: a message for each, and one at the end. */
static int has_no_tables(void) {
  struct {
    struct nlmsghdr head;
    struct nfgenmsg of;
  } ask = {.head = {.nlmsg_len = sizeof ask,
                    .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
           .of = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0}};
  _Alignas(struct nlmsghdr) char said[8192];
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER), r = fd < 0 ? -errno : 0;
  if (r == 0 && send(fd, &ask, sizeof ask, 0) < 0) r = -errno;
  ssize_t n = r == 0 ? recv(fd, said, sizeof said, 0) : 0;
  const struct nlmsghdr *first = (const struct nlmsghdr *)(const void *)said;
  if (n < 0) r = -errno;
  else if (r == 0 && !NLMSG_OK(first, (size_t)n)) r = -EPROTO;
  else if (r == 0 && first->nlmsg_type != NLMSG_DONE) r = first->nlmsg_type == NLMSG_ERROR ? -EIO : -EBUSY;
  if (fd >= 0) close(fd);
  return r;
}

int lb_net_no_rules(const struct lb_net *net, struct lb_error *err) {
  int r = on_hosts(net, has_no_tables);
  if (r < 0) lb_error(err, r, "are rules left on a host? %s", r == -EBUSY ? "yes" : strerror(-r));
  return r;
}

static int note_nothing(void) {
  int fd = open("/proc/sys/net/ipv4/tcp_no_metrics_save", O_WRONLY | O_CLOEXEC);
  int r = fd < 0 || write(fd, "1", 1) != 1 ? -errno : 0;
  if (fd >= 0) close(fd);
  return r;
}

int lb_net_no_notes(const struct lb_net *net, struct lb_error *err) {
  int r = on_hosts(net, note_nothing);
  if (r < 0) lb_error(err, r, "hosts note how long answers took: %s", strerror(-r));
  return r;
}

/* ---- sockets on hosts ------------------------------------------------------------------------ */

/* Several connections may leave from one port, each to another peer. */
static void leave_from(int fd, uint16_t port) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
  int on = 1;
  if (port == 0) return;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0) return; /* then it leaves from any */
}

/* Does not wait: a cut makes connect(2) silent, not refused, so the caller brings the timeout. */
static int begin_here(uint16_t from_port, const struct lb_host *to, uint16_t port) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, to->address, &sin.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  leave_from(fd, from_port);
  if (connect(fd, (struct sockaddr *)&sin, sizeof sin) == 0 || errno == EINPROGRESS) return fd;
  int r = -errno;
  close(fd);
  return r;
}

static int datagram_here(const struct lb_host *host) {
  struct sockaddr_in sin = {.sin_family = AF_INET};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  inet_pton(AF_INET, host->address, &sin.sin_addr);
  if (bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0) return fd;
  int r = -errno;
  close(fd);
  return r;
}

int lb_host_datagram(const struct lb_host *host) {
  if (host->netns < 0) return datagram_here(host);
  int home = lb_host_enter(host);
  if (home < 0) return home;
  int fd = datagram_here(host);
  lb_host_leave(home);
  return fd;
}

int lb_host_connect(const struct lb_host *from, uint16_t from_port, const struct lb_host *to, uint16_t port) {
  if (from->netns < 0) return begin_here(from_port, to, port);
  int home = lb_host_enter(from);
  if (home < 0) return home;
  int fd = begin_here(from_port, to, port);
  lb_host_leave(home);
  return fd;
}

/* What became of it by then, as an errno; -1 = nothing yet. It is reset, not closed: a busy server would say good-bye
 * later, under a cut that is thought to be unused. */
static int outcome_of(int fd, int timeout_ms) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  struct linger reset = {.l_onoff = 1};
  int error = -1;
  socklen_t size = sizeof error;
  if (fd < 0) return -fd;
  if (poll(&p, 1, timeout_ms) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(fd);
  return error;
}

bool lb_host_connected(int fd, int timeout_ms) { return outcome_of(fd, timeout_ms) == 0; }

bool lb_host_answered(int fd, int timeout_ms) {
  int error = outcome_of(fd, timeout_ms);
  return error == 0 || error == ECONNREFUSED;
}
