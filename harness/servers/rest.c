/* SPDX-License-Identifier: MIT
 *
 * Connections are read from /proc/PID/net/tcp of a server: the kernel shows there those of its host, with the number of times that each has sent
 * the same again without an answer.
 */
#include "rest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/refuse.h"

/* States and timers of /proc/net/tcp. */
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3, CLOSE_WAIT = 8 };
enum { TIMER_AGAIN = 1, TIMER_WINDOW = 4 };

static bool is_server(const struct lb_cluster *cluster, unsigned address) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (inet_addr(cluster->server[i].host->address) == address) return true;
  return false;
}

/* "  1: 0100600A:1F90 0200600A:9C40 01 00000000:00000000 01:00000014 00000003 ...": addresses, state, queues, timer, how often it was sent again. */
static bool is_restless(const struct lb_cluster *cluster, const char *line) {
  unsigned to, state, timer, again;
  if (sscanf(line, " %*u: %*8x:%*x %8x:%*x %x %*x:%*x %x:%*x %x", &to, &state, &timer, &again) != 4 || !is_server(cluster, to)) return false;
  if (state == SYN_SENT || state == SYN_RECV) return true;
  return (state == ESTABLISHED || state == CLOSE_WAIT) && again > 0 && (timer == TIMER_AGAIN || timer == TIMER_WINDOW);
}

bool lb_rest_of_links(const struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[64], line[300];
  bool restless = false;
  if (server->host->netns < 0) return true;
  snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)server->proc.pid);
  FILE *in = fopen(path, "re");
  if (!in) return false;
  while (!restless && fgets(line, sizeof line, in)) restless = is_restless(cluster, line);
  fclose(in);
  return !restless;
}

/* ---- hosts --------------------------------------------------------------------------------------------------------- */

/* Calls `look` on every host with a network of its own, until it fails. It comes home on every path (net.c). */
static int on_hosts(const struct lb_net *net, int (*look)(void)) {
  int home = net->separate ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : -1, r = net->separate && home < 0 ? -errno : 0;
  for (size_t i = 0; i < net->count && net->separate && r == 0; i++) {
    r = setns(net->host[i].netns, CLONE_NEWNET) < 0 ? -errno : look();
    if (setns(home, CLONE_NEWNET) < 0) abort();
  }
  if (home >= 0) close(home);
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

int lb_rest_of_rules(const struct lb_net *net, char *err, size_t err_size) {
  int r = on_hosts(net, has_no_tables);
  if (r < 0) lb_refuse(err, err_size, "are rules left on a host? %s", r == -EBUSY ? "yes" : strerror(-r));
  return r;
}

static int note_nothing(void) {
  int fd = open("/proc/sys/net/ipv4/tcp_no_metrics_save", O_WRONLY | O_CLOEXEC);
  int r = fd < 0 || write(fd, "1", 1) != 1 ? -errno : 0;
  if (fd >= 0) close(fd);
  return r;
}

int lb_rest_no_notes(const struct lb_net *net, char *err, size_t err_size) {
  int r = on_hosts(net, note_nothing);
  if (r < 0) lb_refuse(err, err_size, "hosts note how long answers took: %s", strerror(-r));
  return r;
}
