/* SPDX-License-Identifier: MIT
 *
 * Lines to a program and back, without any opinion on what it says.
 */
#include "talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign_child.h"

struct lb_talk {
  struct foreign_child child;
};

struct lb_talk *lb_talk_start(const struct lb_protocol *protocol) {
  const struct foreign *foreign = protocol->data;
  struct lb_talk *talk = calloc(1, sizeof *talk);
  if (talk && foreign_child_start(&talk->child, foreign->command, foreign->folder) == 0) return talk;
  if (talk) lb_talk_end(talk, 0, NULL, 0);
  return NULL;
}

int lb_talk_say(struct lb_talk *talk, const char *line) {
  char whole[LB_FOREIGN_LINE_MAX];
  if (snprintf(whole, sizeof whole, "%s\n", line) >= (int)sizeof whole) return -E2BIG;
  return talk->child.in < 0 ? -EPIPE : foreign_child_write(&talk->child, whole);
}

int lb_talk_hear(struct lb_talk *talk, struct lb_env *env, lb_ns deadline, const char **ret) {
  lb_ns before = foreign_child_held_up(&talk->child);
  for (lb_ns until = deadline;;) {
    char *line = NULL;
    int r = foreign_child_next_line(&talk->child, &line);
    *ret = line;
    if (r) return r;
    r = lb_wait_fd(env, talk->child.out, POLLIN, until);
    if (r < 0) return r;
    lb_ns now = lb_now(env),
          more = r == 0 && now >= deadline ? foreign_child_more(&talk->child, before, now - deadline) : 0;
    if (r == 0 && more == 0) return 0;
    if (r == 0) until = now + more;
  }
}

lb_ns lb_talk_held_up(const struct lb_talk *talk) { return foreign_child_held_up(&talk->child); }

pid_t lb_talk_pid(const struct lb_talk *talk) { return talk->child.pid; }

void lb_talk_hang_up(struct lb_talk *talk) { foreign_child_hang_up(&talk->child); }

bool lb_talk_end(struct lb_talk *talk, int patience_ms, char *fate, size_t size) {
  if (!talk) return true;
  bool by_itself = foreign_child_end(&talk->child, patience_ms, fate, size);
  free(talk);
  return by_itself;
}

bool lb_talk_value(const char *line, const char *name, char *buf, size_t size) {
  char copy[LB_FOREIGN_LINE_MAX];
  struct foreign_words words;
  snprintf(copy, sizeof copy, "%s", line);
  const char *value = foreign_line_split(copy, &words) == 0 ? foreign_line_value(&words, 0, name) : NULL;
  if (value) snprintf(buf, size, "%s", value);
  return value != NULL;
}
