/* SPDX-License-Identifier: MIT
 *
 * The filter of a program whose disk may stall, and the keeper of its syncs.
 */
#include "stall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/need.h"
#include "base/process.h"

enum { KEPT_MAX = 1024, LOOK_MS = 2 };

struct lb_stall *lb_stall_make(void) {
  return lb_need_shared(sizeof(struct lb_stall));
}

bool lb_stall_possible(void) {
  uint32_t action = SECCOMP_RET_USER_NOTIF;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int send_descriptor(int to, int fd) {
  char byte = 0, room[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return sendmsg(to, &message, 0) == 1 ? 0 : -errno;
}

int lb_stall_enter(int to) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
  /* As with a disk, only its death ends a call that waits. */
  unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  return fd < 0 ? -errno : send_descriptor(to, fd);
}

/* ---- the keeper -------------------------------------------------------------------------------------------------- */

static int receive_descriptor(int from) {
  int fd = -1;
  char byte, room[CMSG_SPACE(sizeof fd)];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

/* Fails if the process of the call has died: then it needs no answer. */
static void let_go(int fd, uint64_t id) {
  struct seccomp_notif_resp answer = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void serve(struct lb_stall *stall, int fd) {
  uint64_t kept[KEPT_MAX];
  size_t count = 0;
  for (;;) {
    struct pollfd look = {.fd = fd, .events = POLLIN};
    int ready = poll(&look, 1, count > 0 ? LOOK_MS : -1);
    if (ready > 0 && !(look.revents & POLLIN)) { /* its last process has ended */
      atomic_fetch_sub(&stall->waiting, count);
      return;
    }
    struct seccomp_notif call = {0};
    bool is_call = ready > 0 && ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0;
    if (is_call && atomic_load(&stall->stalled) && count < KEPT_MAX) {
      kept[count++] = call.id;
      atomic_fetch_add(&stall->waiting, 1);
      if (atomic_load(&stall->kept) == 0) atomic_store(&stall->since_ns, lb_clock_ns());
      atomic_fetch_add(&stall->kept, 1);
    } else if (is_call) {
      let_go(fd, call.id);
    }
    while (count > 0 && !atomic_load(&stall->stalled)) {
      let_go(fd, kept[--count]);
      atomic_fetch_sub(&stall->waiting, 1);
    }
  }
}

/* It keeps nothing else open: others wait for the end of a pipe. */
static _Noreturn void keep(struct lb_stall *stall, int from) {
  if (dup2(from, 0) < 0) _exit(1);
  close_range(1, ~0U, 0);
  int fd = receive_descriptor(0);
  if (fd >= 0) serve(stall, fd);
  _exit(0);
}

int lb_stall_keep(struct lb_stall *stall, int from) {
  pid_t pid = lb_process_fork();
  if (pid == 0) keep(stall, from);
  return pid < 0 ? -errno : 0;
}
