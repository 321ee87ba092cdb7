/* SPDX-License-Identifier: MIT
 *
 * Links are made by ip(8) in one batch; addresses are three ioctls a host, which is not worth a
 * process each.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cut.h"
#include "line.h"
#include "proc.h"
#include "tool.h"

enum { FIRST_PORT = 7001, LINKS_MS = 10000 };

static int fail(char *err, size_t err_size, int error, const char *format, ...) __attribute__((format(printf, 4, 5)));
static int fail(char *err, size_t err_size, int error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(err, err_size, format, args);
  va_end(args);
  return error;
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

/* A new namespace is made by moving this very process into it. It must come home again on every
 * path: whatever the controller did next would happen on that host. */
static int new_namespace(int home) {
  if (unshare(CLONE_NEWNET) < 0) return -errno;
  int fd = -1, r = lb_net_loopback_up();
  if (r == 0 && (fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0) r = -errno;
  if (setns(home, CLONE_NEWNET) < 0) abort(); /* nothing that follows would be where it should */
  return r < 0 ? r : fd;
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

static int set_host_address(const struct lb_host *host, int home) {
  if (setns(host->netns, CLONE_NEWNET) < 0) return -errno;
  int r = set_address("eth0", host->address);
  if (setns(home, CLONE_NEWNET) < 0) abort(); /* as in new_namespace() */
  return r;
}

/* The batch for ip(8): a bridge, and for each host a pair of interfaces, one on the bridge, one in
 * the host. */
static char *link_batch(const struct lb_net *net) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fputs("link add name lb0 type bridge\nlink set lb0 up\n", out);
  for (size_t i = 0; i < net->count; i++) {
    fprintf(out, "link add name lbh%zu type veth peer name eth0 netns /proc/%d/fd/%d\n", i, (int)getpid(),
            net->host[i].netns);
    fprintf(out, "link set lbh%zu master lb0 up\n", i);
  }
  return fclose(out) == 0 ? text : NULL;
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

static bool all_carry(const struct lb_net *net, int home) {
  char name[IFNAMSIZ];
  bool running = carries("lb0");
  for (size_t i = 0; running && i < net->count; i++) {
    snprintf(name, sizeof name, "lbh%zu", i);
    running = carries(name) && setns(net->host[i].netns, CLONE_NEWNET) == 0;
    if (!running) break;
    running = carries("eth0");
    if (setns(home, CLONE_NEWNET) < 0) abort();
  }
  return running;
}

/* The kernel looks at new links in the background, at times only after a second. Until then they
 * swallow what is sent, and a connection whose first packet was lost is slow for seconds: nothing
 * that should happen to a trial by chance. */
static int wait_for_links(const struct lb_net *net, int home) {
  uint64_t deadline = lb_clock_ns() + LINKS_MS * UINT64_C(1000000);
  while (!all_carry(net, home)) {
    if (lb_clock_ns() > deadline) return -ETIMEDOUT;
    lb_clock_sleep_until(lb_clock_ns() + UINT64_C(2000000));
  }
  return 0;
}

/* Links of a network that this process had before: they would go with their namespaces, but later, and the bridge not at all. What is
 * gone already is no error. */
static void remove_links(size_t count) {
  char *argv[] = {(char *)"ip", (char *)"-force", (char *)"-batch", (char *)"-", NULL}, *text = NULL, err[200];
  size_t size = 0;
  FILE *out = count > 0 ? open_memstream(&text, &size) : NULL;
  if (!out) return;
  for (size_t i = 0; i < count; i++) fprintf(out, "link del lbh%zu\n", i);
  fputs("link del lb0\n", out);
  if (fclose(out) == 0) lb_tool_run(NULL, argv, text, NULL, err, sizeof err);
  free(text);
}

/* In this order: namespaces, because a pair of interfaces is made with one end in each of them; the
 * links, all in one run of ip(8); addresses; and then the wait until packets pass. */
static int build_links(struct lb_net *net, int home, char *err, size_t err_size) {
  static size_t before; /* hosts of the network that this process has built last */
  remove_links(before);
  before = net->count;
  for (size_t i = 0; i < net->count; i++) {
    net->host[i].netns = new_namespace(home);
    if (net->host[i].netns < 0)
      return fail(err, err_size, net->host[i].netns, "no network namespace: %s", strerror(-net->host[i].netns));
    snprintf(net->host[i].address, sizeof net->host[i].address, "10.77.0.%zu", i + 1);
  }
  char *batch = link_batch(net);
  if (!batch) return fail(err, err_size, -ENOMEM, "out of memory");
  char *argv[] = {(char *)"ip", (char *)"-batch", (char *)"-", NULL};
  int r = lb_tool_run(NULL, argv, batch, NULL, err, err_size);
  free(batch);
  for (size_t i = 0; r == 0 && i < net->count; i++)
    if ((r = set_host_address(&net->host[i], home)) < 0)
      fail(err, err_size, r, "no address for a host: %s", strerror(-r));
  if (r == 0 && (r = set_address("lb0", "10.77.0.254")) < 0)
    fail(err, err_size, r, "no address for the bridge: %s", strerror(-r));
  if (r == 0 && (r = wait_for_links(net, home)) < 0) fail(err, err_size, r, "the links of the hosts do not come up");
  return r;
}

int lb_net_up(struct lb_net *net, bool separate, size_t count, char *err, size_t err_size) {
  if (count > LB_HOSTS_MAX) return fail(err, err_size, -E2BIG, "at most %d hosts", LB_HOSTS_MAX);
  *net = (struct lb_net){.count = count, .separate = separate, .next_port = FIRST_PORT};
  for (size_t i = 0; i < count; i++) {
    net->host[i].netns = -1;
    strcpy(net->host[i].address, "127.0.0.1");
  }
  if (!separate) return 0;
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0) return fail(err, err_size, -errno, "cannot open the own network namespace: %m");
  int r = build_links(net, home, err, err_size);
  close(home);
  return r;
}

void lb_net_down(struct lb_net *net) {
  lb_cut_forget_all(net);
  lb_line_forget_all(net);
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
