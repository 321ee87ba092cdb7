/* SPDX-License-Identifier: MIT
 *
 * history_ops.h - operations as other tools record them: a process invokes one, and it ends as ok, fail or info. What
 * the reader of EDN and that of CSV share. Private to history*.c.
 *
 * Events are made so that each hold is a sure one: from the :ok of an acquire to the :invoke of its release.
 */
#ifndef LB_HISTORY_OPS_H
#define LB_HISTORY_OPS_H

#include "history_form.h"

enum lb_op_type { LB_OP_INVOKE, LB_OP_OK, LB_OP_FAIL, LB_OP_INFO, LB_OP_TYPE_COUNT };
enum lb_op_f { LB_OP_ACQUIRE, LB_OP_RELEASE, LB_OP_REFRESH, LB_OP_EXTEND, LB_OP_F_COUNT };
extern const char *const lb_op_types[LB_OP_TYPE_COUNT];
extern const char *const lb_op_fs[LB_OP_F_COUNT];

/* Begins as lb_no_op. A mark is what no client does, as Jepsen's nemesis: then only `time` and `says` count. */
struct lb_op {
  size_t line;
  int64_t time, index; /* -1 = none */
  enum lb_op_type type;
  enum lb_op_f f;
  bool mark;
  uint32_t says;    /* of a mark: index into history->texts */
  uint32_t process; /* into names.clients of the operations */
  uint32_t owner;   /* for whom it is done, into history->clients; LB_NO_NAME = not said */
  uint32_t key;     /* into history->keys; LB_NO_NAME = not said */
  uint32_t named;   /* of an invoke: the key, if other operations have keys; LB_NO_NAME = none */
  size_t begun;     /* of an end: its invoke in lb_ops.ops */
  int64_t fence;    /* above 0, else none was given */
};
extern const struct lb_op lb_no_op;

struct lb_ops {
  struct lb_history *to;
  struct lb_history names; /* of processes, as clients */
  struct lb_op *ops;
  size_t count, capacity;
  struct lb_process *processes; /* one per name */
  size_t process_capacity;
  int64_t last_index;
};

/* The operation that `text` means, by its own name or another (history_names.h); or -EINVAL with all of them. */
int lb_op_f_of(const struct lb_line *line, const char *what, const char *text);
/* Index of a word, or -EINVAL with all of them. */
int lb_op_word(const struct lb_line *line, const char *what, const char *text, const char *const *words, size_t count);
void lb_ops_begin(struct lb_ops *ops, struct lb_history *to);
/* Adds the next operation of the file. -EINVAL if it cannot follow those before: a process does one after another. */
int lb_ops_add(struct lb_ops *ops, const struct lb_line *line, const struct lb_op *op);
/* The index for op.process. */
uint32_t lb_ops_process(struct lb_ops *ops, const char *name);
/* Makes the events of all operations, unsorted. -EINVAL if a key or a client is missing. Then or after an error:
 * lb_ops_clear(). */
int lb_ops_finish(struct lb_ops *ops, const struct lb_line *line);
void lb_ops_clear(struct lb_ops *ops);

#endif
