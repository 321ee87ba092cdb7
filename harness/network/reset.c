/* SPDX-License-Identifier: MIT
 *
 * The kernel lists the sockets of a network namespace and closes one by order (sock_diag, as `ss -K`). A dump is read to
 * its end before a socket is closed: both use one descriptor. Java's sockets are of IPv6, with IPv4 addresses in it.
 */
#include "reset.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/need.h"

/* What has two ends: a handshake that is under way may be about to. */
#define STATES (1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 | 1u << TCP_CLOSE_WAIT)

struct socket {
  uint8_t family;
  struct inet_diag_sockid id;
};
struct sockets {
  struct socket of[LB_CONNECTIONS_MAX];
  size_t count;
};

static struct lb_ports ports_of(const struct socket *s) {
  return (struct lb_ports){ntohs(s->id.idiag_sport), ntohs(s->id.idiag_dport)};
}

static bool has_port(const struct lb_connections *which, struct lb_ports p) {
  for (size_t i = 0; i < which->count; i++)
    if (which->of[i].here == p.here && which->of[i].there == p.there) return true;
  return false;
}

static int ask(int fd, uint16_t type, uint16_t flags, struct inet_diag_req_v2 what) {
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 what;
  } message = {.head = {.nlmsg_len = sizeof message, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags},
               .what = what};
  return send(fd, &message, sizeof message, 0) < 0 ? -errno : 0;
}

/* One message of an answer. 1 = it was the last one. */
static int take(const struct nlmsghdr *message, uint8_t family, const struct in_addr *other, struct sockets *ret) {
  if (message->nlmsg_type == NLMSG_DONE) return 1;
  if (message->nlmsg_type == NLMSG_ERROR) {
    const struct nlmsgerr *error = NLMSG_DATA(message);
    return error->error == 0 ? 1 : error->error;
  }
  const struct inet_diag_msg *found = NLMSG_DATA(message);
  const uint32_t *to = found->id.idiag_dst;
  uint32_t address = family == AF_INET ? to[0] : to[3];
  bool mapped = family == AF_INET || (to[0] == 0 && to[1] == 0 && to[2] == htonl(0xffff));
  if (!mapped || address != other->s_addr || ret->count == LB_CONNECTIONS_MAX) return 0;
  ret->of[ret->count++] = (struct socket){family, found->id};
  return 0;
}

static int read_answer(int fd, uint8_t family, const struct in_addr *other, struct sockets *ret) {
  _Alignas(struct nlmsghdr) char buf[32768];
  int r = 0;
  while (r == 0) {
    ssize_t n = recv(fd, buf, sizeof buf, 0);
    size_t left = n < 0 ? 0 : (size_t)n;
    if (n < 0) return -errno;
    for (const struct nlmsghdr *m = (const void *)buf; r == 0 && NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
      r = take(m, family, other, ret);
  }
  return r < 0 ? r : 0;
}

static int list_here(int fd, const struct in_addr *other, struct sockets *ret) {
  int r = 0;
  ret->count = 0;
  for (int i = 0; r == 0 && i < 2; i++) {
    uint8_t family = i == 0 ? AF_INET : AF_INET6;
    struct inet_diag_req_v2 all = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = STATES};
    r = ask(fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, all);
    if (r == 0) r = read_answer(fd, family, other, ret);
  }
  return r;
}

/* One that has ended by itself meanwhile is no error. */
static int end_here(int fd, const struct in_addr *other, const struct sockets *all,
                    const struct lb_connections *which) {
  struct sockets none = {.count = 0};
  int r = 0;
  for (size_t i = 0; r == 0 && i < all->count; i++) {
    const struct socket *s = &all->of[i];
    if (!has_port(which, ports_of(s))) continue;
    r = ask(fd, SOCK_DESTROY, NLM_F_ACK,
            (struct inet_diag_req_v2){.sdiag_family = s->family, .sdiag_protocol = IPPROTO_TCP, .id = s->id});
    if (r == 0) r = read_answer(fd, s->family, other, &none);
    if (r == -ENOENT) r = 0;
  }
  return r;
}

/* Lists, and ends those of `which` if there are some. */
static int at_host(const struct lb_host *at, const struct lb_host *other, const struct lb_connections *which,
                   struct sockets *ret, struct lb_error *err) {
  struct in_addr to;
  inet_pton(AF_INET, other->address, &to);
  int home = lb_host_enter(at), r = home < 0 ? home : 0;
  int fd = r < 0 ? r : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (r == 0 && fd < 0) r = -errno;
  if (r == 0) r = list_here(fd, &to, ret);
  if (r == 0 && which) r = end_here(fd, &to, ret, which);
  if (fd >= 0) close(fd);
  if (home >= 0) lb_host_leave(home);
  if (r == -EOPNOTSUPP) return lb_error(err, r, "this kernel ends no connection by order (CONFIG_INET_DIAG_DESTROY)");
  return r < 0 ? lb_error(err, r, "the connections of %s: %s", at->name, strerror(-r)) : 0;
}

int lb_reset_list(const struct lb_host *at, const struct lb_host *other, struct lb_connections *ret,
                  struct lb_error *err) {
  struct sockets *all = lb_need(malloc(sizeof *all));
  int r = at_host(at, other, NULL, all, err);
  ret->count = 0;
  for (size_t i = 0; r == 0 && i < all->count; i++) ret->of[ret->count++] = ports_of(&all->of[i]);
  free(all);
  return r;
}

int lb_reset_end(const struct lb_host *at, const struct lb_host *other, const struct lb_connections *which,
                 struct lb_error *err) {
  struct sockets *all = lb_need(malloc(sizeof *all));
  int r = at_host(at, other, which, all, err);
  free(all);
  return r;
}

int lb_reset_left(const struct lb_host *at, const struct lb_host *other, const struct lb_connections *which,
                  bool mirrored, struct lb_error *err) {
  struct lb_connections *now = lb_need(malloc(sizeof *now));
  int left = 0, r = lb_reset_list(at, other, now, err);
  for (size_t i = 0; r == 0 && i < now->count; i++) {
    struct lb_ports p = now->of[i];
    left += has_port(which, mirrored ? (struct lb_ports){p.there, p.here} : p);
  }
  free(now);
  return r < 0 ? r : left;
}
